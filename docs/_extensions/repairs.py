"""What other extensions write and we want otherwise: texts for thumbnails of the gallery, links back from the code."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

THUMBNAIL = re.compile(
    r":alt:\n(\n  :doc:`[^`]*`\n.*?<div class=\"sphx-glr-thumbnail-title\">(.*?)</div>)", flags=re.DOTALL
)
TO_REFERENCE = re.compile(r'(/(minmin(?:\.\w+)*\.(\w+))\.html#)minmin(?:\.\w+)*?\.\3((?:\.\w+)*)"')


def describe_thumbnails(app: Sphinx, docname: str, source: list[str]) -> None:
    """The pictures at the gallery's front get a text for those who cannot see them."""
    if docname == "gallery/index":
        source[0] = THUMBNAIL.sub(r":alt: A picture of the page: \2\n\1", source[0])


def lead_back(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """viewcode takes one public module per file of code; here names of one file are public in several modules."""
    if pagename.startswith("_modules/"):
        context["body"] = TO_REFERENCE.sub(r'\1\2\4"', context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", describe_thumbnails)
    app.connect("html-page-context", lead_back)
    return {"parallel_read_safe": True}

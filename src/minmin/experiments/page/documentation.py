"""Where the documentation is: the page of a report links to it."""

from __future__ import annotations

import os
from importlib.metadata import metadata
from pathlib import Path

_SOURCE = Path(__file__).parents[4]
_IN_SOURCE = ("docs/_build/html/index.html", "README.md")
"""The built documentation, or what leads to its files."""


def find_documentation(folder: Path) -> str | None:
    """The address of the documentation, as seen from a report's folder.

    It is that of the package's metadata. If they have none, it is a path into the clone from which minmin is installed;
    without a clone it is None.
    """
    for entry in metadata("minmin").get_all("Project-URL") or ():
        name, _, address = entry.partition(", ")
        if name == "Documentation":
            return str(address)
    if not (_SOURCE / "pyproject.toml").exists():
        return None
    file = next(_SOURCE / name for name in _IN_SOURCE if (_SOURCE / name).exists())
    try:
        return Path(os.path.relpath(file, folder.resolve())).as_posix()
    except ValueError:  # on another drive of Windows
        return file.as_uri()

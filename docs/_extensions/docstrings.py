"""Docstrings are written for a terminal: |x| and f* are no markup, docs/page.md is a page. Members are ours alone."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

LITERAL = re.compile(r"(``.*?``|:\w+(?::\w+)?:`.*?`)")
BAR_OR_STAR = re.compile(r"\||(?<!\*)\*(?!\*)")
PAGE = re.compile(r"\bdocs/([\w/-]+)\.md\b")


def escape_line(line: str) -> str:
    """The line, with bars and stars outside of literals that mean nothing but themselves, and links to pages."""
    pieces = LITERAL.split(line)
    pieces[::2] = [PAGE.sub(r":doc:`/\1`", BAR_OR_STAR.sub(r"\\\g<0>", piece)) for piece in pieces[::2]]
    return "".join(pieces)


def escape_lines(lines: list[str]) -> list[str]:
    """All lines of a docstring but those of code and of formulas after a double colon."""
    escaped = []
    literal_indent = None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if literal_indent is not None and line.strip() and indent <= literal_indent:
            literal_indent = None
        keep = literal_indent is not None or line.lstrip().startswith((">>>", "..."))
        escaped.append(line if keep else escape_line(line))
        if literal_indent is None and line.endswith("::"):
            literal_indent = indent
    return escaped


def escape_docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = escape_lines(lines)


def skip_members_of_others(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Members that a class inherits from scikit-learn or Python are explained there."""
    function = getattr(obj, "fget", None) or getattr(obj, "func", None) or obj
    module = getattr(function, "__module__", None)
    return True if module and not module.startswith("minmin") else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", escape_docstring, priority=100)  # before numpydoc
    app.connect("autodoc-skip-member", skip_members_of_others)
    return {"parallel_read_safe": True}

"""Write what minmin's pages say of methods from what the methods declare: their needs, features and options.

``python scripts/tables.py`` rewrites the parts between the marks; with ``--check`` it only says which are out of date.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np

import minmin
from minmin.methods import Method
from minmin.methods.needs import KNOWN_CONSTANTS, Feature, Need, find_misfits
from minmin.methods.registry import METHODS, find_kind
from minmin.problems import GLM, Composite, Function, Quadratic, Split
from minmin.terms import L1

ROOT = Path(__file__).parents[1]


def describe_options() -> str:
    """Every option of every method with its default, as in the docstring of minimize()."""
    lines = []
    for name in METHODS:
        kind = find_kind(name)
        lines += [f'"{name}":', ""]
        for field in fields(kind):  # type: ignore[arg-type]
            if field.name != "seed":  # an argument of minimize() itself
                default = f'"{field.default}"' if isinstance(field.default, str) else repr(field.default)
                text = f"- ``{field.name}={default}``: {_describe(kind, field.name)}"
                lines += textwrap.wrap(text, 112, subsequent_indent="  ", break_on_hyphens=False)
        lines.append("")
    return textwrap.indent("\n".join(lines).rstrip(), " " * 8)


def _describe(kind: type[Method], option: str) -> str:
    """The first sentence about an option in the docstring of a method, and the values that it may have."""
    for owner in kind.__mro__:
        _, _, parameters = (inspect.getdoc(owner) or "").partition("Parameters\n----------\n")
        found = re.search(rf"(?m)^(?:\w+, )*{option}(?:, \w+)* : (.*)\n((?:    .*\n?|\n)+)", parameters)
        if found:
            sentence = re.split(r"(?<=[a-z0-9\"”)])\. ", " ".join(found[2].split()) + " ")[0].strip().rstrip(".")
            values = re.findall(r"\"[^\"]+\"", found[1].partition("}")[0]) if found[1].startswith("{") else []
            text = sentence[0].lower() + sentence[1:]
            return text + (f"; one of {', '.join(values)}." if values else ".")
    raise SystemExit(f"{kind.__name__} does not document {option}")


def tabulate_methods() -> str:
    """What every method needs of a problem, and what it takes, with its default options."""
    rows = ["| method | needs | takes |", "|---|---|---|"]
    for name in METHODS:
        method = find_kind(name)()
        needs = ["constants with finite L and mu > 0"] if method.needs >= KNOWN_CONSTANTS else []
        needs += [need.value for need in Need if need in method.needs and need not in KNOWN_CONSTANTS]
        takes = [feature.value for feature in Feature if feature in method.takes]
        rows.append(f"| `{name}` | {', '.join(needs) or 'nothing'} | {', '.join(takes) or 'nothing of these'} |")
    return "\n".join(rows)


def _make_glm(loss: str = "logistic") -> GLM:
    X, Y = np.eye(4)[:, :2], np.eye(4)[:, 2:]
    target = np.array([1.0, -1.0, 1.0, -1.0] if loss == "logistic" else [1.0, 2.0, 0.0, 1.0])
    return GLM(X, Y, target, loss, alpha_x=1.0, alpha_y=1.0)


def _make_function() -> Function:
    return Function(lambda x, y: 0.0, lambda x, y: x, lambda x, y: y, d_x=2, d_y=2)


PROBLEMS: dict[str, Callable[[], minmin.Problem]] = {
    "`Quadratic`": lambda: Quadratic.random(d_x=2, d_y=2),
    "`GLM`, `Softmax`": _make_glm,
    "`GLM` whose [loss](losses.md) has no finite L": lambda: _make_glm("poisson"),
    "`Function`": _make_function,
    "`Sum` of GLMs": lambda: minmin.Sum([_make_glm(), _make_glm()]),
    "`Split` of GLMs": lambda: Split(_make_glm(), _make_glm()),
    "`Split` of functions": lambda: Split(_make_function(), _make_function()),
    "`Composite` of a GLM, bounds": lambda: Composite(_make_glm(), L1(1.0), L1(1.0)),
    "`Composite` of a function, bounds": lambda: Composite(_make_function(), L1(1.0), L1(1.0)),
    "three blocks": lambda: Quadratic(np.eye(3), np.ones(3), sizes=[1, 1, 1]),
}


def tabulate_problems() -> str:
    """Which method runs on which problem, and with what; a dash where it never does."""
    columns: dict[tuple[str, ...], list[str]] = {}  # methods that run on the same problems share a column
    for name in METHODS:
        cells = tuple(_say_whether(find_kind(name)(), make()) for make in PROBLEMS.values())
        columns.setdefault(cells, []).append(f"`{name}`")
    rows = [f"| problem | {' | '.join(', '.join(names) for names in columns.values())} |"]
    rows.append("|---" * (len(columns) + 1) + "|")
    for words, cells in zip(PROBLEMS, zip(*columns, strict=True), strict=True):
        rows.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _say_whether(method: Method, problem: minmin.Problem) -> str:
    misfits = list(find_misfits(method, problem))
    if not misfits:
        return "yes"
    (first, *_) = misfits
    given = {Need.CONSTANTS, Need.POSITIVE_MU, Need.VALUES}
    return f"with {first.value}" if first in given else "–"


_OPTIONS = '        - Any option of "reduced-lbfgs", which it then takes.\n', "\n\n    Returns\n"
PARTS: list[tuple[str, str, Callable[[], str], tuple[str, str]]] = [
    ("src/minmin/solve.py", "options", describe_options, _OPTIONS),
    ("docs/guides/methods.md", "needs", tabulate_methods, ("scripts/tables.py: needs -->", "\n<!-- end -->")),
    ("docs/guides/runs-where.md", "problems", tabulate_problems, ("scripts/tables.py: problems -->", "\n<!-- end -->")),
]
"""The files, and the text before and after what is made."""


def main() -> int:
    outdated = 0
    for path, what, make, (before, after) in PARTS:
        file = ROOT / path
        text = file.read_text(encoding="utf-8")
        start = text.index(before) + len(before)
        end = text.index(after, start)
        made = f"\n{make()}"
        if text[start:end] == made:
            continue
        outdated += 1
        if "--check" in sys.argv:
            print(f"{path}: the {what} are out of date; run scripts/tables.py")
        else:
            file.write_text(text[:start] + made + text[end:], encoding="utf-8")
            print(f"{path}: wrote the {what}")
    return outdated if "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())

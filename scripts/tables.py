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
from typing import Any

import numpy as np

import minmin
from minmin import federated
from minmin.federated.engine_factory import open_engine
from minmin.federated.problem import Federation
from minmin.federated.session import Policy, Session
from minmin.methods import Method
from minmin.methods.needs import KNOWN_CONSTANTS, TERMS, Feature, Need, find_misfits
from minmin.methods.registry import METHODS, describe, find_kind
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
    """What every method is, what it needs of a problem, and what it takes, with its default options."""
    rows = ["| method | what it is | needs | takes |", "|---|---|---|---|"]
    for name in METHODS:
        method = find_kind(name)()
        takes = [feature.value for feature in Feature if feature in method.takes]
        cells = [
            f"`{name}`",
            METHOD_LINES[name].rstrip("."),
            _list_needs(method),
            ", ".join(takes) or "nothing of these",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


USE_IT_IF = {
    "reduced-newton": "you fit a GLM or a `Softmax`, or f is from JAX or PyTorch and ill-conditioned in x",
    "reduced-lbfgs": "you have only gradients",
    "bam": "you need a convergence rate",
    "nag": "you want Nesterov's method as a baseline",
    "acdm": "each iteration should evaluate only ∇ₓf or only ∇ᵧf, not both",
    "lincoupling": "the same, without terms",
    "inexact-outer": 'you want what `"bam"` improves on as a baseline',
    "alternating": "each block can be minimised at once, such as by a direct solve",
    "cutting-plane": "κ_x is huge, or f has kinks in x",
    "sliding": "the function is f + g, f expensive and g cheap but less smooth: `minmin.problems.Split(f, g)`",
}


def tabulate_choices() -> str:
    """When to use every method, what it needs of a problem, and what the problem must not have."""
    rows = ["| `method=` | use it if | it needs | it does not take |", "|---|---|---|---|"]
    for name in METHODS:
        method = find_kind(name)()
        refused = [feature.value for feature in Feature if feature not in method.takes]
        rows.append(f'| `"{name}"` | {USE_IT_IF[name]} | {_list_needs(method)} | {", ".join(refused) or "–"} |')
    return "\n".join(rows)


def tabulate_options() -> str:
    """What the values of options need and refuse, where that differs from the default."""
    rows = ["| option | needs | refuses |", "|---|---|---|"]
    for name, options in OPTIONS:
        method = find_kind(name)(**options)
        words = ", ".join(f"{option}={value!r}" for option, value in options.items())
        reasons = {
            reason: [f.value for f in Feature if method.refuses.get(f) == reason] for reason in method.refuses.values()
        }
        refused = [f"{', '.join(features)}: {reason}" for reason, features in reasons.items()]
        rows.append(f"| `{name}`, `{words}` | {_list_needs(method)} | {'; '.join(refused) or 'nothing'} |")
    return "\n".join(rows)


def _list_needs(method: Method) -> str:
    needs = ["constants with finite L and mu > 0"] if method.needs >= KNOWN_CONSTANTS else []
    known = KNOWN_CONSTANTS if needs else frozenset()
    needs += [need.value for need in Need if need in method.needs - known]
    return ", ".join(needs) or "nothing"


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("reduced-lbfgs", {"inner": "newton"}),
    ("reduced-lbfgs", {"inner": "nag"}),
    ("bam", {"inner": "newton"}),
    ("bam", {"inner": "nag-ogmg"}),
    ("bam", {"inner": "katyusha"}),
    ("bam", {"scheme": "triple-momentum"}),
    ("bam", {"radius": 1.0}),
    ("bam", {"adaptive": True}),
]
METHOD_LINES = describe()


def _make_glm(loss: str = "logistic") -> GLM:
    X, Y = np.eye(4)[:, :2], np.eye(4)[:, 2:]
    target = np.array([1.0, -1.0, 1.0, -1.0] if loss == "logistic" else [1.0, 2.0, 0.0, 1.0])
    return GLM(X, Y, target, loss, alpha_x=1.0, alpha_y=1.0)


def _make_function() -> Function:
    return Function(lambda x, y: 0.0, lambda x, y: x, lambda x, y: y, d_x=2, d_y=2)


def _make_blocks() -> Quadratic:
    return Quadratic(np.eye(3), np.ones(3), sizes=[1, 1, 1])


def _make_functions_of_blocks() -> Function:
    return Function(lambda *blocks: 0.0, grads=[lambda *blocks: blocks[0]] * 3, sizes=[1, 1, 1])


def _make_federation(term: minmin.terms.Term | None = None) -> Federation:
    clients = [federated.Client(Composite(_make_glm(), term_y=term) if term else _make_glm()) for _ in range(2)]
    with open_engine(clients, "local") as (engine, count):
        session = Session(engine, count, Policy(None, 0))
        federation = Federation(session, session.describe(), values=True)
    federation.term_x = term
    return federation


PROBLEMS: dict[str, Callable[[], minmin.Problem]] = {
    "`Quadratic`": lambda: Quadratic.random(d_x=2, d_y=2),
    "`GLM`, `Softmax`": _make_glm,
    "`GLM` whose [loss](losses.md) has no finite L": lambda: _make_glm("poisson"),
    "`Function`": _make_function,
    "`Sum` of GLMs": lambda: minmin.Sum([_make_glm(), _make_glm()]),
    "`Split` of GLMs": lambda: Split(_make_glm(), _make_glm()),
    "`Split` of functions": lambda: Split(_make_function(), _make_function()),
    "`Composite` of a GLM, or bounds": lambda: Composite(_make_glm(), L1(1.0), L1(1.0)),
    "`Composite` of a function, or bounds": lambda: Composite(_make_function(), L1(1.0), L1(1.0)),
    "`Composite` of a `Sum`": lambda: Composite(minmin.Sum([_make_glm(), _make_glm()]), L1(1.0), L1(1.0)),
    "`Composite` of a `Split`": lambda: Composite(Split(_make_glm(), _make_glm()), L1(1.0), L1(1.0)),
    "three blocks of a `Quadratic`": _make_blocks,
    "three blocks of functions": _make_functions_of_blocks,
    "three blocks with terms or bounds": lambda: Composite(_make_blocks(), L1(1.0), L1(1.0)),
    "mu = 0 in a block": lambda: Quadratic(np.diag([1.0, 0.0]), np.zeros(2), 1),
    "a federation": _make_federation,
    "a federation with terms": lambda: _make_federation(L1(1.0)),
}


def tabulate_problems() -> str:
    """Which method runs on which problem, with footnotes that say why it does not."""
    columns: dict[tuple[str, ...], list[str]] = {}  # methods that run on the same problems share a column
    notes: dict[str, int] = {}
    for name in METHODS:
        cells = tuple(_say_whether(find_kind(name)(), make(), notes) for make in PROBLEMS.values())
        columns.setdefault(cells, []).append(f"`{name}`")
    rows = [f"| problem | {' | '.join(', '.join(names) for names in columns.values())} |"]
    rows.append("|---" * (len(columns) + 1) + "|")
    for words, cells in zip(PROBLEMS, zip(*columns, strict=True), strict=True):
        rows.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join([*rows, "", *(f"{number}. {note}." for note, number in notes.items())])


def _say_whether(method: Method, problem: minmin.Problem, notes: dict[str, int]) -> str:
    """A tick, or the number of the note that says why not."""
    misfit = next(find_misfits(method, problem), None)
    if misfit is None:
        return "✓"
    if isinstance(misfit, Need):
        note = _LACKS.get(misfit, f"It needs {misfit.value}")
    else:
        reason, what = method.refuses.get(misfit, ""), "terms" if TERMS.isdisjoint(method.takes) else misfit.value
        note = f"It does not take {what}" + (f": {reason}" if reason else "")
    return f"– ({notes.setdefault(note, len(notes) + 1)})"


_LACKS = {
    Need.CONSTANTS: "It needs constants, given or estimated; `bam` and `nag` estimate them with `adaptive=True`",
    Need.FINITE_L: "It needs a finite L: constants that hold for the run, or `adaptive=True` for `bam` and `nag`",
    Need.POSITIVE_MU: "It needs mu > 0: add a penalty, or give `bam`, `nag`, `acdm` and `lincoupling` a `radius`",
    Need.SPLIT: "It needs f + g: `minmin.problems.Split(f, g)`",
}
"""What may be given, in place of what is needed."""


_OPTIONS = '        - Any option of "reduced-lbfgs", which it then takes.\n', "\n\n    Returns\n"
PARTS: list[tuple[str, str, Callable[[], str], tuple[str, str]]] = [
    ("src/minmin/solve.py", "options", describe_options, _OPTIONS),
    ("README.md", "methods", tabulate_choices, ("scripts/tables.py: methods -->", "\n<!-- end -->")),
    ("docs/guides/methods.md", "methods", tabulate_methods, ("scripts/tables.py: methods -->", "\n<!-- end -->")),
    ("docs/guides/methods.md", "options", tabulate_options, ("scripts/tables.py: options -->", "\n<!-- end -->")),
    ("docs/guides/methods.md", "problems", tabulate_problems, ("scripts/tables.py: problems -->", "\n<!-- end -->")),
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

"""What a method needs of a problem, and what it takes, as data; one place writes every refusal, with a remedy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from minmin.core.bound import Constants
from minmin.core.problem import Problem
from minmin.core.second_order import SplitProblem
from minmin.errors import UnsupportedError

if TYPE_CHECKING:
    from minmin.methods.base import Method

MOST_IN_X = 200
"""What "few variables in x" means. A choice: the calls of ∇ₓ of cutting planes grow with d_x, and a step takes time
like its cube."""


class Need(Enum):
    """What a method may need of a problem; the value is its name in tables."""

    SPLIT = "f + g"
    CONSTANTS = "constants"
    FINITE_L = "finite L"
    POSITIVE_MU = "mu > 0"
    VALUES = "values"
    HESSIANS = "products with the Hessian"
    PIECES = "pieces of the terms, if there are any"
    Y_HESSIAN = "a y-Hessian"
    ROWS = "rows of a sum"
    EXACT_GRADIENTS = "exact gradients"
    FEW_IN_X = f"at most {MOST_IN_X} variables in x"

    def find_lack(self, problem: Problem) -> str:
        """What the problem lacks, as the predicate of a sentence about the method; empty if it lacks nothing."""
        return _LACKS[self](problem)


class Feature(Enum):
    """What a problem may have, and a method may not take; the value is its name in tables."""

    TERM_X = "a term in x"
    TERM_Y = "a term in y"
    PARTS = "a Sum"
    BLOCKS = "three or more blocks"
    REMOTE = "a federation"

    def is_in(self, problem: Problem) -> bool:
        """Whether the problem has it."""
        return {
            Feature.TERM_X: problem.term_x is not None,
            Feature.TERM_Y: problem.term_y is not None,
            Feature.PARTS: bool(problem.part_sizes) and not problem.y_is_remote,
            Feature.BLOCKS: problem.blocks is not None and len(problem.blocks.sizes) > 2,
            Feature.REMOTE: problem.y_is_remote,
        }[self]


ALL_FEATURES = frozenset(Feature)
TERMS = frozenset({Feature.TERM_X, Feature.TERM_Y})
KNOWN_CONSTANTS = frozenset({Need.CONSTANTS, Need.FINITE_L, Need.POSITIVE_MU})
"""What most methods with a theory need: constants that are known, with finite L and mu > 0."""
_REFUSED = {
    Feature.TERM_X: "does not support a term in x",
    Feature.TERM_Y: "does not support a term in y",
    Feature.PARTS: "does not support a Sum",
    Feature.BLOCKS: "takes two blocks",
    Feature.REMOTE: "does not run in a federation",
}
_ADVISED = KNOWN_CONSTANTS | {Need.SPLIT}
"""What a problem lacks can be added to it; the sentence about the lack says how."""
_OTHER_OPTIONS: tuple[tuple[str, Any, str], ...] = (
    ("inner", "lbfgs", "inner='lbfgs'"),
    ("scheme", "nesterov", "scheme='nesterov'"),
    ("radius", None, "no radius"),
    ("adaptive", False, "adaptive=False"),
    ("radius", "auto", "radius=, a distance from the start to a minimiser, or radius='auto'"),
    ("adaptive", True, "adaptive=True, which estimates them during the run"),
)
"""Options that may make a method accept a problem, in the order in which they are tried, and what to say of them."""


def find_misfits(method: Method, problem: Problem) -> Iterator[Need | Feature]:
    """What keeps a method from minimising a problem, whose outer block is x."""
    yield from (feature for feature in Feature if feature.is_in(problem) and feature not in method.takes)
    needs = method.needs
    for need in Need:
        if need in needs and need.find_lack(problem):
            yield need
            return  # later ones rest on earlier ones: constants must be known to be finite


def fits(method: Method, problem: Problem) -> bool:
    """Whether a method can minimise a problem, whose outer block is x."""
    return next(find_misfits(method, problem), None) is None


def refuse_misfit(method: Method, problem: Problem, find_others: Callable[[], Sequence[Method]]) -> None:
    """Raise if a method cannot minimise a problem; ``find_others`` lists what to recommend, the best first."""
    misfit = next(find_misfits(method, problem), None)
    if misfit is None:
        return
    culprit, others, reason = _find_culprit(method, misfit), find_others(), ""
    if isinstance(misfit, Need):
        predicate = misfit.find_lack(problem)
    else:
        predicate, reason = _REFUSED[misfit], method.refuses.get(misfit, "")
        if (
            misfit in TERMS
            and TERMS.isdisjoint(method.takes)
            and (misfit is Feature.TERM_X or culprit.startswith("method"))
        ):
            predicate = "does not support terms in x or y"
        if culprit.startswith("method"):
            do = "take more" if misfit is Feature.BLOCKS else "do"
            predicate += f"; these methods {do}: {', '.join(other.name for other in others if fits(other, problem))}"
        elif misfit is Feature.TERM_Y and getattr(method, "outer", "x") == "y":
            predicate += ", and outer='y' exchanges x and y"
    remedies = [words for name, value, words in _OTHER_OPTIONS if _fits_with(method, problem, name, value)][:1]
    remedies += [f"method={other.name!r}" for other in others if fits(other, problem)][:1]
    verb = "or give" if misfit in _ADVISED else "take"
    because = f"{reason}, so " if reason else ""
    raise UnsupportedError(f"{because}{culprit} {predicate}; {verb} {', or '.join(remedies)}")


def _fits_with(method: Method, problem: Problem, name: str, value: Any) -> bool:
    """Whether the method would fit the problem with this value of an option in place of another one."""
    if getattr(method, name, value) == value:
        return False
    changed = _change(method, {name: value})
    return changed is not None and fits(changed, problem)


def _change(method: Method, options: dict[str, Any]) -> Method | None:
    """The method with other values of options; None if it does not take them, or not together."""
    try:
        return replace(method, **options)  # type: ignore[type-var]
    except Exception:  # a method of a user's own may raise anything
        return None


def _find_culprit(method: Method, misfit: Need | Feature) -> str:
    """The options whose defaults need less or take more, one if that is enough, or else the method."""
    # Values are compared as texts, since arrays do not compare.
    options = {field.name: field.default for field in fields(method) if field.default is not MISSING}  # type: ignore[arg-type]
    defaults = {name: value for name, value in options.items() if repr(getattr(method, name)) != repr(value)}
    for names in (*([name] for name in defaults), list(defaults)):
        plain = _change(method, {name: defaults[name] for name in names})
        if plain is None:
            continue
        if misfit not in plain.needs if isinstance(misfit, Need) else misfit in plain.takes:
            return " with ".join(f"{name}={getattr(method, name)!r}" for name in names)
    return f"method {method.name!r}"


def find_constant_needs(*, adaptive: bool = False, may_be_flat: bool = False) -> frozenset[Need]:
    """What a method with momentum needs of the constants: nothing if it estimates them, no mu > 0 with a radius."""
    if adaptive:
        return frozenset({Need.EXACT_GRADIENTS})
    return KNOWN_CONSTANTS - {Need.POSITIVE_MU} if may_be_flat else KNOWN_CONSTANTS


def require_constants(name: str, problem: Problem, *, may_be_flat: bool = False) -> Constants:
    """The problem's constants; an error if they are not known, or not all L finite and mu > 0, unless it may be 0."""
    c = problem.constants
    if c is not None and c.L_x < math.inf and c.L_y < math.inf and (may_be_flat or (c.mu_x > 0.0 and c.mu_y > 0.0)):
        return c
    lacks = (need.find_lack(problem) for need in (Need.CONSTANTS, Need.FINITE_L, Need.POSITIVE_MU))
    raise UnsupportedError(f"method {name!r} {next(filter(None, lacks))}")


def _lack_of_constants(problem: Problem) -> str:
    if problem.constants is not None:
        return ""
    if problem.blocks is not None:
        return (
            "needs the problem's constants; give L=[...] and mu=[...], with one number per block; or estimate them: "
            "minmin.estimate_constants(problem) has L and mu"
        )
    stated = "constants=minmin.Constants(L_x=..., L_y=..., mu_x=..., mu_y=...)"
    if isinstance(problem, SplitProblem):
        bare = " and ".join(part for part in "fg" if getattr(problem, part).constants is None)
        return (
            f"needs the constants of f and of g; there are none of {bare}: give it {stated}, or estimate them with "
            "minmin.estimate_constants"
        )
    return (
        f"needs the problem's constants; give {stated}: help(minmin.Constants) says how to find them; or estimate "
        "them: constants=minmin.estimate_constants(problem)"
    )


def _lack_of_smoothness(problem: Problem) -> str:
    c = problem.constants
    if c is None or math.isfinite(c.L_x + c.L_y):
        return ""
    return (
        f"needs a finite {c.name('L', math.isfinite(c.L_x))}, and this problem has none; give constants that hold on "
        "the region of the run: minmin.estimate_constants(problem, x, y) estimates them"
    )


def _lack_of_convexity(problem: Problem) -> str:
    c = problem.constants
    if c is None or (c.mu_x > 0.0 and c.mu_y > 0.0):
        return ""
    in_y = c.mu_x > 0.0
    name = c.name("mu", in_y)
    return f"needs {name} > 0, and this problem has {name} = 0; add a small penalty on {c.blocks[in_y]}"


def _lack_of_split(problem: Problem) -> str:
    if isinstance(problem.without_terms(), SplitProblem):
        return ""
    return (
        f"needs f + g, whose gradients it asks for separately, and not {problem.kind}: give "
        "minmin.problems.Split(f, g), with f the expensive one"
    )


def _lack_of_rows(problem: Problem) -> str:
    if not problem.why_no_rows:
        return ""
    return (
        "draws rows of a sum over rows in y, such as a GLM with the logistic or the squared loss; "
        f"{problem.why_no_rows}"
    )


def _lack_of_exact_gradients(problem: Problem) -> str:
    if not (problem.y_is_remote or problem.has_noisy_gradients):
        return ""
    return "compares exact gradients, and here ∇ᵧ stays with the clients or noise is added"


_LACKS: dict[Need, Callable[[Problem], str]] = {
    Need.CONSTANTS: _lack_of_constants,
    Need.FINITE_L: _lack_of_smoothness,
    Need.POSITIVE_MU: _lack_of_convexity,
    Need.VALUES: lambda p: "" if p.has_value else "needs values of f, and this problem has none",
    Need.HESSIANS: lambda p: (
        "" if p.is_second_order else f"needs a SecondOrderProblem, with products of the Hessian, which {p.kind} is not"
    ),
    Need.PIECES: lambda p: (
        ""
        if all(term is None or term.has_pieces for term in (p.term_x, p.term_y))
        else "needs terms whose smooth pieces are known: L1, ElasticNet, GroupL2, Box or NonNegative"
    ),
    Need.Y_HESSIAN: lambda p: (
        "" if p.without_terms().has_y_hessian else f"needs a y-Hessian, which {p.kind} does not have"
    ),
    Need.SPLIT: _lack_of_split,
    Need.ROWS: _lack_of_rows,
    Need.EXACT_GRADIENTS: _lack_of_exact_gradients,
    Need.FEW_IN_X: lambda p: (
        "" if p.d_x <= MOST_IN_X else f"is for at most {MOST_IN_X} variables in x, and this problem has {p.d_x}"
    ),
}

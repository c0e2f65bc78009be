"""Method: a frozen dataclass of parameters with two pure functions, init and step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from minmin.core.arrays import Array
from minmin.core.bound import UNKNOWN, Bound
from minmin.core.constants import Constants
from minmin.core.orientation import Outer, Swapped
from minmin.core.problem import Problem
from minmin.core.split import SplitProblem
from minmin.core.vectors import Vector
from minmin.errors import InputError, UnsupportedError, near_names, show


class Candidate(NamedTuple):
    """The point that a method proposes as its result so far.

    Attributes
    ----------
    x, y : vectors
    bound : Bound
        How far f(x, y) is above its minimum.
    exhausted : bool
        Whether rounding keeps the method from the progress that its theory promises.
    note : str
        A remark for the message of the result, for example that another method took over.
    cache : tuple of arrays
        What :meth:`Problem.evaluate` needs to evaluate the point without a matrix product; may be empty.
    gradient_size : float
        The largest absolute entry of both gradients; infinite if they are not known.
    measured_before : bool
        Whether ``gradient_size`` is not of this point, but of the one before the last step or of a model. Then the loop
        computes both gradients at this point before it stops by ``gtol``.
    not_convex : str
        What this run has seen that rules out a convex f, as a clause; empty if nothing.
    reason : str
        Why the method cannot continue; empty if it can. It becomes the message of the result.
    value : float or None
        f(x, y), if the method has computed it. Then the history does not compute it again.
    revokes : bool
        Whether the bounds of all earlier candidates no longer count, since they rest on values that turned out wrong.
    """

    x: Vector
    y: Vector
    bound: Bound = UNKNOWN
    exhausted: bool = False
    note: str = ""
    cache: tuple[Array, ...] = ()
    gradient_size: float = math.inf
    measured_before: bool = False
    not_convex: str = ""
    reason: str = ""
    value: float | None = None
    revokes: bool = False


class Target(NamedTuple):
    """Where a run ends, for methods that need not compute more exactly.

    Attributes
    ----------
    tol : float
        The bound at which the run ends; zero if it does not end by one.
    rtol, rtol_from : float, and float or None
        It also ends where the bound is at most rtol times rtol_from - f, unless rtol_from is None.
    """

    tol: float = 0.0
    rtol: float = 0.0
    rtol_from: float | None = None

    @property
    def needs_value(self) -> bool:
        """Whether the bound at which the run ends depends on f."""
        return self.rtol > 0.0 and self.rtol_from is not None

    def bound_at(self, value: float | None) -> float:
        """The bound at which the run ends, as far as it is known at a point with this f; zero if it is not known.

        Since f still falls, what rtol asks for is too low before the end.
        """
        if value is None or self.rtol_from is None:
            return self.tol
        return max(self.tol, self.rtol * (self.rtol_from - value))


NO_TARGET = Target()


class Method(ABC):
    """An iterative method: a frozen dataclass of its parameters.

    It does not print, measure time or decide when to stop. Its state is a NamedTuple of arrays, numbers, strings, None
    and other NamedTuples, with a ``candidate``. ``init`` and ``step`` are pure: the same state always gives the same
    next state, so a resumed run is bit-identical. x is always the outer block, whose gradient is expensive;
    :func:`minmin.minimize` exchanges the blocks if the user asks for it.

    Attributes
    ----------
    name : str
        The name that users give.
    state_types : tuple of types
        The NamedTuples in its state, besides :class:`Candidate` and :class:`minmin.Bound`. A checkpoint can hold no
        others.
    takes_terms : bool
        Whether it minimises problems with terms, see :class:`minmin.problems.Composite`. A method that does not know
        of them would minimise f alone, so it is refused.
    takes_target : bool
        Whether ``step(problem, state, target)`` takes the :class:`Target` of the run, to compute no more exactly than
        that needs. A run may be resumed under another target, so states must not depend on it.
    """

    name: ClassVar[str]
    state_types: ClassVar[tuple[type, ...]] = ()
    takes_terms: ClassVar[bool] = False
    takes_target: ClassVar[bool] = False

    def check(self, problem: Problem) -> None:
        """Raise, before any work, if the problem lacks something that the method needs."""
        return

    @abstractmethod
    def init(self, problem: Any, x: Vector, y: Vector) -> Any:
        """The state at a start."""

    @abstractmethod
    def step(self, problem: Any, state: Any) -> Any:
        """The state one outer iteration later, with a new ``candidate``."""

    def aim(self, tol: float) -> Method:
        """The method that takes the steps of a run to this tol: this one, or one around it.

        A run under one tol can be resumed under another, so the types of the states must not depend on it.
        """
        return self

    def patience(self, problem: Problem) -> int:
        """The number of iterations within which the largest bound must halve; otherwise the run ends as stalled."""
        return DEFAULT_PATIENCE

    def outer_block(self, problem: Problem) -> Outer:
        """The block that is moved once per iteration."""
        return Outer.X


DEFAULT_PATIENCE = 2000
"""For methods without a theory of how many iterations may pass. reduced-lbfgs without constants took at most 90 between
two halvings of its bound on quadratics with κ up to 5·10⁷, and 45 on a9a; the rest is a margin."""


def require_constants(name: str, problem: Problem, *, may_be_flat: bool = False) -> Constants:
    """The problem's constants; an error if they are not known, or not all L finite and mu > 0, unless it may be 0."""
    constants = problem.constants
    hint = "; or give adaptive=True, which estimates them during the run" if name in ("bam", "nag") else ""
    if constants is None and problem.blocks is not None:
        raise UnsupportedError(
            f"method {name!r} needs the problem's constants; give L=[...] and mu=[...], with one number per block{hint}"
        )
    if constants is None and isinstance(problem, SplitProblem):
        bare = " and ".join(part for part in "fg" if getattr(problem, part).constants is None)
        raise UnsupportedError(
            f"method {name!r} needs the constants of f and of g; there are none of {bare}: give it "
            "constants=minmin.Constants(L_x=..., L_y=..., mu_x=..., mu_y=...), or estimate them with "
            f"minmin.estimate_constants{hint}"
        )
    if constants is None:
        raise UnsupportedError(
            f"method {name!r} needs the problem's constants; give constants=minmin.Constants(L_x=..., L_y=..., "
            "mu_x=..., mu_y=...): help(minmin.Constants) says how to find them; or estimate them: "
            f"constants=minmin.estimate_constants(problem){hint}"
        )
    smoothness, convexity = (constants.L_x, constants.L_y), (constants.mu_x, constants.mu_y)
    for in_y, (L, mu) in enumerate(zip(smoothness, convexity, strict=True)):
        if math.isinf(L):
            raise UnsupportedError(
                f"method {name!r} needs a finite {constants.name('L', bool(in_y))}, and this problem has none; "
                "give constants that hold on the region of the run: "
                f"minmin.estimate_constants(problem, x, y) estimates them{hint}"
            )
        if mu == 0.0 and not may_be_flat:
            mu_name = constants.name("mu", bool(in_y))
            raise UnsupportedError(
                f"method {name!r} needs {mu_name} > 0, and this problem has {mu_name} = 0; add a small penalty on "
                f"{constants.blocks[in_y]}; or give radius=, a distance from the start to a minimiser, or "
                "radius='auto': bam, nag, acdm and lincoupling take it"
            )
    return constants


def refuse_terms(name: str, problem: Problem, others: Iterable[str]) -> None:
    """Raise if the problem has terms, for a method that does not know them; ``others`` are methods that do."""
    if problem.has_terms:
        raise UnsupportedError(
            f"method {name!r} does not support terms in x or y yet; these methods do: {', '.join(others)}"
        )


def require_second_order(name: str, problem: Problem) -> None:
    """Raise if the problem has no Hessian products."""
    if not problem.is_second_order:
        raise UnsupportedError(
            f"{name} needs a SecondOrderProblem, with products of the Hessian, which {type(problem).__name__} is not; "
            "method='reduced-lbfgs' needs only gradients"
        )


def require_y_hessian(name: str, problem: Problem) -> None:
    """Raise if the problem has no y-Hessian."""
    if not problem.has_y_hessian:
        original = problem.original if isinstance(problem, Swapped) else problem
        raise UnsupportedError(
            f"{name} needs a y-Hessian, which {type(original).__name__} does not have; "
            "inner='lbfgs' needs only gradients"
        )


def require_choice(option: str, value: object, known: Any) -> None:
    """Raise if the value of an option is not one of ``known``."""
    if not isinstance(value, str) or value not in known:
        raise InputError(f"unknown {option} {show(value)}: {near_names(value, known)}")


def require_flag(option: str, value: object) -> None:
    """Raise if the value of an option is neither True nor False."""
    if not isinstance(value, bool):
        raise InputError(f"{option} must be True or False, got {value!r}")

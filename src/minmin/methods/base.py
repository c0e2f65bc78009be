"""Method: a frozen dataclass of parameters with two pure functions, init and step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from minmin.core.arrays import Array
from minmin.core.bound import UNKNOWN, Bound
from minmin.core.orientation import Outer
from minmin.core.problem import Problem
from minmin.core.vectors import Vector
from minmin.errors import InputError, near_names, show
from minmin.methods.needs import ALL_FEATURES, TERMS, Feature, Need


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
    needs : frozenset of Need
        What a problem must have.
    refuses : mapping of Feature to str
        What a problem must not have, each with the reason as a sentence without a full stop; empty by default.
    takes_terms : bool
        Whether a problem may have terms. A method that does not know of them would minimise f alone, so it must say so.
    takes : frozenset of Feature
        What a problem may have, by the two before.
    takes_target : bool
        Whether ``step(problem, state, target)`` takes the :class:`Target` of the run, to compute no more exactly than
        that needs. A run may be resumed under another target, so states must not depend on it.
    """

    name: ClassVar[str]
    state_types: ClassVar[tuple[type, ...]] = ()
    takes_terms: ClassVar[bool] = False
    takes_target: ClassVar[bool] = False

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset()

    @property
    def refuses(self) -> Mapping[Feature, str]:
        return {}

    @property
    def takes(self) -> frozenset[Feature]:
        return (ALL_FEATURES if self.takes_terms else ALL_FEATURES - TERMS).difference(self.refuses)

    def check(self, problem: Problem) -> None:
        """Raise, before any work, if the method cannot minimise the problem for a reason that ``needs`` cannot say."""
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
"""For methods without a theory of how many iterations may pass. Measured: docs/benchmarks/tuning.md."""


def require_choice(option: str, value: object, known: Any) -> None:
    """Raise if the value of an option is not one of ``known``."""
    if not isinstance(value, str) or value not in known:
        raise InputError(f"unknown {option} {show(value)}: {near_names(value, known)}")


def require_flag(option: str, value: object) -> None:
    """Raise if the value of an option is neither True nor False."""
    if not isinstance(value, bool):
        raise InputError(f"{option} must be True or False, got {value!r}")

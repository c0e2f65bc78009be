"""What a method is: a frozen dataclass of its parameters with two pure functions, init and step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from minmin.core.arrays import Array
from minmin.core.bound import UNKNOWN, Bound
from minmin.core.constants import Constants
from minmin.core.orientation import Outer, Swapped
from minmin.core.problem import Problem
from minmin.core.second_order import SecondOrderProblem
from minmin.core.vectors import Vector
from minmin.errors import InputError, UnsupportedError, near_names, show


class Candidate(NamedTuple):
    """The point that a method would hand back now.

    Attributes
    ----------
    x, y : vectors
    bound : Bound
        How far f(x, y) is above its minimum.
    exhausted : bool
        Rounding keeps the method from making progress as its theory promises.
    note : str
        What the user should hear of how the point came about.
    cache : tuple of arrays
        What :meth:`Problem.evaluate` needs to evaluate the point without a product; empty where nothing is known.
    """

    x: Vector
    y: Vector
    bound: Bound = UNKNOWN
    exhausted: bool = False
    note: str = ""
    cache: tuple[Array, ...] = ()


class Method(ABC):
    """An iterative method: a frozen dataclass of its parameters.

    It prints nothing, times nothing and stops nothing. Its state is a NamedTuple of arrays, numbers, strings, None and
    other NamedTuples, with a ``candidate``. ``init`` and ``step`` are pure: the same state always gives the same next
    state, which is what makes a resumed run bit-identical. x is always the outer block, the one whose gradient is
    expensive; :func:`minmin.minimize` exchanges the blocks where that is asked for.

    Attributes
    ----------
    name : str
        What users call it.
    state_types : tuple of types
        The NamedTuples that its state is made of, beside :class:`Candidate` and :class:`minmin.Bound`; a checkpoint
        can hold these and no others.
    """

    name: ClassVar[str]
    state_types: ClassVar[tuple[type, ...]] = ()

    def check(self, problem: Problem) -> None:
        """Refuse, before any work, a problem that lacks what the method needs."""
        return

    @abstractmethod
    def init(self, problem: Any, x: Vector, y: Vector) -> Any:
        """The state at a start."""

    @abstractmethod
    def step(self, problem: Any, state: Any) -> Any:
        """The state one outer iteration later; its ``candidate`` is the point to hand back."""

    def patience(self, problem: Problem) -> int:
        """Within how many iterations the largest bound must halve; else a run is given up as stalled."""
        return DEFAULT_PATIENCE

    def outer_block(self, problem: Problem) -> Outer:
        """The block that is moved once per iteration."""
        return Outer.X


DEFAULT_PATIENCE = 2000
"""Where no theory says how many iterations may pass. reduced-lbfgs without constants took 90 at most between two
halvings of its bound, on quadratics with κ of up to 5·10⁷, and 45 on a9a; the rest is a margin."""


def require_constants(name: str, problem: Problem) -> Constants:
    """The problem's constants, which must be known, with mu > 0 and finite L."""
    constants = problem.constants
    if constants is None:
        raise UnsupportedError(
            f"method {name!r} needs the problem's constants; give constants=minmin.Constants(L_x=..., L_y=..., "
            "mu_x=..., mu_y=...): help(minmin.Constants) says how to find them"
        )
    smoothness, convexity = (constants.L_x, constants.L_y), (constants.mu_x, constants.mu_y)
    for block, L, mu in zip(constants.blocks, smoothness, convexity, strict=True):
        if math.isinf(L):
            raise UnsupportedError(
                f"method {name!r} needs a finite L_{block}, and this problem has none; "
                "give constants that hold where the run goes"
            )
        if mu == 0.0:
            raise UnsupportedError(
                f"method {name!r} needs mu_{block} > 0, and this problem has mu_{block} = 0; "
                f"add a small penalty on {block}: mu_{block} = tol/|{block}|² moves the minimum by tol/2 at most"
            )
    return constants


def require_second_order(name: str, problem: Problem) -> None:
    """Refuse a problem without Hessian products."""
    if not isinstance(problem, SecondOrderProblem):
        raise UnsupportedError(
            f"{name} needs a SecondOrderProblem, with products of the Hessian, which {type(problem).__name__} is not; "
            "'reduced-lbfgs' needs gradients alone"
        )


def require_y_hessian(name: str, problem: Problem) -> None:
    """Refuse a problem whose parts have no y-Hessian."""
    if not problem.has_y_hessian:
        original = problem.original if isinstance(problem, Swapped) else problem
        raise UnsupportedError(f"{name} needs a y-Hessian, which {type(original).__name__} does not have")


def require_choice(option: str, value: object, known: Any) -> None:
    """Refuse an option whose value is not among the known ones."""
    if not isinstance(value, str) or value not in known:
        raise InputError(f"unknown {option} {show(value)}: {near_names(value, known)}")


def require_flag(option: str, value: object) -> None:
    """Refuse an option that is neither True nor False."""
    if not isinstance(value, bool):
        raise InputError(f"{option} must be True or False, got {value!r}")

"""What a method is: a frozen dataclass of its parameters with two pure functions, init and step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Protocol

from minmin.constants import Constants
from minmin.errors import InputError, UnsupportedError, near_names
from minmin.oracle import Ability, Problem
from minmin.space import Array, Vector


class Answer(NamedTuple):
    """The point that a method would hand back now.

    Attributes
    ----------
    x, y : vectors
    gap_bound : float
        Bounds f(x, y) - f* if the problem's constants are right; infinite while nothing is known.
    gap_floor : float
        What ``gap_bound`` would be if both gradients were as small as their rounding errors.
    exhausted : bool
        Rounding keeps the method from going on as its theory wants.
    estimated : bool
        ``gap_bound`` rests on what was seen, not on the problem's constants.
    note : str
        What the user should hear of how the answer came about.
    by_data : bool
        ``gap_bound`` is proved by the problem's data; its constants do not enter.
    carried : tuple of arrays
        What :meth:`Problem.resumed` needs to look at the point without a product; empty where nothing is known.
    """

    x: Vector
    y: Vector
    gap_bound: float
    gap_floor: float = 0.0
    exhausted: bool = False
    estimated: bool = False
    note: str = ""
    by_data: bool = False
    carried: tuple[Array, ...] = ()


class State(Protocol):
    """What is carried from step to step: nested NamedTuples of arrays, numbers and strings only."""

    @property
    def answer(self) -> Answer: ...


class Method(ABC):
    """An iterative method. It prints nothing, times nothing and stops nothing."""

    name: ClassVar[str]

    @abstractmethod
    def check(self, problem: Problem) -> None:
        """Refuse, before any work, a problem that lacks what the method needs."""

    @abstractmethod
    def init(self, problem: Problem, x: Vector, y: Vector) -> Any:
        """The state at a start."""

    @abstractmethod
    def step(self, problem: Problem, state: Any) -> Any:
        """The state one outer iteration later."""

    @abstractmethod
    def patience(self, problem: Problem) -> int:
        """Over how many iterations theory wants the largest gap bound halved."""


def require_constants(name: str, problem: Problem) -> Constants:
    """The problem's constants, which must be known, with mu > 0 and finite L."""
    constants = problem.constants
    if constants is None:
        raise UnsupportedError(
            f"method {name!r} needs the problem's constants; give constants=minmin.Constants(L_x=..., L_y=..., "
            "mu_x=..., mu_y=...): help(minmin.Constants) says how to find them"
        )
    for block in "xy":
        L, mu = getattr(constants, f"L_{block}"), getattr(constants, f"mu_{block}")
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


def require_ability(name: str, problem: Problem, ability: Ability) -> None:
    if ability not in problem.abilities:
        raise UnsupportedError(f"{name} needs {ability.name}, which {type(problem).__name__} does not have")


def require_choice(option: str, value: object, known: Any) -> None:
    """Refuse an option whose value is not among the known ones."""
    if not isinstance(value, str) or value not in known:
        raise InputError(f"unknown {option} {value!r}: {near_names(value, known)}")


def require_flag(option: str, value: object) -> None:
    """Refuse an option that is neither True nor False."""
    if not isinstance(value, bool):
        raise InputError(f"{option} must be True or False, got {value!r}")


def theory_patience(rate: float, kappa: float) -> int:
    """Iterations over which the largest bound must halve, for a method that gains a factor 1 + rate in each.

    f - f* stays below 3(1 + rate)⁻ᵏ of what it was, and a bound below κ times that. Single bounds say little,
    since they swing with the momentum; hence the largest over so many iterations.
    """
    return math.ceil(math.log(8.0 * kappa) / math.log1p(rate))

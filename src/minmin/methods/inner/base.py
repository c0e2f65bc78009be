"""What an inner solver is: it finds a point that meets BAM's condition, and remembers what helps next time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from minmin.methods.inner.subproblem import Subproblem, Trial
from minmin.oracle import Ability
from minmin.space import Array


class InnerSolver(ABC):
    """Finds v with |∇A(v)| <= |v - y_under|/λ, condition (2) of the paper.

    The proof of Theorem 2.2 needs only that condition, so BAM is BAM with each of them.
    """

    name: ClassVar[str]
    needs: ClassVar[Ability] = Ability.NONE

    @abstractmethod
    def init(self, y: Array) -> Any:
        """What is remembered before the first solve: NamedTuples of arrays and numbers."""

    @abstractmethod
    def solve(self, problem: Subproblem, memory: Any) -> tuple[Trial, Any]:
        """An accepted trial (or the best one, where rounding makes the condition unattainable)."""


class Offset(NamedTuple):
    """v - y_under of the solve before: where the next one starts."""

    offset: Array

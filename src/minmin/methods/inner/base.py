"""InnerSolver: finds a point that is good enough, and keeps a memory for the next solve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from minmin.core.arrays import Array
from minmin.methods.inner.goal import InnerGoal, InnerPoint
from minmin.methods.needs import Feature, Need


class InnerSolver(ABC):
    """Minimises an :class:`InnerGoal` until a point is good enough.

    Attributes
    ----------
    name : str
    needs : frozenset of Need
        What a problem must have.
    refuses : mapping of Feature to str
        What a problem must not have, each with the reason as in :attr:`minmin.Method.refuses`.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[Need]] = frozenset()
    refuses: ClassVar[Mapping[Feature, str]] = {}

    def init(self, y: Array, seed: int = 0) -> Any:
        """The memory before the first solve: arrays, numbers, or NamedTuples of them. The seed is for random draws."""
        return None

    @abstractmethod
    def solve(self, goal: InnerGoal, memory: Any) -> tuple[InnerPoint, Any]:
        """A point that is good enough, or else the best one found, and the new memory."""

"""InnerSolver: finds a point that is good enough, and keeps a memory for the next solve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from minmin.core.arrays import Array
from minmin.methods.inner.objective import InnerObjective, InnerPoint


class InnerSolver(ABC):
    """Minimises an :class:`InnerObjective` until a point is good enough.

    Attributes
    ----------
    name : str
    needs_y_hessian, needs_constants : bool
    needs_restart : bool
        Whether it needs :attr:`InnerObjective.restart`, which only BAM has.
    """

    name: ClassVar[str]
    needs_y_hessian: ClassVar[bool] = False
    needs_constants: ClassVar[bool] = False
    needs_restart: ClassVar[bool] = False

    def init(self, y: Array) -> Any:
        """The memory before the first solve: arrays, numbers, or NamedTuples of them."""
        return None

    @abstractmethod
    def solve(self, objective: InnerObjective, memory: Any) -> tuple[InnerPoint, Any]:
        """A point that is good enough, or else the best one found, and the new memory."""

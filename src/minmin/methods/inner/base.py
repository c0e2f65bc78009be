"""What an inner solver is: it finds a point that is good enough, and remembers what helps next time."""

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
        Whether it works only from a point where theory knows the distance to the minimiser, as in BAM.
    """

    name: ClassVar[str]
    needs_y_hessian: ClassVar[bool] = False
    needs_constants: ClassVar[bool] = False
    needs_restart: ClassVar[bool] = False

    def init(self, y: Array) -> Any:
        """What is remembered before the first solve: arrays, numbers, or NamedTuples of them."""
        return None

    @abstractmethod
    def solve(self, objective: InnerObjective, memory: Any) -> tuple[InnerPoint, Any]:
        """A point that is good enough (or the best one, where none was found), and the new memory."""

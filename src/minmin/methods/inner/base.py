"""InnerSolver: finds a point that is good enough, and keeps a memory for the next solve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from minmin.core.arrays import Array
from minmin.core.problem import Problem
from minmin.errors import UnsupportedError
from minmin.methods.base import require_y_hessian
from minmin.methods.inner.goal import InnerGoal, InnerPoint


class InnerSolver(ABC):
    """Minimises an :class:`InnerGoal` until a point is good enough.

    Attributes
    ----------
    name : str
    needs_y_hessian, needs_constants : bool
    needs_center : bool
        Whether it needs :attr:`InnerGoal.center`, which only BAM has.
    needs_rows : bool
        Whether it draws rows of a sum, see :class:`minmin.core.row_sum.RowSum`; only BAM asks for that.
    takes_term : bool
        Whether it minimises an objective with a term.
    """

    name: ClassVar[str]
    needs_y_hessian: ClassVar[bool] = False
    needs_constants: ClassVar[bool] = False
    needs_center: ClassVar[bool] = False
    needs_rows: ClassVar[bool] = False
    takes_term: ClassVar[bool] = False

    def check(self, problem: Problem) -> None:
        """Raise if there is a term in y that the solver cannot take, or if the problem has no rows or y-Hessian."""
        if problem.term_y is not None and not self.takes_term:
            raise UnsupportedError(
                f"inner={self.name!r} does not support a term in y; inner='lbfgs' does, and with constants inner='nag'"
            )
        if self.needs_rows and problem.row_obstacle:
            raise UnsupportedError(
                f"inner={self.name!r} draws rows of a sum over rows in y, such as a GLM with the logistic or the "
                f"squared loss; {problem.row_obstacle}; take inner='lbfgs'"
            )
        if self.needs_y_hessian:
            require_y_hessian(f"inner={self.name!r}", problem)

    def init(self, y: Array, seed: int = 0) -> Any:
        """The memory before the first solve: arrays, numbers, or NamedTuples of them. The seed is for random draws."""
        return None

    @abstractmethod
    def solve(self, goal: InnerGoal, memory: Any) -> tuple[InnerPoint, Any]:
        """A point that is good enough, or else the best one found, and the new memory."""

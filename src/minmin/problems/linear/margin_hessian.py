"""The second derivative of a weighted mean loss with respect to all margins, for Newton's method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from minmin.core.arrays import Array, to_like
from minmin.problems.linear.designs import Design, select
from minmin.problems.spectrum import Matrix


class MarginHessian(ABC):
    """A symmetric positive semidefinite operator on margins.

    Attributes
    ----------
    diagonal : array
        In the shape of the margins.
    """

    __slots__ = ("diagonal",)

    def __init__(self, diagonal: Array):
        self.diagonal = diagonal

    @property
    def for_rows(self) -> Any:
        """What stands for this operator in functions that ``minmin.core.rows`` calls."""
        return self

    @abstractmethod
    def times(self, change: Array) -> Array:
        """Its product with a change of all margins."""

    @abstractmethod
    def gram(self, design: Design) -> Array:
        """AᵀhA as a dense matrix, h this operator and A the design of a block."""

    def of_rows(self, rows: Matrix, factors: Matrix) -> MarginHessian | None:
        """This operator for some rows, which may be repeated, times one factor per row; None if that is not known."""
        return None

    def sum_of_rows(self) -> Array | None:
        """The sum of all samples' matrices, K × K for a loss with K outputs; None if K is 1, or if it is not known."""
        return None


class DiagonalHessian(MarginHessian):
    """One margin per sample: a diagonal matrix."""

    __slots__ = ()

    def times(self, change: Array) -> Array:
        return self.diagonal * change

    def gram(self, design: Design) -> Array:
        return design.gram(self.diagonal)

    def of_rows(self, rows: Matrix, factors: Matrix) -> DiagonalHessian:
        return DiagonalHessian(select(self.diagonal, rows) * to_like(factors, self.diagonal))

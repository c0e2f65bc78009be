"""The second derivative of a weighted mean loss with respect to all margins, as far as Newton's method needs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from minmin.problems.designs import weighted_gram
from minmin.space import Array


class Bending(ABC):
    """A symmetric positive semidefinite operator on margins.

    Attributes
    ----------
    diagonal : array
    """

    __slots__ = ("diagonal",)

    def __init__(self, diagonal: Array):
        self.diagonal = diagonal

    @abstractmethod
    def times(self, v: Array) -> Array:
        """Its product with a change of all margins."""

    @abstractmethod
    def gram(self, design: Any) -> Array:
        """AᵀhA as a dense matrix, h this operator and A the design of a block."""


class Entrywise(Bending):
    """A margin a sample: a diagonal matrix."""

    __slots__ = ()

    def times(self, v: Array) -> Array:
        return self.diagonal * v

    def gram(self, design: Any) -> Array:
        return weighted_gram(design, self.diagonal)

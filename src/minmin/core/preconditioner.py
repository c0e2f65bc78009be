"""Preconditioners for conjugate gradients: matrices like that of a system, but easy to solve with."""

from __future__ import annotations

import math

from minmin.core.vectors import Vector


class Preconditioner:
    """A diagonal matrix M; a subclass may know how to build a better one.

    Attributes
    ----------
    diagonal : vector
        Positive.
    price : float
        How many steps of conjugate gradients cost as much as :meth:`refine`; infinite if there is nothing better.
    """

    price: float = math.inf

    def __init__(self, diagonal: Vector):
        self.diagonal = diagonal

    def solve(self, r: Vector) -> Vector:
        """M⁻¹r, in a new vector."""
        return r / self.diagonal

    def refine(self) -> Preconditioner | None:
        """A better preconditioner, or None if it turns out that there is none."""
        return None

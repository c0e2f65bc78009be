"""Scaled: a term times a positive number, of a block in another unit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from minmin.core.arrays import Array
from minmin.core.term import Change, Piece, Term
from minmin.errors import InputError, as_number
from minmin.terms.elementwise import lower_scale


class Scaled(Term):
    """factor·t(v/unit), for another term t.

    The proximal map is unit times that of t at v/unit, with step·factor/unit²; the conjugate is
    factor·t*(unit·s/factor).

    Parameters
    ----------
    term : Term
    factor, unit : float
        Positive and finite. With a unit that is a power of two, points where t is finite are met exactly.
    """

    def __init__(self, term: Term, factor: Any, unit: float = 1.0):
        if not isinstance(term, Term):
            raise InputError(f"term must be a minmin.terms.Term, got {type(term).__name__}")
        self.term = term
        self.factor = as_number(factor, "factor")
        if not 0.0 < self.factor < math.inf:
            raise InputError(f"factor = {self.factor:g} must be positive and finite")
        self.unit = unit
        self._slope = self.factor / unit
        self.convexity = self._slope / unit * term.convexity
        self.takes_steps, self.has_pieces = term.takes_steps, term.has_pieces

    def value(self, v: Array) -> float:
        return self.factor * self.term.value(v / self.unit)

    def change(self, old: Array, new: Array) -> Change:
        value, size = self.term.change(old / self.unit, new / self.unit)
        return Change(self.factor * value, self.factor * size)

    def prox(self, v: Array, step: float) -> Array:
        return self.unit * self.term.prox(v / self.unit, step * self._slope / self.unit)

    def piece(self, v: Array, gradient: Array) -> Piece:
        return self.term.piece(v / self.unit, gradient / self._slope).scaled(self.factor, self.unit)

    def conjugate(self, s: Array) -> float | None:
        value = self.term.conjugate(s / self._slope)
        return None if value is None else self.factor * value

    def dual_scale(self, s: Array) -> float:
        return lower_scale(self, s, self.term.dual_scale(s / self._slope))

    def dual_radius(self, s: Array) -> float:
        return self._slope * self.term.dual_radius(s)

    def project(self, v: Array) -> Array:
        scaled = v / self.unit
        nearest = self.term.project(scaled)
        return v if nearest is scaled else self.unit * nearest

    def diameter(self, v: Array) -> float:
        return self.unit * self.term.diameter(v)

    def slack(self, v: Array) -> float:
        return self.unit * self.term.slack(v / self.unit)

    def check_size(self, size: int, name: str) -> None:
        self.term.check_size(size, name)

    def identity(self) -> Iterable[Any]:
        return [type(self).__qualname__, self.factor, *self.term.identity()]

"""Scaled: a term times a positive number."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from minmin.core.arrays import Array
from minmin.core.term import Change, Term
from minmin.errors import InputError, as_number
from minmin.terms.elementwise import lower_scale


class Scaled(Term):
    """factor·t(v), for another term t.

    The proximal map is that of t with step·factor; the conjugate is factor·t*(s/factor).

    Parameters
    ----------
    term : Term
    factor : float
        Positive and finite.
    """

    def __init__(self, term: Term, factor: Any):
        if not isinstance(term, Term):
            raise InputError(f"term must be a minmin.terms.Term, got {type(term).__name__}")
        self.term = term
        self.factor = as_number(factor, "factor")
        if not 0.0 < self.factor < math.inf:
            raise InputError(f"factor = {self.factor:g} must be positive and finite")
        self.convexity, self.takes_steps = self.factor * term.convexity, term.takes_steps

    def value(self, v: Array) -> float:
        return self.factor * self.term.value(v)

    def change(self, old: Array, new: Array) -> Change:
        value, size = self.term.change(old, new)
        return Change(self.factor * value, self.factor * size)

    def prox(self, v: Array, step: float) -> Array:
        return self.term.prox(v, step * self.factor)

    def conjugate(self, s: Array) -> float | None:
        value = self.term.conjugate(s / self.factor)
        return None if value is None else self.factor * value

    def dual_scale(self, s: Array) -> float:
        return lower_scale(self, s, self.term.dual_scale(s / self.factor))

    def dual_radius(self, s: Array) -> float:
        return self.factor * self.term.dual_radius(s)

    def project(self, v: Array) -> Array:
        return self.term.project(v)

    def diameter(self, v: Array) -> float:
        return self.term.diameter(v)

    def slack(self, v: Array) -> float:
        return self.term.slack(v)

    def check_size(self, size: int, name: str) -> None:
        self.term.check_size(size, name)

    def identity(self) -> Iterable[Any]:
        return [type(self).__qualname__, self.factor, *self.term.identity()]

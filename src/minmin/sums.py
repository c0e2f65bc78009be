"""Sum: a weighted sum of problems that share x and have a y of their own each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

from minmin.constants import Constants
from minmin.errors import InputError, as_number
from minmin.oracle import Ability, Direction, Evaluation, Problem, Slice, checked_constants
from minmin.space import Array, Blocks, Vector, first_array
from minmin.tally import Tally

JOINTLY_EXPENSIVE = 100.0
"""A joint ∇ₓ takes all terms, or a round of communication; it is taken to cost so many times a term's own ∇ᵧ."""

_COUNTED_JOINTLY = {"grad_x": None, "value": None, "hess_product": None}
_COUNTED_BY_TERMS = {"grad_y": None}


class Sum(Problem):
    """f(x, y_1, …, y_M) = Σ w_i f_i(x, y_i).

    y is separable: for a fixed x every term is minimised over its own y_i, so a method may treat
    the terms one by one (Section 5 of the paper: the terms are clients, x is shared). The inner
    product on y is weighted by the w_i; in it the gradient's part i is ∇f_i itself, and the
    constants in y are those of the worst term.

    One joint ∇ₓ (a round of communication) counts as one ``grad_x``; every term's own gradient in
    y counts as one ``grad_y``, since the terms stop separately.

    Parameters
    ----------
    terms : sequence of Problem
        All with the same d_x.
    weights : sequence of float, optional
        Positive; equal weights that sum to one where not given.
    constants : Constants, optional
        Of the sum; where not given, the weighted mean of the terms' in x, and the worst in y.
    """

    takes_rounds = True

    def __init__(
        self,
        terms: Sequence[Problem],
        weights: Sequence[float] | None = None,
        constants: Constants | None = None,
    ):
        self.terms = _checked_terms(terms)
        self.weights = _checked_weights(weights, len(self.terms))
        self.d_x = self.terms[0].d_x
        self.d_y = sum(term.d_y for term in self.terms)
        self.abilities = self.terms[0].abilities
        for i, term in enumerate(self.terms):
            if term.d_x != self.d_x:
                raise InputError(f"term {i} has d_x = {term.d_x}, the first has {self.d_x}; x is shared")
            self.abilities &= term.abilities & ~Ability.GAP
        self.endless_where_flat = all(term.endless_where_flat for term in self.terms)
        self._given = checked_constants(constants)
        self._found = {}

    def _combined_constants(self) -> Constants | None:
        return combined_constants(self.weights, [term.constants_where(JOINTLY_EXPENSIVE) for term in self.terms])

    @property
    def constants(self) -> Constants | None:
        if self._given is not None:
            return self._given
        known: Constants | None = self._once("constants", self._combined_constants)
        return known

    @property
    def model(self) -> Array:
        return self.terms[0].model

    def counted(self, tally: Tally) -> Sum:
        twin = super().counted(tally)
        twin._tally = tally.renamed(_COUNTED_BY_TERMS)
        term_tally = tally.renamed(_COUNTED_JOINTLY)
        twin.terms = tuple(term.counted(term_tally) for term in self.terms)
        return twin

    def matching(self, model: Array) -> Sum:
        return Sum([term.matching(model) for term in self.terms], self.weights, self._given)

    def identity(self) -> Iterable[Any]:
        return [*super().identity(), *self.weights, *(part for term in self.terms for part in term.identity())]

    def fix(self, x: Vector) -> Slice:
        return _SumSlice(x, self)

    def _start_y(self, y0: Any, model: Array) -> Blocks:
        if y0 is not None and not hasattr(y0, "__iter__"):
            raise InputError(f"y0 must be a sequence of arrays, one a term, got {y0!r}")
        given = [None] * len(self.terms) if y0 is None else list(y0)
        if len(given) != len(self.terms):
            raise InputError(f"y0 has {len(given)} parts; this sum has {len(self.terms)} terms")
        parts = []
        for i, (term, value) in enumerate(zip(self.terms, given, strict=True)):
            try:
                parts.append(first_array(term._start_y(value, model)))
            except InputError as error:
                raise InputError(f"term {i}: {error}") from None
        return Blocks(parts, self.weights)


def combined_constants(weights: Sequence[float], found: Sequence[Constants | None]) -> Constants | None:
    """Of a sum, from its terms': the weighted means in x, the worst in y; None where one is unknown."""
    known = [c for c in found if c is not None]
    if len(known) < len(found):
        return None
    return Constants(
        L_x=sum(w * c.L_x for w, c in zip(weights, known, strict=True)),
        L_y=max(c.L_y for c in known),
        mu_x=sum(w * c.mu_x for w, c in zip(weights, known, strict=True)),
        mu_y=min(c.mu_y for c in known),
        source=max((c.source for c in known), key=["proved", "given", "estimated"].index),
    )


def _checked_terms(terms: Any) -> tuple[Problem, ...]:
    if not hasattr(terms, "__iter__"):
        raise InputError(f"the terms of a Sum must be a sequence of problems, got {terms!r}")
    checked = tuple(terms)
    if not checked:
        raise InputError("a Sum needs at least one term")
    for i, term in enumerate(checked):
        if not isinstance(term, Problem) or isinstance(term, Sum):
            raise InputError(f"term {i} is a {type(term).__name__}; the terms must be problems, but not Sums")
    return checked


def _checked_weights(weights: Any, count: int) -> tuple[float, ...]:
    if weights is None:
        return (1.0 / count,) * count
    if not hasattr(weights, "__iter__"):
        raise InputError(f"weights must be a sequence, one a term, got {weights!r}")
    checked = tuple(as_number(w, f"weight {i}") for i, w in enumerate(weights))
    if len(checked) != count:
        raise InputError(f"{len(checked)} weights for {count} terms; give one weight a term")
    for i, w in enumerate(checked):
        if not 0.0 < w < float("inf"):
            raise InputError(f"weight {i} is {w}; weights must be positive and finite")
    return checked


class _SumSlice(Slice):
    __slots__ = ("_parts", "_sum")

    def __init__(self, x: Vector, problem: Sum):
        super().__init__(x)
        self._sum = problem
        self._parts = tuple(term.fix(x) for term in problem.terms)

    @property
    def parts(self) -> Sequence[Slice]:
        return self._parts

    def at(self, y: Blocks) -> Evaluation:
        return self.joint([part.at(y_i) for part, y_i in zip(self._parts, y, strict=True)])

    def joint(self, evaluations: Sequence[Evaluation]) -> Evaluation:
        return _SumEvaluation(self, evaluations, self._sum)

    def along(self, dx: Vector) -> Direction:
        return Direction(dx, tuple(part.along(dx).images for part in self._parts))

    def moved(self, direction: Direction, t: float) -> Slice:
        new = copy(self)
        new.x = self.x + t * direction.dx
        pairs = zip(self._parts, _of_terms(direction), strict=True)
        new._parts = tuple(part.moved(own, t) for part, own in pairs)
        return new


def _of_terms(direction: Direction) -> list[Direction]:
    return [Direction(direction.dx, images) for images in direction.images]


class _SumEvaluation(Evaluation):
    __slots__ = ("_evaluations", "_slice", "_weights")

    def __init__(self, slice_: _SumSlice, evaluations: Sequence[Evaluation], problem: Sum):
        super().__init__(slice_.x, Blocks([e.y for e in evaluations], problem.weights), problem._tally)
        self._slice = slice_
        self._evaluations = evaluations
        self._weights = problem.weights

    def _other_terms(self) -> float:
        pairs = zip(self._weights, self._evaluations, strict=True)
        return math.sqrt(sum(w * e._other_terms() ** 2 for w, e in pairs))

    @property
    def eps(self) -> float:
        return max(e.eps for e in self._evaluations)

    @property
    def slice(self) -> Slice:
        return self._slice

    @property
    def parts(self) -> Sequence[Evaluation]:
        return self._evaluations

    def grad_x_ahead(self, dy: Blocks) -> Vector:
        self._tally.add("grad_x")
        return self._weighted([e.grad_x_ahead(part) for e, part in zip(self._evaluations, dy, strict=True)])

    def hess_yx(self, direction: Direction) -> Blocks:
        pairs = zip(self._evaluations, _of_terms(direction), strict=True)
        return Blocks([e.hess_yx(own) for e, own in pairs], self._weights)

    def hess_product(self, direction: Direction, dy: Blocks) -> Vector:
        self._tally.add("hess_product")
        each = zip(self._evaluations, _of_terms(direction), dy, strict=True)
        return self._weighted([e.hess_product(own, part) for e, own, part in each])

    def hess_xx_diagonal(self) -> Vector:
        return self._weighted([e.hess_xx_diagonal() for e in self._evaluations])

    def slope(self, direction: Direction, dy: Blocks) -> float:
        each = zip(self._weights, self._evaluations, _of_terms(direction), dy, strict=True)
        return sum(w * e.slope(own, part) for w, e, own, part in each)

    def largest_move(self, direction: Direction, dy: Blocks) -> float:
        each = zip(self._evaluations, _of_terms(direction), dy, strict=True)
        return max(e.largest_move(own, part) for e, own, part in each)

    def falls_for_ever(self, step: tuple[Direction, Blocks] | None = None, *, in_y_alone: bool = False) -> bool:
        """Whether some term falls for ever in its own y, which the others do not see; of x this is not known."""
        if step is None:
            return any(e.falls_for_ever(in_y_alone=True) for e in self._evaluations)
        direction, dy = step
        each = zip(self._evaluations, _of_terms(direction), dy, strict=True)
        return any(e.falls_for_ever((own, part), in_y_alone=True) for e, own, part in each)

    def hidden_by_rounding(self) -> float:
        return sum(w * e.hidden_by_rounding() for w, e in zip(self._weights, self._evaluations, strict=True))

    def from_afar(self) -> Evaluation | None:
        levels = [e.from_afar() for e in self._evaluations]
        if all(level is None for level in levels):
            return None
        twin = copy(self)
        twin._evaluations = [level or e for level, e in zip(levels, self._evaluations, strict=True)]
        return twin

    def _compute_value(self) -> float:
        return sum(w * e.value for w, e in zip(self._weights, self._evaluations, strict=True))

    def _compute_grad_x(self) -> Vector:
        return self._weighted([e.grad_x for e in self._evaluations])

    def _weighted(self, vectors: Sequence[Vector]) -> Vector:
        """The sum of the terms' vectors, with their weights."""
        total = self._weights[0] * vectors[0]
        for w, vector in zip(self._weights[1:], vectors[1:], strict=True):
            total = total + w * vector
        return total

    def _compute_grad_y(self) -> Blocks:
        """Part i is ∇f_i(x, y_i): the gradient in the weighted inner product."""
        return Blocks([e.grad_y for e in self._evaluations], self._weights)

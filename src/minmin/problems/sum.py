"""Sum: a weighted sum of problems that share x; each has its own y."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Self

from minmin.core.arrays import Array
from minmin.core.bound import Constants, RoundingScale
from minmin.core.counting import Tally
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, require_constants_type, require_two_blocks
from minmin.core.second_order import (
    Direction,
    SecondOrderEvaluation,
    SecondOrderProblem,
    SecondOrderSlice,
    YStepModel,
)
from minmin.core.structure import require_same_structure
from minmin.core.vectors import Parts, Vector
from minmin.errors import InputError, as_number, name_type, show
from minmin.terms.parts import PartsTerm

COST_RATIO_OF_SUM = 100.0
"""The assumed cost of one ∇ₓ of the sum, which needs all terms or a round of communication, in units of one term's ∇ᵧ.
Measured: docs/benchmarks/tuning.md."""

_COUNTED_JOINTLY: dict[str, tuple[str, ...]] = {"grad_x": (), "value": (), "hess_product": ()}
_COUNTED_BY_TERMS: dict[str, tuple[str, ...]] = {"grad_y": ()}


class AddedProblem(SecondOrderProblem):
    """Problems that share x and are added up.

    Attributes
    ----------
    terms : tuple of Problem
    """

    terms: tuple[Problem, ...]

    def _set_terms(self, terms: tuple[Problem, ...]) -> None:
        """Take the terms, and the traits that they have in common."""
        self.terms, self.d_x, self.structure_x = terms, terms[0].d_x, terms[0].structure_x
        for trait in ("has_value", "is_second_order", "has_y_hessian", "flat_gradient_proves_unbounded"):
            setattr(self, trait, all(getattr(term, trait) for term in terms))
        self.grad_y_from_values = any(term.grad_y_from_values for term in terms)

    def passes_for_constants(self) -> tuple[int, int]:
        of_terms = [term.passes_for_constants() for term in self.terms]
        return sum(in_x for in_x, _ in of_terms), sum(in_y for _, in_y in of_terms)

    @property
    def prototype(self) -> Array:
        return self.terms[0].prototype

    def to_like(self, prototype: Array) -> Self:
        """The constants stay those of the original data."""
        twin = copy(self)
        twin.terms = tuple(term.to_like(prototype) for term in self.terms)
        return twin


class Sum(AddedProblem):
    """f(x, y_1, …, y_M) = Σ w_i f_i(x, y_i).

    For a fixed x every term is minimised over its own y_i, so a method may treat the terms one by one. In Section 5 of
    Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, the terms are clients that share x. The inner product on y is
    weighted by the w_i; in it, part i of the gradient is ∇f_i itself, and the constants in y are those of the worst
    term.

    One ∇ₓ of the sum (a round of communication) counts as one ``grad_x``. Every term's gradient in y counts as one
    ``grad_y``, since the terms stop separately.

    Parameters
    ----------
    terms : sequence of Problem
        All with the same d_x.
    weights : sequence of float, optional
        Positive, and used as they are; by default equal, with sum one. ``minmin.federated.run`` divides the weights of
        its clients by their sum.
    constants : Constants, optional
        Of the sum; by default the weighted sums of the terms' constants in x, and the worst of them in y.
    """

    def __init__(
        self, terms: Sequence[Problem], weights: Sequence[float] | None = None, constants: Constants | None = None
    ):
        self._set_terms(_check_terms(terms))
        self.weights = self.part_weights = _check_weights(weights, len(self.terms))
        self.part_sizes = tuple(term.d_y for term in self.terms)
        self.d_y = sum(self.part_sizes)
        for i, term in enumerate(self.terms):
            if term.d_x != self.d_x:
                raise InputError(
                    f"term {i} has d_x = {term.d_x}, and term 0 has {self.d_x}; all terms share x, so give them one d_x"
                )
            require_same_structure(self.terms[0].structure_x, term.structure_x, f"term {i}")
            if term.term_x is not None:
                raise InputError(f"term {i} has a term in x, which all terms share: Composite(Sum(...), term_x=...)")
        if any(term.term_y is not None for term in self.terms):
            self.term_y = PartsTerm([term.term_y for term in self.terms])
        self.part_structures = tuple(term.structure_y for term in self.terms)
        self._given = require_constants_type(constants)
        self._combined = _CombinedConstants(self.terms, self.part_weights)

    @property
    def why_no_rows(self) -> str:
        reasons = ((i, term.why_no_rows) for i, term in enumerate(self.terms))
        return next((f"term {i}: {reason}" for i, reason in reasons if reason), "")

    @property
    def constants(self) -> Constants | None:
        if self._given is not None:
            return self._given
        constants = self._combined.constants
        self._count_constants()
        return constants

    def passes_for_constants(self) -> tuple[int, int]:
        return (0, 0) if self._given is not None else super().passes_for_constants()

    def counted(self, tally: Tally) -> Self:
        twin = super().counted(tally.rename_kinds(_COUNTED_BY_TERMS))
        term_tally = tally.rename_kinds(_COUNTED_JOINTLY)
        twin.terms = tuple(term.counted(term_tally) for term in self.terms)
        return twin

    def project_start(self, x: Vector, y: Parts) -> tuple[Vector, Parts]:
        parts = [term.project_start(x, part)[1] for term, part in zip(self.terms, y, strict=True)]
        return x, Parts(parts, self.weights)

    def without_terms(self) -> Problem:
        if not self.has_terms:
            return self
        return Sum([term.without_terms() for term in self.terms], self.weights, self._given)

    def identity(self) -> Iterable[Any]:
        of_sum = [self.d_x, self.d_y, repr(self._given), *self.weights]
        return [*of_sum, *(item for term in self.terms for item in term.identity())]

    def fix(self, x: Vector) -> SecondOrderSlice:
        return _SumSlice(x, tuple(term.fix(x) for term in self.terms), self)


class _CombinedConstants:
    """The constants of a sum, computed when first needed; copies of the sum share them."""

    def __init__(self, terms: Sequence[Problem], weights: Sequence[float]):
        self._terms, self._weights = terms, weights

    @cached_property
    def constants(self) -> Constants | None:
        return combine_constants(self._weights, [term.constants_for(COST_RATIO_OF_SUM) for term in self._terms])


def combine_constants(weights: Sequence[float], of_terms: Sequence[Constants | None]) -> Constants | None:
    """The constants of a sum: weighted sums in x, the worst term in y; None if those of a term are not known."""
    known = [c for c in of_terms if c is not None]
    if len(known) < len(of_terms):
        return None
    return Constants(
        L_x=sum(w * c.L_x for w, c in zip(weights, known, strict=True)),
        L_y=max(c.L_y for c in known),
        mu_x=sum(w * c.mu_x for w, c in zip(weights, known, strict=True)),
        mu_y=min(c.mu_y for c in known),
        source=max((c.source for c in known), key=["proved", "given", "estimated", "adapted"].index),
    )


def _check_terms(terms: Any) -> tuple[Problem, ...]:
    if not hasattr(terms, "__iter__"):
        raise InputError(f"the terms of a Sum must be a sequence of problems, got {terms!r}")
    checked = tuple(terms)
    if not checked:
        raise InputError("a Sum needs at least one term")
    for i, term in enumerate(checked):
        if not isinstance(term, Problem) or isinstance(term, Sum):
            kind = "a Sum" if isinstance(term, Sum) else name_type(term)
            raise InputError(f"term {i} is {kind}; the terms must be problems, but not Sums")
        require_two_blocks(term, "Sum")
    return checked


def _check_weights(weights: Any, count: int) -> tuple[float, ...]:
    if weights is None:
        return (1.0 / count,) * count
    if not hasattr(weights, "__iter__"):
        raise InputError(f"weights must be a sequence, one per term, got {show(weights)}")
    checked = tuple(as_number(w, f"weight {i}") for i, w in enumerate(weights))
    if len(checked) != count:
        raise InputError(f"{len(checked)} weights for {count} terms; give one weight per term")
    for i, w in enumerate(checked):
        if not 0.0 < w < float("inf"):
            raise InputError(f"weight {i} is {w}; weights must be positive and finite")
    return checked


class AddedSlice(SecondOrderSlice):
    """A slice of problems that share x and are added up.

    Attributes
    ----------
    slices : tuple of slices
        Those of the problems.
    problem : AddedProblem
        Their sum.
    """

    __slots__ = ("problem", "slices")

    def __init__(self, x: Vector, slices: tuple[Any, ...], problem: Any):
        super().__init__(x)
        self.slices, self.problem = slices, problem

    def along(self, dx: Vector) -> Direction:
        return Direction(dx, tuple(one.along(dx).images for one in self.slices))

    def moved(self, direction: Direction, t: float) -> Self:
        new = copy(self)
        new.slices = tuple(one.moved(of_one, t) for one, of_one in zip(self.slices, direction.split(), strict=True))
        new.x = new.slices[0].x
        return new


class AddedEvaluation(SecondOrderEvaluation):
    """An evaluation of problems that share x and are added up.

    Attributes
    ----------
    evaluations : sequence of evaluations
        Those of the problems.
    """

    __slots__ = ("_problem", "evaluations", "slice")
    slice: AddedSlice

    def __init__(self, slice_: AddedSlice, evaluations: Sequence[Any], y: Vector, tally: Tally):
        super().__init__(slice_.x, y, tally)
        self.slice, self._problem, self.evaluations = slice_, slice_.problem, evaluations

    @abstractmethod
    def _add_up(self, of_each: Sequence[Any]) -> Any:
        """The sum of what the problems have computed."""

    @abstractmethod
    def _split(self, step: tuple[Direction, Any]) -> Iterator[tuple[Any, Direction, Any]]:
        """Every evaluation with its part of a step (dx, dy)."""

    def _compute_value(self) -> float:
        return float(self._add_up([e.value for e in self.evaluations]))

    def _compute_grad_x(self) -> Vector:
        return self._add_up([e.grad_x for e in self.evaluations])

    def hess_xx_diagonal(self) -> Vector:
        return self._add_up([e.hess_xx_diagonal() for e in self.evaluations])

    def hess_product(self, direction: Direction, dy: Any) -> Vector:
        self._tally.add("hess_product")
        return self._add_up([e.hess_product(dx, part) for e, dx, part in self._split((direction, dy))])

    def slope(self, direction: Direction, dy: Any) -> float:
        return float(self._add_up([e.slope(dx, part) for e, dx, part in self._split((direction, dy))]))

    def model_distance(self, direction: Direction, dy: Any) -> float:
        return max(float(e.model_distance(dx, part)) for e, dx, part in self._split((direction, dy)))

    def value_noise(self) -> float:
        return float(self._add_up([e.value_noise() for e in self.evaluations]))

    def with_surrogate_curvature(self) -> Self | None:
        surrogates = [e.with_surrogate_curvature() for e in self.evaluations]
        if all(surrogate is None for surrogate in surrogates):
            return None
        twin = copy(self)
        pairs = zip(surrogates, self.evaluations, strict=True)
        twin.evaluations = [surrogate or e for surrogate, e in pairs]
        return twin


class _SumSlice(AddedSlice):
    __slots__ = ()

    @property
    def parts(self) -> Sequence[Any]:
        return self.slices

    def at(self, y: Parts) -> Any:
        return self.join([part.at(y_i) for part, y_i in zip(self.slices, y, strict=True)])

    def join(self, evaluations: Sequence[Evaluation]) -> Evaluation:
        return _SumEvaluation(self, evaluations)


class _SumEvaluation(AddedEvaluation):
    __slots__ = ("_weights", "term_y")

    def __init__(self, slice_: _SumSlice, evaluations: Sequence[Any]):
        problem = slice_.problem
        super().__init__(slice_, evaluations, Parts([e.y for e in evaluations], problem.weights), problem.tally)
        self._weights, self.term_y = problem.weights, problem.term_y

    def _add_up(self, of_each: Sequence[Any]) -> Any:
        """The weighted sum."""
        total = self._weights[0] * of_each[0]
        for w, summand in zip(self._weights[1:], of_each[1:], strict=True):
            total = total + w * summand
        return total

    def _split(self, step: tuple[Direction, Parts]) -> Iterator[tuple[Any, Direction, Any]]:
        return zip(self.evaluations, step[0].split(), step[1], strict=True)

    @property
    def rounding(self) -> RoundingScale:
        """Not cached: every gradient may show that a term computes in lower precision."""
        scales = [e.rounding for e in self.evaluations]
        y_norm, fixed_terms, difference_terms = (
            math.sqrt(sum(w * getattr(s, name) ** 2 for w, s in zip(self._weights, scales, strict=True)))
            for name in ("y_norm", "fixed_terms", "difference_terms")
        )
        eps, value_eps = max(s.eps for s in scales), max(s.value_eps for s in scales)
        return RoundingScale(eps, y_norm, fixed_terms, value_eps, difference_terms)

    @property
    def value_without_terms(self) -> float:
        if self.term_y is None:
            return self.value
        return float(self._add_up([e.value_without_terms for e in self.evaluations]))

    def _compute_grad_y(self) -> Parts:
        """Part i is ∇f_i(x, y_i): the gradient in the weighted inner product."""
        return Parts([e.grad_y for e in self.evaluations], self._weights)

    @property
    def parts(self) -> Sequence[SecondOrderEvaluation]:
        return self.evaluations

    def hess_yy(self) -> Array:
        raise TypeError("a Sum has one H_yy per term; use evaluation.parts")

    def hess_yy_product(self, dy: Array) -> Array:
        raise TypeError("a Sum has one H_yy per term; use evaluation.parts")

    def hess_yy_diagonal(self) -> Array:
        raise TypeError("a Sum has one H_yy per term; use evaluation.parts")

    def hess_yx(self, direction: Direction) -> Parts:
        pairs = zip(self.evaluations, direction.split(), strict=True)
        return Parts([e.hess_yx(of_term) for e, of_term in pairs], self._weights)

    def model_after(self, dy: Parts) -> YStepModel:
        self._tally.add("grad_x")
        pairs = zip(self.evaluations, dy, strict=True)
        return YStepModel(dy, self._add_up([e.model_after(part).grad_x for e, part in pairs]))

    def is_unbounded_along(self, step: tuple[Direction, Parts] | None = None, *, in_y_alone: bool = False) -> bool:
        """Whether the y of some term alone proves that f has no minimum; steps in x prove nothing here."""
        if step is None:
            return any(e.is_unbounded_along(in_y_alone=True) for e in self.evaluations)
        return any(e.is_unbounded_along((dx, part), in_y_alone=True) for e, dx, part in self._split(step))

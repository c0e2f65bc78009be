"""Composite: a problem plus terms that may have kinks or be constraints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

from minmin.core.arrays import Array
from minmin.core.bound import Bound
from minmin.core.constants import Constants
from minmin.core.counting import Tally
from minmin.core.evaluation import Evaluation, EvaluationOfSum
from minmin.core.problem import Problem, Slice, require_two_blocks
from minmin.core.term import Term
from minmin.core.vectors import Vector
from minmin.errors import InputError, show
from minmin.problems.linear.evaluation import LinearEvaluation, LinearSlice
from minmin.problems.linear.model import LinearModel
from minmin.problems.linear.term_duality import bound_with_terms
from minmin.terms import PartsTerm, Scaled


class Composite(Problem):
    """f(x, y) + p(x) + q(y), with f any problem and p and q terms of :mod:`minmin.terms`.

    Gradients are those of f alone, values those of the whole. Methods look for points where p and q are finite, but
    some of them (``bam``, ``nag``) compute gradients of f elsewhere, too, so f must be defined around the constraints.

    Parameters
    ----------
    problem : Problem
        f.
    term_x, term_y : Term, optional
        p and q; by default none. If f is a :class:`minmin.Sum`, ``term_y`` applies to the y of every term of the sum,
        or is a sequence with one Term or None for each. They are not multiplied by the sum's weights.
    """

    def __init__(self, problem: Problem, term_x: Term | None = None, term_y: Any = None):
        if not isinstance(problem, Problem):
            raise InputError(
                f"problem must be a minmin problem, got {type(problem).__name__}; "
                "wrap your own functions in minmin.problems.Function"
            )
        if problem.has_terms:
            raise InputError(f"this {type(problem).__name__} has a term already; give all terms at once")
        if problem.y_is_remote:
            raise InputError("terms are not supported in a federation yet; minmin.Sum of Composite problems runs here")
        require_two_blocks(problem, "Composite")
        self.problem = problem
        self.term_x = _check_term(term_x, problem.d_x, "term_x")
        self.term_y = _check_term_y(term_y, problem)
        self.d_x, self.d_y = problem.d_x, problem.d_y
        self.tally = problem.tally
        self.has_value = problem.has_value
        self.has_y_hessian = problem.has_y_hessian and self.term_y is None
        self.part_sizes, self.part_weights = problem.part_sizes, problem.part_weights
        self.structure_x, self.structure_y = problem.structure_x, problem.structure_y
        self.part_structures = problem.part_structures
        self.has_noisy_gradients = problem.has_noisy_gradients

    def _with_problem(self, problem: Problem) -> Composite:
        twin = copy(self)
        twin.problem, twin.tally = problem, problem.tally
        return twin

    @property
    def row_obstacle(self) -> str:
        return self.problem.row_obstacle

    @property
    def constants(self) -> Constants | None:
        return self.problem.constants

    def constants_for(self, cost_ratio: float) -> Constants | None:
        return self.problem.constants_for(cost_ratio)

    def passes_for_constants(self) -> tuple[int, int]:
        return self.problem.passes_for_constants()

    @property
    def units_x(self) -> Array | float:  # type: ignore[override]
        takes_steps = self.has_terms if self.term_x is None else self.term_x.takes_steps
        return self.problem.x_block.units() if takes_steps and isinstance(self.problem, LinearModel) else 1.0

    @property
    def prototype(self) -> Array:
        return self.problem.prototype

    def fix(self, x: Vector) -> Slice:
        return _CompositeSlice(self.problem.fix(x), self.term_x, self.term_y)

    def bound(self, evaluation: Evaluation) -> Bound:
        return self.certify(evaluation, math.inf)

    def certify(self, evaluation: Evaluation, enough: float) -> Bound:
        """From the data of a linear model, if these prove a bound; otherwise by strong convexity."""
        if isinstance(self.problem, LinearModel) and self.has_terms:
            assert isinstance(evaluation, _CompositeEvaluation)
            assert isinstance(evaluation.original, LinearEvaluation)
            bound = bound_with_terms(evaluation.original, (self.term_x, self.term_y), enough)
            if bound.is_proved:
                return bound
            by_constants = super().bound(evaluation)
            return by_constants if by_constants.is_proved else bound
        return super().bound(evaluation)

    def gradient_noise(self, evaluation: Evaluation) -> tuple[float, float]:
        return self.problem.gradient_noise(evaluation)

    def counted(self, tally: Tally) -> Composite:
        return self._with_problem(self.problem.counted(tally))

    def without_terms(self) -> Problem:
        return self.problem

    def swapped(self) -> Problem:
        twin = self._with_problem(self.problem.swapped())
        twin.d_x, twin.d_y = self.d_y, self.d_x
        twin.term_x, twin.term_y = self.term_y, self.term_x
        twin.structure_x, twin.structure_y = twin.problem.structure_x, twin.problem.structure_y
        twin.has_y_hessian = twin.problem.has_y_hessian and twin.term_y is None
        twin.part_sizes, twin.part_weights = twin.problem.part_sizes, twin.problem.part_weights
        return twin

    def to_like(self, prototype: Array) -> Composite:
        return self._with_problem(self.problem.to_like(prototype))

    def project_start(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        x, y = self.problem.project_start(x, y)
        return (
            x if self.term_x is None else self.term_x.project(x),
            y if self.term_y is None else self.term_y.project(y),
        )

    def identity(self) -> Iterable[Any]:
        terms = (self.term_x, self.term_y)
        return [*self.problem.identity(), *(item for t in terms for item in (["none"] if t is None else t.identity()))]


def _check_term(term: Any, size: int, name: str) -> Term | None:
    if term is None:
        return None
    if not isinstance(term, Term):
        hint = f"; give an object: {term.__name__}(...)" if isinstance(term, type) and issubclass(term, Term) else ""
        raise InputError(f"{name} must be a minmin.terms.Term or None, got {show(term)}{hint}")
    term.check_size(size, name)
    return term


def _check_term_y(term: Any, problem: Problem) -> Term | None:
    if not problem.part_sizes:
        return _check_term(term, problem.d_y, "term_y")
    count = len(problem.part_sizes)
    terms = [term] * count if term is None or isinstance(term, Term) else term
    if not isinstance(terms, list | tuple) or len(terms) != count:
        raise InputError(f"term_y must be a Term, or a list of {count} Terms or Nones, one per term of the Sum")
    checked = [
        _check_term(t, size, f"term_y[{i}]") for i, (t, size) in enumerate(zip(terms, problem.part_sizes, strict=True))
    ]
    if all(t is None for t in checked):
        return None
    pairs = zip(checked, problem.part_weights, strict=True)
    return PartsTerm([None if t is None else Scaled(t, 1.0 / weight) for t, weight in pairs])


class _CompositeSlice(Slice):
    """The slice of f. Without a term in y its parts are those of f, which may have Hessians."""

    __slots__ = ("_original", "_parts", "term_x", "term_y")

    def __init__(self, original: Slice, term_x: Term | None, term_y: Term | None):
        super().__init__(original.x)
        self._original = original
        self.term_x, self.term_y = term_x, term_y
        self._parts: Sequence[Slice] = original.parts
        if isinstance(term_y, PartsTerm):
            pairs = zip(self._parts, term_y.terms, strict=True)
            self._parts = [part if t is None else _CompositeSlice(part, None, t) for part, t in pairs]
        elif term_y is not None:
            self._parts = (self,) if term_x is None else (_CompositeSlice(original, None, term_y),)

    @property
    def parts(self) -> Sequence[Slice]:
        return self._parts

    @property
    def units_y(self) -> Array | float:  # type: ignore[override]
        takes_steps = self.term_y is not None and self.term_y.takes_steps
        return self._original.model.y_block.units() if takes_steps and isinstance(self._original, LinearSlice) else 1.0

    def at(self, y: Vector) -> Evaluation:
        return _CompositeEvaluation(self._original.at(y), self.term_x, self.term_y)

    def join(self, evaluations: Sequence[Evaluation]) -> Evaluation:
        of_f = [e.original if isinstance(e, _CompositeEvaluation) else e for e in evaluations]
        return _CompositeEvaluation(self._original.join(of_f), self.term_x, self.term_y)


class _CompositeEvaluation(EvaluationOfSum):
    """The evaluation of f with the terms."""

    __slots__ = ()

    def _compute_value(self) -> float:
        """Where a term is infinite, f is not computed: it need not be defined there."""
        pairs = ((self.term_x, self.x), (self.term_y, self.y))
        of_terms = sum(term.value(v) for term, v in pairs if term is not None)
        return of_terms if math.isinf(of_terms) else self.original.value + of_terms

    @property
    def value_without_terms(self) -> float:
        return self.original.value_without_terms

    def _compute_grad_x(self) -> Vector:
        return self.original.grad_x

    def _compute_grad_y(self) -> Vector:
        return self.original.grad_y

"""Composite: a problem plus terms that may have kinks or be constraints; and bounds as users give them, as a term."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from minmin.core.arrays import Array
from minmin.core.blocks import BlockLayout
from minmin.core.bound import Bound
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, Slice, require_problem
from minmin.core.second_order import Direction, SecondOrderEvaluation, SecondOrderSlice
from minmin.core.structure import Leaf, Structure
from minmin.core.term import Term
from minmin.core.vectors import Vector
from minmin.core.wrapped import Wrapped, WrappedEvaluation, WrappedSlice, forwarded
from minmin.errors import InputError, show
from minmin.terms import Box
from minmin.terms.parts import BlocksTerm, PartsTerm, join_terms, weigh_terms
from minmin.terms.scaled import Scaled


class Composite(Wrapped):
    """f(x, y) + p(x) + q(y), with f any problem and p and q terms of :mod:`minmin.terms`.

    Gradients are those of f alone, values those of the whole. Methods look for points where p and q are finite, but
    some of them (``bam``, ``nag``) compute gradients of f elsewhere, too, so f must be defined around the constraints.

    Parameters
    ----------
    problem : Problem
        f.
    term_x, term_y : Term, optional
        p and q; by default none. If f is a :class:`minmin.Sum`, ``term_y`` applies to the y of every term of the sum,
        or is a sequence with one Term or None for each. They are not multiplied by the sum's weights. If f has several
        blocks, ``term_x`` is that of the first, and ``term_y`` applies to every other block, or is such a sequence.
    """

    def __init__(self, problem: Problem, term_x: Term | None = None, term_y: Any = None):
        require_problem(problem, "problem")
        if problem.has_terms:
            raise InputError("this problem has a term already; give all terms at once")
        if problem.y_is_remote:
            raise InputError(
                "in a federation a term in x belongs to the server: minmin.federated.run(..., term_x=...); "
                "one in y belongs to a client: minmin.federated.Client(Composite(problem, term_y=...))"
            )
        if problem.blocks is None:
            self._wrap(problem, check_term(term_x, problem.d_x, "term_x"), _check_term_y(term_y, problem))
        else:
            layout = problem.blocks.with_exact_scales()
            self._wrap(problem.with_layout(layout), *_place_terms(layout, term_x, term_y))

    def _wrap(self, problem: Problem, term_x: Term | None, term_y: Term | None) -> None:
        has_hessian = problem.has_y_hessian and term_y is None
        super().__init__(problem, term_x=term_x, term_y=term_y, has_y_hessian=has_hessian, bounds_by_data=False)

    @property
    def problem(self) -> Problem:
        """f, as it was given."""
        return self.original

    @property
    def units_x(self) -> Array | float:
        takes_steps = self.has_terms if self.term_x is None else self.term_x.takes_steps
        return self.original.units if takes_steps else 1.0

    def fix(self, x: Vector) -> SecondOrderSlice:
        return _CompositeSlice(self.original.fix(x), self.term_x, self.term_y)

    def evaluate(self, x: Vector, y: Vector, cache: tuple[Array, ...] = ()) -> Any:
        if not cache:
            return self.fix(x).at(y)
        evaluation: Any = self.original.evaluate(x, y, cache)
        return _CompositeSlice(evaluation.slice, self.term_x, self.term_y).wrap(evaluation)

    def bound(self, evaluation: Evaluation) -> Bound:
        return self.certify(evaluation, math.inf)

    def certify(self, evaluation: Evaluation, enough: float) -> Bound:
        """From the data, if these prove a bound; otherwise by strong convexity."""
        if not (self.has_terms and self.original.bounds_by_data):
            return super().bound(evaluation)
        assert isinstance(evaluation, _CompositeEvaluation)
        bound = self.original.certify_by_data(evaluation.original, (self.term_x, self.term_y), enough)
        if bound.is_proved:
            return bound
        by_constants = super().bound(evaluation)
        return by_constants if by_constants.is_proved else bound

    def bound_after(
        self, evaluation: Any, after: Any, y_root: Array | None, enough: float = 0.0
    ) -> tuple[Bound, tuple[float, float]]:
        if not (self.has_terms and self.original.bounds_by_data):
            return super().bound_after(evaluation, after, y_root, enough)
        terms = self.term_x, self.term_y
        bound = self.original.certify_by_data(evaluation.original, terms, enough, after, y_root)
        if not bound.is_proved and self.original.constants_may_prove:
            bound = super().bound(evaluation)
        return bound, (0.0, 0.0)

    def without_terms(self) -> Problem:
        return self.original

    def swapped(self) -> Problem:
        twin = copy(self)
        twin._wrap(self.original.swapped(), self.term_y, self.term_x)
        return twin

    def project_start(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        x, y = super().project_start(x, y)
        return (
            x if self.term_x is None else self.term_x.project(x),
            y if self.term_y is None else self.term_y.project(y),
        )

    def identity(self) -> Iterable[Any]:
        terms = (self.term_x, self.term_y)
        return [*super().identity(), *(item for t in terms for item in (["none"] if t is None else t.identity()))]


def check_term(term: Any, size: int, name: str) -> Term | None:
    """A term that a user gave for a block of this length, or an error that calls it by this name."""
    if term is None:
        return None
    if not isinstance(term, Term):
        hint = f"; give an object: {term.__name__}(...)" if isinstance(term, type) and issubclass(term, Term) else ""
        raise InputError(f"{name} must be a minmin.terms.Term or None, got {show(term)}{hint}")
    term.check_size(size, name)
    return term


def _check_terms(term: Any, sizes: Sequence[int], each: str) -> list[Term | None]:
    """One term for each of these pieces of y, from a sequence of them or from one for all."""
    terms = [term] * len(sizes) if term is None or isinstance(term, Term) else term
    if not isinstance(terms, list | tuple) or len(terms) != len(sizes):
        raise InputError(f"term_y must be a Term, or a list of {len(sizes)} Terms or Nones, one per {each}")
    return [check_term(t, size, f"term_y[{i}]") for i, (t, size) in enumerate(zip(terms, sizes, strict=True))]


def _place_terms(layout: BlockLayout, term_x: Any, term_y: Any) -> tuple[Term | None, Term | None]:
    """The terms of the blocks as terms of x and y, which hold the blocks in another order and in other units."""
    first, *others = layout.sizes
    terms = [check_term(term_x, first, "term_x"), *_check_terms(term_y, others, "block after the first")]
    scaled = [None if t is None else Scaled(t, 1.0, unit) for t, unit in zip(terms, layout.scales, strict=True)]
    rest = layout.rest
    return scaled[layout.outer], join_terms([scaled[i] for i in rest], [layout.sizes[i] for i in rest])


def _check_term_y(term: Any, problem: Problem) -> Term | None:
    if not problem.part_sizes:
        return check_term(term, problem.d_y, "term_y")
    return weigh_terms(_check_terms(term, problem.part_sizes, "term of the Sum"), problem.part_weights)


class _CompositeEvaluation(WrappedEvaluation):
    """The evaluation of f with the terms."""

    __slots__ = ()

    def __init__(self, original: Any, slice_: _CompositeSlice):
        super().__init__(original, slice_)
        self.x, self.term_x, self.term_y = slice_.x, slice_.term_x, slice_.term_y

    cache = forwarded(SecondOrderEvaluation.cache)

    def _compute_value(self) -> float:
        """Where a term is infinite, f is not computed: it need not be defined there."""
        pairs = ((self.term_x, self.x), (self.term_y, self.y))
        of_terms = sum(term.value(v) for term, v in pairs if term is not None)
        return of_terms if math.isinf(of_terms) else self.original.value + of_terms

    @property
    def value_without_terms(self) -> float:
        return self.original.value_without_terms


class _CompositeSlice(WrappedSlice):
    """The slice of f. Without a term in y its parts are those of f, which may have Hessians."""

    __slots__ = ("_parts", "term_x")
    evaluations = _CompositeEvaluation

    def __init__(self, original: Slice, term_x: Term | None, term_y: Term | None):
        super().__init__(original)
        self.term_x, self.term_y = term_x, term_y
        self._parts: Sequence[Slice] = original.parts
        if isinstance(term_y, PartsTerm):
            pairs = zip(self._parts, term_y.terms, strict=True)
            self._parts = [part if t is None else _CompositeSlice(part, None, t) for part, t in pairs]
        elif term_y is not None:
            self._parts = (self,) if term_x is None else (_CompositeSlice(original, None, term_y),)

    def moved(self, direction: Direction, t: float) -> _CompositeSlice:
        twin = _CompositeSlice(self.original.moved(direction, t), self.term_x, self.term_y)
        if self.term_x is not None:
            twin.x = self.term_x.project(twin.x)  # rounding may have moved it out of a constraint
        return twin

    @property
    def parts(self) -> Sequence[Slice]:
        return self._parts

    @property
    def nested(self) -> Problem | None:
        original, terms = self.original.nested, self.term_y
        if original is None or not isinstance(terms, BlocksTerm):
            return original
        twin = Composite.__new__(Composite)
        twin._wrap(original, *terms.split())
        return twin

    @property
    def units_y(self) -> Array | float:
        return self.original.units if self.term_y is not None and self.term_y.takes_steps else 1.0


def make_box(bounds: Any, name: str, shape: tuple[int, ...] | None, structure: Structure | None = None) -> Box | None:
    """A box from a user's bounds; None if there are none.

    Parameters
    ----------
    bounds : scipy.optimize.Bounds, or pair, or sequence of pairs, or a structure of these
        One pair (low, high) for all variables, or one per variable; None leaves a side free.
    name : str
        The argument, "bounds_x" or "bounds_y", for error messages.
    shape : tuple of int or None
        That of the variables; None if the box is for several parts of different sizes.
    structure : Structure, optional
        How the user sees the block; bounds may be given in the same way.
    """
    if bounds is None:
        return None
    leaves = None if structure is None else _pair_leaves(bounds, name, structure)
    if leaves is not None:
        boxes = [make_box(inside, name + leaf.place, leaf.shape) or Box(None, None) for leaf, inside in leaves]
        sizes = [leaf.size for leaf, _ in leaves]
        return Box(_join_sides([box.lower for box in boxes], sizes), _join_sides([box.upper for box in boxes], sizes))
    try:
        sides = _read_sides(bounds, name)
        box = Box(*(side.reshape(-1) if np.ndim(side) > 1 and side.shape == shape else side for side in sides))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    if shape is not None:
        box.check_size(math.prod(shape), name)
    return box


def _pair_leaves(bounds: Any, name: str, structure: Structure) -> list[tuple[Leaf, Any]] | None:
    """The bounds of every array; None if the bounds do not have the structure of the block."""
    if _is_pair(bounds):
        return None
    try:
        return list(structure.pair_leaves(bounds, name))
    except InputError:
        if isinstance(bounds, Mapping):
            raise
        return None  # bounds of all variables, whatever their structure


def _join_sides(sides: Sequence[Any], sizes: Sequence[int]) -> np.ndarray[Any, Any]:
    return np.concatenate([np.broadcast_to(side, size) for side, size in zip(sides, sizes, strict=True)])


def _is_pair(bounds: Any) -> bool:
    """Whether this is (low, high) for all variables; a dict with two keys has a length, too."""
    has_two = not isinstance(bounds, Mapping) and hasattr(bounds, "__len__") and len(bounds) == 2
    return has_two and all(np.ndim(side) == 0 for side in bounds)


def _read_sides(bounds: Any, name: str) -> tuple[Any, Any]:
    """The lower and the upper bounds."""
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):  # scipy.optimize.Bounds: its sides may be lists, or of length 1
        lower, upper = (np.asarray(side, dtype=np.float64) for side in (bounds.lb, bounds.ub))
        return _shorten(lower), _shorten(upper)
    if isinstance(bounds, str | Mapping) or not hasattr(bounds, "__len__"):
        raise InputError(
            f"{show(bounds)} are no bounds; give a scipy.optimize.Bounds, a pair (low, high), or one pair per variable"
        )
    if _is_pair(bounds):
        return bounds[0], bounds[1]
    for i, pair in enumerate(bounds):
        if pair is not None and (not hasattr(pair, "__len__") or len(pair) != 2):
            raise InputError(f"entry {i} is {show(pair)}; give a pair (low, high), with None for a free side")
    pairs = [(None, None) if pair is None else tuple(pair) for pair in bounds]
    return [low for low, _ in pairs], [high for _, high in pairs]


def _shorten(side: np.ndarray[Any, Any]) -> Any:
    """One number instead of an array that holds only one."""
    return float(side.reshape(())) if side.size == 1 else side

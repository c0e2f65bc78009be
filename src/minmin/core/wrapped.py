"""Wrapped: a problem that changes another one a little and passes on the rest; Assumed has other constants."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from operator import attrgetter
from typing import Any, Self, TypeVar, overload

from minmin.core.arrays import Array
from minmin.core.bound import Constants
from minmin.core.counting import UNCOUNTED, Tally
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, Slice
from minmin.core.rows import RowSum
from minmin.core.second_order import Direction, SecondOrderEvaluation, SecondOrderProblem, SecondOrderSlice
from minmin.core.vectors import Vector

M = TypeVar("M")
"""A method; mypy keeps the signature of one that takes arguments. For others the base class knows it."""


@overload
def forwarded(member: Callable[[Any], Any]) -> Any: ...
@overload
def forwarded(member: M) -> M: ...
def forwarded(member: Any) -> Any:
    """A property or method of a wrapper: that of the same name of ``original``, which is the object inside."""
    return property(attrgetter(f"original.{getattr(member, 'fget', member).__name__}"))


class Wrapped(SecondOrderProblem):
    """A problem around another one, which does the counting.

    It has the Hessian of the problem inside if that has one: ``traits.is_second_order`` says so.

    Parameters
    ----------
    original : Problem
        The problem inside.
    **changes
        The traits in which the two differ.
    """

    def __init__(self, original: Problem, **changes: Any):
        self.original = original
        self.tally = original.tally
        vars(self).update(vars(replace(original.traits, **changes)))

    def around(self, original: Problem) -> Self:
        """The same change of a problem with the same traits."""
        twin = copy(self)
        twin.original, twin.tally = original, original.tally
        return twin

    @abstractmethod
    def fix(self, x: Vector) -> Any:
        """A :class:`WrappedSlice`, or one of the problem inside."""

    def counted(self, tally: Tally) -> Self:
        return self.around(self.original.counted(tally))

    def to_like(self, prototype: Array) -> Self:
        return self.around(self.original.to_like(prototype))

    kind = forwarded(Problem.kind)
    constants = forwarded(Problem.constants)
    constants_for = forwarded(Problem.constants_for)
    passes_for_constants = forwarded(Problem.passes_for_constants)
    constants_may_prove = forwarded(Problem.constants_may_prove)
    why_no_rows = forwarded(Problem.why_no_rows)
    units_x = forwarded(Problem.units_x)
    units = forwarded(Problem.units)
    prototype = forwarded(Problem.prototype)
    prototype_at = forwarded(Problem.prototype_at)
    make_metrics = forwarded(Problem.make_metrics)
    project_start = forwarded(Problem.project_start)
    identity = forwarded(Problem.identity)


class WrappedSlice(SecondOrderSlice, RowSum):
    """A slice around another one; a sum over rows if that is one.

    Attributes
    ----------
    original : SecondOrderSlice
        The slice inside; one of first order if the problem inside is.
    evaluations : type
        Its evaluations are of this type.
    """

    __slots__ = ("original", "term_y")
    original: SecondOrderSlice
    evaluations: type[WrappedEvaluation]

    def __init__(self, original: Any):
        super().__init__(original.x)
        self.original = original
        self.term_y = original.term_y

    def wrap(self, evaluation: Evaluation) -> Any:
        """The evaluation of this slice around one of the slice inside."""
        return self.evaluations(evaluation, self)

    def at(self, y: Vector) -> Any:
        return self.wrap(self.original.at(y))

    def join(self, evaluations: Sequence[Evaluation]) -> Evaluation:
        """Parts may be those of the slice inside, or may be wrapped in the same way as this slice."""
        inside = [e.original if isinstance(e, self.evaluations) else e for e in evaluations]
        return self.evaluations(self.original.join(inside), self)

    def moved(self, direction: Direction, t: float) -> Self:
        twin = copy(self)
        twin.original = self.original.moved(direction, t)
        twin.x = twin.original.x
        return twin

    def estimate_change(self, known: Any, y: Array, rows: Any, factors: Any) -> Array:
        return self.original.estimate_change(known.original, y, rows, factors)  # type: ignore[attr-defined]

    find_row_smoothness = forwarded(RowSum.find_row_smoothness)
    units = forwarded(Slice.units)
    units_y = forwarded(Slice.units_y)
    nested = forwarded(Slice.nested)
    parts = forwarded(Slice.parts)
    along = forwarded(SecondOrderSlice.along)


class WrappedEvaluation(SecondOrderEvaluation):
    """An evaluation around another one, which counts and knows where its gradients come from.

    Attributes
    ----------
    original : SecondOrderEvaluation
        The evaluation inside; one of first order if the problem inside is.
    """

    __slots__ = ("original", "slice", "term_x", "term_y")
    original: SecondOrderEvaluation
    slice: Any

    def __init__(self, original: Any, slice_: Any):
        super().__init__(original.x, original.y, UNCOUNTED)
        self.original = original
        self.slice = slice_
        self.term_x, self.term_y = original.term_x, original.term_y

    @property
    def parts(self) -> Sequence[SecondOrderEvaluation]:
        pairs = zip(self.slice.parts, self.original.parts, strict=True)
        return [part.wrap(e) if isinstance(part, WrappedSlice) else e for part, e in pairs]

    def _compute_value(self) -> float:
        return self.original.value

    def _compute_grad_x(self) -> Vector:
        return self.original.grad_x

    def _compute_grad_y(self) -> Vector:
        return self.original.grad_y

    def with_surrogate_curvature(self) -> Self | None:
        surrogate = self.original.with_surrogate_curvature()
        if surrogate is None:
            return None
        twin = copy(self)
        twin.original = surrogate
        return twin

    cause_of_infinity: Any = property(attrgetter("original.cause_of_infinity"))
    value_without_terms = forwarded(Evaluation.value_without_terms)
    known_gradients = forwarded(Evaluation.known_gradients)
    locate = forwarded(Evaluation.locate)
    note_precision = forwarded(Evaluation.note_precision)
    nonfinite_place = forwarded(Evaluation.nonfinite_place)
    find_largest_entry = forwarded(Evaluation.find_largest_entry)
    rounding = forwarded(Evaluation.rounding)
    forget = forwarded(SecondOrderEvaluation.forget)
    gauge = forwarded(SecondOrderEvaluation.gauge)
    focus = forwarded(SecondOrderEvaluation.focus)
    hess_yy = forwarded(SecondOrderEvaluation.hess_yy)
    hess_yy_product = forwarded(SecondOrderEvaluation.hess_yy_product)
    hess_yy_diagonal = forwarded(SecondOrderEvaluation.hess_yy_diagonal)
    hess_xx_diagonal = forwarded(SecondOrderEvaluation.hess_xx_diagonal)
    hess_yx = forwarded(SecondOrderEvaluation.hess_yx)
    hess_product = forwarded(SecondOrderEvaluation.hess_product)
    model_after = forwarded(SecondOrderEvaluation.model_after)
    slope = forwarded(SecondOrderEvaluation.slope)
    model_distance = forwarded(SecondOrderEvaluation.model_distance)
    value_noise = forwarded(SecondOrderEvaluation.value_noise)
    is_unbounded_along = forwarded(SecondOrderEvaluation.is_unbounded_along)


class Assumed(Wrapped):
    """The same f, with other constants.

    Parameters
    ----------
    original : Problem
        f; it counts.
    constants : Constants
    known : Evaluation, optional
        Used instead of a new evaluation at this very point. A slice there has no other abilities.
    """

    constants = Problem.constants
    constants_for = Problem.constants_for

    def __init__(self, original: Problem, constants: Constants, known: Evaluation | None = None):
        super().__init__(original, bounds_by_data=False)
        self._known = known
        self._constants = constants

    def fix(self, x: Vector) -> Any:
        if self._known is not None and x is self._known.x:
            return _KnownSlice(self.original, self._known)
        return self.original.fix(x)


class _KnownSlice(Slice):
    """A slice with one evaluation that was computed before."""

    __slots__ = ("known", "problem")

    def __init__(self, problem: Problem, known: Evaluation):
        super().__init__(known.x)
        self.problem, self.known = problem, known

    def at(self, y: Vector) -> Evaluation:
        return self.known if y is self.known.y else self.problem.fix(self.x).at(y)

"""Wrapped: a problem that changes another one a little and passes on the rest; Assumed has other constants."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

from minmin.core.arrays import Array
from minmin.core.constants import Constants
from minmin.core.counting import UNCOUNTED, Tally
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, Slice
from minmin.core.rounding import RoundingScale
from minmin.core.second_order import (
    Direction,
    Gauge,
    SecondOrderEvaluation,
    SecondOrderProblem,
    SecondOrderSlice,
    YStepModel,
)
from minmin.core.vectors import Vector


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

    @property
    def kind(self) -> str:
        return self.original.kind

    @abstractmethod
    def fix(self, x: Vector) -> Any:
        """A :class:`WrappedSlice`, or one of the problem inside."""

    @property
    def constants(self) -> Constants | None:
        return self.original.constants

    def constants_for(self, cost_ratio: float) -> Constants | None:
        return self.original.constants_for(cost_ratio)

    def passes_for_constants(self) -> tuple[int, int]:
        return self.original.passes_for_constants()

    @property
    def row_obstacle(self) -> str:
        return self.original.row_obstacle

    @property
    def units_x(self) -> Array | float:
        return self.original.units_x

    @property
    def units(self) -> Array | float:
        return self.original.units

    @property
    def prototype(self) -> Array:
        return self.original.prototype

    def computes_like(self, x: Vector) -> Array:
        return self.original.computes_like(x)

    def make_metrics(self) -> Any:
        return self.original.make_metrics()

    def counted(self, tally: Tally) -> Self:
        return self.around(self.original.counted(tally))

    def to_like(self, prototype: Array) -> Self:
        return self.around(self.original.to_like(prototype))

    def project_start(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        return self.original.project_start(x, y)

    def identity(self) -> Iterable[Any]:
        return self.original.identity()


class WrappedSlice(SecondOrderSlice):
    """A slice around another one.

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

    @property
    def units(self) -> Array | float:
        return self.original.units

    @property
    def units_y(self) -> Array | float:
        return self.original.units_y

    @property
    def nested(self) -> Problem | None:
        return self.original.nested

    @property
    def parts(self) -> Sequence[Slice]:
        return self.original.parts

    def join(self, evaluations: Sequence[Evaluation]) -> Evaluation:
        """Parts may be those of the slice inside, or may be wrapped in the same way as this slice."""
        inside = [e.original if isinstance(e, self.evaluations) else e for e in evaluations]
        return self.evaluations(self.original.join(inside), self)

    def along(self, dx: Vector) -> Direction:
        return self.original.along(dx)

    def moved(self, direction: Direction, t: float) -> Self:
        twin = copy(self)
        twin.original = self.original.moved(direction, t)
        twin.x = twin.original.x
        return twin


class WrappedEvaluation(SecondOrderEvaluation):
    """An evaluation around another one, which counts and knows where its gradients come from.

    Attributes
    ----------
    original : SecondOrderEvaluation
        The evaluation inside; one of first order if the problem inside is.
    """

    __slots__ = ("_slice", "original", "term_x", "term_y")
    original: SecondOrderEvaluation

    def __init__(self, original: Any, slice_: Any):
        super().__init__(original.x, original.y, UNCOUNTED)
        self.original = original
        self._slice = slice_
        self.term_x, self.term_y = original.term_x, original.term_y

    @property
    def slice(self) -> SecondOrderSlice:
        return self._slice  # type: ignore[no-any-return]

    @property
    def parts(self) -> Sequence[SecondOrderEvaluation]:
        pairs = zip(self._slice.parts, self.original.parts, strict=True)
        return [part.wrap(e) if isinstance(part, WrappedSlice) else e for part, e in pairs]

    def known_gradients(self) -> dict[str, Vector]:
        return self.original.known_gradients()

    def locate(self, gradient: str, index: int) -> str:
        return self.original.locate(gradient, index)

    def note_precision(self, eps: float) -> None:
        self.original.note_precision(eps)

    @property
    def cause_of_infinity(self) -> str:  # type: ignore[override]
        return self.original.cause_of_infinity

    @property
    def nonfinite_place(self) -> str:
        return self.original.nonfinite_place

    def find_largest_entry(self, grad_x: Vector, grad_y: Vector) -> float:
        return self.original.find_largest_entry(grad_x, grad_y)

    @property
    def rounding(self) -> RoundingScale:
        return self.original.rounding

    def _compute_value(self) -> float:
        return self.original.value

    def _compute_grad_x(self) -> Vector:
        return self.original.grad_x

    def _compute_grad_y(self) -> Vector:
        return self.original.grad_y

    def forget(self) -> None:
        self.original.forget()

    @property
    def gauge(self) -> Gauge | None:
        return self.original.gauge

    def hess_yy(self) -> Array:
        return self.original.hess_yy()

    def hess_yy_product(self, dy: Array) -> Array:
        return self.original.hess_yy_product(dy)

    def hess_yy_diagonal(self) -> Array:
        return self.original.hess_yy_diagonal()

    def hess_xx_diagonal(self) -> Vector:
        return self.original.hess_xx_diagonal()

    def hess_yx(self, direction: Direction) -> Vector:
        return self.original.hess_yx(direction)

    def hess_product(self, direction: Direction, dy: Vector) -> Vector:
        return self.original.hess_product(direction, dy)

    def model_after(self, dy: Vector) -> YStepModel:
        return self.original.model_after(dy)

    def slope(self, direction: Direction, dy: Vector) -> float:
        return self.original.slope(direction, dy)

    def model_distance(self, direction: Direction, dy: Vector) -> float:
        return self.original.model_distance(direction, dy)

    def value_noise(self) -> float:
        return self.original.value_noise()

    def with_surrogate_curvature(self) -> Self | None:
        surrogate = self.original.with_surrogate_curvature()
        if surrogate is None:
            return None
        twin = copy(self)
        twin.original = surrogate
        return twin

    def is_unbounded_along(self, step: tuple[Direction, Vector] | None = None, *, in_y_alone: bool = False) -> bool:
        return self.original.is_unbounded_along(step, in_y_alone=in_y_alone)


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

    def __init__(self, original: Problem, constants: Constants, known: Evaluation | None = None):
        super().__init__(original, bounds_by_data=False)
        self._known = known
        self._constants = constants

    @property
    def constants(self) -> Constants:
        return self._constants

    def constants_for(self, cost_ratio: float) -> Constants:
        return self._constants

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

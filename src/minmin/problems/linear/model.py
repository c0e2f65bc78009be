"""LinearModel: a loss of the margins Xx + Yy, plus a penalty per column."""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy
from typing import Any, Self

import numpy as np

from minmin.core.arrays import Array, as_real, require_finite, same_kind, to_like
from minmin.core.bound import Bound
from minmin.core.constants import Constants
from minmin.core.counting import Tally
from minmin.core.problem import require_constants_type
from minmin.core.second_order import SecondOrderProblem
from minmin.errors import InputError
from minmin.problems.linear.constants import LinearConstants
from minmin.problems.linear.designs import make_designs
from minmin.problems.linear.duality import bound_by_duality
from minmin.problems.linear.evaluation import LinearEvaluation, LinearSlice, LinearYStepModel
from minmin.problems.linear.losses import Loss
from minmin.problems.linear.penalized_design import PenalizedDesign
from minmin.problems.linear.penalties import make_penalty
from minmin.problems.spectrum import EXPENSIVE


class LinearModel(SecondOrderProblem):
    """f(x, y) = weighted mean of loss(Xx + Yy, target), plus the penalties of both blocks.

    n rows. Margins are (n,), or (n, K) for a loss with K outputs; a column then has K coefficients, which stand beside
    each other in x or y.

    Parameters
    ----------
    X, Y : arrays, scipy.sparse of any format, or Design
        The designs of the expensive and of the cheap block.
    loss : Loss
    target : array
    alpha_x, alpha_y : float, or array with one per column
        The penalties, 0 or above.
    sample_weight : array of shape (n,), optional
        Not negative; normalised to sum to one.
    constants : Constants, optional
        Where not given, proved ones are computed when first asked for.

    Attributes
    ----------
    x_part, y_part : PenalizedDesign
        Design and penalties of the two blocks.
    loss : Loss
    target : array
        As the loss wants it.
    weights : array of shape (n,)
        They sum to one.
    """

    bounds_by_data = True

    def __init__(
        self,
        X: Any,
        Y: Any,
        loss: Loss,
        target: Any,
        *,
        alpha_x: Any,
        alpha_y: Any,
        sample_weight: Any = None,
        constants: Constants | None = None,
    ):
        design_x, design_y = make_designs(X, Y)
        prototype = design_x.prototype
        rows = design_x.shape[0]
        self.loss = loss
        penalty_x = make_penalty(alpha_x, "alpha_x", design_x.shape[1], prototype).repeated(loss.outputs)
        penalty_y = make_penalty(alpha_y, "alpha_y", design_y.shape[1], prototype).repeated(loss.outputs)
        self.weights = _normalize(sample_weight, rows, prototype)
        self.x_part = PenalizedDesign(design_x, penalty_x, loss.outputs)
        self.y_part = PenalizedDesign(design_y, penalty_y, loss.outputs)
        self.d_x, self.d_y = self.x_part.size, self.y_part.size
        self._given = require_constants_type(constants)
        self._proof = LinearConstants(self.x_part, self.y_part, loss, self.weights)
        self.target = loss.check_target(check_column(target, "target", rows, prototype))

    def _with_parts(self, x_part: PenalizedDesign, y_part: PenalizedDesign) -> Self:
        """The same model with other designs and penalties."""
        twin = copy(self)
        twin.x_part, twin.y_part = x_part, y_part
        twin.d_x, twin.d_y = x_part.size, y_part.size
        return twin

    @property
    def X(self) -> Any:  # noqa: N802
        """The matrix of the expensive block, as it is stored; a design of the user's own is itself."""
        return getattr(self.x_part.design, "matrix", self.x_part.design)

    @property
    def Y(self) -> Any:  # noqa: N802
        """The matrix of the cheap block, likewise."""
        return getattr(self.y_part.design, "matrix", self.y_part.design)

    @property
    def alpha_x(self) -> float | Array:
        """The penalty of x: one number, or one per column."""
        return self.x_part.column_penalty()

    @property
    def alpha_y(self) -> float | Array:
        """The penalty of y: one number, or one per column."""
        return self.y_part.column_penalty()

    @property
    def constants(self) -> Constants:
        return self.constants_for(EXPENSIVE)

    def constants_for(self, cost_ratio: float) -> Constants:
        if self._given is not None:
            return self._given
        constants = self._proof.choose(cost_ratio)
        self._count_constants()
        return constants

    def passes_for_constants(self) -> tuple[int, int]:
        return self._proof.passes if self._given is None else (0, 0)

    @property
    def prototype(self) -> Array:
        return self.weights

    def fix(self, x: Array) -> LinearSlice:
        return LinearSlice(x, self.x_part.image(x), self)

    def evaluate(self, x: Array, y: Array, cache: tuple[Array, ...] = ()) -> LinearEvaluation:
        if not cache:
            return self.fix(x).at(y)
        in_x, margins, shared = cache
        return LinearEvaluation(LinearSlice(x, in_x, self), y, margins, self, shared)

    def bound_after(
        self, evaluation: LinearEvaluation, after: LinearYStepModel, y_root: Array | None
    ) -> tuple[Bound, tuple[float, float]]:
        """By duality, or by strong convexity where that of the loss, or the user's constants, prove more."""
        bound, noise = bound_by_duality(evaluation, after, y_root)
        others_may_prove = self._given is not None or self.loss.min_curvature > 0.0 or self.loss.conjugate_radius == 0.0
        if math.isinf(bound.value) and others_may_prove:
            return super().bound_after(evaluation, after, y_root)
        return bound, noise

    def counted(self, tally: Tally) -> Self:
        twin = self._with_parts(self.x_part.counted(tally, "passes"), self.y_part.counted(tally, "passes_y"))
        twin.tally = tally
        return twin

    def swapped(self) -> Self:
        twin = self._with_parts(self.y_part, self.x_part)  # which report to the same tally as before
        twin.tally = self.tally.swapped()
        twin._given = self.constants_for(1.0 / EXPENSIVE).swapped()
        return twin

    def with_penalties(self, alpha_x: Any, alpha_y: Any) -> Self:
        """The same data, not checked again, under other penalties."""
        penalties = [
            make_penalty(alpha, name, part.design.shape[1], self.weights).repeated(self.loss.outputs)
            for alpha, name, part in ((alpha_x, "alpha_x", self.x_part), (alpha_y, "alpha_y", self.y_part))
        ]
        twin = self._with_parts(self.x_part.with_penalty(penalties[0]), self.y_part.with_penalty(penalties[1]))
        twin._given = None
        twin._proof = LinearConstants(twin.x_part, twin.y_part, self.loss, self.weights)
        return twin

    def to_like(self, prototype: Array) -> Self:
        """The constants stay those of the data as they were given."""
        if same_kind(prototype, self.weights):
            return self
        twin = self._with_parts(self.x_part.to_like(prototype, "X"), self.y_part.to_like(prototype, "Y"))
        twin.target, twin.weights = to_like(self.target, prototype), to_like(self.weights, prototype)
        return twin

    def project_start(self, x: Array, y: Array) -> tuple[Array, Array]:
        projected = []
        for v, part in ((x, self.x_part), (y, self.y_part)):
            gauge = self.loss.gauge(part.penalty.to_like(v))
            projected.append(v if gauge is None else gauge.project(v))
        return projected[0], projected[1]

    def identity(self) -> Iterable[Any]:
        parts = (self.x_part, self.y_part)
        designs = [array for part in parts for array in part.design.arrays()]
        penalties = [part.penalty.alpha for part in parts]
        own = [*self.loss.identity(), self.d_x, self.d_y, repr(self._given)]
        return [*own, *penalties, *designs, self.target, self.weights]


def check_column(values: Any, name: str, rows: int, prototype: Array) -> Array:
    """A user's numbers, one per row."""
    column = as_real(values, name, prototype)
    if column.shape != (rows,):
        raise InputError(f"{name} has shape {tuple(column.shape)}; X has {rows} rows, so it must be ({rows},)")
    require_finite(column, name)
    return to_like(column, prototype)


def _normalize(sample_weight: Any, rows: int, prototype: Array) -> Array:
    if sample_weight is None:
        return to_like(np.full(rows, 1.0 / rows), prototype)
    values = check_column(sample_weight, "sample_weight", rows, np.zeros(0))
    if (values < 0).any():
        wrong = int(np.flatnonzero(values < 0)[0])
        raise InputError(f"sample_weight[{wrong}] = {values[wrong]:g} is negative")
    if not values.any():
        raise InputError("sample_weight is zero everywhere; at least one sample must count")
    values = values / values.max()  # so that the sum of huge weights does not overflow
    return to_like(values / values.sum(), prototype)

"""GLM: a generalised linear model with a penalty per block, or per column."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from array_api_compat import array_namespace

from minmin.constants import Constants
from minmin.errors import InputError, near_names
from minmin.problems.bending import Bending, Entrywise
from minmin.problems.designs import checked_column
from minmin.problems.linear import LinearModel
from minmin.problems.losses import LOSSES
from minmin.space import Array, largest


class GLM(LinearModel):
    """f(x, y) = weighted mean of ℓ(Xx + Yy, target) + ½ Σ_j alpha_x[j] x_j² + ½ Σ_k alpha_y[k] y_k².

    n rows; X is (n, d_x), Y is (n, d_y), margins and targets have shape (n,). When x is fixed its
    margins Xx are kept, so an inner step costs products with Y alone.

    Parameters
    ----------
    X, Y : arrays, or scipy.sparse of any format
        The design of the expensive and of the cheap block.
    target : array of shape (n,)
        logistic: labels in {-1, 1} or {0, 1}; squared: real; poisson: counts, or any numbers >= 0.
    loss : {"logistic", "squared", "poisson"}
        squared is ½(margin - target)²; poisson is exp(margin) - target·margin.
    alpha_x, alpha_y : float, or array of one a column
        The penalties, 0 or above (scikit-learn's C is 1/(n·alpha)); a number is that of every column of its block.
        There is no intercept: append a column of ones to Y, with the penalty 0 or another. Methods that need strong
        convexity refuse 0.
    sample_weight : array of shape (n,), optional
        Not negative; normalised to sum to one.
    constants : Constants, optional
        Where not given, proved ones are computed when first asked for: mu are the penalties, L are
        eigenvalue bounds of the designs, with the coupling of the blocks traded for the fewest calls. The
        Poisson loss has no global L: give constants that hold where a run goes.
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        target: Any,
        loss: str = "logistic",
        *,
        alpha_x: Any,
        alpha_y: Any,
        sample_weight: Any = None,
        constants: Constants | None = None,
    ):
        if not isinstance(loss, str) or loss not in LOSSES:
            raise InputError(f"unknown loss {loss!r}: {near_names(loss, LOSSES)}")
        self.loss = LOSSES[loss]
        self.max_curvature, self.min_curvature = self.loss.max_curvature, self.loss.min_curvature
        vectors = self._take(X, Y, alpha_x, alpha_y, sample_weight, constants)
        self.target = self.loss.check(checked_column(target, "target", self.X.shape[0], vectors))

    @property
    def alpha_x(self) -> float | Array:
        return self.penalty_x.alpha

    @property
    def alpha_y(self) -> float | Array:
        return self.penalty_y.alpha

    def identity(self) -> Iterable[Any]:
        return [self.loss.name, *super().identity()]

    def prepare(self, margins: Array) -> Array:
        return self.loss.prepare(margins, self.target)

    def losses(self, margins: Array, shared: Array) -> Array:
        return self.loss.value(margins, self.target, shared)

    def slopes(self, margins: Array, shared: Array) -> Array:
        return self.loss.slope(margins, self.target, shared)

    def bending(self, margins: Array, shared: Array) -> Bending:
        return Entrywise(self.weights * self.loss.curvature(margins, self.target, shared))

    def bending_from_afar(self, margins: Array, slopes: Array, near: Bending) -> Bending | None:
        """For the logistic loss the parabola lies above it (Jaakkola and Jordan, 2000), so a step never raises f."""
        if math.isinf(self.loss.conjugate_radius):
            return None
        xp = array_namespace(margins)
        zero = xp.zeros_like(margins)
        change = slopes - self.slopes(zero, self.prepare(zero))
        far = xp.abs(margins) > 1.0
        chord = self.weights * change / xp.where(far, margins, xp.ones_like(zero))
        return Entrywise(xp.where(far, xp.maximum(near.diagonal, chord), near.diagonal))

    def is_in_dual_domain(self, change: Array, near: Bending) -> bool:
        return largest(change) <= self.loss.conjugate_radius

    def move_size(self, change: Array) -> float:
        """The largest change of a margin; zero for least squares.

        For the other losses the third derivative is at most the second in size.
        """
        return 0.0 if math.isinf(self.loss.conjugate_radius) else largest(change)

    def rises(self, change: Array, slack: Array) -> bool:
        return self.loss.rises(change, self.target, slack)

    def falls(self, change: Array, slack: Array) -> bool:
        return self.loss.falls(change, self.target, slack)

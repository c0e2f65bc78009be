"""GLM: a generalised linear model with a penalty per block."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from array_api_compat import array_namespace, device, is_numpy_array

from minmin.constants import Constants
from minmin.errors import InputError, as_number, near_names
from minmin.oracle import Ability, Evaluation, Problem, Slice, checked_constants
from minmin.problems.losses import LOSSES
from minmin.problems.spectrum import (
    EXACT_UP_TO,
    Matrix,
    cheapest,
    convexity_frontier,
    gram,
    norm_pairs,
    smoothness_frontier,
    squared_norm,
)
from minmin.space import Array, as_real, dot, dtype_name, like, require_finite, same_kind, to_numpy


class GLM(Problem):
    """f(x, y) = weighted mean of ℓ(Xx + Yy, target) + alpha_x/2 |x|² + alpha_y/2 |y|².

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
    alpha_x, alpha_y : float
        The penalties, 0 or above (scikit-learn's C is 1/(n·alpha)). There is no intercept: append a column of ones
        to Y for a penalised one. Methods that need strong convexity refuse 0.
    sample_weight : array of shape (n,), optional
        Not negative; normalised to sum to one.
    constants : Constants, optional
        Where not given, proved ones are computed when first asked for: mu are the penalties, L are
        eigenvalue bounds of the designs, with the coupling of the blocks traded for the fewest calls. The
        Poisson loss has no global L: give constants that hold where a run goes.
    """

    abilities = Ability.VALUE | Ability.HESS_YY

    def __init__(
        self,
        X: Any,
        Y: Any,
        target: Any,
        loss: str = "logistic",
        *,
        alpha_x: float,
        alpha_y: float,
        sample_weight: Any = None,
        constants: Constants | None = None,
    ):
        if not isinstance(loss, str) or loss not in LOSSES:
            raise InputError(f"unknown loss {loss!r}: {near_names(loss, LOSSES)}")
        self.loss = LOSSES[loss]
        self.alpha_x = _checked_penalty(alpha_x, "alpha_x")
        self.alpha_y = _checked_penalty(alpha_y, "alpha_y")
        self.X, self.Y = _in_one_dtype(_checked_design(X, "X"), _checked_design(Y, "Y"))
        vectors = _vector_model(self.X, self.Y)
        rows, self.d_x = self.X.shape
        self.d_y = self.Y.shape[1]
        if self.Y.shape[0] != rows:
            raise InputError(f"X has {rows} rows and Y {self.Y.shape[0]}; they must describe the same samples")
        self.target = self.loss.check(_checked_column(target, "target", rows, vectors))
        self.weights = _normalised(sample_weight, rows, vectors)
        self._given = checked_constants(constants)
        self._X_T, self._Y_T = self.X.T, self.Y.T

    @cached_property
    def constants(self) -> Constants:
        if self._given is not None:
            return self._given
        if math.isinf(self.loss.max_curvature):
            return Constants(math.inf, math.inf, self.alpha_x, self.alpha_y, "proved")
        L_x, L_y, mu_x, mu_y = cheapest(*self._valid_pairs())
        return Constants(L_x, L_y, mu_x, mu_y, "proved")

    def _valid_pairs(self) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """Valid (L_x, L_y) and (mu_x, mu_y).

        inf ℓ'' · G ⪯ H - diag(alpha) ⪯ sup ℓ'' · G with the Gram matrix G = [X Y]ᵀ diag(w) [X Y].
        """
        X, Y = _plain(self.X), _plain(self.Y)
        weights = to_numpy(self.weights).astype(np.float64)
        most, least = self.loss.max_curvature, self.loss.min_curvature
        convexity = [(0.0, 0.0)]
        if self.d_x + self.d_y <= EXACT_UP_TO:
            cross = gram(X, weights, Y)
            G = np.block([[gram(X, weights), cross], [cross.T, gram(Y, weights)]])
            smoothness = smoothness_frontier(most * G, self.d_x)
            if least > 0.0:
                convexity = [*convexity, *convexity_frontier(least * G, self.d_x)]
        else:
            smoothness = norm_pairs(most * squared_norm(X, weights), most * squared_norm(Y, weights))
        tiny = float(np.finfo(np.float64).tiny)  # data that are zero have no L > 0 of their own
        return (
            [(max(L_x, tiny) + self.alpha_x, max(L_y, tiny) + self.alpha_y) for L_x, L_y in smoothness],
            [(mu_x + self.alpha_x, mu_y + self.alpha_y) for mu_x, mu_y in convexity],
        )

    @property
    def model(self) -> Array:
        return self.target

    def fix(self, x: Array) -> Slice:
        self._tally.add("passes")
        return _GLMSlice(x, self.X @ x, self)

    def _exchanged(self) -> GLM:
        twin = self._with(self.Y, self.X, self.target, self.weights)
        twin.alpha_x, twin.alpha_y = self.alpha_y, self.alpha_x
        known = self.__dict__.get("constants", self._given)
        twin._given = None if known is None else known.swapped()
        return twin.counted(self._tally.swapped())

    def matching(self, model: Array) -> GLM:
        if same_kind(model, self.target):
            return self
        twin = self._with(
            _design_like(self.X, model, "X"),
            _design_like(self.Y, model, "Y"),
            like(self.target, model),
            like(self.weights, model),
        )
        twin._given = self.constants
        return twin

    def identity(self) -> Iterable[Any]:
        designs = [*_stored_arrays(self.X), *_stored_arrays(self.Y)]
        return [*super().identity(), self.loss.name, self.alpha_x, self.alpha_y, *designs, self.target, self.weights]

    def _with(self, X: Any, Y: Any, target: Array, weights: Array) -> GLM:
        """The same model over other, already checked arrays."""
        twin = self.counted(self._tally)
        twin.__dict__.pop("constants", None)
        twin.X, twin.Y, twin.target, twin.weights = X, Y, target, weights
        twin._X_T, twin._Y_T = X.T, Y.T
        twin.d_x, twin.d_y = X.shape[1], Y.shape[1]
        return twin


class _GLMSlice(Slice):
    __slots__ = ("_problem", "_x_penalty", "margins")

    def __init__(self, x: Array, margins: Array, problem: GLM):
        super().__init__(x)
        self.margins = margins
        self._problem = problem
        self._x_penalty: float | None = None

    @property
    def x_penalty(self) -> float:
        if self._x_penalty is None:
            self._x_penalty = 0.5 * self._problem.alpha_x * dot(self.x, self.x)
        return self._x_penalty

    def at(self, y: Array) -> Evaluation:
        self._problem._tally.add("passes_y")
        return _GLMEvaluation(self, y, self.margins + self._problem.Y @ y, self._problem)


class _GLMEvaluation(Evaluation):
    __slots__ = ("_problem", "_residual", "_shared", "_slice", "_slope", "margins")

    def __init__(self, slice_: _GLMSlice, y: Array, margins: Array, problem: GLM):
        super().__init__(slice_.x, y, problem._tally)
        self._slice = slice_
        self._problem = problem
        self.margins = margins
        self._shared = problem.loss.prepare(margins, problem.target)
        self._slope: Array | None = None
        self._residual: Array | None = None

    @property
    def slope(self) -> Array:
        """The derivative of every sample's loss with respect to its margin."""
        if self._slope is None:
            self._slope = self._problem.loss.slope(self.margins, self._problem.target, self._shared)
        return self._slope

    @property
    def residual(self) -> Array:
        """The derivative of the weighted mean loss with respect to every margin."""
        if self._residual is None:
            self._residual = self._problem.weights * self.slope
        return self._residual

    def _other_terms(self) -> float:
        """|√w ℓ'| in units of sup ℓ'': what Xᵀ(w ℓ') sums may be large though the sum is small."""
        curvature = self._problem.loss.max_curvature
        return math.sqrt(dot(self.residual, self.slope) / curvature)

    def _compute_value(self) -> float:
        p = self._problem
        losses = p.loss.value(self.margins, p.target, self._shared)
        return dot(p.weights, losses) + self._slice.x_penalty + 0.5 * p.alpha_y * dot(self.y, self.y)

    def _compute_grad_x(self) -> Array:
        self._tally.add("passes")
        return self._problem._X_T @ self.residual + self._problem.alpha_x * self.x

    def _compute_grad_y(self) -> Array:
        self._tally.add("passes_y")
        return self._problem._Y_T @ self.residual + self._problem.alpha_y * self.y

    def hess_yy(self) -> Array:
        self._tally.add("hess_yy")
        p = self._problem
        curvature = p.weights * p.loss.curvature(self.margins, p.target, self._shared)
        sparse = scipy.sparse.issparse(p.Y)
        loss_part = gram(p.Y, curvature) if sparse else p._Y_T @ (curvature[:, None] * p.Y)
        identity = array_namespace(curvature).eye(p.d_y, dtype=curvature.dtype, device=device(curvature))
        return loss_part + p.alpha_y * identity


def _checked_penalty(alpha: Any, name: str) -> float:
    number = as_number(alpha, name)
    if not 0.0 <= number < math.inf:
        raise InputError(f"{name} = {number} must be finite and not negative")
    return number


def _checked_design(matrix: Any, name: str) -> Any:
    """A design as CSR or as a dense floating array."""
    if scipy.sparse.issparse(matrix):
        csr = scipy.sparse.csr_array(matrix)
        if csr.dtype.kind not in "fiub":
            raise InputError(f"{name} has dtype {csr.dtype}; give real numbers")
        if csr.dtype not in (np.float32, np.float64):
            csr = csr.astype(np.float64)
        require_finite(csr.data, f"the stored values of {name}")
        design = csr
    else:
        design = as_real(matrix, name)
        if design.ndim != 2:
            raise InputError(f"{name} has shape {tuple(design.shape)}; it must be a matrix, one row a sample")
        require_finite(design, name)
    if 0 in design.shape:
        raise InputError(f"{name} has shape {tuple(design.shape)}; both blocks need a column, and a row")
    return design


def _in_one_dtype(X: Any, Y: Any) -> tuple[Any, Any]:
    """Two designs in the wider of their dtypes; both dense ones must come from one library."""
    libraries = {np if scipy.sparse.issparse(A) else array_namespace(A) for A in (X, Y)}
    if len(libraries) > 1 and not all(scipy.sparse.issparse(A) or is_numpy_array(A) for A in (X, Y)):
        raise InputError("X and Y must be of one array library; scipy.sparse goes with NumPy")
    if dtype_name(X) == dtype_name(Y):
        return X, Y
    return _as_float64(X), _as_float64(Y)


def _as_float64(design: Any) -> Any:
    if scipy.sparse.issparse(design):
        return design.astype(np.float64)
    xp = array_namespace(design)
    return xp.astype(design, xp.float64, copy=False)


def _vector_model(X: Any, Y: Any) -> Array:
    """An empty vector of the library, dtype and device that go with the designs."""
    dense = next((A for A in (X, Y) if not scipy.sparse.issparse(A)), None)
    return np.zeros(0, dtype=X.dtype) if dense is None else dense[0, :0]


def _checked_column(values: Any, name: str, rows: int, model: Array) -> Array:
    column = as_real(values, name, model)
    if column.shape != (rows,):
        raise InputError(f"{name} has shape {tuple(column.shape)}; X has {rows} rows, so it must be ({rows},)")
    require_finite(column, name)
    return like(column, model)


def _normalised(sample_weight: Any, rows: int, model: Array) -> Array:
    if sample_weight is None:
        return like(np.full(rows, 1.0 / rows), model)
    weights = _checked_column(sample_weight, "sample_weight", rows, model)
    values = to_numpy(weights).astype(np.float64)
    if (values < 0).any():
        wrong = int(np.flatnonzero(values < 0)[0])
        raise InputError(f"sample_weight[{wrong}] = {values[wrong]:g} is negative")
    if not values.any():
        raise InputError("sample_weight is zero everywhere; at least one sample must count")
    values = values / values.max()  # so that the sum of huge weights does not overflow
    return like(values / values.sum(), model)


def _stored_arrays(design: Any) -> tuple[Any, ...]:
    return (design.data, design.indices, design.indptr) if scipy.sparse.issparse(design) else (design,)


def _design_like(design: Any, model: Array, name: str) -> Any:
    if not scipy.sparse.issparse(design):
        return like(design, model)
    if not is_numpy_array(model):
        raise InputError(f"{name} is scipy.sparse, which works with NumPy vectors only; start from NumPy arrays")
    return design.astype(model.dtype)


def _plain(design: Any) -> Matrix | Any:
    """The design in float64, sparse or NumPy, to compute constants from."""
    return design.astype(np.float64) if scipy.sparse.issparse(design) else to_numpy(design).astype(np.float64)

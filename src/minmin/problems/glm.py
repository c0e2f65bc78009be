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
from minmin.errors import InputError, near_names
from minmin.oracle import Ability, Evaluation, Problem, Slice
from minmin.problems.losses import LOSSES
from minmin.problems.spectrum import (
    EXACT_UP_TO,
    Matrix,
    cheapest,
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
        logistic: labels in {-1, 1} or {0, 1}; squared: real; poisson: counts.
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
        if loss not in LOSSES:
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
        self._given = constants
        self._X_T, self._Y_T = _transposed(self.X), _transposed(self.Y)

    @cached_property
    def constants(self) -> Constants:
        if self._given is not None:
            return self._given
        if math.isinf(self.loss.max_curvature):
            return Constants(math.inf, math.inf, self.alpha_x, self.alpha_y, "proved")
        L_x, L_y, mu_x, mu_y = cheapest(self._smoothness_pairs(), [(self.alpha_x, self.alpha_y)])
        return Constants(L_x, L_y, mu_x, mu_y, "proved")

    def _smoothness_pairs(self) -> list[tuple[float, float]]:
        """Valid (L_x, L_y): H ⪯ sup ℓ'' · [X Y]ᵀ diag(w) [X Y] + diag(alpha)."""
        X, Y = _plain(self.X), _plain(self.Y)
        weights = self.loss.max_curvature * to_numpy(self.weights).astype(np.float64)
        if self.d_x + self.d_y <= EXACT_UP_TO:
            cross = gram(X, weights, Y)
            pairs = smoothness_frontier(np.block([[gram(X, weights), cross], [cross.T, gram(Y, weights)]]), self.d_x)
        else:
            pairs = norm_pairs(squared_norm(X, weights), squared_norm(Y, weights))
        tiny = float(np.finfo(np.float64).tiny)
        return [(max(L_x, tiny) + self.alpha_x, max(L_y, tiny) + self.alpha_y) for L_x, L_y in pairs]

    @property
    def model(self) -> Array:
        return self.target

    def fix(self, x: Array) -> Slice:
        self._tally.add("passes")
        return _GLMSlice(x, self.X @ x, self)

    def _exchanged(self) -> GLM:
        twin = self._with(self.Y, self.X, self.target, self.weights)
        twin.alpha_x, twin.alpha_y = self.alpha_y, self.alpha_x
        twin._given = None if self._given is None else self._given.swapped()
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
        twin._X_T, twin._Y_T = _transposed(X), _transposed(Y)
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
    __slots__ = ("_problem", "_residual", "_shared", "_slice", "margins")

    def __init__(self, slice_: _GLMSlice, y: Array, margins: Array, problem: GLM):
        super().__init__(slice_.x, y, problem._tally)
        self._slice = slice_
        self._problem = problem
        self.margins = margins
        self._shared = problem.loss.prepare(margins, problem.target)
        self._residual: Array | None = None

    @property
    def residual(self) -> Array:
        """The derivative of the mean loss with respect to every margin."""
        if self._residual is None:
            p = self._problem
            self._residual = p.weights * p.loss.slope(self.margins, p.target, self._shared)
        return self._residual

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
    try:
        number = float(alpha)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number, got {alpha!r}") from None
    if not 0.0 <= number < math.inf:
        raise InputError(f"{name} = {number} must be finite and not negative")
    return number


def _checked_design(matrix: Any, name: str) -> Any:
    """A design as CSR or as a dense floating array."""
    if scipy.sparse.issparse(matrix):
        csr = scipy.sparse.csr_array(matrix)
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


def _transposed(design: Any) -> Any:
    return design.T


def _design_like(design: Any, model: Array, name: str) -> Any:
    if not scipy.sparse.issparse(design):
        return like(design, model)
    if not is_numpy_array(model):
        raise InputError(f"{name} is scipy.sparse, which works with NumPy vectors only; start from NumPy arrays")
    return design.astype(model.dtype)


def _plain(design: Any) -> Matrix | Any:
    """The design in float64, sparse or NumPy, to compute constants from."""
    return design.astype(np.float64) if scipy.sparse.issparse(design) else to_numpy(design).astype(np.float64)

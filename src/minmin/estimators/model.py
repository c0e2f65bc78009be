"""The base classes of the estimators: from a user's data to a problem, and from its minimum to coefficients."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from minmin.errors import NoMinimumError
from minmin.estimators.blocks import ColumnBlocks, resolve_blocks
from minmin.estimators.design import Design, split_design
from minmin.estimators.penalties import Alphas, resolve_alphas
from minmin.estimators.table import spread_blocks
from minmin.estimators.text import TextColumns, check_data
from minmin.problems.linear.designs import tidy_csr, wrap_checked
from minmin.problems.linear.losses import Loss
from minmin.problems.linear.model import LinearModel
from minmin.result import Result
from minmin.solve import minimize

Vector = np.ndarray[Any, Any]
_Start = tuple[Vector, Vector] | None


class Sample(NamedTuple):
    """Checked data: the design, the target in the form that the loss needs, and the weights."""

    design: Design
    target: Vector
    weights: Vector | None

    def select_rows(self, chosen: Any) -> Sample:
        """A part of the data."""
        weights = None if self.weights is None else self.weights[chosen]
        return Sample(self.design.select_rows(chosen), self.target[chosen], weights)


@dataclass(eq=False, repr=False)
class BlockModel(TextColumns, BaseEstimator, ABC):
    """A linear model with a penalty per block. Subclasses define the target, the loss and the predictions.

    Shapes: n samples, d features; ``coef_`` is (d,) for a regression, (1, d) for two classes, (k, d) for k > 2.
    """

    blocks: Any = None
    _: KW_ONLY
    cheap: Any = None
    fit_intercept: bool = True
    tol: float = 1e-6
    max_seconds: float | None = None
    verbose: bool = False

    _why_unbounded = "the loss is unbounded below; give every block an alpha above 0"
    _numeric_target = True

    @property
    @abstractmethod
    def _loss(self) -> Loss:
        """The loss of a sample."""

    @property
    def _outputs(self) -> tuple[int, ...]:
        """(k,) for k > 2 classes, each with its own coefficients; else ()."""
        return ()

    @abstractmethod
    def _check_target(self, y: Any, weights: Vector | None) -> tuple[Vector, Vector | None]:
        """The target in the form that the loss needs, and the weights, multiplied by those of the classes."""

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Vector, Vector | None, ColumnBlocks]:
        """The matrix, the target in the form that the loss needs, the weights, and the columns of each block."""
        self._check_parameters()
        matrix, y = check_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=self._numeric_target
        )
        if scipy.sparse.issparse(matrix):
            matrix = tidy_csr(matrix)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, matrix, dtype=np.float64, ensure_non_negative=True)
        target, weights = self._check_target(y, weights)
        names = getattr(self, "feature_names_in_", None)
        blocks = resolve_blocks(self.blocks, X, self.n_features_in_, names)
        return matrix, target, weights, spread_blocks(blocks, matrix)

    def _check_parameters(self) -> None:
        check_scalar(self.tol, "tol", Real, min_val=0.0, include_boundaries="neither")
        if self.max_seconds is not None:
            check_scalar(self.max_seconds, "max_seconds", Real, min_val=0.0, include_boundaries="neither")

    def _design(self, matrix: Any, blocks: ColumnBlocks, unpenalised: Collection[Hashable]) -> Design:
        outputs = self._outputs[0] if self._outputs else 1
        return split_design(matrix, blocks, unpenalised, self.cheap, bool(self.fit_intercept), outputs)

    def _require_classes(self, target: Vector, weights: Vector | None, where: str) -> None:
        """Raise if some class has no sample; a regression has no classes."""

    def _problem(self, sample: Sample, alphas: Alphas) -> LinearModel:
        X, Y = wrap_checked(sample.design.X), wrap_checked(sample.design.Y)
        penalties = sample.design.penalties(alphas)
        return LinearModel(X, Y, self._loss, sample.target, **penalties, sample_weight=sample.weights)

    def _minimise(
        self, problem: LinearModel, sample: Sample, alphas: Alphas, start: _Start
    ) -> tuple[Result, LinearModel]:
        """Solve in the precision of the data; if single precision does not reach tol, again in double precision.

        Returns the result and the problem that it solves. The problem in double precision is built from the sample,
        since single precision has rounded the target, the weights and the penalties.
        """
        result = self._run(problem, start, self.max_seconds)
        if result.status == "stalled" and result.x.dtype == np.float32:
            left = None if self.max_seconds is None else max(self.max_seconds - result.seconds, 0.0)
            problem = self._problem(sample._replace(design=sample.design.in_double()), alphas)
            result = self._run(problem, (result.x.astype(np.float64), result.y.astype(np.float64)), left)
        return result, problem

    def _run(self, problem: LinearModel, start: _Start, max_seconds: float | None) -> Result:
        x0, y0 = start or (None, None)
        try:
            result = minimize(
                problem,
                x0,
                y0,
                method="reduced-newton",
                tol=self.tol,
                max_seconds=max_seconds,
                progress=bool(self.verbose),
            )
        except NoMinimumError as error:
            explained = NoMinimumError(f"the penalised loss has no minimum: {self._why_unbounded}")
            explained.result = error.result
            raise explained from error
        if result.status == "interrupted":
            raise KeyboardInterrupt
        return result

    def _start(self, design: Design) -> _Start:
        """The coefficients of the last fit, if there are any of the right shape."""
        if not hasattr(self, "coef_"):
            return None
        coef, intercept = self._unshape()
        if coef.shape != (*self._outputs, design.n_features):
            return None
        x, y = design.split(coef, intercept)
        return x.T.reshape(-1), y.T.reshape(-1)

    def _solution(self, design: Design, result: Result) -> tuple[Vector, Any]:
        """The coefficients and the intercept in the shapes that users of this estimator expect."""
        x, y = (v.reshape(-1, *self._outputs).T for v in (result.x, result.y))
        return self._shape(*design.coefficients(x, y))

    def _set_attributes(self, result: Result, design: Design, alphas: Alphas) -> None:
        """Set the attributes of a fitted estimator; warn if the tolerance was not proved."""
        self.coef_, self.intercept_ = self._solution(design, result)
        self.blocks_ = design.blocks
        self.alpha_ = alphas
        self.result_ = result
        self.gap_bound_ = result.gap_bound
        self.calls_ = dict(result.calls)
        self.n_iter_ = result.nit
        if not (result.success and result.certified):
            why = result.message if not result.success else "the bound is only an estimate, not proved"
            warnings.warn(
                f"f - f* <= tol = {self.tol:g} was not proved: {why} (see result_)", ConvergenceWarning, stacklevel=3
            )

    def _shape(self, coef: Vector, intercept: Any) -> tuple[Vector, Any]:
        """Add the axes that users of this estimator expect."""
        return coef, float(intercept)

    def _unshape(self) -> tuple[Vector, Any]:
        """Remove these axes from the coefficients and the intercept of the last fit."""
        return self.coef_, self.intercept_

    def _margins(self, X: Any) -> Vector:
        """The linear predictor; one column per row of ``coef_`` if that has two axes."""
        check_is_fitted(self)
        matrix = check_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        margins: Vector = matrix @ self.coef_.T + self.intercept_
        return margins

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class SingleFit(BlockModel):
    """An estimator whose penalties are given."""

    alpha: Any = 1e-3
    warm_start: bool = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise the penalised loss.

        Parameters
        ----------
        X : array, scipy.sparse or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            At least 0; only their ratios matter.

        Returns
        -------
        self
        """
        matrix, target, weights, blocks = self._check_data(X, y, sample_weight)
        alphas = resolve_alphas(self.alpha, list(blocks))
        design = self._design(matrix, blocks, [name for name, alpha in alphas.items() if alpha == 0.0])
        sample = Sample(design, target, weights)
        start = self._start(design) if self.warm_start else None
        result, _ = self._minimise(self._problem(sample, alphas), sample, alphas, start)
        self._set_attributes(result, design, alphas)
        return self

"""What all block models share: from the user's data to a problem, and from its minimum to coefficients."""

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
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from minmin.errors import NoMinimumError
from minmin.estimators.blocks import Blocks, resolve_blocks
from minmin.estimators.design import Design, split_design
from minmin.estimators.penalties import Alphas, resolve_alphas
from minmin.problems.linear.designs import merge_duplicates
from minmin.problems.linear.losses import Loss
from minmin.problems.linear.model import LinearModel
from minmin.result import Result
from minmin.solve import minimize

Vector = np.ndarray[Any, Any]
_Start = tuple[Vector, Vector] | None


class Sample(NamedTuple):
    """Checked data: the design, the target as the loss wants it, and the weights."""

    design: Design
    target: Vector
    weights: Vector | None

    def rows(self, chosen: Any) -> Sample:
        """Some of the samples."""
        weights = None if self.weights is None else self.weights[chosen]
        return Sample(self.design.rows(chosen), self.target[chosen], weights)


@dataclass(eq=False, repr=False)
class BlockModel(BaseEstimator, ABC):
    """A linear model with a penalty per block; a family says what the target is and what to predict.

    Shapes: n samples, d features; ``coef_`` is (d,) for a regression, (1, d) for two classes, (k, d) for k > 2.
    """

    blocks: Any = None
    _: KW_ONLY
    cheap: Any = None
    fit_intercept: bool = True
    tol: float = 1e-6
    max_seconds: float | None = None
    verbose: bool = False

    _why_unbounded = "it is unbounded below; give every block an alpha above 0"
    _numeric_target = True

    @property
    @abstractmethod
    def _loss(self) -> Loss:
        """What is minimised, beside the penalties."""

    @property
    def _outputs(self) -> tuple[int, ...]:
        """(k,) where k > 2 classes have coefficients each, else ()."""
        return ()

    @abstractmethod
    def _check_target(self, y: Any, weights: Vector | None) -> tuple[Vector, Vector | None]:
        """The target as the loss wants it, and the weights with those of the classes."""

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Vector, Vector | None, Blocks]:
        """The matrix, the target as the loss wants it, the weights, and the columns of every block."""
        self._check_parameters()
        matrix, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=self._numeric_target
        )
        if scipy.sparse.issparse(matrix):
            matrix = merge_duplicates(matrix)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, matrix, dtype=np.float64, ensure_non_negative=True)
        target, weights = self._check_target(y, weights)
        names = getattr(self, "feature_names_in_", None)
        return matrix, target, weights, resolve_blocks(self.blocks, X, matrix.shape[1], names)

    def _check_parameters(self) -> None:
        check_scalar(self.tol, "tol", Real, min_val=0.0, include_boundaries="neither")
        if self.max_seconds is not None:
            check_scalar(self.max_seconds, "max_seconds", Real, min_val=0.0, include_boundaries="neither")

    def _design(self, matrix: Any, blocks: Blocks, unpenalised: Collection[Hashable]) -> Design:
        outputs = self._outputs[0] if self._outputs else 1
        return split_design(matrix, blocks, unpenalised, self.cheap, bool(self.fit_intercept), outputs)

    def _require_classes(self, target: Vector, weights: Vector | None, where: str) -> None:
        """Raise where some class has no sample; there are none in a regression."""

    def _problem(self, sample: Sample, alphas: Alphas) -> LinearModel:
        design, penalties = sample.design, sample.design.penalties(alphas)
        return LinearModel(design.X, design.Y, self._loss, sample.target, **penalties, sample_weight=sample.weights)

    def _minimise(
        self, problem: LinearModel, sample: Sample, alphas: Alphas, start: _Start
    ) -> tuple[Result, LinearModel]:
        """The answer in the data's precision, or, where single precision does not reach tol, in double precision.

        With it comes the problem that it answers. That of double precision is made from the sample, since single
        precision has rounded the target, the weights and the penalties.
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
            known = NoMinimumError(f"the penalised loss has no minimum: {self._why_unbounded}")
            known.result = error.result
            raise known from error
        if result.status == "interrupted":
            raise KeyboardInterrupt
        return result

    def _start(self, design: Design) -> _Start:
        """The last fit's coefficients, where there are some of the same shape."""
        if not hasattr(self, "coef_"):
            return None
        coef, intercept = self._unshape()
        if coef.shape != (*self._outputs, design.n_features):
            return None
        x, y = design.split(coef, intercept)
        return x.T.reshape(-1), y.T.reshape(-1)

    def _solution(self, design: Design, result: Result) -> tuple[Vector, Any]:
        """Coefficients and intercept as users of this family expect them."""
        x, y = (v.reshape(-1, *self._outputs).T for v in (result.x, result.y))
        return self._shape(*design.coefficients(x, y))

    def _keep(self, result: Result, design: Design, alphas: Alphas) -> None:
        """Set what a fit leaves behind."""
        self.coef_, self.intercept_ = self._solution(design, result)
        self.blocks_ = design.blocks
        self.alpha_ = alphas
        self.result_ = result
        self.gap_bound_ = result.gap_bound
        self.calls_ = dict(result.calls)
        self.n_iter_ = result.nit
        if not (result.success and result.certified):
            why = result.message if not result.success else "the bound is an estimate, as nothing proves one here"
            warnings.warn(
                f"f - f* <= tol = {self.tol:g} was not proved: {why} (see result_)", ConvergenceWarning, stacklevel=3
            )

    def _shape(self, coef: Vector, intercept: Any) -> tuple[Vector, Any]:
        """With the axes that users of this family expect."""
        return coef, float(intercept)

    def _unshape(self) -> tuple[Vector, Any]:
        """The reverse, of the last fit."""
        return self.coef_, self.intercept_

    def _margins(self, X: Any) -> Vector:
        """The linear predictor, one column per row of ``coef_`` where that has two axes."""
        check_is_fitted(self)
        matrix = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        margins: Vector = matrix @ self.coef_.T + self.intercept_
        return margins

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class SingleFit(BlockModel):
    """A model whose penalties are given."""

    alpha: Any = 1e-3
    warm_start: bool = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise the penalised loss.

        Parameters
        ----------
        X : array, scipy.sparse or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            Not negative; only their ratios matter.

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
        self._keep(result, design, alphas)
        return self

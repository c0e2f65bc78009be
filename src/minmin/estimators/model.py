"""The base classes of the estimators: from a user's data to a problem, and from its minimum to coefficients."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_scalar
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from minmin.errors import DATA_LOST, InputError, NoMinimumError, NonFiniteError
from minmin.estimators.blocks import ColumnBlocks, resolve_blocks
from minmin.estimators.cluster import Measure, load_collections, make_example, on_collections, score_lazily
from minmin.estimators.column_split import ColumnSplit, split_columns
from minmin.estimators.features import Features
from minmin.estimators.null_model import NullModel, fit_null_model
from minmin.estimators.penalties import Alphas, resolve_alphas
from minmin.estimators.rounded_intercept import include_rounding
from minmin.estimators.targets import check_values, read_given
from minmin.estimators.text import TextColumns, check_data
from minmin.log import LOG
from minmin.problems.linear.designs import blank_idle_rows
from minmin.problems.linear.losses import Loss
from minmin.problems.linear.model import LinearModel
from minmin.result import Result
from minmin.solve import minimize

Vector = np.ndarray[Any, Any]
_Start = tuple[Vector, Vector] | None


_BY_BLOCK = ("blocks", "alpha", "alphas")
"""Parameters that may be dicts by the names of the blocks."""
_EPS = float(np.finfo(np.float64).eps)
_ROUNDING = 1024.0
"""A fit may also end where f - f* is at most eps times the terms that are summed in f. If rounding errors end it above
that, but below this many eps, it is as exact as it can be. Measured: docs/benchmarks/tuning.md."""


class RowData(NamedTuple):
    """What a user says about every sample beside its features: checked.

    Attributes
    ----------
    target : array
        In the form that the loss needs.
    weights, offset : arrays or None
    shift : float, or array of shape (k,) for k targets
        What was subtracted from the target. The intercept gets it back.
    """

    target: Vector
    weights: Vector | None
    offset: Vector | None = None
    shift: Any = 0.0

    def select(self, chosen: Any) -> RowData:
        weights, offset = (None if column is None else column[chosen] for column in self[1:3])
        return RowData(self.target[chosen], weights, offset, self.shift)

    def separate_targets(self) -> Iterator[RowData]:
        """The rows for each of several targets: nothing but the features and penalties is common to their fits."""
        for target, shift in zip(self.target.T, self.shift, strict=True):
            yield self._replace(target=np.ascontiguousarray(target), shift=shift)


_Checked = tuple[Features, RowData, ColumnBlocks]


class Sample(NamedTuple):
    """Checked data: the features, and what else is known of every row of it."""

    features: ColumnSplit
    rows: RowData

    def select_rows(self, chosen: Any) -> Sample:
        """A part of the data."""
        return Sample(self.features.select_rows(chosen), self.rows.select(chosen))


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
    max_iter: int | None = None
    max_seconds: float | None = None
    verbose: bool = False

    _why_unbounded = "the loss is unbounded below; give every block an alpha above 0"
    _numeric_target = True
    _takes_several_targets = False

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with ``deep`` also the entries of dicts by block, such as ``alpha__text``."""
        params: dict[str, Any] = super().get_params(deep)
        for name in _BY_BLOCK if deep else ():
            if isinstance(params.get(name), dict):
                params |= {f"{name}__{block}": of for block, of in params[name].items() if isinstance(block, str)}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``alpha__text=0.1`` sets the entry of the block "text" in the dict ``alpha``."""
        for entry in [name for name in params if "__" in name and name.split("__")[0] in _BY_BLOCK]:
            name, _, block = entry.partition("__")
            given = params.get(name, getattr(self, name, None))
            if not isinstance(given, dict) or block not in given:
                raise InputError(f"{name} has no entry {block!r} to set; give {name} as a dict by block first")
            params[name] = {**given, block: params.pop(entry)}  # a new dict: clones may share the old one
        super().set_params(**params)
        return self

    @property
    @abstractmethod
    def _loss(self) -> Loss:
        """The loss of a sample."""

    @property
    def _outputs(self) -> tuple[int, ...]:
        """(k,) for k > 2 classes, each with its own coefficients; else ()."""
        return ()

    @abstractmethod
    def _check_target(self, y: Any, weights: Vector | None) -> RowData:
        """The target in the form that the loss needs, and the weights, multiplied by those of the classes."""

    def _check_collections(self, X: Any, y: Any, sample_weight: Any, offset: Any) -> _Checked:
        """Dask collections as features, what is known of every sample, and the features of each block."""
        self._check_parameters()
        features, y, weights, offset = load_collections(self, X, y, sample_weight, offset)
        check_values(y.example, self._numeric_target)
        return self._check_rows(features, y, weights, offset, make_example(X))

    @on_collections(_check_collections)
    def _check_data(self, X: Any, y: Any, sample_weight: Any, offset: Any) -> _Checked:
        """The features, what is known of every sample beside them, and the features of each block."""
        self._check_parameters()
        y, sample_weight = read_given(y, "y"), read_given(sample_weight, "sample_weight")
        check_values(y, self._numeric_target)
        features, y = check_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            y_numeric=self._numeric_target,
            multi_output=self._takes_several_targets,
        )
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, features, dtype=np.float64, ensure_non_negative=True)
            if self._numeric_target:
                y = blank_idle_rows(y, weights, fill=np.asarray(y).ravel()[weights.argmax()])
            features = features.blank_idle_rows(weights)
        column = None if offset is None else check_offset(offset, features.shape[0])
        return self._check_rows(features, y, weights, column, X)

    def _check_rows(self, features: Features, y: Any, weights: Any, offset: Any, X: Any) -> _Checked:
        rows = self._check_target(y, weights)
        if offset is not None and self._outputs:
            raise InputError(f"offset needs two classes, and y has {self._outputs[0]}; leave offset out")
        names = getattr(self, "feature_names_in_", None)
        blocks = resolve_blocks(self.blocks, X, self.n_features_in_, names)
        spread = {name: features.find_features(columns) for name, columns in blocks.items()}
        return features, rows._replace(offset=offset), spread

    def _check_parameters(self) -> None:
        check_scalar(self.tol, "tol", Real, min_val=0.0, include_boundaries="neither")
        if self.max_iter is not None:
            check_scalar(self.max_iter, "max_iter", Integral, min_val=1)
        if self.max_seconds is not None:
            check_scalar(self.max_seconds, "max_seconds", Real, min_val=0.0, include_boundaries="neither")

    def _split_features(
        self, features: Features, blocks: ColumnBlocks, unpenalised: Collection[Hashable]
    ) -> ColumnSplit:
        outputs = self._outputs[0] if self._outputs else 1
        return split_columns(features, blocks, unpenalised, self.cheap, bool(self.fit_intercept), outputs)

    def _require_classes(self, target: Vector, weights: Vector | None, where: str) -> None:
        """Raise if some class has no sample; a regression has no classes."""

    def _problem(self, sample: Sample, alphas: Alphas, *, search: bool = False) -> LinearModel:
        """The problem of these samples; ``search``: look for huge columns on disk, too."""
        X, Y = sample.features.X, sample.features.Y
        penalties = sample.features.penalties(alphas)
        target, weights, offset, _ = sample.rows
        model = LinearModel(X, Y, self._loss, target, **penalties, sample_weight=weights, offset=offset)
        columns = {"X": sample.features.x_columns, "Y": sample.features.y_columns}
        names = self.feature_names_out_
        model.refuse_huge_columns(lambda block, j: f"column {names[columns[block][j]]!r}", everywhere=search)
        return model

    def _minimise(
        self, problem: LinearModel, sample: Sample, alphas: Alphas, start: _Start, null: NullModel | None = None
    ) -> tuple[Result, LinearModel]:
        """Solve in the precision of the data; if single precision does not reach tol, again in double precision.

        Returns the result and the problem that it solves. The problem in double precision is built from the sample,
        since single precision has rounded the target, the weights and the penalties. ``null`` is the null model of the
        sample, if it is known. The bound is that of the coefficients and the intercept which the user gets.
        """
        null = null or fit_null_model(problem, bool(self.fit_intercept))
        LOG.info("%d columns count as cheap; the null model has f = %.6g", len(sample.features.y_columns), null.value)
        if start is None and self.fit_intercept:
            zeros = np.zeros((*self._outputs, sample.features.n_features))
            start = self._start_at(sample.features, zeros, null.intercept)
        try:
            result = self._run(problem, start, null, self.max_seconds)
        except NonFiniteError:
            self._problem(sample, alphas, search=True)
            raise
        if result.status == "stalled" and result.x.dtype == np.float32:
            LOG.info("single precision does not reach tol = %g; the fit goes on in float64", self.tol)
            left = None if self.max_seconds is None else max(self.max_seconds - result.seconds, 0.0)
            problem = self._problem(sample._replace(features=sample.features.in_double()), alphas)
            result = self._run(problem, (result.x.astype(np.float64), result.y.astype(np.float64)), null, left)
        tolerance = max(self.tol * (null.value - result.fun), _ROUNDING * _EPS * null.scale)
        return include_rounding(result, sample.rows.shift, tolerance), problem

    def _run(self, problem: LinearModel, start: _Start, null: NullModel, max_seconds: float | None) -> Result:
        x0, y0 = start or (None, None)
        try:
            result = minimize(
                problem,
                x0,
                y0,
                method="reduced-newton",
                tol=_EPS * null.scale,
                rtol=self.tol,
                rtol_from=null.value,
                max_iterations=self.max_iter,
                max_seconds=max_seconds,
                progress=bool(self.verbose),
            )
        except NoMinimumError as error:
            explained = NoMinimumError(f"the penalised loss has no minimum: {self._why_unbounded}")
            explained.result = error.result
            raise explained from error
        if result.status == "interrupted" and not result.message.startswith(DATA_LOST):
            raise KeyboardInterrupt
        if result.status == "stalled" and result.certified and result.gap_bound <= _ROUNDING * _EPS * null.scale:
            message = f"f - f* <= {result.gap_bound:.3g} is as exact as rounding allows"
            return replace(result, status="converged", message=message)
        return result

    def _start(self, sample: Sample) -> _Start:
        """The coefficients of the last fit, if there are any of the right shape."""
        if not hasattr(self, "coef_"):
            return None
        coef, intercept = self._unshape()
        if coef.shape != (*self._outputs, sample.features.n_features):
            return None
        return self._start_at(sample.features, coef, intercept - sample.rows.shift)

    def _start_at(self, features: ColumnSplit, coef: Vector, intercept: Any) -> tuple[Vector, Vector]:
        x, y = features.split(coef, intercept)
        return x.T.reshape(-1), y.T.reshape(-1)

    def _solution(self, sample: Sample, result: Result | list[Result]) -> tuple[Vector, Any]:
        """The coefficients and the intercept in the shapes that users of this estimator expect."""
        if isinstance(result, list):
            parts = zip(*(self._coefficients(sample.features, one) for one in result), strict=True)
            coef, intercept = (np.stack(part) for part in parts)
        else:
            coef, intercept = self._coefficients(sample.features, result)
        return self._shape(coef, intercept + sample.rows.shift)

    def _coefficients(self, features: ColumnSplit, result: Result) -> tuple[Vector, Any]:
        x, y = (v.reshape(-1, *self._outputs).T for v in (result.x, result.y))
        return features.coefficients(x, y)

    def _set_attributes(self, result: Result | list[Result], sample: Sample, alphas: Alphas) -> None:
        """Set the attributes of a fitted estimator, from one result per target; warn if a tolerance was not proved."""
        self.coef_, self.intercept_ = self._solution(sample, result)
        self.blocks_ = sample.features.blocks
        self.alpha_ = alphas
        self.result_ = result
        results = result if isinstance(result, list) else [result]
        self.gap_bound_ = math.fsum(one.gap_bound for one in results)
        kinds = dict.fromkeys(kind for one in results for kind in one.calls)
        self.calls_ = {kind: sum(one.calls.get(kind, 0) for one in results) for kind in kinds}
        self.n_iter_ = max(one.nit for one in results)
        unproved = [one for one in results if not (one.success and one.certified)]
        if unproved:
            why = unproved[0].message if not unproved[0].success else "the bound is only an estimate, not proved"
            warnings.warn(
                f"f - f* <= tol = {self.tol:g} times the gain over the null model was not proved: {why} (see result_)",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _shape(self, coef: Vector, intercept: Any) -> tuple[Vector, Any]:
        """Add the axes that users of this estimator expect."""
        return coef, float(intercept) if coef.ndim == 1 else intercept

    def _unshape(self) -> tuple[Vector, Any]:
        """Remove these axes from the coefficients and the intercept of the last fit."""
        return self.coef_, self.intercept_

    def _margins(self, X: Any, offset: Any = None) -> Vector:
        """The linear predictor; one column per row of ``coef_`` if that has two axes."""
        check_is_fitted(self)
        matrix = check_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        margins: Vector = matrix @ self.coef_.T + self.intercept_
        if offset is None:
            return margins
        column = check_offset(offset, matrix.shape[0])
        return margins + (column if margins.ndim == 1 else column[:, None])

    @on_collections(score_lazily)
    def _score(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, lazily: Measure, measure: Callable[..., float]
    ) -> Any:
        """A score of predictions by a function of scikit-learn; of Dask collections by ``lazily``."""
        y, sample_weight = read_given(y, "y"), read_given(sample_weight, "sample_weight")
        return float(measure(y, self.predict(X, offset), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = self._takes_several_targets
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class FixedPenalties(BlockModel):
    """An estimator whose penalties are given."""

    alpha: Any = 1e-3
    warm_start: bool = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Self:
        """Minimise the penalised loss.

        Parameters
        ----------
        X : array, scipy.sparse, frame, partitions or Dask collection of shape (n_samples, n_features)
            Partitions are rows on disk: the X of :func:`minmin.datasets.open_partitions`. A Dask array or frame stays
            on the cluster of the current client; y, sample_weight and offset may be Dask collections, too.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            At least 0; only their ratios matter.
        offset : array of shape (n_samples,), optional
            Added to the margins, such as the logarithm of an exposure. Give one to predict, too.

        Returns
        -------
        self
        """
        given, rows, blocks = self._check_data(X, y, sample_weight, offset)
        self.has_offset_ = offset is not None
        alphas = resolve_alphas(self.alpha, list(blocks))
        features = self._split_features(given, blocks, [name for name, alpha in alphas.items() if alpha == 0.0])
        del given  # the features may be a copy
        sample = Sample(features, rows)
        result: Result | list[Result]
        if rows.target.ndim > 1:
            result = [self._fit_one(Sample(features, one), alphas, None) for one in rows.separate_targets()]
        else:
            result = self._fit_one(sample, alphas, self._start(sample) if self.warm_start else None)
        self._set_attributes(result, sample, alphas)
        return self

    def _fit_one(self, sample: Sample, alphas: Alphas, start: _Start) -> Result:
        return self._minimise(self._problem(sample, alphas), sample, alphas, start)[0]


def check_offset(offset: Any, rows: int) -> Vector:
    """A user's offset, one finite number per sample."""
    column = np.asarray(read_given(offset, "offset"), dtype=np.float64)
    if column.shape != (rows,):
        raise InputError(f"offset has shape {column.shape}; X has {rows} rows, so it must be ({rows},)")
    wrong = np.flatnonzero(~np.isfinite(column))
    if len(wrong):
        raise InputError(f"offset[{wrong[0]}] = {column[wrong[0]]}; every offset must be finite")
    return column

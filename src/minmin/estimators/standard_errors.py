"""From an estimator and the data of its fit to the standard errors of its coefficients."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from minmin.core.vectors import dot
from minmin.errors import InputError, UnsupportedError, show
from minmin.estimators.blocks import Columns, resolve_blocks
from minmin.estimators.cluster import refuse_collections
from minmin.estimators.column_split import ColumnSplit, split_columns
from minmin.estimators.features import Features
from minmin.estimators.inverse_hessian import FactorisedInverse, InverseHessian, IterativeInverse
from minmin.estimators.model import BlockModel, RowData, Sample, Vector
from minmin.estimators.partitions import check_columns
from minmin.estimators.variance import Variances, compute_variances
from minmin.problems.linear.evaluation import LinearEvaluation

_FACTORISE, _FACTORISE_FOR_ALL = 1000, 4000
"""H is factorised up to ``_FACTORISE`` coefficients, and up to ``_FACTORISE_FOR_ALL`` if the standard errors of all are
wanted. Measured: docs/benchmarks/tuning.md."""
_OTHER_DATA, _ROUNDING = 10.0, 1e6
"""Coefficients belong to other data if their gap is this many times the bound of the fit, and above this many rounding
errors of f."""
_FAR = 0.1
"""A warning is given if some coefficient is this many standard errors from the minimum."""


class Estimates(NamedTuple):
    """Standard errors of some columns of X.

    Attributes
    ----------
    columns : array
        The numbers of the columns, ascending.
    errors : array
        One row for every column, then one for the intercept if there is one; one column per class or target.
    dispersion, freedom : arrays
        See :class:`Variances`; one number for all classes, or one per target.
    n_samples : float
        N, the sum of the sample weights.
    """

    columns: Columns
    errors: Vector
    dispersion: Vector
    freedom: Vector
    n_samples: float


class _Request(NamedTuple):
    """What is wanted: ``places`` of coefficients, of which the first ``required`` must be determined."""

    features: ColumnSplit
    places: Vector
    required: int
    n_samples: float
    score_weight: Any
    robust: bool


def estimate_errors(
    model: BlockModel, X: Any, y: Any, sample_weight: Any, offset: Any, selector: Any, robust: bool
) -> Estimates:
    """Standard errors at the coefficients of a fitted model; see :meth:`WithStandardErrors.standard_errors`."""
    check_is_fitted(model)
    refuse_collections(X, "a standard error")
    check_columns(model, X)
    twin = copy(model)  # checking data sets attributes
    matrix, rows, _ = twin._check_data(X, y, sample_weight, offset)
    _require_same_labels(model, twin, rows)
    columns = np.arange(matrix.shape[1])
    if selector is not None:
        names = getattr(model, "feature_names_in_", None)
        chosen = resolve_blocks({"columns": selector}, X, model.n_features_in_, names)
        columns = matrix.find_features(chosen["columns"])
    n_samples, score_weight = _weigh_scores(model, matrix, sample_weight, rows.weights, robust)
    features = _split(model, matrix, wants_all=selector is None)
    places = _find_places(features, columns, twin._loss.outputs)
    required = places.size if selector is None else len(columns) * places.shape[1]
    request = _Request(features, places, required, n_samples, score_weight, robust)
    found, distances = [], []
    for of_target, coef, intercept, gap_bound in _separate_targets(model, twin, rows):
        problem = twin._problem(Sample(features, of_target), model.alpha_)
        evaluation = problem.evaluate(*twin._start_at(features, coef, intercept))
        variances, distance = _estimate_at(model, evaluation, gap_bound, request)
        found.append(variances)
        distances.append(distance)
    if max(distances) > _FAR:
        warnings.warn(
            f"some coefficient is about {max(distances):.2g} standard errors from the minimum; fit with a smaller tol",
            ConvergenceWarning,
            stacklevel=3,
        )
    errors = np.hstack([np.sqrt(one.values).reshape(places.shape) for one in found])
    dispersion, freedom = (np.array([getattr(one, name) for one in found]) for name in ("dispersion", "freedom"))
    return Estimates(columns, errors, dispersion, freedom, n_samples)


def _separate_targets(
    model: BlockModel, twin: BlockModel, rows: RowData
) -> Iterator[tuple[RowData, Vector, Any, float]]:
    """The rows of every target, its coefficients and intercept in the form of the problem, and the bound of its fit."""
    coef, intercept = twin._unshape()
    if not isinstance(model.result_, list):
        yield rows, coef, intercept - rows.shift, model.result_.gap_bound
        return
    for of_target, w, c, result in zip(rows.separate_targets(), coef, intercept, model.result_, strict=True):
        yield of_target, w, c - of_target.shift, result.gap_bound


def _estimate_at(
    model: BlockModel, evaluation: LinearEvaluation, gap_bound: float, request: _Request
) -> tuple[Variances, float]:
    """The variances of one target, and how many standard errors the coefficients are from the minimum."""
    has_all_in_y = len(request.features.x_columns) == 0
    inverse = FactorisedInverse(evaluation) if has_all_in_y else IterativeInverse(evaluation)
    newton_step = _require_minimum(inverse, gap_bound)
    numbers = request.places.reshape(-1).tolist()
    variances = compute_variances(
        inverse, numbers, n_samples=request.n_samples, score_weight=request.score_weight, robust=request.robust
    )
    values = variances.values
    lost = np.flatnonzero(np.isnan(values[: request.required]))
    if len(lost):
        kernel = {*(numbers[i] for i in lost), *inverse.find_kernel()}
        _raise_undetermined(model, request.features, kernel, evaluation.model.loss.outputs)
    return variances, float(np.max(np.abs(newton_step[numbers]) / np.sqrt(np.where(values > 0.0, values, np.inf))))


def _weigh_scores(
    model: BlockModel, matrix: Features, sample_weight: Any, weights: Vector | None, robust: bool
) -> tuple[float, Any]:
    """N, and the weight of one sample's loss in the mean loss; ``weights`` include those of the classes."""
    frequencies = np.ones(matrix.shape[0])
    if sample_weight is not None:
        frequencies = _check_sample_weight(sample_weight, matrix, dtype=np.float64)
    n_samples = float(frequencies.sum())
    if weights is None or getattr(model, "class_weight", None) is None:
        return n_samples, 1.0 / n_samples
    if not robust:
        raise UnsupportedError(
            "with class_weight the loss is not a likelihood, so standard errors cannot rest on it; give robust=True"
        )
    of_class = weights / np.where(frequencies > 0.0, frequencies, 1.0)
    return n_samples, of_class / weights.sum()


def _split(model: BlockModel, matrix: Features, wants_all: bool) -> ColumnSplit:
    """The features: all columns in Y if H is factorised, else as in a fit."""
    outputs = model._outputs[0] if model._outputs else 1
    width = outputs * (matrix.shape[1] + int(model.fit_intercept))
    factorises = width <= (_FACTORISE_FOR_ALL if wants_all else _FACTORISE)
    if wants_all and not factorises:
        raise InputError(
            f"standard errors of {width} coefficients take as many linear systems; choose some of the columns with "
            f"columns=. Up to {_FACTORISE_FOR_ALL} coefficients you can have all"
        )
    unpenalised = [name for name, alpha in model.alpha_.items() if alpha == 0.0]
    cheap = list(model.blocks_) if factorises else None
    return split_columns(matrix, model.blocks_, unpenalised, cheap, bool(model.fit_intercept), outputs).in_double()


def _find_places(features: ColumnSplit, columns: Columns, outputs: int) -> Vector:
    """The numbers of the coefficients: one row per column, then the intercept; one column per output."""
    d_x = features.X.shape[1]
    place = np.empty(features.n_features, dtype=np.intp)
    place[features.x_columns] = np.arange(len(features.x_columns))
    place[features.y_columns] = d_x + np.arange(len(features.y_columns))
    chosen = place[columns]
    if features.fit_intercept:
        chosen = np.append(chosen, d_x + features.Y.shape[1] - 1)
    return outputs * chosen[:, None] + np.arange(outputs)


def _require_same_labels(model: BlockModel, twin: BlockModel, rows: RowData) -> None:
    """Raise if the model was fitted with other categories or classes, or another number of targets."""
    if twin.categories_ != getattr(model, "categories_", {}):
        raise InputError("text columns of X have other categories than in the fit; give the data of the fit")
    fitted, given = (list(getattr(one, "classes_", [])) for one in (model, twin))
    if fitted != given:
        raise InputError(
            f"y has the classes {show(given)}, but the model was fitted with {show(fitted)}; give the data of the fit"
        )
    shape, count = rows.target.shape[1:], len(model.result_) if isinstance(model.result_, list) else None
    if shape != (() if count is None else (count,)):
        raise InputError(f"y has the shape {rows.target.shape}, and not that of the fit; give the data of the fit")


def _require_minimum(inverse: InverseHessian, gap_bound: float) -> Vector:
    """The Newton step from the coefficients; raise if it shows that they belong to other data."""
    evaluation = inverse.evaluation
    gradient = evaluation.grad_x, evaluation.grad_y
    step = inverse.solve(*gradient)
    gap = 0.5 * (dot(gradient[0], step.x) + dot(gradient[1], step.y))
    if gap > max(_OTHER_DATA * gap_bound, _ROUNDING * evaluation.value_noise()):
        raise InputError(
            f"the coefficients do not minimise the loss of these data (f is about {gap:.2g} above its minimum); give "
            "X, y, sample_weight and offset of the fit"
        )
    return np.concatenate([step.x, step.y])


def _raise_undetermined(model: BlockModel, features: ColumnSplit, numbers: Iterable[int], outputs: int) -> None:
    d_x = features.X.shape[1]
    places = sorted({number // outputs for number in numbers})
    intercept = d_x + features.Y.shape[1] - 1 if features.fit_intercept else -1
    user = [features.x_columns[p] if p < d_x else features.y_columns[p - d_x] for p in places if p != intercept]
    names = [repr(name) for name in model.feature_names_out_[sorted(user)]]
    if intercept in places:
        names.append("the intercept")
    shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    raise InputError(
        f"the data do not determine these coefficients: {shown}. Without a penalty, their columns are linearly "
        "dependent or zero; remove some, give their block an alpha above 0, or choose other columns="
    )

"""From an estimator and the data of its fit to the standard errors of its coefficients."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from minmin.core.vectors import dot
from minmin.errors import InputError, UnsupportedError, show
from minmin.estimators.blocks import Columns, resolve_blocks
from minmin.estimators.design import Design, split_design
from minmin.estimators.inverse_hessian import InverseHessian
from minmin.estimators.model import BlockModel, Sample, Vector
from minmin.estimators.variance import Variances, compute_variances
from minmin.numerics.dense import DENSE_UP_TO

_MOST_SYSTEMS = 1000
"""By default at most this many linear systems are solved by conjugate gradients."""
_OTHER_DATA = 10.0
"""Coefficients whose gap is this many times what the fit allowed belong to other data."""
_FAR = 0.1
"""A warning is given if some coefficient is this many standard errors from the minimum."""


class Estimates(NamedTuple):
    """Standard errors of some columns of X.

    Attributes
    ----------
    columns : array
        The numbers of the columns, ascending.
    errors : array
        One row for every column, then one for the intercept if there is one; one column per output.
    variances : Variances
        Where they come from.
    n_samples : float
        N, the sum of the sample weights.
    """

    columns: Columns
    errors: Vector
    variances: Variances
    n_samples: float


def estimate_errors(model: BlockModel, X: Any, y: Any, sample_weight: Any, selector: Any, robust: bool) -> Estimates:
    check_is_fitted(model)
    validate_data(model, X, reset=False, skip_check_array=True)
    twin = copy(model)  # checking data sets attributes
    matrix, target, weights, _ = twin._check_data(X, y, sample_weight)
    _require_same_classes(model, twin)
    names = getattr(model, "feature_names_in_", None)
    columns = np.arange(matrix.shape[1])
    if selector is not None:
        columns = resolve_blocks({"columns": selector}, X, matrix.shape[1], names)["columns"]
    n_samples, score_weight = _weigh_scores(model, matrix, sample_weight, weights, robust)
    sample = Sample(_split(model, matrix, selector is None), target, weights)
    return _estimate_at_solution(model, twin, sample, columns, n_samples, score_weight, robust)


def _estimate_at_solution(
    model: BlockModel,
    twin: BlockModel,
    sample: Sample,
    columns: Columns,
    n_samples: float,
    score_weight: Any,
    robust: bool,
) -> Estimates:
    problem = twin._problem(sample, model.alpha_)
    start = twin._start(sample.design)
    assert start is not None
    inverse = InverseHessian(problem.evaluate(*start))
    places = _find_places(sample.design, columns, problem.loss.outputs)
    newton_step = _require_minimum(model, inverse)
    numbers = places.reshape(-1).tolist()
    variances = compute_variances(inverse, numbers, n_samples=n_samples, score_weight=score_weight, robust=robust)
    if np.isnan(variances.values).any():
        undetermined = [n for n, value in zip(numbers, variances.values, strict=True) if np.isnan(value)]
        _raise_undetermined(model, sample.design, sorted({*undetermined, *inverse.find_kernel()}), problem.loss.outputs)
    errors = np.sqrt(variances.values)
    farthest = float(np.max(np.abs(newton_step[numbers]) / np.where(errors > 0.0, errors, np.inf)))
    if farthest > _FAR:
        warnings.warn(
            f"some coefficient is about {farthest:.2g} standard errors from the minimum; fit with a smaller tol",
            ConvergenceWarning,
            stacklevel=5,
        )
    return Estimates(columns, errors.reshape(places.shape), variances, n_samples)


def _weigh_scores(
    model: BlockModel, matrix: Any, sample_weight: Any, weights: Vector | None, robust: bool
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


def _split(model: BlockModel, matrix: Any, wants_all: bool) -> Design:
    """The design: all columns in Y if H can be factorised, else as in a fit."""
    outputs = model._outputs[0] if model._outputs else 1
    width = outputs * (matrix.shape[1] + int(model.fit_intercept))
    cheap = list(model.blocks_) if width <= DENSE_UP_TO else None
    if cheap is None and wants_all and width > _MOST_SYSTEMS:
        raise InputError(
            f"standard errors of {width} coefficients take as many linear systems; choose some with columns=, up to "
            f"{_MOST_SYSTEMS} at a time take about as long as that many fits"
        )
    unpenalised = [name for name, alpha in model.alpha_.items() if alpha == 0.0]
    return split_design(matrix, model.blocks_, unpenalised, cheap, bool(model.fit_intercept), outputs).in_double()


def _find_places(design: Design, columns: Columns, outputs: int) -> Vector:
    """The numbers of the coefficients: one row per column, then the intercept; one column per output."""
    d_x = design.X.shape[1]
    place = np.empty(design.n_features, dtype=np.intp)
    place[design.x_columns] = np.arange(len(design.x_columns))
    place[design.y_columns] = d_x + np.arange(len(design.y_columns))
    chosen = place[columns]
    if design.fit_intercept:
        chosen = np.append(chosen, d_x + design.Y.shape[1] - 1)
    return outputs * chosen[:, None] + np.arange(outputs)


def _require_same_classes(model: BlockModel, twin: BlockModel) -> None:
    fitted, given = (list(getattr(one, "classes_", [])) for one in (model, twin))
    if fitted != given:
        raise InputError(
            f"y has the classes {show(given)}, but the model was fitted with {show(fitted)}; give the data of the fit"
        )


def _require_minimum(model: BlockModel, inverse: InverseHessian) -> Vector:
    """The Newton step from the coefficients; raise if it shows that they belong to other data."""
    gradient = inverse.evaluation.grad_x, inverse.evaluation.grad_y
    step = inverse.solve(gradient[0].copy(), gradient[1].copy())
    gap = 0.5 * (dot(gradient[0], step.x) + dot(gradient[1], step.y))
    if gap > _OTHER_DATA * max(model.tol, model.gap_bound_):
        raise InputError(
            f"the coefficients do not minimise the loss of these data (f is about {gap:.2g} above its minimum); give "
            "X, y and sample_weight of the fit"
        )
    return np.concatenate([step.x, step.y])


def _raise_undetermined(model: BlockModel, design: Design, numbers: Sequence[int], outputs: int) -> None:
    d_x = design.X.shape[1]
    places = sorted({number // outputs for number in numbers})
    intercept = d_x + design.Y.shape[1] - 1 if design.fit_intercept else -1
    user = [design.x_columns[p] if p < d_x else design.y_columns[p - d_x] for p in places if p != intercept]
    names = [repr(name_column(model, int(column))) for column in sorted(user)]
    if intercept in places:
        names.append("the intercept")
    shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    raise InputError(
        f"the data do not determine these coefficients: {shown}. Without a penalty, their columns are linearly "
        "dependent or zero; remove some, give their block an alpha above 0, or choose other columns="
    )


def name_column(model: BlockModel, column: int) -> str:
    names = getattr(model, "feature_names_in_", None)
    return f"x{column}" if names is None else str(names[column])

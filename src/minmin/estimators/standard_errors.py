"""From an estimator and the data of its fit to the standard errors of its coefficients."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from minmin.core.vectors import dot
from minmin.errors import InputError, UnsupportedError, show
from minmin.estimators.blocks import Columns, resolve_blocks
from minmin.estimators.design import Design, split_design
from minmin.estimators.inverse_hessian import FactorisedInverse, InverseHessian, IterativeInverse
from minmin.estimators.model import BlockModel, Sample, Vector
from minmin.estimators.variance import Variances, compute_variances

_FACTORISE, _FACTORISE_FOR_ALL = 1000, 4000
"""H is factorised up to ``_FACTORISE`` coefficients, and up to ``_FACTORISE_FOR_ALL`` if the standard errors of all are
wanted. With 50,000 samples of 3420 columns, categories and 20 numbers, all take 7 s with one factorisation; 20 of them
take 0.8 s by conjugate gradients, so all would take 140 s."""
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
    """Standard errors at the coefficients of a fitted model; see :meth:`Inference.standard_errors`."""
    check_is_fitted(model)
    validate_data(model, X, reset=False, skip_check_array=True)
    twin = copy(model)  # checking data sets attributes
    matrix, target, weights, _ = twin._check_data(X, y, sample_weight)
    _require_same_classes(model, twin)
    columns = np.arange(matrix.shape[1])
    if selector is not None:
        names = getattr(model, "feature_names_in_", None)
        columns = resolve_blocks({"columns": selector}, X, matrix.shape[1], names)["columns"]
    n_samples, score_weight = _weigh_scores(model, matrix, sample_weight, weights, robust)
    design = _split(model, matrix, wants_all=selector is None)
    inverse = _invert_hessian(model, twin, Sample(design, target, weights))
    newton_step = _require_minimum(model, inverse)
    places = _find_places(design, columns, inverse.evaluation.model.loss.outputs)
    numbers = places.reshape(-1).tolist()
    variances = compute_variances(inverse, numbers, n_samples=n_samples, score_weight=score_weight, robust=robust)
    errors = np.sqrt(variances.values)
    required = places.size if selector is None else places[: len(columns)].size
    undetermined = [number for number, error in zip(numbers[:required], errors, strict=False) if np.isnan(error)]
    if undetermined:
        _raise_undetermined(model, design, {*undetermined, *inverse.find_kernel()}, places.shape[1])
    farthest = float(np.max(np.abs(newton_step[numbers]) / np.where(errors > 0.0, errors, np.inf)))
    if farthest > _FAR:
        warnings.warn(
            f"some coefficient is about {farthest:.2g} standard errors from the minimum; fit with a smaller tol",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Estimates(columns, errors.reshape(places.shape), variances, n_samples)


def _invert_hessian(model: BlockModel, twin: BlockModel, sample: Sample) -> InverseHessian:
    start = twin._start(sample.design)
    assert start is not None
    evaluation = twin._problem(sample, model.alpha_).evaluate(*start)
    has_all_in_y = len(sample.design.x_columns) == 0
    return FactorisedInverse(evaluation) if has_all_in_y else IterativeInverse(evaluation)


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
    """The design: all columns in Y if H is factorised, else as in a fit."""
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


def _raise_undetermined(model: BlockModel, design: Design, numbers: Iterable[int], outputs: int) -> None:
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

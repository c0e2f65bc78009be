"""The variances of the coefficients of a linear model: the diagonal of H⁻¹JH⁻¹/N."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minmin.core.arrays import inner
from minmin.core.vectors import dot
from minmin.errors import InputError
from minmin.estimators.inverse_hessian import InverseHessian
from minmin.problems.linear.evaluation import LinearEvaluation

_Array = np.ndarray[Any, Any]
_LEAST_FREEDOM = 1e-6
"""At least this share of the samples must be left beside the parameters; what is left by rounding is less."""
_Form = Callable[[_Array], float]


class Variances(NamedTuple):
    """Variances of some coefficients.

    Attributes
    ----------
    values : array
        NaN for a coefficient that the data do not determine.
    dispersion : float
        φ.
    freedom : float
        The degrees of freedom of Student's distribution; infinite for the normal distribution.
    """

    values: _Array
    dispersion: float
    freedom: float


def compute_variances(
    inverse: InverseHessian, numbers: Sequence[int], *, n_samples: float, score_weight: Any, robust: bool
) -> Variances:
    """The variances of these coefficients.

    Parameters
    ----------
    inverse : InverseHessian
    numbers : sequence of int
        Coefficients, numbered as there.
    n_samples : float
        N, the number of samples: the sum of their weights.
    score_weight : float or array
        The weight of the loss of one sample in the mean loss: 1/N, times a factor if there are class weights.
    robust : bool
        J from the scores of the samples, instead of from the model.
    """
    evaluation = inverse.evaluation
    outputs = evaluation.model.loss.outputs
    if evaluation.model.loss.unit_dispersion and not robust:
        form = _model_form(evaluation, 1.0 / n_samples)
        return Variances(_apply(form, inverse, numbers), 1.0, np.inf)
    parameters = inverse.count_parameters()
    freedom = n_samples - parameters / outputs
    if not freedom > _LEAST_FREEDOM * n_samples:
        raise InputError(
            f"the model has {parameters / outputs:.4g} parameters for {n_samples:.4g} samples, so nothing is left to "
            "estimate the variance from; penalise more, or give sample_weight as counts of samples"
        )
    if robust:
        form = _robust_form(evaluation, score_weight)
        return Variances(n_samples / freedom * _apply(form, inverse, numbers), 1.0, np.inf)
    dispersion = n_samples / freedom * _estimate_dispersion(evaluation)
    form = _model_form(evaluation, dispersion / n_samples)
    return Variances(_apply(form, inverse, numbers), dispersion, freedom)


def _apply(form: _Form, inverse: InverseHessian, numbers: Sequence[int]) -> _Array:
    return np.array([np.nan if image is None else form(image) for image in inverse.images(numbers)])


def _estimate_dispersion(evaluation: LinearEvaluation) -> float:
    """Pearson's estimate; for a loss without a model mean ℓ'² over mean ℓ'', as for Huber's loss."""
    model = evaluation.model
    squares = model.loss.pearson_squares(evaluation.margins, model.target, evaluation.shared)
    if squares is not None:
        return dot(model.weights, squares)
    return inner(evaluation.residual, evaluation.loss_slope) / float(evaluation.margin_hessian.diagonal.sum())


def _model_form(evaluation: LinearEvaluation, factor: float) -> _Form:
    """J = φ·XᵀhX: what the scores spread by if the loss is the likelihood of a true model."""
    return lambda image: factor * inner(image, evaluation.margin_hessian.times(image))


def _robust_form(evaluation: LinearEvaluation, score_weight: Any) -> _Form:
    """J = Σ sᵢsᵢᵀ with the score sᵢ of every sample: what they have spread by, whatever the truth is."""
    slope = evaluation.loss_slope
    factors = evaluation.model.weights * score_weight

    def form(image: _Array) -> float:
        scores = slope * image if image.ndim == 1 else np.einsum("ik,ik->i", slope, image)
        return inner(factors * scores, scores)

    return form

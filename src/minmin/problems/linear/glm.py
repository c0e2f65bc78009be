"""GLM and Softmax, the linear models for users."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minmin.core.arrays import Array, as_real_numpy, require_finite
from minmin.core.bound import Constants
from minmin.core.rows import RowVector
from minmin.errors import InputError, as_count, near_names
from minmin.problems.linear.losses import LOSSES, Loss
from minmin.problems.linear.losses.base import try_loss
from minmin.problems.linear.model import LinearModel
from minmin.problems.linear.rows.dask_data import is_dask
from minmin.problems.linear.softmax import SoftmaxLoss


class GLM(LinearModel):
    """f(x, y) = weighted mean of ℓ(Xx + Yy + offset, target) + ½ Σ_j alpha_x[j] x_j² + ½ Σ_k alpha_y[k] y_k².

    X has shape (n, d_x), Y has (n, d_y), margins, targets and offset have (n,). Fixing x computes Xx once, so an inner
    step costs only products with Y.

    Parameters
    ----------
    X, Y : arrays, scipy.sparse of any format, partitions, Dask arrays, or minmin.problems.Design
        The design of the expensive and of the cheap block. Dask arrays stay where they are; both need the same blocks
        of rows.
    target : array of shape (n,)
        squared, huber: any numbers. poisson, negative-binomial, tweedie: counts, or any numbers >= 0. gamma: numbers
        above 0. The others: labels in {-1, 1} or {0, 1}.
    loss : str or minmin.problems.Loss
        "logistic", "probit", "cloglog" or "squared-hinge" for two classes; "squared" or "huber"; "poisson",
        "negative-binomial", "gamma" or "tweedie" for a mean exp(margin). docs/guides/losses.md has the formulas. Give
        an object for a parameter, such as minmin.problems.Tweedie(power=1.7), or for your own loss.
    alpha_x, alpha_y : float, or array with one per column
        The penalties, 0 or above (scikit-learn's C is 1/(n·alpha)). One number applies to every column of the block.
        There is no intercept: append a column of ones to Y, with penalty 0 or another. Methods that need strong
        convexity refuse 0.
    sample_weight : array of shape (n,), optional
        Not negative; normalised to sum to one.
    offset : array of shape (n,), optional
        Added to the margins; by default zero. For counts in intervals of different lengths, their logarithms.
    constants : Constants, optional
        By default proved ones are computed when first needed: mu from the penalties, and L from eigenvalue bounds of
        the designs; of all valid constants those are chosen that promise the lowest cost. Losses of a mean exp(margin)
        and cloglog have no L: give constants that hold on the region of the run.
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        target: Any,
        loss: str | Loss = "logistic",
        *,
        alpha_x: Any,
        alpha_y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        constants: Constants | None = None,
    ):
        penalties = {"alpha_x": alpha_x, "alpha_y": alpha_y}
        given: dict[str, Any] = {"sample_weight": sample_weight, "offset": offset, "constants": constants}
        super().__init__(X, Y, _find_loss(loss), target, **penalties, **given)
        self.refuse_huge_columns("column {1} of {0}".format)
        if isinstance(loss, Loss) and loss.outputs == 1 and not isinstance(self.target, RowVector):
            try_loss(loss, self.target)


def _find_loss(loss: Any) -> Loss:
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, type) and issubclass(loss, Loss):
        raise InputError(f"loss is the class {loss.__name__}; give an object, such as {loss.__name__}()")
    if not isinstance(loss, str) or loss not in LOSSES:
        raise InputError(f"unknown loss {loss!r}: {near_names(loss, LOSSES)} Or give a minmin.problems.Loss.")
    return LOSSES[loss]


class Softmax(LinearModel):
    """f(x, y) = weighted mean of log Σ_k exp(m_ik) - m_i,target(i) + ½ Σ_jk alpha_x[j] A_jk² + ½ Σ_jk alpha_y[j] B_jk².

    The margins of n samples and K classes are m = XA + YB + offset. A has shape (d, K), and x is its rows one after
    the other, so ``r.x.reshape(-1, K)`` is A; likewise y is B. Fixing x computes XA once, so an inner step costs only
    products with Y.

    f does not change if one number is added to all K coefficients of an unpenalised column. Every start is shifted so
    that such coefficients sum to zero over the classes, and no step changes that. So they sum to zero in the result,
    too, as those of penalised columns do at the minimum.

    Parameters
    ----------
    X, Y : arrays, scipy.sparse of any format, partitions, Dask arrays, or minmin.problems.Design
        The design of the expensive and of the cheap block. Dask arrays stay where they are; both need the same blocks
        of rows.
    target : array of shape (n,)
        Classes: whole numbers from 0 to K - 1.
    classes : int, optional
        K, at least 2; by default one more than the largest target.
    alpha_x, alpha_y : float, or array with one per column
        The penalties, 0 or above (scikit-learn's C is 1/(n·alpha)). One number applies to every column of the block.
        There is no intercept: append a column of ones to Y, with penalty 0 or another. Methods that need strong
        convexity refuse 0.
    sample_weight : array of shape (n,), optional
        Not negative; normalised to sum to one.
    offset : array of shape (n, K), optional
        Added to the margins; by default zero.
    constants : Constants, optional
        By default proved ones are computed when first needed.
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        target: Any,
        classes: int | None = None,
        *,
        alpha_x: Any,
        alpha_y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        constants: Constants | None = None,
    ):
        if is_dask(X):
            if classes is None:
                raise InputError("give classes=, the number of classes: the targets are not looked at here")
            labels, count = target, as_count(classes, "classes")
        else:
            labels = _check_labels(target, classes)
            count = int(labels.max(initial=0.0)) + 1 if classes is None else int(classes)
        if count < 2:
            raise InputError(f"{count} class is too few; give classes=2 or more if other classes are possible")
        penalties = {"alpha_x": alpha_x, "alpha_y": alpha_y}
        given: dict[str, Any] = {"sample_weight": sample_weight, "offset": offset, "constants": constants}
        super().__init__(X, Y, SoftmaxLoss(count), labels, **penalties, **given)
        self.refuse_huge_columns("column {1} of {0}".format)

    @property
    def classes(self) -> int:
        """K."""
        return self.loss.outputs


def _check_labels(target: Any, classes: int | None) -> Array:
    """The targets as NumPy numbers, checked to be whole and within range."""
    labels = as_real_numpy(target, "target")
    require_finite(labels, "target")
    if classes is None and labels.size and labels.max() >= labels.size:
        raise InputError(
            f"target holds {labels.max():g} among {labels.size} samples, so some class has none; number the classes "
            "from 0 without gaps, or give classes="
        )
    most = math.inf if classes is None else as_count(classes, "classes") - 1
    wrong = np.argwhere((labels < 0) | (labels > most) | (labels != np.floor(labels)))
    if wrong.size:
        index = tuple(wrong[0].tolist())
        allowed = "0, 1, 2, ..." if classes is None else f"0 to {most}"
        place = ", ".join(map(str, index))
        raise InputError(f"target[{place}] = {labels[index]:g}: give classes as whole numbers, {allowed}")
    return labels

"""What the coefficients of an estimator mean: standard errors, and a summary with intervals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minmin.errors import InputError, as_number, show
from minmin.estimators.model import BlockModel, Vector
from minmin.estimators.standard_errors import estimate_errors
from minmin.estimators.summary import CoefficientTable, make_summary


class StandardErrors(NamedTuple):
    """The standard errors of some coefficients and of the intercept.

    Attributes
    ----------
    coef : array
        In the shape of ``coef_``, with the chosen columns along the last axis.
    intercept : float or array
        In the shape of ``intercept_``; 0 if there is none.
    """

    coef: Vector
    intercept: Any


class WithStandardErrors(BlockModel):
    """A linear model that says how exactly the data determine its coefficients."""

    def standard_errors(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        columns: Any = None,
        robust: bool = False,
    ) -> StandardErrors:
        """The standard errors of the coefficients: how much they would vary from sample to sample.

        They are the roots of the diagonal of H⁻¹JH⁻¹/N for N samples. H is the Hessian of the penalised mean loss. J is
        φ times the Hessian of the mean loss without penalties. φ is 1 for logistic and Poisson regression. For others
        it is estimated, with N - p in the denominator, where p is the effective number of parameters; for squares it is
        the variance of the residuals. Without penalties these are the classical standard errors. A penalty pulls
        coefficients towards zero. That bias is not in the standard errors, nor is the choice of penalties by
        cross-validation.

        Up to 4000 coefficients H is factorised. With more, choose columns: each takes one run of conjugate gradients.

        Parameters
        ----------
        X, y, sample_weight, offset
            The data of the fit. A weight is a number of equal samples: 2 means that the sample was seen twice, and N is
            the sum of the weights.
        columns : column selector, optional
            As in ``blocks``: names, patterns, numbers, a slice, a mask. By default all columns.
        robust : bool
            Take J from the samples, Σ ℓ'²xxᵀ/N, times N/(N - p) ("sandwich"). These standard errors are right even if
            the spread is not that of the model, such as for counts with more variance than Poisson's.

        Returns
        -------
        StandardErrors
            ``coef``, in the shape of ``coef_`` with only these columns, in ascending order; and ``intercept``.
        """
        found = estimate_errors(self, X, y, sample_weight, offset, columns, robust)
        width = len(found.columns)
        coef = found.errors[:width].T.reshape(*self.coef_.shape[:-1], width)
        if not self.fit_intercept:
            return StandardErrors(coef, 0.0 * self.intercept_)
        intercept = found.errors[-1].reshape(np.shape(self.intercept_))
        return StandardErrors(coef, intercept if intercept.ndim else float(intercept))

    def summary(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        columns: Any = None,
        robust: bool = False,
        level: float = 0.95,
    ) -> CoefficientTable:
        """A table of coefficients with standard errors, z, p values and intervals.

        z is the coefficient over its standard error. p values and intervals are those of the normal distribution, or of
        Student's with N - p degrees of freedom if φ was estimated. They rest on :meth:`standard_errors`: with a penalty
        they are about the penalised coefficient, whose mean is nearer to zero than the truth.

        With more than two classes, the coefficients of a column sum to zero over the classes: each compares its class
        with the mean of all.

        Parameters
        ----------
        X, y, sample_weight, offset, columns, robust
            See :meth:`standard_errors`.
        level : float
            An interval covers the mean of the estimate with this probability.

        Returns
        -------
        CoefficientTable
            Prints as a table; ``to_pandas()``, ``to_csv(file)`` and ``plot()``.
        """
        if not 0.0 < as_number(level, "level") < 1.0:
            raise InputError(f"level = {show(level)} must lie between 0 and 1")
        found = estimate_errors(self, X, y, sample_weight, offset, columns, robust)
        return make_summary(self, found, float(level), robust)

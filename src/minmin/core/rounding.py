"""How large rounding errors are expected to be: the one place that says so."""

from __future__ import annotations

from typing import NamedTuple

from minmin.core.vectors import Vector, norm

_FACTOR = 4.0
"""Errors of a sum are taken to be so many times eps times the size of its terms, |a||b| for a product a·b. Terms of
random signs were off by at most 0.7 eps|a||b|, up to 10⁶ of them, dense or sparse. Terms of one sign are worse: 10⁶ of
them were off by 7 such units by BLAS, and 10⁴ by 14 in a sparse product, which SciPy adds one after the other."""


def rounding_error(eps: float, size: float) -> float:
    """The error to expect in a sum whose terms have this size."""
    return _FACTOR * eps * size


def is_same_point(old: Vector, new: Vector, eps: float) -> bool:
    """Whether two points differ by rounding alone."""
    return norm(new - old) <= rounding_error(eps, norm(old))


class RoundingScale(NamedTuple):
    """What the rounding errors of an evaluation's gradients depend on.

    Attributes
    ----------
    eps : float
        The precision in which the answers were computed.
    y_norm : float
        |y|.
    fixed_terms : float
        The size of the gradients' terms that do not depend on x and y; see :meth:`Constants.gradient_noise`.
    """

    eps: float
    y_norm: float
    fixed_terms: float = 0.0

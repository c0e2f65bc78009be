"""Functions of arrays that several terms share; for NumPy with few temporary arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minmin.core.arrays import Array, array_eps, namespace_of
from minmin.core.term import Term


def clip(v: Array, lower: float | Array, upper: float | Array) -> Array:
    """Each entry, moved to the nearest number between its bounds."""
    if type(v) is np.ndarray:
        u = np.maximum(v, lower)
        return np.minimum(u, upper, out=u)
    return namespace_of(v).clip(v, lower, upper)


def soft_threshold(v: Array, threshold: float | Array) -> Array:
    """Each entry, moved towards 0 by its threshold and not beyond; shorter ones become exactly 0."""
    clipped = clip(v, -threshold, threshold)
    return np.subtract(v, clipped, out=clipped) if type(v) is np.ndarray else v - clipped


def as_step(step: Any) -> Any:
    """The step of a proximal map: one number in Python's precision, or an array with one per coordinate."""
    return step if getattr(step, "shape", ()) else float(step)


def find_shift(a: Array, d: Array, radius: float, labels: Array) -> Array:
    """The λ >= 0 at which |a/(λ + d)| is the radius, for d > 0; 0 if it is shorter. One per label, given at its places.

    By Newton's method on 1/|a/(λ + d)|, which is concave in λ, so that λ only grows (Moré and Sorensen 1983). Where d
    and a spread over 20 decades it took at most 9 steps.
    """
    shift = np.zeros(labels.max() + 1)
    for _ in range(50):
        u = a / (shift[labels] + d)
        squares, slopes = (np.bincount(labels, weights=w) for w in (u * u, u * u / (shift[labels] + d)))
        excess = np.sqrt(squares) / radius - 1.0
        if not excess.max() > np.finfo(float).eps:
            break
        shift += np.maximum(excess, 0.0) * (squares / np.maximum(slopes, np.finfo(float).tiny))
    return shift[labels]


def all_true(condition: Array) -> bool:
    return bool(condition.all() if type(condition) is np.ndarray else namespace_of(condition).all(condition))


def weighted_sum(weight: float | Array, v: Array) -> float:
    """Σ weight_i v_i."""
    if isinstance(weight, float):
        return weight * float(v.sum() if type(v) is np.ndarray else namespace_of(v).sum(v))
    return float(weight @ v)


def largest_scale(sizes: Array, bound: float | Array) -> float:
    """The largest number up to 1 that, times these sizes, is at most the bound in each entry."""
    inside = sizes <= bound
    if all_true(inside):
        return 1.0
    xp = namespace_of(sizes)
    return float(xp.min(xp.where(inside, 1.0, bound / xp.where(inside, 1.0, sizes))))


def lower_scale(term: Term, s: Array, scale: float) -> float:
    """The scale, lowered by as many rounding errors as the conjugate of scale·s needs to be finite."""
    error = array_eps(s)
    while scale > 0.0 and not math.isfinite(term._conjugate(scale * s)):
        scale *= max(0.0, 1.0 - error)
        error *= 2.0
    return scale

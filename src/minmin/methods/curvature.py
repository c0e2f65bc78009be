"""Curvature pairs of a quasi-Newton method, and the inverse Hessian they stand for."""

from __future__ import annotations

import math
from typing import NamedTuple

from minmin.space import Array, dot, norm


class Pairs(NamedTuple):
    """The newest steps s, the changes of gradient r over them, and the products <s, r>, oldest first."""

    steps: tuple[Array, ...] = ()
    changes: tuple[Array, ...] = ()
    products: tuple[float, ...] = ()


def remember(pairs: Pairs, step: Array, change: Array, product: float, memory: int) -> Pairs:
    """Add a pair, forgetting the oldest; one without clearly positive curvature is left out."""
    squares = dot(step, step), dot(change, change)
    usable = product > 1e-10 * norm(step) * norm(change) and all(0.0 < s < math.inf for s in (*squares, product))
    if not usable:
        return pairs
    return Pairs(
        (*pairs.steps, step)[-memory:],
        (*pairs.changes, change)[-memory:],
        (*pairs.products, product)[-memory:],
    )


def softer(softest: float, product: float, size: float) -> float:
    """The least curvature seen, after a step of this squared length and its product with the change of gradient."""
    return min(softest, product / size) if product > 0.0 and size > 0.0 else softest


def inverse_times(pairs: Pairs, vector: Array) -> Array:
    """The L-BFGS inverse Hessian times a vector (Nocedal 1980, two-loop recursion).

    It starts from <s, r>/<r, r> of the newest pair, so there must be one.
    """
    steps, changes, products = pairs
    weights = []
    for s, r, product in zip(reversed(steps), reversed(changes), reversed(products), strict=True):
        weight = float(s @ vector) / product
        vector = vector - weight * r
        weights.append(weight)
    vector = (products[-1] / dot(changes[-1], changes[-1])) * vector
    for s, r, product, weight in zip(steps, changes, products, reversed(weights), strict=True):
        vector = vector + (weight - float(r @ vector) / product) * s
    return vector

"""OGM-G's coefficients (Algorithm 2 of the paper; Kim and Fessler 2021)."""

from __future__ import annotations

import functools
import itertools
import math


@functools.cache
def ogm_g_coefficients(steps: int) -> tuple[tuple[float, float], ...]:
    """For each of N steps the factors of y_{i+1} - y_i and of y_{i+1} - x_i.

    They come from the sequence θ̃_N = 1, θ̃_i = (1 + √(1 + 4θ̃_{i+1}²))/2, and √(1 + 8θ̃_1²) for i = 0. After
    N steps |∇f(x_N)|² <= 2L(f(x_0) - f*)/θ̃_0².
    """
    theta = [1.0]
    for i in reversed(range(steps)):
        theta.append(0.5 * (1.0 + math.sqrt(1.0 + (8.0 if i == 0 else 4.0) * theta[-1] ** 2)))
    theta.reverse()
    return tuple(
        (
            (now - 1.0) * (2.0 * then - 1.0) / (now * (2.0 * now - 1.0)),
            (2.0 * then - 1.0) / (2.0 * now - 1.0),
        )
        for now, then in itertools.pairwise(theta)
    )

"""Constants that count as proved hold in exact arithmetic, also for nearly singular Hessians."""

from fractions import Fraction

import numpy as np

from minmin.problems import GLM, Quadratic


def is_positive_semidefinite(matrix):
    """By Gaussian elimination of fractions."""
    rows = [list(row) for row in matrix]
    for k, pivot_row in enumerate(rows):
        pivot = pivot_row[k]
        if pivot < 0 or (pivot == 0 and any(pivot_row[k:])):
            return False
        for row in rows[k + 1 :] if pivot else []:
            factor = row[k] / pivot
            row[k:] = [a - factor * b for a, b in zip(row[k:], pivot_row[k:], strict=True)]
    return True


def minus(H, x_part, y_part, d_x, sign):
    """sign·(H - diag(x_part, y_part))."""
    diagonal = [Fraction(x_part if i < d_x else y_part) for i in range(len(H))]
    return [[sign * (h - (diagonal[i] if i == j else 0)) for j, h in enumerate(row)] for i, row in enumerate(H)]


def assert_proved(H, d_x, c):
    assert is_positive_semidefinite(minus(H, c.mu_x, c.mu_y, d_x, 1)), c
    assert is_positive_semidefinite(minus(H, c.L_x, c.L_y, d_x, -1)), c


def test_proved_constants_hold_in_exact_arithmetic():
    found = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        d_x, d_y = rng.integers(1, 4, size=2)
        rows = int(rng.integers(d_x + d_y, 12))
        A = rng.integers(-4, 5, size=(rows, d_x + d_y)) * 2.0 ** rng.integers(-25, 3, size=d_x + d_y)
        H = A.T @ A  # exactly: the entries of A have few bits
        c = Quadratic(H, np.zeros(d_x + d_y), int(d_x)).constants
        assert_proved([[Fraction(h) for h in row] for row in H.tolist()], d_x, c)
        found += c.mu_x > 0.0
    assert found > 200


def test_a_tiny_column_of_a_linear_model_does_not_spoil_the_proof():
    """H_yy is one number here, so mu_y can not be above it."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, Y = rng.standard_normal((36, 3)) * [3e-7, 1.0, 1.0], 4.0 * rng.standard_normal((36, 1))
        glm = GLM(X, Y, rng.standard_normal(36), "squared", alpha_x=0.04, alpha_y=0.0)
        assert glm.constants.mu_y <= np.mean(Y**2) <= glm.constants.L_y

"""Convex functions without strong convexity: radius= regularises them, and the answer is for the user's own f."""

import numpy as np
import pytest

import minmin
from contract.promises import assert_same_run
from minmin.problems import GLM, Function
from reference import glm_minimum

METHODS = {
    "bam": ("bam", {}),
    "bam-nag": ("bam", {"inner": "nag"}),
    "bam-outer-y": ("bam", {"outer": "y"}),
    "nag": ("nag", {}),
    "acdm": ("acdm", {"rescale": True}),
    "lincoupling": ("lincoupling", {}),
}


class LeastSquares:
    """½|Az - b|²/n with a null space that reaches into both blocks."""

    def __init__(self, seed, n=30, d_x=12, d_y=5, rank=8):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d_x + d_y)) / np.sqrt(rank)
        b = A @ rng.standard_normal(d_x + d_y) + 0.1 * rng.standard_normal(n)
        self.H, self.b, self.d_x, self.d_y = A.T @ A / n, -A.T @ b / n, d_x, d_y
        z = np.linalg.lstsq(A, b, rcond=None)[0]
        self.minimum, self.distance = self.at(z), float(np.linalg.norm(z))

    def at(self, z):
        return 0.5 * z @ self.H @ z + self.b @ z

    def problem(self):
        L_x, L_y = (2 * np.linalg.norm(H, 2) for H in (self.H[: self.d_x, : self.d_x], self.H[self.d_x :, self.d_x :]))
        return Function(
            lambda x, y: self.at(np.r_[x, y]),
            lambda x, y: (self.H @ np.r_[x, y] + self.b)[: self.d_x],
            lambda x, y: (self.H @ np.r_[x, y] + self.b)[self.d_x :],
            d_x=self.d_x,
            d_y=self.d_y,
            constants=minmin.Constants(L_x, L_y, 0.0, 0.0),
        )


@pytest.mark.parametrize("variant", METHODS)
@pytest.mark.parametrize("radius", [2.0, "auto"])
def test_least_squares_with_a_null_space(variant, radius):
    method, options = METHODS[variant]
    f = LeastSquares(0)
    given = radius if radius == "auto" else radius * f.distance

    def compare(record):
        assert record.gap_bound >= record.value - f.minimum - 1e-14

    r = minmin.minimize(f.problem(), method=method, tol=1e-5, radius=given, callback=compare, **options)
    assert r.success, r
    assert r.certified == (radius != "auto")
    assert r.fun - f.minimum <= 1e-5


def test_an_unpenalised_block_of_a_logistic_regression():
    calls, conditions = [], []
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((200, 20)), np.c_[rng.standard_normal((200, 3)), np.ones(200)]
    labels = np.where(rng.uniform(size=200) < 1 / (1 + np.exp(-0.5 * X.sum(axis=1) - Y @ np.ones(4))), 1.0, -1.0)
    for alpha_x in (1e-1, 1e-2, 1e-3, 1e-4):
        problem = GLM(X, Y, labels, alpha_x=alpha_x, alpha_y=0.0)
        z, minimum = glm_minimum(problem)
        r = minmin.minimize(problem, method="bam", tol=1e-6, radius=2.0 * np.linalg.norm(z[20:]))
        assert r.certified
        assert r.fun - minimum <= 1e-6
        calls.append(r.calls["grad_x"])
        conditions.append(problem.constants.kappa_x)
    assert np.polyfit(np.log(conditions), np.log(calls), 1)[0] <= 0.6


def test_the_stages_resume_from_a_checkpoint(tmp_path):
    f, file = LeastSquares(3), tmp_path / "run.minmin"
    arguments = {"method": "bam", "tol": 1e-5, "radius": "auto"}
    whole = minmin.minimize(f.problem(), **arguments)
    for cut in (20, 50):
        assert minmin.minimize(f.problem(), **arguments, max_grad_x=cut, checkpoint=file).status == "budget"
    assert_same_run(whole, minmin.minimize(f.problem(), **arguments, checkpoint=file))


def test_a_sum_of_convex_problems():
    parts = [LeastSquares(seed) for seed in (4, 5)]
    r = minmin.minimize(minmin.Sum([f.problem() for f in parts]), method="bam", tol=1e-5, radius="auto")
    assert r.success
    best = minmin.minimize(minmin.Sum([f.problem() for f in parts]), method="reduced-lbfgs", tol=1e-9)
    assert abs(r.fun - best.fun) <= 1e-5


def test_a_strongly_convex_block_is_left_alone():
    problem = minmin.problems.Quadratic.random(d_x=5, d_y=3, coupling=1.0)
    plain = minmin.minimize(problem, method="bam", tol=1e-6)
    assert minmin.minimize(problem, method="bam", tol=1e-6, radius=10.0).fun == pytest.approx(plain.fun, abs=2e-6)


def test_a_federation_takes_no_radius():
    with pytest.raises(minmin.UnsupportedError, match=r"radius= does not work in a federation, .*'reduced-lbfgs'"):
        minmin.federated.run([minmin.federated.Client(LeastSquares(0).problem())], "bam", radius=1.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, r"needs mu_x > 0, .* mu_x = 0; add a small penalty on x; or give radius=, a distance from the start"),
        ({"radius": -1.0}, r"radius = -1.0 must be positive and finite, or 'auto'"),
        ({"radius": "large"}, r"radius must be a number, got 'large'"),
        ({"radius": 1.0, "tol": 0.0}, r"radius = 1.0 needs tol > 0"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(minmin.MinMinError, match=words):
        minmin.minimize(LeastSquares(0).problem(), method="nag", **arguments)

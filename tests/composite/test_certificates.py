"""No bound is below the true gap: 300 random problems with every term, method and precision, at every iteration."""

import numpy as np
import pytest

import minmin
from composite.cases import KINDS, draw_case
from composite.independent import find_minima
from minmin.problems import Composite, Quadratic, Split

OPTIONS = (
    {"method": "reduced-lbfgs"},
    {"method": "bam"},
    {"method": "nag", "rescale": True},
    {"method": "reduced-lbfgs", "inner": "nag"},
    {"method": "bam", "inner": "nag"},
    {"method": "nag"},
    {"method": "reduced-lbfgs", "outer": "y"},
    {"method": "bam", "outer": "y"},
    {"method": "inexact-outer"},
    {"method": "acdm", "certify_every": 5},
    {"method": "alternating"},
    {"method": "alternating", "accelerated": False},
    {"method": "bam", "inner": "newton", "outer": "y"},
    {"method": "reduced-lbfgs", "inner": "newton"},
)


def run_and_compare(minimum, problem, allow=0.0, **options):
    """A run whose bounds are compared with the true gap at every iteration; ``allow`` is for what rounding may add."""

    def compare(record):
        gap = minimum.gap(record.x, record.y)
        assert record.gap_bound >= gap - allow, f"a bound of {record.gap_bound} where the gap is {gap}"

    r = minmin.minimize(problem, callback=compare, **options)
    gap = minimum.gap(r.x, r.y)
    assert r.certified, r
    assert r.gap_bound >= gap - allow
    if r.status == "converged":
        assert gap <= options["tol"] + allow
    return r


@pytest.mark.parametrize("seed", range(3))
def test_no_bound_is_below_the_true_gap(seed):
    """100 problems: quadratics and logistic regressions; units of x, y and f that differ by up to 10⁸ in a quarter."""
    rng = np.random.default_rng(seed)
    singles = [i % 5 > 2 for i in range(100)]
    all_options = [OPTIONS[i % len(OPTIONS)] for i in range(100)]
    cases = [
        draw_case(
            rng,
            logistic=i % 5 == 0,
            spread=4.0 if i % 4 == 3 else 1.0,
            condition=10.0 if "inner" in options else (10.0, 50.0, 500.0)[i % 3],
            single=single,
        )
        for i, (single, options) in enumerate(zip(singles, all_options, strict=True))
    ]
    ends = []
    for minimum, single, options in zip(find_minima(cases), singles, all_options, strict=True):
        tol = 10 ** (rng.uniform(-5, -2) if single else rng.uniform(-10, -3)) * minimum.size
        problem = minimum.case.problem("float32" if single else "float64")
        allow = 1e-18 * minimum.size  # what the true gap is rounded by
        r = run_and_compare(minimum, problem, allow, tol=tol, max_iterations=30, **options)
        ends.append(r.status)
        assert r.status in ("converged", "budget", "stalled")
        assert r.status != "stalled" or single, r
    assert ends.count("converged") >= 80


def test_no_bound_of_sliding_is_below_the_true_gap():
    """f and g are parts of one quadratic, with other shares of x and of y."""
    rng = np.random.default_rng(0)
    for minimum in find_minima([draw_case(rng, condition=50.0) for _ in range(30)]):
        case, share = minimum.case, rng.uniform(0.1, 0.9)
        c, parts = case.constants, []
        for part in (share, 1.0 - share):
            constants = minmin.Constants(part * c.L_x, part * c.L_y, part * c.mu_x, part * c.mu_y)
            parts.append(Quadratic(part * case.H, part * case.b, case.x.size, constants))
        problem = Composite(Split(*parts), case.x.to_term(), case.y.to_term())
        inner = str(rng.choice(["lbfgs", "nag"]))
        tol = 1e-8 * minimum.size
        assert run_and_compare(minimum, problem, 1e-6 * tol, method="sliding", inner=inner, tol=tol).success


def test_no_bound_of_cutting_planes_is_below_the_true_gap():
    """A term in y alone."""
    rng = np.random.default_rng(0)
    cases = [draw_case(rng, ("none", KINDS[i % len(KINDS)]), logistic=i % 3 == 0) for i in range(24)]
    for minimum in find_minima(cases):
        tol = 1e-7 * minimum.size
        r = run_and_compare(minimum, minimum.case.problem(), 1e-6 * tol, method="cutting-plane", tol=tol)
        assert r.success

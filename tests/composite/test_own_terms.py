"""A user's own term, of which only values and the proximal map are known; and bounds by the conjugate of a term."""

import numpy as np
import pytest

import minmin
from composite.cases import METHODS, as_function, draw_case
from composite.independent import find_minima
from composite.test_certificates import run_and_compare
from minmin.problems import Composite, Function
from minmin.terms import Term


class Huber(Term):
    """Σ h(v_i), with h(v) = v²/2 for |v| <= 1 and |v| - ½ beyond, times a weight."""

    def __init__(self, weight):
        self.weight = weight

    def value(self, v):
        size = np.abs(v)
        return float(self.weight * np.sum(np.where(size <= 1, size * size / 2, size - 0.5)))

    def prox(self, v, step):
        step = step * self.weight
        return np.where(np.abs(v) <= 1 + step, v / (1 + step), v - step * np.sign(v))


class HalfSpace(Term):
    """0 where the sum is at most a limit, infinite elsewhere."""

    def __init__(self, limit):
        self.limit = limit

    def value(self, v):
        return 0.0 if np.sum(v) <= self.limit + 1e-12 else np.inf

    def prox(self, v, step):
        return v - max(np.sum(v) - self.limit, 0.0) / len(v)


def polish(case, terms, steps=20000):
    """The minimum of f plus two terms, by proximal gradient steps."""
    d, c = case.x.size, case.constants
    x, y = np.zeros(d), np.zeros(case.y.size)
    for _ in range(steps):
        slopes = np.split(case.gradient(np.concatenate([x, y])), [d])
        new = [term.prox(v - g / L, 1 / L) for term, v, g, L in zip(terms, (x, y), slopes, (c.L_x, c.L_y), strict=True)]
        done = all(np.abs(a - b).max() <= 1e-15 * np.abs(a).max() for a, b in zip(new, (x, y), strict=True))
        x, y = new
        if done:
            break
    return x, y


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("terms", [(Huber(0.3), HalfSpace(-0.2)), (HalfSpace(0.1), Huber(2.0))], ids=["p, q", "q, p"])
def test_an_own_term_works_and_is_certified_by_the_constants(terms, method):
    rng = np.random.default_rng(1)
    for logistic in (False, True, False, True):
        case = draw_case(rng, ("none", "none"), logistic=logistic, condition=30.0)
        problem = Composite(case.f(), *terms)
        x, y = polish(case, terms)
        least = problem.evaluate(x, y).value

        def compare(record, least=least):
            assert record.gap_bound >= record.value - least - 1e-13 * (1 + abs(least))

        r = minmin.minimize(problem, method=method, tol=1e-9, callback=compare)
        assert r.success, r
        assert r.certified
        assert r.bound.basis == "constants" or logistic, "a penalised linear model proves its bound itself"
        assert abs(r.fun - least) <= 1e-9


@pytest.mark.parametrize("kind", ["ElasticNet", "Box", "Simplex", "L2Ball"])
def test_without_strong_convexity_the_conjugate_certifies(kind):
    """mu = 0 in the constants; a Box without free sides."""
    rng = np.random.default_rng(2)
    cases = [draw_case(rng, (kind, kind), condition=20.0) for _ in range(12)]
    for case in cases:
        for piece in (case.x, case.y):
            if kind == "Box":
                piece.lower, piece.upper = np.maximum(piece.lower, -1e3), np.minimum(piece.upper, 1e3)
    for minimum in find_minima(cases):
        f, known = minimum.case.f(), minimum.case.constants
        function = Function(
            lambda x, y, f=f: f.evaluate(x, y).value,
            lambda x, y, f=f: f.evaluate(x, y).grad_x,
            lambda x, y, f=f: f.evaluate(x, y).grad_y,
            d_x=f.d_x,
            d_y=f.d_y,
            constants=minmin.Constants(L_x=known.L_x, L_y=known.L_y, mu_x=0.0, mu_y=0.0),
        )
        problem = Composite(function, minimum.case.x.to_term(), minimum.case.y.to_term())
        r = run_and_compare(minimum, problem, tol=1e-7 * minimum.size)
        assert r.success, r


@pytest.mark.parametrize("kind", ["L1", "GroupL2"])
def test_where_the_conjugate_proves_nothing_the_bound_is_an_estimate(kind):
    rng = np.random.default_rng(3)
    case = draw_case(rng, (kind, kind), condition=20.0)
    (minimum,) = find_minima([case])
    constants = minmin.Constants(L_x=case.constants.L_x, L_y=case.constants.L_y, mu_x=0.0, mu_y=0.0)
    function = as_function(case, constants)
    r = minmin.minimize(Composite(function, case.x.to_term(), case.y.to_term()), tol=1e-8)
    assert r.success, r
    assert not r.certified
    assert minimum.gap(r.x, r.y) <= 1e-8

"""Sums with terms: one for every y, one for each, or those of the summands; all equal the problem written out."""

from functools import cache

import numpy as np
import pytest

import minmin
from minmin.problems import Composite, Function, Quadratic
from minmin.terms import L1, Box, ElasticNet, L2Ball, Simplex, Term

SIZES = (3, 2, 4)
WEIGHTS = (0.5, 1.5, 0.2)
D_X = 4
TERM_X = ElasticNet(0.1, 0.2)
TERMS_Y = [L1(0.3), None, Simplex()]
METHODS = {
    "reduced-lbfgs": {},
    "reduced-lbfgs, outer y": {"method": "reduced-lbfgs", "outer": "y"},
    "bam": {"method": "bam"},
    "bam, inner nag": {"method": "bam", "inner": "nag"},
    "bam, outer y": {"method": "bam", "outer": "y"},
    "nag": {"method": "nag"},
}


class SideBySide(Term):
    """Σ factor_i t_i(v_i) for the parts v_i of one array."""

    def __init__(self, terms, factors):
        self.terms, self.factors = terms, factors

    def _split(self, v):
        return zip(self.terms, self.factors, np.split(v, np.cumsum(SIZES)[:-1]), strict=True)

    def value(self, v):
        return sum(factor * term.value(part) for term, factor, part in self._split(v) if term is not None)

    def prox(self, v, step):
        parts = [part if term is None else term.prox(part, factor * step) for term, factor, part in self._split(v)]
        return np.concatenate(parts)


def make_summands():
    return [
        Quadratic.random(d_x=D_X, d_y=size, L_x=5.0, L_y=30.0, coupling=1.0, seed=i) for i, size in enumerate(SIZES)
    ]


def write_out(summands, terms, factors, term_x=None):
    """Σ w_i f_i as one Function of (x, y), with the terms of y in one."""
    n = D_X + sum(SIZES)
    H, b = np.zeros((n, n)), np.zeros(n)
    start = D_X
    for f, weight in zip(summands, WEIGHTS, strict=True):
        index = np.r_[0:D_X, start : start + f.d_y]
        H[np.ix_(index, index)] += weight * f.H
        b[index] += weight * f.b
        start += f.d_y
    made = Quadratic(H, b, D_X)
    function = Function(
        lambda x, y: made.evaluate(x, y).value,
        lambda x, y: made.evaluate(x, y).grad_x,
        lambda x, y: made.evaluate(x, y).grad_y,
        d_x=D_X,
        d_y=sum(SIZES),
        constants=made.constants,
    )
    return Composite(function, term_x, SideBySide(terms, factors))


def make_pair(kind):
    """A problem with a sum, and the same problem written out."""
    f = make_summands()
    ones = (1.0,) * len(f)
    sum_of_f = minmin.Sum(f, WEIGHTS)
    if kind == "one term":
        return Composite(sum_of_f, TERM_X, Box(0, 0.1)), write_out(f, [Box(0, 0.1)] * len(f), ones, TERM_X)
    if kind == "one unbounded term":
        return Composite(sum_of_f, term_y=L1(0.2)), write_out(f, [L1(0.2)] * len(f), ones)
    if kind == "a list":
        return Composite(sum_of_f, TERM_X, TERMS_Y), write_out(f, TERMS_Y, ones, TERM_X)
    composites = [Composite(g, term_y=term) for g, term in zip(f, TERMS_Y, strict=True)]
    return minmin.Sum(composites, WEIGHTS), write_out(f, TERMS_Y, WEIGHTS)


KINDS = ("one term", "one unbounded term", "a list", "a sum of composites")


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_the_problem_written_out(kind):
    problem, written = make_pair(kind)
    rng = np.random.default_rng(0)
    for _ in range(5):
        x = rng.standard_normal(D_X)
        y = written.term_y.project(rng.standard_normal(sum(SIZES)))
        parts = minmin.Parts(np.split(y, np.cumsum(SIZES)[:-1]), WEIGHTS)
        ours, other = problem.evaluate(x, parts), written.evaluate(x, y)
        assert ours.value == pytest.approx(other.value, rel=1e-12)
        assert np.allclose(ours.grad_x, other.grad_x)
        weighted = [w * part for w, part in zip(WEIGHTS, ours.grad_y, strict=True)]
        assert np.allclose(np.concatenate(weighted), other.grad_y)


@cache
def solve_written(kind):
    """The answer of the problem written out."""
    r = minmin.minimize(make_pair(kind)[1], tol=1e-12)
    assert r.success, r
    assert r.certified
    return r


@pytest.mark.parametrize("options", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_the_problem_written_out(kind, options):
    r = minmin.minimize(make_pair(kind)[0], tol=1e-10, **METHODS[options])
    other = solve_written(kind)
    assert r.success, r
    assert r.certified
    assert abs(r.fun - other.fun) <= r.gap_bound + other.gap_bound + 1e-14
    assert np.allclose(r.x, other.x, atol=1e-4)
    assert np.allclose(np.concatenate(list(r.y)), other.y, atol=1e-4)


def test_bounds_on_the_y_of_a_sum_hold_for_every_part():
    problem = minmin.Sum(make_summands(), WEIGHTS)
    r = minmin.minimize(problem, bounds_x=(0, None), bounds_y=(-0.05, 0.02), tol=1e-10)
    assert r.success
    assert np.all(r.x >= 0)
    for part in r.y:
        assert np.all((part >= -0.05) & (part <= 0.02))
    assert any(np.any(part == 0.02) for part in r.y)


def test_a_sum_without_constants_has_terms_too():
    def forget(f):
        return Function(
            None, lambda x, y: f.evaluate(x, y).grad_x, lambda x, y: f.evaluate(x, y).grad_y, d_x=f.d_x, d_y=f.d_y
        )

    terms = [L1(0.3), L2Ball(0.5), Simplex()]
    f = make_summands()
    r = minmin.minimize(Composite(minmin.Sum([forget(g) for g in f], WEIGHTS), TERM_X, terms), tol=1e-10)
    known = minmin.minimize(Composite(minmin.Sum(f, WEIGHTS), TERM_X, terms), tol=1e-10)
    assert r.success, r
    assert not r.certified
    assert np.allclose(r.x, known.x, atol=1e-5)
    for part, expected in zip(r.y, known.y, strict=True):
        assert np.allclose(part, expected, atol=1e-5)

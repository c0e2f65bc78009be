"""What is true of every term: the proximal map is the minimiser, and the conjugate is the conjugate."""

import itertools
import math
import pickle

import array_api_strict
import numpy as np
import pytest

from minmin.core.arrays import to_numpy
from minmin.core.term import Term
from terms.cases import CONSTRAINTS, KINDS, SIZE, STEPS, TERMS, eps_of, vectors

every_term = pytest.mark.parametrize("name", TERMS)
every_kind = pytest.mark.parametrize("kind", KINDS)


def double(v):
    return to_numpy(v).astype(np.float64)


@every_kind
@every_term
def test_prox_is_the_minimiser(name, kind):
    """t(w) + |w - v|²/(2 step) is above its minimum by (1/step + convexity)/2 |w - u|², since it is strongly convex."""
    term, eps = TERMS[name], eps_of(kind)
    others = list(vectors(kind, 4, seed=1))
    for v, step in itertools.product(vectors(kind, 4), STEPS):
        u = term.prox(v, step)
        assert type(u) is type(v)
        assert u.dtype == v.dtype
        distance = double(u) - double(v)
        least = term.value(u) + distance @ distance / (2 * step)
        assert math.isfinite(least)
        for other, length in itertools.product(others, (1e-2, 1.0)):
            w = u + length * (term.project(other) - u)
            distance, move = double(w) - double(v), double(w) - double(u)
            value = term.value(w) + distance @ distance / (2 * step)
            size = 1 + (np.abs(double(v)).max() + np.abs(double(w)).max()) ** 2
            allowed = 100 * eps * (abs(least) + size * SIZE * (1 + 1 / step))
            assert value >= least + (1 / step + term.convexity) / 2 * (move @ move) - allowed


@every_kind
@every_term
def test_prox_is_firmly_nonexpansive(name, kind):
    term, eps = TERMS[name], eps_of(kind)
    for step in STEPS:
        pairs = itertools.pairwise([(double(v), double(term.prox(v, step))) for v in vectors(kind, 8)])
        for (v, u), (w, p) in pairs:
            assert (u - p) @ (u - p) <= (u - p) @ (v - w) + 100 * eps * (1 + (v - w) @ (v - w) + v @ v)


@every_kind
@every_term
def test_the_conjugate_is_attained_where_it_should_be(name, kind):
    """Fenchel and Young: t(u) + t*(s) = <s, u> for the s = (v - u)/step in the subdifferential at u = prox(v, step)."""
    term, eps = TERMS[name], eps_of(kind)
    for v, step in itertools.product(vectors(kind, 8), STEPS):
        u = term.prox(v, step)
        s = (v - u) / step
        scale = term.dual_scale(s)
        size = 1 + float(np.abs(double(v)).max())
        assert scale >= 1 - 1000 * eps * size / step
        gap = term.value(u) + term.conjugate(scale * s) - double(scale * s) @ double(u)
        assert abs(gap) <= 1000 * eps * SIZE * size**2 / step**2


@every_kind
@every_term
def test_no_slope_gives_less_than_the_conjugate(name, kind):
    term, eps = TERMS[name], eps_of(kind)
    for v, s in itertools.product(vectors(kind, 6), vectors(kind, 6, seed=1)):
        u, s = term.project(v), term.dual_scale(s) * s
        bound, product = term.value(u) + term.conjugate(s), double(u) @ double(s)
        assert bound >= product - 100 * eps * SIZE * (1 + np.abs(double(u)).max()) * (1 + np.abs(double(s)).max())


@every_kind
@every_term
def test_the_dual_scale_is_the_largest(name, kind):
    term, eps = TERMS[name], eps_of(kind)
    for s in vectors(kind, 12):
        scale = term.dual_scale(s)
        assert type(scale) is float
        assert 0 <= scale <= 1
        assert math.isfinite(term.conjugate(scale * s))
        if scale < 1:
            larger = max(scale * (1 + 100 * eps), 1e-6)
            assert math.isinf(term.conjugate(larger * s))


@every_term
def test_the_dual_scale_is_what_bisection_finds(name):
    for s in vectors("numpy float64", 4):
        assert TERMS[name].dual_scale(s) == pytest.approx(Term.dual_scale(TERMS[name], s), abs=1e-13)


@every_kind
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_a_projection_lies_in_the_set_and_stays(name, kind):
    term, eps = TERMS[name], eps_of(kind)
    for v in vectors(kind, 12):
        u = term.project(v)
        assert term.value(u) == 0.0
        assert np.array_equal(double(term.project(u)), double(u))
        assert np.allclose(double(term.prox(v, 3.0)), double(u), rtol=10 * eps, atol=10 * eps)
        assert math.isinf(term.value(v)) or np.array_equal(double(u), double(v))


@every_kind
@pytest.mark.parametrize("name", [name for name in TERMS if name not in CONSTRAINTS])
def test_a_term_that_is_finite_everywhere_projects_nothing(name, kind):
    for v in vectors(kind, 3):
        assert TERMS[name].project(v) is v


@every_kind
@every_term
def test_values_are_numbers_and_arguments_are_kept(name, kind):
    term = TERMS[name]
    for v in vectors(kind, 2):
        before = double(v)
        assert type(term.value(v)) is float
        assert type(term.conjugate(v)) is float
        term.prox(v, np.float64(0.5))
        term.project(v)
        assert term.prox(v, np.float64(0.5)).dtype == v.dtype
        assert np.array_equal(double(v), before)


@every_term
def test_libraries_agree(name):
    """To the last rounding; NumPy's arrays take paths of their own."""
    term = TERMS[name]
    for ours in vectors("numpy float64", 3):
        strict = array_api_strict.asarray(ours)
        assert np.allclose(double(term.prox(strict, 0.7)), term.prox(ours, 0.7), rtol=1e-13, atol=1e-14)
        for function in (term.value, term.conjugate, term.dual_scale):
            assert function(strict) == pytest.approx(function(ours), rel=1e-13)


@every_term
def test_a_term_can_be_sent_to_another_process(name):
    term = TERMS[name]
    v = next(vectors("array_api_strict float32", 1))
    term.prox(v, 1.0)
    sent = pickle.loads(pickle.dumps(term))
    assert np.array_equal(double(sent.prox(v, 1.0)), double(term.prox(v, 1.0)))
    assert sent.value(v) == term.value(v)
    term.check_size(SIZE, "term_x")


@every_term
def test_nan_does_not_pass_for_a_number(name):
    """So that a run that leaves the numbers is noticed."""
    v = np.full(SIZE, np.nan)
    assert not math.isfinite(TERMS[name].value(v))
    assert not math.isfinite(TERMS[name].conjugate(v))


def test_different_terms_have_different_identities():
    identities = {name: repr([np.asarray(part).tolist() for part in TERMS[name].identity()]) for name in TERMS}
    assert len(set(identities.values())) == len(TERMS)

"""Every term by its formula; what is exact: zeros, bounds, sums up to rounding."""

import math

import array_api_strict
import numpy as np
import pytest
from scipy.optimize import brentq

from minmin.core.arrays import to_like, to_numpy
from minmin.extend import Scaled
from minmin.terms import L1, Box, ElasticNet, GroupL2, L2Ball, NonNegative, Simplex, parameters
from terms.cases import CENTER, GROUPS, KINDS, LOWER, SIZE, TERMS, UPPER, WEIGHTS, eps_of, vectors

every_kind = pytest.mark.parametrize("kind", KINDS)
STEP = 0.6


def test_values():
    v = np.array([3.0, -4.0, 0.0, 1.0])
    assert L1(2).value(v) == 16
    assert L1([1, 2, 3, 4]).value(v) == 15
    assert ElasticNet(2, 3).value(v) == 16 + 39
    assert ElasticNet([1, 2, 3, 4], [1, 0, 0, 2]).value(v) == 15 + 5.5
    assert GroupL2(2, [[0, 1], [3]]).value(v) == 12
    assert GroupL2([2, 0.5], [[0, 1], [3]]).value(v) == 10.5
    assert Box(-4, 3).value(v) == 0
    assert math.isinf(Box(-4, 2.9).value(v))
    assert math.isinf(NonNegative().value(v))
    assert NonNegative().value(abs(v)) == 0
    assert Simplex(8).value(abs(v)) == 0
    assert math.isinf(Simplex(8.1).value(abs(v)))
    assert math.isinf(Simplex(0.5).value(np.array([1.0, -0.5])))
    assert L2Ball(5, [0, 0, 0, 1]).value(v) == 0
    assert math.isinf(L2Ball(5).value(v))
    assert Scaled(L1(2), 0.5).value(v) == 8


def test_conjugates():
    s = np.array([3.0, -4.0, 0.0])
    assert L1(4).conjugate(s) == 0
    assert math.isinf(L1([4, 3.9, 0]).conjugate(s))
    assert L1([3, 4, 0]).conjugate(s) == 0
    assert ElasticNet(1, 2).conjugate(s) == pytest.approx((4 + 9) / 4)
    assert ElasticNet(3, [0, 2, 0]).conjugate(s) == pytest.approx(1 / 4)
    assert math.isinf(ElasticNet(2, [0, 2, 0]).conjugate(s))
    assert GroupL2(5, [[0, 1]]).conjugate(s) == 0
    assert math.isinf(GroupL2(4.9, [[0, 1]]).conjugate(s))
    assert math.isinf(GroupL2(5, [[1, 2]]).conjugate(s))  # the first coordinate is free
    assert Box(-1, 2).conjugate(s) == 10
    assert Box([-5, -1, -math.inf], [2, None, math.inf]).conjugate(s) == 10
    assert math.isinf(Box(None, 2).conjugate(s))
    assert NonNegative().conjugate(-abs(s)) == 0
    assert math.isinf(NonNegative().conjugate(s))
    assert Simplex(2).conjugate(s) == 6
    assert L2Ball(2, [1, 1, 7]).conjugate(s) == 9
    assert Scaled(ElasticNet(1, 2), 2).conjugate(s) == pytest.approx(2 * (0.5**2 + 1) / 4)


@every_kind
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (L1(WEIGHTS), Box(-WEIGHTS, WEIGHTS)),
        (L1(0.7), Box(-0.7, 0.7)),
        (NonNegative(), Box(None, 0)),
        (GroupL2(1.3, [range(SIZE)]), L2Ball(1.3)),
        (ElasticNet(0, 0.4), ElasticNet(0, 2.5)),
    ],
)
def test_moreau_splits_a_vector_into_the_proximal_points_of_a_pair(first, second, kind):
    eps = eps_of(kind)
    for v in vectors(kind, 6):
        for one, other in ((first, second), (second, first)):
            total = one.prox(v, STEP) + STEP * other.prox(v / STEP, 1 / STEP)
            assert np.allclose(to_numpy(total), to_numpy(v), rtol=20 * eps, atol=20 * eps)


@every_kind
@pytest.mark.parametrize("term", [L1(0.7), L1(WEIGHTS), ElasticNet(0.7, 0.4), ElasticNet(WEIGHTS, WEIGHTS)])
def test_short_entries_become_exactly_zero_and_others_do_not(term, kind):
    weight = term.weight if isinstance(term, L1) else term.l1
    curvature = 0.0 if isinstance(term, L1) else term.l2
    for v in vectors(kind, 6):
        u, v = to_numpy(term.prox(v, STEP)), to_numpy(v).astype(np.float64)
        expected = np.sign(v) * np.maximum(np.abs(v) - STEP * weight, 0) / (1 + STEP * curvature)
        assert np.array_equal(u == 0, expected == 0)
        assert np.allclose(u, expected, rtol=100 * eps_of(kind), atol=100 * eps_of(kind))


@every_kind
@pytest.mark.parametrize("name", ["GroupL2", "GroupL2 with weights"])
def test_short_groups_become_exactly_zero_and_free_coordinates_stay(name, kind):
    term, zeros = TERMS[name], 0
    for v in vectors(kind, 6):
        u, v = to_numpy(term.prox(v, STEP)), to_numpy(v)
        for weight, group in zip(np.broadcast_to(term.weight, len(GROUPS)), GROUPS, strict=True):
            length = np.linalg.norm(v[group].astype(np.float64))
            if length <= STEP * weight:
                assert (u[group] == 0).all()
                zeros += 1
            else:
                assert np.allclose(u[group], v[group] * (1 - STEP * weight / length), rtol=100 * eps_of(kind))
        assert np.array_equal(u[[4, 6, 10, 11]], v[[4, 6, 10, 11]])
    assert zeros


@every_kind
@pytest.mark.parametrize("size", [1e-30, 1e-20, 1e18, 1e30])
def test_groups_of_tiny_and_huge_entries(size, kind):
    xp, dtype = KINDS[kind]
    v = xp.asarray(size * np.array([3.0, 4.0, 1.0]), dtype=getattr(xp, dtype))
    term = GroupL2(size, [[0, 1], [2]])
    assert np.allclose(to_numpy(term.prox(v, 0.5)) / size, [2.7, 3.6, 0.5], rtol=1e-5)
    assert term.value(v / size) / size == pytest.approx(6, rel=1e-5)
    assert term.dual_scale(v) == pytest.approx(0.2, rel=1e-5)


@every_kind
def test_bounds_are_kept_exactly(kind):
    for term in (Box(-0.1, 0.3), Box(LOWER, UPPER), NonNegative()):
        for v in vectors(kind, 6):
            u, v = to_numpy(term.prox(v, STEP)), to_numpy(v)
            lower, upper = (np.asarray(bound, dtype=v.dtype) for bound in (term.lower, term.upper))
            assert (u >= lower).all()
            assert (u <= upper).all()
            inside = (v >= lower) & (v <= upper)
            assert np.array_equal(u[inside], v[inside])


@every_kind
def test_bounds_too_large_for_single_precision_are_free(kind):
    xp, dtype = KINDS[kind]
    v = xp.asarray([-2.0, 3.0], dtype=getattr(xp, dtype))
    for term in (Box(-1e300, 1e300), Box([-1e300, 0], [0, 1e300])):
        assert term.value(v) == 0
        assert np.array_equal(to_numpy(term.prox(v, 1.0)), to_numpy(v))


@every_kind
@pytest.mark.parametrize("total", [1.0, 0.003, 50.0])
def test_the_projection_on_the_simplex(total, kind):
    term = Simplex(total)
    for v in vectors(kind, 9):
        u, v = to_numpy(term.prox(v, STEP)), to_numpy(v).astype(np.float64)

        def excess(c, v=v):
            return np.maximum(v - c, 0).sum() - total

        c = brentq(excess, v.min() - total, v.max(), xtol=1e-13)
        assert np.allclose(u, np.maximum(v - c, 0), rtol=1e-9, atol=20 * eps_of(kind) * max(total, np.abs(v).max()))
        assert (u >= 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 2, 1000, 100_000])
def test_the_simplex_and_the_ball_accept_their_own_projections(size, dtype):
    rng = np.random.default_rng(size)
    for spread, shift in ((1.0, 0.0), (1e3, 0.0), (1 / size, 100.0), (1e-6, -5.0)):
        v = (shift + spread * rng.standard_normal(size)).astype(dtype)
        for term in (Simplex(), Simplex(37.3), L2Ball(0.1), L2Ball(0.1, shift), L2Ball(3, rng.standard_normal(size))):
            assert term.value(term.project(v)) == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_sum_of_a_projection_is_right_to_a_few_roundings(dtype):
    rng = np.random.default_rng(0)
    for spread in (1e-7, 1e-5, 1e-3):
        u = Simplex(3).prox((spread * rng.uniform(size=100_000)).astype(dtype), 1.0)
        assert u.sum(dtype=np.float64) == pytest.approx(3, rel=4 * float(np.finfo(dtype).eps))


def test_equal_entries_share_the_simplex():
    assert np.array_equal(Simplex().prox(np.full(4, -7.0), 1.0), np.full(4, 0.25))
    assert Simplex().value(np.full(1000, np.float32(0.001))) == 0


@every_kind
def test_the_projection_on_the_ball(kind):
    for v in vectors(kind, 6):
        u, v = to_numpy(L2Ball(2, CENTER).prox(v, STEP)), to_numpy(v)
        distance = np.linalg.norm(v - CENTER)
        expected = CENTER + (v - CENTER) * min(1, 2 / distance)
        assert np.allclose(u, expected, rtol=100 * eps_of(kind), atol=100 * eps_of(kind))


def test_convexity_is_what_the_squares_give():
    assert L1(3).convexity == 0
    assert ElasticNet(3, 2).convexity == 2
    assert ElasticNet(3, [2, 0.5]).convexity == 0.5
    assert Scaled(ElasticNet(3, [2, 0.5]), 4).convexity == 2


@every_kind
def test_a_scaled_term_is_the_term_with_other_weights(kind):
    scaled, same = Scaled(ElasticNet(WEIGHTS, 0.5), 3), ElasticNet(3 * WEIGHTS, 1.5)
    for v in vectors(kind, 6):
        assert np.allclose(to_numpy(scaled.prox(v, STEP)), to_numpy(same.prox(v, STEP)), rtol=100 * eps_of(kind))
        assert scaled.value(v) == pytest.approx(same.value(v), rel=10 * eps_of(kind))
        assert scaled.conjugate(v) == pytest.approx(same.conjugate(v), rel=100 * eps_of(kind))


def test_a_scaled_term_knows_no_conjugate_where_the_term_knows_none():
    class Unknown(L1):
        def conjugate(self, s):
            return None

    assert Scaled(Unknown(1), 2).conjugate(np.ones(2)) is None
    assert Scaled(Unknown(1), 2).dual_scale(np.ones(2)) == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parameters_are_copied_to_a_library_once(dtype, monkeypatch):
    copied = []
    monkeypatch.setattr(parameters, "to_like", lambda array, like: copied.append(array) or to_like(array, like))
    term, v = ElasticNet(WEIGHTS, WEIGHTS), array_api_strict.ones(SIZE, dtype=getattr(array_api_strict, dtype))
    for _ in range(3):
        term.prox(v, 1.0)
        term.value(v)
    assert len(copied) == 2


def test_later_changes_of_a_users_array_change_nothing():
    weight = np.ones(3)
    term = L1(weight)
    weight[:] = 5
    assert term.value(np.ones(3)) == 3


def test_a_terms_own_array_cannot_be_changed():
    """Copies in other libraries would not follow."""
    with pytest.raises(ValueError, match="read-only"):
        L1(np.ones(3)).weight[:] = 5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_scaled_by_the_dual_scale_is_allowed_whatever_the_rounding(dtype):
    rng = np.random.default_rng(0)
    weight = rng.uniform(size=3)
    for term in (L1(weight), GroupL2(weight, [[0], [1], [2]]), GroupL2(0.3, [[0, 1, 2]]), ElasticNet(0.1, 0)):
        for _ in range(100):
            s = rng.uniform(1, 2, size=3).astype(dtype)
            assert term.conjugate(term.dual_scale(s) * s) == 0


def test_parameters_may_come_from_another_library():
    weight = array_api_strict.asarray([1.0, 2.0], dtype=array_api_strict.float32)
    assert L1(weight).value(np.ones(2)) == 3
    assert GroupL2(1, [array_api_strict.asarray([0, 1])]).value(np.array([3.0, 4.0])) == 5

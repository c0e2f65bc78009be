"""Term.change: the difference of two values, also where the values themselves are rounded too much."""

import numpy as np
import pytest

from minmin.extend import Scaled
from minmin.terms import L1, Box, ElasticNet, GroupL2, Simplex, Term

GROUPS = [[0, 3, 4], [1, 2]]


class Squares(Term):
    def value(self, v):
        return 0.5 * float(v @ v)

    def prox(self, v, step):
        return v / (1.0 + step)


def l1(v):
    return np.sum(np.arange(1, 6) * np.abs(v))


def elastic_net(v):
    return 2 * np.sum(np.abs(v)) + np.sum(v * v) / 6


def group_l2(v):
    return 3 * sum(np.sqrt(np.sum(v[group] ** 2)) for group in GROUPS)


CASES = {
    "L1": (L1(np.arange(1.0, 6.0)), l1),
    "ElasticNet": (ElasticNet(2.0, 1 / 3), elastic_net),
    "GroupL2": (GroupL2(3.0, GROUPS), group_l2),
    "Scaled": (Scaled(L1(np.arange(1.0, 6.0)), 0.5), lambda v: l1(v) / 2),
}


@pytest.mark.parametrize(("term", "value"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("distance", [1.0, 1e-6, 1e-12])
def test_a_change_is_exact_however_short_the_way(term, value, distance):
    rng = np.random.default_rng(0)
    for _ in range(20):
        old = rng.standard_normal(5)
        new = old + distance * rng.standard_normal(5)
        change = term.change(old, new)
        values = value(old.astype(np.longdouble)), value(new.astype(np.longdouble))
        precision = 100 * np.finfo(np.longdouble).eps * values[0]
        assert abs(change.value - (values[1] - values[0])) <= 1e-14 * change.size + precision
        assert change.size <= 100 * distance


def test_a_change_to_and_from_zero_is_the_value():
    v = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    for term, _ in CASES.values():
        assert term.change(0 * v, v).value == pytest.approx(term.value(v))
        assert term.change(v, 0 * v).value == pytest.approx(-term.value(v))
        assert term.change(0 * v, 0 * v) == (0.0, 0.0)


def test_constraints_do_not_change_inside():
    old, new = np.array([0.25, 0.75]), np.array([0.5, 0.5])
    assert Box(0, 1).change(old, new) == (0.0, 0.0)
    assert Simplex().change(old, new) == (0.0, 0.0)
    assert Box(0, 1).change(old, 2 * new + 1).value == np.inf


def test_by_default_the_values_are_subtracted():
    old, new = np.array([1.0, 2.0]), np.array([3.0, 0.0])
    assert Squares().change(old, new) == (2.0, 7.0)

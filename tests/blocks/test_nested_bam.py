"""BAM inside of BAM: what its theory promises of three and more blocks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.blocks.cases import make_case

import minmin


def count_calls(case, **options):
    f = case.minimum
    r = minmin.minimize(case.quadratic(), method="bam", tol=1e-8 * abs(f), **options)
    assert r.success
    assert r.certified
    assert 0.0 <= r.fun - f + 1e-14 * abs(f) <= r.gap_bound + 1e-13 * abs(f)
    return [r.calls[f"grad_{i}"] for i in range(len(case.sizes))]


@pytest.mark.parametrize("coupling", [0.0, 1.0])
def test_every_block_takes_calls_like_the_root_of_its_own_condition_number(coupling):
    kappas = np.array([1e2, 1e4, 1e6])
    for order in ((0, 1, 2), (2, 0, 1)):  # the order in which the user gives the blocks does not matter
        case = make_case(kappas[list(order)], seed=1, coupling=coupling)
        calls = np.array(count_calls(case))[np.argsort(order)]
        assert (calls <= 25 * np.sqrt(kappas)).all()
        slope = np.polyfit(np.log(kappas), np.log(calls), 1)[0]
        assert slope <= 0.6


def test_the_first_blocks_calls_do_not_depend_on_the_other_condition_numbers():
    firsts = [
        count_calls(make_case([1e2, second, third], seed=3, coupling=0.0, sizes=(5, 4, 3), mu=(0.1, 1.0, 3.0)))[0]
        for second, third in itertools.product((1e3, 1e5), repeat=2)
    ]
    assert max(firsts) <= 1.15 * min(firsts)


def test_four_blocks_nest_as_well():
    calls = count_calls(make_case([1e1, 1e2, 1e3, 1e4], seed=5))
    assert calls == sorted(calls)
    assert (np.array(calls) <= 40 * np.sqrt([1e1, 1e2, 1e3, 1e4])).all()


def test_two_blocks_in_a_list_take_exactly_the_calls_of_x_and_y():
    case = make_case([1e3, 1e2], seed=7)
    c = minmin.Constants(case.L[0], case.L[1], case.mu[0], case.mu[1])
    as_two = minmin.problems.Quadratic(case.H, case.b, case.sizes[0], c)
    for method in ("bam", "nag", "reduced-lbfgs", "reduced-newton", "alternating"):
        one = minmin.minimize(case.quadratic(), method=method, tol=1e-9)
        two = minmin.minimize(as_two, method=method, tol=1e-9)
        assert (one.calls["grad_0"], one.calls["grad_1"]) == (two.calls["grad_x"], two.calls["grad_y"])
        assert np.array_equal(one.x, two.x)
        assert np.array_equal(one.y, two.y)


def test_the_cost_decides_where_condition_numbers_do_not():
    case = make_case([1e3, 1e3, 1e3], seed=2)
    calls = {}
    for costs in ([100.0, 10.0, 1.0], [1.0, 10.0, 100.0]):
        r = minmin.minimize(case.quadratic(costs=costs), method="bam", tol=1e-8)
        calls[tuple(costs)] = [r.calls[f"grad_{i}"] for i in range(3)]
    assert calls[100.0, 10.0, 1.0] == sorted(calls[100.0, 10.0, 1.0])
    assert calls[1.0, 10.0, 100.0] == sorted(calls[1.0, 10.0, 100.0], reverse=True)


def test_the_cost_decides_among_eight_blocks_as_well():
    costs = [2.0**i for i in range(8)]
    problem = make_case([1e3] * 8, sizes=[1] * 8).quadratic(costs=costs)
    assert problem.blocks.order == tuple(reversed(range(8)))


def test_a_wrong_constant_of_an_inner_block_is_found_and_named():
    case = make_case([1e2, 1e2, 1e3], seed=4)
    wrong = case._replace(L=case.L * np.array([1.0, 1.0, 0.2]))
    with pytest.raises(minmin.ConstantsError, match=r"L of block 2 \(scaled\) = .* does not hold"):
        minmin.minimize(wrong.quadratic(), method="bam", tol=1e-8)

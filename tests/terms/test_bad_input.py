"""A wrong parameter of a term is an error that says what, where, and what to do."""

import math

import numpy as np
import pytest

import minmin
from minmin import InputError
from minmin.extend import Scaled
from minmin.terms import L1, Box, ElasticNet, GroupL2, L2Ball, Simplex, Term

NAN, INF = math.nan, math.inf
CASES = {
    "negative weight": (lambda: L1(-1), r"weight = -1 must be finite and not negative"),
    "infinite weight": (lambda: L1(INF), r"weight = inf must be finite"),
    "NaN weight": (lambda: L1(NAN), r"weight is nan; give one number, or one per coordinate"),
    "text": (lambda: L1("1"), r"weight must be a number, got '1'"),
    "True": (lambda: L1(True), r"weight must be a number, got True"),
    "nothing": (lambda: L1(None), r"weight must be a number, got None"),
    "one negative weight": (lambda: L1([1, 0, -2, -3]), r"weight\[2\] = -2 must be finite and not negative"),
    "one infinite weight": (lambda: L1([1, INF]), r"weight\[1\] = inf must be finite"),
    "one NaN": (lambda: L1([1, NAN]), r"weight holds nan at index 1; replace"),
    "a matrix": (lambda: L1(np.ones((2, 2))), r"weight has shape \(2, 2\); give one number, or one per coordinate"),
    "no weights": (lambda: L1([]), r"weight has shape \(0,\)"),
    "a list of text": (lambda: L1(["a"]), r"weight holds <U1 values; give real numbers"),
    "a ragged list": (lambda: L1([[1], [2, 3]]), r"weight cannot be read as an array"),
    "complex weights": (lambda: L1([1j]), r"weight holds complex128 values"),
    "negative l1": (lambda: ElasticNet(-1, 1), r"l1 = -1 must be"),
    "negative l2": (lambda: ElasticNet(1, [1, -1]), r"l2\[1\] = -1 must be"),
    "NaN l2": (lambda: ElasticNet(1, NAN), r"l2 is nan"),
    "negative weight of a group": (lambda: GroupL2([1, -1], [[0], [1]]), r"weight\[1\] = -1 must be"),
    "too few weights of groups": (
        lambda: GroupL2([1, 1], [[0], [1], [2]]),
        r"weight has 2 numbers for 3 groups; give one number, or one per group",
    ),
    "a matrix of weights of groups": (lambda: GroupL2(np.ones((1, 2)), [[0], [1]]), r"one number, or one per group"),
    "groups that overlap": (
        lambda: GroupL2(1, [[0, 1], [4], [3, 1]]),
        r"index 1 is in groups\[0\] and in groups\[2\]; a coordinate may be in one group at most",
    ),
    "an index twice in a group": (lambda: GroupL2(1, [[0], [1, 2, 1]]), r"groups\[1\] holds index 1 twice"),
    "a negative index": (lambda: GroupL2(1, [[0], [1, -1]]), r"groups\[1\] holds index -1; indices are counted from 0"),
    "an empty group": (lambda: GroupL2(1, [[0], []]), r"groups\[1\] is empty; leave it out"),
    "no groups": (lambda: GroupL2(1, []), r"groups must hold at least one group, got \[\]; give .*\[\[0, 1\]"),
    "groups as text": (lambda: GroupL2(1, "01"), r"groups must hold at least one group, got '01'"),
    "groups as a number": (lambda: GroupL2(1, 3), r"groups must hold at least one group, got 3"),
    "an index as a group": (lambda: GroupL2(1, [[0], 1]), r"groups\[1\] = 1 is no sequence of indices; give"),
    "text as a group": (lambda: GroupL2(1, [["a"]]), r"groups\[0\] holds <U1 values; give whole numbers"),
    "fractions as indices": (lambda: GroupL2(1, [[0.0, 1.5]]), r"groups\[0\] holds float64 values; give whole numbers"),
    "masks as groups": (lambda: GroupL2(1, [[True, False]]), r"for a mask, give np.flatnonzero\(mask\)"),
    "ragged indices": (lambda: GroupL2(1, [[[0], [1, 2]]]), r"groups\[0\] cannot be read as indices"),
    "bounds exchanged": (lambda: Box(2, 1), r"lower = 2 is above upper = 1; no number lies between them"),
    "one bound above": (lambda: Box([0, 2], [1, 1.5]), r"lower\[1\] = 2 is above upper\[1\] = 1.5"),
    "one bound above a number": (lambda: Box([0, 2], 1), r"lower\[1\] = 2 is above upper = 1;"),
    "NaN bound": (lambda: Box(NAN, 1), r"lower is nan"),
    "one NaN bound": (lambda: Box(0, [1, NAN]), r"upper holds nan at index 1"),
    "text as a bound": (lambda: Box("a", 1), r"lower must be a number, got 'a'"),
    "bounds of different lengths": (lambda: Box([0, 0], [1, 1, 1]), r"lower has 2 numbers and upper has 3"),
    "nothing above": (lambda: Box(INF, None), r"lower = inf allows no number; None leaves that side free"),
    "nothing below": (lambda: Box(None, [0, -INF]), r"upper\[1\] = -inf allows no number"),
    "total of zero": (lambda: Simplex(0), r"total = 0 must be positive and finite"),
    "infinite total": (lambda: Simplex(INF), r"total = inf must be positive"),
    "NaN total": (lambda: Simplex(NAN), r"total = nan must be positive"),
    "totals": (lambda: Simplex(np.ones(2)), r"total must be a number"),
    "negative radius": (lambda: L2Ball(-1), r"radius = -1 must be finite and not negative"),
    "radii": (lambda: L2Ball(np.ones(2)), r"radius must be a number"),
    "infinite center": (lambda: L2Ball(1, [0, INF]), r"center\[1\] = inf must be finite"),
    "NaN center": (lambda: L2Ball(1, NAN), r"center is nan"),
    "center is a matrix": (lambda: L2Ball(1, np.eye(2)), r"center has shape \(2, 2\)"),
    "factor of zero": (lambda: Scaled(L1(1), 0), r"factor = 0 must be positive and finite"),
    "scaled number": (lambda: Scaled(3, 2), r"term must be a minmin.terms.Term, got int"),
    "weights for another block": (
        lambda: L1([1, 2]).check_size(3, "term_x"),
        r"term_x: weight has 2 numbers, but the block has 3 coordinates; give one number, or one per coordinate",
    ),
    "l1 for another block": (lambda: ElasticNet([1, 2], 1).check_size(3, "term_y"), r"term_y: l1 has 2 numbers"),
    "l2 for another block": (lambda: ElasticNet(1, [1, 2]).check_size(3, "term_y"), r"term_y: l2 has 2 numbers"),
    "groups for another block": (
        lambda: GroupL2(1, [[0], [1, 4], [3]]).check_size(4, "term_x"),
        r"term_x: groups\[1\] holds index 4, but the block has 4 coordinates, counted from 0",
    ),
    "lower for another block": (lambda: Box([0, 0], 1).check_size(3, "term_x"), r"term_x: lower has 2 numbers"),
    "upper for another block": (lambda: Box(0, [1, 1]).check_size(3, "term_x"), r"term_x: upper has 2 numbers"),
    "a simplex for an empty block": (lambda: Simplex().check_size(0, "term_x"), r"term_x: the block has no coord"),
    "center for another block": (lambda: L2Ball(1, [0, 0]).check_size(3, "term_x"), r"term_x: center has 2 numbers"),
    "scaled term for another block": (
        lambda: Scaled(L1([1, 2]), 2).check_size(3, "term_x"),
        r"term_x: weight has 2 numbers",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_said_what_is_wrong(case):
    make, message = CASES[case]
    with pytest.raises(InputError, match=message):
        make()


def test_terms_are_there_without_an_import_of_their_own():
    assert minmin.terms.L1 is L1
    assert "terms" in minmin.__all__
    assert all(issubclass(getattr(minmin.terms, name), Term) for name in minmin.terms.__all__)

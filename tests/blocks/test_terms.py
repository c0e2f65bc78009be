"""Terms and bounds in several blocks: minima, certificates, and bounds that are met exactly."""

from __future__ import annotations

import numpy as np
import pytest
from tests.blocks.cases import make_case

import minmin
from composite.independent import Case, Piece, find_minima
from minmin.problems import Composite
from minmin.terms import L1, Box

METHODS = ("reduced-lbfgs", "bam", "nag")
COSTS = (None, [100.0, 10.0, 1.0], [1.0, 10.0, 100.0], [1.0, 100.0, 10.0])


def _draw_piece(rng, size):
    kind = str(rng.choice(["none", "L1", "ElasticNet", "Box"]))
    l1 = rng.uniform(0.1, 1.0, size=size) if kind in ("L1", "ElasticNet") else None
    l2 = rng.uniform(0.1, 1.0, size=size) if kind == "ElasticNet" else None
    lower = -rng.uniform(0.0, 0.1, size=size) if kind == "Box" else None
    upper = rng.uniform(0.0, 0.1, size=size) if kind == "Box" else None
    return Piece(size, kind, l1=l1, l2=l2, lower=lower, upper=upper)


def _join(pieces):
    """Terms of several blocks as one piece; those drawn here act on every coordinate alone."""
    joined = {n: np.concatenate([getattr(p, n) for p in pieces]) for n in ("l1", "l2", "lower", "upper")}
    return Piece(len(joined["l1"]), **joined)


@pytest.fixture(scope="module")
def solved():
    """Random quadratics of three or four blocks with a term in each, and their minima by another method."""
    drawn = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sizes = tuple(int(n) for n in rng.integers(1, 3, size=3 + seed % 2))
        sizes = (sizes[0] + 3, *sizes[1:])
        case = make_case(10 ** rng.uniform(0.3, 2.5, size=len(sizes)), seed, float(rng.uniform()), sizes)
        pieces = [_draw_piece(rng, size) for size in sizes]
        y = slice(1, None)
        constants = minmin.Constants(case.L[0], case.L[y].max(), case.mu[0], case.mu[y].min())
        drawn.append((case, pieces, Case(pieces[0], _join(pieces[1:]), constants, H=case.H, b=case.b)))
    minima = find_minima([whole for _, _, whole in drawn])
    return [(case, pieces, minimum) for (case, pieces, _), minimum in zip(drawn, minima, strict=True)]


@pytest.mark.parametrize("method", [*METHODS, "reduced-newton"])
def test_terms_in_several_blocks_are_minimised_and_the_certificate_is_never_below_the_truth(solved, method):
    for seed, (case, pieces, minimum) in enumerate(solved):
        with_hessian = method == "reduced-newton"
        without = seed % 3 == 2 and not with_hessian
        kind = case.function if (seed % 2 or without) and not with_hessian else case.quadratic
        f = kind(costs=COSTS[seed % 4] if len(pieces) == 3 else None, **({"with_constants": False} if without else {}))
        first, *others = [piece.to_term() for piece in pieces]
        options = {"adaptive": True} if without and method != "reduced-lbfgs" else {}
        r = minmin.minimize(Composite(f, first, others), method=method, tol=1e-8, **options)
        assert r.success, (seed, r)
        assert r.certified is not without
        gap = minimum.gap(r.x, np.concatenate(r.blocks[1:]))
        assert gap <= (1e-6 if without else r.gap_bound) + 1e-13 * minimum.size, (seed, gap, r.gap_bound)
        for block, piece in zip(r.blocks, pieces, strict=True):
            assert (block >= piece.lower).all()
            assert (block <= piece.upper).all()


def test_bounds_of_blocks_are_boxes():
    case = make_case([30.0, 10.0, 50.0], sizes=(2, 3, 2), mu=[1.0, 0.3, 7.0])
    in_x, in_last = (-0.1, 0.1), [(0.1, None)] * 2
    r = minmin.minimize(case.function(), bounds=[in_x, None, in_last])
    boxes = Composite(case.function(), Box(*in_x), [None, Box(0.1, None)])
    assert [b.tolist() for b in r.blocks] == [b.tolist() for b in minmin.minimize(boxes).blocks]
    assert 0.1 in r.blocks[2]
    first = minmin.minimize(case.function(), bounds_x=in_x)
    assert first.fun <= r.fun
    assert np.abs(first.x).max() <= 0.1
    of_two = make_case([30.0, 10.0], sizes=(2, 3))
    pair = minmin.minimize(of_two.quadratic(costs=[1.0, 9.0]), bounds_x=in_x, bounds_y=(0.0, None))
    assert pair.fun == minmin.minimize(of_two.quadratic(costs=[1.0, 9.0]), bounds=[in_x, (0.0, None)]).fun
    moved = minmin.minimize(case.function(), [np.ones(2), np.ones(3), np.ones(2)], bounds_x=in_x)
    assert "the start did not meet the constraints" in moved.message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bounds": [(0.0, 1.0)]}, "one entry for each of the 3 blocks"),
        ({"bounds": (0.0, 1.0)}, "one entry for each of the 3 blocks"),
        ({"bounds": [None, None, [(0.0, 1.0)] * 3]}, "bounds of block 2: lower has 3 numbers, but the block has 2"),
        ({"bounds": [None, None, None], "bounds_x": (0.0, 1.0)}, "not both"),
    ],
)
def test_wrong_bounds_of_blocks_name_the_block(given, message):
    with pytest.raises(minmin.InputError, match=message):
        minmin.minimize(make_case([10.0, 10.0, 10.0], sizes=(2, 2, 2)).quadratic(), **given)


def test_wrong_terms_of_blocks_name_the_block():
    problem = make_case([10.0, 10.0, 10.0], sizes=(2, 2, 2)).quadratic()
    with pytest.raises(minmin.InputError, match="a list of 2 Terms or Nones, one per block after the first"):
        Composite(problem, L1(1.0), [L1(1.0)] * 3)
    with pytest.raises(minmin.InputError, match=r"term_y\[1\]"):
        Composite(problem, L1(1.0), [None, 3.0])


@pytest.mark.parametrize("method", METHODS)
def test_a_run_with_terms_in_blocks_is_resumed_bit_for_bit(method, tmp_path):
    case = make_case([30.0, 10.0, 50.0], sizes=(4, 3, 3), mu=[1.0, 0.3, 7.0])
    problem = Composite(case.quadratic(costs=[9.0, 3.0, 1.0]), L1(0.1), [Box(-0.1, 0.1), L1(0.1)])
    whole = minmin.minimize(problem, method=method, tol=1e-10)
    minmin.minimize(problem, method=method, tol=1e-10, max_iterations=3, checkpoint=tmp_path / "file")
    resumed = minmin.minimize(problem, method=method, tol=1e-10, checkpoint=tmp_path / "file")
    assert [b.tolist() for b in resumed.blocks] == [b.tolist() for b in whole.blocks]
    assert resumed.calls == whole.calls

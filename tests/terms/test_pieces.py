"""Pieces: the term's derivatives there, its changes within them, and which points lie in them."""

import numpy as np
import pytest

from minmin.core.arrays import to_numpy
from minmin.extend import Scaled
from terms.cases import KINDS, SCALED, SIZE, TERMS, UNSCALED, vectors

WITH_PIECES = {name: term for name, term in TERMS.items() if term.has_pieces}
WITH_PIECES |= {f"{name} in units": Scaled(UNSCALED[name], 0.37, 4.0) for name in SCALED if UNSCALED[name].has_pieces}


def draw_pieces(term, kind="numpy float64", count=12):
    """Points where the term is finite, some of them at kinks, each with a gradient and the piece for both."""
    gradients = vectors(kind, count, seed=1)
    for v, gradient in zip(vectors(kind, count), gradients, strict=False):
        v = term.prox(v, 0.5)
        yield v, gradient, term.piece(v, gradient)


@pytest.mark.parametrize("name", WITH_PIECES)
def test_changes_within_a_piece_are_exact_and_the_derivatives_are_theirs(name):
    term, rng = WITH_PIECES[name], np.random.default_rng(0)
    checked = 0
    for v, _, piece in draw_pieces(term):
        d = np.where(piece.free, 1e-3 * rng.standard_normal(SIZE), 0.0)
        end = piece.hold(v + d)
        d = end - v
        assert np.allclose(end, piece.hold(end), rtol=0, atol=1e-15)
        assert piece.rise(d) == pytest.approx(term.change(v, end).value, rel=1e-9, abs=1e-13)
        hessian = piece.hessian()
        assert np.allclose(hessian @ d, piece.times(d))
        assert np.allclose(np.diag(hessian), piece.diagonal)
        assert not np.any(piece.gradient[~piece.free])
        assert not np.any(hessian[~piece.free])
        for t in (1e-3, -1e-3):  # the second difference quotient, where the piece is smooth on both sides
            if np.array_equal(piece.hold(v + t * d), v + t * d):
                model = t * piece.gradient @ d + 0.5 * t * t * d @ hessian @ d
                assert piece.rise(t * d) == pytest.approx(model, rel=1e-4, abs=1e-13)
                checked += 1
    assert checked > 0 or "one point" in name


@pytest.mark.parametrize("name", WITH_PIECES)
def test_what_stays_is_held_by_the_term(name):
    """Where a coordinate stays, no small step of it alone makes f + t fall, for f with this gradient."""
    term = WITH_PIECES[name]
    for v, gradient, piece in draw_pieces(term):
        for i in np.flatnonzero(~piece.free):
            for t in (1e-6, -1e-6):
                end = v.copy()
                end[i] += t
                change = term.change(v, end).value if np.isfinite(term.value(end)) else np.inf
                assert t * gradient[i] + change >= -1e-15


@pytest.mark.parametrize(
    ("name", "kind"),
    # In single precision the bounds of a Box are rounded.
    [(n, k) for n in WITH_PIECES for k in KINDS if k != "numpy float64" and not ("Box" in n and k.endswith("32"))],
)
def test_pieces_are_the_same_in_every_library_and_precision(name, kind):
    term, xp = WITH_PIECES[name], KINDS[kind][0]
    for v, gradient, piece in draw_pieces(term, kind, count=4):
        as_double = [to_numpy(a).astype(np.float64) for a in (v, gradient)]
        exact = term.piece(*as_double)
        assert np.array_equal(to_numpy(piece.free), exact.free)
        d = xp.where(piece.free, 0.1 * gradient, 0.0 * v)
        for found, wanted in (
            (piece.gradient, exact.gradient),
            (piece.times(d), exact.times(to_numpy(d))),
            (piece.hold(v + d), exact.hold(to_numpy(v + d).astype(np.float64))),
        ):
            assert found.dtype == v.dtype
            assert np.allclose(to_numpy(found), wanted, rtol=1e-4, atol=1e-5)

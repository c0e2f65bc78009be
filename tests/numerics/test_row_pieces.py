"""Products in pieces of rows: right, and the same bits for every number of threads."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest
import scipy.sparse

from minmin.numerics import row_pieces
from minmin.numerics.row_pieces import RowPieces


@pytest.fixture
def many_pieces(monkeypatch):
    monkeypatch.setattr(row_pieces, "_NUMBERS_PER_PIECE", 50)
    monkeypatch.setattr(row_pieces, "_LEAST_NUMBERS_PER_COLUMN", 1)


def matrix(rows=97, columns=12, empty_rows=False):
    rng = np.random.default_rng(rows)
    csr = scipy.sparse.random_array((rows, columns), density=0.6, rng=rng, format="csr")
    if empty_rows:
        csr = scipy.sparse.csr_array(scipy.sparse.vstack([csr[:1], scipy.sparse.csr_array((rows, columns)), csr[1:]]))
    return csr


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("empty_rows", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 97])
def test_pieces_add_up_to_the_product(rows, empty_rows, shape, many_pieces):
    csr, rng = matrix(rows, empty_rows=empty_rows), np.random.default_rng(0)
    v, r = rng.standard_normal((12, *shape)), rng.standard_normal((csr.shape[0], *shape))
    pieces = RowPieces.of_matrix(csr)
    assert np.allclose(pieces.image(v), csr @ v)
    assert np.allclose(pieces.adjoint(r), csr.T @ r)


def products():
    csr, rng = matrix(), np.random.default_rng(0)
    pieces = RowPieces.of_matrix(csr)
    return pieces.image(rng.standard_normal(12)), pieces.adjoint(rng.standard_normal(97))


def test_the_bits_do_not_depend_on_the_number_of_threads(many_pieces, monkeypatch):
    runs = []
    for threads in ("1", "2", "5"):
        monkeypatch.setattr(row_pieces, "_pool", None)
        monkeypatch.setattr(row_pieces, "_count_threads", lambda threads=threads: int(threads))
        runs.append(products())
    assert all((a == b).all() for run in runs[1:] for a, b in zip(run, runs[0], strict=True))


@pytest.mark.parametrize(("limit", "expected"), [("1", 1), ("0", 1), ("1000000", None), ("four", None), ("", None)])
def test_omp_num_threads_is_a_limit(limit, expected, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    available = row_pieces._count_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", limit)
    assert row_pieces._count_threads() == (expected or available)


def test_small_matrices_are_left_whole():
    csr = matrix()
    pieces = RowPieces.of_matrix(csr)
    assert pieces._pieces == [csr]


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, if tests before this one loaded it
def test_a_forked_process_makes_its_own_threads(many_pieces, monkeypatch):
    monkeypatch.setattr(row_pieces, "_count_threads", lambda: 2)
    products()  # starts threads here
    process = multiprocessing.get_context("fork").Process(target=products)
    process.start()
    process.join(20)
    hangs = process.is_alive()
    process.kill()
    assert not hangs
    assert process.exitcode == 0

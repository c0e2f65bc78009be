"""A design over partitions does what the matrix of all rows does."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from design_promises import require_products_of

import minmin
from minmin import InputError
from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.numerics import row_pieces
from minmin.problems import GLM, Softmax
from minmin.problems.linear import partitioned
from minmin.problems.linear.designs import DenseDesign
from minmin.problems.linear.partitioned import PartitionedDesign

ROWS, COLUMNS = 150, 12


def make_matrix(sparse, dtype=np.float64):
    X = scipy.sparse.random_array((ROWS, COLUMNS), density=0.4, rng=np.random.default_rng(0), format="csr")
    return X.astype(dtype) if sparse else X.toarray().astype(dtype)


def partition(matrix, count):
    cuts = np.linspace(0, ROWS, count + 1).astype(int)
    return PartitionedMatrix([matrix[a:b] for a, b in pairwise(cuts)])


@pytest.fixture
def many_pieces(monkeypatch):
    monkeypatch.setattr(partitioned, "_NUMBERS_PER_PIECE", 40)
    monkeypatch.setattr(partitioned, "_LEAST_NUMBERS_PER_COLUMN", 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize("chosen", [None, [7, 2, 11, 3], [*range(5, COLUMNS), *range(5)]])
@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("sparse", [True, False])
def test_a_design_computes_what_its_dense_matrix_does(sparse, count, chosen, ones, dtype, many_pieces):
    matrix = partition(make_matrix(sparse, dtype), count)
    dense = make_matrix(False, dtype)
    if chosen is not None:
        matrix, dense = matrix[:, chosen], dense[:, chosen]
    if ones:
        dense = np.hstack([dense, np.ones((ROWS, 1), dtype=dtype)])
    design, width = PartitionedDesign(matrix, ones=ones), dense.shape[1]
    assert design.stored == (np.count_nonzero(dense) if sparse else dense.size)
    assert design.is_dense is not sparse
    require_products_of(design, dense, np.array([2, 0, width - 1]))
    weights = np.random.default_rng(2).random(ROWS).astype(dtype)
    by_dense = PartitionedDesign(matrix, ones=ones, as_dense=True).gram(weights)
    expected = DenseDesign(dense).gram(weights)
    np.testing.assert_allclose(by_dense, expected, rtol=0.0, atol=500 * np.finfo(dtype).eps)


@pytest.mark.parametrize("sparse", [True, False])
def test_the_number_of_threads_does_not_change_a_bit(sparse, many_pieces, monkeypatch):
    results = []
    for threads in (1, 3):
        monkeypatch.setattr(row_pieces, "_count_threads", lambda threads=threads: threads)
        monkeypatch.setattr(row_pieces, "_pool", None)
        design, r = PartitionedDesign(partition(make_matrix(sparse), 4)), np.linspace(0.1, 0.9, ROWS)
        results.append([design.image(np.ones(COLUMNS)), design.adjoint(r), design.gram(r), design.column_squares(r)])
    for one, three in zip(*results, strict=True):
        np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("loss", ["logistic", "squared", "poisson", "huber", "squared-hinge", "gamma", "probit"])
def test_a_model_of_partitions_gives_the_run_of_the_model_in_memory(loss):
    X, rng = make_matrix(True), np.random.default_rng(1)
    target = rng.integers(1, 3, ROWS)
    if loss in ("logistic", "squared-hinge", "probit"):
        target = 2 * target - 3
    Y, options = rng.standard_normal((ROWS, 2)), {"alpha_x": 1e-2, "alpha_y": 0.0, "offset": rng.random(ROWS)}
    weights = rng.random(ROWS)
    expected = minmin.minimize(GLM(X, Y, target, loss, sample_weight=weights, **options), tol=1e-9)
    for count in (1, 7):
        model = GLM(partition(X, count), Y, target, loss, sample_weight=weights, **options)
        r = minmin.minimize(model, tol=1e-9)
        for got, wanted in ((r.x, expected.x), (r.y, expected.y)):
            np.testing.assert_allclose(got, wanted, rtol=0.0, atol=1e-10 * np.abs(wanted).max())
        assert (r.calls, r.nit, r.certified) == (expected.calls, expected.nit, True)
        assert r.gap_bound == pytest.approx(expected.gap_bound, rel=1e-3)


def test_other_array_libraries_are_refused():
    with pytest.raises(InputError, match="only with NumPy vectors"):
        PartitionedDesign(partition(make_matrix(True), 2)).to_like("no array of NumPy", "X")


def test_checkpoints_tell_partitions_apart():
    matrix = partition(make_matrix(True), 2)
    same, other = partition(make_matrix(True), 2), matrix[:, [1, 0, *range(2, COLUMNS)]]

    def identify(some):
        return [array.tolist() for array in PartitionedDesign(some).arrays()]

    assert identify(matrix) == identify(same)
    assert identify(matrix) != identify(other)


@pytest.mark.parametrize("sparse", [True, False])
def test_both_blocks_may_be_columns_of_the_same_partitions(sparse):
    X, labels = make_matrix(sparse), np.random.default_rng(1).integers(0, 3, ROWS)
    parts = partition(X, 3)
    for make, target in ((Softmax, labels), (GLM, np.where(labels, 1, -1))):
        expected = minmin.minimize(make(X[:, 3:], X[:, :3], target, alpha_x=1e-2, alpha_y=1e-3), tol=1e-9)
        r = minmin.minimize(make(parts[:, 3:], parts[:, :3], target, alpha_x=1e-2, alpha_y=1e-3), tol=1e-9)
        np.testing.assert_allclose(r.x, expected.x, rtol=0.0, atol=1e-10 * np.abs(expected.x).max())
        assert (r.calls, r.nit, r.certified) == (expected.calls, expected.nit, True)


def test_methods_that_need_constants_and_those_that_draw_rows_work():
    X, Y = make_matrix(True), np.random.default_rng(1).standard_normal((ROWS, 2))
    target = np.where(Y[:, 0] > 0, 1, -1)
    expected = minmin.minimize(GLM(X, Y, target, alpha_x=0.1, alpha_y=0.1), tol=1e-9)
    for x, y, options in ((partition(X, 2), Y, {}), (Y, partition(X, 2), {"inner": "katyusha"})):
        r = minmin.minimize(GLM(x, y, target, alpha_x=0.1, alpha_y=0.1), method="bam", tol=1e-9, **options)
        assert r.certified
        assert r.fun == pytest.approx(expected.fun, abs=2e-9)

"""What a user's sparse matrix becomes: small indices, and Aᵀ diag(w) A as for a dense matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from minmin.problems import GLM
from minmin.problems.linear.checked_designs import make_design


def sparse(rows, columns, per_row, dtype=np.float64):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < per_row / columns)
    return scipy.sparse.csr_array(dense.astype(dtype))


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix, scipy.sparse.csc_array])
def test_a_design_has_32_bit_indices_and_leaves_the_users_matrix_unchanged(kind):
    matrix = kind(sparse(40, 6, 2.0))
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    before = matrix.copy()
    problem = GLM(matrix, np.ones((40, 1)), np.tile([1.0, -1.0], 20), alpha_x=0.1, alpha_y=0.1)
    assert problem.X.indices.dtype == problem.X.indptr.dtype == np.int32
    assert (problem.X.toarray() == matrix.toarray()).all()
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int64
    assert all((getattr(matrix, name) == getattr(before, name)).all() for name in ("data", "indices", "indptr"))


def test_a_csr_matrix_with_32_bit_indices_is_not_copied():
    matrix = sparse(40, 6, 2.0)
    design = make_design(matrix, "X")
    given = matrix.data, matrix.indices, matrix.indptr
    assert all(np.shares_memory(*pair) for pair in zip(design.arrays(), given, strict=True))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("per_row", [0.3, 2.0, 20.0])
def test_the_gram_matrix_is_that_of_the_dense_matrix(per_row, dtype):
    matrix = sparse(200, 30, per_row, dtype)
    dense, weights = matrix.toarray(), np.random.default_rng(1).random(200).astype(dtype)
    gram = make_design(matrix, "X").gram(weights)
    assert gram.dtype == dtype
    assert np.allclose(gram, (dense.T * weights) @ dense, rtol=0.0, atol=300 * np.finfo(dtype).eps)


def test_the_gram_matrix_does_not_depend_on_the_order_of_the_columns_in_a_row():
    design, chosen = make_design(sparse(50, 8, 2.0), "X"), np.array([5, 0, 7, 2])
    dense, weights = design.matrix.toarray()[:, chosen], np.random.default_rng(1).random(50)
    assert np.allclose(design.columns(chosen).gram(weights), (dense.T * weights) @ dense)

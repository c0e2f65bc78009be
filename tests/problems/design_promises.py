"""What every design promises: it computes what a dense matrix does."""

from __future__ import annotations

import numpy as np

from minmin.problems.linear.designs import DenseDesign


def require_products_of(design, dense, columns):
    """Compare a design with its dense matrix: products, Gram matrices, samples of rows, some columns, and counts."""
    same, rng, dtype = DenseDesign(dense), np.random.default_rng(2), dense.dtype
    count, width = dense.shape
    rows, weights = np.array([0, 3, 3, 90, 149]), rng.random(count).astype(dtype)
    assert design.shape == dense.shape
    assert design.prototype.dtype == dtype

    def agree(left, right):
        assert left.dtype == dtype
        np.testing.assert_allclose(left, right, rtol=0.0, atol=500 * np.finfo(dtype).eps)

    for shape in ((), (3,)):
        v, r = rng.standard_normal((width, *shape)).astype(dtype), rng.random((count, *shape)).astype(dtype)
        agree(design.image(v), same.image(v))
        agree(design.adjoint(r), same.adjoint(r))
        agree(design.column_squares(r), same.column_squares(r))
        agree(design.row_squares(v), same.row_squares(v))
    agree(design.row_norms_squared, same.row_norms_squared)
    agree(design.gram(weights), same.gram(weights))
    agree(design.gram(weights[rows], rows), same.gram(weights[rows], rows))
    agree(design.sample(rows), dense[rows])
    agree(design.sample(rows, columns), dense[rows][:, columns])
    agree(np.concatenate([some for _, some in design.dense_pieces()]), dense)
    agree(design.rows(rows).image(np.ones(width, dtype=dtype)), dense[rows].sum(axis=1))
    for chosen in (columns, np.array([0, 1]), np.array([width - 1]), np.arange(width)):
        v = np.ones(len(chosen), dtype=dtype)
        agree(design.columns(chosen).image(v), dense[:, chosen] @ v)
        agree(design.columns(chosen).gram(weights), same.columns(chosen).gram(weights))
        agree(design.view_columns(chosen).image(v), dense[:, chosen] @ v)
    wanted, is_stored = np.isin(np.arange(width), columns), dense != 0.0
    if not design.is_dense:
        np.testing.assert_array_equal(design.column_counts, is_stored.sum(axis=0))
        per_row = is_stored[:, wanted].sum(axis=1) + 1
        assert design.count_pairs(wanted, 1) == (per_row * (per_row + 1) / 2).sum()
    for pairs in (None, 0.0):
        agree(design.with_ones(1, pairs).image(np.ones(width + 1, dtype=dtype)), dense.sum(axis=1) + 1.0)
        agree(design.with_ones(0, pairs).image(np.ones(width, dtype=dtype)), dense.sum(axis=1))
    agree(design.zero_column().image(np.ones(1, dtype=dtype)), np.zeros(count, dtype=dtype))
    squares = design.column_squares_in_double(np.ones(count))
    np.testing.assert_allclose(squares, np.square(dense, dtype=np.float64).sum(axis=0), rtol=1e-12)
    whole = design.to_float64()
    np.testing.assert_array_equal(whole if isinstance(whole, np.ndarray) else whole.toarray(), dense)
    wide = design.to_like(np.zeros(0), "X").image(np.ones(width))
    assert wide.dtype == np.float64
    np.testing.assert_allclose(wide, dense.astype(np.float64).sum(axis=1), rtol=1e-6)

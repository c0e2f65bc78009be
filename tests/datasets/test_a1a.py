"""The embedded data set is the one the paper used."""

import numpy as np

import minmin


def test_shape_labels_and_the_papers_constant():
    X, labels = minmin.datasets.load_a1a()
    assert X.shape == (1605, 119)
    assert set(labels) == {-1.0, 1.0}
    assert np.sum(labels == 1) == 395
    assert set(X.data) == {1.0}
    assert X.indices.max() == 118
    L = np.linalg.eigvalsh((X.T @ X).toarray())[-1] / (4 * 1605)
    assert round(L, 3) == 1.567

"""The same linear model with its rows here, and in groups."""

from itertools import pairwise

import numpy as np
import scipy.sparse

from minmin.problems import Softmax
from minmin.problems.linear.glm import GLM
from minmin.problems.linear.losses import LOSSES
from minmin.problems.linear.model import LinearModel
from minmin.problems.linear.partitioned import PartitionedDesign
from minmin.problems.linear.rows.group import LocalRowEngine, Partition
from minmin.problems.linear.rows.parts import RowDesign
from minmin.problems.linear.rows.session import RowSession
from minmin.problems.linear.softmax import SoftmaxLoss

CLASSES = 4
D_X, D_Y = 30, 4
ALL_LOSSES = [*LOSSES, "softmax"]


def make_data(loss, seed=0, n=400):
    """X, sparse, Y with a last column of ones, target, weights of which some are zero, and offset."""
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, D_X), density=0.2, rng=rng, format="csr")
    Y = np.hstack([rng.standard_normal((n, D_Y - 1)), np.ones((n, 1))])
    margins = X @ (0.5 * rng.standard_normal(D_X)) + Y @ (0.3 * rng.standard_normal(D_Y))
    if loss in ("squared", "huber"):
        target = margins + rng.standard_normal(n)
    elif loss == "softmax":
        target = rng.integers(0, CLASSES, n).astype(float)
    elif loss in ("poisson", "negative-binomial", "tweedie"):
        target = rng.poisson(np.exp(margins)).astype(float)
    elif loss == "gamma":
        target = rng.gamma(2.0, np.exp(margins))
    else:
        target = np.where(margins + rng.logistic(size=n) > 0, 1.0, -1.0)
    weights = rng.uniform(0.1, 2.0, n) * (rng.random(n) > 0.1)
    offset = 0.3 * rng.standard_normal((n, CLASSES) if loss == "softmax" else n)
    return X, Y, target, weights, offset


def penalties(one_number=False):
    return {"alpha_x": 1e-3, "alpha_y": 0.01 if one_number else np.array([0.01, 0.02, 0.03, 0.0])}


def make_here(loss, data, **alphas):
    X, Y, target, weights, offset = data
    options = {"sample_weight": weights, "offset": offset, **(alphas or penalties())}
    return Softmax(X, Y, target, CLASSES, **options) if loss == "softmax" else GLM(X, Y, target, loss, **options)


def take_columns(matrix, columns):
    return PartitionedDesign(matrix[:, columns])


def make_in_groups(loss, data, parts, engine=LocalRowEngine, first=0, **alphas):
    """The same model with rows in ``parts`` partitions and two groups, which have every second partition.

    The first group begins with the partition ``first``, 0 or 1.
    """
    X, Y, target, weights, offset = data
    both = scipy.sparse.hstack([X, scipy.sparse.csr_array(Y)], format="csr")
    cuts = np.linspace(0, X.shape[0], parts + 1).astype(int)
    partitions = [
        Partition(
            {"X": scipy.sparse.csr_array(both[a:b])}, {"y": target[a:b], "weight": weights[a:b], "offset": offset[a:b]}
        )
        for a, b in pairwise(cuts)
    ]
    order = [*range(first, parts, 2), *range(1 - first, parts, 2)]
    groups = [group for group in (partitions[first::2], partitions[1 - first :: 2]) if group]
    reached = engine(groups)
    session = RowSession(reached, [group.sizes for group in reached.groups], order)
    matrix = session.load("X", None)
    designs = [
        RowDesign(session.apply(take_columns, matrix, np.arange(*columns), example=object()))
        for columns in ((0, D_X), (D_X, D_X + D_Y))
    ]
    target, weights, offset = (session.load_column(name) for name in ("y", "weight", "offset"))
    of_sample = SoftmaxLoss(CLASSES) if loss == "softmax" else LOSSES[loss]
    given = {"sample_weight": weights, "offset": offset, **(alphas or penalties())}
    return LinearModel(*designs, of_sample, target, **given), session


def agree(here, there, rtol=1e-10):
    """Whether two results have the same point, the same counts and the same bound."""
    for a, b in ((here.x, there.x), (here.y, there.y)):
        np.testing.assert_allclose(b, a, rtol=0, atol=rtol * np.abs(a).max())
    assert there.nit == here.nit
    assert dict(there.calls) == dict(here.calls)
    assert there.status == here.status
    assert there.gap_bound == np.float64(here.gap_bound) or abs(there.gap_bound / here.gap_bound - 1.0) <= 1e-3

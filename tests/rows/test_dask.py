"""Dask collections without a cluster: the same fits, lazy predictions, and errors that name the partition."""

import asyncio
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from tests.estimators.exact import find_gap

import minmin
from minmin.estimators import (
    BlockGammaRegressor,
    BlockHuberRegressor,
    BlockLogisticRegression,
    BlockLogisticRegressionCV,
    BlockPoissonRegressor,
    BlockRidge,
    BlockTweedieRegressor,
    text_columns,
)
from rows.cases import CLASSES, agree, make_data, make_here, make_in_groups, penalties

dask = pytest.importorskip("dask", reason="needs minmin[dask]")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


def cut_sparse(X, parts):
    """A Dask array of CSR blocks."""
    cuts = np.linspace(0, X.shape[0], parts + 1).astype(int)
    meta = scipy.sparse.csr_array((0, 0))
    blocks = [da.from_delayed(dask.delayed(X[a:b]), (b - a, X.shape[1]), meta=meta) for a, b in pairwise(cuts)]
    return da.concatenate(blocks)


def make_table(n=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((n, 6)), columns=[*"abc", "word_1", "word_2", "word_3"])
    return frame, rng


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("loss", ["logistic", "gamma", "softmax"])
def test_a_model_of_dask_arrays(loss, dense):
    X, Y, target, weights, offset = data = make_data(loss)
    X_there = da.from_array(X.toarray(), chunks=(150, 7)) if dense else cut_sparse(X, 3)
    Y_there = da.from_array(Y, chunks=(X_there.chunks[0], 2))
    columns = {"sample_weight": da.from_array(weights, chunks=90), "offset": offset}
    if loss == "softmax":
        there = minmin.problems.Softmax(X_there, Y_there, target, CLASSES, **columns, **penalties())
    else:
        there = minmin.problems.GLM(X_there, Y_there, target, loss, **columns, **penalties())
    here = make_here(loss, (X.toarray(), *data[1:]) if dense else data)
    agree(*(minmin.minimize(model, method="reduced-newton", tol=1e-9) for model in (here, there)))


def test_estimated_constants_can_be_given_back():
    X, Y, target, _, _ = make_data("logistic")
    blocks = [da.from_array(block, chunks=(150, block.shape[1])) for block in (X.toarray(), Y)]
    alphas = {"alpha_x": 0.1, "alpha_y": 0.1}
    constants = minmin.estimate_constants(minmin.problems.GLM(*blocks, target, **alphas))
    there = minmin.problems.GLM(*blocks, target, constants=constants, **alphas)
    best = minmin.minimize(minmin.problems.GLM(X, Y, target, **alphas), tol=1e-10)
    for options in ({"method": "bam"}, {"method": "bam", "outer": "y", "inner": "newton"}, {"method": "alternating"}):
        r = minmin.minimize(there, tol=1e-6, **options)
        assert r.status == "converged"
        assert not r.certified
        assert r.fun - best.fun <= 1e-6


FITS = [
    (BlockLogisticRegression, lambda frame, rng: np.where(frame.a + rng.logistic(size=len(frame)) > 0, "yes", "no")),
    (BlockLogisticRegression, lambda frame, rng: rng.choice(["red", "green", "blue"], len(frame))),
    (BlockRidge, lambda frame, rng: 1e6 + frame.a + rng.standard_normal(len(frame))),
    (BlockHuberRegressor, lambda frame, rng: frame.a + rng.standard_t(2, len(frame))),
    (BlockPoissonRegressor, lambda frame, rng: rng.poisson(np.exp(0.3 * frame.a))),
    (BlockGammaRegressor, lambda frame, rng: rng.gamma(2.0, np.exp(0.3 * frame.a))),
    (BlockTweedieRegressor, lambda frame, rng: rng.poisson(1.0, len(frame)) * rng.gamma(2.0, 1.0, len(frame))),
]


@pytest.mark.parametrize(("kind", "make_target"), FITS)
def test_frames(kind, make_target):
    """The same coefficients and scores as in memory; predictions and scores are not computed before they are needed."""
    frame, rng = make_table()
    frame["y"], frame["w"] = make_target(frame, rng), rng.uniform(0.5, 2.0, len(frame))
    there = dd.from_pandas(frame, npartitions=4)
    X, X_there = frame.drop(columns=["y", "w"]), there.drop(columns=["y", "w"])
    model = kind({"words": "word_*"}, alpha={"words": 1e-2, "rest": 1e-3})
    expected = kind({"words": "word_*"}, alpha={"words": 1e-2, "rest": 1e-3})
    expected.fit(X, frame["y"], sample_weight=frame["w"])
    model.fit(X_there, there["y"], sample_weight=there["w"])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-10)
    assert (model.n_iter_, dict(model.calls_)) == (expected.n_iter_, dict(expected.calls_))
    assert list(model.feature_names_in_) == list(expected.feature_names_in_)
    lazy = model.predict(X_there)
    assert isinstance(lazy, da.Array)
    computed, found = lazy.compute(), expected.predict(X)
    assert (computed == found).all() if found.dtype.kind in "UO" else np.allclose(computed, found, rtol=1e-9)
    score = model.score(X_there, there["y"], there["w"])
    assert isinstance(score, da.Array)
    assert float(score) == pytest.approx(expected.score(X, frame["y"], frame["w"]), rel=1e-9)


def test_the_bound_is_that_of_the_rounded_intercept():
    frame, rng = make_table(20)
    y = 1e12 + frame.a.to_numpy() + rng.standard_normal(20)
    there = dd.from_pandas(frame.assign(y=y), npartitions=3)
    model = BlockRidge(alpha=1e-2, tol=1e-9).fit(there.drop(columns="y"), there["y"])
    gap = find_gap("squared", frame.to_numpy(), y, np.full(6, 1e-2), model.coef_, model.intercept_)
    assert gap <= model.gap_bound_ <= 1e-12 + 2.0 * gap


def test_probabilities_stay_lazy():
    frame, rng = make_table()
    X = cut_sparse(scipy.sparse.csr_array(frame.to_numpy()), 3)
    y = rng.integers(0, 3, len(frame))
    model = BlockLogisticRegression().fit(X, y)
    for name in ("predict_proba", "predict_log_proba", "decision_function"):
        lazy = getattr(model, name)(X)
        assert isinstance(lazy, da.Array)
        assert lazy.shape == (300, 3)
        np.testing.assert_allclose(lazy.compute(), getattr(model, name)(frame.to_numpy()), rtol=1e-10, atol=1e-12)


def test_class_weights_and_offsets():
    frame, rng = make_table()
    y, offset = rng.integers(0, 2, len(frame)), rng.standard_normal(len(frame))
    X = da.from_array(frame.to_numpy(), chunks=(70, 6))
    for class_weight in ("balanced", {0: 1.0, 1: 3.0}):
        fits = [
            BlockLogisticRegression(class_weight=class_weight).fit(data, y, offset=offset)
            for data in (X, frame.to_numpy())
        ]
        np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-10, atol=1e-12)


def test_single_precision():
    frame, rng = make_table()
    numbers = frame.to_numpy().astype(np.float32)
    y = rng.poisson(1.0, len(frame))
    fits = [BlockPoissonRegressor(tol=1e-9).fit(X, y) for X in (da.from_array(numbers, chunks=(70, 6)), numbers)]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-6, atol=1e-8)


def test_empty_partitions_are_left_out():
    frame, rng = make_table()
    frame["y"], frame["a"] = rng.poisson(1.0, len(frame)), np.linspace(-1.0, 1.0, len(frame))
    there = dd.from_pandas(frame, npartitions=5)
    chosen, kept = there[there["a"] > 0.3], frame[frame["a"] > 0.3]
    model = BlockPoissonRegressor().fit(chosen.drop(columns="y"), chosen["y"])
    np.testing.assert_allclose(
        model.coef_, BlockPoissonRegressor().fit(kept.drop(columns="y"), kept["y"]).coef_, rtol=1e-9
    )


def spoil(block, number, change):
    return change(block) if number == 1 else block


def make_spoiled(change):
    """Three blocks of rows, the second of which is changed."""
    frame, rng = make_table()
    numbers = frame.to_numpy()
    blocks = [dask.delayed(spoil)(numbers[100 * i : 100 * i + 100], i, change) for i in range(3)]
    X = da.concatenate(
        [da.from_delayed(block, (np.nan, 6), meta=np.zeros((0, 0))) for block in blocks], allow_unknown_chunksizes=True
    )
    return X, da.from_array(rng.poisson(1.0, 300), chunks=100)


def with_nan(block):
    block = block.copy()
    block[17, 3] = np.nan
    return block


def with_index(block):
    csr = scipy.sparse.csr_array(block)
    csr.indices[3] = 6
    return csr


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (with_nan, "partition 1, row 17: column 3 is nan"),
        (with_index, "partition 1: X is not a valid csr matrix: indices must be < 6"),
        (lambda block: np.ma.masked_greater(block, 1.0), "partition 1: X is a masked array with masked entries"),
        (lambda block: block[:, :5], "partition 1: X has columns 5, and partition 0 has 6"),
        (lambda block: block.astype(np.float32), "partition 1: X has dtype float32, and partition 0 has float64"),
        (scipy.sparse.csr_array, "partition 1: X has storage sparse, and partition 0 has dense"),
        (lambda block: block[:50], "partition 1: y has 100 rows, and X has 50"),
        (lambda block: block.astype(str), "partition 1: X holds <U32 values"),
        (lambda block: block.astype(complex), "partition 1: X holds complex128 values"),
    ],
)
def test_a_wrong_partition_is_named(change, words):
    X, y = make_spoiled(change)
    with pytest.raises(minmin.InputError, match=words):
        BlockPoissonRegressor().fit(X, y)


def test_wrong_columns_are_named():
    frame, _ = make_table()
    X = da.from_array(frame.to_numpy(), chunks=(100, 6))
    counts = np.ones(300)
    wrong = counts.copy()
    wrong[105] = -1.0
    unknown, _ = make_spoiled(lambda block: block)
    cases = [
        (X, counts, {"sample_weight": wrong}, "partition 1, row 5: weight is -1; give weights of 0 or above"),
        (X, counts, {"offset": np.where(wrong < 0, np.inf, 0.0)}, "partition 1, row 5: offset is inf"),
        (X, np.where(wrong < 0, np.nan, 1.0), {}, "partition 1, row 5: y is nan"),
        (X, counts[:200], {}, "y has 200 entries, and X has 300 rows"),
        (X, da.ones(200, chunks=100), {}, "y has 2 blocks of rows, and X has 3"),
        (unknown, counts, {}, r"sizes of the blocks of X are not known.*compute_chunk_sizes"),
        (X, None, {}, "y is None"),
        (X, counts, {"sample_weight": 1.0}, "weight is 1.0; give one number per row"),
        (X[:, 0], counts, {}, "X has 1 dimension"),
        (X[:, :0], counts, {}, "it must be a matrix"),
        (X, np.array(["a"] * 300), {}, "y holds text"),
        (X, np.zeros((300, 2)), {}, r"partition \d: y has shape \(100, 2\)"),
        (X[:0], counts[:0], {}, "no rows"),
    ]
    for data, y, options, words in cases:
        with pytest.raises(minmin.InputError, match=words):
            BlockPoissonRegressor().fit(data, y, **options)
    with pytest.raises(minmin.InputError, match="BlockLogisticRegressionCV needs all rows in memory"):
        BlockLogisticRegressionCV().fit(X, counts)
    with pytest.raises(minmin.InputError, match="Y must be a Dask array or frame"):
        minmin.problems.GLM(X, np.ones((300, 1)), counts, "poisson", alpha_x=1.0, alpha_y=0.0)
    with pytest.raises(minmin.InputError, match="give classes="):
        minmin.problems.Softmax(X, X, counts, alpha_x=1.0, alpha_y=1.0)


def test_weights_and_targets_of_small_types():
    frame, rng = make_table()
    X, y = da.from_array(frame.to_numpy(), chunks=(100, 6)), rng.integers(0, 2, 300)
    for kind in (BlockLogisticRegression, BlockHuberRegressor, BlockPoissonRegressor):
        model = kind().fit(X, y)
        for weights in (np.arange(300) % 3 > 0, np.full(300, 100, np.int8)):
            found = float(model.score(X, y.astype(np.int8), weights))
            assert found == pytest.approx(model.score(frame.to_numpy(), y, weights.astype(float)))


def test_wrong_targets_of_models_are_named():
    frame, rng = make_table()
    X, Y = da.from_array(frame.to_numpy(), chunks=(100, 6)), da.ones((300, 1), chunks=(100, 1))
    labels, amounts = rng.integers(0, 3, 300), rng.gamma(2.0, size=300)
    amounts[123] = -1.0
    mixed = np.where(np.arange(300) < 100, rng.integers(0, 2, 300), rng.choice([-1, 1], 300))
    penalties = {"alpha_x": 0.1, "alpha_y": 0.1}
    for wrong in (labels - 1, labels + 1, labels + 0.5):
        with pytest.raises(minmin.InputError, match=r"target holds .*: give classes as whole numbers, 0 to 2"):
            minmin.minimize(minmin.problems.Softmax(X, Y, wrong, 3, **penalties))
    with pytest.raises(minmin.InputError, match="target holds -1, 0, 1: the logistic loss takes labels"):
        minmin.minimize(minmin.problems.GLM(X, Y, mixed, **penalties))
    with pytest.raises(minmin.InputError, match=r"partition 1: target\[23\] = -1: the gamma loss takes numbers > 0"):
        minmin.minimize(minmin.problems.GLM(X, Y, amounts, "gamma", **penalties))
    kept = da.arange(300, chunks=100) >= 100  # leaves no row of partition 0
    columns = X[kept], Y[kept], da.from_array(amounts, chunks=100)[kept]
    with pytest.raises(minmin.InputError, match=r"partition 1: target\[23\] = -1"):
        minmin.minimize(minmin.problems.GLM(*columns, "gamma", **penalties))
    with pytest.raises(minmin.InputError, match=r"offset has shape \(300, 2\); give one number for each row"):
        BlockPoissonRegressor().fit(X, labels, offset=np.zeros((300, 2)))


def test_text_and_numbers_in_one_target_are_refused():
    frame, _ = make_table()
    X = da.from_array(frame.to_numpy(), chunks=(150, 6))
    y = da.concatenate([da.from_array(np.array(["0", "1"] * 75), chunks=150), da.from_array(np.ones(150), chunks=150)])
    y = y.map_blocks(lambda block: block if "1" in block else np.ones(len(block)), dtype=object)
    with pytest.raises(minmin.InputError, match="partition 1: y has dtype numbers, and partition 0 has text"):
        BlockLogisticRegression().fit(X, y)


def test_unpenalised_columns_of_a_squared_loss():
    """There are no constants of rows elsewhere, so the bound is an estimate."""
    frame, rng = make_table()
    y, alpha = rng.standard_normal(300), {"free": 0.0, "rest": 1e-3}
    X = da.from_array(frame.to_numpy(), chunks=(100, 6))
    with pytest.warns(ConvergenceWarning, match="not proved"):
        model = BlockRidge({"free": [0, 1]}, alpha=alpha, cheap=[]).fit(X, y)
    expected = BlockRidge({"free": [0, 1]}, alpha=alpha).fit(frame.to_numpy(), y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-4, atol=1e-5)


def test_a_step_that_fails_does_not_spoil_the_next_run():
    frame, rng = make_table()
    X, Y = da.from_array(frame.to_numpy(), chunks=(100, 6)), da.ones((300, 1), chunks=(100, 1))
    model = minmin.problems.GLM(X, Y, rng.standard_normal(300), OnlyNear(), alpha_x=0.1, alpha_y=0.1)
    before = minmin.minimize(model)
    with pytest.raises(RuntimeError, match="too far"):
        minmin.minimize(model, np.full(6, 1e6), np.zeros(1))
    assert (minmin.minimize(model).x == before.x).all()


class OnlyNear(minmin.problems.Loss):
    """The squared loss, which fails at large margins."""

    def value(self, margins, target, shared):
        return 0.5 * (margins - target) ** 2

    def slope(self, margins, target, shared):
        if np.abs(margins).max() > 1e3:
            raise FloatingPointError("too far")
        return margins - target

    def curvature(self, margins, target, shared):
        return 1.0 + 0.0 * margins


@pytest.mark.slow
def test_an_asynchronous_client_is_for_threads():
    frame, rng = make_table()
    X, y = da.from_array(frame.to_numpy(), chunks=(100, 6)), rng.poisson(1.0, 300)

    async def fit():
        options = {"processes": False, "n_workers": 1, "dashboard_address": None, "asynchronous": True}
        async with distributed.Client(**options):
            with pytest.raises(minmin.InputError, match="asynchronous; call this in a thread"):
                BlockPoissonRegressor().fit(X, y)
            return await asyncio.to_thread(BlockPoissonRegressor().fit, X, y)

    expected = BlockPoissonRegressor().fit(frame.to_numpy(), y)
    np.testing.assert_allclose(asyncio.run(fit()).coef_, expected.coef_, rtol=1e-10)


def test_text_columns():
    """Categories are those of all partitions, and missing values one of their own."""
    frame, rng = make_table()
    frame["city"] = np.where(frame.index < 250, rng.choice(["Oslo", "Rome", "Bern"], 300), "Lima")
    frame["size"] = pd.Categorical(rng.choice(["small", "large"], 300))
    frame.loc[[3, 290], "city"] = None
    y = rng.poisson(np.exp(0.5 * (frame["city"] == "Oslo")))
    there = dd.from_pandas(frame, npartitions=4)
    make = lambda: BlockPoissonRegressor({"text": ["city", "size"]}, alpha={"text": 1e-3, "rest": 1e-2})  # noqa: E731
    model, expected = make().fit(there, dd.from_pandas(pd.Series(y), npartitions=4)), make().fit(frame, y)
    assert model.categories_ == expected.categories_
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-11)
    assert (model.n_iter_, dict(model.calls_)) == (expected.n_iter_, dict(expected.calls_))
    np.testing.assert_allclose(model.predict(there).compute(), expected.predict(frame), rtol=1e-9)
    frame.loc[180, "a"] = np.nan
    with pytest.raises(minmin.InputError, match="partition 2: column 'a' has a missing value"):
        make().fit(dd.from_pandas(frame, npartitions=4), dd.from_pandas(pd.Series(y), npartitions=4))


def test_text_that_looks_like_numbers_is_named():
    frame, rng = make_table()
    frame["size"] = rng.choice(["1.5", "2.5", "1_000"], 300)
    y = pd.Series(rng.poisson(1.0, 300))
    columns = [dd.from_pandas(data, npartitions=2) for data in (frame, y, frame.astype({"size": "category"}))]
    with pytest.warns(UserWarning, match="column 'size' has text that looks like numbers, such as '1_000'"):
        BlockPoissonRegressor().fit(columns[0], columns[1])
    BlockPoissonRegressor().fit(columns[2], columns[1])  # a warning would fail


def test_frames_of_several_types():
    """Booleans, nullable and Arrow columns are numbers; selectors see the types; names may be numbers."""
    frame, rng = make_table()
    frame = frame.assign(b=frame["b"] > 0, c=pd.array(rng.integers(0, 9, 300), dtype="Int64"))
    frame["city"] = rng.choice(["Oslo", "Rome"], 300)
    y = rng.standard_normal(300)
    target = dd.from_pandas(pd.Series(y), npartitions=3)
    for data in (frame.drop(columns="city"), frame, frame.set_axis(range(7), axis=1)):
        blocks = {"text": text_columns} if "city" in data else None
        there = dd.from_pandas(data, npartitions=3)
        fits = [BlockRidge(blocks, alpha=1e-2).fit(*pair) for pair in ((there, target), (data, y))]
        np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(fits[0].predict(there).compute(), fits[1].predict(data), rtol=1e-9, atol=1e-12)
        assert list(fits[0].feature_names_out_) == list(fits[1].feature_names_out_)


def test_labels_of_several_types_are_refused():
    frame, _ = make_table()
    labels = np.where(frame["a"] > 0, "yes", "no").astype(object)
    labels[120] = np.nan
    with pytest.raises(minmin.InputError, match="partition 1, row 20: y is nan, and other labels are text"):
        BlockLogisticRegression().fit(da.from_array(frame.to_numpy(), chunks=(100, 6)), labels)


def test_empty_blocks_and_blocks_without_weight():
    frame, rng = make_table()
    X, y = da.from_array(frame.to_numpy(), chunks=(100, 6)), rng.poisson(1.0, 300)
    weights = np.where(np.arange(300) < 100, 0.0, 1.0)
    model = BlockPoissonRegressor().fit(X, y, weights)
    expected = BlockPoissonRegressor().fit(frame.to_numpy(), y, weights)
    assert float(model.score(X, y, weights)) == pytest.approx(expected.score(frame.to_numpy(), y, weights))
    chosen = X[da.from_array(weights, chunks=100) > 0]
    np.testing.assert_allclose(model.predict(chosen).compute(), expected.predict(frame.to_numpy()[100:]), rtol=1e-9)
    with pytest.raises(minmin.InputError, match="a standard error needs all rows in memory"):
        model.summary(X, y)


def test_a_checkpoint_resumes_whichever_group_has_which_partition(tmp_path):
    """As after a crash of the process with the client: the rows are loaded again, perhaps by other workers."""
    data = make_data("logistic", seed=3)
    options = {"method": "reduced-newton", "tol": 1e-10, "checkpoint": tmp_path / "run"}
    expected = minmin.minimize(make_in_groups("logistic", data, 4)[0], method="reduced-newton", tol=1e-10)
    minmin.minimize(make_in_groups("logistic", data, 4)[0], max_iterations=2, **options)
    swapped = make_in_groups("logistic", data, 4, first=1)[0]
    agree(expected, minmin.minimize(swapped, **options), rtol=1e-12)

"""Frames with text columns give the model of a matrix of zeros and ones made by hand, whatever library they are of."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse
import skops.io
from sklearn.compose import make_column_selector
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from minmin import InputError
from minmin.estimators import (
    BlockLogisticRegression,
    BlockLogisticRegressionCV,
    BlockPoissonRegressor,
    BlockRidge,
    text_columns,
)

ROWS = 300


def make_frame(seed=0, rows=ROWS):
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "age": rng.standard_normal(rows),
            "city": pandas.Series(rng.choice(["Rome", "Oslo", "Bern", None], rows), dtype=object),
            "old": rng.random(rows) < 0.5,
            "job": [f"job {number}" for number in rng.integers(0, 25, rows)],
        }
    )


FRAME = make_frame()
RNG = np.random.default_rng(1)
MARGINS = FRAME["age"].to_numpy() + (FRAME["city"] == "Oslo").to_numpy()
TARGETS = {
    "logistic": (BlockLogisticRegression, RNG.random(ROWS) < 1.0 / (1.0 + np.exp(-MARGINS))),
    "softmax": (BlockLogisticRegression, (MARGINS + RNG.gumbel(size=(3, ROWS)) * [[1], [2], [3]]).argmax(axis=0)),
    "poisson": (BlockPoissonRegressor, RNG.poisson(np.exp(MARGINS / 3))),
    "squared": (BlockRidge, MARGINS + RNG.standard_normal(ROWS)),
}
LABELS = TARGETS["logistic"][1]


def encode(frame, like=FRAME):
    """The matrix of zeros and ones, by hand, and the names of its columns; categories are those of another frame."""
    columns = {}
    for name in frame:
        if name in ("city", "job"):
            for category in sorted(set(like[name].dropna())):
                columns[f"{name}={category}"] = frame[name] == category
            if like[name].isna().any():
                columns[f"{name} is missing"] = frame[name].isna()
        else:
            columns[name] = frame[name]
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns.values()], axis=1), list(columns)


def fit_both(family, blocks, by_hand, **options):
    Model, target = TARGETS[family]
    matrix, _ = encode(FRAME)
    ours, other = Model(blocks, **options), Model(by_hand, **options)
    return ours.fit(FRAME, target), other.fit(scipy.sparse.csr_array(matrix), target)


TEXT, CITY = [*range(1, 5), *range(6, 31)], [1, 2, 3, 4]


@pytest.mark.parametrize("cheap", [(), "b", "rest"])
@pytest.mark.parametrize("family", TARGETS)
@pytest.mark.parametrize(("blocks", "by_hand"), [("city", CITY), (text_columns, TEXT)])
def test_the_model_is_that_of_zeros_and_ones_by_hand(family, blocks, by_hand, cheap):
    options = {"alpha": {"b": 1e-2, "rest": 1e-1}, "cheap": cheap, "tol": 1e-13}
    ours, other = fit_both(family, {"b": blocks}, {"b": by_hand}, **options)
    assert ours.result_.certified
    np.testing.assert_allclose(ours.coef_, other.coef_, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, rtol=0.0, atol=1e-10)
    assert ours.feature_names_out_.tolist() == encode(FRAME)[1]
    assert {name: columns.tolist() for name, columns in ours.blocks_.items()} == {
        name: columns.tolist() for name, columns in other.blocks_.items()
    }
    new = make_frame(seed=5, rows=50)
    new.loc[3, "job"] = "never seen"
    new.loc[4, "job"] = None
    predict = "predict_proba" if hasattr(ours, "predict_proba") else "predict"
    np.testing.assert_allclose(getattr(ours, predict)(new), getattr(other, predict)(encode(new)[0]), atol=1e-10)


@pytest.mark.parametrize("family", TARGETS)
def test_by_default_the_split_differs_but_not_the_minimum(family):
    ours, other = fit_both(family, None, None, alpha=1e-2, tol=1e-11)
    assert ours.result_.certified
    assert abs(ours.result_.fun - other.result_.fun) <= 2e-11


@pytest.mark.parametrize("family", ["softmax", "squared"])
@pytest.mark.parametrize(("columns", "by_hand"), [("city", CITY), (None, None)])
def test_standard_errors_are_those_of_zeros_and_ones(family, columns, by_hand):
    ours, other = fit_both(family, None, None, alpha=1e-2, tol=1e-9)
    target = TARGETS[family][1]
    left = ours.standard_errors(FRAME, target, columns=columns)
    right = other.standard_errors(encode(FRAME)[0], target, columns=by_hand)
    np.testing.assert_allclose(left.coef, right.coef, rtol=1e-4)
    np.testing.assert_allclose(left.intercept, right.intercept, rtol=1e-4)
    assert "city is missing" in ours.summary(FRAME, target, columns=columns)["name"]
    with pytest.raises(InputError, match="text columns of X have other categories than in the fit"):
        ours.standard_errors(FRAME[:100], target[:100])


def test_an_unpenalised_text_column_is_certified_without_an_intercept():
    model = BlockLogisticRegression({"c": "city"}, alpha={"c": 0.0, "rest": 1e-2}, fit_intercept=False)
    assert model.fit(FRAME, LABELS).result_.certified


def frames(frame):
    """The same data in every kind of frame, with categories in unlike orders."""
    text = ["city", "job"]
    backwards = {name: pandas.CategoricalDtype([*sorted(set(frame[name].dropna()))[::-1], "unused"]) for name in text}
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    halves = pyarrow.concat_tables([table.slice(0, 20), table.slice(20)])
    encoded = [halves.column(name).dictionary_encode() if name in text else halves.column(name) for name in frame]
    plain = polars.from_arrow(table)
    return {
        "pandas object": frame.astype(dict.fromkeys(text, object)),
        "pandas string": frame.astype(dict.fromkeys(text, "string")),
        "pandas arrow": frame.astype(dict.fromkeys(text, pandas.ArrowDtype(pyarrow.string()))),
        "pandas category": frame.astype(backwards),
        "polars string": plain,
        "polars categorical": plain.with_columns(polars.col(text).cast(polars.Categorical)),
        "polars enum": plain.with_columns(polars.col(n).cast(polars.Enum(list(backwards[n].categories))) for n in text),
        "pyarrow string": table,
        "pyarrow dictionary": pyarrow.table(encoded, names=table.column_names),
    }


MODEL = BlockLogisticRegression({"text": text_columns}, alpha=1e-2).fit(FRAME, LABELS)


@pytest.mark.parametrize("kind", frames(FRAME))
def test_every_kind_of_frame_gives_the_same_model_and_predictions(kind):
    model = BlockLogisticRegression({"text": text_columns}, alpha=1e-2).fit(frames(FRAME)[kind], LABELS)
    assert (model.coef_ == MODEL.coef_).all()
    assert model.categories_ == MODEL.categories_
    new = make_frame(seed=7, rows=40)
    np.testing.assert_array_equal(model.predict_proba(frames(new)[kind]), MODEL.predict_proba(new))
    np.testing.assert_array_equal(MODEL.predict_proba(frames(new)[kind]), MODEL.predict_proba(new))


def test_attributes_are_plain_and_survive_files(tmp_path):
    assert MODEL.categories_["city"] == ["Bern", "Oslo", "Rome", None]
    assert all(type(of) is list for of in MODEL.categories_.values())
    file = tmp_path / "model.skops"
    skops.io.dump(MODEL, file)
    for copy in (
        pickle.loads(pickle.dumps(MODEL)),
        skops.io.load(file, trusted=skops.io.get_untrusted_types(file=file)),
    ):
        assert copy.categories_ == MODEL.categories_
        np.testing.assert_array_equal(copy.predict_proba(FRAME), MODEL.predict_proba(FRAME))


def test_a_column_of_numbers_as_categories():
    frame = FRAME.assign(city=pandas.Series(np.arange(ROWS) % 12).astype("category"))
    model = BlockRidge(alpha=1e-2).fit(frame, MARGINS)
    assert model.categories_["city"][:4] == ["0", "1", "10", "11"]
    as_floats = frame.assign(city=frame["city"].astype(float).astype("category"))
    as_text = frame.assign(city=frame["city"].astype(str))
    for other in (as_floats, as_text):
        np.testing.assert_array_equal(model.predict(other), model.predict(frame))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_numbers_beside_text(dtype):
    rng = np.random.default_rng(3)
    counts = scipy.sparse.random_array((ROWS, 8), density=0.2, rng=rng, format="csr").astype(dtype)
    frame = pandas.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_matrix(counts)).add_prefix("n")
    frame["city"] = FRAME["city"]
    by_hand = scipy.sparse.hstack([counts.astype(np.float64), encode(FRAME)[0][:, CITY]], format="csr")
    ours, other = (
        BlockLogisticRegression(alpha=1e-2, tol=1e-10, cheap=()).fit(data, LABELS) for data in (frame, by_hand)
    )
    assert ours.result_.certified
    np.testing.assert_allclose(ours.predict_proba(frame), other.predict_proba(by_hand), atol=2e-5)


def test_single_precision_is_used_and_left_where_it_does_not_suffice():
    single = FRAME.astype({"age": np.float32})
    rough = BlockLogisticRegression(alpha=1e-2, tol=1e-4).fit(single, LABELS)
    assert rough.coef_.dtype == np.float32
    fine = BlockLogisticRegression(alpha=1e-2, tol=1e-12).fit(single, LABELS)
    assert fine.coef_.dtype == np.float64
    assert fine.result_.certified


def test_frames_of_text_alone_and_columns_without_names():
    unnamed = FRAME[["city", "job"]].set_axis([0, 1], axis=1)
    model = BlockLogisticRegression([[1]], alpha=(1e-2, 1e-3)).fit(unnamed, LABELS)
    assert model.feature_names_out_[:5].tolist() == ["x0=Bern", "x0=Oslo", "x0=Rome", "x0 is missing", "x1=job 0"]
    assert model.predict(unnamed).shape == (ROWS,)


def test_names_of_coefficients_without_text():
    assert BlockRidge().fit(FRAME[["age", "old"]], MARGINS).feature_names_out_.tolist() == ["age", "old"]
    assert BlockRidge().fit(np.ones((3, 2)), [0.0, 1.0, 2.0]).feature_names_out_.tolist() == ["x0", "x1"]
    with pytest.raises(NotFittedError):
        _ = BlockRidge().feature_names_out_


@pytest.mark.parametrize(
    "selector", ["city", "c*", slice("city", "city"), [1], make_column_selector(pattern="city"), lambda X: ["city"]]
)
def test_selectors_see_the_columns_of_the_frame(selector):
    model = BlockRidge({"c": selector}, alpha=1e-2).fit(FRAME, MARGINS)
    assert model.blocks_["c"].tolist() == CITY
    assert len(model.blocks_["rest"]) == 27


def test_text_columns_finds_text_in_every_kind_of_frame():
    assert {tuple(text_columns(frame)) for frame in frames(FRAME).values()} == {(1, 3)}
    assert text_columns(np.ones((3, 2))) == []


@pytest.mark.parametrize("kind", ["pandas object", "polars string", "pyarrow string"])
@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_penalties_of_text_are_chosen_as_those_of_zeros_and_ones(scoring, kind):
    grid, options = {"b": [1e-1, 1e-3], "rest": [1e-2]}, {"cv": 3, "tol": 1e-9, "scoring": scoring}
    ours = BlockLogisticRegressionCV({"b": text_columns}, alphas=grid, **options).fit(frames(FRAME)[kind], LABELS)
    other = BlockLogisticRegressionCV({"b": TEXT}, alphas=grid, **options).fit(encode(FRAME)[0], LABELS)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], atol=1e-4)
    default = BlockLogisticRegressionCV({"b": text_columns}, alphas=1, cv=2).fit(FRAME, LABELS)
    assert default.alpha_["b"] == pytest.approx(0.2)


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_text_that_looks_like_numbers_is_named(make):
    frame = make({"size": [["1.5", "2.5", "1_000", None][row % 4] for row in range(ROWS)]})
    with pytest.warns(UserWarning, match="column 'size' has text that looks like numbers, such as '1_000', and gets"):
        BlockLogisticRegression(alpha=0.1).fit(frame, LABELS)


def test_categories_may_look_like_numbers():
    codes = pandas.Series([str(row % 3) for row in range(ROWS)], dtype="category")
    of_polars = polars.DataFrame({"code": polars.Series(codes.tolist(), dtype=polars.Categorical)})
    of_arrow = pyarrow.table({"code": pyarrow.array(codes.tolist()).dictionary_encode()})
    for frame in (pandas.DataFrame({"code": codes}), of_polars, of_arrow):  # a warning would fail
        BlockLogisticRegression(alpha=0.1).fit(frame, LABELS)


def test_a_rare_category_does_not_break_cross_validation():
    frame = FRAME.assign(job=["only once", *FRAME["job"][1:]])
    assert np.isfinite(cross_val_score(BlockLogisticRegression(alpha=1e-2), frame, LABELS, cv=3)).all()


def test_weights_and_warm_starts():
    weights = np.random.default_rng(0).random(ROWS)
    model = BlockLogisticRegression(alpha=1e-2, warm_start=True, tol=1e-9).fit(FRAME, LABELS, weights)
    other = BlockLogisticRegression(alpha=1e-2, tol=1e-9).fit(encode(FRAME)[0], LABELS, weights)
    assert abs(model.result_.fun - other.result_.fun) <= 2e-9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.fit(FRAME, LABELS, weights).n_iter_ <= 1


def test_reading_text_takes_little_more_memory_than_four_bytes_per_value():
    rng = np.random.default_rng(0)
    labels = pandas.Index([f"label {number}" for number in range(1000)])
    columns = {
        f"text{column}": pandas.Categorical.from_codes(rng.integers(0, 1000, 50_000), categories=labels)
        for column in range(20)
    }
    model, labels = BlockLogisticRegression(max_iter=1), rng.random(50_000) < 0.5
    frame = pandas.DataFrame(columns)
    tracemalloc.start()
    table, _, _ = model._check_data(frame, labels, None, None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert table.places.nbytes == 4 * 20 * 50_000
    assert peak <= 2.0 * table.places.nbytes

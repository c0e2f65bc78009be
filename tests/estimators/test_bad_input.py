"""Whatever is wrong is said in the words that scikit-learn's users know, or in ours."""

import numpy as np
import pandas
import pytest

import minmin
from estimators.cases import MODELS, case
from minmin.estimators import (
    BlockLogisticRegression,
    BlockLogisticRegressionCV,
    BlockPoissonRegressor,
    BlockRidge,
    BlockRidgeCV,
)

X, Y, _ = case("squared", n=30)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": -1.0}, "alpha of block 'all' = -1.0 must be finite and >= 0"),
        ({"alpha": np.nan}, "alpha of block 'all' = nan must be finite"),
        ({"alpha": np.inf}, "alpha of block 'all' = inf must be finite"),
        ({"alpha": "1"}, "alpha of block 'all' must be a number"),
        ({"alpha": None}, "alpha of block 'all' must be a number"),
        ({"alpha": (1.0, 2.0)}, "alpha has 2 entries for 1 blocks: 'all'"),
        ({"blocks": [[0], [1]], "alpha": (1.0, 2.0)}, "alpha has 2 entries for 3 blocks: 'block0', 'block1', 'rest'"),
        ({"blocks": {"a": [0]}, "alpha": {"a": 1.0}}, "alpha has nothing for block 'rest'"),
        ({"blocks": {"a": [0]}, "alpha": {"a": 1.0, "rest": 1.0, "b": 1.0}}, "alpha names 'b', which is not a block"),
        ({"blocks": {"a": [0, 1], "b": [1]}}, "blocks overlap"),
        ({"blocks": {"a": []}}, "block 'a' is empty"),
        ({"blocks": {"a": [17]}}, "there is no column 17"),
        ({"blocks": ["age"]}, "X has no column names"),
        ({"cheap": "few"}, "cheap names 'few', which is not a block"),
        ({"tol": 0.0}, "tol == 0.0, must be > 0"),
        ({"tol": -1.0}, "tol == -1.0, must be > 0"),
        ({"max_seconds": 0.0}, "max_seconds == 0.0, must be > 0"),
    ],
)
def test_parameters(options, words):
    with pytest.raises(ValueError, match=words):
        BlockRidge(**options).fit(X, Y)


def test_types_of_parameters():
    with pytest.raises(TypeError, match="tol must be an instance of float"):
        BlockRidge(tol="1e-6").fit(X, Y)


def test_unknown_columns_of_a_frame():
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    with pytest.raises(minmin.InputError, match="no column is called, or matches, 'g_\\*'"):
        BlockRidge({"g": "g_*"}).fit(frame, Y)


@pytest.mark.parametrize("family", MODELS)
def test_data_in_scikit_learns_words(family):
    sample = case(family, n=30)
    model = MODELS[family]()
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(np.where(sample.X > 1, np.nan, sample.X), sample.y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(sample.X, sample.y[:-1])
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        model.fit(sample.X, sample.y, sample_weight=-sample.weights)
    model.fit(sample.X, sample.y)
    with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 6 features"):
        model.predict(sample.X[:, :5])


def test_one_class_only():
    with pytest.raises(ValueError, match="at least 2 classes in the data, but the data contains only one class: "):
        BlockLogisticRegression().fit(X, np.zeros(30, dtype=int))
    y = np.arange(30) % 2
    with pytest.raises(ValueError, match="only one class"):
        BlockLogisticRegression().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match="only one class"):
        BlockLogisticRegression(class_weight={0: 0.0, 1: 1.0}).fit(X, y)


@pytest.mark.parametrize(("label", "shown"), [(1.0, r"1\.0;"), (3, "3;"), (np.str_("yes"), "'yes';")])
def test_one_class_is_shown_as_python_writes_it(label, shown):
    as_objects = [np.full(30, label, dtype=object)] if isinstance(label, str) else []
    for labels in (np.full(30, label), [label] * 30, *as_objects):
        with pytest.raises(ValueError, match=f"only one class: {shown}"):
            BlockLogisticRegression().fit(X, labels)


def test_blocks_are_named_as_python_writes_them():
    with pytest.raises(minmin.InputError, match=r"block 'words': \[1\.5, 2\.5\] is not a column selector"):
        BlockRidge(blocks={np.str_("words"): list(np.array([1.5, 2.5]))}).fit(X, X[:, 0])


def test_continuous_labels():
    with pytest.raises(ValueError, match=r"Unknown label type: continuous; .* for a regression use BlockRidge"):
        BlockLogisticRegression().fit(X, Y)


@pytest.mark.parametrize("model", [BlockRidge, BlockPoissonRegressor])
@pytest.mark.parametrize("kind", [list, np.array, lambda labels: np.array(labels, dtype=object), pandas.Series])
def test_text_for_a_regression(model, kind):
    with pytest.raises(minmin.InputError, match=r"y holds text, such as 'yes', .* use BlockLogisticRegression"):
        model().fit(X, kind(["yes", "no"] * 15))


def test_negative_counts():
    with pytest.raises(ValueError, match="out of the valid range"):
        BlockPoissonRegressor().fit(X, Y - 10.0)


def test_no_minimum():
    labels = (X[:, 0] > 0).astype(int)
    with pytest.raises(minmin.NoMinimumError, match="no minimum: columns without a penalty separate the classes"):
        BlockLogisticRegression({"free": [0]}, alpha={"free": 0.0, "rest": 1.0}).fit(X, labels)
    with pytest.raises(minmin.NoMinimumError, match=r"no minimum: .*or the intercept alone, select samples"):
        BlockPoissonRegressor(alpha=0.1).fit(X, np.zeros(30))


@pytest.mark.parametrize(
    ("alphas", "words"),
    [
        (0, "at least one value per block"),
        ([], "alphas is empty"),
        ({"a": [1.0]}, "alphas has nothing for block 'rest'"),
        ({"a": [], "rest": [1.0]}, "alphas has no value for block 'a'"),
        ([(1.0, -1.0)], "alpha of block 'rest' = -1.0 must be finite and >= 0"),
        ([(1.0, 2.0, 3.0)], "alpha has 3 entries for 2 blocks"),
        ("some", "must be a number"),
        (2.5, "alphas = 2.5 must be a whole number"),
    ],
)
def test_grids(alphas, words):
    with pytest.raises(minmin.InputError, match=words):
        BlockRidgeCV({"a": [0]}, alphas=alphas).fit(X, Y)


def test_a_split_without_some_class():
    labels = np.arange(30) // 15
    splits = [(np.arange(15), np.arange(15, 30))]
    with pytest.raises(minmin.InputError, match="the training part of split 0: class 1 has no sample"):
        BlockLogisticRegressionCV(cv=splits).fit(X, labels)

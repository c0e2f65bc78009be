"""What is wrong in a frame is said with the name of the column, its row, and what to do."""

import datetime

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from minmin import InputError
from minmin.estimators import BlockRidge

Y = [0.0, 1.0, 2.0, 4.0]
FRAME = pandas.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "city": ["Oslo", "Rome", "Oslo", "Bern"]})
DATES = [datetime.date(2024, 1, day) for day in (1, 2, 3, 4)]
MODEL = BlockRidge(unseen="error", missing="error").fit(FRAME, Y)


@pytest.mark.parametrize(
    "frame",
    [
        FRAME.assign(day=pandas.to_datetime(DATES)),
        FRAME.assign(day=DATES),
        FRAME[["age"]].assign(day=pandas.to_datetime(DATES)),
        FRAME.assign(day=pandas.to_timedelta([1, 2, 3, 4])),
        FRAME.assign(day=[1j, 2, 3, 4]),
        FRAME.assign(day=pandas.Series([1, "a", 2.5, None], dtype=object)),
        polars.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "day": DATES}),
        polars.DataFrame({"day": [[1], [2], [3], [4]]}),
        pyarrow.table({"age": [1.0, 2.0, 3.0, 4.0], "day": DATES}),
    ],
)
def test_types_that_are_neither_numbers_nor_text(frame):
    with pytest.raises(
        InputError, match=r"column 'day' holds .*; give numbers, text or categories: for example a date"
    ):
        BlockRidge().fit(frame, Y)


@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
@pytest.mark.parametrize("value", [None, True])
def test_numbers_that_are_missing(kind, value):
    columns = {"city": FRAME["city"].tolist(), "age": [value, value, None, value]}
    with pytest.raises(InputError, match=rf"column 'age' has a missing value \(NaN\) in row {2 if value else 0}"):
        BlockRidge().fit(kind(columns), Y)


def test_infinite_and_sparse_numbers():
    with pytest.raises(InputError, match=r"column 'age' has inf in row 1 \(from 0\); replace"):
        BlockRidge().fit(FRAME.assign(age=[1.0, np.inf, 2.0, np.nan]), Y)
    sparse = FRAME.assign(age=pandas.arrays.SparseArray([0.0, 0.0, np.nan, 1.0], fill_value=0.0))
    with pytest.raises(InputError, match="column 'age' has a missing value"):
        BlockRidge().fit(sparse, Y)


@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_missing_text_is_an_error_on_request(kind):
    frame = kind({"age": [1.0, 2.0], "city": ["Oslo", None]})
    with pytest.raises(InputError, match=r"column 'city' has a missing value in row 1 .*missing='category'"):
        BlockRidge(missing="error").fit(frame, Y[:2])
    with pytest.raises(InputError, match="column 'city' has a missing value in row 1"):
        MODEL.predict(frame)


def test_unseen_categories_are_an_error_on_request():
    with pytest.raises(InputError, match=r"column 'city' has 'Paris' in row 2 \(from 0\), .*; unseen='zero' ignores"):
        MODEL.predict(FRAME.assign(city=["Oslo", "Rome", "Paris", "Bern"]))
    with pytest.raises(InputError, match=r"column 'city' has a missing value in row 3 .*did not occur in fit"):
        BlockRidge(unseen="error").fit(FRAME, Y).predict(FRAME.assign(city=["Oslo", "Rome", "Oslo", None]))
    with_more = pandas.CategoricalDtype(["Paris", "Rome", "Oslo", "Bern"])
    np.testing.assert_array_equal(MODEL.predict(FRAME.astype({"city": with_more})), MODEL.predict(FRAME))


def test_unseen_and_missing_values_count_as_zero_by_default():
    model = BlockRidge().fit(FRAME, Y)
    without = model.intercept_ + model.coef_[0] * FRAME["age"]
    for city in ("Paris", None, np.nan):
        np.testing.assert_allclose(model.predict(FRAME.assign(city=city)), without)
    empty = polars.DataFrame({"age": FRAME["age"].tolist(), "city": [None] * 4})
    np.testing.assert_allclose(model.predict(empty), without)


def test_columns_that_change_their_type():
    with pytest.raises(InputError, match=r"column 'city' holds numbers \(int64\), but had text in fit; give text"):
        MODEL.predict(FRAME.assign(city=[1, 2, 3, 4]))
    with pytest.raises(InputError, match=r"column 'age' holds text \(\w+\), but had numbers in fit"):
        MODEL.predict(FRAME.assign(age=list("abcd")))
    with pytest.raises(InputError, match="column 'age' holds text, but the model was fitted to numbers alone"):
        BlockRidge().fit(FRAME[["age"]], Y).predict(FRAME[["city"]].set_axis(["age"], axis=1))


def test_other_data_than_in_the_fit():
    with pytest.raises(InputError, match="fitted to a frame with text columns such as 'city'; give a pandas or polars"):
        MODEL.predict(np.ones((4, 2)))
    with pytest.raises(ValueError, match="feature names should match"):
        MODEL.predict(FRAME.rename(columns={"city": "town"}))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        BlockRidge().fit(FRAME, Y[:3])
    with pytest.raises(ValueError, match="0 sample"):
        BlockRidge().fit(FRAME[:0], [])


def test_parameters_and_names():
    with pytest.raises(InputError, match="missing = 'zero'; give 'category' or 'error'"):
        BlockRidge(missing="zero").fit(FRAME, Y)
    with pytest.raises(InputError, match="unseen = 'ignore'; give 'zero' or 'error'"):
        BlockRidge(unseen="ignore").fit(np.ones((4, 1)), Y)
    with pytest.raises(InputError, match="two columns of X are called 'city'"):
        BlockRidge().fit(FRAME[["city", "age", "city"]], Y)


def test_a_failed_fit_leaves_no_model():
    model = BlockRidge()
    with pytest.raises(InputError):
        model.fit(FRAME.assign(age=np.nan), Y)
    assert not hasattr(model, "coef_")


def test_plain_data_after_text():
    model = BlockRidge().fit(FRAME, Y)
    model.fit(np.array([[0.0], [1.0], [2.0], [3.0]]), Y)
    assert model.categories_ == {}
    assert model.coef_.shape == (1,)

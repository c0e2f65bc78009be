"""Selectors of columns: every kind of them, what is left over, and what is refused."""

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_selector

from minmin import InputError
from minmin.estimators.blocks import resolve_blocks
from minmin.estimators.penalties import resolve_alphas

NAMES = ["age", "income", "cat_red", "cat_blue", "city"]
PANDAS = pandas.DataFrame({name: [1.0, 2.0] for name in NAMES[:4]} | {"city": [1, 2]})
POLARS = polars.from_pandas(PANDAS)


def columns(selector, X=PANDAS, names=NAMES):
    return resolve_blocks({"b": selector}, X, len(NAMES), names)["b"].tolist()


SELECTORS = {
    "slice": slice(2, 4),
    "slice from the end": slice(-3, -1),
    "slice of names": slice("cat_red", "cat_blue"),
    "slice backwards": slice(3, 1, -1),
    "numbers": [2, 3],
    "array of numbers": np.array([3, 2]),
    "numbers from the end": [-3, -2],
    "range": range(2, 4),
    "mask": [False, False, True, True, False],
    "array mask": np.array([0, 0, 1, 1, 0], dtype=bool),
    "pattern": "cat_*",
    "names": ["cat_red", "cat_blue"],
    "patterns that overlap": ["cat_r*", "cat_*"],
    "array of names": np.array(["cat_blue", "cat_red"]),
    "make_column_selector": make_column_selector("cat_"),
    "callable": lambda X: [name for name in X.columns if name.startswith("cat")],
    "callable that slices": lambda X: slice(2, 4),
}


@pytest.mark.parametrize("kind", SELECTORS)
def test_every_selector_finds_its_columns(kind):
    assert columns(SELECTORS[kind]) == [2, 3]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint64])
def test_numbers_of_any_integer_type(dtype):
    blocks = resolve_blocks([np.array([0, 100], dtype=dtype)], None, 300, None)
    assert blocks["block0"].tolist() == [0, 100]
    assert len(blocks["rest"]) == 298


def test_selectors_of_dtypes_and_of_polars_frames():
    assert columns(make_column_selector(dtype_include="int64")) == [4]
    assert columns(lambda X: [name for name in X.columns if "_" in name], POLARS) == [2, 3]


def test_a_name_is_not_a_pattern_where_it_is_a_column():
    assert resolve_blocks(["a*"], None, 2, ["a*", "ab"])["block0"].tolist() == [0]
    assert columns(1) == [1]
    assert columns("age") == [0]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_blocks_and_the_rest_are_a_partition(owners):
    owners = np.array(owners)
    given_ones = {f"b{k}": np.flatnonzero(owners == k) for k in (1, 2, 3) if (owners == k).any()}
    if not given_ones:
        return
    blocks = resolve_blocks(given_ones, None, len(owners), None)
    assert np.sort(np.concatenate(list(blocks.values()))).tolist() == list(range(len(owners)))
    assert ("rest" in blocks) == (owners == 0).any()
    for name, chosen in given_ones.items():
        assert blocks[name].tolist() == chosen.tolist()


def test_names_of_blocks():
    assert list(resolve_blocks(None, None, 3, None)) == ["all"]
    assert list(resolve_blocks([[0], [1]], None, 3, None)) == ["block0", "block1", "rest"]
    assert list(resolve_blocks({"x": [1]}, None, 3, None)) == ["x", "rest"]


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ({"a": [0, 1], "b": [1, 2]}, "blocks overlap: column 1 is in block 'a' and in block 'b'"),
        ({"a": []}, "block 'a' is empty"),
        ({"a": slice(3, 3)}, "block 'a' is empty"),
        ({"a": [False] * 5}, "block 'a' is empty"),
        ([], "blocks is empty"),
        ({"a": [5]}, "there is no column 5; X has 5 features"),
        ({"a": [-6]}, "there is no column -6"),
        ({"a": [True, False]}, "a mask has 2 entries, but X has 5 features"),
        ({"a": [[0, 1]]}, "one-dimensional"),
        ({"a": [0.5]}, "is not a column selector"),
        ({"a": None}, "is not a column selector"),
        ({"a": "cat_*"}, "X has no column names"),
        ({"a": slice(0.5, 2)}, "is not a slice of columns"),
        ({"rest": [0]}, "4 columns are in no block"),
        ("cat_*", "blocks must be a dict or a list"),
        (slice(0, 2), "blocks must be a dict or a list"),
    ],
)
def test_what_is_no_partition_is_refused(blocks, words):
    with pytest.raises(InputError, match=words):
        resolve_blocks(blocks, None, 5, None)


def test_unknown_names_are_met_with_near_ones():
    with pytest.raises(InputError, match=r"no column is called, or matches, 'agee'.*did you mean 'age'"):
        columns("agee")
    with pytest.raises(InputError, match="column 'cat_red' is in block 'a' and in block 'b'"):
        resolve_blocks({"a": "cat_*", "b": "cat_red"}, PANDAS, 5, NAMES)


def test_penalties_of_a_series_go_by_its_labels():
    names = ["words", "rest"]
    assert resolve_alphas(pandas.Series({"rest": 5.0, "words": 1.0}), names) == {"words": 1.0, "rest": 5.0}
    assert resolve_alphas(pandas.Series([1.0, 5.0]), names) == {"words": 1.0, "rest": 5.0}
    with pytest.raises(InputError, match="nothing for block 'rest'"):
        resolve_alphas(pandas.Series({"words": 1.0}), names)

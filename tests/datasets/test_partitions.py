"""Folders of partitions: what was written is what is opened, whole or not at all, and damage is named."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse

from minmin import InputError
from minmin.datasets import open_partitions, write_partitions

ROWS, COLUMNS = 20, 5


def make_matrix(sparse=True, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((ROWS, COLUMNS), density=0.5, rng=rng, format="csr").astype(dtype)
    return X if sparse else X.toarray()


def chunks(X, *columns, at=(8,)):
    for rows in np.split(np.arange(ROWS), at):
        yield (X[rows], *(None if column is None else column[rows] for column in columns))


@pytest.fixture
def folder(tmp_path):
    """Two partitions, of 8 and 12 rows."""
    write_partitions(tmp_path / "rows", chunks(make_matrix(), np.arange(ROWS), np.arange(ROWS) / 2.0))
    return tmp_path / "rows"


def replace_array(folder, name, change):
    array = np.load(folder / name)
    change(array)
    np.save(folder / name, array)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_what_was_written_is_opened(tmp_path, sparse, dtype):
    X, labels = make_matrix(sparse, dtype), np.where(np.arange(ROWS) % 3, "yes", "no")
    offset = np.linspace(0, 1, ROWS)
    write_partitions(tmp_path / "rows", chunks(X, labels, None, offset), names=list("abcde"))
    parts = open_partitions(tmp_path / "rows")
    assert parts.X.shape == (ROWS, COLUMNS)
    assert parts.X.names == list("abcde")
    assert parts.X.dtype == (np.float32 if dtype == np.float32 else np.float64)
    stacked = np.vstack([part.toarray() if sparse else part for part in parts.X.partitions])
    np.testing.assert_array_equal(stacked, X.toarray() if sparse else X)
    np.testing.assert_array_equal(parts.y, labels)
    np.testing.assert_array_equal(parts.offset, offset)
    assert parts.weight is None


def test_matrices_stay_on_disk(folder):
    parts = open_partitions(folder)
    for partition in parts.X.partitions:
        assert isinstance(partition.data.base, np.memmap)
        assert not partition.data.flags.writeable


def test_columns_are_chosen_without_a_copy(folder):
    X = open_partitions(folder).X
    some = X[:, [3, 1]][:, 1:]
    assert some.columns.tolist() == [1]
    assert some.partitions[0] is X.partitions[0]
    with pytest.raises(InputError, match="only columns"):
        X[3]


def test_a_chunk_that_fails_leaves_nothing(tmp_path):
    def broken():
        yield from chunks(make_matrix(), np.arange(ROWS))
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write_partitions(tmp_path / "rows", broken())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_appears_only_when_it_is_complete(tmp_path):
    def watch():
        for chunk in chunks(make_matrix(), np.arange(ROWS)):
            assert not (tmp_path / "rows").exists()
            yield chunk

    write_partitions(tmp_path / "rows", watch())
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


def test_an_existing_folder_is_not_replaced(folder):
    with pytest.raises(InputError, match="exists; give the name of a new folder"):
        write_partitions(folder, chunks(make_matrix(), np.arange(ROWS)))
    assert open_partitions(folder).X.shape == (ROWS, COLUMNS)


def with_nan(X):
    X.data[-1] = np.nan
    return X


def with_index(X, index):
    X.indices[4] = index
    return X


def bad_chunks():
    X, y = make_matrix(), np.arange(ROWS)
    masked = np.ma.masked_less(y, 2)
    return {
        "no chunks": ([], "there are no chunks"),
        "not a tuple": ([X], "chunk 0 is not a tuple"),
        "unequal columns": ([(X, y), (X[:, :3], y)], "chunk 1 has 3 columns, and the chunks before have 5"),
        "unequal dtypes": ([(X, y), (X.astype(np.float32), y)], "chunk 1: dtype is float32, but float64"),
        "unequal storage": ([(X, y), (X.toarray(), y)], "chunk 1: storage is dense, but csr"),
        "a missing weight": ([(X, y, 1.0 + y), (X, y)], "chunk 1: weight is False, but True"),
        "NaN": ([(X, y), (with_nan(make_matrix()), y)], r"chunk 1, row 19: column \d is nan"),
        "infinite, dense": ([(np.diag([1.0, np.inf]), y[:2])], "chunk 0, row 1: column 1 is inf"),
        "NaN in y": ([(X, np.where(y == 4, np.nan, y))], "chunk 0, row 4: y is nan"),
        "a negative weight": ([(X, y, 2.0 - y)], "chunk 0, row 3: weight is -1"),
        "rows of y": ([(X, y[:7])], r"chunk 0: y has shape \(7,\); it must be \(20,\)"),
        "a column out of range": ([(with_index(make_matrix(), 5), y)], "chunk 0: X is not a valid csr matrix: .* < 5"),
        "a row out of range": ([(with_index(make_matrix().tocsc(), -1), y)], "chunk 0: X is not a valid csc matrix"),
        "masked y": ([(X, masked)], "chunk 0: y is a masked array with masked entries; fill them"),
        "masked weight": ([(X, y, masked)], "chunk 0: weight is a masked array"),
        "text in X": ([(np.array([["a"]]), y[:1])], "chunk 0: X has shape .* and dtype <U1"),
    }


@pytest.mark.parametrize("kind", bad_chunks())
def test_bad_chunks_are_named(tmp_path, kind):
    given, message = bad_chunks()[kind]
    with pytest.raises(InputError, match=message):
        write_partitions(tmp_path / "rows", given)
    assert list(tmp_path.iterdir()) == []


def test_text_and_numbers_in_one_target_are_refused(tmp_path):
    X = make_matrix()
    pieces = [(X[:8], np.arange(8)), (X[8:16], np.array(["yes", "no"] * 4))]
    with pytest.raises(InputError, match="chunk 1: y holds text, but numbers in the chunks before"):
        write_partitions(tmp_path / "rows", pieces)


@pytest.mark.parametrize("names", [["a"] * 5, ["a", "b"]])
def test_bad_names_are_refused(tmp_path, names):
    with pytest.raises(InputError, match=r"two columns are called 'a'|2 names, but X has 5"):
        write_partitions(tmp_path / "rows", chunks(make_matrix(), np.arange(ROWS)), names=names)


def truncate(folder):
    file = folder / "00001-data.npy"
    file.write_bytes(file.read_bytes()[:-8])


def describe(change):
    def rewrite(folder):
        file = folder / "partitions.json"
        head = json.loads(file.read_text())
        change(head)
        file.write_text(json.dumps(head))

    return rewrite


DAMAGE = {
    "truncated": (truncate, "partition 1: 00001-data.npy is missing, truncated or damaged"),
    "missing": (lambda f: (f / "00000-y.npy").unlink(), "partition 0: 00000-y.npy is missing"),
    "NaN": (
        lambda f: replace_array(f, "00001-data.npy", lambda a: a.__setitem__(0, np.nan)),
        r"partition 1, row \d+: column \d is nan",
    ),
    "a column too far": (
        lambda f: replace_array(f, "00001-indices.npy", lambda a: a.__setitem__(-1, 9)),
        "partition 1, row 11: column 9 of 5",
    ),
    "unsorted": (
        lambda f: replace_array(f, "00000-indices.npy", lambda a: a.__setitem__(slice(None), a[::-1].copy())),
        r"partition 0, row \d+: column numbers must ascend",
    ),
    "pointers": (
        lambda f: replace_array(f, "00000-indptr.npy", lambda a: a.__setitem__(1, 1000)),
        "partition 0: indptr must ascend",
    ),
    "dtypes": (
        lambda f: np.save(f / "00001-data.npy", np.load(f / "00001-data.npy").astype(np.float32)),
        "partition 1: data is float32; it must be float64",
    ),
    "objects": (
        lambda f: np.save(f / "00000-y.npy", np.array([print] * 8), allow_pickle=True),
        "partition 0: 00000-y.npy is missing, truncated or damaged: Object arrays cannot be loaded",
    ),
    "unequal columns": (describe(lambda head: head.update(columns=2)), "partition 0, row .* of 2 columns"),
    "no description": (lambda f: (f / "partitions.json").unlink(), "not a finished folder of partitions"),
    "half a description": (lambda f: (f / "partitions.json").write_text('{"form'), "is damaged"),
    "another description": (lambda f: (f / "partitions.json").write_text("[]"), "does not describe partitions"),
    "a lost key": (describe(lambda head: head.pop("dtype")), "it lacks 'dtype'"),
    "version": (describe(lambda head: head.update(version=9)), "version 9 of the format"),
    "a storage": (describe(lambda head: head.update(storage="csc")), "damaged: storage is 'csc' and dtype 'float64'"),
    "columns as text": (describe(lambda head: head.update(columns="5")), "damaged: columns is '5'"),
    "too many columns": (describe(lambda head: head.update(columns=10**30)), "damaged: columns is 1000"),
    "names": (describe(lambda head: head.update(names=["a"])), "damaged: columns is 5, and names are not as many"),
    "partitions as text": (describe(lambda head: head.update(partitions="abc")), "damaged: partitions is not a list"),
    "a partition": (describe(lambda head: head.update(partitions=[{}])), "damaged: some partition lacks the number"),
    "a column": (describe(lambda head: head.update(y=5)), "damaged: 'y' is neither true nor false"),
    "deep": (lambda f: (f / "partitions.json").write_text("[" * 10**5), "is damaged"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named_when_a_folder_is_opened(folder, kind):
    damage, message = DAMAGE[kind]
    damage(folder)
    with pytest.raises(InputError, match=message):
        open_partitions(folder)

"""minmin partition: rows on disk give the fits and the predictions of the files that they are from."""

import json
import re

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import minmin
from minmin.cli import chunks
from minmin.datasets import libsvm

BLOCKS = ["--block", "words=word_*:1e-2", "--block", "numeric=age,price:1e-4"]


@pytest.fixture
def small_chunks(monkeypatch):
    """Several partitions from small files."""
    monkeypatch.setattr(chunks, "_NUMBERS_PER_CHUNK", 500)
    monkeypatch.setattr(chunks, "_CSV_BYTES", 4000)
    monkeypatch.setattr(libsvm, "_NUMBERS_PER_CHUNK", 5000)
    monkeypatch.setattr(libsvm, "_CHUNK", 20_000)


def drop_time(text):
    said = json.loads(text)
    return {key: value for key, value in said.items() if key not in ("seconds", "file", "saved")}


def assert_same(here, there):
    assert here["calls"] == there["calls"]
    assert here["fun"] == pytest.approx(there["fun"], rel=1e-10)
    assert here["gap_bound"] == pytest.approx(there["gap_bound"], rel=1e-3)
    assert here["rows"] == there["rows"]


def test_a_csv_file_gives_the_same_model_from_disk(call, csv, tmp_path, small_chunks):
    folder, models = tmp_path / "clicks", [tmp_path / "file.skops", tmp_path / "folder.skops"]
    code, out, _ = call("partition", csv, "--target", "clicked", "--out", folder)
    assert code == 0
    assert re.fullmatch(r"200 rows and 10 columns in .*clicks: \d partitions\n", out)
    assert len(minmin.datasets.open_partitions(folder).X.partitions) > 2
    fits = [call("fit", csv, "--target", "clicked", *BLOCKS, "--json", "--save", models[0])]
    fits.append(call("fit", folder, *BLOCKS, "--json", "--save", models[1]))
    assert [code for code, _, _ in fits] == [0, 0]
    assert_same(*(drop_time(out) for _, out, _ in fits))
    from_file = call("predict", models[0], csv, "--proba")
    assert from_file[0] == 0
    for data in (csv, folder):
        code, out, err = call("predict", models[1], data, "--proba")
        assert (code, err) == (0, "")
        found, wanted = (np.loadtxt(text.splitlines()[1:], delimiter=",") for text in (out, from_file[1]))
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_a_libsvm_file_gives_the_same_model_from_disk(call, svm, tmp_path, small_chunks):
    folder, model = tmp_path / "a1a", tmp_path / "model.skops"
    assert call("partition", svm, "--out", folder, "--quiet") == (0, "", "")
    parts = minmin.datasets.open_partitions(folder)
    assert parts.X.shape == (1605, 119)
    assert parts.first_index == 1
    options = ["--block", "first=1-100:1e-2", "--alpha", "1e-4", "--json"]
    code, out, _ = call("fit", folder, *options, "--save", model)
    assert code == 0
    assert_same(drop_time(out), drop_time(call("fit", svm, *options)[1]))
    assert call("predict", model, folder)[1] == call("predict", model, svm)[1]


def test_several_files_and_formats_of_one_kind_are_joined(call, table, csv, tmp_path, small_chunks):
    names = table.column_names
    pyarrow.parquet.write_table(table.select(names[::-1]), tmp_path / "more.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "more.arrow")
    folder = tmp_path / "both"
    files = [csv, tmp_path / "more.parquet", tmp_path / "more.arrow"]
    assert call("partition", *files, "--target", "clicked", "--ignore", "word_[1-7],price", "--out", folder)[0] == 0
    X = minmin.datasets.open_partitions(folder).X
    assert X.names == ["word_0", "age"]
    rows = np.vstack([part if isinstance(part, np.ndarray) else part.toarray() for part in X.partitions])
    np.testing.assert_allclose(rows, np.tile(rows[:200], (3, 1)))


def test_columns_that_a_libsvm_folder_lacks_are_zero(call, tmp_path):
    (tmp_path / "train.svm").write_text("1 1:1 3:2\n-1 2:1\n1 1:2\n-1 2:2 3:1\n")
    (tmp_path / "new.svm").write_text("0 1:1\n0 2:1\n")
    model, folder = tmp_path / "model.skops", tmp_path / "new"
    assert call("fit", tmp_path / "train.svm", "--save", model)[0] == 0
    assert call("partition", tmp_path / "new.svm", "--out", folder)[0] == 0
    assert call("predict", model, folder) == call("predict", model, tmp_path / "new.svm")


def test_weights_of_a_folder_are_used(call, tmp_path):
    rng = np.random.default_rng(0)
    X, y, weight = rng.standard_normal((50, 3)), rng.random(50) < 0.5, rng.random(50)
    minmin.datasets.write_partitions(tmp_path / "rows", [(X, y, weight)])
    code, out, _ = call("fit", tmp_path / "rows", "--alpha", 0.1, "--json")
    expected = minmin.estimators.BlockLogisticRegression(alpha=0.1).fit(X, y, weight)
    assert code == 0
    assert json.loads(out)["fun"] == pytest.approx(expected.result_.fun, rel=1e-10)
    assert call("solve", tmp_path / "rows", "--y-columns", "3", "--quiet")[0] == 0


def test_text_labels_and_decimal_commas_are_read(call, tmp_path, small_chunks):
    rows = "".join(f"{'yes' if i % 3 else 'no'};{i},5;{i % 7}\n" for i in range(300))
    (tmp_path / "labels.csv").write_text("said;number;rest\n" + rows)
    folder, model = tmp_path / "labels", tmp_path / "model.skops"
    assert call("partition", tmp_path / "labels.csv", "--target", "said", "--out", folder)[0] == 0
    parts = minmin.datasets.open_partitions(folder)
    assert parts.y[:3].tolist() == ["no", "yes", "yes"]
    numbers = np.concatenate([part[:, 0] for part in parts.X.partitions])
    np.testing.assert_array_equal(numbers, np.arange(300) + 0.5)
    assert call("fit", folder, "--save", model)[0] == 0
    assert call("predict", model, folder)[1] == call("predict", model, tmp_path / "labels.csv", "--quiet")[1]


@pytest.mark.parametrize("start", ["", "sep=,\n"])
def test_a_slip_in_later_rows_is_named(call, tmp_path, small_chunks, start):
    (tmp_path / "rows.csv").write_text(start + "a,t\n" + "1.5,0\n" * 2000 + "1_000,1\n" + "2.5,1\n" * 10)
    code, _, err = call("partition", tmp_path / "rows.csv", "--target", "t", "--out", tmp_path / "rows")
    assert code == 2
    assert "rows.csv: column 'a' has '1_000' in row 2001 below the header, unlike those above; correct it" in err


WRONG = [
    (["partition", "{csv}", "--out", "{new}"], "name the column to predict with --target"),
    (["partition", "{csv}", "{svm}", "--out", "{new}"], "give files of one kind"),
    (["partition", "{svm}", "--target", "y", "--out", "{new}"], "leave --target out"),
    (["partition", "{svm}", "--ignore", "y", "--out", "{new}"], "--ignore is for CSV and Parquet"),
    (["partition", "{csv}", "--target", "clicked", "--ignore", "*", "--out", "{new}"], "no column of .* is left"),
    (["partition", "{csv}", "{other}", "--target", "clicked", "--out", "{new}"], "do not have the same columns"),
    (["partition", "{csv}", "--target", "clicked", "--out", "{csv}"], "exists"),
    (["partition", "{new}", "--out", "{new}"], "cannot read"),
    (
        ["partition", "{gap}", "--target", "clicked", "--out", "{new}"],
        "column 'age' of .* has no value in row 150 below",
    ),
    (["fit", "{folder}", "--target", "clicked"], "leave it out"),
    (["fit", "{folder}", "--cv", "5"], "need all rows in memory"),
    (["fit", "{folder}", "--weight", "age"], "is a folder of partitions; --weight is for CSV and Parquet"),
    (["partition", "{text}", "--target", "clicked", "--out", "{new}"], "'word' .* not a number; .* --ignore 'word'"),
    (["partition", "{empty}", "--target", "clicked", "--out", "{new}"], "has no rows"),
    (["federated", "simulate", "{folder}"], "give a file, not a folder of partitions"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_input_is_explained_and_leaves_nothing(call, csv, svm, table, tmp_path, small_chunks, arguments, message):
    pyarrow.csv.write_csv(table.drop_columns(["age"]), tmp_path / "other.csv")
    age = [None if row == 149 else value for row, value in enumerate(table["age"].to_pylist())]
    gap = table.set_column(table.column_names.index("age"), "age", pyarrow.array(age))
    pyarrow.csv.write_csv(gap, tmp_path / "gap.csv")
    (tmp_path / "text.csv").write_text("clicked,word\nyes,ape\nno,bee\n")
    (tmp_path / "empty.csv").write_text("clicked,word\n")
    folder = tmp_path / "rows"
    minmin.datasets.write_partitions(folder, [(np.eye(4), np.array([1, -1, 1, -1]))])
    names = {"csv": csv, "svm": svm, "new": tmp_path / "new", "folder": folder}
    names |= {name: tmp_path / f"{name}.csv" for name in ("other", "gap", "text", "empty")}
    before = sorted(tmp_path.iterdir())
    code, _, err = call(*(argument.format(**names) for argument in arguments))
    assert code == 2
    assert re.search(message, err)
    assert sorted(tmp_path.iterdir()) == before

"""minmin fit and minmin predict: what they say, what they keep, and that a model's file runs no code."""

import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pandas
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
import skops.io
from sklearn.compose import make_column_selector
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import minmin
from minmin import estimators
from minmin.cli import saved
from minmin.estimators import BlockLogisticRegression, text_columns

WORDS = [f"word_{i}" for i in range(8)]
BLOCKS = ["--block", "words=word_*:1e-2", "--block", "numeric=age,price:1e-4"]


def numbers(table, names):
    return np.column_stack([table[name].to_numpy() for name in names]).astype(float)


@pytest.fixture
def model(call, csv, tmp_path):
    """A model of the small table, as a file."""
    path = tmp_path / "model.skops"
    assert call("fit", csv, "--target", "clicked", *BLOCKS, "--save", path)[0] == 0
    return path


def predictions(text):
    """A CSV text as columns of numbers by name."""
    table = pyarrow.csv.read_csv(io.BytesIO(text.encode()))
    return {name: table[name].to_numpy() for name in table.column_names}


def test_fit_is_what_the_estimator_gives(call, csv, table):
    code, out, _ = call("fit", csv, "--target", "clicked", *BLOCKS, "--tol", 1e-10, "--json")
    said = json.loads(out)
    expected = estimators.BlockLogisticRegression([slice(0, 8), slice(8, 10)], alpha=(1e-2, 1e-4), tol=1e-10)
    expected.fit(numbers(table, [*WORDS, "age", "price"]), table["clicked"].to_numpy())
    assert code == 0
    assert said["certified"]
    assert said["gap_bound"] <= 1e-10
    assert said["fun"] == pytest.approx(expected.result_.fun, abs=1e-9)
    assert said["intercept"] == pytest.approx(expected.intercept_.tolist(), abs=1e-3)
    assert [(block["name"], block["columns"], block["alpha"]) for block in said["blocks"]] == [
        ("words", 8, 1e-2),
        ("numeric", 2, 1e-4),
    ]
    norms = [np.linalg.norm(expected.coef_[0, :8]), np.linalg.norm(expected.coef_[0, 8:])]
    assert [block["norm"] for block in said["blocks"]] == pytest.approx(norms, rel=1e-3)


def test_fit_shows_a_table_that_a_person_can_read(call, csv, tmp_path):
    path = tmp_path / "model.skops"
    block = "numeric=age,price:1e-4"
    code, out, err = call("fit", csv, "--target", "clicked", "--block", block, "--alpha", 0.02, "--save", path)
    lines = [line.split() for line in out.splitlines()]
    assert code == 0
    assert err == ""
    assert lines[0] == ["clicks.csv:", "200", "rows;", "logistic", "loss"]
    assert ["block", "columns", "coefficients", "alpha", "|w|"] in lines
    lines = [*lines, *(line[:-1] for line in lines)]
    assert ["numeric", "2", "columns", "(age,", "price)", "2", "0.0001"] in lines
    assert ["rest", "8", "columns", "(word_0,", "word_1,", "…,", "word_7)", "8", "0.02"] in [
        line[:-1] for line in lines
    ]
    assert ["intercept", "1", "0"] in lines
    assert "above the minimum (certified)" in out
    assert "calls: grad_x" in out
    assert f"saved to {path}" in out


def test_without_blocks_all_columns_are_one(call, svm):
    code, out, _ = call("fit", svm, "--json")
    assert code == 0
    block = json.loads(out)["blocks"][0]
    assert (block["name"], block["columns"], block["alpha"]) == ("all", 119, 1 / 1605)


def test_columns_to_ignore_may_hold_anything(call, tmp_path):
    path = tmp_path / "some.csv"
    path.write_text("t,city,a,b\n1,Omsk,3,2\n0,Perm,1,1\n1,Perm,0,1\n")
    model = tmp_path / "model.skops"
    code, out, _ = call("fit", path, "--target", "t", "--ignore", "city", "--save", model, "--json")
    assert code == 0
    assert json.loads(out)["blocks"][0]["columns"] == 2
    path.write_text("b,a\n2,3\n")
    assert call("predict", model, path)[:2] == (0, '"prediction"\n1\n')


@pytest.mark.parametrize(("loss", "kind"), [("squared", "BlockRidge"), ("poisson", "BlockPoissonRegressor")])
def test_regressions(call, csv, table, tmp_path, loss, kind):
    path = tmp_path / "model.skops"
    arguments = ["--target", "clicked", "--loss", loss, *BLOCKS, "--no-intercept", "--tol", 1e-12]
    code, out, _ = call("fit", csv, *arguments, "--save", path, "--json")
    assert code == 0
    assert json.loads(out)["intercept"] is None
    expected = getattr(estimators, kind)(
        [slice(0, 8), slice(8, 10)], alpha=(1e-2, 1e-4), fit_intercept=False, tol=1e-12
    )
    X = numbers(table, [*WORDS, "age", "price"])
    expected.fit(X, table["clicked"].to_numpy())
    code, out, _ = call("predict", path, csv)
    assert code == 0
    assert predictions(out)["prediction"] == pytest.approx(expected.predict(X), abs=1e-4)
    code, _, err = call("predict", path, csv, "--proba")
    assert code == 2
    assert f"holds a {kind}, which has no classes" in err


def test_classes_of_any_number(call, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 2))
    kinds = np.argmax(X @ rng.normal(size=(2, 3)) + rng.normal(size=(90, 3)), axis=1) + 5
    path, model = tmp_path / "three.parquet", tmp_path / "model.skops"
    pyarrow.parquet.write_table(pyarrow.table({"a": X[:, 0], "b": X[:, 1], "kind": kinds}), path)
    assert call("fit", path, "--target", "kind", "--save", model)[0] == 0
    found = predictions(call("predict", model, path, "--proba")[1])
    assert list(found) == ["probability_5", "probability_6", "probability_7"]
    assert sum(found.values()) == pytest.approx(np.ones(90))
    likeliest = np.argmax(list(found.values()), axis=0) + 5
    np.testing.assert_array_equal(predictions(call("predict", model, path)[1])["prediction"], likeliest)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_predictions_are_the_estimators_in_any_order_of_columns(call, csv, table, model, tmp_path, suffix):
    mixed, output = tmp_path / "mixed.parquet", tmp_path / f"predicted.{suffix}"
    names = ["price", *reversed(WORDS), "age"]
    with_text = {"city": ["Omsk"] * 200, **{name: table[name] for name in names}}
    pyarrow.parquet.write_table(pyarrow.table(with_text), mixed)
    code, out, _ = call("predict", model, mixed, "--proba", "--output", output)
    assert code == 0
    assert out == f"200 predictions in {output}\n"
    read = pyarrow.csv.read_csv if suffix == "csv" else pyarrow.parquet.read_table
    loaded = skops.io.load(model, trusted=list(saved.TRUSTED))
    expected = loaded.predict_proba(table.select([*WORDS, "age", "price"]).to_pandas())
    assert read(output)["probability_1"].to_numpy() == pytest.approx(expected[:, 1], abs=1e-12)
    classes = predictions(call("predict", model, csv)[1])["prediction"]
    np.testing.assert_array_equal(classes, (expected[:, 1] > 0.5).astype(int))


def test_a_libsvm_file_may_lack_the_last_columns(call, svm, tmp_path):
    model = tmp_path / "model.skops"
    assert call("fit", svm, "--block", "first=1-100:1e-3", "--save", model)[0] == 0
    X, _ = minmin.datasets.load_a1a()
    few = tmp_path / "few.svm"
    few.write_text("1 3:1 11:1 14:1\n-1 5:1\n1 3:1 200:1\n")
    code, out, _ = call("predict", model, few, "--proba")
    expected = skops.io.load(model, trusted=list(saved.TRUSTED))
    rows = np.zeros((3, X.shape[1]))
    rows[0, [2, 10, 13]] = rows[1, 4] = rows[2, 2] = 1.0
    assert code == 0
    assert predictions(out)["probability_1"] == pytest.approx(expected.predict_proba(rows)[:, 1])
    assert predictions(call("predict", model, svm)[1])["prediction"].shape == (1605,)


def test_columns_of_a_libsvm_file_count_as_in_the_file_of_the_model(call, tmp_path):
    from_0, from_1, model = (tmp_path / name for name in ("from_0.svm", "from_1.svm", "model.skops"))
    from_0.write_text("1 0:1\n0 1:1\n1 0:1 2:1\n0 1:1 2:1\n")
    rows = tmp_path / "rows.svm"
    rows.write_text("0 1:1\n0 1:1 3:1\n")
    assert call("fit", from_0, "--alpha", "0.01", "--save", model)[0] == 0
    assert predictions(call("predict", model, rows)[1])["prediction"].tolist() == [0, 0]
    from_1.write_text("1 1:1\n0 2:1\n1 1:1 3:1\n0 2:1 3:1\n")
    assert call("fit", from_1, "--alpha", "0.01", "--save", model)[0] == 0
    assert predictions(call("predict", model, rows)[1])["prediction"].tolist() == [1, 1]
    code, _, err = call("predict", model, from_0)
    check_one_clear_error(code, err, "from_0.svm has an index 0")


def test_what_is_saved_is_the_estimator_whole(call, csv, model):
    said = json.loads(call("fit", csv, "--target", "clicked", *BLOCKS, "--json")[1])
    loaded = skops.io.load(model, trusted=list(saved.TRUSTED))
    assert isinstance(loaded, estimators.BlockLogisticRegression)
    assert loaded.feature_names_in_.tolist() == [*WORDS, "age", "price"]
    assert loaded.alpha_ == {"words": 1e-2, "numeric": 1e-4}
    assert loaded.result_.fun == said["fun"]
    assert loaded.gap_bound_ == said["gap_bound"]


@pytest.mark.parametrize("name", [name for name in estimators.__all__ if name.startswith("Block")])
def test_every_estimator_that_python_saves_can_predict(call, csv, table, tmp_path, name):
    path = tmp_path / "model.skops"
    frame = table.select([*WORDS, "age", "price"]).to_pandas()
    fitted = getattr(estimators, name)(["word_*"]).fit(frame, table["clicked"].to_pandas() + 1)
    path.write_bytes(saved.dump(fitted))
    code, out, _ = call("predict", path, csv)
    assert code == 0
    assert predictions(out)["prediction"] == pytest.approx(fitted.predict(frame), abs=1e-12)


def test_exit_code_1_short_of_the_tolerance(call, csv):
    code, out, err = call("fit", csv, "--target", "clicked", "--max-seconds", 1e-9)
    assert code == 1
    assert "budget" in out
    assert err == ""


def test_quiet_is_quiet(call, csv, model, tmp_path):
    assert call("fit", csv, "--target", "clicked", "--quiet") == (0, "", "")
    assert call("predict", model, csv, "--quiet", "--output", tmp_path / "p.csv") == (0, "", "")


def test_data_without_a_minimum(call, tmp_path):
    path = tmp_path / "apart.csv"
    path.write_text("t,a\n0,1\n0,2\n1,3\n1,4\n")
    code, _, err = call("fit", path, "--target", "t", "--alpha", 0)
    assert code == 2
    assert "minimum" in err
    assert len(err.splitlines()) == 1


WRONG_FITS = [
    (["--block", "words=wrod_*:1"], "--block words wrod_*: "),
    (["--block", "a=age:1", "--block", "b=a*,price:1"], "column 'age' is in block 'a' and in block 'b'"),
    (["--block", "a=age:1", "--ignore", "age"], "column 'age' is in block 'a' and in block '--ignore'"),
    (["--block", "a=age:1", "--block", "a=price:1"], "'a' is given twice"),
    (["--block", "rest=age:1"], "9 columns are in no block and would form a block called 'rest'"),
    (["--block", "a=age:-1"], "alpha of block 'a' = -1.0 must be finite and >= 0"),
    (["--block", "a=age:inf"], "alpha of block 'a' = inf must be finite"),
    (["--block", "a=age:much"], "'much' is not a valid float"),
    (["--block", "a=age"], "'a=age' is not NAME=COLUMNS:ALPHA"),
    (["--block", "age:1"], "'age:1' is not NAME=COLUMNS:ALPHA"),
    (["--block", "a=:1"], "'a=:1' is not NAME=COLUMNS:ALPHA"),
    (["--alpha", "nan"], "alpha of block 'all' = nan must be finite"),
    (["--tol", "0"], "--tol"),
    (["--ignore", "*"], "no column of"),
    (["--loss", "hinge"], "hinge"),
    (["--save", "none/model.skops"], "there is no folder none"),
    (["--save", "{csv}"], "not a .skops archive"),
    (["--target", "price"], "--loss logistic predicts classes; for a regression give --loss squared"),
    (["--target", "age", "--loss", "poisson"], "but --loss poisson needs targets at least 0"),
    (["--target", "clickd"], "no such column; did you mean 'clicked'"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG_FITS, ids=lambda value: " ".join(value)[:50])
def test_wrong_fits(call, csv, tmp_path, arguments, words):
    before = csv.read_bytes()
    target = [] if "--target" in arguments else ["--target", "clicked"]
    code, _, err = call("fit", csv, *target, *(argument.format(csv=csv) for argument in arguments))
    check_one_clear_error(code, err, words)
    assert csv.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["clicks.csv"]


def test_wrong_fits_of_other_files(call, csv, svm, tmp_path):
    one = tmp_path / "one.csv"
    one.write_text("t,a\n1,2\n1,3\n")
    for arguments, words in [
        ([csv], "name the column to predict with --target"),
        ([one, "--target", "t"], "is 1 in every row, and --loss logistic needs two classes"),
        ([svm, "--block", "a=100-120:1"], "has columns 1 to 119"),
        ([svm, "--block", "a=age:1"], "numbers from 1 on"),
        ([svm, "--ignore", "3"], "--ignore is for CSV and Parquet"),
        (["none.csv", "--target", "t"], "cannot read none.csv"),
    ]:
        code, _, err = call("fit", *arguments)
        check_one_clear_error(code, err, words)


def test_wrong_predictions(call, csv, svm, model, tmp_path):
    before = {path: path.read_bytes() for path in (csv, model)}
    few, text, numbered = tmp_path / "few.csv", tmp_path / "text.svm", tmp_path / "numbered.skops"
    few.write_text("age,prise,word_1\n1,2,3\n")
    text.write_text("not a model")
    assert call("fit", svm, "--save", numbered)[0] == 0
    for arguments, words in [
        (
            [model, few],
            "few.csv lacks 8 of the model's 10 columns: 'word_0', 'word_2', 'word_3', 'word_4', 'word_5', …",
        ),
        ([model, svm], "was fitted to a CSV or Parquet file"),
        ([numbered, csv], "was fitted to a LIBSVM file; give a LIBSVM file"),
        ([text, csv], "text.svm is damaged or is not a model that 'minmin fit --save' wrote"),
        ([tmp_path / "none.skops", csv], "No such file"),
        ([tmp_path, csv], "Is a directory"),
        ([model, tmp_path / "none.csv"], "cannot read"),
        ([model, csv, "--output", csv], "is also an input"),
        ([model, csv, "--output", model], "is also an input"),
        ([model, csv, "--output", tmp_path], "is a folder"),
        ([model, csv, "--output", tmp_path / "none" / "p.csv"], "there is no folder"),
    ]:
        code, _, err = call("predict", *arguments)
        check_one_clear_error(code, err, words)
    assert {path: path.read_bytes() for path in before} == before


class Doing:
    """Unpickled, it would leave a file behind."""

    def __init__(self, path):
        self.path = path

    def __setstate__(self, state):
        with open(state["path"], "w") as file:
            file.write("code was run")


def foreign_models(proof):
    X, labels = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    ours = estimators.BlockRidge().fit(X, labels)
    ours.extra = Doing(proof)
    yield "Doing", ours
    yield "system", {"call": os.system}
    yield "LogisticRegression", LogisticRegression().fit(X, labels)
    yield "sklearn.tree._tree.Tree", RandomForestClassifier(n_estimators=1).fit(X, labels)
    yield "BlockRidge", estimators.BlockRidge()
    yield "dict", {"coef_": X}


def test_files_with_anything_else_are_refused_and_run_no_code(call, csv, tmp_path):
    proof, path = tmp_path / "proof", tmp_path / "model.skops"
    for name, thing in foreign_models(str(proof)):
        path.write_bytes(skops.io.dumps(thing))
        code, _, err = call("predict", path, csv)
        assert code == 2
        assert len(err.splitlines()) == 1
        assert ("was not loaded" in err and name in err) or f"contains a {name}, not a fitted model" in err
        assert not proof.exists()


def test_damaged_models_are_no_models(call, csv, model):
    whole = model.read_bytes()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        schema = json.loads(archive.read("schema.json"))
        others = {name: archive.read(name) for name in archive.namelist() if name != "schema.json"}

    def with_schema(changed):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in {**others, "schema.json": changed}.items():
                archive.writestr(name, content)
        return buffer.getvalue()

    text = json.dumps(schema)
    missing = [text.replace(f'"{name}"', '"other"') for name in ("coef_", "intercept_", "classes_", "n_features_in_")]
    for content in (whole[: len(whole) // 2], b"", *map(with_schema, ["{}", "[1, 2]", "{", *missing])):
        model.write_bytes(content)
        code, _, err = call("predict", model, csv)
        check_one_clear_error(code, err, "model")


def test_a_full_disk_leaves_the_older_model(call, csv, model, tmp_path, monkeypatch):
    older = model.read_bytes()

    def full(descriptor):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    code, out, err = call("fit", csv, "--target", "clicked", "--alpha", 1, "--save", model)
    assert code == 3
    assert "converged" in out  # what was found is not lost
    assert err == f"minmin: {model}: No space left on device\n"
    assert model.read_bytes() == older
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clicks.csv", "model.skops"]


def test_what_is_missing_is_named(csv):
    program = "import sys; sys.modules['skops'] = None; from minmin.cli import main; sys.argv[0] = 'minmin'; main()"
    command = [sys.executable, "-c", program, "fit", str(csv), "--target", "clicked"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "needs skops" in done.stderr
    assert 'pip install ".[cli]"' in done.stderr


def check_one_clear_error(code, err, words):
    assert code == 2
    assert words in err
    lines = err.splitlines()
    assert len([line for line in lines if line.startswith(("Error: ", "minmin: "))]) == 1
    assert len(lines) <= (4 if lines[0].startswith("Usage:") else 1)


def test_a_model_whose_blocks_are_selectors_is_loaded(call, tmp_path):
    frame = pandas.DataFrame({"city": ["Oslo", "Rome"] * 20, "age": np.arange(40.0)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    for number, selector in enumerate([text_columns, make_column_selector(dtype_include=float)]):
        model = BlockLogisticRegression({"some": selector}).fit(frame, np.arange(40) % 3 == 0)
        skops.io.dump(model, tmp_path / f"{number}.skops")
        code, out, _ = call("predict", tmp_path / f"{number}.skops", tmp_path / "people.csv")
        assert (code, len(out.split())) == (0, 41)

"""minmin coefficients, and models that minmin solve saved."""

import sys

import numpy as np
import pyarrow.csv
import pytest

import minmin
from minmin.cli import saved
from minmin.cli.coefficients import Coefficient


@pytest.fixture
def model(call, tmp_path):
    rng = np.random.default_rng(0)
    city = np.array(["Omsk", "Perm", ""])[rng.integers(0, 3, 80)]
    age = rng.integers(20, 60, 80)
    bought = np.where(rng.random(80) < np.where(city == "Perm", 0.8, 0.3), "yes", "no")
    lines = [f"{c},{a},{b}" for c, a, b in zip(city, age, bought, strict=True)]
    file, path = tmp_path / "clients.csv", tmp_path / "model.skops"
    file.write_text("\n".join(["city,age,bought", *lines]))
    options = ["--target", "bought", "--block", "places=city:1e-2", "--alpha", 1e-4, "--save", path]
    assert call("fit", file, *options)[0] == 0
    return path


def test_a_table_of_coefficients_by_block_column_and_category(call, model):
    code, out, _ = call("coefficients", model)
    fitted = saved.load(model)
    lines = [line.split() for line in out.splitlines()]
    value = dict(zip(fitted.feature_names_out_, fitted.coef_[0], strict=True))
    assert code == 0
    assert lines[0] == ["block", "column", "category", "coefficient"]
    assert lines[1] == ["(intercept)", f"{fitted.intercept_[0]:.6g}"]
    assert lines[2] == ["places", "city", "Perm", f"{value['city=Perm']:.6g}"]
    assert {line[2] for line in lines[3:5]} == {"Omsk", "(missing)"}
    assert lines[5] == ["rest", "age", f"{value['age']:.6g}"]
    assert out.endswith("positive: more probably 'yes'; negative: more probably 'no'\n")


def test_the_largest_in_a_csv_file(call, model, tmp_path):
    file = tmp_path / "coefficients.csv"
    code, out, _ = call("coefficients", model, "--top", 2, "--csv", file)
    assert code == 0
    assert out == f"2 coefficients in {file}\n"
    table = pyarrow.csv.read_csv(file).to_pydict()
    assert list(table) == ["block", "column", "category", "class", "coefficient"]
    expected = sorted(np.abs(saved.load(model).coef_[0]), reverse=True)[:2]
    assert np.abs(table["coefficient"]) == pytest.approx(expected)


def test_a_coefficient_per_class(call, tmp_path):
    file, path = tmp_path / "three.csv", tmp_path / "model.skops"
    file.write_text("a,t\n" + "1,x\n2,y\n3,z\n4,z\n" * 5)
    assert call("fit", file, "--target", "t", "--save", path)[0] == 0
    lines = [line.split() for line in call("coefficients", path)[1].splitlines()]
    assert lines[0] == ["block", "column", "class", "coefficient"]
    assert [line[-2] for line in lines[1:]] == ["x", "y", "z"] * 2


def test_a_figure(call, model, tmp_path):
    figure = tmp_path / "coefficients.png"
    assert call("coefficients", model, "--plot", figure)[:2] == (0, f"figure in {figure}\n")
    assert figure.read_bytes().startswith(b"\x89PNG")
    code, _, err = call("coefficients", model, "--plot", tmp_path / "figure.xyz")
    assert code == 2
    assert "cannot write .xyz files; give a name that ends in .png" in err
    code, _, err = call("coefficients", model, "--plot", model)
    assert code == 2
    assert "is also the model" in err


def test_a_figure_needs_matplotlib(call, model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, err = call("coefficients", model, "--plot", tmp_path / "figure.png")
    assert code == 2
    assert '--plot needs matplotlib; in the clone of minmin: pip install ".[plot]"' in err


def test_predictions_of_a_solved_table(call, csv, table, tmp_path):
    path = tmp_path / "model.npz"
    options = ["--target", "clicked", "--y-columns", "age,price", "--alpha-x", 1e-2, "--tol", 1e-10]
    assert call("solve", csv, *options, "--save", path)[0] == 0
    words = [name for name in table.column_names if name.startswith("word")]
    with np.load(path) as archive:
        x, y = archive["x"], archive["y"]
    margins = np.column_stack([table[name] for name in words]) @ x + np.column_stack([table["age"], table["price"]]) @ y
    code, out, _ = call("predict", path, csv, "--proba")
    assert code == 0
    probability = [float(line.split(",")[1]) for line in out.splitlines()[1:]]
    assert probability == pytest.approx(1 / (1 + np.exp(-margins)))
    assert call("coefficients", path)[1].splitlines()[1].split()[0] == "x"


def test_predictions_of_a_solved_libsvm_file(call, svm, tmp_path):
    path = tmp_path / "model.npz"
    assert call("solve", svm, "--y-columns", "101-", "--save", path)[0] == 0
    X, labels = minmin.datasets.load_a1a()
    with np.load(path) as archive:
        margins = X @ np.concatenate([archive["x"], archive["y"]])
    predicted = np.array(call("predict", path, svm)[1].split()[1:], dtype=float)
    np.testing.assert_array_equal(predicted, np.where(margins > 0, 1, -1))
    assert np.mean(predicted == labels) > 0.8


def test_solved_files_that_make_no_predictions(call, csv, tmp_path):
    path = tmp_path / "model.npz"
    options = ["--target", "clicked", "--y-columns", "age", "--save", path]
    assert call("solve", csv, *options, "--loss", "probit")[0] == 0
    code, _, err = call("predict", path, csv)
    assert code == 2
    assert "was solved with --loss probit, which makes no predictions here; the losses that do are logistic" in err
    with np.load(path) as archive:
        np.savez(path, **{name: archive[name] for name in archive if name != "labels"})
    code, _, err = call("predict", path, csv)
    assert code == 2
    assert "written by an older 'minmin solve'; run that command again" in err


def test_a_long_name_is_cut_in_a_figure():
    assert Coefficient("all", "a" * 60, "", "", 1.0).label == "a" * 49 + "…"

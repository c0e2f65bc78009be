"""The table of coefficients, and its picture."""

import csv
import sys

import numpy as np
import pandas
import pytest
from scipy.stats import norm, t

from estimators.cases import case
from minmin.errors import InputError, UnsupportedError
from minmin.estimators import BlockLogisticRegression, BlockPoissonRegressor, BlockRidge

NAMES = ["a1", "b1", "a2", "b2", "b3", "b4"]
BLOCKS = {"a": "a*", "b": "b*"}


def summarise(family, model, classes=2, **options):
    sample = case(family, classes=classes)
    frame = pandas.DataFrame(sample.X, columns=NAMES)
    fitted = model(BLOCKS, alpha=(0.0, 1e-2)).fit(frame, sample.y)
    return fitted, fitted.standard_errors(frame, sample.y), fitted.summary(frame, sample.y, **options)


def test_rows_are_grouped_by_block_and_end_with_the_intercept():
    model, errors, table = summarise("poisson", BlockPoissonRegressor)
    assert table["name"].tolist() == ["a1", "a2", "b1", "b2", "b3", "b4", "(intercept)"]
    assert table["block"].tolist() == ["a", "a", "b", "b", "b", "b", ""]
    order = [0, 2, 1, 3, 4, 5]
    np.testing.assert_array_equal(table["coefficient"], [*model.coef_[order], model.intercept_])
    np.testing.assert_array_equal(table["standard_error"], [*errors.coef[order], errors.intercept])
    assert len(table) == 7


@pytest.mark.parametrize(
    ("family", "model", "distribution"),
    [
        ("poisson", BlockPoissonRegressor, norm()),
        ("squared", BlockRidge, None),
        ("logistic", BlockLogisticRegression, norm()),
    ],
)
def test_intervals_and_p_values_belong_to_the_same_distribution(family, model, distribution):
    """The normal one; Student's if the variance is estimated, with 7 parameters less the penalised share."""
    _, _, table = summarise(family, model, level=0.9)
    if distribution is None:
        low, high = t(120 - 7), t(120 - 6)
        assert (low.isf(0.05) >= (table["high"] - table["coefficient"]) / table["standard_error"]).all()
        assert ((table["high"] - table["coefficient"]) / table["standard_error"] >= high.isf(0.05)).all()
    else:
        np.testing.assert_allclose(table["high"], table["coefficient"] + norm.isf(0.05) * table["standard_error"])
        np.testing.assert_allclose(table["p_value"], 2.0 * distribution.sf(np.abs(table["z"])))
    np.testing.assert_allclose(table["low"] + table["high"], 2.0 * table["coefficient"])
    assert ((table["p_value"] < 0.1) == (table["low"] * table["high"] > 0.0)).all()


def test_several_classes_have_a_column():
    model, errors, table = summarise("logistic", BlockLogisticRegression, classes=3)
    assert table["class"].tolist() == ["0", "1", "2"] * 7
    np.testing.assert_array_equal(table["coefficient"][:3], model.coef_[:, 0])
    np.testing.assert_array_equal(table["standard_error"][3:6], errors.coef[:, 2])


def test_it_prints_as_an_aligned_table():
    _, _, table = summarise("squared", BlockRidge)
    lines = str(table).splitlines()
    assert len(lines) == 9
    assert lines[0].split() == ["block", "name", "coefficient", "standard_error", "z", "p_value", "low", "high"]
    assert len({len(line) for line in lines[:8]}) == 1
    assert lines[-1].startswith("120 samples, dispersion ")
    assert lines[-1].endswith("intervals of 95 %")


def test_to_pandas_and_to_csv(tmp_path):
    _, _, table = summarise("poisson", BlockPoissonRegressor)
    frame = table.to_pandas()
    assert frame.columns.tolist() == list(table.columns)
    np.testing.assert_array_equal(frame["z"], table["z"])
    table.to_csv(tmp_path / "table.csv")
    rows = list(csv.DictReader((tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["name"] for row in rows] == table["name"].tolist()
    np.testing.assert_array_equal([float(row["low"]) for row in rows], table["low"])


@pytest.mark.parametrize("classes", [2, 3])
def test_the_plot_has_an_interval_for_every_column(classes):
    _, _, table = summarise("logistic", BlockLogisticRegression, classes=classes)
    figure = table.plot()
    panels = figure.axes
    assert len(panels) == (1 if classes == 2 else 3)
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["a1", "a2", "b1", "b2", "b3", "b4"]
    bars = [segment for part in panels[0].collections for segment in part.get_segments()]
    of_first = slice(None) if classes == 2 else slice(0, None, 3)
    np.testing.assert_allclose([segment[0][0] for segment in bars], table["low"][of_first][:-1])


def shown_names(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_a_plot_of_many_columns_shows_the_largest_z():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 201)) * np.geomspace(0.1, 10, 201)
    y = 20.0 * X[:, 3] + 0.01 * X[:, 190] + rng.standard_normal(300)
    table = BlockRidge(alpha=0.01).fit(X, y).summary(X, y)
    z = np.abs(table["z"][:-1])
    assert z.argmax() == 3
    figure = table.plot()
    assert shown_names(figure) == [f"x{column}" for column in np.sort(np.argsort(-z)[:30])]
    assert figure.get_suptitle() == "30 of 201 columns: the largest |z|"
    assert shown_names(table.plot(top=1)) == ["x3"]


def test_columns_of_a_plot_are_chosen_by_name():
    _, _, table = summarise("logistic", BlockLogisticRegression, classes=3)
    assert shown_names(table.plot(columns=["b*", "a2"])) == ["a2", "b1", "b2", "b3", "b4"]
    largest = np.abs(table["z"][:-3]).reshape(-1, 3).max(axis=1)[2:].argmax()
    assert shown_names(table.plot(columns="b*", top=1)) == [f"b{largest + 1}"]
    assert [axis.get_title() for axis in table.plot().axes] == ["class 0", "class 1", "class 2"]
    with pytest.raises(InputError, match="no column is called, or matches, 'c'"):
        table.plot(columns="c")


@pytest.mark.parametrize("top", [0, 201, 2.5])
def test_a_plot_has_a_limit(top):
    _, _, table = summarise("squared", BlockRidge)
    with pytest.raises(InputError, match="top = "):
        table.plot(top=top)


def test_long_names_are_cut_in_a_plot():
    X = pandas.DataFrame({"a" * 60: [0.0, 1.0, 2.0, 4.0]})
    y = [0.0, 1.0, 2.0, 3.0]
    assert shown_names(BlockRidge(alpha=0.1).fit(X, y).summary(X, y).plot()) == ["a" * 39 + "…"]


@pytest.mark.parametrize(("package", "draw"), [("matplotlib.figure", "plot"), ("pandas", "to_pandas")])
def test_a_missing_package_is_named(package, draw, monkeypatch):
    _, _, table = summarise("squared", BlockRidge)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UnsupportedError, match="pip install"):
        getattr(table, draw)()

"""Pipelines, searches, column transformers, metadata routing."""

import doctest
import importlib
import inspect
import re
import subprocess
import sys

import numpy as np
import pandas
import pytest
import sklearn
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import minmin
from estimators.cases import MODELS, case
from minmin import estimators
from minmin.estimators import BlockLogisticRegression, BlockLogisticRegressionCV


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    columns = {"age": rng.uniform(20, 70, 200), "income": rng.lognormal(10, 1, 200)}
    frame = pandas.DataFrame(columns | {"city": rng.choice(list("abcdefgh"), 200)})
    bought = (frame["age"] + 20 * (frame["city"] < "d") + 10 * rng.standard_normal(200) > 50).to_numpy()
    return frame, bought


def transformer(**options):
    numeric, words = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    return ColumnTransformer([("num", StandardScaler(), numeric), ("cat", OneHotEncoder(**options), words)])


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_blocks_by_a_column_transformers_output_names(people, container):
    frame, bought = people
    columns = transformer(sparse_output=False).set_output(transform=container)
    model = BlockLogisticRegression({"numbers": "num__*", "cities": "cat__*"}, alpha={"numbers": 0.0, "cities": 1e-2})
    pipeline = make_pipeline(columns, model).fit(frame, bought)
    assert [len(chosen) for chosen in model.blocks_.values()] == [2, 8]
    assert model.result_.certified
    assert list(model.feature_names_in_[model.blocks_["numbers"]]) == ["num__age", "num__income"]
    assert pipeline.score(frame, bought) > 0.7


def test_blocks_by_a_column_transformers_output_slices(people):
    frame, bought = people
    columns = transformer().fit(frame)
    blocks = {name: columns.output_indices_[name] for name in ("num", "cat")}
    model = BlockLogisticRegression(blocks, alpha={"num": 1e-4, "cat": 1e-2})
    assert make_pipeline(columns, model).fit(frame, bought).score(frame, bought) > 0.7
    assert [len(chosen) for chosen in model.blocks_.values()] == [2, 8]


@pytest.mark.parametrize("family", MODELS)
def test_a_grid_search_over_penalties(family):
    sample = case(family)
    grid = {"model__alpha": [(1e-1, 1e-3), (1e-3, 1e-1), 1e-2], "model__cheap": [None, ()]}
    pipeline = Pipeline([("scale", StandardScaler()), ("model", MODELS[family]([slice(0, 2), slice(2, None)]))])
    search = GridSearchCV(pipeline, grid, cv=3).fit(sample.X, sample.y)
    assert search.best_params_["model__alpha"] in grid["model__alpha"]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert np.isfinite(cross_val_score(pipeline, sample.X, sample.y, cv=3)).all()


def test_weights_and_groups_are_routed_on_request():
    sample = case("logistic")
    groups = np.arange(120) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        single = BlockLogisticRegression().set_fit_request(sample_weight=True)
        path = BlockLogisticRegressionCV(alphas=[1e-2], cv=GroupKFold(3))
        path.set_fit_request(sample_weight=True, groups=True)
        for model, extra in ((single, {}), (path, {"groups": groups})):
            pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
            pipeline.fit(sample.X, sample.y, sample_weight=sample.weights, **extra)
            alone = sklearn.base.clone(model)
            alone.fit(StandardScaler().fit_transform(sample.X), sample.y, sample_weight=sample.weights, **extra)
            np.testing.assert_allclose(model.coef_, alone.coef_)


def test_the_package_imports_scikit_learn_only_where_it_is_asked_for():
    assert minmin.estimators is estimators
    with pytest.raises(AttributeError, match="no attribute 'estimator'"):
        _ = minmin.estimator


WITHOUT = """
import sys
import minmin

assert "sklearn" not in sys.modules, "import minmin imports scikit-learn"
sys.modules["sklearn"] = None
from minmin import *
minmin.estimators
"""


def test_without_scikit_learn_only_the_estimators_are_missing():
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=120)
    words = 'ImportError: minmin.estimators needs scikit-learn; in the clone of minmin: pip install ".[sklearn]"'
    assert run.stderr.splitlines()[-1] == words


@pytest.mark.parametrize("module", ["logistic", "log_link", "ridge"])
def test_examples_in_docstrings(module):
    outcome = doctest.testmod(importlib.import_module(f"minmin.estimators.{module}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize("name", [name for name in estimators.__all__ if name.startswith("Block")])
def test_docstrings_describe_every_parameter_and_every_attribute_of_a_fit(name):
    sample = case("poisson")
    model = getattr(estimators, name)().fit(pandas.DataFrame(sample.X).add_prefix("c"), 1.0 + (sample.y > 1))
    described, attributes = inspect.getdoc(model).split("\nAttributes\n")
    entries = [line.partition(" : ")[0] for line in described.splitlines() if " : " in line and line[0] != " "]
    assert sorted(entries) == sorted(inspect.signature(type(model)).parameters)
    fitted = [attribute for attribute in vars(model) if attribute.endswith("_")]
    assert [attribute for attribute in fitted if attribute not in re.findall(r"\w+_\b", attributes)] == []
    assert "{" not in described


def test_entries_of_dicts_by_block_are_parameters(people):
    frame, bought = people
    model = BlockLogisticRegression({"words": ["city"]}, alpha={"words": 1.0, "rest": 1e-3})
    assert model.get_params()["alpha__words"] == 1.0
    assert model.get_params()["blocks__words"] == ["city"]
    assert model.set_params(**model.get_params()).alpha == {"words": 1.0, "rest": 1e-3}
    assert "alpha__words" not in model.get_params(deep=False)
    grid = {"alpha__words": [1e-3, 100.0], "blocks__words": [["city"], "ci*"]}
    search = GridSearchCV(model, grid, cv=3).fit(frame, bought)
    assert search.best_estimator_.alpha == {"words": search.best_params_["alpha__words"], "rest": 1e-3}
    assert search.best_estimator_.alpha_["words"] == search.best_params_["alpha__words"]
    assert model.alpha == {"words": 1.0, "rest": 1e-3}
    copy = sklearn.clone(model).set_params(alpha={"words": 2.0, "rest": 3.0}, alpha__rest=4.0)
    assert copy.alpha == {"words": 2.0, "rest": 4.0}
    pipeline = make_pipeline(model).set_params(blocklogisticregression__alpha__rest=5.0)
    assert pipeline[-1].alpha["rest"] == 5.0


@pytest.mark.parametrize("alpha", [1.0, {"rest": 1.0}])
def test_an_entry_that_is_not_there_cannot_be_set(alpha):
    with pytest.raises(
        minmin.InputError, match="alpha has no entry 'words' to set; give alpha as a dict by block first"
    ):
        BlockLogisticRegression({"words": ["city"]}, alpha=alpha).set_params(alpha__words=1.0)

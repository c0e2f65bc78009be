"""The study of two penalties: it compares what it says it compares, and says plainly what it found."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from minmin.estimators import BlockLogisticRegression


@pytest.fixture(scope="module")
def study():
    path = Path(__file__).parents[2] / "benchmarks" / "two_penalties.py"
    spec = importlib.util.spec_from_file_location("two_penalties", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def question(study):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    labels = (rng.random(200) < 1 / (1 + np.exp(-3 * X[:, 0]))).astype(int)
    blocks = {"numbers": slice(0, 1), "categories": slice(1, None)}
    return study.Question("small", X, labels, blocks, np.array([1.0, 1e-1, 1e-2]), 120, 80)


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ([0.1, 0.12, 0.11], "Two penalties beat one here."),
        ([0.1, -0.12, 0.03], "Two penalties do not beat one here"),
        ([-0.1, -0.12, -0.11], "Two penalties are worse than one here"),
    ],
)
def test_the_verdict_follows_from_the_gains(study, question, gains, verdict):
    losses = np.column_stack([np.zeros(3), gains])
    answer = study.Answer(losses, chosen_two=[0] * 3, chosen_one=[1] * 3)
    np.testing.assert_allclose(answer.gains, gains)
    assert verdict in list(study.describe(question, answer))[-1]


def test_losses_are_of_rows_that_no_fit_has_seen(study, question, tmp_path):
    answer = study.answer_question(question, splits=2)
    pairs = question.pairs()
    assert answer.losses.shape == (2, 9 + 2)
    assert all(pairs[i][0] == pairs[i][1] for i in answer.chosen_one)
    train, test = np.arange(120), np.arange(120, 200)
    losses = study.compute_test_losses(question, train, test, pairs)
    for alpha, loss in zip(pairs, losses, strict=True):
        model = BlockLogisticRegression(question.blocks, alpha=alpha).fit(question.X[train], question.labels[train])
        probabilities = model.predict_proba(question.X[test])[np.arange(80), question.labels[test]]
        assert loss == pytest.approx(-np.log(probabilities).mean(), abs=5e-3)
    study.draw([(question, answer)], tmp_path / "grid.png")
    assert (tmp_path / "grid.png").stat().st_size > 10_000


def test_generated_clicks_where_the_sample_is_not_there(study, monkeypatch, tmp_path):
    monkeypatch.setattr(study, "SHARED", tmp_path)
    clicks, census = study.clicks(), study.census()
    assert clicks.name == "generated clicks"
    assert clicks.X.shape == (6000, 13 + 2**15)
    assert 0.1 < clicks.labels.mean() < 0.9
    assert census.name == "Adult (a1a) with products"
    assert census.X.shape == (1605, 119 + 119 * 118 // 2)

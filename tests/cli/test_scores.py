"""minmin fit --held-out and --cv: scores of rows that a model does not know."""

import json

import numpy as np
import pyarrow
import pyarrow.csv
import pytest
from scipy.optimize import minimize_scalar
from sklearn.metrics import d2_tweedie_score, log_loss, r2_score

from minmin import estimators
from minmin.cli import saved
from minmin.cli.data import Data
from minmin.cli.scoring import cross_validate, hold_out, score


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    kinds = np.array(["cat", "dog", "eel"])[np.argmax(X @ rng.normal(size=(2, 3)) + rng.normal(size=(90, 3)), axis=1)]
    columns = {
        "a": X[:, 0],
        "b": X[:, 1],
        "kind": kinds,
        "size": X[:, 0] + rng.normal(size=90),
    }
    file = tmp_path / "rows.csv"
    pyarrow.csv.write_csv(pyarrow.table(columns), file)
    return file, X, columns


def test_held_out_rows_are_scored_and_not_fitted(call, rows, tmp_path):
    file, X, columns = rows
    model = tmp_path / "model.skops"
    options = ["--target", "kind", "--ignore", "size", "--held-out", 0.2, "--save", model]
    said = json.loads(call("fit", file, *options, "--seed", 3, "--json")[1])
    data = Data(X, columns["kind"], None, None, ["a", "b"], {})
    train, test = hold_out(data, 0.2, "logistic", 3)
    assert said["rows"] == len(train.target)
    assert said["held_out"]["rows"] == len(test.target) == 18
    found = saved.load(model)
    del found.feature_names_in_  # an array has no names
    probabilities = found.predict_proba(test.X)
    assert said["held_out"]["log_loss"] == pytest.approx(log_loss(test.target, probabilities))
    assert said["held_out"]["accuracy"] == pytest.approx(np.mean(found.predict(test.X) == test.target))
    text = call("fit", file, *options)[1]
    assert "held out: log_loss " in text
    assert "(18 rows, seed 0; the model does not know them)" in text


def test_cross_validation_chooses_nothing_and_says_mean_and_spread(call, rows):
    file = rows[0]
    options = ["--target", "size", "--loss", "squared", "--ignore", "kind"]
    plain = json.loads(call("fit", file, *options, "--json")[1])
    said = json.loads(call("fit", file, *options, "--cv", 4, "--json")[1])
    assert said["fun"] == plain["fun"]
    assert said["cv"]["folds"] == said["cv"]["reached_tol"] == 4
    assert 0.0 < said["cv"]["r2"]["mean"] < 1.0
    assert said["cv"]["root_mean_square_error"]["std"] > 0.0
    assert said["cv"] == json.loads(call("fit", file, *options, "--cv", 4, "--json")[1])["cv"]
    assert said["cv"] != json.loads(call("fit", file, *options, "--cv", 4, "--seed", 1, "--json")[1])["cv"]
    assert "cross-validation: r2 " in call("fit", file, *options, "--cv", 4)[1]


def test_cross_validation_chooses_among_several_penalties(call, rows):
    file = rows[0]
    options = ["--target", "size", "--loss", "squared", "--ignore", "kind", "--block", "a=a:1e-4,10", "--cv", 4]
    said = json.loads(call("fit", file, *options, "--alpha", "1e-3,1,100", "--json")[1])
    tried = {}
    for a in (1e-4, 10):
        for b in (1e-3, 1, 100):
            block = ["--block", f"a=a:{a}", "--alpha", b]
            tried[a, b] = json.loads(call("fit", file, *options[:6], *block, "--cv", 4, "--json")[1])
    best = min(tried, key=lambda pair: tried[pair]["cv"]["root_mean_square_error"]["mean"])
    assert said["combinations"] == 6
    assert tuple(block["alpha"] for block in said["blocks"]) == best
    assert said["fun"] == pytest.approx(tried[best]["fun"], abs=1e-12)
    assert said["cv"] == tried[best]["cv"]
    text = call("fit", file, *options, "--alpha", "1e-3,1,100", "--held-out", 0.2)[1]
    assert "penalties: chosen by cross-validation, the best of 6 combinations" in text
    assert "held out: r2 " in text


@pytest.mark.parametrize(
    ("loss", "options"), [("huber", ["--delta", 0.5]), ("gamma", []), ("tweedie", ["--power", 1.2])]
)
def test_every_loss_chooses(call, tmp_path, loss, options):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 2))
    file = tmp_path / "rows.csv"
    np.savetxt(file, np.column_stack([X, np.exp(X[:, 0])]), delimiter=",", header="a,b,t", comments="")
    code, out, _ = call(
        "fit", file, "--target", "t", "--loss", loss, *options, "--alpha", "1e-3,1e3", "--cv", 3, "--json"
    )
    said = json.loads(out)
    assert code == 0
    assert (said["combinations"], said["blocks"][0]["alpha"]) == (2, 1e-3)


class Known:
    """A model with given predictions."""

    _variance_power = 1.0

    def __init__(self, predicted):
        self.predicted = predicted

    def predict(self, X, offset=None):
        return self.predicted


def test_scores_are_those_of_scikit_learn_where_it_has_them():
    rng = np.random.default_rng(0)
    target, weights, predicted = rng.poisson(2, 30) * 1.0, rng.random(30), rng.random(30) + 1
    data = Data(np.zeros((30, 1)), target, weights, None, ["a"], {})
    d2 = d2_tweedie_score(target, predicted, sample_weight=weights, power=1)
    assert score(Known(predicted), data, "poisson")["d2"] == pytest.approx(d2)
    r2 = r2_score(target, predicted, sample_weight=weights)
    assert score(Known(predicted), data, "squared")["r2"] == pytest.approx(r2)


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_the_best_rate_of_all_rows_explains_nothing(power):
    rng = np.random.default_rng(1)
    target, exposure = rng.gamma(2.0, size=40), rng.random(40) + 0.1
    data = Data(np.zeros((40, 1)), target, None, np.log(exposure), ["a"], {})

    def explain(log_rate):
        model = Known(np.exp(log_rate) * exposure)
        model._variance_power = power
        return score(model, data, "tweedie")["d2"]

    best = minimize_scalar(lambda log_rate: -explain(log_rate), bounds=(-5.0, 5.0))
    assert best.fun == pytest.approx(0.0, abs=1e-9)


def test_every_row_is_held_out_once_and_every_class_is_always_fitted():
    target = np.array(["x"] * 17 + ["y"] * 5 + ["z"] * 4)
    data = Data(np.arange(26.0)[:, None], target, None, None, ["a"], {})
    held_out = []

    def fit(part):
        assert set(part.target) == {"x", "y", "z"}
        held_out.extend(set(range(26)) - set(part.X[:, 0].astype(int)))
        return estimators.BlockLogisticRegression(alpha=1.0).fit(part.X, part.target)

    assert len(list(cross_validate(fit, data, 4, "logistic", seed=0))) == 4
    assert sorted(held_out) == list(range(26))

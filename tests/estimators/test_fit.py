"""What a fit takes and what it leaves behind."""

import logging
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import minmin
from estimators.cases import MODELS, case
from minmin.estimators import BlockLogisticRegression, BlockRidge, BlockRidgeCV

BLOCKS = [slice(0, 3), slice(3, None)]


def test_the_contract():
    X, labels = minmin.datasets.load_a1a()
    two = [slice(0, 100), slice(100, None)]
    model = BlockLogisticRegression(blocks=two, alpha=(1e-3, 1e-5), fit_intercept=True, tol=1e-6)
    model.fit(X, labels)
    assert model.gap_bound_ <= 1e-6
    assert model.result_.certified
    assert {name: len(columns) for name, columns in model.blocks_.items()} == {"block0": 100, "block1": 19}
    assert model.alpha_ == {"block0": 1e-3, "block1": 1e-5}
    assert model.coef_.shape == (1, 119)
    assert model.intercept_.shape == (1,)
    assert model.calls_["passes"] > 0
    assert model.n_iter_ >= 1
    assert set(model.predict(X)) == {-1.0, 1.0}


@pytest.mark.parametrize("family", MODELS)
def test_every_container_gives_the_same_model(family):
    sample = case(family)
    names = [f"c{i}" for i in range(6)]
    reference = MODELS[family](BLOCKS, alpha=(1e-2, 1e-3), tol=1e-10).fit(sample.X, sample.y)
    given = {
        "fortran": np.asfortranarray(sample.X),
        "list": sample.X.tolist(),
        **{f: scipy.sparse.csr_array(sample.X).asformat(f) for f in ("csr", "csc", "coo", "lil", "bsr")},
        "spmatrix": scipy.sparse.csr_matrix(sample.X),
        "pandas": pandas.DataFrame(sample.X, columns=names),
        "polars": polars.DataFrame(sample.X, schema=names),
    }
    for kind, X in given.items():
        model = clone(reference).fit(X, sample.y)
        np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-4, err_msg=kind)
        np.testing.assert_allclose(model.predict(X), reference.predict(sample.X), atol=1e-3, err_msg=kind)
        assert hasattr(model, "feature_names_in_") == (kind in ("pandas", "polars"))


def test_labels_of_any_type():
    sample = case("logistic")
    reference = BlockLogisticRegression(tol=1e-9).fit(sample.X, sample.y)
    for names in (["no", "yes"], [False, True], np.array(["b", "c"], dtype=object), [3, 7]):
        labels = np.array(names)
        model = BlockLogisticRegression(tol=1e-9).fit(sample.X, labels[sample.y])
        np.testing.assert_array_equal(model.coef_, reference.coef_)
        np.testing.assert_array_equal(model.classes_, labels)
        np.testing.assert_array_equal(model.predict(sample.X), labels[reference.predict(sample.X)])


def test_probabilities_far_out():
    sample = case("logistic")
    model = BlockLogisticRegression().fit(sample.X, sample.y)
    far = 1e6 * sample.X
    assert np.isfinite(model.predict_log_proba(far)).all()
    np.testing.assert_allclose(model.predict_proba(far).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(sample.X)), model.predict_proba(sample.X))


def test_class_weights_are_sample_weights():
    sample = case("logistic")
    weighted = BlockLogisticRegression(class_weight={0: 1.0, 1: 3.0}, tol=1e-10)
    weighted.fit(sample.X, sample.y, sample_weight=sample.weights)
    by_sample = np.where(sample.y == 1, 3.0, 1.0) * sample.weights
    reference = BlockLogisticRegression(tol=1e-10).fit(sample.X, sample.y, sample_weight=by_sample)
    np.testing.assert_allclose(weighted.coef_, reference.coef_, rtol=1e-10)


@pytest.mark.parametrize("family", MODELS)
def test_only_ratios_of_weights_matter(family):
    sample = case(family)
    one = MODELS[family](tol=1e-10).fit(sample.X, sample.y, sample_weight=sample.weights)
    other = MODELS[family](tol=1e-10).fit(sample.X, sample.y, sample_weight=1e6 * sample.weights)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)


def test_a_warm_start_goes_on_from_the_last_coefficients():
    X, labels = minmin.datasets.load_a1a()
    model = BlockLogisticRegression(alpha=1e-4, cheap=(), tol=1e-8, warm_start=True)
    cold = model.fit(X, labels).calls_["passes"]
    again = model.fit(X, labels)
    assert again.calls_["passes"] < cold / 4
    assert again.gap_bound_ <= 1e-8
    assert model.fit(X[:, :50], labels).coef_.shape == (1, 50)


@pytest.mark.parametrize("family", MODELS)
def test_single_precision_stays_where_it_suffices(family):
    sample = case(family)
    X = sample.X.astype(np.float32)
    model = MODELS[family](alpha=1e-1, tol=1e-3).fit(X, sample.y)
    assert model.coef_.dtype == np.float32
    assert model.result_.certified
    tight = MODELS[family](alpha=1e-3, tol=1e-12).fit(X, sample.y)
    assert tight.coef_.dtype == np.float64
    assert tight.gap_bound_ <= 1e-12


def test_the_stages_of_a_fit_are_logged(caplog):
    sample = case("squared")
    with caplog.at_level(logging.INFO, logger="minmin"):
        MODELS["squared"](alpha=1e-3, tol=1e-12).fit(sample.X.astype(np.float32), sample.y)
    stages = [record.getMessage() for record in caplog.records if record.name == "minmin"]
    beginnings = [
        "6 columns count as cheap; the null model has f = ",
        "reduced-newton begins, with x as the outer block",
        "reduced-newton has ended as stalled after ",
        "single precision does not reach tol = 1e-12; the fit goes on in float64",
        "reduced-newton begins, with x as the outer block",
        "reduced-newton has ended as converged after ",
    ]
    assert [stage[: len(beginning)] for stage, beginning in zip(stages, beginnings, strict=True)] == beginnings


def test_the_splits_of_a_cross_validation_are_logged(caplog):
    sample = case("squared")
    with caplog.at_level(logging.INFO, logger="minmin"):
        BlockRidgeCV(alphas=[1.0, 0.1], cv=2).fit(sample.X, sample.y)
    assert [message for message in caplog.messages if message.startswith("split")] == [
        "split 0: 2 fits",
        "split 1: 2 fits",
    ]


def least_squares_gap(model, X, y, weights, alpha):
    """f - f* of a ridge without an intercept, from its gradient."""
    weights = weights / weights.sum()
    hessian = (X.T * weights) @ X + alpha * np.eye(X.shape[1])
    gradient = X.T @ (weights * (X @ model.coef_ - y)) + alpha * model.coef_
    return 0.5 * gradient @ np.linalg.solve(hessian, gradient)


@pytest.mark.parametrize("path", [False, True])
def test_the_bound_is_about_targets_and_weights_that_single_precision_would_round(path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5)).astype(np.float32)
    y = 1e7 * (X @ np.arange(5.0) + rng.standard_normal(200))
    weights = rng.uniform(0.5, 1.0, 200)
    model = BlockRidgeCV(alphas=[1e-3], cv=2) if path else BlockRidge(alpha=1e-3)
    model.set_params(fit_intercept=False, tol=1e-12).fit(X, y, weights)
    assert model.result_.certified
    assert model.coef_.dtype == np.float64
    assert least_squares_gap(model, X.astype(np.float64), y, weights, 1e-3) <= model.gap_bound_ <= 1e-12 * np.mean(y**2)


def test_weights_may_be_outside_of_single_precision():
    sample = case("squared")
    X = sample.X.astype(np.float32)
    reference = BlockRidge().fit(X, sample.y).coef_
    for weight in (1e-60, 1e60):
        np.testing.assert_allclose(BlockRidge().fit(X, sample.y, np.full(len(X), weight)).coef_, reference, atol=1e-3)


@pytest.mark.parametrize("family", MODELS)
def test_a_fit_is_pickled_without_its_data(family):
    sample = case(family, n=5000)
    model = MODELS[family](BLOCKS, alpha=(1e-2, 0.0)).fit(sample.X, sample.y)
    kept = pickle.dumps(model)
    assert len(kept) < sample.y.nbytes / 2
    again = pickle.loads(kept)
    np.testing.assert_array_equal(again.predict(sample.X), model.predict(sample.X))
    assert again.result_.calls == model.calls_
    assert len(again.result_.history) == len(model.result_.history)


@pytest.mark.parametrize("cheap", [None, ()], ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_one_column(fit_intercept, cheap):
    X, y, _ = case("squared")
    model = BlockRidge(alpha=0.0, fit_intercept=fit_intercept, cheap=cheap, tol=1e-12)
    if cheap is None:
        model.fit(X[:, :1], y)
        design = np.column_stack([X[:, :1], np.ones(120)])[:, : 1 + fit_intercept]
        np.testing.assert_allclose(model.coef_[0], np.linalg.lstsq(design, y)[0][0], rtol=1e-6)
    else:
        assert model.set_params(alpha=1.0).fit(X[:, :1], y).coef_.shape == (1,)


def test_parameters_stay_as_they_were_given():
    blocks = {"a": [0, 1], "b": slice(2, 4)}
    model = BlockRidge(blocks, alpha={"a": 1.0, "b": 2.0, "rest": 0.0})
    model.fit(*case("squared")[:2])
    assert model.get_params()["blocks"] is blocks
    assert clone(model).get_params()["blocks"] == blocks


def test_time_that_runs_out_is_a_warning():
    X, labels = minmin.datasets.load_a1a()
    with pytest.warns(ConvergenceWarning, match="was not proved"):
        model = BlockLogisticRegression(alpha=1e-6, max_seconds=1e-9).fit(X, labels)
    assert model.result_.status == "budget"
    assert model.coef_.shape == (1, 119)


def test_a_bound_that_is_only_estimated_is_a_warning():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    with pytest.warns(ConvergenceWarning, match="was not proved"):
        model = BlockRidge(alpha=0.0).fit(np.hstack([X, X]), rng.standard_normal(60))
    assert not model.result_.certified


def test_a_keyboard_interrupt_goes_on_to_whoever_called(monkeypatch):
    def interrupted(*arguments, **options):
        return replace(minmin.minimize(*arguments, **options), status="interrupted")

    monkeypatch.setattr("minmin.estimators.model.minimize", interrupted)
    with pytest.raises(KeyboardInterrupt):
        BlockRidge().fit(*case("squared")[:2])


def test_progress_is_shown_on_request(capsys):
    sample = case("logistic")
    BlockLogisticRegression(verbose=True).fit(sample.X, sample.y)
    assert "gap ≤" in capsys.readouterr().err
    BlockLogisticRegression().fit(sample.X, sample.y)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("mean", [0.0, 3e4, -1e6, 1e9])
@pytest.mark.parametrize("kind", [BlockRidge, BlockRidgeCV])
def test_ridge_far_from_zero_is_proved_as_well(kind, mean):
    """An intercept takes the target's mean up; what is left is fitted as if there were none."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 5))
    y = X @ np.arange(1.0, 6.0) + rng.standard_normal(200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near, far = kind().fit(X, y), kind().fit(X, y + mean)
    assert far.gap_bound_ <= far.tol
    assert far.result_.certified
    allowed = 1e-5 + 1e-15 * abs(mean)
    assert np.allclose(far.coef_, near.coef_, rtol=0.0, atol=20 * allowed)
    assert far.intercept_ - mean == pytest.approx(near.intercept_, abs=20 * allowed)
    assert far.predict(X) == pytest.approx(near.predict(X) + mean, abs=100 * allowed)


def test_a_warm_start_of_ridge_far_from_zero_begins_at_the_minimum():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((100, 4))
    y = X.sum(axis=1) + 1e7
    model = BlockRidge(warm_start=True).fit(X, y)
    value = model.result_.history.value
    assert value[0] > value[-1] + 0.1
    again = model.fit(X, y).result_.history.value
    assert again[0] == pytest.approx(value[-1], abs=1e-6)

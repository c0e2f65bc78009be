"""Data at the edges: no rows, indices out of range, masked entries, missing targets, huge and tiny numbers."""

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse

from estimators.cases import MODELS, case
from minmin import InputError
from minmin.estimators import (
    BlockHuberRegressor,
    BlockLogisticRegression,
    BlockLogisticRegressionCV,
    BlockPoissonRegressor,
    BlockRidge,
    BlockRidgeCV,
    text_columns,
)

X, Y, _ = case("squared", n=30)
LABELS = (Y.mean() < Y).astype(int)
FRAME = pandas.DataFrame({"size": X[:, 0], "kind": ["a", "b", "c"] * 10})
TARGETS = {BlockRidge: Y, BlockPoissonRegressor: np.abs(Y), BlockLogisticRegression: LABELS}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("columns", [["size"], ["size", "kind"]])
def test_no_rows_are_refused_in_scikit_learns_words(kind, columns):
    frame, target = FRAME[columns], TARGETS[kind]
    model = kind().fit(frame, target)
    for name in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        if hasattr(model, name):
            with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
                getattr(model, name)(frame[:0])
    for method in (model.score, model.summary, kind().fit):
        with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
            method(frame[:0], target[:0])


def damage(layout, index):
    """A sparse matrix with an index that is out of range."""
    matrix = getattr(scipy.sparse, f"{layout}_array")(X)
    numbers = matrix.col if layout == "coo" else matrix.indices
    numbers[3] = index
    return matrix


@pytest.mark.parametrize("index", [-1, 1000])
@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "coo"])
def test_indices_out_of_range(layout, index):
    for call in (lambda wrong: BlockRidge().fit(wrong, Y), BlockRidge().fit(X, Y).predict):
        with pytest.raises(InputError, match=f"X is not a valid {layout} matrix: .*; build it anew"):
            call(damage(layout, index))


MASKED = np.ma.masked_greater(Y, 2.0)
GIVEN = {
    "X": {"X": np.ma.masked_greater(X, 1.0)},
    "y": {"y": MASKED},
    "sample_weight": {"sample_weight": np.abs(MASKED)},
    "offset": {"offset": MASKED},
}


@pytest.mark.parametrize("name", GIVEN)
def test_masked_entries_are_refused(name):
    for model in (BlockRidge(), BlockRidgeCV(alphas=[1.0, 2.0])):
        with pytest.raises(InputError, match=f"{name} is a masked array with masked entries; fill them"):
            model.fit(**{"X": X, "y": Y, **GIVEN[name]})
    with pytest.raises(InputError, match=f"{name} is a masked array"):
        BlockRidge().fit(X, Y).score(**{"X": X, "y": Y, **GIVEN[name]})


def test_a_masked_array_without_masked_entries_is_an_array():
    model = BlockRidge().fit(np.ma.masked_array(X), np.ma.masked_array(Y))
    assert np.array_equal(model.coef_, BlockRidge().fit(X, Y).coef_)


@pytest.mark.parametrize("kind", [BlockLogisticRegression, BlockLogisticRegressionCV])
def test_tensors_that_record_gradients(kind):
    torch = pytest.importorskip("torch", reason="needs minmin[torch]")
    options = {"alphas": [1.0, 0.1]} if kind is BlockLogisticRegressionCV else {}
    arrays = X, LABELS.astype(float), np.abs(Y)
    model = kind(**options).fit(*(torch.tensor(array, requires_grad=True) for array in arrays))
    assert np.array_equal(model.coef_, kind(**options).fit(*arrays).coef_)
    offset = torch.tensor(Y, requires_grad=True)
    assert np.array_equal(model.decision_function(X, offset), model.decision_function(X, Y))


def test_lazy_frames_are_to_be_collected():
    frame = polars.from_pandas(FRAME)
    model = BlockRidge().fit(frame, Y)
    for call in (lambda X: BlockRidge().fit(X, Y), model.predict, text_columns, lambda X: model.summary(X, Y)):
        with pytest.raises(InputError, match=r"X is a LazyFrame .*; give X.collect\(\)"):
            call(frame.lazy())
    with pytest.raises(InputError, match=r"y is a LazyFrame .*; give y.collect\(\)"):
        BlockRidge().fit(frame, polars.LazyFrame({"y": Y}))


@pytest.mark.parametrize("names", [["size", "size"], [0, 0]])
def test_columns_of_the_same_name(names):
    twice = pandas.DataFrame(X[:, :2], columns=names)
    model = BlockRidge().fit(X[:, :2], Y)
    for call in (
        lambda: BlockRidge().fit(twice, Y),
        lambda: model.predict(twice),
        lambda: model.standard_errors(twice, Y),
    ):
        with pytest.raises(InputError, match=f"two columns of X are called {names[0]!r}; rename one"):
            call()


@pytest.mark.parametrize("missing", [None, pandas.NA, np.nan])
@pytest.mark.parametrize("labels", [["a", "b"], [0, 1], [0.5, 1.5]])
def test_a_missing_target_is_named_with_its_row(missing, labels):
    y = np.array(labels * 15, dtype=object)
    y[4] = missing
    for target in (y, list(y), pandas.Series(y)):
        for model in (BlockLogisticRegression(), BlockRidge()):
            if isinstance(labels[0], str) and isinstance(model, BlockRidge):
                continue  # for which the text comes first
            with pytest.raises(InputError, match=r"y\[4\] is (None|nan|<NA>): that target is missing; leave its row"):
                model.fit(X, target)


@pytest.mark.parametrize(("weight", "words"), [(-1, "= -1 must be"), (np.inf, "= inf must be"), ("a", "must be a num")])
def test_class_weights_that_are_none(weight, words):
    with pytest.raises(InputError, match=f"class_weight of class 1 {words}"):
        BlockLogisticRegression(class_weight={0: 1.0, 1: weight}).fit(X, LABELS)


@pytest.mark.parametrize("model", [BlockRidge(), BlockHuberRegressor(), BlockRidge(fit_intercept=False)])
def test_targets_whose_loss_leaves_the_range_of_numbers(model):
    with pytest.raises(InputError, match=r"the loss underflows: the targets are up to .*e-200; give y in other units"):
        model.fit(X, 1e-200 * Y)
    if not isinstance(model, BlockHuberRegressor):
        with pytest.raises(InputError, match=r"the loss overflows: the targets are up to .*e\+200"):
            model.fit(X, 1e200 * Y)


def test_targets_that_are_all_alike_are_fitted():
    for value in (0.0, 3.0):
        model = BlockRidge().fit(X, np.full(30, value))
        assert model.result_.certified
        assert model.predict(X) == pytest.approx(np.full(30, value))


@pytest.mark.parametrize("kind", [*TARGETS, BlockRidgeCV])
def test_a_huge_column_is_named(kind):
    frame = pandas.DataFrame(X).add_prefix("c").assign(far=1e200 * X[:, 0])
    with pytest.raises(InputError, match=r"column 'far' holds numbers so large that their squares overflow; give it"):
        kind().fit(frame, TARGETS.get(kind, Y))


@pytest.mark.parametrize(
    "make", [np.asarray, scipy.sparse.csr_array, lambda X: pandas.DataFrame(X).add_prefix("c").assign(kind="a")]
)
@pytest.mark.parametrize("family", MODELS)
def test_a_row_without_weight_is_as_if_it_were_not_there(family, make):
    sample = case(family, n=30)
    wild, y = sample.X.copy(), sample.y.astype(float)
    wild[3] = 1e300
    y[3] = 1.0 if family == "logistic" else 1e300
    kept = np.arange(30) != 3
    model = MODELS[family]().fit(make(wild), y, sample_weight=sample.weights * kept)
    same = MODELS[family]().fit(make(sample.X[kept]), y[kept], sample_weight=sample.weights[kept])
    assert model.result_.certified
    assert model.coef_ == pytest.approx(same.coef_, rel=1e-4, abs=1e-9)
    assert model.intercept_ == pytest.approx(same.intercept_, rel=1e-4, abs=1e-9)


def test_a_row_without_weight_does_not_choose_the_grid():
    wild = X.copy()
    wild[3] = 1e300
    weights = (np.arange(30) != 3).astype(float)
    splits = [(np.arange(15), np.arange(15, 30)), (np.arange(15, 30), np.arange(15))]
    grids = [
        BlockRidgeCV(alphas=3, cv=splits).fit(data, Y, sample_weight=weights).cv_results_["params"]
        for data in (wild, X)
    ]
    assert grids[0] == grids[1]


def test_robust_errors_with_class_weights_leave_out_rows_without_weight():
    wild = X.copy()
    wild[3] = 1e300
    weights = (np.arange(30) != 3).astype(float)
    model = BlockLogisticRegression(class_weight={0: 1.0, 1: 2.0}, alpha=0.1, tol=1e-9)
    errors = model.fit(wild, LABELS, weights).standard_errors(wild, LABELS, weights, robust=True)
    kept = weights > 0.0
    same = model.fit(X[kept], LABELS[kept]).standard_errors(X[kept], LABELS[kept], robust=True)
    assert errors.coef == pytest.approx(same.coef, rel=1e-6)

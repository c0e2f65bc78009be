"""Named arrays of a model, shared and private: they come back as they were, and a run knows them only as x and y."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minmin
from minmin import federated
from minmin.problems import GLM, Function

shapes = st.lists(st.integers(1, 3), max_size=3).map(tuple)


@given(st.dictionaries(st.text("ab.", min_size=1, max_size=4), shapes, min_size=2), st.data())
def test_every_array_comes_back(layout_shapes, data):
    rng = np.random.default_rng(0)
    model = {name: rng.standard_normal(shape) for name, shape in layout_shapes.items()}
    count = data.draw(st.integers(1, len(model) - 1))
    private = data.draw(st.permutations(sorted(model)))[:count]
    layout = federated.Layout(model, private)
    back = layout.model(layout.x0, layout.y0)
    assert set(layout.private(layout.y0)) == set(private)
    assert set(back) == set(model)
    assert all(np.array_equal(back[name], model[name]) and back[name].shape == model[name].shape for name in model)
    assert layout.x0.size + layout.y0.size == sum(array.size for array in model.values())


class Ward:
    """A logistic model with two classes' weights, a shared and a private part, and a bias, by their names."""

    def __init__(self, seed, n=60):
        rng = np.random.default_rng(seed)
        self.X, self.Y = rng.standard_normal((n, 6)), np.hstack([rng.standard_normal((n, 2)), np.ones((n, 1))])
        self.target = np.where(rng.uniform(size=n) < 0.5, 1.0, -1.0)
        self.glm = GLM(self.X, self.Y, self.target, alpha_x=0.1, alpha_y=0.05)

    def _at(self, model):
        y = np.concatenate([model["head.weight"].ravel(), model["head.bias"]])
        return self.glm.fix(model["body"].ravel()).at(y)

    def value(self, model):
        return self._at(model).value

    def gradient(self, model, names):
        if names == ["body"]:
            return {"body": self._at(model).grad_x.reshape(2, 3)}
        slope = self._at(model).grad_y
        return {"head.weight": slope[:2].reshape(1, 2), "head.bias": slope[2:]}

    def accuracy(self, model):
        y = np.concatenate([model["head.weight"].ravel(), model["head.bias"]])
        return np.mean((self.X @ model["body"].ravel() + self.Y @ y > 0) == (self.target > 0))


MODEL = {"head.weight": np.zeros((1, 2)), "body": np.zeros((2, 3)), "head.bias": np.zeros(1)}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "processes"])
def test_a_run_by_names_is_the_run_by_x_and_y(engine):
    layout = federated.Layout(MODEL, private=["head.*"])
    wards = [Ward(seed) for seed in range(3)]
    named = [
        federated.Client(layout.problem(w.value, w.gradient, constants=w.glm.constants), y0=layout.y0) for w in wards
    ]
    plain = [federated.Client(Function(*callables(w), d_x=6, d_y=3, constants=w.glm.constants)) for w in wards]
    ours = federated.run(named, "reduced-lbfgs", engine=engine, x0=layout.x0, tol=1e-9, inner_tolerance_ratio=1e-3)
    theirs = federated.run(plain, "reduced-lbfgs", tol=1e-9, inner_tolerance_ratio=1e-3)
    assert ours.success
    assert np.array_equal(ours.x, theirs.x)
    assert layout.shared(ours.x)["body"].shape == (2, 3)
    assert set(layout.private(named[0].y)) == {"head.weight", "head.bias"}


def callables(ward):
    def at(x, y):
        return ward.glm.fix(x).at(y)

    return lambda x, y: at(x, y).value, lambda x, y: at(x, y).grad_x, lambda x, y: at(x, y).grad_y


def test_metrics_know_the_model_by_its_names():
    layout, ward = federated.Layout(MODEL, private="head.*"), Ward(0)
    problem = layout.problem(ward.value, ward.gradient, constants=ward.glm.constants)
    client = federated.Client(problem, metrics={"accuracy": layout.metric(ward.accuracy)})
    r = federated.run([client], tol=1e-8)
    told = federated.evaluate([client], r.x)
    assert told["accuracy"][0] == ward.accuracy(layout.model(r.x, client.y))
    assert 0.5 < told["accuracy"][0] <= 1.0


@pytest.mark.parametrize(
    ("model", "private", "words"),
    [
        ({}, ["a"], "mapping of names"),
        ([1.0], ["a"], "mapping of names"),
        ({"a": [1.0], "b": [1.0]}, ["c"], "matches no name of the model: a, b"),
        ({"a": [1.0], "b": [1.0]}, ["*"], "at least one shared and one private array"),
        ({"a": [1.0], "b": [1.0]}, [], "at least one shared and one private array"),
        ({"a": np.ones(2, "float32"), "b": [1.0]}, ["a"], "float"),
        ({"a": ["no"], "b": [1.0]}, ["a"], "the model's 'a'"),
    ],
)
def test_models_that_cannot_be_are_refused(model, private, words):
    with pytest.raises(minmin.MinMinError, match=words):
        federated.Layout(model, private)


def test_vectors_and_gradients_of_other_shapes_are_refused():
    layout, ward = federated.Layout(MODEL, private=["head.*"]), Ward(0)
    with pytest.raises(minmin.MinMinError, match=r"x has shape \(5,\); this layout needs \(6,\)"):
        layout.shared(np.zeros(5))
    missing = layout.problem(ward.value, lambda model, names: {})
    flat = layout.problem(ward.value, lambda model, names: {name: np.zeros(6) for name in names})
    for problem, words in [(missing, "returned nothing for 'body'"), (flat, r"gradient\['body'\] has shape")]:
        with pytest.raises(minmin.MinMinError, match=words):
            _ = problem.fix(layout.x0).at(layout.y0).grad_x

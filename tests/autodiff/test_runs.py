"""Runs on functions of JAX and PyTorch: the same steps as on a GLM, answers as the examples, exact counts."""

import pickle
from collections import Counter

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import minmin
from autodiff.functions import LIBRARIES, Layer, leaves_of
from minmin.core.arrays import to_numpy
from minmin.problems import GLM

RNG = np.random.default_rng(0)
X, Y, LABELS = (
    RNG.standard_normal((60, 6)),
    RNG.standard_normal((60, 2)),
    np.where(RNG.uniform(size=60) < 0.5, 1.0, -1.0),
)
ALPHA_X, ALPHA_Y = 1e-2, 1e-3
MODEL = GLM(X, Y, LABELS, "logistic", alpha_x=ALPHA_X, alpha_y=ALPHA_Y)
STARTS = {
    "jax": lambda: ({"w": jnp.zeros((2, 3))}, [jnp.zeros(2)]),
    "torch": lambda: ({"w": torch.zeros((2, 3), dtype=torch.float64)}, [torch.zeros(2, dtype=torch.float64)]),
}


def loss_of_jax(x, y):
    margins = X @ x["w"].reshape(-1) + Y @ y[0]
    return jnp.logaddexp(0, -LABELS * margins).mean() + ALPHA_X / 2 * jnp.sum(x["w"] ** 2) + ALPHA_Y / 2 * y[0] @ y[0]


def loss_of_torch(x, y):
    margins = torch.tensor(X) @ x["w"].reshape(-1) + torch.tensor(Y) @ y[0]
    losses = torch.nn.functional.softplus(-torch.tensor(LABELS) * margins, threshold=50)
    return losses.mean() + ALPHA_X / 2 * torch.sum(x["w"] ** 2) + ALPHA_Y / 2 * y[0] @ y[0]


LOSSES = {"jax": loss_of_jax, "torch": loss_of_torch}


@pytest.fixture(scope="module")
def problems():
    """One per library, so that JAX compiles each function once."""
    return {name: LIBRARIES[name].make(LOSSES[name], *STARTS[name](), constants=MODEL.constants) for name in LIBRARIES}


@pytest.fixture(params=LIBRARIES)
def library(request):
    return request.param


def test_reduced_newton_takes_the_steps_that_it_takes_on_the_glm(problems, library):
    mine = minmin.minimize(problems[library], method="reduced-newton", tol=1e-10)
    theirs = minmin.minimize(MODEL, method="reduced-newton", tol=1e-10)
    assert mine.certified
    assert mine.nit == theirs.nit
    assert mine.calls["grad_x"] == theirs.calls["grad_x"]
    assert np.allclose(mine.history.value, theirs.history.value, rtol=1e-14, atol=1e-15)
    assert np.allclose(to_numpy(mine.x["w"]).reshape(-1), theirs.x, atol=1e-13)


@pytest.mark.parametrize("method", ["reduced-lbfgs", "bam", "nag"])
def test_methods_take_the_calls_that_they_take_on_the_glm(problems, library, method):
    mine, theirs = (minmin.minimize(p, method=method, tol=1e-8) for p in (problems[library], as_function()))
    assert mine.certified
    for kind in ("grad_x", "grad_y"):
        assert mine.calls[kind] == theirs.calls[kind]
    assert mine.calls["value"] == mine.calls["grad_x"], "f is computed on the way to ∇ₓf"
    assert mine.fun == pytest.approx(theirs.fun, abs=1e-13)


def as_function():
    """The GLM by callables, with the same constants."""
    return minmin.problems.Function(
        lambda x, y: MODEL.fix(x).at(y).value,
        lambda x, y: MODEL.fix(x).at(y).grad_x,
        lambda x, y: MODEL.fix(x).at(y).grad_y,
        d_x=6,
        d_y=2,
        constants=MODEL.constants,
    )


def test_a_start_is_the_example_unless_another_is_given(problems, library):
    problem = problems[library]
    r = minmin.minimize(problem, tol=1e-6)
    again = minmin.minimize(problem, r.x, r.y, tol=1e-6)
    assert again.calls["grad_x"] <= 1
    with pytest.raises(minmin.InputError, match=r"x0\['w'\] has shape \(3, 2\); it must have \(2, 3\)"):
        minmin.minimize(problem, {"w": np.zeros((3, 2))})
    with pytest.raises(minmin.InputError, match=r"x0 has no 'w'; give a dict with the keys 'w'"):
        minmin.minimize(problem, {"v": np.zeros((2, 3))})
    with pytest.raises(minmin.InputError, match=r"y0\[0\] holds nan at index 1"):
        minmin.minimize(problem, y0=[np.array([0.0, np.nan])])


def test_callbacks_see_the_structure(problems, library):
    seen = []
    minmin.minimize(problems[library], tol=1e-4, callback=lambda record: seen.append(record.x["w"].shape))
    assert set(seen) == {(2, 3)}


def test_a_run_resumes_from_its_checkpoint(problems, library, tmp_path):
    problem, file = problems[library], tmp_path / "run.minmin"
    whole = minmin.minimize(problem, tol=1e-8)
    assert minmin.minimize(problem, tol=1e-8, max_grad_x=4, checkpoint=file).status == "budget"
    resumed = minmin.minimize(problem, tol=1e-8, checkpoint=file)
    assert resumed.calls == whole.calls
    assert np.array_equal(to_numpy(resumed.x["w"]), to_numpy(whole.x["w"]))


def test_a_copy_is_the_same_problem(problems, library):
    twin = pickle.loads(pickle.dumps(problems[library]))
    one, other = (minmin.minimize(p, tol=1e-4) for p in (problems[library], twin))
    assert one.calls == other.calls
    assert np.array_equal(to_numpy(one.x["w"]), to_numpy(other.x["w"]))


def test_check_finds_nothing_wrong(problems, library):
    report = minmin.check(problems[library])
    assert report.ok, str(report)


def test_clients_keep_their_structures(problems, library):
    problem = problems[library]
    clients = [minmin.federated.Client(problem, metrics={"norm": lambda x, y: float((x["w"] ** 2).sum())})]
    r = minmin.federated.run(clients, tol=1e-8)
    alone = minmin.minimize(minmin.Sum([problem]), tol=1e-8)
    assert np.array_equal(to_numpy(r.x["w"]), to_numpy(alone.x["w"]))
    assert np.array_equal(to_numpy(clients[0].y[0]), to_numpy(alone.y[0][0]))
    assert type(r.x["w"]) is type(problem.structure_x.prototype)
    measured = minmin.federated.evaluate(clients, r.x)["norm"]
    assert measured == pytest.approx(float((to_numpy(r.x["w"]) ** 2).sum()))


def test_terms_and_a_sum(problems, library):
    boxed = minmin.minimize(problems[library], bounds_x=(0.0, None), tol=1e-8)
    assert boxed.certified
    assert to_numpy(boxed.x["w"]).min() >= 0.0
    summed = minmin.minimize(minmin.Sum([problems[library]] * 2), tol=1e-8)
    assert summed.y[1][0].shape == (2,)
    assert summed.fun == pytest.approx(minmin.minimize(MODEL, tol=1e-10).fun, abs=1e-8)


def test_problems_that_share_x_must_have_it_in_one_structure():
    def fun(x, y):
        return ((x["a"] - 1.0) ** 2).sum() + ((x["b"] + 1.0) ** 2).sum() + (y**2).sum()

    one, other = ({key: torch.zeros(2) for key in keys} for keys in ("ab", "ba"))
    terms = [minmin.problems.from_torch(fun, x0, torch.ones(2)) for x0 in (one, other)]
    with pytest.raises(minmin.InputError, match=r"another structure in term 1 .*keys in the same order"):
        minmin.Sum(terms)
    with pytest.raises(minmin.InputError, match=r"another structure in client 1 .*keys in the same order"):
        minmin.federated.run([minmin.federated.Client(term) for term in terms])


def test_prepare_runs_once_for_every_x():
    """PyTorch runs the functions each time, so that they can count."""
    ran = Counter()

    def prepare(x):
        ran["prepare"] += 1
        return {
            "images": torch.tensor(X) @ x["w"].reshape(-1),
            "penalty": ALPHA_X / 2 * torch.sum(x["w"] ** 2),
            "n": 60,
        }

    def fun(prepared, y):
        ran["fun"] += 1
        margins = prepared["images"] + torch.tensor(Y) @ y[0]
        losses = torch.nn.functional.softplus(-torch.tensor(LABELS) * margins, threshold=50)
        return losses.sum() / prepared["n"] + prepared["penalty"] + ALPHA_Y / 2 * y[0] @ y[0]

    problem = minmin.problems.from_torch(fun, *STARTS["torch"](), prepare=prepare, constants=MODEL.constants)
    ran.clear()
    r = minmin.minimize(problem, method="reduced-lbfgs", tol=1e-8)
    assert ran["fun"] == r.calls["grad_x"] + r.calls["grad_y"] + r.calls["monitor"]
    assert ran["prepare"] <= r.calls["grad_x"]
    direct = minmin.minimize(minmin.problems.from_torch(loss_of_torch, *STARTS["torch"]()), tol=1e-8)
    assert r.fun == pytest.approx(direct.fun, abs=1e-8)
    newton = minmin.minimize(problem, method="reduced-newton", tol=1e-8)
    assert newton.nit == minmin.minimize(MODEL, method="reduced-newton", tol=1e-8).nit


def test_prepare_of_jax_may_hold_integers():
    def prepare(x):
        return {"x": 2.0 * x, "sizes": jnp.arange(3)}

    def fun(prepared, y):
        return jnp.sum((prepared["x"] - 0.1 * prepared["sizes"] - y) ** 2) + 0.1 * jnp.sum(y**2)

    problem = minmin.problems.from_jax(fun, jnp.ones(3), 0.0 * jnp.ones(3), prepare=prepare)
    assert minmin.check(problem).ok
    r = minmin.minimize(problem, tol=1e-10)
    assert np.allclose(2.0 * r.x, 0.1 * np.arange(3), atol=1e-4)


def test_everything_comes_back_as_it_went_in(library):
    array, dtypes = LIBRARIES[library].asarray, ("float32", "float64")
    xp = LIBRARIES[library].xp
    x0 = {
        "layer": Layer(array(np.ones((2, 2)), "float64"), [array(np.ones(()), "float32"), np.float32(1.0)]),
        "empty": array(np.zeros((0, 3)), "float64"),
        "nothing": None,
        3: (1.0, np.ones(2)),
    }

    def fun(x, y):
        leaves = [xp.reshape(leaf, (-1,)) for leaf in leaves_of(x) if leaf is not None]
        return sum(xp.sum((leaf - 0.25) ** 2) for leaf in leaves) + xp.sum((y - leaves[0][0]) ** 2)

    r = minmin.minimize(LIBRARIES[library].make(fun, x0, 2.0), tol=1e-4)
    assert list(r.x) == list(x0)
    assert type(r.x["layer"]) is Layer
    assert r.x["nothing"] is None
    for before, after in zip(leaves_of(x0), leaves_of(r.x), strict=True):
        assert type(after) is type(before)
        assert getattr(after, "shape", None) == getattr(before, "shape", None)
        assert getattr(after, "dtype", None) == getattr(before, "dtype", None)
        assert before is None or np.allclose(np.asarray(after), 0.25, atol=0.05)
    assert type(r.y) is float
    assert {str(leaf.dtype).rsplit(".")[-1] for leaf in leaves_of(x0) if hasattr(leaf, "dtype")} == set(dtypes)


def test_tensors_that_record_gradients_are_a_start():
    module = torch.nn.Linear(3, 2)
    parameters = dict(module.named_parameters())

    def fun(x, y):
        return sum((p - 1.0).square().sum() for p in x.values()) + (y - x["bias"]).square().sum()

    r = minmin.minimize(minmin.problems.from_torch(fun, parameters, torch.zeros(2)), tol=1e-6)
    assert r.success
    assert not r.x["weight"].requires_grad
    with pytest.raises(minmin.InputError, match=r"x0 is a Linear; .* such as dict\(module.named_parameters\(\)\)"):
        minmin.problems.from_torch(fun, module, torch.zeros(2))


def test_a_function_that_is_not_convex_says_so(library):
    xp, array = LIBRARIES[library].xp, LIBRARIES[library].asarray

    def fun(x, y):
        return xp.sum((x**2 - 1.0) ** 2) + xp.sum((y - x) ** 2)

    start = array([0.3, -0.2], "float64")
    r = minmin.minimize(LIBRARIES[library].make(fun, start, start), tol=1e-8)
    assert r.status == "stalled"
    assert "not convex" in r.message
    assert not r.certified
    assert minmin.minimize(LIBRARIES[library].make(fun, start, start), tol=1e-8, assume_convex=False).success

"""Split: f + g over the same variables is a problem like any other, and counts f and g apart."""

import copy
import pickle

import numpy as np
import pytest

import minmin
from minmin.core.counting import Tally
from minmin.problems import GLM, Composite, Function, Quadratic, Split
from minmin.terms import L1
from reference import ExactQuadratic, as_function, random_glm


def two_quadratics(d_x=5, d_y=3):
    f = Quadratic.random(d_x=d_x, d_y=d_y, L_x=5.0, L_y=8.0, coupling=1.0, seed=1)
    g = Quadratic.random(d_x=d_x, d_y=d_y, L_x=60.0, L_y=90.0, coupling=1.0, seed=2)
    return f, g


def written_out(split):
    return Quadratic(split.f.H + split.g.H, split.f.b + split.g.b, split.d_x)


def glm_and_quadratic():
    f = random_glm(np.random.default_rng(5))
    return Split(f, Quadratic.random(d_x=f.d_x, d_y=f.d_y, L_x=40.0, L_y=40.0, seed=3))


@pytest.mark.parametrize("make", [lambda: Split(*two_quadratics()), glm_and_quadratic])
def test_a_split_keeps_what_a_problem_promises(make):
    problem = make()
    report = minmin.check(problem)
    assert report.ok, str(report)
    r = minmin.minimize(problem, tol=1e-8)
    assert r.certified
    for twin in (copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        again = minmin.minimize(twin, tol=1e-8)
        assert np.array_equal(again.x, r.x)
        assert again.calls == r.calls


def test_values_and_gradients_are_sums():
    split = Split(*two_quadratics())
    whole, rng = written_out(split), np.random.default_rng(0)
    x, y = rng.standard_normal(5), rng.standard_normal(3)
    ours, theirs = split.fix(x).at(y), whole.fix(x).at(y)
    assert ours.value == pytest.approx(theirs.value)
    assert np.allclose(ours.grad_x, theirs.grad_x)
    assert np.allclose(ours.grad_y, theirs.grad_y)


def test_constants_are_sums_and_as_trustworthy_as_the_worse_ones():
    f, g = two_quadratics()
    c, of_f, of_g = Split(f, g).constants, f.constants, g.constants
    assert (c.L_x, c.mu_y) == (of_f.L_x + of_g.L_x, of_f.mu_y + of_g.mu_y)
    guess = minmin.Constants(1e3, 1e3, 0.1, 0.1, source="estimated")
    assert Split(f, Quadratic(g.H, g.b, 5, guess)).constants.source == "estimated"
    bare = as_function(g)
    assert Split(f, Function(None, bare.grad_x, bare.grad_y, d_x=5, d_y=3)).constants is None


@pytest.mark.parametrize("method", ["reduced-lbfgs", "bam", "nag", "acdm", "lincoupling", "inexact-outer", "sliding"])
def test_every_method_finds_the_minimum_of_the_sum(method):
    split = Split(*two_quadratics())
    r = minmin.minimize(split, method=method, tol=1e-7)
    assert r.success
    assert r.certified
    assert ExactQuadratic(written_out(split)).gap(r.x, r.y) <= r.gap_bound


@pytest.mark.parametrize("options", [{}, {"outer": "y"}])
@pytest.mark.parametrize("method", ["bam", "reduced-lbfgs"])
def test_f_counts_the_gradients_and_each_counts_its_points(method, options):
    f, g = two_quadratics()
    of_f, of_g = {}, {}
    split = Split(as_function(f, of_f), as_function(g, of_g))
    r = minmin.minimize(split, method=method, tol=1e-6, **options)
    assert (r.calls["grad_x"], r.calls["grad_y"]) == (of_f["grad_x"], of_f["grad_y"])
    assert of_g["grad_x"] == of_f["grad_x"]
    assert of_g["grad_y"] == of_f["grad_y"]
    assert r.calls["value"] + r.calls["monitor"] == of_f["value"] == of_g["value"]
    assert max(of_f["grad_x"], of_f["grad_y"]) <= r.calls["grad_f"] <= of_f["grad_x"] + of_f["grad_y"]
    assert r.calls["grad_f"] == r.calls["grad_g"]


def test_a_point_counts_once_whatever_the_blocks():
    tally = Tally()
    split = Split(*two_quadratics()).counted(tally)
    e = split.evaluate_f(np.ones(5), np.ones(3))
    assert tally.counts == {}
    assert e.grad_y is e.grad_y
    assert e.grad_x is e.grad_x
    assert tally.counts == {"grad_y": 1, "grad_x": 1, "grad_f": 1}
    e = split.evaluate_g(np.ones(5), np.ones(3))
    assert e.grad_x is e.grad_x
    assert e.grad_y is e.grad_y
    assert tally.counts == {"grad_y": 1, "grad_x": 1, "grad_f": 1, "grad_g": 1}


@pytest.mark.parametrize("method", ["sliding", "nag"])
@pytest.mark.parametrize("kind", ["grad_x", "grad_y"])
def test_a_budget_limits_the_expensive_calls(method, kind):
    counts = {}
    f, g = two_quadratics()
    r = minmin.minimize(Split(as_function(f, counts), g), method=method, tol=1e-12, **{f"max_{kind}": 4})
    assert r.status == "budget"
    assert counts[kind] == 4
    assert r.calls["grad_x"] == counts["grad_x"]
    assert r.calls["grad_f"] == max(counts["grad_x"], counts["grad_y"])


def test_constants_of_two_linear_models_are_counted_as_both():
    f = random_glm(np.random.default_rng(5))
    g = GLM(f.X, f.Y, f.target, "squared", alpha_x=0.1, alpha_y=0.1)
    alone = [minmin.minimize(p, method="nag", max_grad_x=0).calls.get("constants_passes", 0) for p in (f, g)]
    r = minmin.minimize(Split(f, g), method="sliding", max_grad_x=0)
    assert sum(alone) > 0
    assert r.calls.get("constants_passes", 0) == sum(alone)


def test_terms_belong_around_the_split():
    split = Split(*two_quadratics())
    r = minmin.minimize(Composite(split, term_x=L1(0.3)), method="nag", tol=1e-8)
    assert r.certified
    again = minmin.minimize(Composite(written_out(split), term_x=L1(0.3)), tol=1e-8)
    assert r.fun == pytest.approx(again.fun, abs=2e-8)


def test_structures_of_f_and_g_are_kept():
    def ridge(weight):
        return Function(
            lambda x, y: 0.5 * weight * float(np.sum((x["w"] - 1.0) ** 2) + np.sum(y**2)),
            lambda x, y: {"w": weight * (x["w"] - 1.0)},
            lambda x, y: weight * y,
            x0={"w": np.zeros((2, 2))},
            y0=np.ones(3),
            constants=minmin.Constants(weight, weight, weight, weight),
        )

    r = minmin.minimize(Split(ridge(1.0), ridge(50.0)), method="sliding", tol=1e-9)
    assert np.allclose(r.x["w"], np.ones((2, 2)), atol=1e-3)
    flat = Quadratic.random(d_x=4, d_y=3, L_x=2.0, L_y=2.0)
    assert minmin.minimize(Split(flat, ridge(50.0)), tol=1e-6).x["w"].shape == (2, 2)


def other_structure(name):
    examples = {"x0": {"v": np.zeros(4)}, "y0": {"u": np.zeros(3)}}
    examples[name] = {"w": np.zeros(4 if name == "x0" else 3)}
    return Function(None, lambda x, y: x, lambda x, y: y, **examples)


def test_what_does_not_fit_is_refused():
    f, g = two_quadratics()
    single = Quadratic(g.H.astype(np.float32), g.b.astype(np.float32), 5)
    wrong = (
        ((f, lambda x, y: 0.0), r"g must be a minmin problem, got function; wrap your own functions in .*Function"),
        ((None, g), "f must be a minmin problem, got NoneType"),
        ((f, Quadratic.random(d_x=5, d_y=4)), r"f has d_x = 5 and d_y = 3, and g has d_x = 5 and d_y = 4"),
        ((f, minmin.Sum([g])), "g is a Sum or a federation, whose y has several parts"),
        ((Composite(f, term_x=L1(0.1)), g), r"f has a term; .* Composite\(Split\(f, g\)"),
        ((Split(f, g), g), "f is a Split itself"),
        ((f, single), "the data of f are .*float64.* and those of g are .*float32"),
        ((other_structure("x0"), other_structure("y0")), "x has another structure in g .* give .* the same x0"),
    )
    for parts, message in wrong:
        with pytest.raises(minmin.InputError, match=message):
            Split(*parts)


def test_a_number_that_is_not_finite_is_named_by_the_one_that_has_the_structure():
    f = Function(None, lambda x, y: x, lambda x, y: y, d_x=2, d_y=1)
    nan = lambda x, y: {"a": np.full(2, np.nan)}  # noqa: E731
    g = Function(None, nan, lambda x, y: y, x0={"a": np.zeros(2)}, y0=np.zeros(1))
    for split in (Split(f, g), Split(g, f)):
        with pytest.raises(minmin.NonFiniteError, match=r"grad_x.*x\['a'\]\[0\]"):
            minmin.minimize(split, method="reduced-lbfgs", max_grad_x=5)

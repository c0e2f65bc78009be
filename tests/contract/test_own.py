"""The code of docs/extending.md runs, and what it builds keeps the promises that everything in minmin keeps."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import minmin
from contract import promises
from minmin.methods.base import NO_TARGET, Target
from minmin.problems.linear.checked_designs import make_design
from minmin.problems.linear.losses import LOSSES
from reference import random_target
from terms.cases import SIZE, TERMS

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def page():
    """What the page's code defines, as one module that pickle can find."""
    module = types.ModuleType("minmin_docs_extending")
    sys.modules[module.__name__] = module
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S)
    exec("\n".join(blocks), module.__dict__)
    yield module
    del sys.modules[module.__name__]


def test_the_problem(page):
    promises.assert_problem(page.smoothing)
    H = np.block([[np.eye(30), page.smoothing.K], [page.smoothing.K.T, page.smoothing.K.T @ page.smoothing.K]])
    H += np.diag(np.repeat([0.5, 0.01], [30, 5]))
    b = -np.concatenate([page.smoothing.b, page.smoothing.K.T @ page.smoothing.b])
    r = minmin.minimize(page.smoothing, tol=1e-10)
    assert np.allclose(np.concatenate([r.x, r.y]), np.linalg.solve(H, -b), atol=1e-4)


def test_the_loss(page):
    promises.assert_loss(page.LogCosh(), np.random.default_rng(0).standard_normal(60))
    promises.assert_loss(page.Expectile(0.8), np.random.default_rng(0).standard_normal(60))


@pytest.mark.parametrize("name", LOSSES)
def test_our_own_losses_keep_the_same_promises(name):
    promises.assert_loss(LOSSES[name], random_target(np.random.default_rng(0), name, np.zeros(50)))


def test_the_term(page):
    promises.assert_term(page.MeanAtMost(-0.1), 8)
    promises.assert_term(page.MeanAtMost(0.3), 8, seed=1)


@pytest.mark.parametrize("name", TERMS)
def test_our_own_terms_keep_the_same_promises(name):
    promises.assert_term(TERMS[name], SIZE)


def test_y_as_a_matrix(page):
    r = minmin.minimize(page.regression, tol=1e-9)
    assert r.certified
    assert r.y.shape == (5, 2)


def test_the_method(page, tmp_path):
    promises.assert_method(page.GradientDescent(), tmp_path)
    poisson = minmin.problems.GLM(np.eye(3), np.eye(3), [1, 2, 3], "poisson", alpha_x=1.0, alpha_y=1.0)
    with pytest.raises(minmin.UnsupportedError, match="'gradient-descent' needs a finite L_x"):
        minmin.minimize(poisson, method=page.GradientDescent())


def test_the_method_with_momentum(page):
    problem = minmin.problems.Quadratic.random(d_x=20, d_y=5, coupling=1.0)
    promises.assert_pure(page.HeavyBall(), problem)
    r = minmin.minimize(problem, method=page.HeavyBall(), tol=1e-8)
    assert r.certified
    assert r.calls["grad_x"] < minmin.minimize(problem, method=page.GradientDescent(), tol=1e-8).calls["grad_x"] / 5


def test_a_method_that_asks_for_it_is_told_where_the_run_ends(page):
    targets = []

    class Aiming(page.GradientDescent):
        takes_target = True

        def step(self, problem, state, target=NO_TARGET):
            targets.append(target)
            return super().step(problem, state)

    minmin.minimize(page.smoothing, method=Aiming(), tol=1e-3, rtol=1e-9, rtol_from=2.0)
    assert set(targets) == {Target(1e-3, 1e-9, 2.0)}


def test_other_data_are_another_problem(page, tmp_path):
    """A problem of one's own is told from others by its data, without a line of code."""
    p = page.smoothing
    file = tmp_path / "run.minmin"
    minmin.minimize(p, method="nag", max_grad_x=5, checkpoint=file)
    other = page.Smoothing(p.K, np.r_[p.b[:-1], p.b[-1] + 1.0], p.alpha, p.beta)
    with pytest.raises(minmin.CheckpointError, match="belongs to another problem"):
        minmin.minimize(other, method="nag", checkpoint=file)
    again = page.Smoothing(p.K.copy(), p.b.copy(), p.alpha, p.beta)
    assert minmin.minimize(again, method="nag", checkpoint=file).success


def test_a_state_that_is_not_declared_cannot_be_written(page, tmp_path):
    class Forgetful(page.GradientDescent):
        state_types = ()

    with pytest.raises(minmin.CheckpointError, match="holds a DescentState, which the method's state_types"):
        minmin.minimize(page.smoothing, method=Forgetful(), max_grad_x=3, checkpoint=tmp_path / "c")


def test_in_a_federation_a_method_without_tasks_is_told_what_to_do(page):
    clients = [minmin.federated.Client(p) for p in page.problems]
    with pytest.raises(minmin.UnsupportedError, match=r"y and ∇ᵧf stay with the clients.*run_on_parts"):
        minmin.federated.run(clients, page.GradientDescent())
    by_object = minmin.federated.run(clients, minmin.methods.Bam(inner="nag"), tol=1e-6)
    by_name = minmin.federated.run([minmin.federated.Client(p) for p in page.problems], "bam", inner="nag", tol=1e-6)
    assert np.array_equal(by_object.x, by_name.x)


def test_the_promises_see_what_is_wrong(page, tmp_path):
    class Wrong(page.LogCosh):
        def curvature(self, margins, target, shared):
            return 0.5 * super().curvature(margins, target, shared)

    class Hasty(page.LogCosh):
        def distance(self, change, margins, target):
            return 0.0

    class Bold(page.LogCosh):
        self_concordance = 0.2

        def distance(self, change, margins, target):
            return np.inf

    class Boastful(page.GradientDescent):
        def step(self, problem, state):
            state = super().step(problem, state)
            return state._replace(candidate=state.candidate._replace(bound=state.candidate.bound.lower(0.01)))

    targets = np.random.default_rng(0).standard_normal(50)
    for loss, words in ((Wrong(), "not the derivative of slope"), (Hasty(), "distance"), (Bold(), "self_concordance")):
        with pytest.raises(AssertionError, match=words):
            promises.assert_loss(loss, targets)
    with pytest.raises(minmin.MinMinError, match=r"problem \d+: a bound of|below .*, a lower bound"):
        promises.assert_bounds(Boastful(), problems=20)


def test_the_promises_of_a_method_say_on_which_problem_they_are_broken(page, tmp_path):
    class Lazy(page.GradientDescent):
        """Does not move if y has parts."""

        def step(self, problem, state):
            return state if problem.part_sizes else super().step(problem, state)

        def patience(self, problem):
            return 10 if problem.part_sizes else super().patience(problem)

    with pytest.raises(AssertionError, match=r"stalled.*\n(.*\n)*on a Sum of two quadratics"):
        promises.assert_method(Lazy(), tmp_path)


class Absolute(minmin.terms.Term):
    """|v|, from which wrong terms are made."""

    def value(self, v):
        return float(np.abs(v).sum())

    def prox(self, v, step):
        return np.sign(v) * np.maximum(np.abs(v) - step, 0.0)


class OtherStep(Absolute):
    def prox(self, v, step):
        return super().prox(v, 2.0 * step)


class RoughStep(Absolute):
    def prox(self, v, step):
        return super().prox(v, 1.0005 * step)


class OtherSlope(Absolute):
    def prox(self, v, step):
        return super().prox(v, step + 1e-4)


class Convex(Absolute):
    convexity = 1e-3


class OtherChange(Absolute):
    def change(self, old, new):
        return super().change(new, old)


class InPlace(Absolute):
    def prox(self, v, step):
        v -= np.clip(v, -step, step)
        return v


class Unnamed(Absolute):
    def identity(self):
        return [id(self)]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (OtherStep, "prox against other points"),
        (RoughStep, "does not minimise value"),
        (OtherSlope, "prox uses its step wrongly"),
        (Convex, "convexity of t"),
        (OtherChange, "the values differ by"),
        (InPlace, "changed by prox"),
        (Unnamed, "a copy has another identity"),
    ],
)
def test_the_promises_of_a_term_see_what_is_wrong(kind, words):
    promises.assert_term(Absolute(), 6)
    with pytest.raises(AssertionError, match=words):
        promises.assert_term(kind(), 6)


def test_the_design_is_the_dense_matrix(page):
    rng = np.random.default_rng(1)
    design, dense = page.Centered(page.A), page.A.toarray() - page.A.toarray().mean(axis=0)
    v, r, w = rng.standard_normal(40), rng.standard_normal(200), rng.uniform(size=200)
    table, residuals = rng.standard_normal((40, 3)), rng.standard_normal((200, 3))
    for one, other in (
        (design.image(v), dense @ v),
        (design.image(table), dense @ table),
        (design.adjoint(r), dense.T @ r),
        (design.adjoint(residuals), dense.T @ residuals),
        (design.gram(w), (dense.T * w) @ dense),
        (design.gram(w[:9], np.arange(9)), (dense[:9].T * w[:9]) @ dense[:9]),
        (design.column_squares(r), (dense**2).T @ r),
        (design.column_squares(residuals), (dense**2).T @ residuals),
        (design.row_squares(v), dense**2 @ v),
        (design.row_squares(table), dense**2 @ table),
        (design.row_norms_squared, (dense**2).sum(axis=1)),
        (design.columns(np.array([3, 5])).image(v[:2]), dense[:, [3, 5]] @ v[:2]),
    ):
        assert np.allclose(one, other, atol=1e-12)
    classes = rng.integers(0, 3, size=200)
    models = [
        minmin.problems.Softmax(X, np.ones((200, 1)), classes, alpha_x=1e-2, alpha_y=0.0) for X in (design, dense)
    ]
    one, other = (minmin.minimize(model, tol=1e-10) for model in models)
    assert one.certified
    assert one.fun == pytest.approx(other.fun, abs=1e-9)


def test_the_engine(page):
    promises.assert_engine(page.Recorded)
    assert page.engine.sent > 0


def test_sampled_rows_on_chosen_columns():
    """What a preconditioner made of a few rows asks a design for."""
    rng = np.random.default_rng(2)
    A = scipy.sparse.random_array((50, 8), density=0.4, rng=rng, format="csr")
    rows, columns, w = rng.choice(50, size=12), np.array([1, 4, 6]), rng.uniform(size=12)
    part = A.toarray()[np.ix_(rows, columns)]
    for matrix in (A, A.toarray()):
        design = make_design(matrix, "X")
        assert np.allclose(design.columns(columns).gram(w, rows), (part.T * w) @ part)


def test_objects_and_names_are_the_same_methods():
    problem = minmin.problems.Quadratic.random(d_x=5, d_y=3, coupling=1.0)
    by_name = minmin.minimize(problem, method="bam", inner="nag")
    by_object = minmin.minimize(problem, method=minmin.methods.Bam(inner="nag"))
    promises.assert_same_run(by_name, by_object)
    with pytest.raises(minmin.InputError, match=r"'inner' is an option of a method given by name; set it in Bam\("):
        minmin.minimize(problem, method=minmin.methods.Bam(), inner="nag")
    with pytest.warns(DeprecationWarning, match=r"'looseness' is now called 'inner_tolerance_ratio'; .* minmin 0\.3"):
        minmin.minimize(problem, method="reduced-lbfgs", looseness=0.1)


@pytest.mark.parametrize(("old", "new"), [("described", "describe"), ("Answer", "Candidate")])
def test_former_names_still_work(old, new):
    with pytest.warns(
        DeprecationWarning, match=rf"minmin\.methods\.{old} is now minmin\.extend\.{new}; .* minmin 0\.3"
    ):
        assert getattr(minmin.methods, old) is getattr(minmin.extend, new)


def test_blocks_is_the_former_name_of_parts():
    with pytest.warns(DeprecationWarning, match=r"minmin\.Blocks is now called Parts; .* removed in minmin 0\.3"):
        assert minmin.Blocks is minmin.Parts

"""The FAQ: every message that it quotes is provoked here, and reads as the page says."""

import re
import sys
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import minmin
from minmin.estimators import BlockLogisticRegression, BlockRidge
from minmin.problems import GLM, Composite, Function, Quadratic

PAGE = (Path(__file__).parents[2] / "docs" / "faq.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)

ZERO = np.zeros(2)
QUADRATIC = Quadratic(np.eye(4), np.ones(4), 2)
ROWS = np.arange(20.0).reshape(10, 2) / 20.0
LABELS = np.where(np.arange(10) % 2, 1.0, -1.0)


def run_function(value=None, grad_x=lambda x, y: x, grad_y=lambda x, y: y, x0=ZERO, y0=ZERO, constants=None, **options):
    options = {"max_grad_x": 300, **options}
    return minmin.minimize(value, x0, y0, grad_x=grad_x, grad_y=grad_y, constants=constants, **options)


def plain_function(**options):
    return Function(None, lambda x, y: x, lambda x, y: y, d_x=2, d_y=2, **options)


def make_glm(X=ROWS, Y=ROWS, target=LABELS, loss="logistic", **penalties):
    return GLM(X, Y, target, loss, **{"alpha_x": 0.1, "alpha_y": 0.1, **penalties})


def with_jax_in_float32():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    try:
        minmin.minimize(minmin.problems.from_jax(lambda x, y: jnp.sum(x**2) + jnp.sum(y**2), ZERO, ZERO))
    finally:
        jax.config.update("jax_enable_x64", before)


def without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    minmin.minimize(QUADRATIC).plot()


def resume_another_problem(folder):
    minmin.minimize(QUADRATIC, checkpoint=folder / "run.minmin")
    minmin.minimize(Quadratic(2 * np.eye(4), np.ones(4), 2), checkpoint=folder / "run.minmin")


def fit_too_shortly():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    labels = np.sign(X[:, 0] + rng.standard_normal(200))
    return BlockLogisticRegression(alpha=1e-6, max_iter=1).fit(X, labels), X, labels


def summarise_a_rough_fit():
    with warnings.catch_warnings(action="ignore"):
        model, X, labels = fit_too_shortly()
    model.summary(X, labels)


PROVOKED = {
    # functions
    "give grad_x=": lambda: minmin.minimize(lambda x, y: 0.0, ZERO, ZERO),
    "give both x0 and y0": lambda: run_function(x0=None),
    "x0 has shape": lambda: minmin.minimize(QUADRATIC, np.zeros(3)),
    "x0 is float32": lambda: minmin.minimize(QUADRATIC, ZERO.astype(np.float32), ZERO),
    "grad_x(x, y) returned shape": lambda: run_function(grad_x=lambda x, y: x[:1]),
    "grad_x(x, y) raised": lambda: run_function(grad_x=lambda x, y: 1 / 0),
    "leave constants out": lambda: minmin.minimize(QUADRATIC, constants=QUADRATIC.constants),
    "problem must be": lambda: minmin.check(lambda x, y: 0.0),
    # options
    "method 'reduced-lbfgs' has no option": lambda: minmin.minimize(QUADRATIC, maxiter=10),
    "unknown method": lambda: minmin.minimize(QUADRATIC, method="lbfgs"),
    "rtol needs": lambda: minmin.minimize(plain_function(), rtol=1e-6),
    # what a method needs
    "method 'bam' needs the problem's constants": lambda: minmin.minimize(plain_function(), method="bam"),
    "method 'bam' needs mu_y > 0": lambda: minmin.minimize(make_glm(alpha_y=0.0), method="bam"),
    "method 'bam' needs a finite L_x": lambda: minmin.minimize(
        make_glm(target=ROWS[:, 0], loss="poisson"), method="bam"
    ),
    "method 'reduced-newton' needs": lambda: minmin.minimize(plain_function(), method="reduced-newton"),
    "a cut needs a subgradient": lambda: minmin.minimize(
        Composite(QUADRATIC, term_x=minmin.terms.L1(0.1)), method="cutting-plane"
    ),
    "inner='newton' needs": lambda: minmin.minimize(plain_function(), method="reduced-lbfgs", inner="newton"),
    # data
    "X has 10 rows": lambda: make_glm(Y=ROWS[:9]),
    "X holds": lambda: make_glm(X=np.where(ROWS > 0.9, np.nan, ROWS)),
    "target[": lambda: make_glm(target=np.arange(10.0) + 1.0),
    "H is not symmetric": lambda: Quadratic(np.triu(np.ones((4, 4))), np.ones(4), 2),
    "H has the eigenvalue": lambda: minmin.minimize(Quadratic(np.diag([1.0, 1.0, 1.0, -1.0]), np.ones(4), 2)),
    "x and y are float64": with_jax_in_float32,
    # a run that fails
    "L_x = … does not hold": lambda: run_function(
        grad_x=lambda x, y: 10 * x - 1, constants=minmin.Constants(L_x=1, L_y=1, mu_x=1, mu_y=1)
    ),
    "this run saw f = … at its start": lambda: run_function(
        lambda x, y: 10.0 * (x @ x + y @ y),
        lambda x, y: 1.0 * x,
        x0=ZERO + 1.0,
        constants=minmin.Constants(L_x=1, L_y=1, mu_x=1, mu_y=1),
        method="bam",
    ),
    "this run saw f": lambda: run_function(
        lambda x, y: -10.0 * x.sum(), lambda x, y: x - 1, constants=minmin.Constants(L_x=1, L_y=1, mu_x=1, mu_y=1)
    ),
    "f(x, y) = nan": lambda: run_function(lambda x, y: float(np.sum(np.log(x))), lambda x, y: 1 / x, x0=-np.ones(2)),
    "f has no minimum": lambda: minmin.minimize(make_glm(target=ROWS[:, 0] > 0.4, alpha_x=0.0, alpha_y=0.0)),
    "the checkpoint": resume_another_problem,
    "r.plot() needs": without_matplotlib,
    # a run that stalls
    "rounding errors hide": lambda: minmin.minimize(Quadratic.random(), np.zeros(100, np.float32), tol=1e-12),
    "rounding of the intercept": lambda: BlockRidge(alpha=1e-3).fit(ROWS, ROWS[:, 0] ** 2 + 1e14).result_,
    "f is not convex": lambda: run_function(
        lambda x, y: float(x @ y + 0.1 * (x @ x) ** 2 + 0.1 * (y @ y) ** 2),
        lambda x, y: y + 0.4 * (x @ x) * x,
        lambda x, y: x + 0.4 * (y @ y) * y,
        x0=0.1 + ZERO,
    ),
    "f appears unbounded": lambda: run_function(lambda x, y: float(x.sum() + y @ y / 2), lambda x, y: 1.0 + 0.0 * x),
    "no step lowers f much": lambda: run_function(
        lambda x, y: float(np.abs(x - 0.3).sum() + y @ y / 2), lambda x, y: np.sign(x - 0.3), x0=np.array([2.0, -1.0])
    ),
    "steps of any length": lambda: run_function(
        lambda x, y: 2 * x.sum() + y @ y / 2 if (x > 0).all() else np.nan,
        lambda x, y: np.where(x > 0, 2.0, np.nan),
        x0=3.0 + ZERO,
    ),
    # warnings
    "f - f* <= tol": fit_too_shortly,
    "some coefficient": summarise_a_rough_fit,
    "minmin.Blocks": lambda: minmin.Blocks,
}


def collect_texts(provoke, monkeypatch, folder):
    """What a user reads: the error, the warnings, or why the run ended."""
    arguments = {without_matplotlib: [monkeypatch], resume_another_problem: [folder]}.get(provoke, [])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = provoke(*arguments)
        except minmin.MinMinError as error:
            return [str(error)]
    if isinstance(outcome, minmin.Result):
        assert outcome.status == "stalled"
        return [outcome.message]
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("quoted", QUOTED)
def test_a_quoted_message_is_what_a_user_reads(quoted, monkeypatch, tmp_path):
    provoke = next(provoke for start, provoke in PROVOKED.items() if quoted.startswith(start))
    pattern = re.escape(" ".join(quoted.split())).replace("…", ".+")
    texts = collect_texts(provoke, monkeypatch, tmp_path)
    assert any(re.match(pattern, text) for text in texts), texts


def test_every_message_is_on_the_page():
    assert [start for start in PROVOKED if not any(quoted.startswith(start) for quoted in QUOTED)] == []

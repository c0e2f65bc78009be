"""Theorem 2.2 of BAM with f + p + q in place of f: Ψ falls by 1 + √(μ_x/L_x) at every step."""

import numpy as np
import pytest

from composite.cases import KINDS, draw_case
from composite.independent import find_minima
from minmin.core.start import make_start
from minmin.methods import Bam
from minmin.methods.inner.goal import InnerGoal
from minmin.methods.inner.rules import ProximalCondition
from minmin.methods.theory import block_parameters

PAIRS = [(kind, "none") for kind in KINDS] + [("none", kind) for kind in KINDS]
PAIRS += [(kind, KINDS[(i + 1) % len(KINDS)]) for i, kind in enumerate(KINDS)]
STEPS = 15


def assert_lyapunov_decrease(minimum, inner, steps=STEPS):
    """Ψ = (1 + α)(|x - x*|²/η_x + |y - y*|²/η_y) + 2/α·(f + p + q - minimum at (x̄, ȳ)), at every step."""
    problem = minimum.case.problem()
    p, method = block_parameters(problem.constants), Bam(inner=inner)

    def lyapunov(state):
        (y,) = state.y
        distances = np.sum((state.x.x - minimum.x) ** 2) / p.eta_x + np.sum((y.y - minimum.y) ** 2) / p.eta_y
        return (1 + p.alpha) * distances + 2 / p.alpha * minimum.gap(state.x.x_bar, y.y_bar)

    rng = np.random.default_rng(0)
    start = (10 * size * rng.standard_normal(len(size)) for size in (np.abs(minimum.x), np.abs(minimum.y)))
    state = method.init(problem, *make_start(problem, *start))
    first = psi = lyapunov(state)
    for _ in range(steps):
        state = method.step(problem, state)
        psi, before = lyapunov(state), psi
        if before < 1e-12 * first:  # what follows is rounding
            return
        assert (1 + p.alpha) * psi <= before * (1 + 1e-9)


@pytest.fixture
def residuals(monkeypatch):
    """|s|λ and |ȳ - y_under| of every inner solve, s being the subgradient of A + q at ȳ that BAM uses."""
    seen = []
    finish = InnerGoal.finish

    def spy(self, point):
        end, subgradient = finish(self, point)
        away = end.v - self.center
        seen.append((np.linalg.norm(subgradient + away / self.rule.lam) * self.rule.lam, np.linalg.norm(away)))
        return end, subgradient

    monkeypatch.setattr(InnerGoal, "finish", spy)
    return seen


def draw(logistic, seed):
    rng = np.random.default_rng(seed)
    return find_minima([draw_case(rng, kinds, logistic=logistic, condition=300.0) for kinds in PAIRS])


@pytest.mark.parametrize("inner", ["lbfgs", "nag"])
@pytest.mark.parametrize("logistic", [False, True], ids=["quadratics", "logistic regressions"])
def test_the_lyapunov_function_falls_at_every_step(logistic, inner, residuals):
    for minimum in draw(logistic, seed=1):
        assert_lyapunov_decrease(minimum, inner)
    for size, distance in residuals:
        assert size <= distance * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("logistic", [False, True], ids=["quadratics", "logistic regressions"])
def test_it_falls_with_exact_inner_solves(logistic, residuals, monkeypatch):
    monkeypatch.setattr(ProximalCondition, "most_gradients", lambda *_: 3000)
    is_met = ProximalCondition.is_met

    def is_met_tightly(self, goal, point):
        return is_met(self, goal, point._replace(distance=1e-7 * point.distance))

    monkeypatch.setattr(ProximalCondition, "is_met", is_met_tightly)
    for minimum in draw(logistic, seed=2)[::2]:
        assert_lyapunov_decrease(minimum, "lbfgs", steps=12)
    exact = [size <= 1e-6 * distance + 1e-12 for size, distance in residuals]
    assert np.mean(exact) > 0.99


def find_loosest(objective, rng):
    """A point ȳ and a subgradient s of A + q there with |s|λ = |ȳ - y_under|, nearly: the loosest that (2) allows."""
    step = 1 / objective.smoothness
    momentum = (1 - np.sqrt(objective.convexity * step)) / (1 + np.sqrt(objective.convexity * step))
    direction = rng.standard_normal(len(objective.center))
    direction /= np.linalg.norm(direction)

    def solve(s, v):
        """The minimum of A + q - <s, ·>, and its subgradient of A + q, which is s but for rounding."""
        ahead = v
        for _ in range(400):
            w = ahead - step * (objective.slice.at(ahead).grad_y + (ahead - objective.center) / objective.rule.lam - s)
            new = w if objective.term is None else objective.term.prox(w, step)
            if np.linalg.norm(new - ahead) <= 1e-13 * np.linalg.norm(new):
                break
            ahead, v = new + momentum * (new - v), new
        return new

    y = solve(0 * direction, objective.center)
    size = 0.0
    for _ in range(30):
        target = np.linalg.norm(y - objective.center) / objective.rule.lam
        if size <= target <= 1.02 * size:
            break
        size = 0.99 * target if target < size else 0.5 * (size + target)
        y = solve(size * direction, y)
    return y, size * direction


def test_it_falls_at_the_loosest_points_that_condition_2_allows(monkeypatch):
    rng = np.random.default_rng(0)
    original, looseness = InnerGoal.finish, []

    def finish(self, point):
        y, s = find_loosest(self, rng)
        away = y - self.center
        if np.linalg.norm(s) * self.rule.lam > np.linalg.norm(away):
            return original(self, point)
        looseness.append(np.linalg.norm(s) * self.rule.lam / (np.linalg.norm(away) + 1e-300))
        return self.at(y), s - away / self.rule.lam

    monkeypatch.setattr(InnerGoal, "finish", finish)
    for minimum in find_minima([draw_case(rng, kinds, condition=30.0) for kinds in PAIRS]):
        assert_lyapunov_decrease(minimum, "nag", steps=12)
    assert len(looseness) > 150
    assert np.percentile(looseness, 5) > 0.95

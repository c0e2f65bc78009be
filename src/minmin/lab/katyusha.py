"""Inner solver "katyusha": accelerated gradient that computes a few rows at a time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from minmin.core.arrays import Array
from minmin.core.rows import RowSum
from minmin.core.term import Term
from minmin.methods.inner.base import InnerSolver
from minmin.methods.inner.goal import InnerGoal, InnerPoint, choose_better
from minmin.methods.inner.nag import descend, learn_between, start_again
from minmin.methods.needs import KNOWN_CONSTANTS, Need

_SNAPSHOT_WEIGHT = 0.5
"""θ₂ of the reference."""

_Vector = np.ndarray[Any, Any]


class KatyushaSolver(InnerSolver):
    """Loopless Katyusha (L-Katyusha), for a sum over n rows.

    It keeps a snapshot w, where the gradient and the derivative of every row are known. A step draws b rows::

        v = θ₁z + θ₂w + (1 - θ₁ - θ₂)y
        g = ∇A(w) + Σ_drawn (∇φ_i(v) - ∇φ_i(w))/(b q_i) + the change of penalties and proximal term
        z⁺ = (z + ηρv - (η/L)g)/(1 + ηρ),  ρ = μ/L
        y⁺ = v + θ₁(z⁺ - z)
        w⁺ = y⁺ with probability p, otherwise w

    With a term, z⁺ is the proximal point of that for the step (η/L)/(1 + ηρ).
    Row i is drawn with probability q_i = L_i/L̄, L̄ = Σ L_i. L and μ are those of the objective A.

    Guarantee: with 1/η = θ₁(1 + L̄/(bθ₂L)) and any b and p, E Ψ⁺ <= (1 - min(ηρ/(1 + ηρ), pθ₁/(1 + θ₁))) Ψ for a Ψ that
    is at least A(w) - A* times a constant; docs/explanation/theory.md has the proof. It is that of the reference, where
    b = 1, w⁺ = y, and L is the largest L_i. With b, p and θ₁ of :func:`find_parameters` a factor e takes n + √(nκ̄)
    rows, up to a constant, κ̄ = L̄/μ; accelerated gradient takes n√κ, κ = L/μ.

    A full gradient is known at snapshots only, so only there a point can be good enough. After as many rows as T_max
    full gradients have, accelerated gradient from the centre takes over, as with "lbfgs". It also takes the place of
    Katyusha if theory promises fewer rows with it, that is if κ is low or n is small.

    Reference: Kovalev, Horváth and Richtárik, "Don't jump through hoops and remove those loops: SVRG and Katyusha are
    better without the outer loop", ALT 2020, arXiv:1901.08689. Gladin, Alkousa and Gasnikov (2021) solve min-min
    problems with variance reduction in y.
    """

    name = "katyusha"
    needs = KNOWN_CONSTANTS | {Need.ROWS}

    def init(self, y: Array, seed: int = 0) -> tuple[int, int]:
        """The seed, and the number of solves so far. The draws of a solve depend on these two numbers alone."""
        return seed, 0

    def solve(self, goal: InnerGoal, memory: tuple[int, int]) -> tuple[InnerPoint, tuple[int, int]]:
        seed, solves = memory
        point = goal.begin()
        if not point.solved:
            key = np.array([seed % 2**64, solves], dtype=np.uint64)
            point = _descend_by_rows(goal, point, np.random.Generator(np.random.Philox(key=key)))
        return start_again(goal, point), (seed, solves + 1)


class RowDraws:
    """Draws of rows.

    A minibatch has one row from each of equal pieces of the running sum of the L_i. So its mean is that of independent
    draws, and its variance at most as large. Its rows ascend.

    Parameters
    ----------
    smoothness : array
        The L_i.

    Attributes
    ----------
    total : float
        L̄ = Σ L_i.
    count : int
        n.
    """

    def __init__(self, smoothness: _Vector):
        self._smoothness = smoothness
        self._running = np.cumsum(smoothness)
        self.total = float(self._running[-1])
        self.count = len(smoothness)
        self._last = int(np.flatnonzero(smoothness)[-1]) if self.total > 0.0 else 0

    def draw(self, generator: np.random.Generator, rows: int) -> tuple[_Vector, _Vector]:
        """Numbers of rows, and 1/(b q_i) for each. Rows with L_i = 0 are never drawn."""
        places = (np.arange(rows) + generator.random(rows)) * (self.total / rows)
        # Rounding may put the last place at the very end of the running sum.
        chosen = np.minimum(np.searchsorted(self._running, places, side="right"), self._last)
        return chosen, self.total / (rows * self._smoothness[chosen])


class KatyushaParameters(NamedTuple):
    """The parameters of a solve.

    Attributes
    ----------
    rows : int
        b: the rows of a step.
    chance : float
        p: the probability of a new snapshot after a step.
    momentum : float
        θ₁.
    step : float
        η/L.
    pull : float
        ηρ.
    rows_per_factor : float
        The expected number of rows for a factor e, by theory.
    """

    rows: int
    chance: float
    momentum: float
    step: float
    pull: float
    rows_per_factor: float


def find_parameters(smoothness: float, convexity: float, rows_smoothness: float, count: int) -> KatyushaParameters:
    """The parameters for L, μ, L̄ and n.

    Let κ' = (L + 2L̄/b)/μ. If κ' is above 6n/b, p = b/n balances the rows of snapshots and steps, and θ₁ = √(3/(2pκ'))
    two terms of the rate; a factor e then takes about √(6n(bκ + 2κ̄)) rows. Otherwise θ₁ = 1/2, its largest value, and
    p = 6/κ', which is 3n + bκ/2 + κ̄ rows. So with b = (nμ + 2L̄)/L steps are as large as they can be while the rows
    stay of order n + √(nκ̄); larger ones take less time. Five logistic GLMs with n = 10⁴ or
    2·10⁴ and κ from 56 to 5200 take 579n rows in total with that b, 581n with half of it, 592n with twice and 697n with
    four times as many.
    """
    rows = min(count, max(1, round((count * convexity + 2.0 * rows_smoothness) / smoothness)))
    noisy = smoothness + rows_smoothness / (rows * _SNAPSHOT_WEIGHT)
    chance = min(1.0, max(rows / count, 6.0 * convexity / noisy))
    momentum = min(0.5, math.sqrt(1.5 * convexity / (chance * noisy)))
    step = 1.0 / (momentum * noisy)
    pull = step * convexity
    rate = min(pull / (1.0 + pull), chance * momentum / (1.0 + momentum))
    return KatyushaParameters(rows, chance, momentum, step, pull, (rows + chance * count) / rate)


def mix(p: KatyushaParameters, z: Array, y: Array, w: Array) -> Array:
    """v, where rows are drawn."""
    return p.momentum * z + _SNAPSHOT_WEIGHT * w + (1.0 - p.momentum - _SNAPSHOT_WEIGHT) * y


def move(p: KatyushaParameters, z: Array, v: Array, gradient: Array, term: Term | None = None) -> tuple[Array, Array]:
    """z⁺ and y⁺."""
    new = (z + p.pull * v - p.step * gradient) * (1.0 / (1.0 + p.pull))
    if term is not None:
        new = term.prox(new, p.step / (1.0 + p.pull))
    return new, v + p.momentum * (new - z)


def _descend_by_rows(goal: InnerGoal, start: InnerPoint, generator: Any) -> InnerPoint:
    """The first snapshot that is good enough, or the best one."""
    f = goal.slice
    assert isinstance(f, RowSum)
    L, mu = goal.smoothness, goal.convexity
    draws = RowDraws(f.find_row_smoothness())
    p = find_parameters(L, mu, draws.total, draws.count)
    if draws.total == 0.0 or not p.rows_per_factor < draws.count * math.sqrt(L / mu):
        return descend(goal, start)
    snapshot = best = start
    y = z = start.v
    rows_left = goal.most_gradients * draws.count
    while not snapshot.solved and rows_left > 0 and math.isfinite(snapshot.residual):
        steps = min(int(generator.geometric(p.chance)), math.ceil(rows_left / p.rows))
        rows_left -= steps * p.rows + draws.count
        for _ in range(steps):
            v = mix(p, z, y, snapshot.v)
            change = f.estimate_change(snapshot.evaluation, v, *draws.draw(generator, p.rows))
            gradient = snapshot.gradient + change + goal.shift * (v - snapshot.v)
            z, y = move(p, z, v, gradient, goal.term)
        before, snapshot = snapshot, goal.at(y)
        learn_between(goal, before, snapshot)
        best = choose_better(best, snapshot)
    return best

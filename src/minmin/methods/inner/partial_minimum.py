"""Minimising y ↦ f(x, y) for a fixed x, inexactly: what the reduced methods do at every x."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from minmin.core.arrays import Array
from minmin.core.constants import Constants
from minmin.core.problem import Evaluation, Slice, YTask
from minmin.core.vectors import dot, norm, square
from minmin.methods.inner.objective import InnerObjective, InnerPoint
from minmin.methods.inner.solvers import INNER_SOLVERS
from minmin.methods.secants import fits_y_secant, report_y_secant
from minmin.numerics.lbfgs import Pairs

_FIRST_PART = 0.01
"""Where nobody says what y may leave, it may leave this part of what it first had to gain: enough for a first ∇F. The
value matters little: 0.5 to 0.001 take 1126 to 1150 calls of ∇ᵧ on the paper's quadratics, and 94 to 105 on a1a."""


class YMemory(NamedTuple):
    """What is kept of one part of y.

    Where it is, the solver's memory, the least curvature and the largest gradient seen, and how much lower y
    could still take f.
    """

    y: Array
    solver: Any
    min_curvature_seen: float
    largest_gradient: float
    gain: float


class PartialMinimum(InnerObjective):
    """y ↦ f(x, y), good enough where what is left to gain is at most ``allowed``.

    A step s of a solver that knows curvature estimates what can be gained, -½<∇ᵧf, s>: for Newton's step that is the
    decrease of the quadratic model, whatever the units of y. Where ``proves_gain``, |∇ᵧf|²/(2 mu_y) bounds it.
    """

    most_gradients = 1000
    """Where no theory says how many are enough. L-BFGS took 31 at most in one solve, on a1a, a9a, w8a and quadratics
    with κ of up to 10⁸; accelerated gradient uses them up on the paper's quadratics."""
    overshoot = 0.5
    """0.3 to 0.9 take the same calls on the paper's quadratics and a1a within one; a9a with penalties of 1e-5 takes 367
    of ∇ₓ with 0.3 and 0.5, and 344 with 0.9."""

    def __init__(
        self, slice_: Slice, memory: YMemory, allowed: float | None, constants: Constants | None, *, proves_gain: bool
    ):
        super().__init__(slice_, memory.y)
        self._constants = constants
        self.smoothness = None if constants is None else constants.L_y
        self.convexity = None if constants is None else constants.mu_y
        self._allowed = allowed
        self._proves_gain = proves_gain
        self.gain = 0.0
        self.min_curvature_seen = memory.min_curvature_seen
        self.largest_gradient = memory.largest_gradient

    def begin(self) -> InnerPoint:
        point = self.at(self.start)
        if not math.isfinite(point.residual):  # x went too far; whoever moved it sees it too
            return point._replace(solved=True)
        self.largest_gradient = max(self.largest_gradient, point.residual)
        return point

    def _at(self, v: Array) -> InnerPoint:
        evaluation = self.slice.at(v)
        residual = evaluation.grad_y_norm
        self.gain = square(residual) / (2.0 * self.convexity) if self._proves_gain and self.convexity else 0.0
        solved = not self.gain > self._limit() if self._proves_gain else residual == 0.0
        return InnerPoint(v, evaluation, evaluation.grad_y, residual, solved)

    def is_worth(self, point: InnerPoint, step: Array, *, informed: bool) -> bool:
        self.gain = -0.5 * dot(point.gradient, step) if informed else math.inf
        return self.gain > self._limit()

    def _limit(self) -> float:
        """What may be left to gain; where nobody has said, it follows from the first gain that is known."""
        if self._allowed is None and math.isfinite(self.gain):
            self._allowed = _FIRST_PART * self.gain
        return 0.0 if self._allowed is None else self._allowed

    def learn(self, new: InnerPoint, product: float, size: float) -> None:
        c = self._constants
        if c is not None and not fits_y_secant(c, product, size):
            rounding = new.evaluation.rounding
            _, noise = c.gradient_noise(rounding, norm(self.slice.x))
            report_y_secant(c, product, size, self.largest_gradient, rounding.eps, noise)
        if product > 0.0 and size > 0.0:
            self.min_curvature_seen = min(self.min_curvature_seen, product / size)


@dataclass(frozen=True)
class LowerY(YTask):
    """Lower one part of y at one x, from where it was, or from zero where nothing is kept between two xs.

    Parameters
    ----------
    inner : str
        The inner solver.
    allowed : float or None
        What may be left to gain; a hundredth (``_FIRST_PART``) of the first gain where it is None.
    constants : Constants or None
    stateless : bool
        Whether nothing is kept between two xs.
    """

    name: ClassVar[str] = "lower-y"
    memory_types: ClassVar[tuple[type, ...]] = (YMemory, Pairs)
    inner: str
    allowed: float | None
    constants: Constants | None
    stateless: bool

    def begin(self, y: Array) -> YMemory:
        return YMemory(y, INNER_SOLVERS[self.inner].init(y), math.inf, 0.0, math.inf)

    def run(self, part: Slice, memory: YMemory) -> tuple[YMemory, Evaluation]:
        if self.stateless:
            memory = self.begin(0.0 * memory.y)
        solver = INNER_SOLVERS[self.inner]
        objective = PartialMinimum(part, memory, self.allowed, self.constants, proves_gain=solver.needs_constants)
        point, kept = solver.solve(objective, memory.solver)
        return (
            YMemory(
                y=point.v,
                solver=kept,
                min_curvature_seen=objective.min_curvature_seen,
                largest_gradient=objective.largest_gradient,
                gain=max(objective.gain, 0.0),
            ),
            point.evaluation,
        )

"""The methods as PEPit sees them: their steps on unknown points, what their theorems measure, and what they promise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from minmin.core.bound import Constants
from minmin.errors import InputError, UnsupportedError, as_number, show
from minmin.lab.metric import metric
from minmin.lab.nag import nag_half, nag_steps
from minmin.lab.ogmg import ogm_g_points, ogm_g_weights
from minmin.lab.triple_momentum import MARGIN, triple_parameters
from minmin.methods.base import require_flag
from minmin.methods.theory import BlockParameters, block_parameters
from minmin.theory.function_class import Sample, TwoBlockFunction


class Measured(NamedTuple):
    """What a theorem compares: its measure at the start, and after the last step. Both are PEPit.Expressions."""

    first: Any
    last: Any


class Model(ABC):
    """A method, what its theorem measures, and what the theorem promises. Fields are the options of ``rate``."""

    name: ClassVar[str]
    needs_strong_convexity: ClassVar[bool] = True

    @abstractmethod
    def run(self, f: TwoBlockFunction, steps: int) -> Measured:
        """Run the method on f, from an unknown start."""

    @abstractmethod
    def theorem(self, constants: Constants, steps: int) -> float:
        """The theorem's bound on last/first."""


class StateBlock(NamedTuple):
    """What a method remembers of one block: two points."""

    point: Any
    bar: Any


class State(NamedTuple):
    """What a method remembers between two steps."""

    x: StateBlock
    y: StateBlock


def new_state(f: TwoBlockFunction) -> State:
    """An unknown state."""
    return State(StateBlock(f.new_x(), f.new_x()), StateBlock(f.new_y(), f.new_y()))


class StepModel(Model):
    """A method whose step is the same at every iteration, so that it has an asymptotic rate."""

    @abstractmethod
    def step(self, f: TwoBlockFunction, state: State) -> tuple[State, Sample]:
        """The next state, and f where the step evaluated it."""


@dataclass(frozen=True)
class BamModel(StepModel):
    """BAM from any state, measured by Ψ of Theorem 2.2, which promises a factor 1/(1 + α) per step.

    Parameters
    ----------
    exact : bool
        Whether ȳ minimises A exactly. Otherwise it is any point that meets condition (2).
    eta_x_factor : float
        Multiplies the η_x of the theorem.
    condition_factor : float
        Multiplies the right-hand side of condition (2): |∇A(ȳ)| <= factor·|ȳ - y_under|/λ.
    """

    name: ClassVar[str] = "bam"
    exact: bool = False
    eta_x_factor: float = 1.0
    condition_factor: float = 1.0

    def __post_init__(self) -> None:
        require_flag("exact", self.exact)
        _require_positive(self, "eta_x_factor", "condition_factor")

    def run(self, f: TwoBlockFunction, steps: int) -> Measured:
        state = new_state(f)
        first = self._psi(f, state)
        for _ in range(steps):
            state, _ = self.step(f, state)
        return Measured(first, self._psi(f, state))

    def step(self, f: TwoBlockFunction, state: State) -> tuple[State, Sample]:
        p = self._parameters(f.constants)
        x_under, y_under = p.extrapolate(*state.x), p.extrapolate(*state.y)
        sample = _solve_y(f, x_under, y_under, p.lam, None if self.exact else self.condition_factor)
        y_bar, grad_y = sample.y.point, sample.y.gradient
        x, x_bar, _ = p.x_half(state.x, x_under, sample.x.gradient)
        return State(StateBlock(x, x_bar), StateBlock(*p.y_half(state.y, y_bar, grad_y))), sample

    def theorem(self, constants: Constants, steps: int) -> float:
        return (1.0 + block_parameters(constants).alpha) ** -steps

    def _psi(self, f: TwoBlockFunction, state: State) -> Any:
        p = self._parameters(f.constants)
        distances = (1.0 / p.eta_x) * state.x.point**2 + (1.0 / p.eta_y) * state.y.point**2
        return (1.0 + p.alpha) * distances + (2.0 / p.alpha) * f.at(state.x.bar, state.y.bar).value

    def _parameters(self, constants: Constants) -> BlockParameters:
        p = block_parameters(constants)
        return p._replace(eta_x=self.eta_x_factor * p.eta_x)


@dataclass(frozen=True)
class TripleMomentumModel(StepModel):
    """BAM with ``scheme="triple-momentum"``, from any state. A state's points are ξ and the ξ before it.

    The theorem is that of Van Scoy, Freeman and Lynch for exact inner solves. There is none for inexact ones.

    Parameters
    ----------
    exact : bool
        Whether ȳ minimises A exactly. Otherwise it is any point with |∇A(ȳ)| <= condition_factor·|ȳ - y_under|/λ.
    condition_factor, margin : float, optional
        The accuracy of the inner solves, and s in :class:`minmin.lab.triple_momentum.TripleParameters`; those of
        the method by default.
    """

    name: ClassVar[str] = "bam-triple-momentum"
    exact: bool = False
    condition_factor: float | None = None
    margin: float = MARGIN

    def __post_init__(self) -> None:
        require_flag("exact", self.exact)
        _require_positive(self, *(("margin",) if self.condition_factor is None else ("condition_factor", "margin")))

    def run(self, f: TwoBlockFunction, steps: int) -> Measured:
        raise UnsupportedError(f"no theorem says what {self.name!r} does in {steps} steps; use lyapunov_rate()")

    def step(self, f: TwoBlockFunction, state: State) -> tuple[State, Sample]:
        p = triple_parameters(f.constants, self.margin)
        x_under, y_under = p.extrapolate(*state.x), p.extrapolate(*state.y)
        factor = p.accuracy if self.condition_factor is None else self.condition_factor
        sample = _solve_y(f, x_under, y_under, p.lam, None if self.exact else factor)
        x, x_before, _ = p.x_half(state.x, x_under, sample.x.gradient)
        y = p.y_half(state.y, sample.y.point, sample.y.gradient)
        return State(StateBlock(x, x_before), StateBlock(*y)), sample

    def theorem(self, constants: Constants, steps: int) -> float:
        return float(triple_parameters(constants, self.margin).rho ** (2 * steps))


@dataclass(frozen=True)
class NagModel(StepModel):
    """NAG from any start.

    The theorem is f(z̄ᴺ) - f* <= (1 - 1/√κ)ᴺ (f(z⁰) - f* + mu/2 |z⁰ - z*|²), in the metric of the method. The
    docstring of :class:`minmin.methods.Nag` has twice f(z⁰) - f* there, which is never less. A state's points are
    z_under and z̄.

    Parameters
    ----------
    rescale : bool
        As in :class:`minmin.methods.Nag`.
    """

    name: ClassVar[str] = "nag"
    rescale: bool = False

    def __post_init__(self) -> None:
        require_flag("rescale", self.rescale)

    def run(self, f: TwoBlockFunction, steps: int) -> Measured:
        m = metric(f.constants, self.rescale)
        x, y = f.new_x(), f.new_y()
        first = f.at(x, y).value + 0.5 * m.mu * (x**2 + m.weight_y * y**2)
        state = State(StateBlock(x, x), StateBlock(y, y))
        for _ in range(steps):
            state, _ = self.step(f, state)
        return Measured(first, f.at(state.x.bar, state.y.bar).value)

    def step(self, f: TwoBlockFunction, state: State) -> tuple[State, Sample]:
        m = metric(f.constants, self.rescale)
        sample = f.at(state.x.point, state.y.point)
        blocks = []
        for block, step, evaluated in zip(state, nag_steps(m), (sample.x, sample.y), strict=True):
            bar, under = nag_half(m, step, block.point, block.bar, evaluated.gradient)
            blocks.append(StateBlock(under, bar))
        return State(*blocks), sample

    def theorem(self, constants: Constants, steps: int) -> float:
        m = metric(constants, self.rescale)
        return float((1.0 - math.sqrt(m.mu / m.smoothness)) ** steps)


@dataclass(frozen=True)
class OgmGModel(Model):
    """OGM-G on (x, y) jointly, from any start.

    The theorem is |∇f(z_N)|² <= 2L(f(z_0) - f*)/θ̃_0², with L = max(L_x, L_y).
    """

    name: ClassVar[str] = "ogm-g"
    needs_strong_convexity: ClassVar[bool] = False

    def run(self, f: TwoBlockFunction, steps: int) -> Measured:
        L = max(f.constants.L_x, f.constants.L_y)
        xs, ys = ogm_g_points(f.new_x(), L, steps), ogm_g_points(f.new_y(), L, steps)
        sample = f.at(next(xs), next(ys))
        first = 2.0 * L * sample.value
        for _ in range(steps):
            sample = f.at(xs.send(sample.x.gradient), ys.send(sample.y.gradient))
        return Measured(first, sample.x.gradient**2 + sample.y.gradient**2)

    def theorem(self, constants: Constants, steps: int) -> float:
        return ogm_g_weights(steps)[0] ** -2


def _require_positive(model: StepModel, *options: str) -> None:
    """Make these options of a model numbers; raise unless they are positive and finite."""
    for option in options:
        value = as_number(getattr(model, option), option)
        object.__setattr__(model, option, value)
        if not 0.0 < value < math.inf:
            raise InputError(f"{option} = {show(value)} must be positive and finite")


def _solve_y(f: TwoBlockFunction, x_under: Any, y_under: Any, lam: float, factor: float | None) -> Sample:
    """f at (x_under, ȳ), with any ȳ where |∇A(ȳ)| <= factor·|ȳ - y_under|/λ; with the minimiser of A for None."""
    if factor is None:
        return f.minimize_y(x_under, y_under, lam)
    sample = f.at(x_under, f.new_y())
    away = sample.y.point - y_under
    f.add_constraint((lam * sample.y.gradient + away) ** 2 <= factor**2 * away**2)
    return sample

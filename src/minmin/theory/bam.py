"""BAM, as PEPit sees it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from minmin.core.constants import Constants
from minmin.errors import InputError, as_number, show
from minmin.methods.bam_steps import XState, extrapolate, x_half, y_half
from minmin.methods.base import require_flag
from minmin.methods.theory import BlockParameters, block_parameters
from minmin.theory.function_class import Sample, TwoBlockFunction
from minmin.theory.models import Measured, State, StateBlock, StepModel, new_state


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
        for option in ("eta_x_factor", "condition_factor"):
            value = as_number(getattr(self, option), option)
            object.__setattr__(self, option, value)
            if not 0.0 < value < math.inf:
                raise InputError(f"{option} = {show(value)} must be positive and finite")

    def run(self, f: TwoBlockFunction, steps: int) -> Measured:
        state = new_state(f)
        first = self._psi(f, state)
        for _ in range(steps):
            state, _ = self.step(f, state)
        return Measured(first, self._psi(f, state))

    def step(self, f: TwoBlockFunction, state: State) -> tuple[State, Sample]:
        p = self._parameters(f.constants)
        x_under, y_under = extrapolate(p, *state.x), extrapolate(p, *state.y)
        sample = f.minimize_y(x_under, y_under, p.lam) if self.exact else self._meet_condition(f, x_under, y_under)
        y_bar, grad_y = sample.y.point, sample.y.gradient
        x = x_half(p, x_under, XState(*state.x), sample.x.gradient)
        return State(StateBlock(*x), StateBlock(y_half(p, state.y.point, y_bar, grad_y), y_bar)), sample

    def theorem(self, constants: Constants, steps: int) -> float:
        return (1.0 + block_parameters(constants).alpha) ** -steps

    def _meet_condition(self, f: TwoBlockFunction, x_under: Any, y_under: Any) -> Sample:
        """f at (x_under, ȳ), with any ȳ that meets condition (2)."""
        p = self._parameters(f.constants)
        sample = f.at(x_under, f.new_y())
        away = sample.y.point - y_under
        f.add_constraint((p.lam * sample.y.gradient + away) ** 2 <= self.condition_factor**2 * away**2)
        return sample

    def _psi(self, f: TwoBlockFunction, state: State) -> Any:
        p = self._parameters(f.constants)
        distances = (1.0 / p.eta_x) * state.x.point**2 + (1.0 / p.eta_y) * state.y.point**2
        return (1.0 + p.alpha) * distances + (2.0 / p.alpha) * f.at(state.x.bar, state.y.bar).value

    def _parameters(self, constants: Constants) -> BlockParameters:
        p = block_parameters(constants)
        return p._replace(eta_x=self.eta_x_factor * p.eta_x)

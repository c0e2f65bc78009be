"""BAM with triple momentum, as PEPit sees it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from minmin.core.constants import Constants
from minmin.errors import InputError, UnsupportedError, as_number, show
from minmin.methods.base import require_flag
from minmin.methods.triple_momentum import MARGIN, look_ahead, take_step, triple_parameters
from minmin.theory.function_class import Sample, TwoBlockFunction
from minmin.theory.models import Measured, State, StateBlock, StepModel


@dataclass(frozen=True)
class TripleMomentumModel(StepModel):
    """BAM with ``scheme="triple-momentum"``, from any state. A state's points are ξ and the ξ before it.

    The theorem is that of Van Scoy, Freeman and Lynch for exact inner solves. There is none for inexact ones.

    Parameters
    ----------
    exact : bool
        Whether ȳ minimises A exactly. Otherwise it is any point with |∇A(ȳ)| <= condition_factor·|ȳ - y_under|/λ.
    condition_factor, margin : float, optional
        The accuracy of the inner solves, and s in :class:`minmin.methods.triple_momentum.TripleParameters`; those of
        the method by default.
    """

    name: ClassVar[str] = "bam-triple-momentum"
    exact: bool = False
    condition_factor: float | None = None
    margin: float = MARGIN

    def __post_init__(self) -> None:
        require_flag("exact", self.exact)
        for option in ("margin",) if self.condition_factor is None else ("condition_factor", "margin"):
            value = as_number(getattr(self, option), option)
            object.__setattr__(self, option, value)
            if not 0.0 < value < math.inf:
                raise InputError(f"{option} = {show(value)} must be positive and finite")

    def run(self, f: TwoBlockFunction, steps: int) -> Measured:
        raise UnsupportedError(f"no theorem says what {self.name!r} does in {steps} steps; use lyapunov_rate()")

    def step(self, f: TwoBlockFunction, state: State) -> tuple[State, Sample]:
        p = triple_parameters(f.constants, self.margin)
        x_under, y_under = look_ahead(p, *state.x), look_ahead(p, *state.y)
        if self.exact:
            sample = f.minimize_y(x_under, y_under, p.lam)
        else:
            sample = f.at(x_under, f.new_y())
            away = sample.y.point - y_under
            factor = p.accuracy if self.condition_factor is None else self.condition_factor
            f.add_constraint((p.lam * sample.y.gradient + away) ** 2 <= factor**2 * away**2)
        x = take_step(p, p.step_x, *state.x, sample.x.gradient)
        y = take_step(p, p.step_y, *state.y, sample.y.gradient)
        return State(StateBlock(x, state.x.point), StateBlock(y, state.y.point)), sample

    def theorem(self, constants: Constants, steps: int) -> float:
        return float(triple_parameters(constants, self.margin).rho ** (2 * steps))

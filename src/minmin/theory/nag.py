"""NAG, as PEPit sees it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from minmin.core.constants import Constants
from minmin.methods.base import require_flag
from minmin.methods.nag import nag_half, nag_steps
from minmin.methods.theory import metric
from minmin.theory.function_class import Sample, TwoBlockFunction
from minmin.theory.models import Measured, State, StateBlock, StepModel


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

"""OGM-G, as PEPit sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from minmin.core.constants import Constants
from minmin.methods.ogmg import ogm_g_points, ogm_g_weights
from minmin.theory.function_class import TwoBlockFunction
from minmin.theory.models import Measured, Model


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

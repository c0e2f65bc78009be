"""FISTA with restarts.

Beck and Teboulle (2009), with a step of 1/L; the momentum starts again where a step turns back (O'Donoghue and Candès
2015, the gradient scheme).
"""

from __future__ import annotations

import numpy as np

from term_benchmark.race import Race


def run_fista(race: Race) -> None:
    step = 1.0 / race.objective.largest_curvature
    previous = ahead = race.objective.start
    momentum = 1.0
    while True:
        new = race.term.prox(ahead - step * race.gradient(ahead), step)
        race.see(new)
        if (ahead - new) @ (new - previous) > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = new + ((momentum - 1.0) / following) * (new - previous)
        previous, momentum = new, following

"""SciPy's L-BFGS-B, where the term is a box."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

from minmin.terms import Box
from term_benchmark.race import Race

Array = np.ndarray[Any, Any]


def run_lbfgsb(race: Race) -> None:
    assert isinstance(race.term, Box)

    def value_and_gradient(x: Array) -> tuple[float, Array]:
        gradient = race.gradient(x)
        race.see(x)
        return race.objective.value(x), gradient

    scipy.optimize.minimize(
        value_and_gradient,
        race.objective.start,
        jac=True,
        method="L-BFGS-B",
        bounds=scipy.optimize.Bounds(race.term.lower, race.term.upper),
        options={"maxiter": 10**6, "maxfun": 10**6, "ftol": 0.0, "gtol": 0.0},
    )

"""LIBLINEAR's own package on scaled columns: logistic regression in the primal (-s 0), no bias; least squares (-s 11).

Least squares is its support vector regression with the squared loss outside an interval, which has the length 0 here.
The data are converted to its format, arrays of (index, value), once, in prepare.
"""

from __future__ import annotations

import numpy as np
from liblinear.liblinearutil import problem, train

from estimator_benchmark.losses import Vector
from estimator_benchmark.objective import Objective
from estimator_benchmark.peers import Solve
from estimator_benchmark.peers.scaled import Scaled


def prepare(objective: Objective, form: str, solver: str) -> Solve:
    scaled = Scaled(objective, form)
    C = 1.0 / (objective.total_weight * scaled.penalty)
    kind = "-s 0" if objective.loss == "logistic" else "-s 11 -p 0"
    C = C if objective.loss == "logistic" else 0.5 * C  # its loss is the square, without the factor ½
    converted = problem(objective.data.target, scaled.A)

    def solve(tol: float) -> Vector:
        model = train(converted, f"{kind} -c {C!r} -e {tol!r} -q")
        v = np.ctypeslib.as_array(model.w, (scaled.A.shape[1],)).copy()
        sign = model.label[0] if objective.loss == "logistic" else 1  # w is positive for the label that comes first
        return scaled.coefficients(v * sign)

    return solve

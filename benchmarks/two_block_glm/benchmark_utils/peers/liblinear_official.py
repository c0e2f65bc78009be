"""LIBLINEAR's own package: L2-regularised logistic regression in the primal (-s 0), no bias, on scaled columns.

The data are converted to its format, arrays of (index, value), once, in prepare.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from liblinear.liblinearutil import problem, train

from benchmark_utils.peers import Solve
from benchmark_utils.peers.scaled import Scaled


def prepare(X: Any, Y: Any, labels: Any, alpha_x: float, alpha_y: float) -> Solve:
    scaled = Scaled(X, Y, alpha_x, alpha_y)
    C = 1.0 / (len(labels) * scaled.penalty)
    converted = problem(labels, scaled.A)

    def solve(tol: float) -> tuple[Any, Any]:
        model = train(converted, f"-s 0 -c {C!r} -e {tol!r} -q")
        v = np.ctypeslib.as_array(model.w, (scaled.A.shape[1],)).copy()
        return scaled.blocks(v * model.label[0])  # w is positive for the label that comes first in the data

    return solve

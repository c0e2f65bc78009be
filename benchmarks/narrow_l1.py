"""Logistic regression with L1 on narrow data: minmin beside scikit-learn's liblinear, which is faster there.

Both minimise the mean loss plus a weight times the sum of all |coefficients|, without an intercept, to the relative gap
1e-6, (f - f*)/(f(0) - f*). minmin must prove it; liblinear gets the loosest tolerance that reaches it. Processor time
of one thread (set OMP_NUM_THREADS=1), medians of five runs in turns. The data are read from ../shared/data; missing
files are reported and left out.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.linear_model import LogisticRegression

import minmin
from report import print_machine

sys.path.insert(0, str(Path(__file__).parent / "two_block_glm"))
from benchmark_utils.real import load, missing

SETS = ("a1a", "a9a", "w8a")
FRACTIONS = (0.1, 0.01)
"""The weight of L1, as a fraction of the least weight that makes all coefficients zero."""
GAP = 1e-6


def time_in_turns(*tasks: Callable[[], object], repeats: int = 5) -> list[float]:
    seconds: list[list[float]] = [[] for _ in tasks]
    for _ in range(repeats):
        for task, times in zip(tasks, seconds, strict=True):
            start = time.process_time()
            task()
            times.append(time.process_time() - start)
    return [statistics.median(times) for times in seconds]


class Race:
    """Both packages on one data set with one weight."""

    def __init__(self, name: str, fraction: float):
        X, Y, labels = load(name)
        self.A, self.labels = scipy.sparse.csr_array(scipy.sparse.hstack([X, Y])), labels
        self.A.indices, self.A.indptr = self.A.indices.astype(np.int32), self.A.indptr.astype(np.int32)
        self.weight = fraction * np.abs(self.A.T @ (0.5 * labels)).max() / len(labels)
        glm = minmin.problems.GLM(X, Y, labels, "logistic", alpha_x=0.0, alpha_y=0.0)
        self.problem = minmin.problems.Composite(glm, minmin.terms.L1(self.weight), minmin.terms.L1(self.weight))
        self.least = minmin.minimize(self.problem, tol=0, rtol=1e-10).fun

    def fit_minmin(self) -> minmin.Result:
        return minmin.minimize(self.problem, tol=0, rtol=GAP)

    def fit_liblinear(self, tol: float) -> Any:
        C = 1.0 / (len(self.labels) * self.weight)
        model = LogisticRegression(solver="liblinear", l1_ratio=1.0, C=C, fit_intercept=False, tol=tol, max_iter=10**4)
        return model.fit(self.A, self.labels)

    def gap_of(self, coefficients: Any) -> float:
        value = np.logaddexp(0.0, -self.labels * (self.A @ coefficients)).mean() + self.weight * abs(coefficients).sum()
        return float((value - self.least) / (np.log(2.0) - self.least))

    def find_tolerance(self) -> float:
        """The loosest tolerance with which liblinear reaches the gap."""
        return next(tol for tol in 10.0 ** -np.arange(1, 9) if self.gap_of(self.fit_liblinear(tol).coef_[0]) <= GAP)


def main() -> None:
    print_machine("scikit-learn")
    print("| data | weight | ∇x | minmin, ms | liblinear, ms | liblinear / minmin |")
    print("|---|---|---|---|---|---|")
    for name in SETS:
        if (reason := missing(name)) is not None:
            print(f"| {name} | left out: {reason} | | | | |")
            continue
        for fraction in FRACTIONS:
            race = Race(name, fraction)
            tol = race.find_tolerance()
            own, other = time_in_turns(race.fit_minmin, lambda race=race, tol=tol: race.fit_liblinear(tol))
            calls = race.fit_minmin().calls["grad_x"]
            row = f"| {name} | {fraction} | {calls} | {1e3 * own:.0f} | {1e3 * other:.0f} | {other / own:.2f} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()

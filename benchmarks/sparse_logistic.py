"""L1 logistic regression on sparse 0/1 columns beside dense unpenalised ones: minmin's methods and LIBLINEAR.

Run from the repository's root: python benchmarks/sparse_logistic.py. It takes about a minute. Seconds are processor
time of one thread, in the median of five runs, taken in turns. minmin stops at its own proved relative accuracy.
LIBLINEAR runs with the loosest tolerance of a list that reaches the same accuracy. The conversion of the data to a
LIBLINEAR problem, or to a GLM, is not counted; what minmin derives from them during a run is. LIBLINEAR cannot leave
columns unpenalised, so for it the dense columns are multiplied by 10⁴. It is the package liblinear-official; without it
minmin's methods run alone.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy is imported

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse

import minmin
from minmin.problems import GLM, Composite
from minmin.terms import L1
from report import print_machine

try:
    from liblinear import liblinearutil
except ImportError:
    liblinearutil = None

ROWS, SPARSE, DENSE, DENSITY = 20_000, 3000, 5, 0.005
SEEDS, REPEATS, RELATIVE, SCALE = 20, 5, 1e-6, 1e4
PENALTIES = (5.5e-4, 4.6e-4, 7e-4, 5e-4)
"""In turns over the seeds; 4 to 9 % of the sparse columns are active."""
TOLERANCES = (1e-1, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5)


def draw(seed: int):
    """X, Y and labels ±1, where a tenth of the sparse columns matter."""
    rng = np.random.default_rng(seed)
    shape = ROWS, SPARSE
    X = scipy.sparse.random_array(
        shape, density=DENSITY, format="csr", rng=rng, data_sampler=lambda size: np.ones(size)
    )
    Y, w = rng.standard_normal((ROWS, DENSE)), np.zeros(SPARSE)
    chosen = rng.choice(SPARSE, SPARSE // 10, replace=False)
    w[chosen] = rng.standard_normal(len(chosen))
    margins = X @ w + 0.5 * Y @ rng.standard_normal(DENSE)
    return X, Y, np.where(rng.random(ROWS) < 1.0 / (1.0 + np.exp(-margins)), 1.0, -1.0)


class Race:
    """minmin's methods and LIBLINEAR on the data of one seed."""

    def __init__(self, seed: int):
        self.X, self.Y, self.labels = draw(seed)
        self.weight = PENALTIES[seed % len(PENALTIES)]
        self.result = self.prepare("reduced-newton")()
        assert self.result.certified
        self.tasks = [partial(self.prepare, "reduced-newton"), partial(self.prepare, "reduced-lbfgs")]
        if liblinearutil is not None:
            scaled = scipy.sparse.hstack([self.X, SCALE * self.Y])
            self._data = liblinearutil.problem(self.labels, scipy.sparse.csr_matrix(scaled))
            tolerance = next(filter(self.is_enough, TOLERANCES))
            self.tasks.append(lambda: partial(self.train, tolerance))

    def prepare(self, method: str) -> Callable[[], minmin.Result]:
        """A run on a new problem, which has computed nothing yet."""
        glm = GLM(self.X, self.Y, self.labels, "logistic", alpha_x=0.0, alpha_y=0.0)
        return partial(minmin.minimize, Composite(glm, L1(self.weight)), method=method, tol=0.0, rtol=RELATIVE)

    def time_in_turns(self) -> list[float]:
        """The median seconds of every task, without what prepares it."""
        seconds: list[list[float]] = [[] for _ in self.tasks]
        for _ in range(REPEATS):
            for prepare, times in zip(self.tasks, seconds, strict=True):
                task = prepare()
                start = time.process_time()
                task()
                times.append(time.process_time() - start)
        return [median(times) for times in seconds]

    def train(self, tolerance: float) -> Any:
        options = f"-s 6 -c {1.0 / (ROWS * self.weight)} -e {tolerance} -q"
        return liblinearutil.train(self._data, liblinearutil.parameter(options))

    def is_enough(self, tolerance: float) -> bool:
        """Whether LIBLINEAR's coefficients at a tolerance have the accuracy that minmin proves."""
        model = self.train(tolerance)
        sign = 1.0 if model.get_labels()[0] == 1 else -1.0
        w = sign * np.array([model.get_decfun_coef(j + 1) for j in range(SPARSE + DENSE)])
        margins = self.labels * (self.X @ w[:SPARSE] + SCALE * (self.Y @ w[SPARSE:]))
        value = np.logaddexp(0.0, -margins).mean() + self.weight * np.abs(w[:SPARSE]).sum()
        least = self.result.fun - self.result.gap_bound
        return bool(value - least <= RELATIVE * (np.log(2.0) - least))


def main() -> None:
    print_machine("liblinear-official")
    print("seed  active  steps  passes  of columns  newton s  lbfgs s  LIBLINEAR s")
    seconds = []
    for seed in range(SEEDS):
        race = Race(seed)
        seconds.append(race.time_in_turns())
        r, times = race.result, "  ".join(f"{s:8.4f}" for s in seconds[-1])
        counts = f"{r.nit:5d}  {r.calls['passes']:6d}  {r.calls['passes_of_columns']:10d}"
        print(f"{seed:4d}   {np.mean(r.x != 0):5.1%}  {counts}  {times}")
    newton, *others = np.array(seconds).T
    for name, theirs in zip(("reduced-lbfgs", "LIBLINEAR"), others, strict=False):
        ratios = newton / theirs
        print(f"reduced-newton / {name}: median {np.median(ratios):.2f}, {ratios.min():.2f} to {ratios.max():.2f}")


if __name__ == "__main__":
    main()

"""Calls of ∇ₓ on real data: reduced-lbfgs compared with scipy's L-BFGS-B on (x, y) jointly.

Scipy runs twice, on the raw columns and on columns scaled by 1/std. Each run ends at the relative gap 1e-8,
(f - f*)/(f(0) - f*). The data are read from ../shared/data: a9a (the last 23 columns are y), w8a (the last 50), and
7200 clicks of Criteo (x has the hashed categories, y the 13 numeric columns). Missing files are reported and left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.optimize

import minmin
from report import print_machine

sys.path.insert(0, str(Path(__file__).parent / "two_block_glm"))
from benchmark_utils.real import load, missing

SETS = ("a9a", "w8a", "criteo")


class Joint:
    """The GLM as one function of (x, y) with scaled columns, for scipy; counts calls and stops at the target."""

    def __init__(self, problem: minmin.problems.GLM, scale: np.ndarray[Any, Any], target: float):
        self.problem, self.scale, self.target, self.calls = problem, scale, target, 0

    def __call__(self, z: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        w = z * self.scale
        e = self.problem.fix(w[: self.problem.d_x]).at(w[self.problem.d_x :])
        self.calls += 1
        if e.value <= self.target:
            raise StopIteration
        return e.value, np.concatenate([e.grad_x, e.grad_y]) * self.scale

    def count(self) -> int | None:
        size = self.problem.d_x + self.problem.d_y
        options = {"maxiter": 5000, "maxfun": 5000, "maxcor": 10, "ftol": 0.0, "gtol": 0.0}
        try:
            scipy.optimize.minimize(self, np.zeros(size), jac=True, method="L-BFGS-B", options=options)
        except StopIteration:
            return self.calls
        return None


def column_scale(problem: minmin.problems.GLM) -> np.ndarray[Any, Any]:
    X = problem.X
    mean = np.asarray(X.mean(axis=0)).ravel()
    std_x = np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0))
    std = np.concatenate([std_x, problem.Y.std(axis=0)])
    return 1.0 / np.where(std > 0.0, std, 1.0)


def rows(name: str, alphas_x: list[float], alphas_y: list[float]) -> Iterator[tuple[Any, ...]]:
    X, Y, labels = load(name)
    for alpha_x in alphas_x:
        for alpha_y in alphas_y:
            problem = minmin.problems.GLM(X, Y, labels, alpha_x=alpha_x, alpha_y=alpha_y)
            exact = minmin.minimize(problem, method="reduced-lbfgs", inner="newton", tol=1e-13)
            target = exact.fun + 1e-8 * (np.log(2.0) - exact.fun)
            ours = minmin.minimize(problem, method="reduced-lbfgs", tol=0, target_value=target)
            raw = Joint(problem, np.ones(problem.d_x + problem.d_y), target).count()
            scaled = Joint(problem, column_scale(problem), target).count()
            c = problem.constants
            yield name, alpha_x, alpha_y, c.kappa_x, c.kappa_y, ours.calls, raw, scaled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    arguments = parser.parse_args()
    print_machine()
    print("| data | alpha_x | alpha_y | κ_x | κ_y | reduced-lbfgs ∇x / ∇y | scipy raw | scipy scaled | ∇x ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in arguments.sets:
        if (reason := missing(name)) is not None:
            print(f"| {name} | left out: {reason} | | | | | | | |")
            continue
        for _, alpha_x, alpha_y, kappa_x, kappa_y, ours, raw, scaled in rows(
            name, [1e-2, 1e-3, 1e-4, 1e-5], [1e-3, 1e-5, 1e-7]
        ):
            better = min(c for c in (raw, scaled, 10**9) if c is not None)
            print(
                f"| {name} | {alpha_x:g} | {alpha_y:g} | {kappa_x:.3g} | {kappa_y:.3g} | "
                f"{ours['grad_x']} / {ours['grad_y']} | {raw or '> 5000'} | {scaled or '> 5000'} | "
                f"{ours['grad_x'] / better:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

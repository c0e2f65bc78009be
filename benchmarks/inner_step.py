"""The cost of an inner step relative to an outer step, on a sparse GLM where X has 100 times the non-zeros of Y.

An outer step fixes a new x (X·x) and computes ∇ₓf there (Xᵀ·r); an inner step computes ∇ᵧf at a new y.
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.sparse

import minmin
from report import interleaved_medians, print_machine


def sparse_logistic(rows: int, per_row: int, columns: int, seed: int) -> minmin.problems.GLM:
    rng = np.random.default_rng(seed)

    def design(per_row: int, columns: int) -> scipy.sparse.csr_array:
        indices = rng.integers(columns, size=rows * per_row)
        pointers = np.arange(0, rows * per_row + 1, per_row)
        return scipy.sparse.csr_array((rng.standard_normal(rows * per_row), indices, pointers), (rows, columns))

    labels = rng.choice([-1.0, 1.0], size=rows)
    return minmin.problems.GLM(design(per_row, columns), design(per_row // 100, 50), labels, alpha_x=1e-3, alpha_y=1e-5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    print_machine()
    for rows, per_row, columns in [(5_000, 100, 20_000), (20_000, 100, 50_000), (20_000, 300, 100_000)]:
        problem = sparse_logistic(rows, per_row, columns, seed)
        rng = np.random.default_rng(seed)
        x, y = 0.1 * rng.standard_normal(problem.d_x), 0.1 * rng.standard_normal(problem.d_y)
        fixed = problem.fix(x)

        def outer(problem: minmin.problems.GLM = problem, x=x, y=y) -> object:
            return problem.fix(x).at(y).grad_x

        def inner(fixed=fixed, y=y) -> object:
            return fixed.at(y).grad_y

        outer_s, inner_s = interleaved_medians(outer, inner, repeats=50)
        print(
            f"{rows:>6} rows, non-zeros {problem.X.nnz:>8} in X, {problem.Y.nnz:>6} in Y: "
            f"outer {1e3 * outer_s:6.2f} ms, inner {1e3 * inner_s:5.2f} ms, ratio {inner_s / outer_s:.3f}"
        )


if __name__ == "__main__":
    main()

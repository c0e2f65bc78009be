"""A million rows: time relative to the bare products, memory relative to the data, and how time grows with non-zeros.

A run stops when a relative gap of 1e-6 is proved. The bare time is that of all products of the run, with X, with Y, and
for Hessians in y, by SciPy and NumPy on vectors of the same sizes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import minmin
from report import print_machine

ALPHAS = (2e-6, 2e-9)
DENSE, DRAWS = 50, 20


def clicks(n: int, seed: int) -> tuple[Any, Any, Any]:
    """n rows with 20 draws each from n sparse columns, and 50 dense columns; uses little memory besides the data."""
    rng = np.random.default_rng(seed)
    ranks = np.exp(rng.random(n * DRAWS) * np.log(n))  # j with density about 1/j
    columns = np.minimum(ranks, n - 1).astype(np.int32)
    pointers = np.arange(0, n * DRAWS + 1, DRAWS, dtype=np.int32)
    X = scipy.sparse.csr_array((np.full(n * DRAWS, DRAWS**-0.5), columns, pointers), shape=(n, n))
    X.sum_duplicates()
    Y = rng.standard_normal((n, DENSE))
    Y *= np.geomspace(1.0, 1e-2, DENSE)
    margins = X @ (1.5 * rng.standard_normal(n)) + Y @ (3.0 * rng.standard_normal(DENSE)) - 1.0
    return X, Y, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-margins)), 1.0, -1.0)


def bare_seconds(X: Any, Y: Any, calls: dict[str, int]) -> float:
    """The seconds of the products of a run alone; half of the passes are with Xᵀ or Yᵀ."""
    rng = np.random.default_rng(0)
    v, r, u = rng.standard_normal(X.shape[1]), rng.standard_normal(X.shape[0]), rng.standard_normal(Y.shape[1])
    weights = rng.random(X.shape[0])
    X_T, Y_T = X.T, Y.T

    def seconds(product: Any) -> float:
        product()
        times = []
        for _ in range(5):
            start = time.perf_counter()
            product()
            times.append(time.perf_counter() - start)
        return float(np.median(times))

    def gram() -> None:
        for start in range(0, len(Y), 2048):
            rows = Y[start : start + 2048]
            rows.T @ (weights[start : start + 2048, None] * rows)

    sparse = seconds(lambda: X @ v) + seconds(lambda: X_T @ r)
    dense = seconds(lambda: Y @ u) + seconds(lambda: Y_T @ r)
    return calls["passes"] * sparse / 2 + calls["passes_y"] * dense / 2 + calls["hess_yy"] * seconds(gram)


def reset_peak_memory() -> None:
    """Reset the peak, since making the data takes more memory than solving (Linux only)."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int:
    """The largest memory of this process since the reset, in bytes, including the data and the interpreter."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print_machine()
    print("| rows | non-zeros | passes | seconds | bare products | ratio | peak memory / data |")
    print("|---|---|---|---|---|---|---|")
    sizes, times = [], []
    for n in (arguments.rows // 4, arguments.rows // 2, arguments.rows):
        X, Y, labels = clicks(n, arguments.seed)
        data = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + Y.nbytes
        problem = minmin.problems.GLM(X, Y, labels, alpha_x=ALPHAS[0], alpha_y=ALPHAS[1])
        lowest = minmin.minimize(problem, method="reduced-newton", tol=1e-3).fun  # f(0) - f* up to 1e-3
        reset_peak_memory()
        start = time.perf_counter()
        r = minmin.minimize(problem, method="reduced-newton", tol=1e-6 * (np.log(2.0) - lowest))
        seconds = time.perf_counter() - start
        peak = peak_memory()
        assert r.success, r.message
        assert r.certified
        bare = bare_seconds(X, Y, r.calls)
        sizes.append(X.nnz)
        times.append(seconds)
        ratios = f"{seconds / bare:.2f} | {peak / data:.2f}"
        print(f"| {n} | {X.nnz} | {r.calls['passes']} | {seconds:.2f} | {bare:.2f} | {ratios} |", flush=True)
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"\nseconds grow like the number of non-zeros to the power {exponent:.2f}")


if __name__ == "__main__":
    main()

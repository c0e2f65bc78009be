"""A path of 20 pairs of penalties on one fold, compared with cold fits of the same pairs: passes, seconds, ratios."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent / "two_block_glm"))
from benchmark_utils import clicks, real
from minmin.estimators import BlockLogisticRegression, BlockLogisticRegressionCV
from report import print_machine

GRIDS = {
    "first": (np.geomspace(2e-3, 2e-6, 5), np.geomspace(2e-7, 2e-9, 4)),
    "second": (np.geomspace(1e-4, 1e-6, 5), np.geomspace(1e-2, 1e-4, 4)),
    "a9a": (np.geomspace(1e-2, 1e-5, 5), np.geomspace(1e-3, 1e-6, 4)),
    "criteo": (np.geomspace(1e-2, 1e-5, 5), np.geomspace(1e-3, 1e-6, 4)),
}


def load(name: str) -> Any:
    kinds = {"first": clicks.first_kind, "second": clicks.second_kind}
    return kinds[name]() if name in kinds else real.load(name)


def measure(name: str, tol: float) -> str:
    X, Y, labels = load(name)
    A = scipy.sparse.hstack([X, scipy.sparse.csr_array(Y)], format="csr")
    of_x, of_y = GRIDS[name]
    blocks = {"x": slice(0, X.shape[1]), "y": slice(X.shape[1], None)}
    rows = np.random.default_rng(0).permutation(len(labels))
    train, test = rows[: len(rows) * 4 // 5], rows[len(rows) * 4 // 5 :]
    path = BlockLogisticRegressionCV(blocks, alphas={"x": of_x, "y": of_y}, cv=[(train, test)], tol=tol)
    start = time.perf_counter()
    path.fit(A, labels)
    whole = time.perf_counter() - start
    part, of_part = A[train], labels[train]
    cold_passes, cold_seconds = [], []
    for alphas in path.cv_results_["params"]:
        start = time.perf_counter()
        cold = BlockLogisticRegression(blocks, alpha=alphas, tol=tol).fit(part, of_part)
        cold_seconds.append(time.perf_counter() - start)
        cold_passes.append(cold.calls_["passes"])
    passes = path.cv_results_["mean_passes"].sum()
    seconds = whole - path.result_.seconds
    return (
        f"| {name} | {passes:.0f} | {max(cold_passes)} | {passes / max(cold_passes):.1f} "
        f"| {seconds:.2f} | {max(cold_seconds):.3f} | {seconds / max(cold_seconds):.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=list(GRIDS), choices=GRIDS)
    parser.add_argument("--tol", type=float, default=1e-6)
    arguments = parser.parse_args()
    print_machine("scikit-learn")
    proved = f"f - f* <= {arguments.tol:g} of the gain over the null model proved each time"
    print(f"one thread; {proved}; seconds include splitting, scoring and checks\n")
    print("| data | passes: path | hardest cold fit | ratio | seconds: path | hardest cold fit | ratio |")
    print(f"|{'---|' * 7}")
    with threadpool_limits(limits=1):
        for name in arguments.data:
            reason = real.missing(name)
            print(f"| {name} | left out: {reason} |" if reason else measure(name, arguments.tol), flush=True)


if __name__ == "__main__":
    main()

"""The time of fit() compared with minimize() on the same data, and of the first fit in a process with the second."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

import minmin
from minmin.estimators import BlockLogisticRegression

sys.path.insert(0, str(Path(__file__).parent / "two_block_glm"))
from benchmark_utils import clicks
from report import interleaved_medians, print_machine

FRESH = """
import time
import minmin
from minmin.estimators import {kind}
X, labels = minmin.datasets.load_a1a()
seconds = []
for _ in range(2):
    start = time.perf_counter()
    {kind}().fit(X, 1 + (labels > 0))
    seconds.append(time.perf_counter() - start)
print(f"| {kind} | {{seconds[0]:.3f}} | {{seconds[1]:.3f}} | {{seconds[0] - seconds[1]:.3f}} |")
"""


def compare_with_minimize(tol: float = 1e-9) -> None:
    """fit() gets the first kind of clicks as one CSR matrix, which it splits; minimize() gets the two blocks."""
    X, Y, labels = clicks.first_kind()
    whole = scipy.sparse.hstack([X, scipy.sparse.csr_array(Y)], format="csr")
    blocks = [slice(0, X.shape[1]), slice(X.shape[1], None)]
    print("| first kind | minimize, s | fit, s | ratio |\n|---|---|---|---|")
    for name, (alpha_x, alpha_y) in clicks.FIRST_KIND_PENALTIES.items():

        def core(alpha_x: float = alpha_x, alpha_y: float = alpha_y) -> None:
            problem = minmin.problems.GLM(X, Y, labels, alpha_x=alpha_x, alpha_y=alpha_y)
            minmin.minimize(problem, method="reduced-newton", tol=0, rtol=tol, rtol_from=np.log(2.0))  # as in fit()

        model = BlockLogisticRegression(blocks, alpha=(alpha_x, alpha_y), fit_intercept=False, tol=tol)
        core_seconds, fit_seconds = interleaved_medians(core, lambda model=model: model.fit(whole, labels))
        print(f"| {name} | {core_seconds:.3f} | {fit_seconds:.3f} | {fit_seconds / core_seconds:.2f} |", flush=True)


def compare_first_fits() -> None:
    print("\n| a1a | first fit, s | second fit, s | difference, s |\n|---|---|---|---|", flush=True)
    for kind in minmin.estimators.__all__:
        subprocess.run([sys.executable, "-c", FRESH.format(kind=kind)], check=True)


def main() -> None:
    print_machine("scikit-learn")
    print("one thread, medians, (f - f*)/(f(0) - f*) <= 1e-9 proved in the first table\n")
    with threadpool_limits(limits=1):
        compare_with_minimize()
    compare_first_fits()


if __name__ == "__main__":
    main()

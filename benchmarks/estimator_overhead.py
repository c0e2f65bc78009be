"""What fit() costs above minimize() on the same data, and a first fit in a fresh process above a second."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
    {kind}().fit(X, labels > 0)
    seconds.append(time.perf_counter() - start)
print(f"| {kind} | {{seconds[0]:.3f}} | {{seconds[1]:.3f}} | {{seconds[0] - seconds[1]:.3f}} |")
"""


def against_minimize(tol: float = 1e-9) -> None:
    """The first kind of clicks as one CSR matrix, to be split, against its two blocks as they are."""
    X, Y, labels = clicks.first_kind()
    whole = scipy.sparse.hstack([X, scipy.sparse.csr_array(Y)], format="csr")
    blocks = [slice(0, X.shape[1]), slice(X.shape[1], None)]
    print("| first kind | minimize, s | fit, s | ratio |\n|---|---|---|---|")
    for name, (alpha_x, alpha_y) in clicks.FIRST_KIND_PENALTIES.items():

        def core(alpha_x: float = alpha_x, alpha_y: float = alpha_y) -> None:
            problem = minmin.problems.GLM(X, Y, labels, alpha_x=alpha_x, alpha_y=alpha_y)
            minmin.minimize(problem, method="reduced-newton", tol=tol)

        model = BlockLogisticRegression(blocks, alpha=(alpha_x, alpha_y), fit_intercept=False, tol=tol)
        bare, fitted = interleaved_medians(core, lambda model=model: model.fit(whole, labels))
        print(f"| {name} | {bare:.3f} | {fitted:.3f} | {fitted / bare:.2f} |", flush=True)


def in_fresh_processes() -> None:
    print("\n| a1a | first fit, s | second fit, s | difference, s |\n|---|---|---|---|", flush=True)
    for kind in minmin.estimators.__all__:
        subprocess.run([sys.executable, "-c", FRESH.format(kind=kind)], check=True)


def main() -> None:
    print_machine("scikit-learn")
    print("one thread, medians, f - f* <= 1e-9 proved in the first table\n")
    with threadpool_limits(limits=1):
        against_minimize()
    in_fresh_processes()


if __name__ == "__main__":
    main()

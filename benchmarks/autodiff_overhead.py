"""The time of minimize() over functions of JAX relative to the calls of their gradients alone.

f is a ridge regression whose gradients take about 2.5 or 20 ms. "from_jax" differentiates f; "callables" are compiled
gradients given to Function with a start of JAX. The calls alone are as many compiled gradients, of NumPy vectors and
back. Values that only the history needs are not part of either time.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import minmin
from report import print_machine

ROWS = {"2.5 ms": 6_000, "20 ms": 44_000}
COLUMNS_X, COLUMNS_Y = 700, 100
ROUNDS = 9


def make_function(rows: int) -> tuple[Callable[[Any, Any], Any], minmin.Constants]:
    rng = np.random.default_rng(0)
    X, Y = (jnp.asarray(rng.standard_normal((rows, columns))) for columns in (COLUMNS_X, COLUMNS_Y))
    target = jnp.asarray(rng.standard_normal(rows))

    def f(x: Any, y: Any) -> Any:
        residual = X @ x + Y @ y - target
        return residual @ residual / (2 * rows) + 0.05 * (x @ x) + 0.05 * (y @ y)

    largest = float(jnp.linalg.norm(jnp.hstack([X, Y]), 2)) ** 2 / rows
    return f, minmin.Constants(2 * largest + 0.1, 2 * largest + 0.1, 0.1, 0.1)


def call_alone(f: Callable[[Any, Any], Any], calls: dict[str, int]) -> Callable[[], float]:
    """A function that measures the calls alone."""
    compiled = {"grad_x": jax.jit(jax.grad(f, 0)), "grad_y": jax.jit(jax.grad(f, 1))}
    value, x, y = jax.jit(f), np.ones(COLUMNS_X), np.ones(COLUMNS_Y)
    order = [name for i in range(max(calls.values())) for name in compiled if i < calls[name]]  # taking turns

    def run() -> float:
        seconds = 0.0
        for name in order:
            start = time.perf_counter()
            np.asarray(compiled[name](x, y))
            seconds += time.perf_counter() - start
            if name == "grad_y" and calls["monitor"] > 1:
                float(value(x, y))  # as for the history, so that the processor's caches hold the same
        return seconds

    return run


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    print_machine()
    print(f"JAX {jax.__version__}, one thread; medians of {ROUNDS} interleaved runs")
    for duration, rows in ROWS.items():
        f, constants = make_function(rows)
        x0, y0 = jnp.zeros(COLUMNS_X), jnp.zeros(COLUMNS_Y)
        gradients = jax.jit(jax.grad(f, 0)), jax.jit(jax.grad(f, 1))
        problems = {
            "from_jax": minmin.problems.from_jax(f, x0, y0, constants=constants),
            "callables": minmin.problems.Function(jax.jit(f), *gradients, x0=x0, y0=y0, constants=constants),
        }
        for method in ("nag", "reduced-lbfgs"):
            for name, problem in problems.items():
                calls = minmin.minimize(problem, method=method, tol=1e-9).calls
                alone = call_alone(f, calls)
                alone()
                pairs = [(minmin.minimize(problem, method=method, tol=1e-9).seconds, alone()) for _ in range(ROUNDS)]
                ratio = statistics.median(ours / bare for ours, bare in pairs)
                one = statistics.median(bare for _, bare in pairs) / (calls["grad_x"] + calls["grad_y"])
                print(
                    f"{duration:>6} ({1e3 * one:.1f} ms a call) {method:>13} {name:>9}: {ratio:.2f} "
                    f"(∇x {calls['grad_x']}, ∇y {calls['grad_y']})"
                )


if __name__ == "__main__":
    main()

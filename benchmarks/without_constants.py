"""Runs on bare callables, without constants: how often they stop too early, and how many calls of ∇ₓ they take.

Random convex functions from callable_problems.py, whose true minimum is known. Calls are compared with those at which
the true gap first was below tol, and with SciPy's L-BFGS-B with its defaults, at the gap that it reached. 400 functions
take about three minutes.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize
from scipy.special import expit

import minmin
from callable_problems import Smooth, draw
from report import print_machine

TOLERANCES = (1e-3, 1e-6, 1e-9)
_RESOLUTION = 1e-12
"""Gaps below this fraction of |f*| cannot be measured, so tolerances below it are left out."""


@dataclass(frozen=True)
class Stop:
    """Where a run stops for one tolerance: calls of ∇ₓ and the true gap then, and calls until the gap was below tol."""

    tol: float
    calls: float
    gap: float
    oracle: float


@dataclass(frozen=True)
class Outcome:
    """One function: where a run stops for each tolerance, the same for SciPy's gap, and SciPy's calls."""

    number: int
    smooth: Smooth
    status: str
    stops: tuple[Stop, ...]
    at_scipy_gap: Stop | None
    scipy_calls: int


def as_function(smooth: Smooth) -> minmin.problems.Function:
    d_x = smooth.d_x

    def join(x: Any, y: Any) -> Any:
        return np.concatenate([x, y])

    return minmin.problems.Function(
        lambda x, y: smooth.value(join(x, y)),
        lambda x, y: smooth.gradient(join(x, y))[:d_x],
        lambda x, y: smooth.gradient(join(x, y))[d_x:],
        d_x=d_x,
        d_y=smooth.d - d_x,
    )


def compare(number: int) -> Outcome:
    """Run once to the smallest tolerance; the records say where the run would have stopped for larger ones."""
    smooth = draw(number)
    minimum = smooth.minimum()
    scipy = scipy_minimize(
        lambda z: (smooth.value(z), smooth.gradient(z)), np.zeros(smooth.d), jac=True, method="L-BFGS-B"
    )
    scipy_gap = float(scipy.fun) - minimum
    least = _RESOLUTION * max(1.0, abs(minimum))
    records: list[tuple[float, ...]] = []
    result = minmin.minimize(
        as_function(smooth),
        tol=max(min(*TOLERANCES, scipy_gap), least),
        callback=lambda record: records.append((record.grad_x, record.value - minimum, record.gap_bound)),
    )
    calls, gaps, bounds = np.array(records).T

    def stop(tol: float) -> Stop:
        stopped, below = np.flatnonzero(bounds <= tol), np.flatnonzero(gaps <= tol)
        first = stopped[0] if len(stopped) else None
        return Stop(
            tol,
            np.inf if first is None else calls[first],
            np.nan if first is None else gaps[first],
            calls[below[0]] if len(below) else np.nan,
        )

    return Outcome(
        number,
        smooth,
        result.status,
        tuple(stop(tol) for tol in TOLERANCES if tol >= least),
        stop(scipy_gap) if scipy_gap >= least else None,
        scipy.nfev,
    )


def calls_at_rounding_level(number: int) -> int:
    """Calls of ∇ₓ after the gradient was within 10 times of its least, with no tolerance."""
    smooth = draw(number)
    records: list[tuple[int, float]] = []

    def note(record: minmin.Record) -> None:
        z = np.concatenate([record.x, record.y])
        records.append((record.grad_x, float(np.linalg.norm(smooth.gradient(z)))))

    result = minmin.minimize(as_function(smooth), tol=0.0, callback=note, max_grad_x=20_000)
    least = min(norm for _, norm in records)
    return result.calls["grad_x"] - next(calls for calls, norm in records if norm <= 10 * least)


def logistic(seed: int, rows: int = 300) -> minmin.problems.Function:
    """A well-scaled logistic regression with 20 + 3 columns and penalties of 0.01, as callables."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((rows, 20)), rng.standard_normal((rows, 3))
    signs = np.where(rng.random(rows) < expit(X @ rng.standard_normal(20) + Y @ rng.standard_normal(3)), 1.0, -1.0)

    def slopes(x: Any, y: Any) -> Any:
        return -signs * expit(-signs * (X @ x + Y @ y)) / rows

    return minmin.problems.Function(
        lambda x, y: float(np.logaddexp(0, -signs * (X @ x + Y @ y)).mean() + 0.005 * (x @ x + y @ y)),
        lambda x, y: X.T @ slopes(x, y) + 0.01 * x,
        lambda x, y: Y.T @ slopes(x, y) + 0.01 * y,
        d_x=20,
        d_y=3,
    )


def row_and_column_effects(seed: int) -> minmin.problems.Function:
    """½|U·1ᵀ + 1·bᵀ - M|² plus a small ridge, with 24 numbers in x = U and 4 in y = b."""
    target = np.random.default_rng(seed).standard_normal((24, 4))

    def residual(x: Any, y: Any) -> Any:
        return x[:, None] + y[None, :] - target

    return minmin.problems.Function(
        lambda x, y: float(0.5 * (residual(x, y) ** 2).sum() + 0.005 * (x @ x + y @ y)),
        lambda x, y: residual(x, y).sum(axis=1) + 0.01 * x,
        lambda x, y: residual(x, y).sum(axis=0) + 0.01 * y,
        d_x=24,
        d_y=4,
    )


def rounds_of_three_clients(seed: int) -> int:
    clients = [minmin.federated.Client(logistic(100 * seed + number, rows=100)) for number in range(3)]
    return minmin.federated.run(clients).calls["grad_x"]


def quantiles(ratios: list[float]) -> str:
    """The median and other quantiles; NaN, where a run stopped too early, is left out."""
    middle, high, largest = np.nanquantile(ratios, [0.5, 0.9, 1.0])
    return f"median {middle:.2f}, 90 % {high:.2f}, largest {largest:.2f}"


def print_stops(outcomes: list[Outcome]) -> None:
    pairs = [(outcome, stop) for outcome in outcomes for stop in outcome.stops]
    wrong = [(outcome, stop) for outcome, stop in pairs if stop.gap > stop.tol]
    print(f"\n{len(outcomes)} functions, {len(pairs)} pairs of function and tol")
    print(f"  not converged: {sum(outcome.status != 'converged' for outcome in outcomes)}")
    print(f"  stopped with a gap above tol: {len(wrong)} ({100 * len(wrong) / len(pairs):.2f} %)")
    for outcome, stop in wrong:
        print(f"    number {outcome.number}, {outcome.smooth.kind}: {stop.gap / stop.tol:.1f} times tol = {stop.tol:g}")
    print(f"  calls over those at which the gap was below tol: {quantiles([s.calls / s.oracle for _, s in pairs])}")
    for kind in sorted({outcome.smooth.kind for outcome in outcomes}):
        ratios = [stop.calls / stop.oracle for outcome, stop in pairs if outcome.smooth.kind == kind]
        print(f"    {kind}: {quantiles(ratios)}")


def print_against_scipy(outcomes: list[Outcome]) -> None:
    pairs = [(o.at_scipy_gap.calls / o.scipy_calls, o.scipy_calls) for o in outcomes if o.at_scipy_gap is not None]
    print(f"\ncalls over SciPy's L-BFGS-B at the gap that it reached, {len(pairs)} functions")
    print(f"  {quantiles([ratio for ratio, _ in pairs])}")
    few = [ratio for ratio, calls in pairs if calls <= 20]
    print(f"  where SciPy takes at most 20 calls, {len(few)} functions: {quantiles(few)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", type=int, default=400, help="how many random functions (default 400)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one (default 0)")
    parser.add_argument("--rounding", type=int, default=100, help="how many of them are also run to rounding level")
    given = parser.parse_args()
    print_machine()
    numbers = range(given.first, given.first + given.functions)
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        warnings.simplefilter("ignore")  # SciPy's line search overflows on Poisson regressions
        outcomes = [compare(number) for number in numbers]
        print_stops(outcomes)
        print_against_scipy(outcomes)
        late = [calls_at_rounding_level(number) for number in numbers[: given.rounding]]
    print(
        f"\ncalls after the gradient was within 10 times of its least, tol = 0: {quantiles([float(n) for n in late])}"
    )
    seeds = range(8)
    for name, make in {"logistic regression": logistic, "row and column effects": row_and_column_effects}.items():
        print(f"{name}, calls for eight seeds: {[minmin.minimize(make(seed)).calls['grad_x'] for seed in seeds]}")
    print(f"three federated clients, rounds for eight seeds: {[rounds_of_three_clients(seed) for seed in seeds]}")


if __name__ == "__main__":
    main()

"""Variable projection with JAX: fit rate constants of a chemical reaction, whose simulation is the expensive part.

A flash of light makes molecules A. They turn into B, two B form C, and C decays. The light that the sample absorbs is
measured at 40 wavelengths. At each it is a mixture of the amounts of A, B and C, plus an offset.

- x: the logarithms of the three rates. Each new x takes a simulation, by ``prepare``.
- y: the four coefficients of each wavelength, 160 in all. f is quadratic in y and needs no new simulation.

f is not convex in (x, y) together, so there is no proved bound. The same fit by SciPy's L-BFGS-B on (x, y) jointly
shows what it saves to eliminate y. Needs jax and matplotlib.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize as minimize_jointly

import minmin

jax.config.update("jax_enable_x64", True)

Array = np.ndarray[Any, Any]
Trace = list[tuple[int, float]]  # f after each number of simulations
TIMES = np.geomspace(0.05, 20.0, 60)
STEPS = 5  # of the integrator, between two times
RATES = np.array([2.0, 1.5, 0.15])
WAVELENGTHS = np.linspace(400.0, 700.0, 40)
NOISE, RIDGE = 0.003, 1e-4
simulations: list[None] = []  # one entry for each


def simulate(x: Any) -> Any:
    """The amounts of A, B and C at all times, by Runge-Kutta steps, and a column of ones for the offset."""
    jax.debug.callback(lambda: simulations.append(None))
    k = jnp.exp(x["log_rates"])

    def flow(c: Any) -> Any:
        first, second, third = k[0] * c[0], k[1] * c[1] ** 2, k[2] * c[2]
        return jnp.stack([-first, first - 2.0 * second, second - third])

    def step(c: Any, h: Any) -> Any:
        f1 = flow(c)
        f2 = flow(c + h / 2 * f1)
        f3 = flow(c + h / 2 * f2)
        c = c + h / 6 * (f1 + 2 * f2 + 2 * f3 + flow(c + h * f3))
        return c, c

    intervals = np.repeat(np.diff(TIMES, prepend=0.0) / STEPS, STEPS)
    _, amounts = jax.lax.scan(step, jnp.array([1.0, 0.0, 0.0]), intervals)
    return jnp.column_stack([amounts[STEPS - 1 :: STEPS], jnp.ones(len(TIMES))])


def misfit(data: Array, curves: Any, y: Any) -> Any:
    """½|curves·y - data|², and a small penalty that makes y unique."""
    return 0.5 * jnp.sum((curves @ y - data) ** 2) + 0.5 * RIDGE * jnp.sum(y**2)


def measure() -> Array:
    """What the instrument shows: a band of absorption for each kind of molecule, and noise."""
    bands = [(475.0, 30.0, 1.0), (535.0, 36.0, 0.8), (610.0, 45.0, 1.2)]
    spectra = [height * np.exp(-0.5 * ((WAVELENGTHS - centre) / width) ** 2) for centre, width, height in bands]
    curves = np.asarray(simulate({"log_rates": np.log(RATES)}))
    noise = NOISE * np.random.default_rng(0).standard_normal((len(TIMES), len(WAVELENGTHS)))
    return curves @ np.vstack([*spectra, np.full(len(WAVELENGTHS), 0.05)]) + noise


def note(trace: Trace, value: float) -> None:
    jax.effects_barrier()  # a count may come later than the numbers
    trace.append((len(simulations), value))


def fit_with_y_eliminated(data: Array, x0: Any, y0: Any) -> tuple[minmin.Result, Trace]:
    problem = minmin.problems.from_jax(partial(misfit, data), x0, y0, prepare=simulate)
    trace: Trace = []
    simulations.clear()
    return minmin.minimize(problem, assume_convex=False, callback=lambda record: note(trace, record.value)), trace


def fit_jointly(data: Array, x0: Any, y0: Any) -> tuple[Any, Trace]:
    start, unflatten = ravel_pytree((x0, y0))

    @jax.jit
    @jax.value_and_grad
    def differentiate(variables: Any) -> Any:
        x, y = unflatten(variables)
        return misfit(data, simulate(x), y)

    trace: Trace = []

    def value_and_gradient(variables: Array) -> tuple[float, Array]:
        value, gradient = differentiate(variables)
        note(trace, float(value))
        return float(value), np.array(gradient)

    simulations.clear()
    r = minimize_jointly(value_and_gradient, np.array(start), jac=True, method="L-BFGS-B", options={"ftol": 1e-13})
    return unflatten(jnp.array(r.x)), trace


def draw(file: Path, data: Array, r: minmin.Result, lowest: float, traces: dict[str, Trace]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    fitted = np.asarray(simulate(r.x) @ r.y)
    for i, channel in enumerate((10, 19, 30)):
        left.plot(TIMES, data[:, channel], ".", color=f"C{i}", ms=4, alpha=0.6)
        left.plot(TIMES, fitted[:, channel], color=f"C{i}", label=f"{WAVELENGTHS[channel]:.0f} nm")
    left.set(xscale="log", xlabel="time", ylabel="absorption", title="data and fit at 3 of 40 wavelengths")
    for name, trace in traces.items():
        counts, values = np.array(trace).T
        right.plot(counts, np.minimum.accumulate(values) - lowest, label=name)
    right.set(yscale="log", ylim=(1e-8, None), xlabel="simulations", title="f above the lowest value found")
    left.legend(frameon=False)
    right.legend(frameon=False)
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(), help="where to write the picture")
    folder = parser.parse_args().folder
    data = measure()
    x0, y0 = {"log_rates": jnp.zeros(3)}, jnp.zeros((4, len(WAVELENGTHS)))
    r, eliminated = fit_with_y_eliminated(data, x0, y0)
    (x, _), jointly = fit_jointly(data, x0, y0)
    print(r)
    print(f"certified: {r.certified}; bound on f - f*: {r.gap_bound}")
    print("rates, true:        ", RATES)
    print("rates, y eliminated:", np.round(np.exp(r.x["log_rates"]), 3))
    print("rates, jointly:     ", np.round(np.exp(x["log_rates"]), 3))
    traces = {"y eliminated (minmin)": eliminated, "jointly (SciPy's L-BFGS-B)": jointly}
    lowest = min(value for trace in traces.values() for _, value in trace)
    for name, trace in traces.items():
        count = next(count for count, value in trace if value <= lowest + 1e-6)
        print(f"{name}: {count} simulations until f is within 1e-6 of the lowest value found")
    draw(folder / "variable-projection.png", data, r, lowest, traces)


if __name__ == "__main__":
    main()

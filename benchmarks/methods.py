"""Calls of all methods in the settings of arXiv:2212.14439, to the relative gap 1e-8, and the cost of `auto`.

The paper is by Kovalev, Gasnikov and Malinovsky. The cost of `auto` is relative to the best method. For quadratics the
calls are medians over random instances, for a1a over the seeds of the randomised methods.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import minmin
from minmin.extend import make_start
from minmin.problems import GLM, Quadratic
from report import print_machine

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "auto": ("auto", {}),
    "reduced-lbfgs": ("reduced-lbfgs", {}),
    "bam": ("bam", {}),
    "nag": ("nag", {}),
    "nag, rescaled": ("nag", {"rescale": True}),
    "acdm": ("acdm", {"certify_every": 0}),
    "acdm, rescaled": ("acdm", {"rescale": True, "certify_every": 0}),
    "lincoupling": ("lincoupling", {"certify_every": 0}),
    "lincoupling, rescaled": ("lincoupling", {"rescale": True, "certify_every": 0}),
}


def logistic(mu_y: float) -> GLM:
    X, labels = minmin.datasets.load_a1a()
    constants = minmin.Constants(L_x=1.567, L_y=1.567, mu_x=0.01, mu_y=mu_y)
    return GLM(X[:, :100], X[:, 100:], labels, alpha_x=0.01, alpha_y=mu_y, constants=constants)


def settings(instances: int, first_seed: int) -> dict[str, list[Any]]:
    seeds = range(first_seed, first_seed + instances)
    quadratics = {
        f"{'coupled' if coupling else 'block-diagonal'}, L_y = {L_y:g}": [
            Quadratic.random(L_y=L_y, coupling=coupling, seed=seed) for seed in seeds
        ]
        for coupling in (0.0, 1.0)
        for L_y in (500.0, 5000.0, 50000.0)
    }
    return quadratics | {f"a1a, mu_y = {mu_y:g}": [logistic(mu_y)] for mu_y in (0.002, 0.0001, 0.00005)}


def target_of(problem: Any) -> float:
    x, y = make_start(problem)
    start = problem.fix(x).at(y).value
    if isinstance(problem, Quadratic):
        minimum = 0.5 * float(problem.b @ np.linalg.solve(problem.H, -problem.b))
    else:
        minimum = minmin.minimize(problem, method="reduced-lbfgs", inner="newton", tol=1e-15).fun
    return minimum + 1e-8 * (start - minimum)


def median_calls(problems: list[Any], method: str, options: dict[str, Any], method_seeds: int) -> Any:
    seeds = range(method_seeds if method in ("acdm", "lincoupling") else 1)
    runs = [
        minmin.minimize(problem, method=method, tol=0, target_value=target_of(problem), seed=seed, **options).calls
        for problem in problems
        for seed in seeds
    ]
    return np.median([[calls["grad_x"], calls["grad_y"]] for calls in runs], axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=5)
    parser.add_argument("--method-seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--picture", help="draw the costs 10·∇x + ∇y into this file")
    arguments = parser.parse_args()
    print_machine()
    print(f"| ∇x / ∇y | {' | '.join(METHODS)} | cost of auto / the best, for c = 1, 10, 100 |")
    print(f"|{'---|' * (len(METHODS) + 2)}")
    costs: dict[str, dict[str, float]] = {}
    for name, problems in settings(arguments.instances, arguments.first_seed).items():
        calls = {
            label: median_calls(problems, method, options, arguments.method_seeds)
            for label, (method, options) in METHODS.items()
        }
        others = [in_x_and_y for label, in_x_and_y in calls.items() if label != "auto"]
        ratios = [
            (c * calls["auto"][0] + calls["auto"][1]) / min(c * in_x + in_y for in_x, in_y in others)
            for c in (1.0, 10.0, 100.0)
        ]
        costs[name] = {label: 10.0 * in_x + in_y for label, (in_x, in_y) in calls.items() if label != "auto"}
        cells = " | ".join(f"{in_x:.0f} / {in_y:.0f}" for in_x, in_y in calls.values())
        print(f"| {name} | {cells} | {', '.join(f'{r:.2f}' for r in ratios)} |", flush=True)
    if arguments.picture is not None:
        draw(costs, arguments.picture)


def draw(costs: dict[str, dict[str, float]], path: str) -> None:
    """One row per setting, one marker per method."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axis = figure.subplots()
    marks = dict(zip(METHODS, "*DosvXP^<", strict=True))
    colours = ["k", "#CC79A7", "#0072B2", "#D55E00", "#E69F00", "#009E73", "#56B4E9", "#882255", "#999933"]
    for label, colour in zip(METHODS, colours, strict=True):
        if label != "auto":
            values = [row[label] for row in costs.values()]
            size = 9 if label in ("reduced-lbfgs", "bam") else 6
            axis.plot(values, range(len(values)), marks[label], color=colour, markersize=size, label=label, alpha=0.85)
    axis.set(xscale="log", xlabel="cost $10\\cdot\\nabla_x + \\nabla_y$ to the relative gap $10^{-8}$")
    formulas = [name.replace("L_y", "$L_y$").replace("mu_y", "$\\mu_y$") for name in costs]
    axis.set_yticks(range(len(costs)), formulas)
    axis.invert_yaxis()
    axis.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="small", frameon=False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()

"""The tables and the figure of docs/explanation/theory.md: worst cases of BAM, NAG and OGM-G beside their theorems.

Needs the extras theory and plot, and takes about 15 seconds.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from minmin.theory import lyapunov_rate, rate

KAPPAS = [(10, 10), (10, 1000), (100, 10), (100, 1000)]
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "bam, exact inner solves": ("bam", {"exact": True}),
    "bam, condition (2)": ("bam", {"exact": False}),
    "nag": ("nag", {"rescale": True}),
    "ogm-g": ("ogm-g", {}),
}
COLOURS = {"bam, exact inner solves": "#0072B2", "bam, condition (2)": "#D55E00", "nag": "#009E73"}


def print_table(steps: int) -> None:
    print(f"\n| N = {steps} | " + " | ".join(f"κ = {kappas}" for kappas in KAPPAS) + " |")
    print("|---" * (1 + len(KAPPAS)) + "|")
    for name, (method, options) in ROWS.items():
        found = [rate(method, kappa_x=x, kappa_y=y, steps=steps, **options) for x, y in KAPPAS]
        print(f"| {name} | " + " | ".join(f"{r.worst_case:.4f} / {r.theorem:.4f}" for r in found) + " |")


def print_lyapunov_table() -> None:
    print("\n| in the long run | " + " | ".join(f"κ = {kappas}" for kappas in KAPPAS) + " |")
    print("|---" * (1 + len(KAPPAS)) + "|")
    for name in COLOURS:
        method, options = ROWS[name]
        found = [lyapunov_rate(method, kappa_x=x, kappa_y=y, **options) for x, y in KAPPAS]
        print(f"| {name} | " + " | ".join(f"{r.worst_case:.4f} / {r.theorem:.4f}" for r in found) + " |")


def draw(path: Path) -> None:
    """Left: Ψ after N steps. Right: steps for one more digit, in the long run."""
    figure = Figure(figsize=(9.5, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    numbers = range(1, 9)
    kappas = [10, 20, 40, 100, 200, 400, 1000, 2000, 4000]
    for name, colour in COLOURS.items():
        method, options = ROWS[name]
        if method == "bam":
            found = [rate(method, kappa_x=10, kappa_y=1000, steps=n, **options) for n in numbers]
            left.plot(numbers, [r.worst_case for r in found], "o-", color=colour, label=name, markersize=4)
        rates = [lyapunov_rate(method, kappa_x=k, kappa_y=1000, **options) for k in kappas]
        right.plot(
            kappas, [steps_for_a_digit(r.worst_case) for r in rates], "o-", color=colour, label=name, markersize=4
        )
        if method == "bam" and not options["exact"]:
            left.plot(numbers, [r.theorem for r in found], "k--", label="Theorem 2.2")
            right.plot(kappas, [steps_for_a_digit(r.theorem) for r in rates], "k--", label="Theorem 2.2")
    left.set(xlabel="steps $N$", yscale="log", title="worst $\\Psi^N/\\Psi^0$, $\\kappa_x = 10$, $\\kappa_y = 1000$")
    right.set(xlabel="$\\kappa_x$", xscale="log", yscale="log", title="steps for one more digit, $\\kappa_y = 1000$")
    for axis in (left, right):
        axis.grid(alpha=0.3, which="both")
        axis.legend(frameon=False)
    figure.savefig(path, dpi=110)


def steps_for_a_digit(factor: float) -> float:
    return math.log(0.1) / math.log(factor)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", type=Path, default=Path("worst-cases.png"), help="where the figure goes")
    figure_path = parser.parse_args().figure
    print_table(1)
    print_table(5)
    print_lyapunov_table()
    draw(figure_path)

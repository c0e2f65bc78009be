"""Two pictures of terms: constraints in two variables, and a sparse model of the census data a1a.

- Constraints: F(x) = min_y f(x, y) of a quadratic with two variables in x, over a box, a simplex and a ball.
- Sparse model: logistic regression, with L1 on the coefficients of x and without it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import minmin
from minmin.problems import GLM, Composite, Quadratic
from minmin.terms import L1, Box, L2Ball, Simplex, Term

Array = np.ndarray[Any, Any]
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
CONSTRAINTS: dict[str, tuple[Term, Array]] = {
    "Box(-0.5, [0.8, 1.5])": (Box(-0.5, [0.8, 1.5]), np.array([[-0.5, -0.5], [0.8, -0.5], [0.8, 1.5], [-0.5, 1.5]])),
    "Simplex(1.0)": (Simplex(1.0), np.array([[1.0, 0.0], [0.0, 1.0]])),
    "L2Ball(1.2)": (L2Ball(1.2), 1.2 * np.array([[np.cos(t), np.sin(t)] for t in np.linspace(0.0, 2 * np.pi, 100)])),
}
"""Terms in x, and the corners of the region that each allows."""
START = np.array([-1.6, 1.9])
L1_WEIGHT = 0.004


def make_quadratic() -> Quadratic:
    """Two variables in x and one in y, with the minimum at x = (2, 1) and y = 1."""
    H = np.array([[2.0, -1.2, 0.5], [-1.2, 2.5, 0.3], [0.5, 0.3, 40.0]])
    return Quadratic(H, -H @ np.array([2.0, 1.0, 1.0]), d_x=2)


def find_path(f: Quadratic, term: Term) -> tuple[Array, minmin.Result]:
    """The points x of a run, from where the start was moved to."""
    path = [term.project(START)]
    r = minmin.minimize(
        Composite(f, term), START, method="reduced-lbfgs", tol=1e-9, callback=lambda record: path.append(record.x)
    )
    return np.array(path), r


def draw_constraints(file: Path) -> None:
    """Contours of F, with the path of a run for every constraint."""
    from matplotlib.figure import Figure

    f = make_quadratic()
    S = f.H[:2, :2] - f.H[:2, 2:] @ f.H[2:, :2] / f.H[2, 2]  # the Hessian of F
    side_x, side_y = np.meshgrid(np.linspace(-2.0, 3.0, 200), np.linspace(-1.6, 2.4, 200))
    away = np.stack([side_x - 2.0, side_y - 1.0])
    F = 0.5 * np.einsum("iab,ij,jab->ab", away, S, away)
    figure = Figure(figsize=(10.5, 3.7), layout="constrained")
    panels: Any = figure.subplots(1, 3, sharey=True)
    for axis, (name, (term, corners)) in zip(panels, CONSTRAINTS.items(), strict=True):
        path, r = find_path(f, term)
        print(f"{name}: x = {np.round(r.x, 4)}, {r.calls['grad_x']} calls, the bound is {r.gap_bound:.1e}")
        axis.contour(side_x, side_y, F, levels=np.geomspace(0.1, 25.0, 9), colors="#999999", linewidths=0.7)
        width = 6 if len(corners) == 2 else 1  # a segment has no area
        axis.fill(*corners.T, facecolor=GREEN, edgecolor=GREEN, alpha=0.25, lw=width, label="allowed")
        axis.plot(*np.vstack([START, path[0]]).T, color="#555555", lw=1.2, ls=":", label="the start is moved here")
        axis.plot(*path.T, "o-", color=BLUE, ms=4, lw=1.4, label="points x of reduced-lbfgs")
        axis.plot(2.0, 1.0, "x", color="black", ms=7, mew=2, label="minimum without the term")
        axis.plot(*r.x, "*", color=ORANGE, ms=15, mec="black", mew=0.6, label="minimum with it", zorder=5)
        axis.set(title=name, xlabel="$x_1$", aspect="equal", xlim=(-2.0, 3.0), ylim=(-1.6, 2.4))
        axis.title.set_fontsize("medium")
    panels[0].set_ylabel("$x_2$")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(file, dpi=110)


def draw_sparse(file: Path) -> None:
    """The coefficients of 100 columns of a1a, with L1 and without it."""
    from matplotlib.figure import Figure

    X, labels = minmin.datasets.load_a1a()
    model = GLM(X[:, :100], X[:, 100:], labels, "logistic", alpha_x=1e-4, alpha_y=1e-4)
    results = {
        "without a term": minmin.minimize(model, tol=1e-8),
        f"with L1({L1_WEIGHT:g}) in x": minmin.minimize(Composite(model, L1(L1_WEIGHT)), tol=1e-8),
    }
    figure = Figure(figsize=(10.5, 3.9), layout="constrained")
    panels: Any = figure.subplots(2, 1, sharex=True, sharey=True)
    for axis, colour, (name, r) in zip(panels, (BLUE, ORANGE), results.items(), strict=True):
        x, columns = np.asarray(r.x), np.arange(1, 101)
        kept = x != 0.0
        print(f"{name}: {kept.sum()} of 100 coefficients are not zero, {r.calls['grad_x']} calls of grad_x")
        axis.vlines(columns[kept], 0.0, x[kept], color=colour, lw=2.2)
        axis.plot(columns[~kept], x[~kept], ".", color="#999999", ms=4, label="exactly 0")
        axis.axhline(0.0, color="#999999", lw=0.6)
        axis.set_title(f"{name}: {kept.sum()} of 100 coefficients are not zero", fontsize="medium", loc="left")
        axis.set(xlim=(0, 101), ylabel="coefficient")
    panels[1].legend(loc="lower right", frameon=False)
    panels[1].set_xlabel("column of a1a")
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(), help="where to write the pictures")
    folder = parser.parse_args().folder
    draw_constraints(folder / "constraints.png")
    draw_sparse(folder / "sparse.png")


if __name__ == "__main__":
    main()

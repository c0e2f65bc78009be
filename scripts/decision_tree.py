"""Draw docs/images/decision-tree.png: from what you have to the problem object, and to what "auto" takes for it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

IMAGE = Path(__file__).parents[1] / "docs" / "images" / "decision-tree.png"
QUESTION, PROBLEM, METHOD = "#eef3f8", "#fdf3e1", "#e8f5e9"


class Branch(NamedTuple):
    """A question, the problem object if the answer is yes, and what "auto" then does, by a condition."""

    question: str
    problem: str
    methods: tuple[tuple[str, str], ...]


BRANCHES = [
    Branch(
        "Is f a linear model:\nmatrices, targets, a loss?",
        "GLM, Softmax\nor an estimator",
        (
            ("", "reduced-newton\ny is eliminated"),
            ("with a simplex\nor a ball", "reduced-lbfgs\ninner: lbfgs"),
        ),
    ),
    Branch(
        "A sum of f_i(x, y_i), each\nwith a y of its own?",
        "Sum, or clients\nin federated.run",
        (
            ("y-Hessians", "reduced-lbfgs\ninner: newton"),
            ("none", "reduced-lbfgs\ninner: lbfgs"),
        ),
    ),
    Branch(
        "f + g over the same variables,\n∇f expensive, ∇g cheap?",
        "Split",
        (
            ("constants,\nL_g ≥ 10 L_f", "sliding\ninner: lbfgs"),
            ("else", "reduced-lbfgs\ninner: lbfgs"),
        ),
    ),
    Branch(
        "Three or more blocks?",
        "Function(grads=,\nsizes=)",
        (("", "reduced-lbfgs\nnested if it pays"),),
    ),
    Branch(
        "All else: callables, JAX,\nPyTorch, a matrix",
        "Function, from_jax,\nfrom_torch, Quadratic",
        (("", "reduced-lbfgs\ninner: lbfgs"),),
    ),
]
ROW = 1.0
WIDTHS = {"question": 2.75, "problem": 1.95, "method": 1.75}
LEFT = {"question": 0.0, "problem": 3.35, "method": 6.75}


def draw_box(axes: Axes, column: str, y: float, text: str, color: str) -> None:
    box = FancyBboxPatch(
        (LEFT[column], y - 0.33), WIDTHS[column], 0.66, boxstyle="round,pad=0.04", facecolor=color, edgecolor="#777777"
    )
    axes.add_patch(box)
    axes.text(LEFT[column] + WIDTHS[column] / 2, y, text, ha="center", va="center", fontsize=10.5)


def draw_arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "#444444", "shrinkA": 0, "shrinkB": 0})


def draw(axes: Axes) -> None:
    y, before = 0.0, None
    for branch in BRANCHES:
        rows = len(branch.methods)
        middle = y - (rows - 1) * ROW / 2
        draw_box(axes, "question", middle, branch.question, QUESTION)
        draw_box(axes, "problem", middle, branch.problem, PROBLEM)
        right = LEFT["question"] + WIDTHS["question"] + 0.04
        draw_arrow(axes, (right, middle), (LEFT["problem"] - 0.04, middle))
        is_last = branch is BRANCHES[-1]
        if not is_last:
            axes.text((right + LEFT["problem"]) / 2, middle + 0.1, "yes", ha="center", fontsize=9.5)
        if before is not None:
            x = LEFT["question"] + WIDTHS["question"] / 2
            draw_arrow(axes, (x, before - 0.37), (x, middle + 0.37))
            axes.text(x + 0.1, (before + middle) / 2, "no", va="center", fontsize=9.5)
        for i, (condition, method) in enumerate(branch.methods):
            at = y - i * ROW
            draw_box(axes, "method", at, method, METHOD)
            start = LEFT["problem"] + WIDTHS["problem"] + 0.04
            draw_arrow(axes, (start, middle), (LEFT["method"] - 0.04, at))
            if condition:
                axes.text(
                    (start + LEFT["method"]) / 2 + 0.08,
                    at + (0.02 if at > middle else -0.02),
                    condition,
                    ha="center",
                    va="bottom" if at > middle else "top",
                    fontsize=9.5,
                )
        before = middle
        y -= rows * ROW + 0.12
    for column, title in (("question", "what you have"), ("problem", "the problem"), ("method", "what auto takes")):
        axes.text(LEFT[column] + WIDTHS[column] / 2, 0.62, title, ha="center", fontsize=11.5, weight="bold")
    axes.set(xlim=(-0.1, LEFT["method"] + WIDTHS["method"] + 0.1), ylim=(y + 0.55, 0.95))
    axes.axis("off")


def main() -> None:
    figure = Figure(figsize=(8.6, 8.2), layout="constrained")
    draw(figure.subplots())
    figure.savefig(IMAGE, dpi=120)


if __name__ == "__main__":
    main()

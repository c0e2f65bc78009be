"""The studies of relatives of BAM: each asks one question, and has the problems and methods that answer it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from minmin.experiments.contestants import Contestant
from minmin.experiments.race import format_level
from minmin.experiments.relatives import contenders as c
from minmin.experiments.relatives.instances import (
    Instance,
    aligned_split,
    flat_squares,
    papers_quadratic,
    three_blocks,
    tight_quadratic,
    unit_blocks,
)


@dataclass(frozen=True)
class Point:
    """A family of random problems.

    Attributes
    ----------
    label : str
        What varies within the study, such as "κ_x = 100".
    varied : float
        Its value.
    build : callable
        Builds the instance for a seed.
    gap : float, optional
        The relative gap at which runs end, if it is what varies.
    """

    label: str
    varied: float
    build: Callable[[int], Instance]
    gap: float | None = None


class Line(NamedTuple):
    """A line in the panel of a study: the calls of one kind, and the power of what varies that theory promises."""

    contender: Contestant
    kind: str
    power: float | None = None


@dataclass(frozen=True)
class Study:
    """Points, contenders, and what is counted.

    Attributes
    ----------
    key, title, text : str
        Its name in files, and its heading and description on the page.
    axis : str
        What varies.
    points : tuple of Point
    contenders : tuple of Contestant
    kinds : mapping
        The keys of ``Result.calls`` that are counted, with their symbols.
    lines : tuple of Line
        What is drawn; without lines the study has only a table.
    least_gap : float
        Runs end at this relative gap if that of the report is smaller.
    """

    key: str
    title: str
    text: str
    axis: str
    points: tuple[Point, ...]
    contenders: tuple[Contestant, ...]
    kinds: Mapping[str, str]
    lines: tuple[Line, ...] = ()
    least_gap: float = 0.0

    def key_of(self, point: Point) -> str:
        """The name of a point in files."""
        return f"{self.key}/{point.varied:g}"

    def gap_of(self, point: Point, tol: float) -> float:
        """The relative gap at which the runs on a point end, in a report to ``tol``."""
        return max(tol, self.least_gap) if point.gap is None else point.gap


_BLOCKS = {"grad_x": "∇ₓ", "grad_y": "∇ᵧ"}
_DOTTED = "Dotted: what theory promises, up to a constant."


def _vary(axis: str, values: Sequence[float], build: Callable[..., Instance], *names: str) -> tuple[Point, ...]:
    """A point per value, at which the arguments with these names have the value."""
    return tuple(
        Point(f"{axis} = {_format(value)}", value, partial(build, **dict.fromkeys(names, value))) for value in values
    )


def _format(value: float) -> str:
    return f"{value:g}" if 1e-2 < value < 1e4 else format_level(value).replace("+", "")


def _inexact(name: str, axis: str, fixed: str, power_of_bam: float, points: tuple[Point, ...]) -> Study:
    return Study(
        f"inexact-{name}",
        f"Inexact outer method and BAM, against {axis}",
        f"Coupled quadratics, d_x = d_y = 20, {fixed}. The outer method is Nesterov's in x, with inner solves in y to "
        f"a fixed accuracy. {_DOTTED}",
        axis,
        points,
        (c.INEXACT, c.BAM_PAPER, c.BAM),
        _BLOCKS,
        (
            Line(c.INEXACT, "grad_y", power_of_bam + 0.5),
            Line(c.BAM, "grad_y"),
            Line(c.BAM_PAPER, "grad_y", power_of_bam),
        ),
    )


def _cutting(name: str, axis: str, fixed: str, power: float, points: tuple[Point, ...]) -> Study:
    return Study(
        f"cutting-{name}",
        f"Cutting planes, against {axis}",
        f"Coupled quadratics with a random minimiser, d_y = 20, κ_y = 100, {fixed}. {_DOTTED}",
        axis,
        points,
        (c.CUTTING, c.BAM, c.LBFGS),
        _BLOCKS,
        (Line(c.CUTTING, "grad_x", power), Line(c.BAM, "grad_x"), Line(c.LBFGS, "grad_x")),
    )


def _sliding(part: str, fixed: str, points: tuple[Point, ...]) -> Study:
    return Study(
        f"sliding-{part}",
        f"Sliding, against L_{part}",
        f"f + g with μ = 1 and {fixed}; f is hard in one half of 60 directions and g in the other. {_DOTTED}",
        f"L_{part}",
        points,
        (c.SLIDING, c.NAG),
        {"grad_f": "∇f", "grad_g": "∇g"},
        (
            Line(c.SLIDING, "grad_f", 0.5 if part == "f" else 0.0),
            Line(c.SLIDING, "grad_g", 0.5 if part == "g" else 0.0),
            Line(c.NAG, "grad_f"),
        ),
    )


def _variants(group: str, title: str, coupling: float) -> Study:
    return Study(
        f"variants-{group}",
        f"Triple momentum and unknown constants, {title} quadratics",
        "The paper's quadratics. BAM with the steps of the triple momentum method, and BAM and NAG with constants that "
        "are estimated during the run.",
        "L_y",
        _vary("L_y", (500.0, 5000.0, 50000.0), partial(papers_quadratic, coupling=coupling), "L_y"),
        (c.BAM, c.BAM_TRIPLE, c.BAM_ADAPTIVE, c.NAG, c.NAG_ADAPTIVE),
        _BLOCKS,
    )


_THREE_BLOCKS = {f"grad_{i}": f"∇{digit}" for i, digit in enumerate("₁₂₃")}
_GAPS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
_KAPPAS = (10.0, 100.0, 1000.0)
_SHORT_X = partial(tight_quadratic, kappa_y=1e2, near=True)
STUDIES = (
    _inexact("x", "κ_x", "κ_y = 1000", 0.0, _vary("κ_x", _KAPPAS, partial(tight_quadratic, kappa_y=1e3), "kappa_x")),
    _inexact("y", "κ_y", "κ_x = 1000", 0.0, _vary("κ_y", _KAPPAS, partial(tight_quadratic, kappa_x=1e3), "kappa_y")),
    _inexact("both", "κ", "κ_x = κ_y = κ", 0.5, _vary("κ", _KAPPAS, tight_quadratic, "kappa_x", "kappa_y")),
    _cutting("d", "d_x", "κ_x = 1000", 1.0, _vary("d_x", (2, 5, 10, 20), partial(_SHORT_X, kappa_x=1e3), "d_x")),
    _cutting(
        "kappa",
        "κ_x",
        "d_x = 10",
        0.0,
        _vary("κ_x", (1e1, 1e2, 1e3, 1e4, 1e5, 1e6), partial(_SHORT_X, d_x=10), "kappa_x"),
    ),
    Study(
        "alternating",
        "Alternating minimisation, against the coupling",
        "H_xx = H_yy = I, 20 variables per block; ρ is the largest singular value of H_xy. Each iteration minimises "
        f"over either block once. {_DOTTED}",
        "1/(1 − ρ²)",
        _vary("1/(1 − ρ²)", (10.0, 30.0, 100.0, 300.0, 1000.0), unit_blocks, "inverse"),
        (c.ALTERNATING, c.ALTERNATING_PLAIN),
        {"min_x": "minimisations over either block"},
        (Line(c.ALTERNATING, "min_x", 0.5), Line(c.ALTERNATING_PLAIN, "min_x", 1.0)),
    ),
    _sliding("f", "L_g = 1e4", _vary("L_f", _KAPPAS, partial(aligned_split, L_g=1e4), "L_f")),
    _sliding("g", "L_f = 10", _vary("L_g", (1e2, 1e3, 1e4, 1e5), partial(aligned_split, L_f=10.0), "L_g")),
    Study(
        "blocks",
        "Three blocks",
        "BAM solves its inner problem by BAM again. Coupled quadratics, 20 variables per block, condition numbers "
        f"100, 100·s and 100·s². {_DOTTED}",
        "s",
        _vary("s", (1.0, 10.0, 100.0), three_blocks, "spread"),
        (c.BAM, c.NAG_RESCALED),
        _THREE_BLOCKS,
        (*(Line(c.BAM, kind, 0.5 * i) for i, kind in enumerate(_THREE_BLOCKS)), Line(c.NAG_RESCALED, "grad_0")),
    ),
    Study(
        "convex",
        "Convex, not strongly: the regularisation trick",
        "Least squares with a null space in both blocks, d_x = 24, d_y = 10, rank 16. The methods run on f plus small "
        "multiples of |x|² and |y|². The distance R of a minimiser is given, or found during the run. Runs end at the "
        "relative gap ε.",
        "1/ε",
        tuple(Point(f"ε = {_format(gap)}", 1.0 / gap, flat_squares, gap) for gap in _GAPS),
        (c.BAM, c.BAM_AUTO, c.NAG, c.NAG_AUTO),
        _BLOCKS,
    ),
    Study(
        "values",
        "Values of f in place of ∇ᵧ",
        "Coupled quadratics, d_x = 20, d_y = 10, κ_x = 100. Differences of 11 values replace each ∇ᵧ, and count "
        "as one. Since differences have errors, runs end at the relative gap 1e-6, or at --tol if that is larger.",
        "κ_y",
        _vary("κ_y", (1e1, 1e2, 1e3, 1e4), partial(tight_quadratic, kappa_x=1e2, d_y=10), "kappa_y"),
        (c.BAM, c.BAM_VALUES),
        _BLOCKS,
        least_gap=1e-6,
    ),
    _variants("diagonal", "block-diagonal", 0.0),
    _variants("coupled", "coupled", 1.0),
)
"""In the order of the page."""
MOST_SEEDS = 5
"""The largest number of seeds to run, to save time."""

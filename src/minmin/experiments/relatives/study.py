"""A study: one question about a relative of BAM, with the problems and methods that answer it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from minmin.experiments.relatives.contenders import Contender
from minmin.experiments.relatives.instances import Instance


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

    contender: Contender
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
    contenders : tuple of Contender
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
    contenders: tuple[Contender, ...]
    kinds: Mapping[str, str]
    lines: tuple[Line, ...] = ()
    least_gap: float = 0.0

    def key_of(self, point: Point) -> str:
        """The name of a point in files."""
        return f"{self.key}/{point.varied:g}"

    def gap_of(self, point: Point, tol: float) -> float:
        """The relative gap at which the runs on a point end, in a report to ``tol``."""
        return max(tol, self.least_gap) if point.gap is None else point.gap

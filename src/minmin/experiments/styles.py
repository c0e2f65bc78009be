"""The colours of the methods, and the line styles of the contestants: one pattern of dashes per variant."""

from __future__ import annotations

from typing import NamedTuple

from minmin.experiments.contestants import CONTESTANTS

COLOURS = {
    "bam": "#0072B2",
    "nag": "#D55E00",
    "acdm": "#009E73",
    "lincoupling": "#E69F00",
    "joint-lbfgs": "#4D4D4D",
    "reduced-lbfgs": "#CC79A7",
    "proxskip": "#D55E00",
    "fedrecon": "#56B4E9",
    "fedavg": "#E69F00",
    "scaffold": "#009E73",
    "inexact-outer": "#4D4D4D",
    "sliding": "#009E73",
    "cutting-plane": "#E69F00",
    "alternating": "#009E73",
}
"""Colours of methods, from the palette of Okabe and Ito, which colour-blind readers can distinguish."""
ON_DARK = {
    "#0072B2": "#3D9BE0",
    "#D55E00": "#F0803C",
    "#009E73": "#2DC79A",
    "#E69F00": "#F2B632",
    "#4D4D4D": "#C3C8CE",
    "#CC79A7": "#E59AC4",
    "#56B4E9": "#9ADCFF",
}
"""The same palette for a dark background: each colour with its lighter version."""


class Style(NamedTuple):
    """How a contestant is drawn; ``dash`` is 0 for a solid line, and counts the variants of its method."""

    label: str
    colour: str
    dash: int
    width: float


def style_of(key: str) -> Style:
    contestant = CONTESTANTS[key]
    kind = contestant.method, contestant.federated
    variants = [other.key for other in CONTESTANTS.values() if (other.method, other.federated) == kind]
    dash = variants.index(key)
    width = 2.4 if contestant.method in ("bam", "reduced-lbfgs") and dash == 0 else 1.6
    return Style(contestant.label, COLOURS[contestant.method], dash, width)

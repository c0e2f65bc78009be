"""The line styles of the contestants: one colour per method, dashes for its variants."""

from __future__ import annotations

from typing import NamedTuple

from minmin.experiments.contestants import CONTESTANTS

_COLOURS = {
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
}
"""The palette of Okabe and Ito, which colour-blind readers can distinguish."""


class Style(NamedTuple):
    label: str
    colour: str
    dashed: bool
    width: float


def style_of(key: str) -> Style:
    contestant = CONTESTANTS[key]
    kind = contestant.method, contestant.federated
    variants = (other.key for other in CONTESTANTS.values() if (other.method, other.federated) == kind)
    dashed = key != next(variants)
    width = 2.4 if contestant.method in ("bam", "reduced-lbfgs") and not dashed else 1.6
    return Style(contestant.label, _COLOURS[contestant.method], dashed, width)

"""How contestants look in every picture: a colour a family, dashes for its variants."""

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
}
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""


class Look(NamedTuple):
    colour: str
    dashed: bool
    width: float


def look(method: str) -> Look:
    family = CONTESTANTS[method].family
    return Look(_COLOURS[family], method != family, 2.4 if method in ("bam", "reduced-lbfgs") else 1.6)

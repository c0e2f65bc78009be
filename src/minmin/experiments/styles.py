"""How contestants are drawn in every picture: a colour for each method, dashes for its variants."""

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
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""


class Style(NamedTuple):
    label: str
    colour: str
    dashed: bool
    width: float


def style(method: str) -> Style:
    own = CONTESTANTS[method]
    relatives = (c.key for c in CONTESTANTS.values() if (c.method, c.federated) == (own.method, own.federated))
    dashed = method != next(relatives)
    width = 2.4 if own.method in ("bam", "reduced-lbfgs") and not dashed else 1.6
    return Style(own.label, _COLOURS[own.method], dashed, width)

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
    "proxskip": "#D55E00",
    "fedrecon": "#56B4E9",
    "fedavg": "#E69F00",
    "scaffold": "#009E73",
}
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""


class Look(NamedTuple):
    colour: str
    dashed: bool
    width: float


def look(method: str) -> Look:
    family = CONTESTANTS[method].family
    dashed = method != _FIRST[family, CONTESTANTS[method].federated]
    return Look(_COLOURS[family], dashed, 2.4 if family in ("bam", "reduced-lbfgs") and not dashed else 1.6)


_FIRST: dict[tuple[str, bool], str] = {}
for _key, _contestant in CONTESTANTS.items():
    _FIRST.setdefault((_contestant.family, _contestant.federated), _key)

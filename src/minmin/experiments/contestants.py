"""Who takes part: the paper's methods, plain and rescaled, and two that it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCIPY = "scipy"
"""The method of contestants that minmin.minimize() does not run."""


@dataclass(frozen=True)
class Contestant:
    """A method with its options.

    Attributes
    ----------
    key, label : str
        For files, and for people.
    family : str
        Contestants of one family share a colour; the first of it is drawn solid, its variants dashed.
    method : str
        What ``minmin.minimize`` takes, or ``SCIPY`` for its L-BFGS-B on (x, y) jointly.
    options : mapping
        What else it takes.
    draws : bool
        Whether the method draws random numbers.
    """

    key: str
    label: str
    family: str
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    draws: bool = False


def _coordinate(method: str, label: str) -> list[Contestant]:
    """Without certificates on the way: experiments look at f itself, and the paper counts steps alone."""
    plain = {"certify_every": 0}
    return [
        Contestant(method, label, method, method, plain, draws=True),
        Contestant(f"{method}-rescaled", f"{label}, rescaled", method, method, {**plain, "rescale": True}, draws=True),
    ]


CONTESTANTS: dict[str, Contestant] = {
    contestant.key: contestant
    for contestant in [
        Contestant("bam", "BAM", "bam", "bam"),
        Contestant("bam-paper", "BAM, the paper's inner solver", "bam", "bam", {"inner": "nag-ogmg"}),
        Contestant("nag", "NAG", "nag", "nag"),
        Contestant("nag-rescaled", "NAG, rescaled", "nag", "nag", {"rescale": True}),
        *_coordinate("acdm", "ACDM"),
        *_coordinate("lincoupling", "Linear Coupling"),
        Contestant("joint-lbfgs", "L-BFGS on (x, y), SciPy", "joint-lbfgs", SCIPY),
        Contestant("reduced-lbfgs", "reduced-lbfgs (ours)", "reduced-lbfgs", "reduced-lbfgs"),
    ]
}

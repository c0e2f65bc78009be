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
    federated : bool
        Whether it runs over clients, by ``minmin.federated.run``.
    """

    key: str
    label: str
    family: str
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    draws: bool = False
    federated: bool = False


def _coordinate(method: str, label: str) -> list[Contestant]:
    """Without certificates on the way: experiments look at f itself, and the paper counts steps alone."""
    plain = {"certify_every": 0}
    return [
        Contestant(method, label, method, method, plain, draws=True),
        Contestant(f"{method}-rescaled", f"{label}, rescaled", method, method, {**plain, "rescale": True}, draws=True),
    ]


GRID = (0.5, 1.0, 2.0)
"""Lengths of local steps, in units of 1/L, that are tried where theory gives none."""


def _federated() -> list[Contestant]:
    """Rounds of ours, and of methods that the paper names, with five local steps of every length of the grid."""
    plain = {"certify_every": 0}
    ours = [
        Contestant("federated-bam", "BAM", "bam", "bam", federated=True),
        Contestant("federated-lbfgs", "reduced-lbfgs (ours)", "reduced-lbfgs", "reduced-lbfgs", federated=True),
        Contestant(
            "federated-lbfgs-stateless",
            "reduced-lbfgs, stateless clients",
            "reduced-lbfgs",
            "reduced-lbfgs",
            {"stateless": True},
            federated=True,
        ),
        Contestant("proxskip", "ProxSkip", "proxskip", "proxskip", plain, federated=True),
    ]
    tuned = {"fedrecon": "Federated Reconstruction", "fedavg": "FedAvg", "scaffold": "SCAFFOLD"}
    return ours + [
        Contestant(f"{key}-{size:g}", f"{label}, {size:g}/L", key, key, {**plain, "step_size": size}, federated=True)
        for key, label in tuned.items()
        for size in GRID
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
        *_federated(),
    ]
}

CENTRAL = tuple(key for key, contestant in CONTESTANTS.items() if not contestant.federated)
FEDERATED = tuple(key for key, contestant in CONTESTANTS.items() if contestant.federated)

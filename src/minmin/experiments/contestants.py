"""The methods that are compared: those of the paper, plain and rescaled, and two others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

SCIPY = "joint-lbfgs"
"""The method that minmin.minimize() does not run: SciPy's L-BFGS-B on (x, y) jointly."""
GRID = (0.5, 1.0, 2.0)
"""Sizes of local steps, in units of 1/L, that are tried if theory gives none."""
_NO_BOUNDS = {"certify_every": 0}
"""Experiments measure f itself, and the paper does not count gradients for certificates."""


@dataclass(frozen=True)
class Contestant:
    """A method with its options.

    Attributes
    ----------
    key, label : str
        Its names in files and on the page.
    method : str
        The name of a method of ``minmin.minimize`` or ``minmin.federated.run``, or ``SCIPY``. Contestants of one method
        share a colour; the first of them is drawn solid, its variants dashed.
    options : mapping
        Options of the method.
    draws : bool
        Whether the method draws random numbers.
    federated : bool
        Whether it runs over clients, by ``minmin.federated.run``.
    values_only : bool
        Whether it gets values of f in place of ∇ᵧf.
    """

    key: str
    label: str
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    draws: bool = False
    federated: bool = False
    values_only: bool = False


_RESCALED = {"rescale": True}
_TUNED = {"fedrecon": "Federated Reconstruction", "fedavg": "FedAvg", "scaffold": "SCAFFOLD"}
"""Methods that the paper names for many clients, run with five local steps of each size of the grid."""
_federated = partial(Contestant, federated=True)

CONTESTANTS: dict[str, Contestant] = {
    contestant.key: contestant
    for contestant in [
        Contestant("bam", "BAM", "bam"),
        Contestant("bam-paper", "BAM, the paper's inner solver", "bam", {"inner": "nag-ogmg"}),
        Contestant("nag", "NAG", "nag"),
        Contestant("nag-rescaled", "NAG, rescaled", "nag", _RESCALED),
        Contestant("acdm", "ACDM", "acdm", _NO_BOUNDS, draws=True),
        Contestant("acdm-rescaled", "ACDM, rescaled", "acdm", _NO_BOUNDS | _RESCALED, draws=True),
        Contestant("lincoupling", "Linear Coupling", "lincoupling", _NO_BOUNDS, draws=True),
        Contestant(
            "lincoupling-rescaled", "Linear Coupling, rescaled", "lincoupling", _NO_BOUNDS | _RESCALED, draws=True
        ),
        Contestant("joint-lbfgs", "L-BFGS on (x, y), SciPy", SCIPY),
        Contestant("reduced-lbfgs", "reduced-lbfgs (minmin)", "reduced-lbfgs"),
        _federated("federated-bam", "BAM", "bam"),
        _federated("federated-lbfgs", "reduced-lbfgs (minmin)", "reduced-lbfgs"),
        _federated(
            "federated-lbfgs-stateless", "reduced-lbfgs, stateless clients", "reduced-lbfgs", {"stateless": True}
        ),
        _federated("proxskip", "ProxSkip", "proxskip", _NO_BOUNDS),
        *(
            _federated(f"{method}-{size:g}", f"{label}, {size:g}/L", method, {**_NO_BOUNDS, "step_size": size})
            for method, label in _TUNED.items()
            for size in GRID
        ),
    ]
}

CENTRAL = tuple(key for key, contestant in CONTESTANTS.items() if not contestant.federated)
FEDERATED = tuple(key for key, contestant in CONTESTANTS.items() if contestant.federated)

"""The methods that are counted as relatives of BAM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Contender:
    """A method with its options.

    Attributes
    ----------
    key, label : str
        Its names in files and on the page.
    method : str
        The name of a method of ``minmin.minimize``.
    options : mapping
        Options of the method.
    values_only : bool
        Whether it gets values of f in place of ∇ᵧf.
    """

    key: str
    label: str
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    values_only: bool = False


BAM = Contender("bam", "BAM", "bam")
BAM_PAPER = Contender("bam-paper", "BAM, the paper's inner solver", "bam", {"inner": "nag-ogmg"})
BAM_TRIPLE = Contender("bam-triple-momentum", "BAM, triple momentum", "bam", {"scheme": "triple-momentum"})
BAM_ADAPTIVE = Contender("bam-adaptive", "BAM, adaptive", "bam", {"adaptive": True})
BAM_VALUES = Contender("bam-values", "BAM, values in place of ∇ᵧ", "bam", values_only=True)
BAM_AUTO = Contender("bam-auto-radius", "BAM, radius unknown", "bam", {"radius": "auto"})
NAG = Contender("nag", "NAG", "nag")
NAG_RESCALED = Contender("nag-rescaled", "NAG, rescaled", "nag", {"rescale": True})
NAG_ADAPTIVE = Contender("nag-adaptive", "NAG, adaptive", "nag", {"adaptive": True})
NAG_AUTO = Contender("nag-auto-radius", "NAG, radius unknown", "nag", {"radius": "auto"})
LBFGS = Contender("reduced-lbfgs", "reduced-lbfgs (minmin)", "reduced-lbfgs")
INEXACT = Contender("inexact-outer", "inexact outer method", "inexact-outer")
SLIDING = Contender("sliding", "sliding", "sliding")
CUTTING = Contender("cutting-plane", "cutting planes", "cutting-plane")
ALTERNATING = Contender("alternating", "alternating, accelerated", "alternating")
ALTERNATING_PLAIN = Contender("alternating-plain", "alternating, plain", "alternating", {"accelerated": False})

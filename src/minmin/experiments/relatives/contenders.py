"""The methods that are counted as relatives of BAM."""

from __future__ import annotations

from minmin.experiments.contestants import Contestant

BAM = Contestant("bam", "BAM", "bam")
BAM_PAPER = Contestant("bam-paper", "BAM, the paper's inner solver", "bam", {"inner": "nag-ogmg"})
BAM_TRIPLE = Contestant("bam-triple-momentum", "BAM, triple momentum", "bam", {"scheme": "triple-momentum"})
BAM_ADAPTIVE = Contestant("bam-adaptive", "BAM, adaptive", "bam", {"adaptive": True})
BAM_VALUES = Contestant("bam-values", "BAM, values in place of ∇ᵧ", "bam", values_only=True)
BAM_AUTO = Contestant("bam-auto-radius", "BAM, radius unknown", "bam", {"radius": "auto"})
NAG = Contestant("nag", "NAG", "nag")
NAG_RESCALED = Contestant("nag-rescaled", "NAG, rescaled", "nag", {"rescale": True})
NAG_ADAPTIVE = Contestant("nag-adaptive", "NAG, adaptive", "nag", {"adaptive": True})
NAG_AUTO = Contestant("nag-auto-radius", "NAG, radius unknown", "nag", {"radius": "auto"})
LBFGS = Contestant("reduced-lbfgs", "reduced-lbfgs (minmin)", "reduced-lbfgs")
INEXACT = Contestant("inexact-outer", "inexact outer method", "inexact-outer")
SLIDING = Contestant("sliding", "sliding", "sliding")
CUTTING = Contestant("cutting-plane", "cutting planes", "cutting-plane")
ALTERNATING = Contestant("alternating", "alternating, accelerated", "alternating")
ALTERNATING_PLAIN = Contestant("alternating-plain", "alternating, plain", "alternating", {"accelerated": False})

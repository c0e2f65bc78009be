"""The minimum of f + p + q, with a proof."""

from __future__ import annotations

import minmin
from term_benchmark.instances import Instance

GAP = 1e-8
"""The gap to reach, relative to that at the start."""
_ACCURACY = 1e-3
"""The minimum is proved to this fraction of the gap to reach."""


def find_minimum(instance: Instance) -> float:
    at_start = instance.value(instance.start)
    first = minmin.minimize(instance.composite, tol=0.0, rtol=1e-3)
    r = minmin.minimize(instance.composite, tol=_ACCURACY * GAP * (at_start - first.fun))
    if not (r.status == "converged" and r.certified):
        raise RuntimeError(f"{instance.name}: the minimum was not proved; {r.message}")
    return float(r.fun)

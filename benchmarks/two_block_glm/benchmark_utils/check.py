"""Checks that all packages solve the same problem: their values on small instances must agree."""

from __future__ import annotations

from benchmark_utils import clicks, real
from benchmark_utils.model import Model, minimum
from benchmark_utils.peers import PEERS
from benchmark_utils.timing import fit

SMALL = {
    "first kind": lambda: Model(*clicks.first_kind(scale=0.05), *clicks.FIRST_KIND_PENALTIES["easy"]),
    "second kind": lambda: Model(*clicks.second_kind(scale=0.02), 1e-4, 1e-3),
    "a1a": lambda: Model(*real.load("a1a"), 1e-3, 1e-4),
}


def check(agreement: float = 1e-6, tol: float = 1e-7) -> dict[tuple[str, str], float]:
    """The relative excess over the minimum of each package that can run here; raises if one exceeds `agreement`."""
    excess = {}
    for instance, build in SMALL.items():
        model = build()
        best = minimum(model)
        for name, peer in PEERS.items():
            if peer.why_not(model.X.shape[1] + model.Y.shape[1]) is None:
                excess[instance, name] = model.value(*fit(peer, model, tol)) / best - 1.0
    wrong = {key: value for key, value in excess.items() if not abs(value) <= agreement}
    assert not wrong, f"these do not reach the common minimum: {wrong}"
    return excess


if __name__ == "__main__":
    for (instance, name), value in check().items():
        print(f"{instance:12} {name:26} {value:+.1e}")

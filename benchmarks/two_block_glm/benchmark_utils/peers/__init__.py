"""The peers: the packages that are compared, by name. Each is imported on first use, since it may not be installed.

The module of a peer has ``prepare(X, Y, labels, alpha_x, alpha_y, **options)``, which converts the data to the form of
the package and returns ``solve(tol) -> (x, y)``. A peer with limits also has ``why_not(d, **options)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

Vector = np.ndarray[Any, Any]
Solve = Callable[[float], tuple[Vector, Vector]]


@dataclass(frozen=True)
class Peer:
    """A package with some options; what ``tol`` means depends on the package."""

    name: str
    module: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        return int(self.options.get("threads", 1))

    def why_not(self, d: int) -> str | None:
        """Why it cannot fit d columns here; None if it can."""
        try:
            module = self.load()
        except ImportError as error:
            return str(error)
        return module.why_not(d, **self.options) if hasattr(module, "why_not") else None

    def prepare(self, X: Any, Y: Any, labels: Any, alpha_x: float, alpha_y: float) -> Solve:
        return self.load().prepare(X, Y, labels, alpha_x, alpha_y, **self.options)

    def fit(self, X: Any, Y: Any, labels: Any, alpha_x: float, alpha_y: float, tol: float) -> tuple[Vector, Vector]:
        return self.prepare(X, Y, labels, alpha_x, alpha_y)(tol)

    def load(self) -> ModuleType:
        """Import its module. Do this before limiting threads: limits apply only to libraries that are loaded."""
        return import_module(f"benchmark_utils.peers.{self.module}")


PEERS = {
    peer.name: peer
    for peer in (
        Peer("minmin auto", "minmin", {"method": "auto"}),
        Peer("minmin reduced-lbfgs", "minmin", {"method": "reduced-lbfgs"}),
        Peer("minmin reduced-newton", "minmin", {"method": "reduced-newton"}),
        Peer("minmin estimator", "minmin_estimator", {"data": "sparse"}),
        Peer("minmin estimator, frame", "minmin_estimator", {"data": "frame"}),
        Peer("scikit-learn newton-cg", "scikit_learn", {"algorithm": "newton-cg"}),
        Peer("scikit-learn lbfgs", "scikit_learn", {"algorithm": "lbfgs"}),
        Peer("scikit-learn liblinear", "scikit_learn", {"algorithm": "liblinear"}),
        Peer("liblinear-official", "liblinear_official"),
        Peer("glum lbfgs", "glum", {"algorithm": "lbfgs"}),
        Peer("glum lbfgs, 2 threads", "glum", {"algorithm": "lbfgs", "threads": 2}),
        Peer("glum irls-ls", "glum", {"algorithm": "irls-ls"}),
        Peer("cyanure", "cyanure"),
        Peer("skglm lbfgs", "skglm", {"algorithm": "lbfgs"}),
        Peer("skglm prox-newton", "skglm", {"algorithm": "prox-newton"}),
        Peer("scipy L-BFGS-B", "scipy", {"scaling": "none"}),
        Peer("scipy L-BFGS-B, 1/std", "scipy", {"scaling": "std"}),
    )
}

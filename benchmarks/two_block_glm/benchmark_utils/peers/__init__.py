"""The peers by name, each loaded when asked for, since each needs a package of its own.

A peer's module has ``prepare(X, Y, labels, alpha_x, alpha_y, **options)``, which puts the data into the form that the
package wants and returns ``solve(tol) -> (x, y)``; and, where it cannot do everything, ``why_not(d, **options)``.
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
    """A package with one way to use it; tol is what the package means by it."""

    name: str
    module: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        return int(self.options.get("threads", 1))

    def why_not(self, d: int) -> str | None:
        """Why it cannot fit d columns here, or None."""
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
        """Its module, imported; limits on threads hold only for what is imported already."""
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

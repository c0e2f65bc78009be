"""The benchopt solver around a package: data are prepared before the clock starts, run(tol) solves."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from benchopt import BaseSolver
from threadpoolctl import threadpool_limits

from benchmark_utils.peers import Peer
from benchmark_utils.timing import WARM_UP_TOL


class PeerSolver(BaseSolver):
    """Subclasses name the module of the package; their parameters are the options of the package."""

    module: str
    sampling_strategy = "tolerance"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        import_module(f"benchmark_utils.peers.{cls.module}")  # benchopt reads an ImportError here as "not installed"

    def skip(self, X: Any, Y: Any, **_: Any) -> tuple[bool, str | None]:
        reason = self._peer().why_not(X.shape[1] + Y.shape[1])
        return reason is not None, reason

    def set_objective(self, X: Any, Y: Any, labels: Any, alpha_x: float, alpha_y: float) -> None:
        peer = self._peer()
        threadpool_limits(limits=peer.threads)  # never undone, since a context manager in run() would be timed
        self.solve = peer.prepare(X, Y, labels, alpha_x, alpha_y)

    def warm_up(self) -> None:
        self.run_once(WARM_UP_TOL)

    def run(self, tol: float) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.x, self.y = self.solve(min(tol, 100.0))

    def get_result(self) -> dict[str, Any]:
        return {"x": self.x, "y": self.y}

    def _peer(self) -> Peer:
        return Peer(self.name, self.module, {name: getattr(self, name) for name in self.parameters})

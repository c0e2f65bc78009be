from benchmark_utils.peer_solver import PeerSolver


class Solver(PeerSolver):
    """minmin; tol is the proved bound on f - f*."""

    name = "minmin"
    module = "minmin"
    requirements = ["pip::minmin"]
    parameters = {"method": ["auto", "reduced-lbfgs", "reduced-newton"]}

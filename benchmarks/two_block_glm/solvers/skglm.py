from benchmark_utils.peer_solver import PeerSolver


class Solver(PeerSolver):
    """skglm on scaled columns."""

    name = "skglm"
    module = "skglm"
    requirements = ["pip::skglm"]
    parameters = {"algorithm": ["lbfgs", "prox-newton"]}

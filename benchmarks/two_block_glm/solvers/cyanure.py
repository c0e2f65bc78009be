from benchmark_utils.peer_solver import PeerSolver


class Solver(PeerSolver):
    """cyanure on scaled columns; it chooses the algorithm."""

    name = "cyanure"
    module = "cyanure"
    requirements = ["pip::cyanure"]
    parameters = {"algorithm": ["auto"], "threads": [1]}

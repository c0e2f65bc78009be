from benchmark_utils.peer_solver import PeerSolver


class Solver(PeerSolver):
    """glum with a P2 vector, on tabmat's split matrix."""

    name = "glum"
    module = "glum"
    requirements = ["pip::glum"]
    parameters = {"algorithm": ["lbfgs", "irls-ls"], "threads": [1]}

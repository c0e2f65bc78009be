from benchmark_utils.peer_solver import PeerSolver


class Solver(PeerSolver):
    """LIBLINEAR's own package, -s 0, on scaled columns; its form of the data is made before the clock starts."""

    name = "liblinear-official"
    module = "liblinear_official"
    requirements = ["pip::liblinear-official"]

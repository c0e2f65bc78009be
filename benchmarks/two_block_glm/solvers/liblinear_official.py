from benchmark_utils.peer_solver import PeerSolver


class Solver(PeerSolver):
    """LIBLINEAR's own package, -s 0, on scaled columns; the data are converted before the clock starts."""

    name = "liblinear-official"
    module = "liblinear_official"
    requirements = ["pip::liblinear-official"]

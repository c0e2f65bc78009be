from benchmark_utils.peer_solver import PeerSolver


class Solver(PeerSolver):
    """minmin's BlockLogisticRegression: fit() on one matrix or data frame of all columns; tol is the proved bound."""

    name = "minmin estimator"
    module = "minmin_estimator"
    requirements = ["pip::minmin", "pip::scikit-learn", "pip::pandas"]
    parameters = {"data": ["sparse", "frame"]}

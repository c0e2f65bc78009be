from benchmark_utils.peer_solver import PeerSolver


class Solver(PeerSolver):
    """scikit-learn's LogisticRegression on scaled columns."""

    name = "scikit-learn"
    module = "scikit_learn"
    requirements = ["pip::scikit-learn"]
    parameters = {"algorithm": ["newton-cg", "lbfgs", "liblinear"]}

from benchmark_utils.peer_solver import PeerSolver


class Solver(PeerSolver):
    """scipy's L-BFGS-B on (x, y) jointly, with raw columns or columns scaled by 1/std."""

    name = "scipy L-BFGS-B"
    module = "scipy"
    requirements = ["pip::scipy"]
    parameters = {"scaling": ["none", "std"]}

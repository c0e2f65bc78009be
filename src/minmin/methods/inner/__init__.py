"""The inner solvers of BAM, by name."""

from minmin.methods.inner.base import InnerSolver
from minmin.methods.inner.curved import LbfgsInner, NewtonInner
from minmin.methods.inner.nag import NagInner
from minmin.methods.inner.nag_ogmg import NagOgmgInner
from minmin.methods.inner.subproblem import Subproblem

INNER_SOLVERS: dict[str, InnerSolver] = {
    solver.name: solver for solver in (LbfgsInner(), NagInner(), NagOgmgInner(), NewtonInner())
}

__all__ = ["INNER_SOLVERS", "InnerSolver", "Subproblem"]

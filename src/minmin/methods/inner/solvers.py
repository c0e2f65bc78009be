"""The inner solvers by name, for BAM and for the reduced methods."""

from __future__ import annotations

from minmin.methods.inner.base import InnerSolver
from minmin.methods.inner.curved import LbfgsSolver, NewtonSolver
from minmin.methods.inner.katyusha import KatyushaSolver
from minmin.methods.inner.nag import NagSolver
from minmin.methods.inner.nag_ogmg import NagOgmgSolver

INNER_SOLVERS: dict[str, InnerSolver] = {
    solver.name: solver for solver in (LbfgsSolver(), NewtonSolver(), NagSolver(), NagOgmgSolver(), KatyushaSolver())
}

REDUCED_SOLVERS = [name for name, solver in INNER_SOLVERS.items() if not (solver.needs_restart or solver.needs_rows)]
"""The names of those that need nothing that only BAM has."""

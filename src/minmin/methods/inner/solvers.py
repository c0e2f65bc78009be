"""The inner solvers by name, for BAM and for the reduced methods."""

from __future__ import annotations

from minmin.errors import InputError
from minmin.methods.base import require_choice
from minmin.methods.inner.base import InnerSolver
from minmin.methods.inner.curved import LbfgsSolver, NewtonSolver
from minmin.methods.inner.katyusha import KatyushaSolver
from minmin.methods.inner.nag import NagOgmgSolver, NagSolver
from minmin.methods.needs import Need

INNER_SOLVERS: dict[str, InnerSolver] = {
    solver.name: solver for solver in (LbfgsSolver(), NewtonSolver(), NagSolver(), NagOgmgSolver(), KatyushaSolver())
}


def require_reduced_solver(inner: object, *others: str) -> None:
    """Raise if ``inner`` is neither a solver that needs nothing that only BAM has, nor one of the other names."""
    known = [name for name, solver in INNER_SOLVERS.items() if not (solver.needs_center or Need.ROWS in solver.needs)]
    if isinstance(inner, str) and inner in INNER_SOLVERS and inner not in known:
        raise InputError(f"inner={inner!r} is for method 'bam' alone; these go with this one: {', '.join(known)}")
    require_choice("inner", inner, (*others, *known))

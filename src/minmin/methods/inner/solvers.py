"""The inner solvers by name, for BAM, sliding, and the reduced methods."""

from __future__ import annotations

import functools
from pkgutil import resolve_name

from minmin.errors import InputError
from minmin.methods.base import require_choice
from minmin.methods.inner.base import InnerSolver

INNER_SOLVERS = {
    "lbfgs": "minmin.methods.inner.curved:LbfgsSolver",
    "newton": "minmin.methods.inner.curved:NewtonSolver",
    "nag": "minmin.methods.inner.nag:NagSolver",
    "nag-ogmg": "minmin.lab.ogmg:NagOgmgSolver",
    "katyusha": "minmin.lab.katyusha:KatyushaSolver",
}
"""Where every solver is. Those of the lab are loaded when they are asked for, and are for BAM; the others need nothing
that only BAM has."""


@functools.cache
def find_solver(name: str) -> InnerSolver:
    """The solver with this name."""
    solver: InnerSolver = resolve_name(INNER_SOLVERS[name])()
    return solver


def require_reduced_solver(inner: object, *others: str) -> None:
    """Raise if ``inner`` is neither a solver that needs nothing that only BAM has, nor one of the other names."""
    known = [name for name, place in INNER_SOLVERS.items() if not place.startswith("minmin.lab")]
    if isinstance(inner, str) and inner in INNER_SOLVERS and inner not in known:
        raise InputError(f"inner={inner!r} is for method 'bam' alone; these go with this one: {', '.join(known)}")
    require_choice("inner", inner, (*others, *known))

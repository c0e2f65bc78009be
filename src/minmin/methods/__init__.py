"""The methods that minimize() takes, as objects or by name."""

from typing import Any

from minmin.deprecation import warn_renamed
from minmin.methods.alternating import Alternating
from minmin.methods.bam import Bam
from minmin.methods.base import Candidate, Method, require_constants
from minmin.methods.coordinate import Acdm, LinCoupling
from minmin.methods.cutting_plane import CuttingPlane
from minmin.methods.inexact_outer import InexactOuter
from minmin.methods.nag import Nag
from minmin.methods.ogmg import nag_ogm_g, ogm_g
from minmin.methods.reduced_lbfgs import ReducedLbfgs
from minmin.methods.reduced_newton import ReducedNewton
from minmin.methods.registry import build, check_method, describe, names
from minmin.methods.sliding import Sliding

__all__ = [
    "Acdm",
    "Alternating",
    "Bam",
    "Candidate",
    "CuttingPlane",
    "InexactOuter",
    "LinCoupling",
    "Method",
    "Nag",
    "ReducedLbfgs",
    "ReducedNewton",
    "Sliding",
    "build",
    "check_method",
    "describe",
    "nag_ogm_g",
    "names",
    "ogm_g",
    "require_constants",
]

_RENAMED = {"Answer": "Candidate", "described": "describe"}

__dir__ = __all__.copy  # dir() lists public names only


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        new = _RENAMED[name]
        warn_renamed(f"minmin.methods.{name}", new, stacklevel=2)
        return globals()[new]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

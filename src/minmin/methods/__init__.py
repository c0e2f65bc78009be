"""The methods that minimize() takes, as objects or by name."""

from typing import TYPE_CHECKING

from minmin.deprecation import names_elsewhere
from minmin.methods.bam import Bam
from minmin.methods.base import Method
from minmin.methods.cutting_plane import CuttingPlane
from minmin.methods.reduced_lbfgs import ReducedLbfgs
from minmin.methods.reduced_newton import ReducedNewton
from minmin.methods.registry import METHODS, names
from minmin.methods.sliding import Sliding

if TYPE_CHECKING:
    from minmin.lab.alternating import Alternating
    from minmin.lab.coordinate import Acdm, LinCoupling
    from minmin.lab.inexact_outer import InexactOuter
    from minmin.lab.nag import Nag

__all__ = [
    "Acdm",
    "Alternating",
    "Bam",
    "CuttingPlane",
    "InexactOuter",
    "LinCoupling",
    "Method",
    "Nag",
    "ReducedLbfgs",
    "ReducedNewton",
    "Sliding",
    "names",
]

__dir__ = __all__.copy  # dir() lists public names only
__getattr__ = names_elsewhere(
    __name__,
    in_extend=["Candidate", "build", "check_method", "describe", "nag_ogm_g", "ogm_g", "require_constants"],
    lazy={place.split(":")[1]: place for place in METHODS.values()},
    renamed={"Answer": "minmin.extend:Candidate", "described": "minmin.extend:describe"},
)

"""What authors need of problems, methods, terms, designs and federations of their own: see docs/extending.md."""

from typing import TYPE_CHECKING

from minmin.core.counting import Tally
from minmin.core.evaluation import Evaluation
from minmin.core.orientation import Outer
from minmin.core.problem import Slice, YTask
from minmin.core.second_order import SecondOrderEvaluation, SecondOrderProblem, SecondOrderSlice
from minmin.core.start import make_start
from minmin.core.term import Piece
from minmin.core.traits import Traits
from minmin.deprecation import names_elsewhere
from minmin.errors import SolverError
from minmin.lab.ogmg import nag_ogm_g, ogm_g
from minmin.methods.base import Candidate, Target
from minmin.methods.needs import Feature, Need, require_constants
from minmin.methods.registry import build, check_method, describe
from minmin.problems.autodiff import AutodiffFunction
from minmin.problems.linear.categories import CategoricalDesign
from minmin.problems.linear.mixed import MixedDesign
from minmin.problems.linear.model import LinearModel
from minmin.terms.parts import PartsTerm
from minmin.terms.scaled import Scaled

if TYPE_CHECKING:
    from minmin.federated.engines import Engine
    from minmin.federated.protocol import Envelope
    from minmin.federated.store import StateStore
    from minmin.federated.tasks import ClientTask, Outcome

__all__ = [
    "AutodiffFunction",
    "Candidate",
    "CategoricalDesign",
    "ClientTask",
    "Engine",
    "Envelope",
    "Evaluation",
    "Feature",
    "LinearModel",
    "MixedDesign",
    "Need",
    "Outcome",
    "Outer",
    "PartsTerm",
    "Piece",
    "Scaled",
    "SecondOrderEvaluation",
    "SecondOrderProblem",
    "SecondOrderSlice",
    "Slice",
    "SolverError",
    "StateStore",
    "Tally",
    "Target",
    "Traits",
    "YTask",
    "build",
    "check_method",
    "describe",
    "make_start",
    "nag_ogm_g",
    "ogm_g",
    "require_constants",
]

__dir__ = __all__.copy  # dir() lists public names only
__getattr__ = names_elsewhere(
    __name__,
    lazy={
        "ClientTask": "minmin.federated.tasks:ClientTask",
        "Engine": "minmin.federated.engines:Engine",
        "Envelope": "minmin.federated.protocol:Envelope",
        "Outcome": "minmin.federated.tasks:Outcome",
        "StateStore": "minmin.federated.store:StateStore",
    },
)

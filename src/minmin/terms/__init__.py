"""Terms with kinks, and constraints: f(x, y) + p(x) + q(y)."""

from minmin.core.term import Term
from minmin.deprecation import names_elsewhere
from minmin.terms.ball import L2Ball
from minmin.terms.box import Box, NonNegative
from minmin.terms.elastic_net import ElasticNet
from minmin.terms.group_l2 import GroupL2
from minmin.terms.l1 import L1
from minmin.terms.simplex import Simplex

__all__ = ["L1", "Box", "ElasticNet", "GroupL2", "L2Ball", "NonNegative", "Simplex", "Term"]

__dir__ = __all__.copy  # dir() lists public names only
__getattr__ = names_elsewhere(__name__, in_extend=["PartsTerm", "Scaled"])

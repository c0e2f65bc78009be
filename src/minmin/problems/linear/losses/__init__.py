"""Losses of a linear model as functions of the margins, safe for margins of any size."""

from minmin.problems.linear.losses.base import FAR, Loss
from minmin.problems.linear.losses.binary import CLogLog, Logistic, Probit
from minmin.problems.linear.losses.log_link import Gamma, NegativeBinomial, Poisson, Tweedie
from minmin.problems.linear.losses.squares import Huber, Squared, SquaredHinge

_KINDS = Logistic, Probit, CLogLog, SquaredHinge, Squared, Huber, Poisson, Gamma, Tweedie, NegativeBinomial
LOSSES: dict[str, Loss] = {kind.name: kind() for kind in _KINDS}

__all__ = ["FAR", "LOSSES", "Huber", "Loss", "NegativeBinomial", "Tweedie"]

"""Poisson regression with a penalty per block."""

from __future__ import annotations

from minmin.estimators.families import Poisson
from minmin.estimators.model import SingleFit


class BlockPoissonRegressor(Poisson, SingleFit):
    """Poisson regression with a penalty per block of columns, and a proof of how far from the minimum it is."""

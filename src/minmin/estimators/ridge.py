"""Least squares with a penalty per block."""

from __future__ import annotations

from minmin.estimators.families import Gaussian
from minmin.estimators.model import SingleFit


class BlockRidge(Gaussian, SingleFit):
    """Least squares with a penalty per block of columns, and a proof of how far from the minimum it is."""

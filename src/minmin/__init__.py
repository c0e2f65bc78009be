"""Minimise f(x, y) with an expensive block x and a cheap block y, and know how far from the optimum you are."""

from typing import Any

from minmin import datasets, federated, methods, problems
from minmin.checking import Finding, Report, check
from minmin.constants import Constants
from minmin.errors import (
    CheckpointError,
    ConstantsError,
    InputError,
    MinMinError,
    NoMinimumError,
    NonFiniteError,
    UnsupportedError,
    UserCodeError,
)
from minmin.result import History, Record, Result
from minmin.solve import minimize
from minmin.space import Blocks
from minmin.sums import Sum

__version__ = "0.1.0"

__all__ = [
    "Blocks",
    "CheckpointError",
    "Constants",
    "ConstantsError",
    "Finding",
    "History",
    "InputError",
    "MinMinError",
    "NoMinimumError",
    "NonFiniteError",
    "Record",
    "Report",
    "Result",
    "Sum",
    "UnsupportedError",
    "UserCodeError",
    "check",
    "datasets",
    "federated",
    "methods",
    "minimize",
    "problems",
]


def __getattr__(name: str) -> Any:
    if name == "estimators":  # needs scikit-learn, so only those who ask for it import it
        from importlib import import_module

        return import_module("minmin.estimators")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Minimise f(x, y) with an expensive block x and a cheap block y, and know how far from the optimum you are."""

from importlib import import_module
from typing import Any

from minmin import datasets, methods, problems, terms
from minmin.checking import check
from minmin.core.bound import Bound
from minmin.core.constants import Constants
from minmin.core.problem import Problem
from minmin.core.vectors import Parts
from minmin.deprecation import warn_renamed
from minmin.errors import (
    CheckpointError,
    ConstantsError,
    DataLostError,
    InputError,
    MinMinError,
    NoMinimumError,
    NonFiniteError,
    UnsupportedError,
    UserCodeError,
)
from minmin.estimating import estimate_constants
from minmin.findings import Finding, Report
from minmin.methods import Method
from minmin.problems import Sum
from minmin.result import History, Record, Result
from minmin.solve import minimize

__version__ = "0.1.0"

__all__ = [
    "Bound",
    "CheckpointError",
    "Constants",
    "ConstantsError",
    "DataLostError",
    "Finding",
    "History",
    "InputError",
    "Method",
    "MinMinError",
    "NoMinimumError",
    "NonFiniteError",
    "Parts",
    "Problem",
    "Record",
    "Report",
    "Result",
    "Sum",
    "UnsupportedError",
    "UserCodeError",
    "check",
    "datasets",
    "estimate_constants",
    "federated",
    "methods",
    "minimize",
    "problems",
    "terms",
]

_LOADED_WHEN_ASKED_FOR = ("estimators", "federated", "theory")
"""They need packages that the core does not."""

_RENAMED = {"Blocks": "Parts"}

__dir__ = sorted({"__version__", *__all__, *_LOADED_WHEN_ASKED_FOR}).copy  # dir() lists public names only


def __getattr__(name: str) -> Any:
    if name in _LOADED_WHEN_ASKED_FOR:
        return import_module(f"minmin.{name}")
    if name in _RENAMED:
        new = _RENAMED[name]
        warn_renamed(f"minmin.{name}", new, stacklevel=2)
        return globals()[new]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

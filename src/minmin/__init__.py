"""Minimise f(x, y) with an expensive block x and a cheap block y, and know how far from the optimum you are."""

from typing import TYPE_CHECKING

from minmin.deprecation import names_elsewhere

if TYPE_CHECKING:
    from minmin import datasets, methods, problems, terms
    from minmin.checking import check
    from minmin.core.bound import Bound, Constants
    from minmin.core.problem import Problem
    from minmin.core.vectors import Parts
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
    "extend",
    "federated",
    "methods",
    "minimize",
    "problems",
    "terms",
]

_MODULES = ("datasets", "estimators", "extend", "federated", "methods", "problems", "terms", "theory")
_PLACES = {
    "checking": ("check",),
    "core.bound": ("Bound", "Constants"),
    "core.problem": ("Problem",),
    "core.vectors": ("Parts",),
    "errors": (
        "CheckpointError",
        "ConstantsError",
        "DataLostError",
        "InputError",
        "MinMinError",
        "NoMinimumError",
        "NonFiniteError",
        "UnsupportedError",
        "UserCodeError",
    ),
    "estimating": ("estimate_constants",),
    "findings": ("Finding", "Report"),
    "methods": ("Method",),
    "problems": ("Sum",),
    "result": ("History", "Record", "Result"),
    "solve": ("minimize",),
}
"""Where the names are; all are loaded when they are asked for, so that a command starts at once."""

__dir__ = sorted({"__version__", "estimators", "theory", *__all__}).copy  # dir() lists public names only
__getattr__ = names_elsewhere(
    __name__,
    renamed={"Blocks": "minmin:Parts"},
    lazy={
        **{name: f"minmin.{name}:" for name in (*_MODULES, *_PLACES)},
        **{name: f"minmin.{module}:{name}" for module, names in _PLACES.items() for name in names},
    },
)

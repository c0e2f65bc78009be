"""Worst cases of the methods, computed: proofs by semidefinite programming (extra ``theory``)."""

import warnings as _warnings

from minmin.deprecation import names_elsewhere
from minmin.errors import needs_extra

try:
    with _warnings.catch_warnings():
        _warnings.simplefilter("ignore")  # PEPit has invalid escapes in its docstrings
        import cvxpy as _cvxpy  # noqa: F401
        import PEPit as _PEPit  # noqa: F401
except ImportError as error:
    raise ImportError(needs_extra("minmin.theory", "PEPit and cvxpy", "theory")) from error

from minmin.theory.rates import Rate, lyapunov_rate, rate

__all__ = ["Rate", "lyapunov_rate", "rate"]

__dir__ = __all__.copy  # dir() lists public names only
__getattr__ = names_elsewhere(__name__, in_extend=["SolverError"])

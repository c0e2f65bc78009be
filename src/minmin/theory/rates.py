"""rate() and lyapunov_rate(): worst cases beside what the theorems promise."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from PEPit.pep import PEP

from minmin.core.bound import Constants
from minmin.errors import InputError, UnsupportedError, as_count, as_number, near_names, show
from minmin.theory.function_class import TwoBlockFunction
from minmin.theory.lyapunov import find_lyapunov_rate
from minmin.theory.models import BamModel, Model, NagModel, OgmGModel, StepModel, TripleMomentumModel
from minmin.theory.solving import find_largest

_MODELS: dict[str, type[Model]] = {kind.name: kind for kind in (BamModel, TripleMomentumModel, NagModel, OgmGModel)}
_TOLERANCE = 1e-6
_SOLVER_ACCURACY = 1e-8
_LARGEST_KAPPA = 1e5
"""The largest κ of a rate: above it the errors of the solver are too large. Measured: docs/benchmarks/tuning.md."""


@dataclass(frozen=True)
class Rate:
    """A worst case, and what the theorem promises.

    Attributes
    ----------
    worst_case : float
        By how much the theorem's measure is multiplied, at worst; infinite if there is no bound.
    theorem : float
        The theorem's bound on it.
    """

    worst_case: float
    theorem: float

    @property
    def holds(self) -> bool:
        """Whether the worst case is within the theorem, up to the solver's accuracy."""
        return self.worst_case <= self.theorem * (1.0 + _TOLERANCE) + _SOLVER_ACCURACY


def rate(method: str, *, kappa_x: float, kappa_y: float, steps: int = 1, **options: Any) -> Rate:
    """The worst case of a method, over all functions of its theorem and all starts.

    The functions are (1, 1)-smooth and (1/kappa_x, 1/kappa_y)-strongly convex. For "bam", and "nag" with
    ``rescale=True``, this covers all others, since neither notices if f or a block is multiplied by a number.

    PEPit keeps what is being stated in global variables. So a ``PEPit.PEP`` of your own must be solved before this is
    called, or stated after it.

    Parameters
    ----------
    method : {"bam", "nag", "ogm-g"}
        "bam": Ψ of the paper's Theorem 2.2, from any state. "nag": f - f* after the steps, over f - f* + mu/2 |z - z*|²
        before. "ogm-g": |∇f|² after the steps, over 2L(f - f*) before.
    kappa_x, kappa_y : float
        Condition numbers of the blocks, from 1 to 10⁵; "ogm-g" takes ``math.inf``, too.
    steps : int
        The number N of steps. Of "bam", 5 take 0.2 s, and 12 take 2 s.
    **options
        Of "bam": ``exact=True`` for exact inner solves, in place of condition (2) at its loosest; ``eta_x_factor`` and
        ``condition_factor`` multiply η_x and the right-hand side of condition (2). Of "nag": ``rescale``.

    Returns
    -------
    Rate
        ``worst_case``, ``theorem`` and ``holds``. Up to condition numbers of 10⁴, the worst case is accurate to about
        1e-6.

    Examples
    --------
    >>> r = minmin.theory.rate("bam", kappa_x=100, kappa_y=1000)
    >>> print(f"{r.worst_case:.4f} <= {r.theorem:.4f}")
    0.9053 <= 0.9091
    """
    model = _build(method, options)
    constants = _read_constants(model, kappa_x, kappa_y)
    if as_count(steps, "steps") < 1:
        raise InputError(f"steps = {show(steps)} must be at least 1")
    problem = PEP()
    f = TwoBlockFunction(constants)
    measured = model.run(f, int(steps))
    return Rate(find_largest(problem, measured.last, first=measured.first), model.theorem(constants, int(steps)))


def lyapunov_rate(method: str, *, kappa_x: float, kappa_y: float, **options: Any) -> Rate:
    """The asymptotic rate of a method that a quadratic Lyapunov function proves.

    V is a quadratic function of the method's state and the newest gradients, plus a multiple of f - f* where they were
    computed. The search is for the smallest factor by which some V >= f - f* falls in every step, on all functions of
    the class that :func:`rate` describes. The result is rechecked: with V given, its worst case is computed as in
    :func:`rate`.

    Parameters
    ----------
    method : {"bam", "bam-triple-momentum", "nag"}
    kappa_x, kappa_y, **options
        As for :func:`rate`. Of "bam-triple-momentum": ``exact``; ``condition_factor``, the accuracy of inner solves;
        and ``margin``, its s.

    Returns
    -------
    Rate
        ``worst_case`` is the factor per step of the V that was found, within about 1e-4 of the best one. ``theorem`` is
        the theorem's factor per step; of "bam-triple-momentum", that for exact inner solves.
    """
    model = _build(method, options)
    constants = _read_constants(model, kappa_x, kappa_y)
    if not isinstance(model, StepModel):
        raise UnsupportedError(f"{method!r} has no asymptotic rate: its steps depend on their number; use rate()")
    return Rate(find_lyapunov_rate(model, constants), model.theorem(constants, 1))


def _build(method: object, options: dict[str, Any]) -> Model:
    if not isinstance(method, str) or method not in _MODELS:
        raise InputError(f"unknown method {show(method)}: {near_names(method, _MODELS)}")
    known = [field.name for field in fields(_MODELS[method])]  # type: ignore[arg-type]
    for option in options:
        if option not in known:
            raise InputError(f"method {method!r} has no option {option!r}: {near_names(option, known)}")
    return _MODELS[method](**options)


def _read_constants(model: Model, kappa_x: object, kappa_y: object) -> Constants:
    mus = []
    for name, value in (("kappa_x", kappa_x), ("kappa_y", kappa_y)):
        kappa = as_number(value, name)
        if not kappa >= 1.0:
            raise InputError(f"{name} = {show(value)} must be at least 1: L is never below mu")
        if model.needs_strong_convexity and math.isinf(kappa):
            raise InputError(f"{name} must be finite: the theorem of {model.name!r} is about strongly convex functions")
        if _LARGEST_KAPPA < kappa < math.inf:
            raise InputError(f"{name} = {show(value)} is above {_LARGEST_KAPPA:g}, where the solver's accuracy ends")
        mus.append(1.0 / kappa)
    return Constants(L_x=1.0, L_y=1.0, mu_x=mus[0], mu_y=mus[1])

"""Checks of the constants at no extra cost, from the gradients that a run computes anyway."""

from __future__ import annotations

import math
from typing import NamedTuple, NoReturn

from minmin.core.bound import Constants
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem
from minmin.core.vectors import Vector, dot
from minmin.errors import GRADIENT_MAY_BE_WRONG, ConstantsError

_TOLERANCE = 0.01
"""Constants may be off by this fraction: users round them to two or three digits. A step of 1/L is then 1 % too long,
and gradient methods still converge with steps up to twice as long."""
_NOISE_MARGIN = 4.0
"""The difference of two gradients has up to twice the rounding error of one; this is twice that."""


class SecantPoint(NamedTuple):
    """A point and both gradients there, to compare with the next such point.

    Also the rounding errors and the precision of the gradients, and the largest gradient of the run so far.
    """

    x: Vector
    y: Vector
    grad_x: Vector
    grad_y: Vector
    noise: tuple[float, float]
    eps: float
    largest: float


def check_constants(
    problem: Problem, evaluation: Evaluation, before: SecantPoint | None, constants: Constants | None = None
) -> SecantPoint | None:
    """Compare a point where both gradients are known with the previous one, and return it for the next comparison.

    Returns None if the problem has no constants, or ∇ᵧ stays with the clients. ``constants`` are by default the
    problem's.
    """
    constants = problem.constants if constants is None else constants
    if constants is None or problem.y_is_remote:
        return None
    e = evaluation
    largest = e.grad_x_norm + e.grad_y_norm  # first, since gradients tell their precision
    largest = largest if before is None else max(largest, before.largest)
    new = SecantPoint(e.x, e.y, e.grad_x, e.grad_y, problem.gradient_noise(e), e.rounding.eps, largest)
    if before is not None:
        check_secant(constants, before, new)
    return new


def check_secant(constants: Constants, old: SecantPoint, new: SecantPoint) -> None:
    """Compare the curvature between two points with what Assumptions 1.1 and 1.2 allow; raise if it does not fit.

    The assumptions of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, each applied in both directions, say for
    the differences d of two points that
    μ_x|dx|² + μ_y|dy|² <= <d∇f, d> <= L_x|dx|² + L_y|dy|².
    """
    if constants.source == "adapted" or math.isinf(constants.L_x) or math.isinf(constants.L_y):
        return
    dx, dy = new.x - old.x, new.y - old.y
    seen_x, seen_y = dot(new.grad_x - old.grad_x, dx), dot(new.grad_y - old.grad_y, dy)
    size_x, size_y = dot(dx, dx), dot(dy, dy)
    most = (1 + _TOLERANCE) * (constants.L_x * size_x + constants.L_y * size_y)
    least = (1 - _TOLERANCE) * (constants.mu_x * size_x + constants.mu_y * size_y)
    if least <= seen_x + seen_y <= most:
        return
    change = constants.L_x * math.sqrt(size_x) + constants.L_y * math.sqrt(size_y)
    if _is_lost_in_noise(change, new.largest, new.eps):
        return
    noise = _NOISE_MARGIN * (new.noise[0] * math.sqrt(size_x) + new.noise[1] * math.sqrt(size_y))
    curvatures = (seen_x / size_x if size_x else math.nan, seen_y / size_y if size_y else math.nan)
    if seen_x + seen_y - noise > most:
        in_y = size_x == 0.0 or curvatures[1] * constants.L_x > curvatures[0] * constants.L_y
        _report("L", constants, in_y, curvatures[in_y], or_other=size_x > 0.0)
    if seen_x + seen_y + noise < least:
        in_y = size_x == 0.0 or curvatures[1] * constants.mu_x < curvatures[0] * constants.mu_y
        _report("mu", constants, in_y, curvatures[in_y], or_other=size_x > 0.0)


def fits_y_secant(constants: Constants, seen: float, size: float) -> bool:
    """Whether the constants hold between two points with the same x: μ_y|dy|² <= <d∇ᵧf, dy> <= L_y|dy|².

    ``seen`` is <d∇ᵧf, dy>, and ``size`` is |dy|².
    """
    most = (1 + _TOLERANCE) * constants.L_y * size
    return (
        constants.source == "adapted"
        or math.isinf(constants.L_y)
        or (1 - _TOLERANCE) * constants.mu_y * size <= seen <= most
    )


def report_y_secant(constants: Constants, seen: float, size: float, largest: float, eps: float, noise: float) -> None:
    """Raise for a secant in y that does not fit, unless rounding explains it.

    ``largest`` is the norm of the largest ∇ᵧf of the run, ``noise`` the expected rounding error in it.
    """
    most, least = (1 + _TOLERANCE) * constants.L_y * size, (1 - _TOLERANCE) * constants.mu_y * size
    if _is_lost_in_noise(constants.L_y * math.sqrt(size), largest, eps):
        return
    slack = _NOISE_MARGIN * noise * math.sqrt(size)
    if seen - slack > most:
        _report("L", constants, True, seen / size)
    if seen + slack < least:
        _report("mu", constants, True, seen / size)


def check_curvature(constants: Constants, in_y: bool, least: float, largest: float) -> None:
    """Compare the eigenvalues of a block of a constant Hessian with the constants; raise if they do not fit."""
    L, mu = (constants.L_y, constants.mu_y) if in_y else (constants.L_x, constants.mu_x)
    where = "everywhere"
    if largest > (1 + _TOLERANCE) * L:
        _report("L", constants, in_y, largest, where=where)
    if least < (1 - _TOLERANCE) * mu:
        _report("mu", constants, in_y, least, where=where)


def _is_lost_in_noise(change: float, largest: float, eps: float) -> bool:
    """Whether a change of gradient is so small, compared with the run's largest gradient, that it may be rounding.

    Gradients may be sums of terms as large as the largest gradient. Of a change below √eps of that, less than half of
    the digits are right.
    """
    return change < math.sqrt(eps) * largest


def _report(
    kind: str,
    constants: Constants,
    in_y: bool,
    observed: float,
    or_other: bool = False,
    where: str = "between two points of this run",
) -> NoReturn:
    names = [constants.name(kind, is_y) for is_y in (False, True)]
    stated = [getattr(constants, f"{kind}_{block}") for block in "xy"]
    alternative = f" (or {names[not in_y]} = {stated[not in_y]:g}, as the blocks interact)" if or_other else ""
    raise ConstantsError(
        f"{names[in_y]} = {stated[in_y]:g} does not hold: {where} f has the curvature "
        f"{observed:.4g} in {constants.blocks[in_y]}{alternative}; "
        f"give a {'larger' if kind == 'L' else 'smaller'} {names[in_y]}; or {GRADIENT_MAY_BE_WRONG}"
    )

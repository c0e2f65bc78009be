"""Secants: what a run sees of the constants, for free, from gradients it has computed anyway."""

from __future__ import annotations

import math
from typing import NamedTuple, NoReturn

from minmin.core.constants import Constants
from minmin.core.problem import Evaluation, Problem
from minmin.core.vectors import Vector, dot
from minmin.errors import GRADIENT_MAY_BE_WRONG, ConstantsError

_TOLERANCE = 0.01
"""Constants that are off by less than this go unremarked: users round them to two or three digits, and a step of 1/L is
then 1 % too long, where gradient methods bear up to twice its length."""
_NOISE_MARGIN = 4.0
"""Between two points both gradients are off by their rounding errors, which is twice the error; this is twice that."""


class SecantPoint(NamedTuple):
    """A point and both gradients there, kept to be compared with the next.

    And the rounding errors and the precision of the gradients, and the largest gradient of the run so far.
    """

    x: Vector
    y: Vector
    grad_x: Vector
    grad_y: Vector
    noise: tuple[float, float]
    eps: float
    largest: float


def check_constants(problem: Problem, evaluation: Evaluation, before: SecantPoint | None) -> SecantPoint | None:
    """Compare a point where both gradients are known with the one before, and keep it for the next.

    None where the problem has no constants, or shows no ∇ᵧ.
    """
    constants = problem.constants
    if constants is None or problem.y_is_remote:
        return None
    largest = evaluation.grad_x_norm + evaluation.grad_y_norm
    new = SecantPoint(
        x=evaluation.x,
        y=evaluation.y,
        grad_x=evaluation.grad_x,
        grad_y=evaluation.grad_y,
        noise=problem.gradient_noise(evaluation),
        eps=evaluation.rounding.eps,
        largest=largest if before is None else max(largest, before.largest),
    )
    if before is not None:
        check_secant(constants, before, new)
    return new


def check_secant(constants: Constants, old: SecantPoint, new: SecantPoint) -> None:
    """Compare the curvature between two points with what Assumptions 1.1 and 1.2 allow.

    With differences d, both assumptions together (each applied in both directions) say
    μ_x|dx|² + μ_y|dy|² <= <d∇f, d> <= L_x|dx|² + L_y|dy|².
    """
    if math.isinf(constants.L_x) or math.isinf(constants.L_y):
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
    """The same between two points with one x: μ_y|dy|² <= <d∇ᵧf, dy> = ``seen`` <= L_y|dy|²."""
    most = (1 + _TOLERANCE) * constants.L_y * size
    return math.isinf(constants.L_y) or (1 - _TOLERANCE) * constants.mu_y * size <= seen <= most


def report_y_secant(constants: Constants, seen: float, size: float, largest: float, eps: float, noise: float) -> None:
    """Report such a secant that does not fit, unless rounding explains it.

    ``largest`` is the largest ∇ᵧf of the run, ``noise`` the rounding error to expect in it.
    """
    most, least = (1 + _TOLERANCE) * constants.L_y * size, (1 - _TOLERANCE) * constants.mu_y * size
    if _is_lost_in_noise(constants.L_y * math.sqrt(size), largest, eps):
        return
    slack = _NOISE_MARGIN * noise * math.sqrt(size)
    if seen - slack > most:
        _report("L", constants, True, seen / size)
    if seen + slack < least:
        _report("mu", constants, True, seen / size)


def _is_lost_in_noise(change: float, largest: float, eps: float) -> bool:
    """A change of gradient this small beside the run's largest may be rounding of terms that nobody knows of.

    Below √eps of terms as large as that gradient, a change has less than half of its digits left.
    """
    return change < math.sqrt(eps) * largest


def _report(kind: str, constants: Constants, in_y: bool, observed: float, or_other: bool = False) -> NoReturn:
    names = [f"{kind}_{block}" for block in constants.blocks]
    stated = [getattr(constants, f"{kind}_{block}") for block in "xy"]
    doubt = f" (or {names[not in_y]} = {stated[not in_y]:g}, as the blocks interact)" if or_other else ""
    raise ConstantsError(
        f"{names[in_y]} = {stated[in_y]:g} does not hold: between two points of this run f has the curvature "
        f"{observed:.4g} in {constants.blocks[in_y]}{doubt}; "
        f"give a {'larger' if kind == 'L' else 'smaller'} {names[in_y]}; or {GRADIENT_MAY_BE_WRONG}"
    )

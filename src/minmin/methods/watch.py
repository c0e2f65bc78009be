"""Secants: what a run sees of the constants, for free, from gradients it has computed anyway."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, NoReturn

from minmin.constants import Constants
from minmin.errors import ConstantsError
from minmin.oracle import Evaluation
from minmin.space import Vector, dot, machine_eps, norm

_TOLERANCE = 0.01
"""Constants that are off by less than this go unremarked."""


class Seen(NamedTuple):
    """A point and both gradients there, kept to be compared with the next."""

    x: Vector
    y: Vector
    grad_x: Vector
    grad_y: Vector

    @classmethod
    def of(cls, evaluation: Evaluation) -> Seen:
        return cls(evaluation.x, evaluation.y, evaluation.grad_x, evaluation.grad_y)


def check_secant(constants: Constants, old: Seen, new: Seen) -> None:
    """Compare the curvature between two points with what Assumptions 1.1 and 1.2 allow.

    With differences d, both assumptions together (each applied in both directions) say
    μ_x|dx|² + μ_y|dy|² <= <d∇f, d> <= L_x|dx|² + L_y|dy|².
    """
    dx, dy = new.x - old.x, new.y - old.y
    seen_x, seen_y = dot(new.grad_x - old.grad_x, dx), dot(new.grad_y - old.grad_y, dy)
    size_x, size_y = dot(dx, dx), dot(dy, dy)
    most = (1 + _TOLERANCE) * (constants.L_x * size_x + constants.L_y * size_y)
    least = (1 - _TOLERANCE) * (constants.mu_x * size_x + constants.mu_y * size_y)
    if least <= seen_x + seen_y <= most:
        return
    slack_x, slack_y = constants.gradient_rounding(machine_eps(dx), norm(new.x), norm(new.y))
    noise = 4.0 * (slack_x * size_x**0.5 + slack_y * size_y**0.5)
    if seen_x + seen_y - noise > most:
        in_x = seen_x * constants.L_y * size_y >= seen_y * constants.L_x * size_x
        _report("L_x", constants, seen_x, size_x) if in_x else _report("L_y", constants, seen_y, size_y)
    if seen_x + seen_y + noise < least:
        in_x = seen_x * constants.mu_y * size_y <= seen_y * constants.mu_x * size_x
        _report("mu_x", constants, seen_x, size_x) if in_x else _report("mu_y", constants, seen_y, size_y)


def check_y_secant(constants: Constants, seen: float, size: float, noise: Callable[[], float]) -> None:
    """The same between two points with one x: μ_y|dy|² <= <d∇ᵧf, dy> = ``seen`` <= L_y|dy|².

    ``noise()`` is the rounding error to expect in ∇ᵧf, asked for only where it matters.
    """
    most, least = (1 + _TOLERANCE) * constants.L_y * size, (1 - _TOLERANCE) * constants.mu_y * size
    if least <= seen <= most:
        return
    slack = 4.0 * noise() * size**0.5
    if seen - slack > most:
        _report("L_y", constants, seen, size)
    if seen + slack < least:
        _report("mu_y", constants, seen, size)


def _report(name: str, constants: Constants, seen: float, size: float) -> NoReturn:
    stated, observed = getattr(constants, name), seen / size
    side, fix = ("above", "larger") if name.startswith("L") else ("below", "smaller")
    raise ConstantsError(
        f"{name} = {stated:g} is wrong: between two points of this run f has curvature {observed:g}, {side} it; "
        f"give a {fix} {name}, or check that the gradients belong to f"
    )

"""Tries a loss of one's own at some margins: before a run, and more thoroughly for check()."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minmin.core.arrays import Array, array_eps, namespace_of, to_like, to_numpy
from minmin.errors import InputError, UserCodeError
from minmin.problems.linear.losses.base import Loss

_MOST_ROWS = 100
_MARGINS = (0.0, -1.0, 1.0)
"""Where a loss is tried before a run."""
_SIZES = (0.0, 0.1, 1.0, 10.0)
"""How far from zero margins are when M is measured."""
_DISTANCES = (0.1, 1.0)


def try_loss(loss: Loss, target: Array) -> None:
    """Raise if a loss cannot be called, returns no number per row, or is seen not to be convex."""
    rows = target[: min(_MOST_ROWS, target.shape[0])]
    for margin in _MARGINS:
        margins = namespace_of(rows).full_like(rows, margin)
        shared = _call(loss, "prepare", margins, rows)
        for name in ("value", "slope", "curvature"):
            returned = _call(loss, name, margins, rows, shared)
            if getattr(returned, "shape", ()) != margins.shape:
                raise InputError(
                    f"{_name(loss, name)} returned shape {tuple(getattr(returned, 'shape', ()))} for margins of shape "
                    f"{tuple(margins.shape)}; return one number per row, not a sum"
                )
        curvature = to_numpy(returned)  # the last of the three
        if (curvature < -math.sqrt(array_eps(rows)) * np.abs(curvature).max()).any():  # not by rounding
            row = int(np.argmin(curvature))
            raise InputError(
                f"the loss {type(loss).__name__} is not convex: its curvature is {curvature[row]:.3g} at the margin "
                f"{margin:g} for the target {to_numpy(rows)[row]:g}; correct curvature, or take a convex loss"
            )


def measure_self_concordance(loss: Loss, target: Array, rng: np.random.Generator) -> float:
    """The largest |log ℓ''(m + v) - log ℓ''(m)|/|v| of some rows: no M below it is right."""
    rows = target[: min(_MOST_ROWS, target.shape[0])]
    most = 0.0
    for size in _SIZES:
        margins = to_like(size * rng.standard_normal(rows.shape[0]), rows)
        here = _curvature(loss, margins, rows)
        for distance in _DISTANCES:
            there = _curvature(loss, margins + distance, rows)
            # A curvature far below the others may be a rounding error, as in 1 - tanh².
            clear = np.minimum(here, there) > math.sqrt(array_eps(rows)) * max(here.max(), there.max())
            changes = np.abs(np.log(there[clear]) - np.log(here[clear])) / distance
            most = max(most, *changes.tolist())
    return most


def _curvature(loss: Loss, margins: Array, target: Array) -> Any:
    return to_numpy(loss.curvature(margins, target, loss.prepare(margins, target))).astype(np.float64)


def _call(loss: Loss, name: str, *args: Array) -> Any:
    try:
        with np.errstate(all="ignore"):
            return getattr(loss, name)(*args)
    except Exception as error:
        given = "margins, target" if name == "prepare" else "margins, target, shared"
        raise UserCodeError(f"{_name(loss, name)}({given}) raised {type(error).__name__}: {error}") from error


def _name(loss: Loss, method: str) -> str:
    return f"{type(loss).__name__}.{method}"

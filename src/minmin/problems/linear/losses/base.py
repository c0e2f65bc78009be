"""Loss: what a linear model needs to know of the loss of a sample, its second derivative, and trials of one's own."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from minmin.core.arrays import Array, array_eps, inner, largest, namespace_of, to_like, to_numpy
from minmin.core.second_order import Gauge
from minmin.core.tree import identify
from minmin.core.vectors import dot
from minmin.errors import InputError, UserCodeError
from minmin.numerics.row_pieces import Matrix
from minmin.problems.linear.designs import Design, select
from minmin.problems.linear.penalties import Penalty

FAR = 1.0
"""Margins farther from zero than this get the curvature of a parabola, since the loss's own curvature may vanish. At
this distance the parabola of the logistic loss has 1.18 times the curvature of the loss, so the two join almost
smoothly."""
_TRIED_ROWS = 100
_TRIED_MARGINS = (0.0, -1.0, 1.0)
"""Where a loss is tried before a run."""


class DualPoint(NamedTuple):
    """The dual point θ = c·w(ℓ' + ℓ''u) of all samples, or that there is none.

    Attributes
    ----------
    gap : float
        At least Σ w[ℓ(m) + ℓ*(θ/w) - m·θ/w]; infinite if θ may lie outside of the domain of ℓ*.
    scale : float
        c, at most 1.
    cross : float
        A further change of length δ, in the norm √<u, hu>, adds δ√cross to the gap, beside δ².
    """

    gap: float
    scale: float = 1.0
    cross: float = 0.0


class MarginHessian(ABC):
    """The second derivative of a weighted mean loss with respect to all margins: a positive semidefinite operator.

    Attributes
    ----------
    diagonal : array
        In the shape of the margins.
    """

    __slots__ = ("diagonal",)

    def __init__(self, diagonal: Array):
        self.diagonal = diagonal

    @property
    def for_rows(self) -> Any:
        """What stands for this operator in functions that ``minmin.core.rows`` calls."""
        return self

    @abstractmethod
    def times(self, change: Array) -> Array:
        """Its product with a change of all margins."""

    @abstractmethod
    def gram(self, design: Design) -> Array:
        """AᵀhA as a dense matrix, h this operator and A the design of a block."""

    def of_rows(self, rows: Matrix, factors: Matrix) -> MarginHessian | None:
        """This operator for some rows, which may be repeated, times one factor per row; None if that is not known."""
        return None

    def sum_of_rows(self) -> Array | None:
        """The sum of all samples' matrices, K × K for a loss with K outputs; None if K is 1, or if it is not known."""
        return None


class DiagonalHessian(MarginHessian):
    """One margin per sample: a diagonal matrix."""

    __slots__ = ()

    def times(self, change: Array) -> Array:
        return self.diagonal * change

    def gram(self, design: Design) -> Array:
        return design.gram(self.diagonal)

    def of_rows(self, rows: Matrix, factors: Matrix) -> DiagonalHessian:
        return DiagonalHessian(select(self.diagonal, rows) * to_like(factors, self.diagonal))


class Loss(ABC):
    """A convex loss ℓ(margin, target) of every sample.

    Margins have the shape (n,), or (n, K) for a loss with K outputs per sample. A loss of one margin per sample defines
    its value and two derivatives, entry by entry; the rest has defaults that are safe for every convex loss. The
    sharpest bound needs :attr:`self_concordance`; a proof that f has no minimum needs :meth:`rises` and :meth:`falls`.

    Attributes
    ----------
    name : str
    outputs : int
        The number of margins per sample.
    max_curvature, min_curvature : float
        sup and inf of ℓ''; infinite and zero if they are not known.
    self_concordance : float
        M with |ℓ'''| <= M·ℓ'' everywhere; infinite if there is none, or if it is not known. With it, bounds are proved
        by duality: ℓ(m) + ℓ*(s) - m·s <= ℓ''(m)·u² for s = ℓ'(m) + ℓ''(m)·u and M|u| <= 1. This is so since ℓ'' falls
        by a factor exp(-M|v|) at most over a distance v. So the left side is at most ℓ''/M²·((1 - r)·log(1 - r) + r)
        with r = M|u|, and log(1 - r) <= -r.
    reaches_infimum : bool
        Whether ℓ reaches its infimum at some margin, for every target.
    unit_dispersion : bool
        Whether -ℓ is a log-likelihood, up to a constant. If not, standard errors estimate a factor, the dispersion.
    """

    name: str = "custom"
    outputs: int = 1
    max_curvature: float = math.inf
    min_curvature: float = 0.0
    self_concordance: float = math.inf
    reaches_infimum: bool = False
    unit_dispersion: bool = False

    @property
    def for_rows(self) -> Any:
        """What stands for this loss in functions that ``minmin.core.rows`` calls."""
        return self

    def check_target(self, target: Array) -> Array:
        """The target in the form that the formulas use; an error says which entry is out of range."""
        return target

    def prepare(self, margins: Array, target: Array) -> Array:
        """What value and derivatives have in common; computed once, and passed to them as ``shared``."""
        return margins

    @abstractmethod
    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        """ℓ of every sample."""

    def mean(self, margins: Array, target: Array, shared: Array, weights: Array) -> float:
        """The weighted mean of ℓ; the weights sum to one."""
        return dot(weights, self.value(margins, target, shared))

    def infimum(self, target: Array) -> Array | None:
        """The infimum of ℓ over all margins, of every sample; None if it is not known."""
        return None

    @abstractmethod
    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        """ℓ' of every margin."""

    @abstractmethod
    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        """ℓ'' of every margin."""

    def pearson_squares(self, margins: Array, target: Array, shared: Array) -> Array | None:
        """The squared error of every sample over the variance that a model of unit dispersion predicts.

        Their mean estimates the dispersion. None if there is no such model.
        """
        return None

    def hessian(self, margins: Array, target: Array, shared: Array, weights: Array) -> MarginHessian:
        """The second derivative of the weighted mean loss, or a little more if :meth:`find_dual_point` allows it."""
        return DiagonalHessian(weights * self.curvature(margins, target, shared))

    def surrogate_hessian(
        self, margins: Array, target: Array, slope: Array, weights: Array, near: MarginHessian
    ) -> MarginHessian | None:
        """The second derivative of parabolas that have the slopes of the loss at these margins and at margin zero.

        It does not vanish far from zero. ``near`` is the second derivative of the loss; the surrogate is None if that
        never vanishes. For the logistic loss the parabola lies above the loss (Jaakkola and Jordan, 2000), so a step
        never raises f.
        """
        if self.min_curvature > 0.0:
            return None
        xp = namespace_of(margins)
        zero = xp.zeros_like(margins)
        change = slope - self.slope(zero, target, self.prepare(zero, target))
        far = xp.abs(margins) > FAR
        chord = weights * change / xp.where(far, margins, xp.ones_like(zero))
        return DiagonalHessian(xp.where(far, xp.maximum(near.diagonal, chord), near.diagonal))

    def find_dual_point(
        self,
        change: Array,
        margins: Array,
        target: Array,
        weights: Array,
        near: MarginHessian,
        left: float,
        most_scale: float = 1.0,
    ) -> DualPoint:
        """The dual point for these changes u of the margins.

        ``near`` is h, the second derivative of the weighted mean loss. A further change, which is not known but at most
        ``left`` in the norm √<u, hu>, must not lead out of the domain of ℓ*, either. ``most_scale`` is the largest c
        that other samples allow; a loss whose c is always 1 need not look at it.
        """
        in_domain = self.is_in_dual_domain(change, margins, target, near)
        return DualPoint(max(inner(near.times(change), change), 0.0) if in_domain else math.inf)

    def is_in_dual_domain(self, change: Array, margins: Array, target: Array, near: MarginHessian) -> bool:
        """Whether ℓ(m) + ℓ*(s) - <m, s> <= <u, ℓ''u> for every sample, s = ℓ' + ℓ''u and u the change."""
        most = largest(change)
        return most == 0.0 or self.self_concordance * most <= 1.0

    def distance(self, change: Array, margins: Array, target: Array) -> float:
        """The length of a change of all margins that ends at these margins.

        Up to length 1 the second derivative changes by a factor e at most. By default this is M times the largest
        change of a margin. If M is not known, 1 takes its place.
        """
        known = math.isfinite(self.self_concordance)
        return (self.self_concordance if known else 1.0) * largest(change)

    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        """Whether some sample's loss rises eventually if its margins keep changing in this direction.

        Changes of at most ``slack`` count as zero.
        """
        return True

    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        """Whether some sample's loss keeps falling in this direction; called only if none rises."""
        return False

    def identity(self) -> Iterable[Any]:
        """What distinguishes this loss from others in checkpoints: its type and its parameters."""
        return [type(self).__module__, type(self).__qualname__, *identify(vars(self))]

    def gauge(self, penalty: Penalty) -> Gauge | None:
        """Directions of coefficients with these penalties along which f never changes; None if there are none."""
        return None


def require_targets(allowed: Array, target: Array, wanted: str) -> Array:
    """The target; an error names the first one that is not allowed."""
    wrong = np.flatnonzero(~to_numpy(allowed))
    if wrong.size:
        raise InputError(f"target[{wrong[0]}] = {to_numpy(target)[wrong[0]]:g}: {wanted}")
    return target


def check_labels(target: Array, name: str) -> Array:
    """Labels of two classes, as -1 and 1."""
    values = to_numpy(target)
    labels = set(np.unique(values).tolist())
    if labels <= {-1.0, 1.0}:
        return target
    if labels <= {0.0, 1.0}:
        return to_like(2.0 * values - 1.0, target)
    other = ~np.isin(values, [-1.0, 0.0, 1.0])
    allowed = ~other if other.any() else values != 0.0
    return require_targets(allowed, target, f"the {name} loss takes labels in {{-1, 1}} or {{0, 1}}")


def try_loss(loss: Loss, target: Array) -> None:
    """Raise if a loss cannot be called, returns no number per row, or is seen not to be convex."""
    rows = target[: min(_TRIED_ROWS, target.shape[0])]
    for margin in _TRIED_MARGINS:
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


def _call(loss: Loss, name: str, *args: Array) -> Any:
    try:
        with np.errstate(all="ignore"):
            return getattr(loss, name)(*args)
    except Exception as error:
        given = "margins, target" if name == "prepare" else "margins, target, shared"
        raise UserCodeError(f"{_name(loss, name)}({given}) raised {type(error).__name__}: {error}") from error


def _name(loss: Loss, method: str) -> str:
    return f"{type(loss).__name__}.{method}"

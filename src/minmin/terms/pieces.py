"""Pieces: where terms are smooth, for Newton's method."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minmin.core.arrays import Array, identity, in_double, namespace_of, to_like
from minmin.core.blocks import join
from minmin.core.term import Piece
from minmin.core.vectors import dot
from minmin.terms.elementwise import clip


@dataclass(frozen=True)
class Interval(Piece):
    """The points between two bounds, for terms that are sums over coordinates."""

    lower: Array
    upper: Array
    gradient: Array
    diagonal: Array

    @property
    def free(self) -> Array:
        return self.lower < self.upper

    def times(self, d: Array) -> Array:
        return self.diagonal * d

    def hessian(self) -> Array:
        return identity(self.diagonal.shape[0], self.diagonal) * self.diagonal

    def rise(self, d: Array) -> float:
        return dot(self.gradient + 0.5 * self.diagonal * d, d)

    def hold(self, v: Array) -> Array:
        return clip(v, self.lower, self.upper)

    def scaled(self, factor: float, unit: float) -> Interval:
        gradient, diagonal = factor / unit * self.gradient, factor / unit**2 * self.diagonal
        return Interval(unit * self.lower, unit * self.upper, gradient, diagonal)


def make_orthant(v: Array, gradient: Array, weight: float | Array, square_weight: float | Array = 0.0) -> Interval:
    """The piece of Σ weight_i |v_i| + ½ Σ square_weight_i v_i²: one sign per coordinate.

    A coordinate at zero gets the sign to which f falls more steeply than the term rises, or stays.
    """
    xp, zero = namespace_of(v), 0.0 * v
    sign = xp.where(v != 0.0, xp.sign(v), xp.where(abs(gradient) > weight, -xp.sign(gradient), zero))
    has_kink = weight + zero > 0.0
    lower = xp.where(has_kink & (sign >= 0.0), zero, zero - math.inf)
    upper = xp.where(has_kink & (sign <= 0.0), zero, zero + math.inf)
    diagonal = xp.where(lower < upper, square_weight + zero, zero)
    return Interval(lower, upper, weight * sign + square_weight * v, diagonal)


@dataclass(frozen=True)
class GroupPiece(Piece):
    """Groups that are not zero, for Σ_g weight_g |v_g|. All arrays have one number per coordinate.

    Attributes
    ----------
    prototype : array
        Of the library and on the device of v.
    labels : NumPy array of int
        The number of the group.
    weight : NumPy array
        That of the group; 0 in no group.
    length : NumPy array
        |v_g|.
    unit : NumPy array
        v_g/|v_g|. For a group at zero that is to move, the direction in which f falls most steeply; 0 if it stays.
    """

    prototype: Array
    labels: np.ndarray[Any, Any]
    weight: np.ndarray[Any, Any]
    length: np.ndarray[Any, Any]
    unit: np.ndarray[Any, Any]

    @property
    def free(self) -> Array:
        mask = (self.weight == 0.0) | (self._sum(self.unit * self.unit) > 0.0)
        return self._copy(mask * 1.0) > 0.0

    @property
    def gradient(self) -> Array:
        return self._copy(self.weight * self.unit)

    @property
    def diagonal(self) -> Array:
        return self._copy(self._curvature * (1.0 - self.unit * self.unit))

    @property
    def _curvature(self) -> np.ndarray[Any, Any]:
        """Across the direction of v; a group at zero has none."""
        zero = np.zeros_like(self.weight)
        return np.asarray(np.divide(self.weight, self.length, out=zero, where=self.length > 0.0))

    def times(self, d: Array) -> Array:
        step = in_double(d)
        return self._copy(self._curvature * (step - self.unit * self._sum(self.unit * step)))

    def hessian(self) -> Array:
        same = self.labels[:, None] == self.labels
        return self._copy(np.diag(self._curvature) - same * np.outer(self._curvature * self.unit, self.unit))

    def rise(self, d: Array) -> float:
        """Σ w (|v + d| - |v|), with |a| - |b| = <a - b, a + b>/(|a| + |b|)."""
        step, v = in_double(d), self.length * self.unit
        lengths = np.sqrt(self._sum((v + step) ** 2)) + self.length
        return float(np.sum(self.weight * step * (2.0 * v + step) / np.where(lengths > 0.0, lengths, 1.0)))

    def hold(self, v: Array) -> Array:
        kept = (self.weight == 0.0) | (self._sum(self.unit * in_double(v)) > 0.0)
        return v * self._copy(kept * 1.0)

    def scaled(self, factor: float, unit: float) -> GroupPiece:
        return replace(self, weight=factor / unit * self.weight, length=unit * self.length)

    def _sum(self, v: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The sum over the group of every coordinate."""
        return np.asarray(np.bincount(self.labels, weights=v)[self.labels])

    def _copy(self, array: np.ndarray[Any, Any]) -> Array:
        return to_like(array, self.prototype)


def make_free(v: Array) -> Interval:
    """The piece of a term that is zero."""
    zero = 0.0 * v
    return Interval(zero - math.inf, zero + math.inf, zero, zero)


@dataclass(frozen=True)
class JoinedPiece(Piece):
    """Pieces of consecutive parts of one array.

    Attributes
    ----------
    each : tuple of Piece
    """

    each: tuple[Piece, ...]

    @property
    def free(self) -> Array:
        return join([piece.free for piece in self.each])

    @property
    def gradient(self) -> Array:
        return join([piece.gradient for piece in self.each])

    @property
    def diagonal(self) -> Array:
        return join([piece.diagonal for piece in self.each])

    def times(self, d: Array) -> Array:
        return join([piece.times(part) for piece, part in self._pair(d)])

    def hessian(self) -> Array:
        columns = identity(self.gradient.shape[0], self.gradient)
        return namespace_of(columns).stack([self.times(columns[i, :]) for i in range(columns.shape[0])])

    def rise(self, d: Array) -> float:
        return sum(piece.rise(part) for piece, part in self._pair(d))

    def hold(self, v: Array) -> Array:
        return join([piece.hold(part) for piece, part in self._pair(v)])

    def scaled(self, factor: float, unit: float) -> JoinedPiece:
        return JoinedPiece(tuple(piece.scaled(factor, unit) for piece in self.each))

    def _pair(self, v: Array) -> Iterator[tuple[Piece, Array]]:
        """Every piece with its part of a vector."""
        start = 0
        for piece in self.each:
            size = piece.gradient.shape[0]
            yield piece, v[start : start + size]
            start += size

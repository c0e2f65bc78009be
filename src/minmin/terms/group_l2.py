"""GroupL2: the sum of the lengths of groups, which makes whole groups exactly zero."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import device

from minmin.core.arrays import Array, in_double, largest, namespace_of, sum_rows, to_like, to_numpy
from minmin.core.term import Change, Piece, Term
from minmin.errors import InputError
from minmin.terms.elementwise import all_true, find_shift, largest_scale, lower_scale, weighted_sum
from minmin.terms.groups import make_groups
from minmin.terms.parameters import Parameter, kind_of, make_weight
from minmin.terms.pieces import GroupPiece

_LEAST, _MOST = 1e-15, 1e15
"""Between these, the squares of a vector's largest entry neither underflow nor overflow in single precision."""


class _Layout(NamedTuple):
    """Where the groups are, for vectors of one length, library and device; groups are ordered by their size."""

    labels: Array
    """The number of the group of every coordinate; the number after the last for coordinates in no group."""
    free: Array
    """The coordinates in no group."""
    tables: list[Array]
    """For every size of a group, a table: the coordinates of a group in every row."""


class GroupL2(Term):
    """t(v) = Σ_g w_g |v_g|, the sum of the lengths of groups of coordinates: the penalty of the group lasso.

    The proximal map shortens every v_g by step·w_g, and makes shorter ones 0. With a step per coordinate, v_i is
    multiplied by r/(r + step_i·w_g), where r is the length of the result.
    The conjugate is 0 where |s_g| <= w_g for all groups and s is 0 outside of them, and infinite elsewhere.

    Parameters
    ----------
    weight : float or array
        w: one number for all groups, or one per group; finite and not negative.
    groups : sequence of sequences of int
        The coordinates of every group. No coordinate is in two groups; those in none are free.
    """

    takes_steps = has_pieces = True

    def __init__(self, weight: Any, groups: Sequence[Sequence[int]]):
        self.groups = make_groups(groups)
        given = make_weight(weight, "weight", each="group")
        self.weight = given.value
        if given.size is not None and given.size != len(self.groups):
            raise InputError(
                f"weight has {given.size} numbers for {len(self.groups)} groups; give one number, or one per group"
            )
        order = np.argsort([group.size for group in self.groups], kind="stable")
        self._sorted = [self.groups[i] for i in order]
        self._weight = given if isinstance(given.value, float) else Parameter(given.value[order])
        self._layouts: dict[Hashable, _Layout] = {}

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_layouts": {}}  # without the copies, which may be on an accelerator

    def value(self, v: Array) -> float:
        return weighted_sum(self._weight.like(v), self._norms(v))

    def change(self, old: Array, new: Array) -> Change:
        """With |a| - |b| = <a - b, a + b>/(|a| + |b|) for every group."""
        xp, moved = namespace_of(old), new - old
        lengths = self._norms(new) + self._norms(old)
        differences = self._sums(moved * (new + old)) / xp.where(lengths > 0.0, lengths, xp.ones_like(lengths))
        weight = self._weight.like(old)
        return Change(weighted_sum(weight, differences), weighted_sum(weight, self._norms(moved)))

    def prox(self, v: Array, step: float) -> Array:
        if getattr(step, "shape", ()):
            labels, weights = to_numpy(self._layout(v).labels), np.resize(self._weight.value, len(self.groups))
            d = np.maximum(in_double(step) * np.append(weights, 0.0)[labels], 1e-60)  # 0 is free, and not to divide by
            lengths = find_shift(in_double(v), d, 1.0, labels)
            return to_like(in_double(v) * (lengths / (lengths + d)), v)
        xp, norms = namespace_of(v), self._norms(v)
        threshold = float(step) * self._weight.like(v)
        longer = norms > threshold
        factors = xp.where(longer, 1.0 - threshold / xp.where(longer, norms, 1.0), 0.0)
        one = xp.ones(1, dtype=v.dtype, device=device(v))
        return v * xp.take(xp.concat([factors, one]), self._layout(v).labels, axis=0)

    def piece(self, v: Array, gradient: Array) -> Piece:
        labels, at, slope = to_numpy(self._layout(v).labels), in_double(v), in_double(gradient)
        weight = np.append(np.broadcast_to(self._weight.value, len(self.groups)), 0.0)[labels]
        length, steepness = (np.sqrt(np.bincount(labels, weights=u * u)[labels]) for u in (at, slope))
        direction, size = (np.where(length > 0.0, *pair) for pair in ((at, -slope), (length, steepness)))
        moves = (weight > 0.0) & ((length > 0.0) | (steepness > weight))
        unit = np.divide(direction, size, out=np.zeros_like(at), where=moves)
        return GroupPiece(v, labels, weight, length, unit)

    def conjugate(self, s: Array) -> float:
        inside = self._is_zero_outside(s) and all_true(self._norms(s) <= self._weight.like(s))
        return 0.0 if inside else math.inf

    def dual_scale(self, s: Array) -> float:
        if not self._is_zero_outside(s):
            return 0.0
        return lower_scale(self, s, largest_scale(self._norms(s), self._weight.like(s)))

    def dual_radius(self, s: Array) -> float:
        covered = sum(group.size for group in self.groups)
        return self._weight.least if covered == s.shape[0] else 0.0

    def project(self, v: Array) -> Array:
        return v

    def check_size(self, size: int, name: str) -> None:
        for number, group in enumerate(self.groups):
            if group.max() >= size:
                raise InputError(
                    f"{name}: groups[{number}] holds index {group.max()}, but the block has {size} coordinates, "
                    "counted from 0"
                )

    def _norms(self, v: Array) -> Array:
        """The length of every group, in the order of their sizes."""
        peak = largest(v)
        scale = peak if math.isfinite(peak) and peak > 0.0 and not _LEAST < peak < _MOST else 1.0
        if scale != 1.0:
            v = v / scale
        return scale * namespace_of(v).sqrt(self._sums(v * v))

    def _sums(self, v: Array) -> Array:
        """The sum of every group, in the order of their sizes."""
        layout, xp = self._layout(v), namespace_of(v)
        if type(v) is np.ndarray:
            sums = np.bincount(layout.labels, weights=v, minlength=len(self.groups))[: len(self.groups)]
            return np.asarray(sums, dtype=v.dtype)
        rows = [xp.reshape(xp.take(v, xp.reshape(t, (-1,)), axis=0), tuple(t.shape)) for t in layout.tables]
        return xp.concat([sum_rows(row) for row in rows])

    def _is_zero_outside(self, s: Array) -> bool:
        return all_true(namespace_of(s).take(s, self._layout(s).free, axis=0) == 0.0)

    def _layout(self, v: Array) -> _Layout:
        key = kind_of(v), v.shape[0]
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._layouts[key] = self._make_layout(v)
        return layout

    def _make_layout(self, v: Array) -> _Layout:
        labels = np.full(v.shape[0], len(self._sorted))
        for number, group in enumerate(self._sorted):
            labels[group] = number
        sizes = np.asarray([group.size for group in self._sorted])
        ends = [*np.flatnonzero(np.diff(sizes)) + 1, len(sizes)]
        starts = [0, *ends[:-1]]
        tables = [np.stack(self._sorted[a:b]) for a, b in zip(starts, ends, strict=True)]
        free = np.flatnonzero(labels == len(self._sorted))
        return _Layout(_indices(labels, v), _indices(free, v), [_indices(table, v) for table in tables])


def _indices(array: np.ndarray[Any, Any], prototype: Array) -> Array:
    """Indices in the library and on the device of ``prototype``."""
    return array if type(prototype) is np.ndarray else namespace_of(prototype).asarray(array, device=device(prototype))

"""MixedDesign: designs side by side, such as numbers and categories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse

from minmin.core.arrays import Array, namespace_of, to_like, to_numpy
from minmin.errors import InputError
from minmin.numerics.row_pieces import Matrix, gram
from minmin.problems.linear.checked_designs import make_design
from minmin.problems.linear.designs import DenseDesign, Design, piece_rows, select

_COLUMNS_AT_A_TIME = 8
"""How many columns of a dense part are weighted at a time to compute its products with other parts."""


class MixedDesign(Design):
    """[A_1 A_2 ...] for designs A_1, A_2, ... with as many rows.

    Parameters
    ----------
    parts : sequence of arrays, scipy.sparse or Design
        All of one array library (scipy.sparse and categories count as NumPy). They are converted to the dtype of the
        first.
    """

    is_in_memory = True

    def __init__(self, parts: Sequence[Any]):
        designs = [make_design(part, f"parts[{number}]") for number, part in enumerate(parts)]
        if not designs:
            raise InputError("parts is empty; give at least one design")
        rows = designs[0].shape[0]
        for number, design in enumerate(designs):
            if design.shape[0] != rows:
                raise InputError(f"parts[0] has {rows} rows and parts[{number}] has {design.shape[0]}; give as many")
        prototype = designs[0].prototype
        self.parts = [
            design if design.prototype.dtype == prototype.dtype else design.to_like(prototype, f"parts[{number}]")
            for number, design in enumerate(designs)
        ]
        self._starts = np.concatenate([[0], np.cumsum([design.shape[1] for design in designs])])
        self.shape = (rows, int(self._starts[-1]))
        self.is_dense = all(part.is_dense for part in self.parts)

    @property
    def prototype(self) -> Array:
        return self.parts[0].prototype

    def _slices(self) -> Iterator[tuple[Design, slice]]:
        for part, start, stop in zip(self.parts, self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True):
            yield part, slice(start, stop)

    def image(self, v: Array) -> Array:
        return reduce(add, (part.image(v[here, ...]) for part, here in self._slices()))

    def adjoint(self, r: Array) -> Array:
        return namespace_of(r).concat([part.adjoint(r) for part in self.parts])

    def gram(self, weights: Array, rows: Matrix | None = None) -> Array:
        if rows is not None:
            return DenseDesign(self.sample(rows)).gram(weights)
        xp = namespace_of(weights)
        blocks: list[list[Array]] = [[] for _ in self.parts]
        for i, part in enumerate(self.parts):
            for j, other in enumerate(self.parts):
                if j < i:
                    blocks[i].append(blocks[j][i].T)
                else:
                    blocks[i].append(part.gram(weights) if i == j else _cross_gram(part, other, weights))
        return xp.concat([xp.concat(of_part, axis=1) for of_part in blocks], axis=0)

    def column_squares(self, r: Array) -> Array:
        return namespace_of(r).concat([part.column_squares(r) for part in self.parts])

    def row_squares(self, v: Array) -> Array:
        return reduce(add, (part.row_squares(v[here, ...]) for part, here in self._slices()))

    @cached_property
    def row_norms_squared(self) -> Array:
        return reduce(add, (part.row_norms_squared for part in self.parts))

    @property
    def column_counts(self) -> Array:
        return np.concatenate([part.column_counts for part in self.parts])

    def row_counts(self, wanted: Matrix) -> Array:
        return reduce(add, (part.row_counts(wanted[here]) for part, here in self._slices()))

    def rows(self, chosen: Any) -> MixedDesign:
        """The design with only these rows."""
        return MixedDesign([part.rows(chosen) for part in self.parts])

    def columns(self, chosen: Matrix) -> Design:
        """Columns that follow each other and are of one part stay one part."""
        chosen = np.asarray(chosen)
        owners = np.searchsorted(self._starts, chosen, side="right") - 1
        runs = np.split(np.arange(len(chosen)), np.flatnonzero(np.diff(owners)) + 1)
        some = [self.parts[owners[run[0]]].columns(chosen[run] - self._starts[owners[run[0]]]) for run in runs]
        return some[0] if len(some) == 1 else MixedDesign(some)

    def dense_pieces(self) -> Iterator[tuple[slice, Array]]:
        for piece in piece_rows(self.shape[0]):
            yield piece, self.sample(np.arange(piece.start, piece.stop))

    def sample(self, rows: Matrix, columns: Matrix | None = None) -> Array:
        xp = namespace_of(self.prototype)
        if columns is None:
            return xp.concat([part.sample(rows) for part in self.parts], axis=1)
        owners = np.searchsorted(self._starts, columns, side="right") - 1
        some = [
            part.sample(rows, columns[owners == number] - here.start)
            for number, (part, here) in enumerate(self._slices())
            if (owners == number).any()
        ]
        by_part = np.argsort(owners, kind="stable")
        return select(xp.concat(some, axis=1), np.argsort(by_part), axis=1)

    @property
    def stored(self) -> int:
        return sum(part.stored for part in self.parts)

    def to_like(self, prototype: Array, name: str) -> MixedDesign:
        return MixedDesign([part.to_like(prototype, name) for part in self.parts])

    def to_float64(self) -> Any:
        return scipy.sparse.hstack([scipy.sparse.csr_array(part.to_float64()) for part in self.parts], format="csr")

    def arrays(self) -> tuple[Array, ...]:
        return tuple(array for part in self.parts for array in part.arrays())


def _cross_gram(left: Design, right: Design, weights: Array) -> Array:
    """Aᵀ diag(weights) B for the designs A and B."""
    if isinstance(right, DenseDesign):
        tables = [
            left.adjoint(right.matrix[:, start : start + _COLUMNS_AT_A_TIME] * weights[:, None])
            for start in range(0, right.shape[1], _COLUMNS_AT_A_TIME)
        ]
        return namespace_of(weights).concat(tables, axis=1)
    if isinstance(left, DenseDesign):
        return _cross_gram(right, left, weights).T
    product = gram(left.to_float64(), to_numpy(weights).astype(np.float64), right.to_float64())
    return to_like(product, weights)

"""The design of one block with the penalties of its columns; products with the design are counted."""

from __future__ import annotations

import math
from copy import copy
from functools import cached_property

import numpy as np

from minmin.core.arrays import Array, identity, largest, reshape, to_like, to_numpy
from minmin.core.counting import UNCOUNTED, Tally
from minmin.numerics.row_pieces import Matrix
from minmin.problems.linear.designs import Design, SomeColumns, select
from minmin.problems.linear.losses.base import MarginHessian
from minmin.problems.linear.penalties import Penalty, repeat

_ALIKE = 4.0
"""Columns whose sizes differ by at most this factor keep their units. Measured: docs/benchmarks/tuning.md."""


class PenalizedDesign:
    """One block of a linear model: margins A·v and the penalty ½ Σ alpha_j v_j².

    Coefficients are one vector of length d·K, with the K coefficients of a column next to each other. Margins have
    shape (n,), or (n, K) if the loss has K > 1 outputs.

    Parameters
    ----------
    design : Design
    penalty : Penalty
        One number, or one per coefficient.
    outputs : int
        K.
    """

    def __init__(self, design: Design, penalty: Penalty, outputs: int):
        self.design = design
        self.penalty = penalty
        self.outputs = outputs
        self._tally: Tally = UNCOUNTED
        self._kind = "passes"
        self._derived = _Derived(design, penalty, outputs)

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return self.outputs * self.design.shape[1]

    @property
    def is_zero(self) -> bool:
        """Whether the design stores no number, so that its coefficients do not matter."""
        return self.design.stored == 0

    def counted(self, tally: Tally, kind: str) -> PenalizedDesign:
        """A copy that counts every product with the design as this kind."""
        twin = copy(self)
        twin._tally, twin._kind = tally, kind
        return twin

    def with_penalty(self, penalty: Penalty) -> PenalizedDesign:
        """The same design with another penalty."""
        return PenalizedDesign(self.design, penalty, self.outputs).counted(self._tally, self._kind)

    def to_like(self, prototype: Array, name: str) -> PenalizedDesign:
        """A copy in the library, dtype and device of ``prototype``."""
        design, penalty = self.design.to_like(prototype, name), self.penalty.to_like(prototype)
        return PenalizedDesign(design, penalty, self.outputs).counted(self._tally, self._kind)

    def image(self, v: Array) -> Array:
        """The margins A·v."""
        self._tally.add(self._kind)
        return self.design.image(self._table(v))

    def margins(self, v: Array) -> Array:
        """The margins A·v; without a product if v is zero, as most starts are."""
        if largest(v) > 0.0:
            return self.image(v)
        return self.design.zero_image(self._table(v))

    def adjoint(self, r: Array) -> Array:
        """Aᵀ·r, as a vector of coefficients."""
        self._tally.add(self._kind)
        return self._vector(self.design.adjoint(r))

    def gradient(self, residual: Array, v: Array) -> Array:
        """Aᵀ·residual plus the penalty's gradient at v."""
        return self.adjoint(residual) + self.penalty.alpha * v

    def penalty_value(self, v: Array) -> float:
        """½ Σ alpha_j v_j²."""
        return 0.5 * self.penalty.product(v, v)

    def hessian(self, of_margins: MarginHessian) -> Array:
        """AᵀhA + diag(alpha) as a dense matrix, where h is ``of_margins``."""
        of_penalty = self.penalty.alpha * identity(self.size, self.design.prototype)
        return of_penalty if self.is_zero else of_margins.gram(self.design) + of_penalty

    def hessian_diagonal(self, of_margins: MarginHessian) -> Array:
        """The diagonal of AᵀhA + diag(alpha)."""
        return self.squares(of_margins.diagonal) + self.penalty.alpha

    def squares(self, weights: Array) -> Array:
        """Σ_i w_i A_ij² for every coefficient, with one weight per margin."""
        return self._vector(self.column_squares(weights))

    def count_product(self) -> None:
        """Count work on the design that takes as long as a product."""
        self._tally.add(self._kind)

    def column_sizes(self, weights: Array) -> Array:
        """√Σ_i w_i A_ij² for every coefficient."""
        return repeat(self.column_squares(weights), self.outputs) ** 0.5

    def column_squares(self, weights: Array) -> Array:
        """Σ_i w_i A_ij² for every column."""
        self._tally.add(self._kind)
        return self.design.column_squares(weights)

    def row_squares(self, v: Array) -> Array:
        """Σ_j A_ij² v_j² for every margin."""
        self._tally.add(self._kind)
        return self.design.row_squares(self._table(v * v))

    def row_norms_squared(self) -> Array:
        """|A_i|² for every row; computed once, and counted once per run."""
        self._tally.add_setup(self._kind.replace("passes", "row_norms"), self._kind)
        return self.design.row_norms_squared

    def column_norms(self) -> Array:
        """√Σ_i A_ij² for every coefficient; computed once, and counted once per run."""
        self._tally.add_setup(self._kind.replace("passes", "column_norms"), self._kind)
        return repeat(self._derived.column_norms, self.outputs)

    def units(self) -> Array | float:
        """Units of the coefficients in which f has curvatures of about the same size; 1.0 if it has them anyway."""
        self._tally.add_setup(self._kind.replace("passes", "column_norms"), self._kind)
        return self._derived.units

    def row_norms_over_penalty(self) -> Array:
        """Σ_j A_ij²/alpha_j over penalised columns, for every row; counted once per run. Needs a penalty per column."""
        self._tally.add_setup(self._kind.replace("passes", "row_norms_over_penalty"), self._kind)
        return self._derived.row_norms_over_penalty

    def find_unpenalised(self) -> tuple[Array, Design]:
        """The indices of the unpenalised coefficients, and the design of their columns. Needs a penalty per column."""
        return self._derived.unpenalised

    def focus(self, moves: Array) -> PenalizedDesign:
        """The same block for directions that are zero but where ``moves`` is true; faster if these are few."""
        columns = np.flatnonzero(to_numpy(self._table(moves)).reshape(self.design.shape[1], -1).any(axis=1))
        some = self.design.few_columns(columns)
        return self if some is None else _Focused(self, columns, some)

    def column_penalty(self) -> float | Array:
        """The penalty in the user's form: one number, or one per column."""
        alpha = self.penalty.alpha
        return alpha if isinstance(alpha, float) or self.outputs == 1 else self._table(alpha)[:, 0]

    def _table(self, v: Array) -> Array:
        return v if self.outputs == 1 else reshape(v, (-1, self.outputs))

    def _vector(self, table: Array) -> Array:
        return table if self.outputs == 1 else reshape(table, (-1,))


class _Focused(PenalizedDesign):
    """The same block, whose products use some columns alone; entries of the others count as zero."""

    def __init__(self, block: PenalizedDesign, columns: Matrix, some: SomeColumns):
        super().__init__(block.design, block.penalty, block.outputs)
        self._tally, self._columns, self._some = block._tally, columns, some

    def image(self, v: Array) -> Array:
        self._tally.note("passes_of_columns", 1)
        return self._some.image(select(self._table(v), self._columns))

    def adjoint(self, r: Array) -> Array:
        self._tally.note("passes_of_columns", 1)
        return self._vector(self._spread(self._some.adjoint(r)))

    def column_squares(self, weights: Array) -> Array:
        self._tally.note("passes_of_columns", 1)
        return self._spread(self._some.column_squares(weights))

    def _spread(self, table: Array) -> Array:
        """One row per column of the design, with zeros where there is none."""
        spread = np.zeros((self.design.shape[1], *table.shape[1:]), dtype=table.dtype)
        spread[self._columns] = table
        return spread


class _Derived:
    """What depends only on design and penalty; computed when first needed, and shared by counted copies."""

    def __init__(self, design: Design, penalty: Penalty, outputs: int):
        self._design, self._penalty, self._outputs = design, penalty, outputs

    @cached_property
    def column_norms(self) -> Array:
        return self._design.column_squares(self._design.ones()) ** 0.5

    @cached_property
    def units(self) -> Array | float:
        """Powers of two, so that a change of units makes no rounding errors."""
        norms = np.repeat(to_numpy(self.column_norms), self._outputs)
        sizes = np.hypot(norms / np.sqrt(self._design.shape[0]), np.sqrt(self._penalty.to_numpy(len(norms))))
        sizes = np.where(sizes > 0.0, sizes, sizes.max(initial=0.0))
        if not _ALIKE * sizes.min(initial=math.inf) < sizes.max(initial=0.0) < math.inf:
            return 1.0
        return to_like(np.exp2(np.round(np.log2(sizes))), self._design.prototype)

    @cached_property
    def row_norms_over_penalty(self) -> Array:
        return self._design.row_squares(self._penalty.inverse()[:: self._outputs])

    @cached_property
    def unpenalised(self) -> tuple[Array, Design]:
        places = self._penalty.find_unpenalised()
        return places, self._design.columns(places[:: self._outputs] // self._outputs)

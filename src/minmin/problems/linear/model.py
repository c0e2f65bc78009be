"""LinearModel: a loss of the margins Xx + Yy + offset, plus a penalty per column."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np

from minmin.core.arrays import Array, same_kind, to_like, to_numpy
from minmin.core.bound import Bound, Constants
from minmin.core.counting import Tally
from minmin.core.evaluation import Evaluation
from minmin.core.problem import require_constants_type
from minmin.core.rows import map_rows
from minmin.core.second_order import SecondOrderProblem
from minmin.core.term import Term
from minmin.core.vectors import square
from minmin.numerics.row_pieces import gram
from minmin.problems.linear.checked_designs import make_designs, refuse_huge
from minmin.problems.linear.columns import check_columns, fingerprint_column, load_blocks
from minmin.problems.linear.duality import bound_by_duality, bound_with_terms, bound_without_step
from minmin.problems.linear.evaluation import LinearEvaluation, LinearSlice, LinearYStepModel
from minmin.problems.linear.losses import Loss
from minmin.problems.linear.penalized_design import PenalizedDesign
from minmin.problems.linear.penalties import make_penalty
from minmin.problems.spectrum import (
    COST_RATIO,
    EXACT_UP_TO,
    ProvedConstants,
    ValidPairs,
    bound_squared_norm,
    convexity_frontier,
    norm_pairs,
    smoothness_frontier,
)


class LinearModel(SecondOrderProblem):
    """f(x, y) = weighted mean of loss(Xx + Yy + offset, target), plus the penalties of both blocks.

    Margins have shape (n,), or (n, K) for a loss with K outputs. Then a column has K coefficients, which are next to
    each other in x or y.

    Parameters
    ----------
    X, Y : arrays, scipy.sparse of any format, partitions, Dask arrays, or Design
        The designs of the expensive and of the cheap block.
    loss : Loss
    target : array
    alpha_x, alpha_y : float, or array with one per column
        The penalties, 0 or above.
    sample_weight : array of shape (n,), optional
        Not negative; normalised to sum to one.
    offset : array in the shape of the margins, optional
        Added to the margins; by default zero.
    constants : Constants, optional
        By default proved ones are computed when first needed.

    Attributes
    ----------
    x_block, y_block : PenalizedDesign
        Design and penalties of the two blocks.
    loss : Loss
    target : array
        In the form that the loss uses.
    weights : array of shape (n,)
        The normalised sample weights, which sum to one.
    offset : array or None
        In the shape of the margins.
    """

    bounds_by_data = True

    def __init__(
        self,
        X: Any,
        Y: Any,
        loss: Loss,
        target: Any,
        *,
        alpha_x: Any,
        alpha_y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        constants: Constants | None = None,
    ):
        X, Y, target, sample_weight, offset = load_blocks(X, Y, target, sample_weight, offset)
        design_x, design_y = make_designs(X, Y)
        checked = check_columns(design_x, loss, target, sample_weight, offset)
        self.loss, self.target, self.weights, self.offset = checked
        design_x, design_y = design_x.blank_idle_rows(self.weights), design_y.blank_idle_rows(self.weights)
        prototype = design_x.prototype
        penalty_x = make_penalty(alpha_x, "alpha_x", design_x.shape[1], prototype).repeat(loss.outputs)
        penalty_y = make_penalty(alpha_y, "alpha_y", design_y.shape[1], prototype).repeat(loss.outputs)
        self.x_block = PenalizedDesign(design_x, penalty_x, loss.outputs)
        self.y_block = PenalizedDesign(design_y, penalty_y, loss.outputs)
        self.d_x, self.d_y = self.x_block.size, self.y_block.size
        self.has_constant_hessian = loss.min_curvature == loss.max_curvature
        self._given = require_constants_type(constants)
        self._proof = ProvedConstants(partial(_find_valid_pairs, self.x_block, self.y_block, loss, self.weights))

    def refuse_huge_columns(self, name: Callable[[str, int], str], *, everywhere: bool = False) -> None:
        """Raise if squares of the numbers in a column overflow; ``name("X", 3)`` is what the user calls column 3 of X.

        Data that are not in memory are looked at only if ``everywhere``, since that takes a pass.
        """
        for block, design in (("X", self.x_block.design), ("Y", self.y_block.design)):
            if everywhere or design.is_in_memory:
                refuse_huge(design, partial(name, block))

    def with_blocks(self, x_block: PenalizedDesign, y_block: PenalizedDesign) -> Self:
        """The same model with other designs and penalties."""
        twin = copy(self)
        twin.x_block, twin.y_block = x_block, y_block
        twin.d_x, twin.d_y = x_block.size, y_block.size
        return twin

    @property
    def X(self) -> Any:  # noqa: N802
        """The stored matrix of the expensive block, or the user's Design."""
        return getattr(self.x_block.design, "matrix", self.x_block.design)

    @property
    def Y(self) -> Any:  # noqa: N802
        """The stored matrix of the cheap block, or the user's Design."""
        return getattr(self.y_block.design, "matrix", self.y_block.design)

    @property
    def alpha_x(self) -> float | Array:
        """The penalty of x: one number, or one per column."""
        return self.x_block.column_penalty()

    @property
    def alpha_y(self) -> float | Array:
        """The penalty of y: one number, or one per column."""
        return self.y_block.column_penalty()

    @property
    def why_no_rows(self) -> str:
        if self.loss.outputs > 1:
            return f"the loss {self.loss.name!r} has several margins per row"
        if self.loss.max_curvature == math.inf:
            return f"the loss {self.loss.name!r} has no bound on its curvature"
        return ""

    @property
    def units(self) -> Array | float:
        return self.x_block.units()

    @property
    def constants(self) -> Constants | None:
        """Those that were given, or that the data prove; None for rows on a cluster, where they are not computed."""
        return self.constants_for(COST_RATIO)

    def constants_for(self, cost_ratio: float) -> Constants | None:
        if not self._proves_constants:
            return self._given
        constants = self._proof.choose(cost_ratio)
        self._count_constants()
        return constants

    def passes_for_constants(self) -> tuple[int, int]:
        return self._proof.valid.passes if self._proves_constants else (0, 0)

    @property
    def _proves_constants(self) -> bool:
        return self._given is None and self.x_block.design.proves_constants

    @property
    def prototype(self) -> Array:
        return self.x_block.design.prototype

    def fix(self, x: Array) -> LinearSlice:
        margins = self.x_block.margins(x)
        return LinearSlice(x, margins if self.offset is None else margins + self.offset, self)

    def evaluate(self, x: Array, y: Array, cache: tuple[Array, ...] = ()) -> LinearEvaluation:
        return LinearEvaluation.from_cache(x, y, self, cache) if cache else self.fix(x).at(y)

    def make_metrics(self) -> Any:
        return self.x_block.design.make_metrics()

    def place_rows(self, cache: tuple[Array, ...]) -> tuple[Array, ...]:
        """The arrays of a checkpoint, brought to where the rows are."""
        return tuple(map(self.x_block.design.place_rows, cache))

    def bound_after(
        self, evaluation: LinearEvaluation, after: LinearYStepModel, y_root: Array | None, enough: float = 0.0
    ) -> tuple[Bound, tuple[float, float]]:
        """By duality. If that gives no bound, by strong convexity, from the user's constants, the loss or penalties."""
        bound, noise = bound_by_duality(evaluation, after, y_root, enough)
        if math.isinf(bound.value) and self.constants_may_prove:
            return super().bound_after(evaluation, after, y_root, enough)
        if math.isinf(bound.value) and math.isinf(self.loss.self_concordance):
            return bound_without_step(evaluation, enough), noise
        return bound, noise

    @property
    def constants_may_prove(self) -> bool:
        return self._given is not None or (self._proves_constants and self.loss.min_curvature > 0.0)

    def certify_by_data(
        self,
        evaluation: Evaluation,
        terms: tuple[Term | None, Term | None],
        enough: float,
        after: Any = None,
        y_root: Array | None = None,
    ) -> Bound:
        assert isinstance(evaluation, LinearEvaluation)
        return bound_with_terms(evaluation, terms, enough, after, y_root)

    def make_gradient_test(self, gap: float) -> Callable[[Array], bool]:
        """Half the square of ∇ₓ in the norm of the inverse penalties, see :func:`bound_by_duality`."""
        penalty = self.x_block.penalty
        if not penalty.covers_all:
            return lambda gradient: False
        return lambda gradient: 0.5 * square(penalty.dual_norm(gradient)) <= gap

    def counted(self, tally: Tally) -> Self:
        twin = self.with_blocks(self.x_block.counted(tally, "passes"), self.y_block.counted(tally, "passes_y"))
        twin.tally = tally
        return twin

    def swapped(self) -> Self:
        twin = self.with_blocks(self.y_block, self.x_block)  # they still count under their original names
        twin.tally = self.tally.swapped()
        constants = self.constants_for(1.0 / COST_RATIO)
        twin._given = None if constants is None else constants.swapped()
        return twin

    def with_penalties(self, alpha_x: Any, alpha_y: Any) -> Self:
        """The same data with other penalties; the data are not checked again."""
        penalties = [
            make_penalty(alpha, name, block.design.shape[1], self.prototype).repeat(self.loss.outputs)
            for alpha, name, block in ((alpha_x, "alpha_x", self.x_block), (alpha_y, "alpha_y", self.y_block))
        ]
        twin = self.with_blocks(self.x_block.with_penalty(penalties[0]), self.y_block.with_penalty(penalties[1]))
        twin._given = None
        find_pairs = partial(_find_valid_pairs, twin.x_block, twin.y_block, self.loss, self.weights)
        twin._proof = ProvedConstants(find_pairs)
        return twin

    def to_like(self, prototype: Array) -> Self:
        """The constants stay those of the original data."""
        if same_kind(prototype, self.prototype):
            return self
        twin = self.with_blocks(self.x_block.to_like(prototype, "X"), self.y_block.to_like(prototype, "Y"))
        twin.target, twin.weights, twin.offset = (
            None if column is None else map_rows(to_like, column, prototype[:0])
            for column in (self.target, self.weights, self.offset)
        )
        return twin

    def project_start(self, x: Array, y: Array) -> tuple[Array, Array]:
        projected = []
        for v, block in ((x, self.x_block), (y, self.y_block)):
            gauge = self.loss.gauge(block.penalty.to_like(v))
            projected.append(v if gauge is None else gauge.project(v))
        return projected[0], projected[1]

    def identity(self) -> Iterable[Any]:
        blocks = (self.x_block, self.y_block)
        designs = [array for block in blocks for array in block.design.arrays()]
        penalties = [block.penalty.alpha for block in blocks]
        head = [*self.loss.identity(), self.d_x, self.d_y, repr(self._given)]
        offset = [] if self.offset is None else ["offset", *fingerprint_column(self.offset)]
        columns = *fingerprint_column(self.target), *fingerprint_column(self.weights)
        return [*head, *penalties, *designs, *columns, *offset]


def _find_valid_pairs(
    x_block: PenalizedDesign, y_block: PenalizedDesign, loss: Loss, sample_weights: Array
) -> ValidPairs:
    """Valid constants, by data; with no bound on ℓ'' the penalties alone.

    inf ℓ'' · G ⪯ H - diag(alpha) ⪯ sup ℓ'' · G with the Gram matrix G = [X Y]ᵀ diag(w) [X Y]. If a sample has several
    margins, there is one such G for each.
    """
    in_x, in_y = x_block.penalty, y_block.penalty
    most, least = loss.max_curvature, loss.min_curvature
    if math.isinf(most):
        return ValidPairs([(math.inf, math.inf)], [(in_x.least, in_y.least)])
    X, Y = x_block.design.to_float64(), y_block.design.to_float64()
    weights = to_numpy(sample_weights).astype(np.float64)
    columns = X.shape[1]
    convexity = [(0.0, 0.0)]
    if columns + Y.shape[1] <= EXACT_UP_TO:
        cross = gram(X, weights, Y)
        G = np.block([[gram(X, weights), cross], [cross.T, gram(Y, weights)]])
        passes = G.shape[0], Y.shape[1]
        smoothness = smoothness_frontier(most * G, columns)
        if least > 0.0:
            convexity = [*convexity, *convexity_frontier(least * G, columns)]
    else:
        (norm_x, passes_x), (norm_y, passes_y) = bound_squared_norm(X, weights), bound_squared_norm(Y, weights)
        passes = passes_x, passes_y
        smoothness = norm_pairs(most * norm_x, most * norm_y)
    return ValidPairs(
        [(L_x + in_x.most, L_y + in_y.most) for L_x, L_y in smoothness],
        [(mu_x + in_x.least, mu_y + in_y.least) for mu_x, mu_y in convexity],
        passes,
    )

"""Proves that a linear model has no minimum, by a direction of unpenalised columns along which no loss ever rises."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from minmin.core.arrays import Array, array_eps, largest, namespace_of, replace_zeros
from minmin.core.rows import Reduction, map_rows, prefetch
from minmin.core.second_order import Direction
from minmin.core.vectors import norm
from minmin.problems.linear.losses import Loss

if TYPE_CHECKING:
    from minmin.problems.linear.evaluation import LinearEvaluation
    from minmin.problems.linear.model import LinearModel

_TOLERANCE = 1e3
"""A change of a margin of at most this times eps times its terms counts as zero. Likewise a column is removed from a
direction if it changes margins by at most this times eps times what another column does.
Measured: docs/benchmarks/tuning.md."""

_GRID = 256.0
"""Directions are also tried with all entries rounded to multiples of 1/``_GRID`` of the largest. A direction in which a
class without samples or a level with one class falls must leave the others exactly equal, but steps change them, too,
until they have converged. Measured: docs/benchmarks/tuning.md."""
_FIRST_ROWS = 256
"""The rows that are looked at before the others: along most directions one of them decides."""


def is_unbounded_along(evaluation: LinearEvaluation, step: tuple[Direction, Array] | None, *, in_y_alone: bool) -> bool:
    """Whether no loss ever rises along the unpenalised coefficients of a step, or of one of its blocks.

    By default the step is that from zero to the evaluation.
    """
    m = evaluation.model
    x_block, y_block = m.x_block, m.y_block
    if y_block.penalty.covers_all and (x_block.penalty.covers_all or in_y_alone):
        return False
    if step is None:
        in_x = evaluation.slice.margins
        in_y, dx, dy = evaluation.margins - in_x, evaluation.x, evaluation.y
        if m.offset is not None:
            in_x = in_x - m.offset
    else:
        direction, dy = step
        in_x, in_y, dx = direction.images[0], y_block.image(dy), direction.dx
    directions = []
    if not (x_block.penalty.covers_all or in_y_alone):
        v = x_block.penalty.keep_unpenalised(dx)
        directions.append((in_x if x_block.penalty.most == 0.0 else x_block.image(v), v, 0.0 * dy))
    if not y_block.penalty.covers_all:
        v = y_block.penalty.keep_unpenalised(dy)
        directions.append((in_y if y_block.penalty.most == 0.0 else y_block.image(v), 0.0 * dx, v))
    if len(directions) == 2:
        (in_x, dx, _), (in_y, _, dy) = directions
        directions.append((in_x + in_y, dx, dy))
    return _falls_forever(m, directions)


def _falls_forever(m: LinearModel, directions: list[tuple[Array, Array, Array]]) -> bool:
    """Whether no loss ever rises, and some loss falls, along some (image, dx, dy), or along a direction close to it."""
    candidates = []
    for image, dx, dy in directions:
        x, y = _round_entries(m, dx, dy)
        candidates.append((_request_rise(m, image, dx, dy, (0.0, 0.0)), dx, dy))
        candidates.append((_request_rise(m, image, dx, dy, (norm(dx - x), norm(dy - y))), x, y))
    prefetch(*(rises for rises, _, _ in candidates))
    return any(not rises.compute() and _never_rises(m, x, y) for rises, x, y in candidates)


def _round_entries(m: LinearModel, dx: Array, dy: Array) -> tuple[Array, Array]:
    """The direction with its entries rounded, in units of what they change in the margins."""
    sizes = [block.column_norms() if largest(v) > 0.0 else abs(v) for block, v in ((m.x_block, dx), (m.y_block, dy))]
    unit = max(largest(size * v) for size, v in zip(sizes, (dx, dy), strict=True)) / _GRID
    if not 0.0 < unit < math.inf:
        return dx, dy
    xp = namespace_of(dx)
    x, y = (xp.round(size * v / unit) * unit / replace_zeros(size) for size, v in zip(sizes, (dx, dy), strict=True))
    return x, y


def _request_rise(m: LinearModel, image: Array, dx: Array, dy: Array, rounded: tuple[float, float]) -> Reduction:
    """A cheap test, without a product: whether some loss certainly rises along a change of the margins.

    The same holds for directions that differ from (dx, dy) by vectors of at most these two lengths.
    """
    in_x, in_y = m.x_block.row_norms_squared(), m.y_block.row_norms_squared()
    tolerance = _TOLERANCE * array_eps(dx)
    off_x, off_y = (tolerance * norm(v) + off for v, off in zip((dx, dy), rounded, strict=True))
    columns = image, in_x, in_y, m.target, m.weights, m.offset
    return Reduction(_some_loss_rises, (m.loss.for_rows, *columns, off_x, off_y, tolerance), "any")


def _some_loss_rises(
    loss: Loss,
    image: Array,
    in_x: Array,
    in_y: Array,
    target: Array,
    weights: Array,
    offset: Array | None,
    off_x: float,
    off_y: float,
    tolerance: float,
) -> bool:
    """Whether some loss certainly rises along a change of the margins, by more than ``off_x`` and ``off_y`` explain."""
    rows = image.shape[0]
    for start, end in ((0, min(_FIRST_ROWS, rows)), (_FIRST_ROWS, rows)):
        if start >= end:
            break
        piece = slice(start, end)
        change = image[piece, ...]
        slack = _like_margins(off_x * in_x[piece] ** 0.5 + off_y * in_y[piece] ** 0.5, change)
        if offset is not None:  # which was subtracted from margins
            slack = slack + tolerance * abs(offset[piece, ...])
        if loss.rises(_ignore_weightless(weights[piece], change), target[piece], slack):
            return True
    return False


def _never_rises(m: LinearModel, dx: Array, dy: Array) -> bool:
    """Whether no loss ever rises along (dx, dy), and some loss falls, whatever the units of the columns.

    Entries that are only rounding errors are set to zero first. Then the only rounding error is that of one product,
    which the terms of each row bound. It takes three products with each design, all counted.
    """
    blocks = ((m.x_block, dx), (m.y_block, dy))
    moves = [block.column_sizes(m.weights) * abs(v) for block, v in blocks]
    most = max(largest(move) for move in moves)
    if not 0.0 < most < math.inf:
        return False
    tolerance = _TOLERANCE * array_eps(dx)
    x, y = (
        namespace_of(v).where(move > tolerance * most, v / most, 0.0 * v)
        for (_, v), move in zip(blocks, moves, strict=True)
    )
    terms: Any = m.x_block.row_squares(x) + m.y_block.row_squares(y)
    change = map_rows(_ignore_weightless, m.weights, m.x_block.image(x) + m.y_block.image(y))
    slack = tolerance * terms**0.5
    return not m.loss.rises(change, m.target, slack) and m.loss.falls(change, m.target, slack)


def _ignore_weightless(weights: Array, change: Array) -> Array:
    """A change of margins, with zeros for samples of weight zero."""
    has_weight = namespace_of(change).astype(weights > 0, change.dtype)
    return _like_margins(has_weight, change) * change


def _like_margins(rows: Array, margins: Array) -> Array:
    """One number per row, broadcast to the shape of the margins."""
    return rows if margins.ndim == 1 else namespace_of(rows).broadcast_to(rows[:, None], margins.shape)

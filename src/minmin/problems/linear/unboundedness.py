"""Whether a linear model has no minimum: a direction of unpenalised columns along which no sample's loss ever rises."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from minmin.core.arrays import Array, array_eps, largest, namespace_of
from minmin.core.second_order import Direction
from minmin.core.vectors import norm

if TYPE_CHECKING:
    from minmin.problems.linear.evaluation import LinearEvaluation
    from minmin.problems.linear.model import LinearModel

_AGREEMENT = 1e3
"""A change of a margin of at most so many times eps times its terms is none, and a column that moves margins by so
small a part of what another one does has no part in a direction. Products were off by at most 14 such units (dense) and
43 (sparse) for 3000 columns. 1 to 10¹⁰ give the same verdict on 45 problems, 30 of them without a minimum."""


def is_unbounded_along(evaluation: LinearEvaluation, step: tuple[Direction, Array] | None, *, in_y_alone: bool) -> bool:
    """Whether the unpenalised part of a step, or of one of its blocks, has no sample against it.

    The step is the way from zero to the evaluation where none is given.
    """
    m = evaluation.model
    in_x_part, in_y_part = m.x_part, m.y_part
    if in_y_part.penalty.covers_all and (in_x_part.penalty.covers_all or in_y_alone):
        return False
    if step is None:
        in_x = evaluation.slice.margins
        in_y, dx, dy = evaluation.margins - in_x, evaluation.x, evaluation.y
    else:
        direction, dy = step
        in_x, in_y, dx = direction.images[0], in_y_part.image(dy), direction.dx
    ways = []
    if not (in_x_part.penalty.covers_all or in_y_alone):
        free = in_x_part.penalty.free_part(dx)
        ways.append((in_x if in_x_part.penalty.most == 0.0 else in_x_part.image(free), free, 0.0 * dy))
    if not in_y_part.penalty.covers_all:
        free = in_y_part.penalty.free_part(dy)
        ways.append((in_y if in_y_part.penalty.most == 0.0 else in_y_part.image(free), 0.0 * dx, free))
    if len(ways) == 2:
        (in_x, dx, _), (in_y, _, dy) = ways
        ways.append((in_x + in_y, dx, dy))
    return any(_may_recede(m, *way) and _recedes(m, *way[1:]) for way in ways)


def _may_recede(m: LinearModel, image: Array, dx: Array, dy: Array) -> bool:
    """Whether no sample is against a change of all margins, as far as norms can tell without a product."""
    in_x, in_y = m.x_part.row_norms_squared(), m.y_part.row_norms_squared()
    slack = (_AGREEMENT * array_eps(dx)) * (norm(dx) * in_x**0.5 + norm(dy) * in_y**0.5)
    return not m.loss.rises(_where_weights_count(m, image), m.target, _like_margins(slack, image))


def _recedes(m: LinearModel, dx: Array, dy: Array) -> bool:
    """Whether no sample's loss ever rises along (dx, dy), and some sample's falls, whatever the columns' units are.

    What rounding has left of columns without a part in it is taken out first; then the only rounding is that of
    one product, which every row's own terms bound. Three products with each design, all counted.
    """
    parts = ((m.x_part, dx), (m.y_part, dy))
    moves = [part.column_sizes(m.weights) * abs(v) for part, v in parts]
    most = max(largest(move) for move in moves)
    if not 0.0 < most < math.inf:
        return False
    agreement = _AGREEMENT * array_eps(dx)
    x, y = (
        namespace_of(v).where(move > agreement * most, v / most, 0.0 * v)
        for (_, v), move in zip(parts, moves, strict=True)
    )
    terms: Any = m.x_part.row_squares(x) + m.y_part.row_squares(y)
    change = _where_weights_count(m, m.x_part.image(x) + m.y_part.image(y))
    slack = agreement * terms**0.5
    return not m.loss.rises(change, m.target, slack) and m.loss.falls(change, m.target, slack)


def _where_weights_count(m: LinearModel, change: Array) -> Array:
    """A change of all margins with zeros for samples of no weight."""
    counting = namespace_of(change).astype(m.weights > 0, change.dtype)
    return _like_margins(counting, change) * change


def _like_margins(rows: Array, margins: Array) -> Array:
    """Numbers of every row, in a shape that goes with margins."""
    return rows if margins.ndim == 1 else namespace_of(rows).broadcast_to(rows[:, None], margins.shape)

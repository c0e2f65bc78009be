"""A Newton step with terms: the quadratic model of f plus the terms is minimised on the terms' smooth pieces."""

from __future__ import annotations

import math
from operator import attrgetter, mul, truediv
from typing import NamedTuple

from minmin.core.arrays import Array, namespace_of, replace_zeros
from minmin.core.preconditioner import Preconditioner
from minmin.core.second_order import Direction, SecondOrderEvaluation
from minmin.core.vectors import Vector, dot, map_parts
from minmin.methods.newton_step import NewtonStep
from minmin.methods.pieces import Pieces, find_proximal_point
from minmin.methods.y_system import YSystem
from minmin.numerics.cg import CgEnd, conjugate_gradients

_MARGIN = 0.8
"""The model moves the coordinates that are not at a kink, and those where |∇f| is more than this times what holds them.
Measured: docs/benchmarks/tuning.md."""
_LOOSE, _TIGHT = 0.5, 0.05
"""The relative residual of conjugate gradients on a piece, and on one that the last step did not leave.
Measured: docs/benchmarks/tuning.md."""
_OF_TOLERANCE = 0.3
"""No piece is solved more exactly than to this times what the step needs. Measured: docs/benchmarks/tuning.md."""
_FLAT = 1e-9
"""Curvature below this times that of the diagonal counts as zero: along such a direction the step's image is lost in
rounding. Measured: docs/benchmarks/tuning.md."""
_PROXIMAL_STEPS = 2
"""Proximal gradient steps after a piece was left; they find the next one. Measured: docs/benchmarks/tuning.md."""
_GROWTH = 1.2
"""Where the curvature along such a step was larger than the diagonal's, the factor grows to this times what was seen.
Measured: docs/benchmarks/tuning.md."""
_SHORTEST = 1e-12
"""Steps that would leave a piece are halved down to this. Measured: docs/benchmarks/tuning.md."""
_MOST_PIECES = 100
"""The most pieces that one step visits. Measured: docs/benchmarks/tuning.md."""


class _Move(NamedTuple):
    """A direction in x and y, with its products with the two rows of the Hessian; ``in_y`` is zero without a term."""

    direction: Direction
    dy: Vector
    in_x: Array
    in_y: Vector

    def times(self, t: float) -> _Move:
        return _Move(self.direction.times(t), t * self.dy, t * self.in_x, t * self.in_y)

    def add(self, t: float, other: _Move) -> _Move:
        """The sum with t·``other``; this direction is changed in place."""
        direction = self.direction.add(t, other.direction)
        return _Move(direction, self.dy + t * other.dy, self.in_x + t * other.in_x, self.in_y + t * other.in_y)

    @property
    def curvature(self) -> float:
        """The second derivative of f along the move."""
        return dot(self.direction.dx, self.in_x) + dot(self.dy, self.in_y)


class _Step(NamedTuple):
    """A fraction t of a move, the point where it ends, and how much the model with the terms changes at most."""

    change: float
    move: _Move
    t: float
    x: Array
    y: Vector


class TermModel:
    """The quadratic model of f at an evaluation, plus the terms.

    It is minimised on pieces, where the terms are smooth (:class:`minmin.core.term.Piece`): conjugate gradients find
    the minimum there, and a step ends where it would leave the piece. Then a few proximal gradient steps find the next
    piece. A y without a term is eliminated: it is always the minimiser of the model. Every step ends at the lowest
    point of its segment, so the model never rises.

    Parameters
    ----------
    evaluation : SecondOrderEvaluation
    y_system : YSystem
    gradient, dy : vectors
        The model's ∇ₓ after a first step dy in y.

    Attributes
    ----------
    size : float
        The length of the whole gradient on the first piece, in the norm of the inverse diagonal of the Hessian.
    """

    def __init__(self, evaluation: SecondOrderEvaluation, y_system: YSystem, gradient: Array, dy: Vector):
        self._term_x, self._term_y, self._y_system = evaluation.term_x, evaluation.term_y, y_system
        self._x, self._y, self._first_dy = evaluation.x, evaluation.y + dy, dy
        self._in_x, self._in_y = gradient, 0.0 * dy if self._term_y is None else evaluation.grad_y
        near = Pieces(self._term_x, self._x, (1.0 / _MARGIN) * gradient).free
        self._evaluation = evaluation if near is None else evaluation.focus(near)
        self._diagonal = replace_zeros(self._evaluation.hess_xx_diagonal())
        self._y_diagonal = None if self._term_y is None else y_system.diagonal
        self._on_pieces, self._smoothness, self._products = y_system, 1.0, 0
        self._total: _Move | None = None
        self.size = self._look()
        self._first = self._of_x, self._of_y
        known = gradient if near is None else namespace_of(gradient).where(near, gradient, 0.0 * gradient)
        self._rounding = evaluation.rounding.eps * math.sqrt(dot(known, known / self._diagonal))

    def minimise(self, tolerance: float, most_products: int) -> NewtonStep:
        """The step to a point where the gradient on its piece is at most ``tolerance`` times as long as at first."""
        enough, left = max(tolerance * self.size, self._rounding), False
        for number in range(_MOST_PIECES):
            size, before, searched = self._look(), self._total, left
            if not size > enough or self._products >= most_products:
                break
            if searched:
                for _ in range(_PROXIMAL_STEPS):
                    self._take_proximal_step()
                size = max(self._look(), enough)
            exactness = _LOOSE if searched or number == 0 else _TIGHT
            left = self._minimise_on_pieces(max(exactness, _OF_TOLERANCE * enough / size), most_products)
            if self._total is before:
                if searched:
                    break  # rounding hides all progress
                left = True
        total = self._total or self._product(0.0 * self._x, 0.0 * self._y)
        return NewtonStep(total.direction, self._first_dy + total.dy, CgEnd(False, 0.0, math.inf, False))

    def lead_to_end(self, step: NewtonStep) -> NewtonStep:
        """The step that :meth:`minimise` has returned, rounded so that it leads to zeros and bounds exactly.

        Slopes must not be computed along it: the rounding is larger than they are near a minimum.
        """
        dx = _join(self._evaluation.x, step.direction.dx, self._x)
        dy = map_parts(_join, self._evaluation.y, step.dy, self._y)
        return NewtonStep(Direction(dx, step.direction.images), dy, step.end)

    def find_rise(self, step: NewtonStep) -> float:
        """How much the terms change over the step that :meth:`minimise` has returned."""
        of_x, of_y = self._first
        if of_x.hold(self._x) is self._x and of_y.hold(self._y) is self._y:
            return of_x.rise(step.direction.dx) + of_y.rise(step.dy)
        return self._find_rise(self._evaluation.x, self._evaluation.y, self._x, self._y)

    def find_slope_beyond(self, step: NewtonStep, t: float) -> float:
        """The mean slope of the terms from the end of this step to ``t`` > 1 times the step."""
        x, y = self._x + (t - 1.0) * step.direction.dx, self._y + (t - 1.0) * step.dy
        return self._find_rise(self._x, self._y, x, y) / (t - 1.0)

    def _find_rise(self, old_x: Array, old_y: Vector, x: Array, y: Vector) -> float:
        triples = (self._term_x, old_x, x), (self._term_y, old_y, y)
        return sum(term.change(old, new).value for term, old, new in triples if term is not None)

    def _look(self) -> float:
        """Find the pieces here, and the present :attr:`size`."""
        self._of_x = Pieces(self._term_x, self._x, self._in_x)
        self._of_y = Pieces(self._term_y, self._y, self._in_y)
        in_x = self._of_x.gradient(self._in_x)
        squares = dot(in_x, in_x / self._diagonal)
        if self._y_diagonal is not None:
            in_y = self._of_y.gradient(self._in_y)
            squares += dot(in_y, map_parts(truediv, in_y, self._y_diagonal))
        return math.sqrt(squares)

    def _minimise_on_pieces(self, tolerance: float, most_steps: int) -> bool:
        """Move to the minimum on the pieces; whether that leads out of them, or a direction has no curvature."""
        total: _Move | None = None
        right = -self._of_x.gradient(self._in_x)
        if self._term_y is not None:
            self._on_pieces = self._y_system.on(self._of_y)
            total = self._product(0.0 * self._x, -self._on_pieces.solve(self._of_y.gradient(self._in_y)))
            right = right - self._of_x.keep(total.in_x)
        latest: _Move | None = None

        def apply(dx: Array) -> Array:
            nonlocal latest
            latest = self._product(dx)
            return self._of_x.add_hessian(dx, self._of_x.keep(latest.in_x))

        def move(t: float) -> None:
            nonlocal total
            assert latest is not None
            total = latest.times(t) if total is None else total.add(t, latest)

        diagonal = Preconditioner(self._of_x.add_diagonal(self._diagonal))
        end = conjugate_gradients(apply, move, right, diagonal, eps=_FLAT, tolerance=tolerance, most_steps=most_steps)
        return total is None or self._take_on_pieces(total) or end.flat

    def _take_on_pieces(self, move: _Move) -> bool:
        """Take a move, but not out of the pieces; whether it would have led there.

        If it would, two ways are tried: straight on, and to where the move is held on the pieces.
        """
        x, y = self._x + move.direction.dx, self._y + move.dy
        held_x, held_y = self._of_x.hold(x), self._of_y.hold(y)
        if held_x is x and held_y is y:
            rise = self._of_x.rise(move.direction.dx) + self._of_y.rise(move.dy)
            self._take(self._find_lowest(move, x, y, rise))
            return False
        self._take(min(self._go_straight(move), self._go_towards(held_x, held_y), key=attrgetter("change")))
        return True

    def _take_proximal_step(self) -> None:
        """A proximal gradient step with the diagonal of the Hessian times a factor that makes it large enough."""
        x = find_proximal_point(self._term_x, self._x, self._in_x, self._smoothness * self._diagonal)
        y = self._y
        if self._y_diagonal is not None:
            y = find_proximal_point(self._term_y, y, self._in_y, self._smoothness * self._y_diagonal)
        step = self._go_towards(x, y)
        self._take(step)
        dx, dy = step.move.direction.dx, step.move.dy
        squares = dot(dx, self._diagonal * dx)
        if self._y_diagonal is not None:
            squares += dot(dy, map_parts(mul, dy, self._y_diagonal))
        if step.move.curvature > self._smoothness * squares > 0.0:
            self._smoothness = _GROWTH * step.move.curvature / squares

    def _go_towards(self, x: Array, y: Vector) -> _Step:
        """The step to the lowest point on the way to (x, y); a y without a term goes with x."""
        move = self._product(x - self._x, None if self._term_y is None else y - self._y)
        y = y if self._term_y is not None else self._y + move.dy
        return self._find_lowest(move, x, y, self._find_rise(self._x, self._y, x, y))

    def _find_lowest(self, move: _Move, x: Array, y: Vector, rise: float) -> _Step:
        """The step to the lowest point on the way to (x, y), where ``move`` ends and the terms are higher by ``rise``.

        On the way they are at most what lies on their chords, which is what counts.
        """
        slope, curvature = self._slope(move) + rise, move.curvature
        if slope + curvature <= 0.0:
            return _Step(slope + 0.5 * curvature, move, 1.0, x, y)
        t = -slope / curvature if slope < 0.0 else 0.0
        return _Step(0.5 * t * slope, move, t, self._x + t * move.direction.dx, self._y + t * move.dy)

    def _go_straight(self, move: _Move) -> _Step:
        """The step along a move to the lowest of the points at 1, ½, ¼, ... of it."""
        slope, curvature, t = self._slope(move), move.curvature, 1.0
        best = _Step(math.inf, move, 0.0, self._x, self._y)
        while t > _SHORTEST:
            x, y = self._x + t * move.direction.dx, self._y + t * move.dy
            change = t * slope + 0.5 * t * t * curvature + self._find_rise(self._x, self._y, x, y)
            if best.change <= change < math.inf:
                break
            best, t = _Step(change, move, t, x, y), 0.5 * t
        return best

    def _slope(self, move: _Move) -> float:
        """That of f along a move."""
        return dot(self._in_x, move.direction.dx) + dot(self._in_y, move.dy)

    def _take(self, step: _Step) -> None:
        """Take the step, if the model falls along it."""
        if not step.change < 0.0:
            return
        _, move, t, self._x, self._y = step
        self._in_x = self._in_x + t * move.in_x
        self._in_y = self._in_y + t * move.in_y
        self._total = move.times(t) if self._total is None else self._total.add(t, move)

    def _product(self, dx: Array, dy: Vector | None = None) -> _Move:
        """The move along dx and dy; by default with the dy that minimises the model on the present pieces."""
        self._products += 1
        direction = self._evaluation.slice.along(dx)
        in_y = self._evaluation.hess_yx(direction)
        if dy is None:
            dy = -self._on_pieces.solve(self._of_y.keep(in_y))
        in_x = self._evaluation.hess_product(direction, dy)
        in_y = 0.0 * dy if self._term_y is None else in_y + self._y_system.product(dy)
        return _Move(direction, dy, in_x, in_y)


def _join(start: Array, step: Array, end: Array) -> Array:
    """The step that leads exactly from start to end, more exact than their difference where rounding allows it."""
    return namespace_of(start).where(start + step == end, step, end - start)

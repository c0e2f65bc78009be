"""LinearModel: losses of the margins Xx + Yy with a penalty per column, which GLMs and multinomial models share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from copy import copy
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace, device

from minmin.constants import Constants
from minmin.errors import InputError
from minmin.linalg import inverse_root, is_whole
from minmin.oracle import Ability, Certificate, Direction, Evaluation, KnownProblem, Slice, checked_constants
from minmin.problems.bending import Bending
from minmin.problems.designs import (
    checked_column,
    checked_design,
    column_squares,
    design_like,
    in_one_dtype,
    plain,
    row_squares,
    row_sums,
    some_columns,
    squared_entries,
    stored_arrays,
    vector_model,
)
from minmin.problems.duality import Ahead, duality_certificate
from minmin.problems.penalties import Penalty, checked_penalty
from minmin.problems.spectrum import (
    EXACT_UP_TO,
    EXPENSIVE,
    cheapest,
    convexity_frontier,
    gram,
    norm_pairs,
    smoothness_frontier,
    squared_norm,
)
from minmin.space import Array, dot, largest, like, machine_eps, norm, reshaped, same_kind, to_numpy

_OF_DATA_ALONE = ("X squared", "Y squared", "row squares")
"""What is found once and does not depend on the penalties."""


class LinearModel(KnownProblem):
    """f(x, y) = weighted mean loss of the margins Xx + Yy, plus the penalties of both blocks.

    n rows. A sample has one margin, or several, one after the other in one long vector of all margins; then a column
    has as many coefficients. What a subclass says of its loss is a function of all margins.

    Attributes
    ----------
    X, Y : designs
    weights : array of shape (n,)
        They sum to one.
    target : array
        As the loss wants it.
    penalty_x, penalty_y : Penalty
        Of every coefficient.
    outputs : int
        The number of margins that a sample has.
    max_curvature, min_curvature : float
        sup and inf of the second derivative of a sample's loss with respect to its margins.
    """

    abilities = Ability.VALUE | Ability.HESS_YY | Ability.HESS_PRODUCT | Ability.GAP
    outputs: int = 1
    max_curvature: float
    min_curvature: float
    target: Array

    def _take(
        self, X: Any, Y: Any, alpha_x: Any, alpha_y: Any, sample_weight: Any, constants: Constants | None
    ) -> Array:
        """Check and keep what every model has; the answer tells the library and dtype of its vectors."""
        self.X, self.Y = in_one_dtype(checked_design(X, "X"), checked_design(Y, "Y"))
        vectors = vector_model(self.X, self.Y)
        rows = self.X.shape[0]
        self.d_x, self.d_y = (self.outputs * design.shape[1] for design in (self.X, self.Y))
        if self.Y.shape[0] != rows:
            raise InputError(f"X has {rows} rows and Y {self.Y.shape[0]}; they must describe the same samples")
        self.penalty_x = checked_penalty(alpha_x, "alpha_x", self.X.shape[1], vectors).repeated(self.outputs)
        self.penalty_y = checked_penalty(alpha_y, "alpha_y", self.Y.shape[1], vectors).repeated(self.outputs)
        self.weights = _normalised(sample_weight, rows, vectors)
        self._given = checked_constants(constants)
        self._X_T, self._Y_T = self.X.T, self.Y.T
        self._found = {}
        return vectors

    @abstractmethod
    def prepare(self, margins: Array) -> Array:
        """What the losses and their derivatives share, computed once."""

    @abstractmethod
    def losses(self, margins: Array, shared: Array) -> Array:
        """Of every sample."""

    @abstractmethod
    def slopes(self, margins: Array, shared: Array) -> Array:
        """The derivative of every sample's loss with respect to its margins."""

    @abstractmethod
    def bending(self, margins: Array, shared: Array) -> Bending:
        """The second derivative of the weighted mean loss."""

    @abstractmethod
    def bending_from_afar(self, margins: Array, slopes: Array, near: Bending) -> Bending | None:
        """That of parabolas whose slopes are right here and at the margins zero, which does not vanish far away.

        None where ``near``, the second derivative itself, never vanishes.
        """

    @abstractmethod
    def is_in_dual_domain(self, change: Array, near: Bending) -> bool:
        """Whether ℓ(m) + ℓ*(s) - <m, s> <= <u, ℓ''u> for every sample, s = ℓ' + ℓ''u and u the change."""

    @abstractmethod
    def move_size(self, change: Array) -> float:
        """How far a change of all margins leads; over one unit the second derivative changes by a factor e at most."""

    @abstractmethod
    def rises(self, change: Array, slack: Array) -> bool:
        """Whether some sample's loss rises in the end as margins go on changing like this.

        Changes of at most ``slack`` count as none.
        """

    @abstractmethod
    def falls(self, change: Array, slack: Array) -> bool:
        """Whether some sample's loss falls for ever, where none rises."""

    def pinned(self, hessian: Array, penalty: Penalty) -> Array:
        """The Hessian in columns with these penalties, made invertible along directions in which f never changes."""
        return hessian

    def without_flat(self, dy: Array) -> Array:
        """A step in y without its part along those directions."""
        return dy

    def repeated(self, numbers: Array) -> Array:
        """A number a row as one of each of its margins, or a number a column as one of each of its coefficients."""
        if self.outputs == 1:
            return numbers
        xp = array_namespace(numbers)
        return xp.reshape(xp.broadcast_to(numbers[:, None], (numbers.shape[0], self.outputs)), (-1,))

    def table(self, vector: Array) -> Array:
        """All margins with a row for every sample, or all coefficients with a row for every column."""
        return vector if self.outputs == 1 else reshaped(vector, (-1, self.outputs))

    def vector(self, table: Array) -> Array:
        """The reverse of :meth:`table`."""
        return table if self.outputs == 1 else reshaped(table, (-1,))

    def constants_where(self, cost_ratio: float) -> Constants:
        return self._given if self._given is not None else self._proved_constants(cost_ratio)

    def _proved_constants(self, cost_ratio: float = EXPENSIVE) -> Constants:
        if isinstance(self._origin, LinearModel):
            return self._origin.constants_where(cost_ratio)
        if math.isinf(self.max_curvature):
            return Constants(math.inf, math.inf, self.penalty_x.least, self.penalty_y.least, "proved")
        smoothness, convexity = self._once("valid pairs", self._valid_pairs)
        L_x, L_y, mu_x, mu_y = cheapest(smoothness, convexity, cost_ratio)
        return Constants(L_x, L_y, mu_x, mu_y, "proved")

    def _valid_pairs(self) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """Valid (L_x, L_y) and (mu_x, mu_y).

        inf ℓ'' · G ⪯ H - diag(alpha) ⪯ sup ℓ'' · G with the Gram matrix G = [X Y]ᵀ diag(w) [X Y], or one such G for
        each of a sample's margins.
        """
        X, Y = plain(self.X), plain(self.Y)
        weights = to_numpy(self.weights).astype(np.float64)
        most, least = self.max_curvature, self.min_curvature
        columns = X.shape[1]
        convexity = [(0.0, 0.0)]
        if columns + Y.shape[1] <= EXACT_UP_TO:
            cross = gram(X, weights, Y)
            G = np.block([[gram(X, weights), cross], [cross.T, gram(Y, weights)]])
            smoothness = smoothness_frontier(most * G, columns)
            if least > 0.0:
                convexity = [*convexity, *convexity_frontier(least * G, columns)]
        else:
            smoothness = norm_pairs(most * squared_norm(X, weights), most * squared_norm(Y, weights))
        in_x, in_y = self.penalty_x, self.penalty_y
        tiny = float(np.finfo(np.float64).tiny)  # data that are zero have no L > 0 of their own
        return (
            [(max(L_x, tiny) + in_x.most, max(L_y, tiny) + in_y.most) for L_x, L_y in smoothness],
            [(mu_x + in_x.least, mu_y + in_y.least) for mu_x, mu_y in convexity],
        )

    @property
    def model(self) -> Array:
        return self.target

    def fix(self, x: Array) -> Slice:
        return LinearSlice(x, self.image_x(x), self)

    def resumed(self, x: Array, y: Array, carried: tuple[Array, ...]) -> Evaluation:
        if not carried:
            return super().resumed(x, y, carried)
        in_x, margins, shared = carried
        return LinearEvaluation(LinearSlice(x, in_x, self), y, margins, self, shared)

    def gap_bound(self, evaluation: Evaluation) -> float:
        """By strong convexity, or, where a block has none, by duality, for one pass and one y-Hessian more."""
        bound = self.convexity_bound(evaluation)
        if math.isfinite(bound):
            return bound
        root = inverse_root(evaluation.pinned(evaluation.hess_yy()))
        evaluation.grad_x_ahead(-(root.T @ (root @ evaluation.grad_y)))
        return self.certificate(evaluation, root if is_whole(root) else None).bound

    def certificate(self, evaluation: Evaluation, y_root: Array | None = None) -> Certificate:
        """The duality gap, or the bound by strong convexity where only the loss or the user vouches for that."""
        assert isinstance(evaluation, LinearEvaluation)
        by_duality = duality_certificate(evaluation, y_root)
        if math.isinf(by_duality.bound) and (self._given is not None or self.min_curvature > 0.0):
            return super().certificate(evaluation, y_root)
        return by_duality

    def free_y_root(self, evaluation: LinearEvaluation) -> tuple[Array | None, Callable[[Array], Array]]:
        """A K with KᵀK = H⁻¹ of y's unpenalised columns alone, and what takes their part of a vector.

        No K where there are too many, or all, or where they leave a direction without curvature.
        """
        if self.penalty_y.is_one_number:
            return None, lambda v: v
        places = self.penalty_y.free_columns()
        if places.size > _FEW:
            return None, lambda v: v
        where = array_namespace(self.target).asarray(places, device=device(self.target))
        columns = places[:: self.outputs] // self.outputs
        design = self._once("free columns of Y", lambda: some_columns(self.Y, columns))
        root = inverse_root(self.pinned(evaluation.bending.gram(design), Penalty(0.0)))
        return root if is_whole(root) else None, lambda v: array_namespace(v).take(v, where, axis=0)

    def counting(self, change: Array) -> Array:
        """A change of all margins with zeros for samples of no weight."""
        xp = array_namespace(change)
        return self.repeated(xp.astype(self.weights > 0, change.dtype)) * change

    def recedes(self, dx: Array, dy: Array) -> bool:
        """Whether no sample's loss ever rises along (dx, dy), and some sample's falls, whatever the columns' units are.

        What rounding has left of columns without a part in it is taken out first; then the only rounding is that of
        one product, which every row's own terms bound. Three products with each design, all counted.
        """
        designs = ((self._squared("X"), dx, "passes"), (self._squared("Y"), dy, "passes_y"))
        moves = []
        for squared, v, kind in designs:
            self._tally.add(kind)
            moves.append(self.repeated(column_squares(squared, self.weights) ** 0.5) * abs(v))
        most = max(largest(move) for move in moves)
        if not 0.0 < most < math.inf:
            return False
        eps = machine_eps(dx)
        x, y = (
            array_namespace(v).where(move > _AGREEMENT * eps * most, v / most, 0.0 * v)
            for (_, v, _), move in zip(designs, moves, strict=True)
        )
        terms: Any = 0.0
        for (squared, _, kind), v in zip(designs, (x, y), strict=True):
            self._tally.add(kind)
            terms = terms + self.vector(row_sums(squared, self.table(v * v)))
        change = self.counting(self.image_x(x) + self.image_y(y))
        slack = (_AGREEMENT * eps) * terms**0.5
        return not self.rises(change, slack) and self.falls(change, slack)

    def image_x(self, dx: Array) -> Array:
        """X·dx, counted."""
        self._tally.add("passes")
        return self.vector(self.X @ self.table(dx))

    def pull_x(self, v: Array) -> Array:
        """Xᵀv, counted."""
        self._tally.add("passes")
        return self.vector(self._X_T @ self.table(v))

    def image_y(self, dy: Array) -> Array:
        """Y·dy, counted."""
        self._tally.add("passes_y")
        return self.vector(self.Y @ self.table(dy))

    def pull_y(self, v: Array) -> Array:
        """Yᵀv, counted."""
        self._tally.add("passes_y")
        return self.vector(self._Y_T @ self.table(v))

    def spread_y(self, v: Array) -> Array:
        """√Σ_i v_i² Y_ij² of every coefficient, counted: the size of the terms that Yᵀv sums."""
        self._tally.add("passes_y")
        return self.vector(column_squares(self._squared("Y"), self.table(v * v))) ** 0.5

    def loss_diagonal_x(self, bending: Bending) -> Array:
        """The diagonal of H_xx without the penalty, counted."""
        self._tally.add("passes")
        return self.vector(column_squares(self._squared("X"), self.table(bending.diagonal)))

    def loss_diagonal_y(self, bending: Bending) -> Array:
        """That of H_yy."""
        self._tally.add("passes_y")
        return self.vector(column_squares(self._squared("Y"), self.table(bending.diagonal)))

    @property
    def row_squares(self) -> tuple[Array, Array]:
        """|X_i|² and |Y_i|², for every margin: a product with each design, counted once a run though computed once."""
        if self._tally["row_norms"] == 0:
            for kind in ("row_norms", "passes", "passes_y"):
                self._tally.add(kind)
        found: tuple[Array, Array] = self._once(
            "row squares", lambda: tuple(self.repeated(row_squares(self._squared(name))) for name in "XY")
        )
        return found

    @property
    def row_squares_over_alpha_x(self) -> Array:
        """Σ_j X_ij²/alpha_x[j] over the penalised columns, where every column has its own; counted likewise."""
        if self._tally["row_norms_over_alpha_x"] == 0:
            for kind in ("row_norms_over_alpha_x", "passes"):
                self._tally.add(kind)
        inverse = self.penalty_x.inverse()
        return self._once(
            "row squares over alpha_x", lambda: self.vector(row_sums(self._squared("X"), self.table(inverse)))
        )

    def _squared(self, name: str) -> Any:
        return self._once(f"{name} squared", lambda: squared_entries(getattr(self, name)))

    def _exchanged(self) -> Self:
        twin = self._with(self.Y, self.X, self.target, self.weights)
        twin.penalty_x, twin.penalty_y = self.penalty_y, self.penalty_x
        known = self._found.get("constants", self._given)
        twin._given = None if known is None else known.swapped()
        return twin.counted(self._tally.swapped())

    def with_penalties(self, alpha_x: Any, alpha_y: Any) -> Self:
        """The same data, not checked again, under other penalties; what is known of the data alone is kept."""
        twin = self.counted(self._tally)
        twin.penalty_x = checked_penalty(alpha_x, "alpha_x", self.X.shape[1], self.weights).repeated(self.outputs)
        twin.penalty_y = checked_penalty(alpha_y, "alpha_y", self.Y.shape[1], self.weights).repeated(self.outputs)
        twin._given, twin._origin = None, None
        twin._found = {name: self._found[name] for name in _OF_DATA_ALONE if name in self._found}
        return twin

    def matching(self, model: Array) -> Self:
        if same_kind(model, self.target):
            return self
        twin = self._with(
            design_like(self.X, model, "X"),
            design_like(self.Y, model, "Y"),
            like(self.target, model),
            like(self.weights, model),
        )
        twin.penalty_x, twin.penalty_y = self.penalty_x.like(model), self.penalty_y.like(model)
        twin._origin = self
        return twin

    def identity(self) -> Iterable[Any]:
        designs = [*stored_arrays(self.X), *stored_arrays(self.Y)]
        penalties = [self.penalty_x.alpha, self.penalty_y.alpha]
        return [*super().identity(), *penalties, *designs, self.target, self.weights]

    def _with(self, X: Any, Y: Any, target: Array, weights: Array) -> Self:
        """The same model over other, already checked arrays."""
        twin = self.counted(self._tally)
        twin._found, twin._origin = {}, None
        twin.X, twin.Y, twin.target, twin.weights = X, Y, target, weights
        twin._X_T, twin._Y_T = X.T, Y.T
        twin.d_x, twin.d_y = self.outputs * X.shape[1], self.outputs * Y.shape[1]
        return twin


class LinearSlice(Slice):
    __slots__ = ("_problem", "_x_penalty", "margins")

    def __init__(self, x: Array, margins: Array, problem: LinearModel):
        super().__init__(x)
        self.margins = margins
        self._problem = problem
        self._x_penalty: float | None = None

    @property
    def x_penalty(self) -> float:
        if self._x_penalty is None:
            self._x_penalty = 0.5 * self._problem.penalty_x.product(self.x, self.x)
        return self._x_penalty

    def at(self, y: Array) -> Evaluation:
        return LinearEvaluation(self, y, self.margins + self._problem.image_y(y), self._problem)

    def along(self, dx: Array) -> Direction:
        return Direction(dx, (self._problem.image_x(dx),))

    def moved(self, direction: Direction, t: float) -> Slice:
        (image,) = direction.images
        return LinearSlice(self.x + t * direction.dx, self.margins + t * image, self._problem)


class LinearEvaluation(Evaluation):
    __slots__ = ("_bending", "_problem", "_residual", "_shared", "_slice", "_slope", "ahead", "margins")

    def __init__(
        self, slice_: LinearSlice, y: Array, margins: Array, problem: LinearModel, shared: Array | None = None
    ):
        super().__init__(slice_.x, y, problem._tally)
        self._slice = slice_
        self._problem = problem
        self.margins = margins
        self._shared = problem.prepare(margins) if shared is None else shared
        self._slope: Array | None = None
        self._residual: Array | None = None
        self._bending: Bending | None = None
        self.ahead: Ahead | None = None

    @property
    def problem(self) -> LinearModel:
        return self._problem

    @property
    def slice(self) -> LinearSlice:
        return self._slice

    @property
    def carried(self) -> tuple[Array, ...]:
        """Xx, Xx + Yy, and what the loss has prepared of them."""
        return self._slice.margins, self.margins, self._shared

    @property
    def slope_in_margins(self) -> Array:
        """The derivative of every sample's loss with respect to its margins."""
        if self._slope is None:
            self._slope = self._problem.slopes(self.margins, self._shared)
        return self._slope

    @property
    def residual(self) -> Array:
        """The derivative of the weighted mean loss with respect to every margin."""
        if self._residual is None:
            self._residual = self._problem.repeated(self._problem.weights) * self.slope_in_margins
        return self._residual

    @property
    def bending(self) -> Bending:
        """The second derivative of the weighted mean loss with respect to all margins."""
        if self._bending is None:
            self._bending = self._problem.bending(self.margins, self._shared)
        return self._bending

    def _other_terms(self) -> float:
        """|√w ℓ'| in units of sup ℓ'': what Xᵀ(w ℓ') sums may be large though the sum is small."""
        return math.sqrt(dot(self.residual, self.slope_in_margins) / self._problem.max_curvature)

    def _compute_value(self) -> float:
        p = self._problem
        losses = p.losses(self.margins, self._shared)
        return dot(p.weights, losses) + self._slice.x_penalty + 0.5 * p.penalty_y.product(self.y, self.y)

    def _compute_grad_x(self) -> Array:
        return self.problem.pull_x(self.residual) + self.problem.penalty_x.alpha * self.x

    def _compute_grad_y(self) -> Array:
        return self.problem.pull_y(self.residual) + self.problem.penalty_y.alpha * self.y

    def hess_yy(self) -> Array:
        self._tally.add("hess_yy")
        p = self.problem
        identity = array_namespace(self.y).eye(p.d_y, dtype=self.y.dtype, device=device(self.y))
        return self.bending.gram(p.Y) + p.penalty_y.alpha * identity

    def hess_yy_product(self, dy: Array) -> Array:
        p = self.problem
        return p.pull_y(self.bending.times(p.image_y(dy))) + p.penalty_y.alpha * dy

    def hess_yy_diagonal(self) -> Array:
        return self.problem.loss_diagonal_y(self.bending) + self.problem.penalty_y.alpha

    def pinned(self, hess_yy: Array) -> Array:
        return self.problem.pinned(hess_yy, self.problem.penalty_y)

    def without_flat(self, dy: Array) -> Array:
        return self.problem.without_flat(dy)

    def grad_x_ahead(self, dy: Array) -> Array:
        self._tally.add("grad_x")
        p = self.problem
        image = p.image_y(dy)
        residual = self.residual + self.bending.times(image)
        gradient = p.pull_x(residual) + p.penalty_x.alpha * self.x
        self.ahead = Ahead(dy, image, residual, gradient)
        return gradient

    def hess_yx(self, direction: Direction) -> Array:
        (image,) = direction.images
        return self.problem.pull_y(self.bending.times(image))

    def hess_product(self, direction: Direction, dy: Array) -> Array:
        self._tally.add("hess_product")
        p, (image,) = self.problem, direction.images
        change = p.image_y(dy)
        change += image
        product = p.pull_x(self.bending.times(change))
        product += p.penalty_x.alpha * direction.dx
        return product

    def hess_xx_diagonal(self) -> Array:
        return self.problem.loss_diagonal_x(self.bending) + self.problem.penalty_x.alpha

    def slope(self, direction: Direction, dy: Array) -> float:
        (image,) = direction.images
        in_x = dot(self.residual, image) + self.problem.penalty_x.product(self.x, direction.dx)
        return in_x + dot(self.grad_y, dy)

    def largest_move(self, direction: Direction, dy: Array) -> float:
        return self.problem.move_size(direction.images[0] + self.problem.image_y(dy))

    def hidden_by_rounding(self) -> float:
        """What an error in the margins of eps times their parts makes of f."""
        xp = array_namespace(self.margins)
        in_x = self._slice.margins
        error = (4.0 * self.eps) * (xp.abs(in_x) + xp.abs(self.margins - in_x))
        return dot(xp.abs(self.residual), error) + dot(self.bending.diagonal * error, error)

    def from_afar(self) -> Evaluation | None:
        level = self.problem.bending_from_afar(self.margins, self.slope_in_margins, self.bending)
        if level is None:
            return None
        twin = copy(self)
        twin._bending = level
        return twin

    def falls_for_ever(self, step: tuple[Direction, Array] | None = None, *, in_y_alone: bool = False) -> bool:
        """Whether the unpenalised part of the step, or of one of its blocks, has no sample against it."""
        p = self.problem
        if p.penalty_y.covers_all and (p.penalty_x.covers_all or in_y_alone):
            return False
        if step is None:
            in_x, in_y, dx, dy = self._slice.margins, self.margins - self._slice.margins, self.x, self.y
        else:
            direction, dy = step
            in_x, in_y, dx = direction.images[0], p.image_y(dy), direction.dx
        ways = []
        if not (p.penalty_x.covers_all or in_y_alone):
            free = p.penalty_x.free_part(dx)
            ways.append((in_x if p.penalty_x.most == 0.0 else p.image_x(free), free, 0.0 * dy))
        if not p.penalty_y.covers_all:
            free = p.penalty_y.free_part(dy)
            ways.append((in_y if p.penalty_y.most == 0.0 else p.image_y(free), 0.0 * dx, free))
        if len(ways) == 2:
            (in_x, dx, _), (in_y, _, dy) = ways
            ways.append((in_x + in_y, dx, dy))
        return any(self._may_recede(*way) and p.recedes(*way[1:]) for way in ways)

    def _may_recede(self, image: Array, dx: Array, dy: Array) -> bool:
        """Whether no sample is against a change of all margins, as far as norms can tell without a product."""
        p = self.problem
        in_x, in_y = p.row_squares
        slack = (_AGREEMENT * self.eps) * (norm(dx) * in_x**0.5 + norm(dy) * in_y**0.5)
        return not p.rises(p.counting(image), slack)


_FEW = 1000
"""So many unpenalised coefficients of a larger y are eliminated for a bound."""
_AGREEMENT = 1e3
"""A change of a margin of at most so many times eps times its terms is none, and a column that moves margins by so
small a part of what another one does has no part in a direction."""


def _normalised(sample_weight: Any, rows: int, model: Array) -> Array:
    if sample_weight is None:
        return like(np.full(rows, 1.0 / rows), model)
    values = checked_column(sample_weight, "sample_weight", rows, np.zeros(0))
    if (values < 0).any():
        wrong = int(np.flatnonzero(values < 0)[0])
        raise InputError(f"sample_weight[{wrong}] = {values[wrong]:g} is negative")
    if not values.any():
        raise InputError("sample_weight is zero everywhere; at least one sample must count")
    values = values / values.max()  # so that the sum of huge weights does not overflow
    return like(values / values.sum(), model)

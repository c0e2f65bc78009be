"""GLM: a generalised linear model with a penalty per block."""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from minmin.constants import Constants
from minmin.errors import InputError, near_names
from minmin.linalg import inverse_root, is_whole
from minmin.oracle import Ability, Certificate, Direction, Evaluation, KnownProblem, Slice, checked_constants
from minmin.problems.designs import (
    checked_column,
    checked_design,
    column_squares,
    design_like,
    in_one_dtype,
    plain,
    row_squares,
    row_sums,
    squared_entries,
    stored_arrays,
    vector_model,
    weighted_gram,
)
from minmin.problems.duality import Ahead, duality_certificate
from minmin.problems.losses import LOSSES
from minmin.problems.penalties import checked_penalty
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
from minmin.space import Array, dot, largest, like, machine_eps, norm, same_kind, to_numpy


class GLM(KnownProblem):
    """f(x, y) = weighted mean of ℓ(Xx + Yy, target) + ½ Σ_j alpha_x[j] x_j² + ½ Σ_k alpha_y[k] y_k².

    n rows; X is (n, d_x), Y is (n, d_y), margins and targets have shape (n,). When x is fixed its
    margins Xx are kept, so an inner step costs products with Y alone.

    Parameters
    ----------
    X, Y : arrays, or scipy.sparse of any format
        The design of the expensive and of the cheap block.
    target : array of shape (n,)
        logistic: labels in {-1, 1} or {0, 1}; squared: real; poisson: counts, or any numbers >= 0.
    loss : {"logistic", "squared", "poisson"}
        squared is ½(margin - target)²; poisson is exp(margin) - target·margin.
    alpha_x, alpha_y : float, or array of one a column
        The penalties, 0 or above (scikit-learn's C is 1/(n·alpha)); a number is that of every column of its block.
        There is no intercept: append a column of ones to Y, with the penalty 0 or another. Methods that need strong
        convexity refuse 0.
    sample_weight : array of shape (n,), optional
        Not negative; normalised to sum to one.
    constants : Constants, optional
        Where not given, proved ones are computed when first asked for: mu are the penalties, L are
        eigenvalue bounds of the designs, with the coupling of the blocks traded for the fewest calls. The
        Poisson loss has no global L: give constants that hold where a run goes.
    """

    abilities = Ability.VALUE | Ability.HESS_YY | Ability.HESS_PRODUCT | Ability.GAP

    def __init__(
        self,
        X: Any,
        Y: Any,
        target: Any,
        loss: str = "logistic",
        *,
        alpha_x: Any,
        alpha_y: Any,
        sample_weight: Any = None,
        constants: Constants | None = None,
    ):
        if not isinstance(loss, str) or loss not in LOSSES:
            raise InputError(f"unknown loss {loss!r}: {near_names(loss, LOSSES)}")
        self.loss = LOSSES[loss]
        self.X, self.Y = in_one_dtype(checked_design(X, "X"), checked_design(Y, "Y"))
        vectors = vector_model(self.X, self.Y)
        rows, self.d_x = self.X.shape
        self.d_y = self.Y.shape[1]
        if self.Y.shape[0] != rows:
            raise InputError(f"X has {rows} rows and Y {self.Y.shape[0]}; they must describe the same samples")
        self.penalty_x = checked_penalty(alpha_x, "alpha_x", self.d_x, vectors)
        self.penalty_y = checked_penalty(alpha_y, "alpha_y", self.d_y, vectors)
        self.target = self.loss.check(checked_column(target, "target", rows, vectors))
        self.weights = _normalised(sample_weight, rows, vectors)
        self._given = checked_constants(constants)
        self._X_T, self._Y_T = self.X.T, self.Y.T
        self._found = {}

    @property
    def alpha_x(self) -> float | Array:
        return self.penalty_x.alpha

    @property
    def alpha_y(self) -> float | Array:
        return self.penalty_y.alpha

    def constants_where(self, cost_ratio: float) -> Constants:
        return self._given if self._given is not None else self._proved_constants(cost_ratio)

    def _proved_constants(self, cost_ratio: float = EXPENSIVE) -> Constants:
        if isinstance(self._origin, GLM):
            return self._origin.constants_where(cost_ratio)
        if math.isinf(self.loss.max_curvature):
            return Constants(math.inf, math.inf, self.penalty_x.least, self.penalty_y.least, "proved")
        smoothness, convexity = self._once("valid pairs", self._valid_pairs)
        L_x, L_y, mu_x, mu_y = cheapest(smoothness, convexity, cost_ratio)
        return Constants(L_x, L_y, mu_x, mu_y, "proved")

    def _valid_pairs(self) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """Valid (L_x, L_y) and (mu_x, mu_y).

        inf ℓ'' · G ⪯ H - diag(alpha) ⪯ sup ℓ'' · G with the Gram matrix G = [X Y]ᵀ diag(w) [X Y].
        """
        X, Y = plain(self.X), plain(self.Y)
        weights = to_numpy(self.weights).astype(np.float64)
        most, least = self.loss.max_curvature, self.loss.min_curvature
        convexity = [(0.0, 0.0)]
        if self.d_x + self.d_y <= EXACT_UP_TO:
            cross = gram(X, weights, Y)
            G = np.block([[gram(X, weights), cross], [cross.T, gram(Y, weights)]])
            smoothness = smoothness_frontier(most * G, self.d_x)
            if least > 0.0:
                convexity = [*convexity, *convexity_frontier(least * G, self.d_x)]
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
        return _GLMSlice(x, self.image_x(x), self)

    def resumed(self, x: Array, y: Array, carried: tuple[Array, ...]) -> Evaluation:
        if not carried:
            return super().resumed(x, y, carried)
        in_x, margins, shared = carried
        return _GLMEvaluation(_GLMSlice(x, in_x, self), y, margins, self, shared)

    def gap_bound(self, evaluation: Evaluation) -> float:
        """By strong convexity, or, where a block has none, by duality, for one pass and one y-Hessian more."""
        bound = self.convexity_bound(evaluation)
        if math.isfinite(bound):
            return bound
        root = inverse_root(evaluation.hess_yy())
        evaluation.grad_x_ahead(-(root.T @ (root @ evaluation.grad_y)))
        return self.certificate(evaluation, root if is_whole(root) else None).bound

    def certificate(self, evaluation: Evaluation, y_root: Array | None = None) -> Certificate:
        """The duality gap, or the bound by strong convexity where only the loss or the user vouches for that."""
        assert isinstance(evaluation, _GLMEvaluation)
        by_duality = duality_certificate(evaluation, y_root)
        if math.isinf(by_duality.bound) and (self._given is not None or self.loss.min_curvature > 0.0):
            return super().certificate(evaluation, y_root)
        return by_duality

    def counting(self, v: Array) -> Array:
        """v with zeros for samples of no weight."""
        return array_namespace(v).astype(self.weights > 0, v.dtype) * v

    def recedes(self, dx: Array, dy: Array) -> bool:
        """Whether no sample's loss ever rises along (dx, dy), and some sample's falls, whatever the columns' units are.

        What rounding has left of columns without a part in it is taken out first; then the only rounding is that of
        one product, which every row's own terms bound. Three products with each design, all counted.
        """
        designs = ((self._squared("X"), dx, "passes"), (self._squared("Y"), dy, "passes_y"))
        moves = []
        for squared, v, kind in designs:
            self._tally.add(kind)
            moves.append(column_squares(squared, self.weights) ** 0.5 * array_namespace(v).abs(v))
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
            terms = terms + row_sums(squared, v * v)
        change = self.counting(self.image_x(x) + self.image_y(y))
        slack = (_AGREEMENT * eps) * terms**0.5
        return not self.loss.rises(change, self.target, slack) and self.loss.falls(change, self.target, slack)

    def image_x(self, dx: Array) -> Array:
        """X·dx, counted."""
        self._tally.add("passes")
        return self.X @ dx

    def pull_x(self, v: Array) -> Array:
        """Xᵀv, counted."""
        self._tally.add("passes")
        return self._X_T @ v

    def image_y(self, dy: Array) -> Array:
        """Y·dy, counted."""
        self._tally.add("passes_y")
        return self.Y @ dy

    def pull_y(self, v: Array) -> Array:
        """Yᵀv, counted."""
        self._tally.add("passes_y")
        return self._Y_T @ v

    def spread_y(self, v: Array) -> Array:
        """√Σ_i v_i² Y_ij² of every column, counted: the size of the terms that Yᵀv sums."""
        self._tally.add("passes_y")
        return column_squares(self._squared("Y"), v * v) ** 0.5

    @property
    def row_squares(self) -> tuple[Array, Array]:
        """|X_i|² and |Y_i|² of every row: a product with each design, counted once a run though computed once."""
        if self._tally["row_norms"] == 0:
            for kind in ("row_norms", "passes", "passes_y"):
                self._tally.add(kind)
        found: tuple[Array, Array] = self._once(
            "row squares", lambda: (row_squares(self._squared("X")), row_squares(self._squared("Y")))
        )
        return found

    @property
    def row_squares_over_alpha_x(self) -> Array:
        """Σ_j X_ij²/alpha_x[j] over the penalised columns, where every column has its own: counted likewise."""
        if self._tally["row_norms_over_alpha_x"] == 0:
            for kind in ("row_norms_over_alpha_x", "passes"):
                self._tally.add(kind)
        return self._once("row squares over alpha_x", lambda: row_sums(self._squared("X"), self.penalty_x.inverse()))

    def _squared(self, name: str) -> Any:
        return self._once(f"{name} squared", lambda: squared_entries(getattr(self, name)))

    def _exchanged(self) -> GLM:
        twin = self._with(self.Y, self.X, self.target, self.weights)
        twin.penalty_x, twin.penalty_y = self.penalty_y, self.penalty_x
        known = self._found.get("constants", self._given)
        twin._given = None if known is None else known.swapped()
        return twin.counted(self._tally.swapped())

    def with_penalties(self, alpha_x: Any, alpha_y: Any) -> GLM:
        """The same data under other penalties, not checked again; what is known of the data alone is kept."""
        twin = self.counted(self._tally)
        twin.penalty_x = checked_penalty(alpha_x, "alpha_x", self.d_x, self.target)
        twin.penalty_y = checked_penalty(alpha_y, "alpha_y", self.d_y, self.target)
        twin._given, twin._origin = None, None
        twin._found = {name: self._found[name] for name in _OF_DATA_ALONE if name in self._found}
        return twin

    def matching(self, model: Array) -> GLM:
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
        return [*super().identity(), self.loss.name, self.alpha_x, self.alpha_y, *designs, self.target, self.weights]

    def _with(self, X: Any, Y: Any, target: Array, weights: Array) -> GLM:
        """The same model over other, already checked arrays."""
        twin = self.counted(self._tally)
        twin._found, twin._origin = {}, None
        twin.X, twin.Y, twin.target, twin.weights = X, Y, target, weights
        twin._X_T, twin._Y_T = X.T, Y.T
        twin.d_x, twin.d_y = X.shape[1], Y.shape[1]
        return twin


class _GLMSlice(Slice):
    __slots__ = ("_problem", "_x_penalty", "margins")

    def __init__(self, x: Array, margins: Array, problem: GLM):
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
        self._problem._tally.add("passes_y")
        return _GLMEvaluation(self, y, self.margins + self._problem.Y @ y, self._problem)

    def along(self, dx: Array) -> Direction:
        return Direction(dx, (self._problem.image_x(dx),))

    def moved(self, direction: Direction, t: float) -> Slice:
        (image,) = direction.images
        return _GLMSlice(self.x + t * direction.dx, self.margins + t * image, self._problem)


class _GLMEvaluation(Evaluation):
    __slots__ = ("_curvature", "_problem", "_residual", "_shared", "_slice", "_slope", "ahead", "margins")

    def __init__(self, slice_: _GLMSlice, y: Array, margins: Array, problem: GLM, shared: Array | None = None):
        super().__init__(slice_.x, y, problem._tally)
        self._slice = slice_
        self._problem = problem
        self.margins = margins
        self._shared = problem.loss.prepare(margins, problem.target) if shared is None else shared
        self._slope: Array | None = None
        self._residual: Array | None = None
        self._curvature: Array | None = None
        self.ahead: Ahead | None = None

    @property
    def problem(self) -> GLM:
        return self._problem

    @property
    def slice(self) -> _GLMSlice:
        return self._slice

    @property
    def carried(self) -> tuple[Array, ...]:
        """Xx, Xx + Yy, and what the loss has prepared of them."""
        return self._slice.margins, self.margins, self._shared

    @property
    def slope_in_margins(self) -> Array:
        """The derivative of every sample's loss with respect to its margin."""
        if self._slope is None:
            self._slope = self._problem.loss.slope(self.margins, self._problem.target, self._shared)
        return self._slope

    @property
    def residual(self) -> Array:
        """The derivative of the weighted mean loss with respect to every margin."""
        if self._residual is None:
            self._residual = self._problem.weights * self.slope_in_margins
        return self._residual

    @property
    def curvature(self) -> Array:
        """The second derivative of the weighted mean loss with respect to every margin."""
        if self._curvature is None:
            p = self._problem
            self._curvature = p.weights * p.loss.curvature(self.margins, p.target, self._shared)
        return self._curvature

    def _other_terms(self) -> float:
        """|√w ℓ'| in units of sup ℓ'': what Xᵀ(w ℓ') sums may be large though the sum is small."""
        return math.sqrt(dot(self.residual, self.slope_in_margins) / self._problem.loss.max_curvature)

    def _compute_value(self) -> float:
        p = self._problem
        losses = p.loss.value(self.margins, p.target, self._shared)
        return dot(p.weights, losses) + self._slice.x_penalty + 0.5 * p.penalty_y.product(self.y, self.y)

    def _compute_grad_x(self) -> Array:
        return self.problem.pull_x(self.residual) + self.problem.alpha_x * self.x

    def _compute_grad_y(self) -> Array:
        return self.problem.pull_y(self.residual) + self.problem.alpha_y * self.y

    def hess_yy(self) -> Array:
        self._tally.add("hess_yy")
        p = self.problem
        identity = array_namespace(self.y).eye(p.d_y, dtype=self.y.dtype, device=device(self.y))
        return weighted_gram(p.Y, self.curvature) + p.alpha_y * identity

    def hess_yy_product(self, dy: Array) -> Array:
        p = self.problem
        return p.pull_y(self.curvature * p.image_y(dy)) + p.alpha_y * dy

    def hess_yy_diagonal(self) -> Array:
        self._tally.add("passes_y")
        return column_squares(self.problem._squared("Y"), self.curvature) + self.problem.alpha_y

    def grad_x_ahead(self, dy: Array) -> Array:
        self._tally.add("grad_x")
        p = self.problem
        image = p.image_y(dy)
        residual = self.residual + self.curvature * image
        gradient = p.pull_x(residual) + p.alpha_x * self.x
        self.ahead = Ahead(dy, image, residual, gradient)
        return gradient

    def hess_yx(self, direction: Direction) -> Array:
        (image,) = direction.images
        return self.problem.pull_y(self.curvature * image)

    def hess_product(self, direction: Direction, dy: Array) -> Array:
        self._tally.add("hess_product")
        p, (image,) = self.problem, direction.images
        bent = p.image_y(dy)
        bent += image
        bent *= self.curvature
        product = p.pull_x(bent)
        product += p.alpha_x * direction.dx
        return product

    def hess_xx_diagonal(self) -> Array:
        self._tally.add("passes")
        return column_squares(self.problem._squared("X"), self.curvature) + self.problem.alpha_x

    def slope(self, direction: Direction, dy: Array) -> float:
        (image,) = direction.images
        in_x = dot(self.residual, image) + self.problem.penalty_x.product(self.x, direction.dx)
        return in_x + dot(self.grad_y, dy)

    def largest_move(self, direction: Direction, dy: Array) -> float:
        """The largest change of a margin; zero for least squares.

        For the other losses the third derivative is at most the second in size, so that over one unit of the margin the
        second changes by a factor e at most.
        """
        if math.isinf(self.problem.loss.conjugate_radius):
            return 0.0
        return largest(direction.images[0] + self.problem.image_y(dy))

    def hidden_by_rounding(self) -> float:
        """What an error in the margins of eps times their parts makes of f."""
        xp = array_namespace(self.margins)
        in_x = self._slice.margins
        error = (4.0 * self.eps) * (xp.abs(in_x) + xp.abs(self.margins - in_x))
        return dot(xp.abs(self.residual), error) + dot(self.curvature * error, error)

    def from_afar(self) -> Evaluation | None:
        """With the curvature, for every loss, of a parabola whose slope is right here and at the margin zero.

        For the logistic loss that parabola lies above it (Jaakkola and Jordan, 2000), so a step never raises f.
        """
        p = self.problem
        if math.isinf(p.loss.conjugate_radius):
            return None
        xp = array_namespace(self.margins)
        zero = xp.zeros_like(self.margins)
        change = self.slope_in_margins - p.loss.slope(zero, p.target, p.loss.prepare(zero, p.target))
        far = xp.abs(self.margins) > 1.0
        chord = p.weights * change / xp.where(far, self.margins, xp.ones_like(zero))
        twin = copy(self)
        twin._curvature = xp.where(far, xp.maximum(self.curvature, chord), self.curvature)
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
        return not p.loss.rises(p.counting(image), p.target, slack)


_OF_DATA_ALONE = ("X squared", "Y squared", "row squares")
"""What is found once and does not depend on the penalties."""

_AGREEMENT = 1e3
"""A change of a margin of at most so many times eps times its terms is none, and a column that moves margins by so
small a part of what another one does has no part in a direction."""


def _normalised(sample_weight: Any, rows: int, model: Array) -> Array:
    if sample_weight is None:
        return like(np.full(rows, 1.0 / rows), model)
    weights = checked_column(sample_weight, "sample_weight", rows, model)
    values = to_numpy(weights).astype(np.float64)
    if (values < 0).any():
        wrong = int(np.flatnonzero(values < 0)[0])
        raise InputError(f"sample_weight[{wrong}] = {values[wrong]:g} is negative")
    if not values.any():
        raise InputError("sample_weight is zero everywhere; at least one sample must count")
    values = values / values.max()  # so that the sum of huge weights does not overflow
    return like(values / values.sum(), model)

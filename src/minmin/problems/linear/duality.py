"""The duality gap of a linear model: a bound that needs no constants, only the data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from array_api_compat import device

from minmin.core.arrays import Array, array_eps, inner, largest, namespace_of
from minmin.core.bound import Bound
from minmin.core.rounding import rounding_error
from minmin.core.vectors import dot, norm, square
from minmin.numerics.dense import DENSE_UP_TO, inverse_root, is_full_rank
from minmin.problems.linear.penalized_design import inner_of_rows
from minmin.problems.linear.penalties import Penalty

if TYPE_CHECKING:
    from minmin.problems.linear.evaluation import LinearEvaluation, LinearYStepModel


_NEGLIGIBLE = 1e-6
"""Rounding errors count as small if they alone give at most this fraction of a bound: they add 0.2 % to it at most, so
rough upper limits of them are good enough."""


def bound_by_duality(
    evaluation: LinearEvaluation, after: LinearYStepModel, y_root: Array | None, enough: float
) -> tuple[Bound, tuple[float, float]]:
    """A bound on f - f* from the quadratic model after a step in y, and the rounding errors in both gradients.

    ``y_root`` is a matrix K with KᵀK = H_yy⁻¹, if one is known. A bound of at most ``enough`` need not be sharper.

    For every dual point θ, with losses ℓ_i of weight w_i and their conjugates ℓ_i*, and A = diag(α_x), B = diag(α_y),
    f(x, y) - f* <= Σ w_i [ℓ_i(m_i) + ℓ_i*(θ_i/w_i) - m_i θ_i/w_i] + ½|Xᵀθ + Ax|² in A⁻¹ + ½|Yᵀθ + By|² in B⁻¹
    (Fenchel and Young), where "in A⁻¹" means the norm √(vᵀA⁻¹v). θ_i = w_i (ℓ_i' + ℓ_i'' u_i) with u = Y·dy is the
    residual of the quadratic model after the step dy, so for a Newton step in y the last term is nearly zero. The
    bracket is at most <u_i, ℓ_i'' u_i> if u_i is small enough (:meth:`Loss.is_in_dual_domain`). So no conjugate has to
    be computed, and Xᵀθ is the gradient that the step in x needs anyway. Below, h is the second derivative of the
    weighted mean loss.

    For an unpenalised column, the entry of Xᵀθ or Yᵀθ must be zero. In y only rounding errors g are left, and a further
    step -H_yy⁻¹g removes them. With δ = |K·g| this step adds at most δ to |√h u| and |√h X|δ to Xᵀθ. What it leaves in
    the penalised columns of y, BH_yy⁻¹g, is covered by the same δ: |√h Y H_yy⁻¹g|² + |BH_yy⁻¹g|² in B⁻¹ is δ².

    If H_yy was not factorised, this step is taken in the unpenalised columns of y alone, with the K of those columns.
    It adds at most |√h Y|δ to the other columns. Without a K, or with an unpenalised column in x, there is no bound.
    """
    gradient_y = evaluation.model.y_block.gradient(after.residual, evaluation.y)
    rounding = Rounding(evaluation, after, rough=True)
    value, floor = _bound_with(rounding, evaluation, after, gradient_y, y_root)
    if rounding.is_rough and (value <= enough or floor <= _NEGLIGIBLE * value < math.inf):
        floor = 0.0
    elif rounding.is_rough:
        rounding = Rounding(evaluation, after, rough=False)
        value, floor = _bound_with(rounding, evaluation, after, gradient_y, y_root)
    loss, hessian = evaluation.model.loss, evaluation.margin_hessian
    proved = loss.is_in_dual_domain(after.image, hessian) and math.isfinite(value)
    return (
        Bound(value if proved else math.inf, floor if math.isfinite(floor) else 0.0, "data" if proved else "estimate"),
        rounding.noise,
    )


def _bound_with(
    rounding: Rounding,
    evaluation: LinearEvaluation,
    after: LinearYStepModel,
    gradient_y: Array,
    y_root: Array | None,
) -> tuple[float, float]:
    """The bound with these rounding errors, and what it would be if both gradients were rounding errors."""
    in_y = bound_in_y(evaluation, gradient_y, y_root, rounding)
    value_in_x = floor_in_x = math.inf
    penalty = evaluation.model.x_block.penalty
    if penalty.covers_all:
        noise, size = rounding.in_x_over_penalty()
        value_in_x = 0.5 * square(penalty.dual_norm(after.grad_x) + noise + size * in_y.left)
        floor_in_x = 0.5 * square(noise + size * in_y.floor_left)
    curved = math.sqrt(max(inner(evaluation.margin_hessian.times(after.image), after.image), 0.0))
    return square(curved + in_y.left) + value_in_x + in_y.value, square(in_y.floor_left) + floor_in_x + in_y.floor


class _BoundInY(NamedTuple):
    """What y contributes to a bound.

    Attributes
    ----------
    value, floor : float
        From the penalised columns, and what it would be if the gradient were only noise.
    left, floor_left : float
        δ, the cost of removing the gradient of the unpenalised columns, and what it would be for the noise alone.
    """

    value: float
    floor: float
    left: float = 0.0
    floor_left: float = 0.0


def bound_in_y(evaluation: LinearEvaluation, gradient: Array, y_root: Array | None, rounding: Rounding) -> _BoundInY:
    penalty = evaluation.model.y_block.penalty
    if rounding.y_sizes is None:
        size, noise = norm(gradient), rounding.noise[1]
        return _BoundInY(square(size + noise) / (2.0 * penalty.least), square(noise) / (2.0 * penalty.least))
    noise_by_column = rounding.noise_by_y_column(rounding.y_sizes)
    with_noise, noise_alone = (penalty.dual_norm(g) for g in (abs(gradient) + noise_by_column, noise_by_column))
    if penalty.covers_all:
        return _BoundInY(0.5 * square(with_noise), 0.5 * square(noise_alone))
    y_rounding = 2.0 * dot(noise_by_column, rounding.y_terms)  # since y itself is rounded
    if y_root is not None:
        return _BoundInY(y_rounding, y_rounding, *_cost_to_remove(y_root, gradient, noise_by_column))
    root, places = _unpenalised_y_root(evaluation)
    gradient_there, noise_there = (_select(v, places) for v in (gradient, noise_by_column))
    left, floor_left = _cost_to_remove(root, gradient_there, noise_there)
    size_y = penalty.dual_norm(rounding.y_sizes)
    return _BoundInY(
        y_rounding + 0.5 * square(with_noise + size_y * left),
        y_rounding + 0.5 * square(noise_alone + size_y * floor_left),
        left,
        floor_left,
    )


class Rounding:
    """The expected size of rounding errors.

    For a block with one penalty, one number is enough, and it costs nothing. A block with a penalty per column may have
    columns in very different units. Then errors in y are computed per column, and errors in x in the norm of the
    penalties. That takes two more products with Y, so rough upper limits of them are tried first.

    Attributes
    ----------
    noise : pair of float
        The errors in ∇ₓ and ∇ᵧ.
    y_terms : array
        |y| + |dy| of every coefficient.
    y_sizes : array or None
        √Σ h_i Y_ij² of every coefficient of y; None if y has one penalty above 0.
    is_rough : bool
        Whether errors in y are upper limits, from the largest h_i and residual, that could be computed more exactly.
    """

    def __init__(self, evaluation: LinearEvaluation, after: LinearYStepModel, *, rough: bool):
        x_block, y_block = evaluation.model.x_block, evaluation.model.y_block
        h, self._x = evaluation.margin_hessian.diagonal, evaluation.x
        self._x_block, self._y_block, self._residual_squares = x_block, y_block, after.residual * after.residual
        self._eps = array_eps(evaluation.x)
        self.y_terms = abs(evaluation.y) + abs(after.dy)
        one_alpha_y = y_block.penalty.is_one_number and y_block.penalty.covers_all
        self.is_rough = rough and not one_alpha_y
        self.y_sizes = None if one_alpha_y else self._y_term_sizes(h)
        rows = x_block.row_norms_squared(), y_block.row_norms_squared()
        self._sizes = tuple(math.sqrt(inner_of_rows(h, squares)) for squares in rows)
        # Margins have errors of eps·(|X_i||x| + |Y_i||y|), and residuals have the curvature times that.
        in_x, in_y = self._sizes[0] * norm(self._x), self._sizes[1] * norm(self.y_terms)
        if not x_block.penalty.is_one_number:
            self._size_over_penalty = math.sqrt(inner_of_rows(h, x_block.row_norms_over_penalty()))
            in_x = min(in_x, self._size_over_penalty * math.sqrt(x_block.penalty.product(self._x, self._x)))
        if self.y_sizes is not None:
            in_y = dot(self.y_sizes, self.y_terms)
        self._margin_error = in_x + in_y
        penalties = norm(x_block.penalty.alpha * self._x), norm(y_block.penalty.alpha * self.y_terms)
        noise_x, noise_y = (
            rounding_error(self._eps, self._residual_size(squares) + penalty + size * self._margin_error)
            for squares, size, penalty in zip(rows, self._sizes, penalties, strict=True)
        )
        self.noise = noise_x, noise_y

    @property
    def size_x(self) -> float:
        """|√h X|, in the Frobenius norm."""
        return self._sizes[0]

    def _y_term_sizes(self, squares: Array) -> Array:
        """√Σ_i r_i² Y_ij² for every coefficient of y, or a rough upper limit of it; ``squares`` are r_i²."""
        if self.is_rough:
            return math.sqrt(largest(squares)) * self._y_block.column_norms()
        return self._y_block.term_sizes(squares)

    def _residual_size(self, row_squares: Array) -> float:
        """√Σ_i r_i² |row i|²."""
        return math.sqrt(inner_of_rows(self._residual_squares, row_squares))

    def noise_by_y_column(self, y_sizes: Array) -> Array:
        """The errors in every entry of ∇ᵧ."""
        terms = self._y_term_sizes(self._residual_squares) + self._margin_error * y_sizes
        return rounding_error(self._eps, terms + self._y_block.penalty.alpha * self.y_terms)

    def in_x_over_penalty(self) -> tuple[float, float]:
        """The error in ∇ₓ in the norm of A⁻¹, and |√h X| in that norm."""
        penalty = self._x_block.penalty
        if penalty.is_one_number:
            root = math.sqrt(penalty.least)
            return self.noise[0] / root, self._sizes[0] / root
        size = self._size_over_penalty
        terms = self._residual_size(self._x_block.row_norms_over_penalty())
        in_penalty = math.sqrt(penalty.product(self._x, self._x))
        return rounding_error(self._eps, terms + in_penalty + size * self._margin_error), size


def _unpenalised_y_root(evaluation: LinearEvaluation) -> tuple[Array | None, Array | None]:
    """A matrix K with KᵀK = H⁻¹ for the unpenalised columns of y alone, and the indices of their coefficients.

    K is None if there are too many such columns, if all columns are unpenalised, or if H is singular.
    """
    block = evaluation.model.y_block
    if block.penalty.is_one_number:
        return None, None
    places, design = block.find_unpenalised()
    if places.size > DENSE_UP_TO:
        return None, None
    hessian = evaluation.margin_hessian.gram(design)
    gauge = evaluation.model.loss.gauge(Penalty(0.0))
    root = inverse_root(hessian if gauge is None else gauge.make_invertible(hessian))
    xp = namespace_of(evaluation.y)
    return root if is_full_rank(root) else None, xp.asarray(places, device=device(evaluation.y))


def _select(v: Array, places: Array | None) -> Array:
    return v if places is None else namespace_of(v).take(v, places, axis=0)


def _cost_to_remove(root: Array | None, gradient: Array, noise: Array) -> tuple[float, float]:
    """δ = |K·g| for a gradient with this noise, and for the noise alone."""
    if root is None:
        return math.inf, math.inf
    xp = namespace_of(gradient)
    unseen = ~xp.any(root != 0, axis=0)
    if bool(xp.any(unseen & (xp.abs(gradient) + noise > 0))):
        return math.inf, math.inf
    by_noise = norm(xp.reshape(root * noise, (-1,)))
    return norm(root @ gradient) + by_noise, by_noise

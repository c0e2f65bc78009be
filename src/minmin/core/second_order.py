"""Second order: what Newton's method needs from a problem besides values and gradients; and f + g, asked for apart."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from minmin.core.arrays import Array, replace_zeros
from minmin.core.bound import Bound, Constants, half_square_over
from minmin.core.evaluation import Evaluation
from minmin.core.preconditioner import Preconditioner
from minmin.core.problem import Problem, Slice
from minmin.core.vectors import Vector, norm

Images = tuple[Any, ...]
"""Arrays, or one tuple of arrays for each of several problems that share x."""


class Direction:
    """A direction dx with its images: what a slice has computed from it, linear in dx (for a GLM, X·dx)."""

    __slots__ = ("dx", "images")

    def __init__(self, dx: Array, images: Images):
        self.dx = dx
        self.images = images

    def times(self, t: float) -> Direction:
        """t times this direction."""
        return Direction(t * self.dx, _times(self.images, t))

    def split(self) -> list[Direction]:
        """This direction with the images of each part, where several problems share x."""
        return [Direction(self.dx, images) for images in self.images]

    def add(self, t: float, other: Direction) -> Direction:
        """Add t·``other`` to this direction in place, and return it."""
        self.dx += t * other.dx
        self.images = _add(self.images, t, other.images)
        return self


def _times(images: Images, t: float) -> Images:
    return tuple(_times(a, t) if isinstance(a, tuple) else t * a for a in images)


def _add(images: Images, t: float, others: Images) -> Images:
    pairs = zip(images, others, strict=True)
    return tuple(_add(a, t, b) if isinstance(a, tuple) else _add_in_place(a, t * b) for a, b in pairs)


def _add_in_place(a: Array, b: Array) -> Array:
    a += b
    return a


@dataclass(frozen=True)
class YStepModel:
    """The quadratic model of f after a step dy in y: the step, and the model's ∇ₓ there, ∇ₓf + H_xy·dy."""

    dy: Vector
    grad_x: Vector


class Gauge(Protocol):
    """Directions in y along which f never changes, so that H_yy is singular although f has a minimum."""

    def make_invertible(self, hess_yy: Array) -> Array:
        """H_yy, changed so that it is invertible along these directions."""

    def project(self, dy: Array) -> Array:
        """Remove from a step in y what rounding has added along these directions."""


class SecondOrderEvaluation(Evaluation):
    """f at one point with the blocks H_xx, H_xy, H_yx, H_yy of its Hessian."""

    __slots__ = ()

    @property
    @abstractmethod
    def slice(self) -> SecondOrderSlice:
        """The slice that this evaluation belongs to."""

    @property
    def parts(self) -> Sequence[SecondOrderEvaluation]:
        """One evaluation per part of y, like :attr:`Slice.parts`."""
        return (self,)

    @property
    def cache(self) -> tuple[Array, ...]:
        """What :meth:`Problem.evaluate` needs to repeat this evaluation without a matrix product."""
        return ()

    def forget(self) -> None:
        """Free memory: called when this evaluation is not likely to be used again. What is, is computed again."""

    @property
    def gauge(self) -> Gauge | None:
        """Directions in this part of y along which f never changes, or None if none are known."""
        return None

    @abstractmethod
    def hess_yy(self) -> Array:
        """H_yy of one part as a dense matrix."""

    @abstractmethod
    def hess_yy_product(self, dy: Array) -> Array:
        """H_yy·dy of one part, if y is too large for :meth:`hess_yy`."""

    @abstractmethod
    def hess_yy_diagonal(self) -> Array:
        """The diagonal of H_yy of one part."""

    @abstractmethod
    def hess_xx_diagonal(self) -> Vector:
        """The diagonal of H_xx."""

    def focus(self, moves: Array) -> SecondOrderEvaluation:
        """The same evaluation, where products with directions in x need to be right only for coordinates that move.

        ``moves`` is an array of bool; directions are zero elsewhere, and the products there do not matter.
        """
        return self

    def x_preconditioner(self) -> Preconditioner:
        """A matrix like the Hessian of F, for conjugate gradients."""
        return Preconditioner(replace_zeros(self.hess_xx_diagonal()))

    @abstractmethod
    def hess_yx(self, direction: Direction) -> Vector:
        """H_yx·dx."""

    @abstractmethod
    def hess_product(self, direction: Direction, dy: Vector) -> Vector:
        """The x block of the Hessian's product with (dx, dy): H_xx·dx + H_xy·dy."""

    @abstractmethod
    def model_after(self, dy: Vector) -> YStepModel:
        """The quadratic model of f after a step dy in y; counted as one ``grad_x``."""

    @abstractmethod
    def slope(self, direction: Direction, dy: Vector) -> float:
        """The derivative of f along (dx, dy), without an expensive product if possible."""

    @abstractmethod
    def model_distance(self, direction: Direction, dy: Vector) -> float:
        """The length of the step (dx, dy) that led here, in units of the region where its curvature is about right.

        Within one unit the curvature of f changes by a factor e at most. Zero if the quadratic model is exact.
        """

    def value_noise(self) -> float:
        """The rounding error in f; zero if it is not known."""
        return 0.0

    def with_surrogate_curvature(self) -> SecondOrderEvaluation | None:
        """The same point with a surrogate Hessian that does not vanish far from a minimum.

        It makes long steps possible at far starts; it is not the Hessian of f. None if the Hessian of f never vanishes.
        """
        return None

    def is_unbounded_along(self, step: tuple[Direction, Vector] | None = None, *, in_y_alone: bool = False) -> bool:
        """Whether a step (dx, dy) proves that f has no minimum.

        It does if f never rises along the step, from any point, and falls from some point. False if nothing is proved.

        Parameters
        ----------
        step : pair of Direction and vector, optional
            By default the step from zero to this point.
        in_y_alone : bool
            Use only the step's dy.
        """
        return False


class SecondOrderSlice(Slice):
    """y ↦ f(x, y) for a fixed x, which can be moved along a direction in x without a product."""

    __slots__ = ()

    @abstractmethod
    def at(self, y: Vector) -> SecondOrderEvaluation: ...

    @abstractmethod
    def along(self, dx: Vector) -> Direction:
        """The direction dx with its images."""

    @abstractmethod
    def moved(self, direction: Direction, t: float) -> SecondOrderSlice:
        """The slice at x + t·dx, computed from the direction's images without a product."""


class SecondOrderProblem(Problem):
    """A problem whose evaluations have Hessians.

    A subclass that has them for some data only sets ``is_second_order`` itself.
    """

    is_second_order = True
    has_y_hessian = True

    @abstractmethod
    def fix(self, x: Vector) -> SecondOrderSlice: ...

    def evaluate(self, x: Vector, y: Vector, cache: tuple[Array, ...] = ()) -> SecondOrderEvaluation:
        return self.fix(x).at(y)

    def bound_after(
        self, evaluation: Any, after: Any, y_root: Array | None, enough: float = 0.0
    ) -> tuple[Bound, tuple[float, float]]:
        """The best bound at an evaluation, without another ∇ₓ if possible, and the rounding errors in both gradients.

        Parameters
        ----------
        evaluation : SecondOrderEvaluation
        after : YStepModel
            The evaluation's :meth:`~SecondOrderEvaluation.model_after` the Newton step in y.
        y_root : array or None
            A matrix K with KᵀK = H_yy⁻¹, if one is known.
        enough : float
            A bound of at most this need not be sharper.
        """
        return self.bound(evaluation), self.gradient_noise(evaluation)

    def make_gradient_test(self, gap: float) -> Callable[[Vector], bool]:
        """A test whether this ∇ₓ of the quadratic model, left by a step, adds at most ``gap`` to the bound after it."""
        constants = self.constants
        mu = 0.0 if constants is None else constants.mu_x
        return lambda gradient: half_square_over(norm(gradient), mu) <= gap


class SplitProblem(SecondOrderProblem):
    """f(x, y) + g(x, y), with f more expensive than g.

    Attributes
    ----------
    f, g : Problem
        Both over the same variables.
    """

    terms: tuple[Problem, ...]

    @property
    def f(self) -> Problem:
        return self.terms[0]

    @property
    def g(self) -> Problem:
        return self.terms[1]

    @property
    @abstractmethod
    def constants_of_both(self) -> tuple[Constants, Constants] | None:
        """The constants of f and of g, whose ``blocks`` say so; None if those of one are not known."""

    @abstractmethod
    def evaluate_f(self, x: Vector, y: Vector) -> Evaluation:
        """f alone at (x, y). A gradient there counts as one "grad_f", whatever the block."""

    @abstractmethod
    def evaluate_g(self, x: Vector, y: Vector) -> Evaluation:
        """g alone at (x, y). A gradient there counts as one "grad_g", whatever the block, and as nothing else."""

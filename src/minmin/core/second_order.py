"""Second order: what Newton's method asks of a problem, beside values and gradients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from minmin.core.arrays import Array
from minmin.core.bound import Bound
from minmin.core.problem import Evaluation, Problem, Slice
from minmin.core.vectors import Vector

Images = tuple[Any, ...]
"""Arrays, or tuples of them for the terms of a Sum."""


class Direction:
    """A direction dx with what a slice has computed of it, all of it linear in dx (for a GLM the image X·dx)."""

    __slots__ = ("dx", "images")

    def __init__(self, dx: Array, images: Images):
        self.dx = dx
        self.images = images

    def times(self, t: float) -> Direction:
        """t times this direction."""
        return Direction(t * self.dx, _times(self.images, t))

    def add(self, t: float, other: Direction) -> Direction:
        """This direction, which becomes itself + t·``other``."""
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
    """The quadratic model of f after a step dy in y: the step, and ∇ₓ of the model there, ∇ₓf + H_xy·dy."""

    dy: Vector
    grad_x: Vector


class Gauge(Protocol):
    """Directions in y along which f never changes, so that H_yy is singular there for no harm."""

    def fix(self, hess_yy: Array) -> Array:
        """H_yy, made invertible along these directions."""

    def project(self, dy: Array) -> Array:
        """A step in y without its part, by rounding, along them."""


class SecondOrderEvaluation(Evaluation):
    """f at one point with its Hessian, block by block."""

    __slots__ = ()

    @property
    @abstractmethod
    def slice(self) -> SecondOrderSlice:
        """The slice that it belongs to."""

    @property
    def parts(self) -> Sequence[SecondOrderEvaluation]:
        """The separable pieces, as those of the slice."""
        return (self,)

    @property
    def cache(self) -> tuple[Array, ...]:
        """What :meth:`Problem.evaluate` needs to make this evaluation again without a product."""
        return ()

    @property
    def gauge(self) -> Gauge | None:
        """Directions in y along which f never changes, where the problem knows of any; of one part."""
        return None

    @abstractmethod
    def hess_yy(self) -> Array:
        """H_yy of one part, as a dense matrix."""

    @abstractmethod
    def hess_yy_product(self, dy: Array) -> Array:
        """H_yy·dy of one part, for a y too large for :meth:`hess_yy`."""

    @abstractmethod
    def hess_yy_diagonal(self) -> Array:
        """The diagonal of H_yy of one part."""

    @abstractmethod
    def hess_xx_diagonal(self) -> Vector:
        """The diagonal of H_xx."""

    @abstractmethod
    def hess_yx(self, direction: Direction) -> Vector:
        """H_yx·dx."""

    @abstractmethod
    def hess_product(self, direction: Direction, dy: Vector) -> Vector:
        """The x-part of the Hessian's product with (dx, dy): H_xx·dx + H_xy·dy."""

    @abstractmethod
    def model_after(self, dy: Vector) -> YStepModel:
        """The quadratic model of f after a step dy in y; counted as a ``grad_x``."""

    @abstractmethod
    def slope(self, direction: Direction, dy: Vector) -> float:
        """The derivative of f along (dx, dy); without an expensive product where that is possible."""

    @abstractmethod
    def model_distance(self, direction: Direction, dy: Vector) -> float:
        """How far the step (dx, dy) leaves the region where the quadratic model is f but for a constant factor.

        In units of that region's size; zero where the model is exact.
        """

    def value_noise(self) -> float:
        """How much of f rounding errors in its terms may hide; zero where that is unknown."""
        return 0.0

    def with_surrogate_curvature(self) -> SecondOrderEvaluation | None:
        """The same point with a Hessian that does not vanish far from a minimum; None where this one never does.

        It belongs to a model for steps from far away, not to f.
        """
        return None

    def is_unbounded_along(self, step: tuple[Direction, Vector] | None = None, *, in_y_alone: bool = False) -> bool:
        """Whether f has no minimum, since it never rises along (dx, dy) from anywhere, and falls from somewhere.

        The step is the way from zero to here where none is given; ``in_y_alone`` looks at its y-part only. False where
        that is not known.
        """
        return False


class SecondOrderSlice(Slice):
    """y ↦ f(x, y) for a fixed x, which can be moved along a direction of x."""

    __slots__ = ()

    @abstractmethod
    def at(self, y: Vector) -> SecondOrderEvaluation: ...

    @abstractmethod
    def along(self, dx: Vector) -> Direction:
        """dx with its image."""

    @abstractmethod
    def moved(self, direction: Direction, t: float) -> SecondOrderSlice:
        """The slice at x + t·dx, from the direction's image: it costs no product."""


class SecondOrderProblem(Problem):
    """A problem whose evaluations have Hessians.

    Attributes
    ----------
    bounds_by_data : bool
        Whether :meth:`bound_after` can prove a bound from the data, without constants.
    flat_gradient_proves_unbounded : bool
        Whether a gradient along which there is no curvature means that f has no minimum, as for a quadratic. Of data it
        never does: least squares have no such gradient but by rounding, and other losses are only nearly flat.
    """

    has_y_hessian = True
    bounds_by_data: bool = False
    flat_gradient_proves_unbounded: bool = False

    @abstractmethod
    def fix(self, x: Vector) -> SecondOrderSlice: ...

    def evaluate(self, x: Vector, y: Vector, cache: tuple[Array, ...] = ()) -> SecondOrderEvaluation:
        return self.fix(x).at(y)

    def bound_after(self, evaluation: Any, after: Any, y_root: Array | None) -> tuple[Bound, tuple[float, float]]:
        """The best bound at an evaluation, at no further ∇ₓ where possible, and the rounding errors in both gradients.

        Parameters
        ----------
        evaluation : SecondOrderEvaluation
        after : YStepModel
            What the evaluation's :meth:`~SecondOrderEvaluation.model_after` said of the Newton step in y.
        y_root : array or None
            K with KᵀK = H_yy⁻¹, where one is known.
        """
        return self.bound(evaluation), self.gradient_noise(evaluation)

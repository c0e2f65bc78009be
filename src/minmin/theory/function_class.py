"""The functions of the paper's Assumptions 1.1 and 1.2, as a class of functions for PEPit."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any, NamedTuple

from PEPit.expression import Expression, null_expression
from PEPit.function import Function
from PEPit.point import Point, null_point

from minmin.core.bound import Constants


class Block(NamedTuple):
    """One block of a point where f was evaluated.

    Attributes
    ----------
    point, gradient : PEPit.Point
    slope : PEPit.Point
        (gradient - mu·point)/(L - mu): the gradient of f - mu/2 |·|², in units of its smoothness.
    """

    point: Any
    gradient: Any
    slope: Any


class Sample(NamedTuple):
    """f at one point.

    Attributes
    ----------
    x, y : Block
    rest : PEPit.Expression
        f minus mu_x/2 |x|² + mu_y/2 |y|².
    value : PEPit.Expression
        f.
    """

    x: Block
    y: Block
    rest: Any
    value: Any


class TwoBlockFunction(Function):
    """Functions f(x, y) that are (L_x, L_y)-smooth and (mu_x, mu_y)-strongly convex, with f(0, 0) = 0 as minimum.

    f minus mu_x/2 |x|² + mu_y/2 |y|² is convex, and smooth in the norm with the square (L_x - mu_x)|x|² + (L_y -
    mu_y)|y|². So the conditions of Taylor, Hendrickx and Glineur, "Smooth strongly convex interpolation and exact
    worst-case performance of first-order methods" (2017), in that norm, are exact: they hold between some points,
    gradients and values if and only if there is such a function.

    x and y are two points of PEPit, and no inner product of one with the other ever occurs. So its one Gram matrix
    does what two would do: setting the products of x with y to zero keeps it positive semidefinite.

    Parameters
    ----------
    constants : Constants
    """

    def __init__(self, constants: Constants):
        super().__init__(is_leaf=True, reuse_gradient=True)
        self.constants = constants
        minimum = Block(null_point, null_point, null_point)
        self.samples = [Sample(minimum, minimum, null_expression, null_expression)]

    def new_x(self) -> Any:
        """An unknown point in x."""
        return _point_unit(self.constants.mu_x, self.constants.L_x) * Point()

    def new_y(self) -> Any:
        """An unknown point in y."""
        return _point_unit(self.constants.mu_y, self.constants.L_y) * Point()

    def at(self, x: Any, y: Any) -> Sample:
        """Evaluate f and its gradients at a point."""
        c = self.constants
        return self._add(_evaluate(x, c.mu_x, c.L_x), _evaluate(y, c.mu_y, c.L_y))

    def minimize_y(self, x: Any, center: Any, lam: float) -> Sample:
        """Evaluate f where y minimises f(x, y) + |y - center|²/(2·lam)."""
        c = self.constants
        slope = _new_slope(c.mu_y, c.L_y)
        # y = center - lam·∇ᵧf with ∇ᵧf = mu_y·y + (L_y - mu_y)·slope, solved for y
        y = (center - lam * (c.L_y - c.mu_y) * slope) * (1.0 / (1.0 + lam * c.mu_y))
        return self._add(_evaluate(x, c.mu_x, c.L_x), Block(y, (center - y) * (1.0 / lam), slope))

    def _add(self, x: Block, y: Block) -> Sample:
        rest = Expression()
        value = rest + 0.5 * self.constants.mu_x * x.point**2 + 0.5 * self.constants.mu_y * y.point**2
        sample = Sample(x, y, rest, value)
        self.samples.append(sample)
        return sample

    def add_class_constraints(self) -> None:
        """The conditions between all pairs of points; PEPit calls this."""
        self.list_of_class_constraints = [self.condition(a, b) for a, b in permutations(self.samples, 2)]

    def condition(self, a: Sample, b: Sample) -> Any:
        """rest(a) >= rest(b) + Σ (L - mu)(<slope(b), a - b> + |slope(a) - slope(b)|²/2), a sum over both blocks."""
        c = self.constants
        above_tangent = (c.L_x - c.mu_x) * _above_tangent(a.x, b.x) + (c.L_y - c.mu_y) * _above_tangent(a.y, b.y)
        return a.rest - b.rest >= above_tangent


def _evaluate(point: Any, mu: float, L: float) -> Block:
    slope = _new_slope(mu, L)
    return Block(point, mu * point + (L - mu) * slope, slope)


def _new_slope(mu: float, L: float) -> Any:
    """An unknown slope; none if mu = L, where the gradient is mu·point."""
    return _slope_unit(mu, L) * Point() if mu < L else null_point


def _point_unit(mu: float, L: float) -> float:
    """The length of a point that the solver counts as 1: between 1/√mu and 1/√L, where f is about 1.

    Units make the solver accurate. With these, one to five steps of BAM are accurate to 1e-6 up to κ = 10⁴. With 1/√L
    for all points and slopes, one step is .9058 in place of .9068 for κ_x = 100 and κ_y = 10⁵, and the solver calls
    it accurate.
    """
    return float((mu * L) ** -0.25) if mu > 0.0 else L**-0.5


def _slope_unit(mu: float, L: float) -> float:
    """The same for slopes, which are smaller."""
    return _point_unit(mu, L) * math.sqrt(mu / L) if mu > 0.0 else L**-0.5


def _above_tangent(a: Block, b: Block) -> Any:
    return b.slope * (a.point - b.point) + 0.5 * (a.slope - b.slope) ** 2

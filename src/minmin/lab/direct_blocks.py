"""Both diagonal blocks of a constant Hessian, factorised, and how strongly they are coupled."""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

import numpy as np

from minmin.core.arrays import Array, array_eps, to_like, to_numpy, zeros
from minmin.core.bound import rounding_error
from minmin.core.problem import Problem
from minmin.core.second_order import SecondOrderProblem
from minmin.numerics.dense import DENSE_UP_TO, inverse_root


class DirectBlocks(NamedTuple):
    """What minimises a quadratic over either block by a direct solve.

    Attributes
    ----------
    root_x, root_y : arrays
        K with KᵀK = H_xx⁻¹, and with KᵀK = H_yy⁻¹.
    convexity : float
        1 - ρ², the strong convexity of F(x) = min_y f(x, y) in the norm of H_xx: ρ is the largest singular value of
        H_xx^{-½} H_xy H_yy^{-½}. It is lowered by what rounding may have added to it, and may be negative.
    range_x, range_y : pairs of float
        The least and the largest eigenvalue of H_xx and of H_yy; the least is raised by its rounding error.
    """

    root_x: Array
    root_y: Array
    convexity: float
    range_x: tuple[float, float]
    range_y: tuple[float, float]

    def solve_x(self, gradient: Array) -> Array:
        """H_xx⁻¹·gradient."""
        return self.root_x.T @ (self.root_x @ gradient)

    def solve_y(self, gradient: Array) -> Array:
        """H_yy⁻¹·gradient."""
        return self.root_y.T @ (self.root_y @ gradient)


def has_direct_blocks(problem: Problem) -> TypeGuard[SecondOrderProblem]:
    """Whether :func:`factorize_blocks` can factorise the problem's Hessian."""
    if not problem.is_second_order or problem.part_sizes or problem.has_terms:
        return False
    return problem.has_constant_hessian and max(problem.d_x, problem.d_y) <= DENSE_UP_TO


def factorize_blocks(problem: SecondOrderProblem) -> DirectBlocks:
    """Factorise both blocks; it takes a product with the Hessian for every variable in x."""
    x, y = zeros(problem.d_x, problem.prototype), zeros(problem.d_y, problem.prototype)
    slice_ = problem.fix(x)
    evaluation = slice_.at(y)
    in_xx, in_xy = [], []
    for unit in np.eye(problem.d_x):
        direction = slice_.along(to_like(unit, x))
        in_xx.append(to_numpy(evaluation.hess_product(direction, y)))
        in_xy.append(to_numpy(evaluation.hess_yx(direction)))
    hess_xx, hess_yy = to_like(np.stack(in_xx), x), evaluation.hess_yy()
    root_x, root_y = inverse_root(hess_xx), inverse_root(hess_yy)
    scaled = to_numpy(root_x).astype(np.float64) @ np.stack(in_xy) @ to_numpy(root_y).astype(np.float64).T
    coupling = float(np.linalg.norm(scaled, 2))
    convexity = 1.0 - coupling**2 - rounding_error(array_eps(x), problem.d_x + problem.d_y)
    return DirectBlocks(root_x, root_y, convexity, _find_range(hess_xx), _find_range(hess_yy))


def _find_range(hessian: Array) -> tuple[float, float]:
    eigenvalues = np.linalg.eigvalsh(to_numpy(hessian).astype(np.float64))
    least, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    return least + rounding_error(array_eps(hessian), hessian.shape[0] * largest), largest

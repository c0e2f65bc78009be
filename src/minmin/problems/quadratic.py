"""Quadratic: ½ zᵀHz + bᵀz with z = (x, y)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from minmin.core.arrays import Array, as_real, describe_kind, require_finite, same_kind, to_like, to_numpy
from minmin.core.blocks import BlockLayout, make_layout
from minmin.core.bound import Constants
from minmin.core.problem import require_constants_type, require_size
from minmin.core.second_order import Direction, SecondOrderEvaluation, SecondOrderProblem, SecondOrderSlice, YStepModel
from minmin.core.tree import identify
from minmin.core.vectors import dot, largest_entry
from minmin.errors import InputError, as_count, as_number
from minmin.problems.spectrum import (
    COST_RATIO,
    ProvedConstants,
    ValidPairs,
    convexity_frontier,
    not_convex,
    prove_constants,
    smoothness_frontier,
)

_ASYMMETRY = 100
"""H may differ from Hᵀ by this times eps times its largest entry. Measured: docs/benchmarks/tuning.md."""
_MARGIN = 4.0
"""The eigenvalues of a random S are kept inside [0, 1] by a margin of this times n·eps.
Measured: docs/benchmarks/tuning.md."""


class Quadratic(SecondOrderProblem):
    """f(x, y) = ½ zᵀHz + bᵀz with z = (x, y).

    Parameters
    ----------
    H : array of shape (d_x + d_y, d_x + d_y)
        Symmetric, positive semidefinite.
    b : array of shape (d_x + d_y,)
    d_x : int
        The first d_x variables are x, the rest y.
    constants : Constants, optional
        By default proved ones are computed from the eigenvalues of H when first needed. Of all valid constants those
        are chosen that promise the lowest cost.
    sizes, L, mu, costs : lists, optional
        For several blocks, in place of ``d_x`` and ``constants``: their lengths, in the order of the variables, their
        constants, and what their gradients cost; see :class:`minmin.problems.Function`. ``L`` and ``mu`` are proved if
        they are not given.
    """

    flat_gradient_proves_unbounded = True
    has_constant_hessian = True

    def __init__(
        self,
        H: Any,
        b: Any,
        d_x: int | None = None,
        constants: Constants | None = None,
        *,
        sizes: Sequence[int] | None = None,
        L: Sequence[float] | None = None,
        mu: Sequence[float] | None = None,
        costs: Sequence[float] | None = None,
    ):
        self.b = as_real(b, "b")
        self.H = as_real(H, "H", self.b)
        self._check()
        if sizes is not None:
            if d_x is not None or constants is not None:
                raise InputError("leave d_x and constants out: sizes says what the blocks are; see L, mu and costs")
            self._set_layout(self._make_layout(sizes, L, mu, costs))
            return
        for name, given in {"L": L, "mu": mu, "costs": costs}.items():
            if given is not None:
                raise InputError(f"{name} is for several blocks; give their lengths, too: sizes=[...]")
        if require_size(d_x, "d_x") >= self.b.shape[0]:
            raise InputError(f"d_x = {d_x} leaves no y among {self.b.shape[0]} variables; give a smaller d_x")
        self.d_x = int(d_x)  # type: ignore[arg-type]
        self.d_y = self.b.shape[0] - self.d_x
        self._given = require_constants_type(constants)
        self._proof = ProvedConstants(partial(_find_valid_pairs, self.H, self.d_x))

    def _make_layout(self, sizes: Any, L: Any, mu: Any, costs: Any) -> BlockLayout:
        size = self.b.shape[0]
        layout = make_layout(sizes, L, mu, costs)
        if sum(layout.sizes) != size:
            raise InputError(f"sizes = {list(layout.sizes)} add up to {sum(layout.sizes)}, and H has {size} variables")
        if L is not None:
            return layout
        if len(layout.sizes) == 2:
            c = ProvedConstants(partial(_find_valid_pairs, self.H, layout.sizes[0])).choose(COST_RATIO)
            return make_layout(sizes, (c.L_x, c.L_y), (c.mu_x, c.mu_y), costs, "proved")
        proved_L, proved_mu = prove_constants(to_numpy(self.H).astype(np.float64), layout.sizes)
        return make_layout(sizes, proved_L, proved_mu, costs, "proved")

    def with_layout(self, layout: BlockLayout) -> Quadratic:
        twin = copy(self)
        twin._set_layout(layout)
        twin.__dict__.pop("arrays", None)
        return twin

    def _set_layout(self, layout: BlockLayout) -> None:
        self.blocks = layout
        self.d_x, self.d_y = layout.d_x, layout.d_y
        self._given = layout.constants

    def _check(self) -> None:
        if self.b.ndim != 1 or tuple(self.H.shape) != (self.b.shape[0],) * 2:
            raise InputError(
                f"H has shape {tuple(self.H.shape)} and b {tuple(self.b.shape)}; give them shapes (n, n) and (n,)"
            )
        if not same_kind(self.H, self.b):
            raise InputError(
                f"H is {describe_kind(self.H)} and b is {describe_kind(self.b)}; "
                "give both in one dtype and library, on one device"
            )
        require_finite(self.H, "H")
        require_finite(self.b, "b")
        H = to_numpy(self.H)
        scale = float(np.abs(H).max())
        asymmetry = float(np.abs(H - H.T).max())
        if asymmetry > _ASYMMETRY * float(np.finfo(H.dtype).eps) * scale:
            raise InputError(f"H is not symmetric: H - Hᵀ has an entry of {asymmetry:g}; use (H + Hᵀ)/2")

    @property
    def constants(self) -> Constants:
        return self._proof.choose(COST_RATIO) if self._given is None else self._given

    @property
    def prototype(self) -> Array:
        return self.b

    def fix(self, x: Array) -> QuadraticSlice:
        return QuadraticSlice(x, self)

    def swapped(self) -> Quadratic:
        H_xx, H_xy, H_yx, H_yy, b_x, b_y = self.arrays
        xp = array_namespace(self.H)
        H = xp.concat([xp.concat([H_yy, H_yx], axis=1), xp.concat([H_xy, H_xx], axis=1)])
        constants = self._proof.choose(1.0 / COST_RATIO) if self._given is None else self._given
        twin = Quadratic(H, xp.concat([b_y, b_x]), self.d_y, constants.swapped())
        return twin.counted(self.tally.swapped())

    def to_like(self, prototype: Array) -> Quadratic:
        if same_kind(prototype, self.b):
            return self
        twin = copy(self)  # with the constants that were proved for the data as they were given
        twin.H, twin.b = to_like(self.H, prototype), to_like(self.b, prototype)
        twin.__dict__.pop("arrays", None)
        return twin

    def identity(self) -> Iterable[Any]:
        return [self.d_x, self.d_y, repr(self._given), *identify(self.blocks), self.H, self.b]

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """H_xx, H_xy, H_yx, H_yy, b_x, b_y."""
        H, b = self.H, self.b
        if self.blocks is not None:
            H, b = _arrange(H, b, self.blocks)
        n = self.d_x
        return (H[:n, :n], H[:n, n:], H[n:, :n], H[n:, n:], b[:n], b[n:])

    def nest(self, x: Array, slope_y: Array) -> Quadratic:
        """y ↦ f(x, y) as a quadratic of the blocks in y; its values lack a constant."""
        assert self.blocks is not None
        twin = self.with_layout(self.blocks.fix(x))
        n, H = twin.d_x, self.arrays[3]
        twin.arrays = (H[:n, :n], H[:n, n:], H[n:, :n], H[n:, n:], slope_y[:n], slope_y[n:])
        return twin

    @classmethod
    def random(
        cls,
        d_x: int = 100,
        d_y: int = 10,
        mu_x: float = 0.1,
        L_x: float = 50.0,
        mu_y: float = 0.1,
        L_y: float = 500.0,
        coupling: float = 0.0,
        seed: int = 0,
    ) -> Quadratic:
        """A random quadratic for which the given constants are exactly valid.

        H = diag(μ) + D^½ S D^½ with D = diag(L - μ) and 0 ⪯ S ⪯ I, so that diag(μ) ⪯ H ⪯ diag(L). The eigenvalues of S
        are uniform in [0, 1], with 0 and 1 among them (except for a rounding margin), and its eigenvectors are random:
        in each block separately for ``coupling=0``, as in the experiments of Kovalev, Gasnikov and Malinovsky,
        arXiv:2212.14439; in the whole space for ``coupling=1``; in between, S is the weighted mean of the two. b is
        standard normal.
        """
        require_size(d_x, "d_x")
        require_size(d_y, "d_y")
        if not 0.0 <= as_number(coupling, "coupling") <= 1.0:
            raise InputError(f"coupling = {coupling} must lie between 0 (block-diagonal) and 1 (fully coupled)")
        constants = Constants(L_x, L_y, mu_x, mu_y, "proved")
        rng = np.random.default_rng(as_count(seed, "seed"))
        S = np.zeros((d_x + d_y, d_x + d_y))
        S[:d_x, :d_x] = _random_contraction(rng, d_x)
        S[d_x:, d_x:] = _random_contraction(rng, d_y)
        if coupling > 0.0:
            S = (1.0 - coupling) * S + coupling * _random_contraction(rng, d_x + d_y)
        margin = _MARGIN * np.finfo(np.float64).eps * (d_x + d_y)
        S = (1.0 - 2.0 * margin) * S + margin * np.eye(d_x + d_y)
        mu = np.repeat([mu_x, mu_y], [d_x, d_y])
        root = np.sqrt(np.repeat([L_x - mu_x, L_y - mu_y], [d_x, d_y]))
        H = np.diag(mu) + root[:, None] * S * root
        return cls(H, rng.standard_normal(d_x + d_y), d_x, constants)


def _find_valid_pairs(H: Array, d_x: int) -> ValidPairs:
    in_double = to_numpy(H).astype(np.float64)
    convex = convexity_frontier(in_double, d_x)
    if not convex:
        raise not_convex(in_double)
    return ValidPairs(smoothness_frontier(in_double, d_x), convex)


def _random_contraction(rng: np.random.Generator, size: int) -> np.ndarray[Any, Any]:
    """A random symmetric S, 0 ⪯ S ⪯ I, with uniform eigenvalues, 0 and 1 among them."""
    eigenvalues = rng.uniform(size=size)
    eigenvalues[0] = 0.0
    eigenvalues[-1] = 1.0
    basis, _ = np.linalg.qr(rng.standard_normal((size, size)))
    S = (basis * eigenvalues) @ basis.T
    return np.asarray(0.5 * (S + S.T))


def _arrange(H: Array, b: Array, layout: BlockLayout) -> tuple[Array, Array]:
    """H and b of the variables as x and y have them: the blocks in another order, and scaled."""
    xp = array_namespace(H)
    ends = list(accumulate(layout.sizes))
    places = np.concatenate([np.arange(ends[i] - layout.sizes[i], ends[i]) for i in layout.order])
    scales = np.repeat([layout.scales[i] for i in layout.order], [layout.sizes[i] for i in layout.order])
    order, factors = xp.asarray(places, device=device(H)), to_like(1.0 / scales, b)
    arranged = xp.take(xp.take(H, order, axis=0), order, axis=1)
    return arranged * factors * factors[:, None], xp.take(b, order) * factors


class QuadraticSlice(SecondOrderSlice):
    __slots__ = ("_problem", "_slope_x", "slope_y", "tally")

    def __init__(self, x: Array, problem: Quadratic):
        super().__init__(x)
        self._problem = problem
        self.tally = problem.tally if problem.blocks is None else problem.blocks.count_in(problem.tally)
        _, _, H_yx, _, _, b_y = problem.arrays
        self.slope_y = H_yx @ x + b_y
        self._slope_x: Array | None = None

    @property
    def slope_x(self) -> Array:
        """H_xx x + b_x, for values and ∇ₓ; minimising over y does not need it."""
        if self._slope_x is None:
            H_xx, _, _, _, b_x, _ = self._problem.arrays
            self._slope_x = H_xx @ self.x + b_x
        return self._slope_x

    @property
    def nested(self) -> Quadratic | None:
        blocks = self._problem.blocks
        return None if blocks is None or len(blocks.rest) == 1 else self._problem.nest(self.x, self.slope_y)

    def at(self, y: Array) -> QuadraticEvaluation:
        return QuadraticEvaluation(self, y, self._problem)

    def along(self, dx: Array) -> Direction:
        H_xx, _, H_yx, _, _, _ = self._problem.arrays
        return Direction(dx, (H_xx @ dx, H_yx @ dx))

    def moved(self, direction: Direction, t: float) -> QuadraticSlice:
        # Computed from scratch, at the cost of one product: sums of images would accumulate rounding errors.
        return self._problem.fix(self.x + t * direction.dx)


class QuadraticEvaluation(SecondOrderEvaluation):
    __slots__ = ("_problem", "slice")
    slice: QuadraticSlice

    def __init__(self, slice_: QuadraticSlice, y: Array, problem: Quadratic):
        super().__init__(slice_.x, y, slice_.tally)
        self.slice = slice_
        self._problem = problem

    def find_largest_entry(self, grad_x: Array, grad_y: Array) -> float:
        blocks = self._problem.blocks
        return largest_entry(grad_x, grad_y) if blocks is None else blocks.find_largest_entry(grad_x, grad_y)

    def _compute_value(self) -> float:
        _, _, _, H_yy, b_x, _ = self._problem.arrays
        in_x = 0.5 * dot(self.slice.slope_x + b_x, self.x)
        return in_x + dot(self.slice.slope_y, self.y) + 0.5 * dot(H_yy @ self.y, self.y)

    def _compute_grad_x(self) -> Array:
        return self.slice.slope_x + self._problem.arrays[1] @ self.y

    def _compute_grad_y(self) -> Array:
        return self._problem.arrays[3] @ self.y + self.slice.slope_y

    def hess_yy(self) -> Array:
        self._tally.add("hess_yy")
        return self._problem.arrays[3]

    def hess_yy_product(self, dy: Array) -> Array:
        return self._problem.arrays[3] @ dy

    def hess_yy_diagonal(self) -> Array:
        return array_namespace(self.y).linalg.diagonal(self._problem.arrays[3])

    def model_after(self, dy: Array) -> YStepModel:
        return YStepModel(dy, self.grad_x + self._problem.arrays[1] @ dy)

    def hess_yx(self, direction: Direction) -> Array:
        return direction.images[1]

    def hess_product(self, direction: Direction, dy: Array) -> Array:
        self._tally.add("hess_product")
        return direction.images[0] + self._problem.arrays[1] @ dy

    def hess_xx_diagonal(self) -> Array:
        return array_namespace(self.x).linalg.diagonal(self._problem.arrays[0])

    def slope(self, direction: Direction, dy: Array) -> float:
        in_x = dot(self.slice.slope_x, direction.dx) + dot(direction.images[1], self.y)
        return in_x + dot(self.grad_y, dy)

    def model_distance(self, direction: Direction, dy: Array) -> float:
        return 0.0

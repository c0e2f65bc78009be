"""The softmax loss: log Σ_k exp(m_ik) - m_i,target(i) of margins (n, K)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import device

from minmin.core.arrays import Array, identity, largest, namespace_of, reshape, to_like, to_numpy
from minmin.core.second_order import Gauge
from minmin.problems.linear.designs import Design
from minmin.problems.linear.losses import FAR, Loss
from minmin.problems.linear.margin_hessian import MarginHessian
from minmin.problems.linear.penalties import Penalty


class SoftmaxLoss(Loss):
    """K outputs, one per class. The target is the class of every sample, stored as a table of zeros and ones.

    ``shared`` is exp(m_k - max m), which never overflows.
    """

    name = "softmax"
    max_curvature = 0.5
    conjugate_radius = 1.0

    def __init__(self, classes: int):
        self.outputs = classes

    def check_target(self, target: Array) -> Array:
        labels = to_numpy(target).astype(np.intp)
        one_hot = np.zeros((labels.size, self.outputs))
        one_hot[np.arange(labels.size), labels] = 1.0
        return to_like(one_hot, target)

    def prepare(self, margins: Array, target: Array) -> Array:
        xp = namespace_of(margins)
        return xp.exp(margins - xp.max(margins, axis=1, keepdims=True))

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        """With log1p of the other classes if the target's margin is the largest, so that small losses are exact."""
        xp = namespace_of(margins)
        tables = ((1.0 - target) * shared, target * shared, target * margins)
        others, of_target, target_margin = (_sum_rows(table)[:, 0] for table in tables)
        behind = xp.max(margins, axis=1) - target_margin
        return xp.where(of_target >= 1.0, xp.log1p(others), behind + xp.log(of_target + others))

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        """p_k, and for the target class minus the sum of the others: p - 1 would cancel where p is nearly one."""
        others = (1.0 - target) * shared
        sum_of_others = _sum_rows(others)
        return (others - target * sum_of_others) / (sum_of_others + _sum_rows(target * shared))

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        """Only the diagonal; see :meth:`hessian`."""
        p = shared / _sum_rows(shared)
        return p * (1.0 - p)

    def hessian(self, margins: Array, target: Array, shared: Array, weights: Array) -> MarginHessian:
        return SoftmaxHessian(shared, weights)

    def surrogate_hessian(
        self, margins: Array, target: Array, slope: Array, weights: Array, near: MarginHessian
    ) -> MarginHessian:
        return PairedHessian(margins, slope + target, weights)

    def is_in_dual_domain(self, change: Array, near: MarginHessian) -> bool:
        """Whether q = p + ℓ''u has no negative entry: in that case KL(q, p) <= χ²(q, p) = <u, ℓ''u>."""
        assert isinstance(near, SoftmaxHessian)
        return bool(namespace_of(change).all(near.deviation(change) >= -1.0))

    def distance(self, change: Array) -> float:
        """The largest max u - min u within a sample: the third derivative along u is at most that times the second."""
        xp = namespace_of(change)
        return largest(xp.max(change, axis=1) - xp.min(change, axis=1))

    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        """Whether some margin rises relative to the margin of its sample's class."""
        relative = change - _sum_rows(target * change)
        return bool(namespace_of(change).any(relative > slack + _sum_rows(target * slack)))

    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        relative = change - _sum_rows(target * change)
        return bool(namespace_of(change).any(relative < -(slack + _sum_rows(target * slack))))

    def gauge(self, penalty: Penalty) -> Gauge | None:
        return None if penalty.covers_all else _ClassSums(self.outputs, penalty)


class _ClassSums:
    """The directions that add one number to all K coefficients of an unpenalised column: f does not change."""

    def __init__(self, outputs: int, penalty: Penalty):
        self._outputs, self._penalty = outputs, penalty

    def make_invertible(self, hess_yy: Array) -> Array:
        """Add a multiple of 11ᵀ for every unpenalised column.

        No gradient has a component along 1, so this changes steps only by rounding errors.
        """
        xp, K, size = namespace_of(hess_yy), self._outputs, hess_yy.shape[0]
        columns = size // K
        scale = xp.mean(reshape(self._penalty.keep_unpenalised(xp.linalg.diagonal(hess_yy)), (-1, K)), axis=1)
        added = xp.broadcast_to((identity(columns, scale) * scale / K)[:, None, :, None], (columns, K, columns, K))
        return hess_yy + xp.reshape(added, (size, size))

    def project(self, dy: Array) -> Array:
        """Shift unpenalised coefficients so that they sum to zero over the classes."""
        unpenalised = reshape(self._penalty.keep_unpenalised(dy), (-1, self._outputs))
        return reshape(reshape(dy, (-1, self._outputs)) - _sum_rows(unpenalised) / self._outputs, (-1,))


class SoftmaxHessian(MarginHessian):
    """w(diag(p) - ppᵀ) for every sample.

    1 - p_d of the likeliest class d is computed as the sum of the other p_k, since the difference would cancel if p_d
    is nearly one.
    """

    __slots__ = ("_likeliest", "_ones", "_others", "_p", "_root_w", "_wp")

    def __init__(self, exponentials: Array, weights: Array):
        xp = namespace_of(exponentials)
        rows, classes = exponentials.shape
        places = xp.arange(classes, device=device(exponentials))
        likeliest = xp.argmax(exponentials, axis=1)
        is_likeliest = likeliest[:, None] == places[None, :]
        self._likeliest = likeliest + classes * xp.arange(rows, device=device(exponentials))
        self._ones = xp.ones((classes, 1), dtype=exponentials.dtype, device=device(exponentials))
        self._p = exponentials / (exponentials @ self._ones)
        self._others = xp.where(is_likeliest, 0.0 * self._p, self._p)
        self._wp, self._root_w = weights[:, None] * self._p, weights[:, None] ** 0.5
        one_minus_p = xp.where(is_likeliest, self._others @ self._ones, 1.0 - self._p)
        super().__init__(self._wp * one_minus_p)

    def deviation(self, change: Array) -> Array:
        """u_k - Σ p_l u_l for every sample."""
        flat = reshape(change, (-1,))
        numpy = type(flat) is np.ndarray
        likeliest = flat[self._likeliest] if numpy else namespace_of(flat).take(flat, self._likeliest, axis=0)
        deviation = change - likeliest[:, None]
        deviation -= (self._others * deviation) @ self._ones
        return deviation

    def times(self, change: Array) -> Array:
        product = self.deviation(change)
        product *= self._wp
        return product

    def gram(self, design: Design) -> Array:
        """One block for every pair of classes; those on the diagonal are computed separately."""
        xp, classes, columns = namespace_of(self._p), self._p.shape[1], design.shape[1]
        products: Any = 0.0
        for piece, rows in design.dense_pieces():
            weighted = self._root_w[piece, :] * self._p[piece, :]
            flat = xp.reshape(rows[:, :, None] * weighted[:, None, :], (rows.shape[0], columns * classes))
            products = products - flat.T @ flat
        blocks = xp.reshape(products, (columns, classes, columns, classes))
        for k in range(classes):
            blocks[:, k, :, k] = design.gram(self.diagonal[:, k])
        return xp.reshape(blocks, (columns * classes,) * 2)


class PairedHessian(MarginHessian):
    """Σ c_kl (e_k - e_l)(e_k - e_l)ᵀ over all pairs of classes, for every sample.

    With c_kl = w p_k p_l this is the second derivative. If two margins are more than ``FAR`` apart, c_kl is raised to
    at least w(p_k - p_l)/(m_k - m_l)/K: with that for all pairs, the product with the margins is w(p - 1/K), the
    difference of the slopes from those at margin zero. With two classes this is the parabola of the logistic loss.
    """

    __slots__ = ("_margins", "_p", "_w")

    def __init__(self, margins: Array, probabilities: Array, weights: Array):
        self._margins, self._p, self._w = margins, probabilities, weights[:, None]
        super().__init__(self._by_class(lambda k: namespace_of(margins).sum(self._pairs(k), axis=1)))

    def _by_class(self, compute: Callable[[int], Array]) -> Array:
        xp, classes = namespace_of(self._p), self._p.shape[1]
        return xp.stack([compute(k) for k in range(classes)], axis=1)

    def _pairs(self, k: int) -> Array:
        """c_kl for all l; zero for l = k."""
        xp, m, p = namespace_of(self._p), self._margins, self._p
        apart = m[:, k, None] - m
        far = xp.abs(apart) > FAR
        chord = (p[:, k, None] - p) / xp.where(far, p.shape[1] * apart, xp.ones_like(apart))
        near = p[:, k, None] * p
        pairs = self._w * xp.where(far, xp.maximum(near, chord), near)
        pairs[:, k] = 0.0
        return pairs

    def times(self, change: Array) -> Array:
        xp = namespace_of(change)
        return self._by_class(lambda k: xp.sum(self._pairs(k) * (change[:, k, None] - change), axis=1))

    def gram(self, design: Design) -> Array:
        xp, classes, columns = namespace_of(self._p), self._p.shape[1], design.shape[1]
        blocks = xp.zeros((columns, classes, columns, classes), dtype=self._p.dtype, device=device(self._p))
        for k in range(classes):
            pairs = self._pairs(k)
            for other in range(classes):
                weights = self.diagonal[:, k] if other == k else pairs[:, other]
                block = design.gram(weights)
                blocks[:, k, :, other] = block if other == k else -block
        return xp.reshape(blocks, (columns * classes,) * 2)


def _sum_rows(table: Array) -> Array:
    """The sum of every row, as a column; computed by a product, since sums over short rows are slow."""
    ones = namespace_of(table).ones((table.shape[1], 1), dtype=table.dtype, device=device(table))
    return table @ ones

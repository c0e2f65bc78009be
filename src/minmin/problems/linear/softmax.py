"""The softmax loss: log Σ_k exp(m_ik) - m_i,target(i) of margins (n, K)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import device

from minmin.core.arrays import Array, identity, largest, namespace_of, reshape, sum_rows, to_like
from minmin.core.second_order import Gauge
from minmin.numerics.row_pieces import Matrix
from minmin.problems.linear.designs import Design, select
from minmin.problems.linear.losses import FAR, Loss
from minmin.problems.linear.losses.base import MarginHessian, require_targets
from minmin.problems.linear.penalties import Penalty

_ROWS_AT_A_TIME = 1024
"""The number of rows that :meth:`SoftmaxLoss.rises` looks at before it looks further. Along most directions one of the
first rows decides."""


class SoftmaxLoss(Loss):
    """K outputs, one per class. The target is the class of every sample, a whole number from 0 to K - 1.

    ``shared`` is exp(m_k - max m), which never overflows.
    """

    name = "softmax"
    max_curvature = 0.5
    self_concordance = 1.0
    unit_dispersion = True

    def __init__(self, classes: int):
        self.outputs = classes

    def check_target(self, target: Array) -> Array:
        allowed = (target >= 0) & (target < self.outputs) & (target == namespace_of(target).floor(target))
        return require_targets(allowed, target, f"give classes as whole numbers, 0 to {self.outputs - 1}")

    def infimum(self, target: Array) -> Array:
        return 0.0 * target

    def prepare(self, margins: Array, target: Array) -> Array:
        behind = margins - Entries.largest(margins).read(margins)[:, None]
        return np.exp(behind, out=behind) if type(behind) is np.ndarray else namespace_of(behind).exp(behind)

    def value(self, margins: Array, target: Array, shared: Array) -> Array:
        """With log1p of the other classes if the target's margin is the largest, so that small losses are exact."""
        xp, of_class = namespace_of(margins), Entries.of_classes(target, margins)
        of_target = of_class.read(shared)
        sum_of_others = sum_rows(of_class.replace(_copy(shared), 0.0 * of_target))
        behind = Entries.largest(margins).read(margins) - of_class.read(margins)
        return xp.where(of_target >= 1.0, xp.log1p(sum_of_others), behind + xp.log(of_target + sum_of_others))

    def slope(self, margins: Array, target: Array, shared: Array) -> Array:
        """p_k, and for the target class minus the sum of the others: p - 1 would cancel where p is nearly one."""
        of_class = Entries.of_classes(target, margins)
        of_target = of_class.read(shared)
        slope = of_class.replace(_copy(shared), 0.0 * of_target)
        sum_of_others = sum_rows(slope)
        total = sum_of_others + of_target
        slope /= total[:, None]
        return of_class.replace(slope, -sum_of_others / total)

    def curvature(self, margins: Array, target: Array, shared: Array) -> Array:
        """Only the diagonal; see :meth:`hessian`."""
        p = shared / sum_rows(shared)[:, None]
        return p * (1.0 - p)

    def hessian(self, margins: Array, target: Array, shared: Array, weights: Array) -> MarginHessian:
        return SoftmaxHessian(shared, weights)

    def surrogate_hessian(
        self, margins: Array, target: Array, slope: Array, weights: Array, near: MarginHessian
    ) -> MarginHessian:
        of_class = Entries.of_classes(target, margins)
        return PairedHessian(margins, of_class.replace(_copy(slope), of_class.read(slope) + 1.0), weights)

    def is_in_dual_domain(self, change: Array, margins: Array, target: Array, near: MarginHessian) -> bool:
        """Whether q = p + ℓ''u has no negative entry: in that case KL(q, p) <= χ²(q, p) = <u, ℓ''u>."""
        assert isinstance(near, SoftmaxHessian)
        return bool(namespace_of(change).min(near.deviation(change)) >= -1.0)

    def distance(self, change: Array, margins: Array, target: Array) -> float:
        """The largest max u - min u within a sample: the third derivative along u is at most that times the second."""
        xp = namespace_of(change)
        return largest(xp.max(change, axis=1) - xp.min(change, axis=1))

    def rises(self, change: Array, target: Array, slack: Array) -> bool:
        """Whether some margin rises relative to the margin of its sample's class.

        Looks at a few rows at a time, as the first often decide.
        """
        for start in range(0, change.shape[0], _ROWS_AT_A_TIME):
            rows = slice(start, min(start + _ROWS_AT_A_TIME, change.shape[0]))
            some, some_slack = change[rows, :], slack[rows, :]
            of_class = Entries.of_classes(target[rows], some)
            most = of_class.read(some) + of_class.read(some_slack)
            if bool(namespace_of(some).any(some - some_slack > most[:, None])):
                return True
        return False

    def falls(self, change: Array, target: Array, slack: Array) -> bool:
        return self.rises(-change, target, slack)

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
        return reshape(reshape(dy, (-1, self._outputs)) - sum_rows(unpenalised)[:, None] / self._outputs, (-1,))


class SoftmaxHessian(MarginHessian):
    """w(diag(p) - ppᵀ) for every sample.

    1 - p_d of the likeliest class d is computed as the sum of the other p_k, since the difference would cancel if p_d
    is nearly one.
    """

    __slots__ = ("_exponentials", "_likeliest", "_others", "_per_root_w", "_sum_of_others", "_weights", "_wp")

    def __init__(self, exponentials: Array, weights: Array):
        xp = namespace_of(exponentials)
        self._exponentials, self._weights = exponentials, weights
        self._likeliest = Entries.largest(exponentials)
        p = exponentials / sum_rows(exponentials)[:, None]
        of_likeliest = self._likeliest.read(p)
        self._others = self._likeliest.replace(p, 0.0 * of_likeliest)
        self._sum_of_others = sum_rows(self._others)
        self._wp = self._likeliest.replace(self._others * weights[:, None], of_likeliest * weights)
        has_weight = weights > 0
        per_root_w = xp.where(has_weight, weights, xp.ones_like(weights)) ** -0.5
        self._per_root_w = xp.where(has_weight, per_root_w, 0.0 * weights)
        diagonal = self._likeliest.replace(1.0 - self._others, self._sum_of_others)
        diagonal *= self._wp
        super().__init__(diagonal)

    def deviation(self, change: Array) -> Array:
        """u_k - Σ p_l u_l for every sample."""
        of_likeliest = self._likeliest.read(change)
        mean = namespace_of(change).vecdot(self._others, change) - self._sum_of_others * of_likeliest  # of u_l - u_d
        return self._likeliest.replace(change - (of_likeliest + mean)[:, None], -mean)

    def times(self, change: Array) -> Array:
        product = self.deviation(change)
        product *= self._wp
        return product

    def gram(self, design: Design) -> Array:
        """One block for every pair of classes; those on the diagonal are computed separately.

        If there are few columns and many classes, the latter are one product with the products of columns.
        """
        xp, classes, columns = namespace_of(self._wp), self._wp.shape[1], design.shape[1]
        products: Any = 0.0
        on_diagonal: Any = 0.0
        at_once = columns**2 <= classes
        for piece, rows in design.dense_pieces():
            weighted = self._per_root_w[piece, None] * rows
            flat = xp.reshape(weighted[:, :, None] * self._wp[piece, None, :], (rows.shape[0], columns * classes))
            products = products - flat.T @ flat
            if at_once:
                pairs = xp.reshape(rows[:, :, None] * rows[:, None, :], (rows.shape[0], columns**2))
                on_diagonal = pairs.T @ self.diagonal[piece, :] + on_diagonal
        of_class = [on_diagonal[:, k] if at_once else design.gram(self.diagonal[:, k]) for k in range(classes)]
        same_class = xp.stack([xp.reshape(block, (columns, columns)) for block in of_class], axis=1)
        is_same = identity(classes, products)[None, :, None, :] > 0
        blocks = xp.where(is_same, same_class[..., None], xp.reshape(products, (columns, classes, columns, classes)))
        return xp.reshape(blocks, (columns * classes,) * 2)

    def of_rows(self, rows: Matrix, factors: Matrix) -> SoftmaxHessian:
        weights = select(self._weights, rows) * to_like(factors, self._weights)
        return SoftmaxHessian(select(self._exponentials, rows), weights)

    def sum_of_rows(self) -> Array:
        xp = namespace_of(self._wp)
        weighted = self._per_root_w[:, None] * self._wp
        total = sum_rows(self.diagonal.T)
        is_diagonal = identity(weighted.shape[1], weighted) > 0
        return xp.where(is_diagonal, total, -(weighted.T @ weighted))


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
        return xp.where(xp.arange(p.shape[1], device=device(p)) == k, xp.zeros_like(pairs), pairs)

    def times(self, change: Array) -> Array:
        xp = namespace_of(change)
        return self._by_class(lambda k: xp.sum(self._pairs(k) * (change[:, k, None] - change), axis=1))

    def gram(self, design: Design) -> Array:
        xp, classes, columns = namespace_of(self._p), self._p.shape[1], design.shape[1]
        of_class = []
        for k in range(classes):
            pairs = self._pairs(k)
            of_pair = [-design.gram(pairs[:, other]) for other in range(classes) if other != k]
            of_pair.insert(k, design.gram(self.diagonal[:, k]))
            of_class.append(xp.stack(of_pair, axis=2))
        return xp.reshape(xp.stack(of_class, axis=1), (columns * classes,) * 2)


class Entries:
    """One entry in every row of an (n, K) table.

    Parameters
    ----------
    columns : array of n integers
    outputs : int
        K.
    """

    __slots__ = ("_columns", "_outputs", "_places")

    def __init__(self, columns: Array, outputs: int):
        self._columns, self._outputs = columns, outputs
        rows = columns.shape[0]
        self._places = columns + namespace_of(columns).arange(0, outputs * rows, outputs, device=device(columns))

    @classmethod
    def largest(cls, table: Array) -> Entries:
        """The largest entry of every row."""
        return cls(namespace_of(table).argmax(table, axis=1), table.shape[1])

    @classmethod
    def of_classes(cls, target: Array, table: Array) -> Entries:
        """The entry of every sample's class."""
        xp = namespace_of(target)
        index_dtype = np.int64 if type(target) is np.ndarray else xp.arange(0).dtype  # JAX may have no int64
        return cls(xp.astype(target, index_dtype), table.shape[1])

    def read(self, table: Array) -> Array:
        if type(table) is np.ndarray:
            return table.take(self._places)
        xp = namespace_of(table)
        return xp.take(xp.reshape(table, (-1,)), self._places, axis=0)

    def replace(self, table: Array, values: Array) -> Array:
        """The table with other values in these entries; it may be overwritten."""
        if type(table) is np.ndarray:
            np.put(table, self._places, values)
            return table
        xp = namespace_of(table)
        columns = xp.arange(self._outputs, device=device(table))
        return xp.where(self._columns[:, None] == columns[None, :], values[:, None], table)


def _copy(table: Array) -> Array:
    return namespace_of(table).asarray(table, copy=True)

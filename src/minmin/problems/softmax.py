"""Softmax: multinomial logistic regression with a penalty per block, or per column."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from array_api_compat import array_namespace, device

from minmin.constants import Constants
from minmin.errors import InputError, as_count
from minmin.problems.bending import Bending
from minmin.problems.designs import checked_column, pieces, weighted_gram
from minmin.problems.linear import LinearModel
from minmin.problems.penalties import Penalty
from minmin.space import Array, as_real, largest, like, require_finite, reshaped, to_numpy


class Softmax(LinearModel):
    """f(x, y) = weighted mean of log Σ_k exp(m_ik) - m_i,target(i) + ½ Σ_jk alpha_x[j] A_jk² + ½ Σ_jk alpha_y[j] B_jk².

    The margins of n samples and K classes are m = XA + YB. x is A, of shape (d, K), one row after the other in one
    vector, and y likewise is B; ``r.x.reshape(-1, K)`` is A. When x is fixed its margins XA are kept, so an inner step
    costs products with Y alone.

    f does not change where one number is added to all K coefficients of a column without a penalty. Every start is
    shifted so that such coefficients sum to zero over the classes, and no step changes that; so they do in the answer,
    as those of penalised columns do at the minimum.

    Parameters
    ----------
    X, Y : arrays, or scipy.sparse of any format
        The design of the expensive and of the cheap block.
    target : array of shape (n,)
        Classes: whole numbers from 0 to K - 1.
    classes : int, optional
        K, at least 2; one more than the largest target where not given.
    alpha_x, alpha_y : float, or array of one a column
        The penalties, 0 or above (scikit-learn's C is 1/(n·alpha)); a number is that of every column of its block.
        There is no intercept: append a column of ones to Y, with the penalty 0 or another. Methods that need strong
        convexity refuse 0.
    sample_weight : array of shape (n,), optional
        Not negative; normalised to sum to one.
    constants : Constants, optional
        Where not given, proved ones are computed when first asked for.
    """

    max_curvature = 0.5
    min_curvature = 0.0

    def __init__(
        self,
        X: Any,
        Y: Any,
        target: Any,
        classes: int | None = None,
        *,
        alpha_x: Any,
        alpha_y: Any,
        sample_weight: Any = None,
        constants: Constants | None = None,
    ):
        labels = _checked_labels(target, classes)
        self.outputs = int(labels.max(initial=0.0)) + 1 if classes is None else int(classes)
        if self.outputs < 2:
            raise InputError(
                f"{self.outputs} class is too few; give classes=2 or more where other classes are possible"
            )
        vectors = self._take(X, Y, alpha_x, alpha_y, sample_weight, constants)
        rows = self.X.shape[0]
        labels = checked_column(labels, "target", rows, np.zeros(0)).astype(np.intp)
        one_hot = np.zeros((rows, self.outputs))
        one_hot[np.arange(rows), labels] = 1.0
        self.target = like(one_hot.reshape(-1), vectors)

    @property
    def classes(self) -> int:
        return self.outputs

    @property
    def alpha_x(self) -> float | Array:
        return self._by_column(self.penalty_x)

    @property
    def alpha_y(self) -> float | Array:
        return self._by_column(self.penalty_y)

    def _by_column(self, penalty: Penalty) -> float | Array:
        return penalty.alpha if isinstance(penalty.alpha, float) else self.table(penalty.alpha)[:, 0]

    def start(self, x0: Any, y0: Any) -> tuple[Array, Array]:
        x, y = super().start(x0, y0)
        return self._centred(x, self.penalty_x.like(x)), self._centred(y, self.penalty_y.like(y))

    def without_flat(self, dy: Array) -> Array:
        return self._centred(dy, self.penalty_y)

    def _centred(self, v: Array, penalty: Penalty) -> Array:
        """v with unpenalised coefficients that sum to zero over the classes."""
        if penalty.covers_all:
            return v
        free = self.table(penalty.free_part(v))
        return self.vector(self.table(v) - _sums(free) / self.outputs)

    def prepare(self, margins: Array) -> Array:
        """exp(m_k - max m), which never overflows."""
        table = self.table(margins)
        xp = array_namespace(table)
        return self.vector(xp.exp(table - xp.max(table, axis=1, keepdims=True)))

    def losses(self, margins: Array, shared: Array) -> Array:
        """log1p of the others' exponentials where the target's is the largest, so that small losses are exact."""
        m, e, t = self.table(margins), self.table(shared), self.table(self.target)
        xp = array_namespace(m)
        others, own, of_target = (_sums(table)[:, 0] for table in ((1.0 - t) * e, t * e, t * m))
        behind = xp.max(m, axis=1) - of_target
        return xp.where(own >= 1.0, xp.log1p(others), behind + xp.log(own + others))

    def slopes(self, margins: Array, shared: Array) -> Array:
        """p_k, and for the target minus the sum of the others: p - 1 would lose what is left of a small loss."""
        e, t = self.table(shared), self.table(self.target)
        others = (1.0 - t) * e
        left = _sums(others)
        return self.vector((others - t * left) / (left + _sums(t * e)))

    def bending(self, margins: Array, shared: Array) -> Bending:
        return _SoftmaxBending(self.table(shared), self.weights)

    def bending_from_afar(self, margins: Array, slopes: Array, near: Bending) -> Bending | None:
        return _PairedBending(self.table(margins), self.table(slopes + self.target), self.weights)

    def is_in_dual_domain(self, change: Array, near: Bending) -> bool:
        """Whether q = p + ℓ''u has no negative entry: then KL(q, p) <= χ²(q, p) = <u, ℓ''u>."""
        assert isinstance(near, _SoftmaxBending)
        return bool(array_namespace(change).all(near.deviation(change) >= -1.0))

    def move_size(self, change: Array) -> float:
        """The largest spread of a sample's changes: the third derivative along u is at most that times the second."""
        table = self.table(change)
        xp = array_namespace(table)
        return largest(xp.max(table, axis=1) - xp.min(table, axis=1))

    def rises(self, change: Array, slack: Array) -> bool:
        """Whether some margin rises against that of its sample's class."""
        return bool(array_namespace(change).any(self._against_target(change) > self._with_targets(slack)))

    def falls(self, change: Array, slack: Array) -> bool:
        return bool(array_namespace(change).any(self._against_target(change) < -self._with_targets(slack)))

    def pinned(self, hessian: Array, penalty: Penalty) -> Array:
        """Plus a multiple of 11ᵀ for every column without a penalty, along which f does not change.

        No gradient has a part there, so nothing but rounding gives a step one, and the matrix can be inverted.
        """
        if penalty.covers_all:
            return hessian
        xp, K, size = array_namespace(hessian), self.outputs, hessian.shape[0]
        columns = size // K
        own = xp.mean(self.table(penalty.free_part(xp.linalg.diagonal(hessian))), axis=1)
        identity = xp.eye(columns, dtype=own.dtype, device=device(own))
        alike = xp.broadcast_to((identity * own / K)[:, None, :, None], (columns, K, columns, K))
        return hessian + xp.reshape(alike, (size, size))

    def _against_target(self, change: Array) -> Array:
        table, t = self.table(change), self.table(self.target)
        return table - _sums(t * table)

    def _with_targets(self, slack: Array) -> Array:
        table, t = self.table(slack), self.table(self.target)
        return table + _sums(t * table)


class _SoftmaxBending(Bending):
    """w(diag(p) - ppᵀ) for every sample.

    Everything is computed from the others of the likeliest class d, since 1 - p_d cancels where p_d is nearly one.
    """

    __slots__ = ("_likeliest", "_ones", "_others", "_p", "_root_w", "_wp")

    def __init__(self, exponentials: Array, weights: Array):
        xp = array_namespace(exponentials)
        rows, classes = exponentials.shape
        places = xp.arange(classes, device=device(exponentials))
        likeliest = xp.argmax(exponentials, axis=1)
        is_likeliest = likeliest[:, None] == places[None, :]
        self._likeliest = likeliest + classes * xp.arange(rows, device=device(exponentials))
        self._ones = xp.ones((classes, 1), dtype=exponentials.dtype, device=device(exponentials))
        self._p = exponentials / (exponentials @ self._ones)
        self._others = xp.where(is_likeliest, 0.0 * self._p, self._p)
        self._wp, self._root_w = weights[:, None] * self._p, weights[:, None] ** 0.5
        left = xp.where(is_likeliest, self._others @ self._ones, 1.0 - self._p)
        super().__init__(reshaped(self._wp * left, (-1,)))

    def deviation(self, v: Array) -> Array:
        """u_k - Σ p_l u_l for every sample, a row each."""
        likeliest = v[self._likeliest] if type(v) is np.ndarray else array_namespace(v).take(v, self._likeliest, axis=0)
        change = reshaped(v, self._p.shape) - likeliest[:, None]
        change -= (self._others * change) @ self._ones
        return change

    def times(self, v: Array) -> Array:
        bent = self.deviation(v)
        bent *= self._wp
        return reshaped(bent, (-1,))

    def gram(self, design: Any) -> Array:
        """A block for every pair of classes, of which those on the diagonal are computed on their own."""
        xp, classes, columns = array_namespace(self._p), self._p.shape[1], design.shape[1]
        products: Any = 0.0
        for piece in pieces(design.shape[0]):
            rows = design[piece].toarray() if scipy.sparse.issparse(design) else design[piece, :]
            weighted = self._root_w[piece, :] * self._p[piece, :]
            flat = xp.reshape(rows[:, :, None] * weighted[:, None, :], (rows.shape[0], columns * classes))
            products = products - flat.T @ flat
        blocks = xp.reshape(products, (columns, classes, columns, classes))
        own = xp.reshape(self.diagonal, self._p.shape)
        for k in range(classes):
            blocks[:, k, :, k] = weighted_gram(design, own[:, k])
        return xp.reshape(blocks, (columns * classes,) * 2)


class _PairedBending(Bending):
    """Σ c_kl (e_k - e_l)(e_k - e_l)ᵀ over all pairs of classes, for every sample.

    c_kl = w p_k p_l is the second derivative. Where two margins are more than one apart, c_kl is at least
    w(p_k - p_l)/(m_k - m_l)/K: with that for all pairs, the product with the margins is w(p - 1/K), which is how the
    slopes differ from those at zero. With two classes this is the parabola of the logistic loss.
    """

    __slots__ = ("_margins", "_p", "_w")

    def __init__(self, margins: Array, probabilities: Array, weights: Array):
        self._margins, self._p, self._w = margins, probabilities, weights[:, None]
        super().__init__(self._by_class(lambda k: array_namespace(margins).sum(self._pairs(k), axis=1)))

    def _by_class(self, compute: Callable[[int], Array]) -> Array:
        xp, classes = array_namespace(self._p), self._p.shape[1]
        return xp.reshape(xp.stack([compute(k) for k in range(classes)], axis=1), (-1,))

    def _pairs(self, k: int) -> Array:
        """c_kl for all l, zero for k itself."""
        xp, m, p = array_namespace(self._p), self._margins, self._p
        apart = m[:, k, None] - m
        far = xp.abs(apart) > 1.0
        chord = (p[:, k, None] - p) / xp.where(far, p.shape[1] * apart, xp.ones_like(apart))
        near = p[:, k, None] * p
        pairs = self._w * xp.where(far, xp.maximum(near, chord), near)
        pairs[:, k] = 0.0
        return pairs

    def times(self, v: Array) -> Array:
        xp = array_namespace(v)
        table = xp.reshape(v, self._p.shape)
        return self._by_class(lambda k: xp.sum(self._pairs(k) * (table[:, k, None] - table), axis=1))

    def gram(self, design: Any) -> Array:
        xp, classes, columns = array_namespace(self._p), self._p.shape[1], design.shape[1]
        blocks = xp.zeros((columns, classes, columns, classes), dtype=self._p.dtype, device=device(self._p))
        own = xp.reshape(self.diagonal, self._p.shape)
        for k in range(classes):
            pairs = self._pairs(k)
            for other in range(classes):
                weights = own[:, k] if other == k else pairs[:, other]
                block = weighted_gram(design, weights)
                blocks[:, k, :, other] = block if other == k else -block
        return xp.reshape(blocks, (columns * classes,) * 2)


def _sums(table: Array) -> Array:
    """The sum of every row, as a column; by a product, since reductions of short rows are slow."""
    ones = array_namespace(table).ones((table.shape[1], 1), dtype=table.dtype, device=device(table))
    return table @ ones


def _checked_labels(target: Any, classes: int | None) -> Array:
    """The targets as NumPy's numbers, all of them whole and within range."""
    labels = to_numpy(as_real(target, "target"))
    require_finite(labels, "target")
    if classes is None and labels.size and labels.max() >= labels.size:
        raise InputError(
            f"target holds {labels.max():g} among {labels.size} samples, so some class has none; number the classes "
            "from 0 on, or give classes="
        )
    most = math.inf if classes is None else as_count(classes, "classes") - 1
    wrong = np.argwhere((labels < 0) | (labels > most) | (labels != np.floor(labels)))
    if wrong.size:
        index = tuple(wrong[0].tolist())
        known = "0, 1, 2, ..." if classes is None else f"0 to {most}"
        place = ", ".join(map(str, index))
        raise InputError(f"target[{place}] = {labels[index]:g}: give classes as whole numbers, {known}")
    return labels

"""Softmax: multinomial logistic regression with a penalty per block, or per column."""

from __future__ import annotations

import math
from copy import copy
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
from minmin.space import Array, as_real, largest, like, require_finite, to_numpy


class Softmax(LinearModel):
    """f(x, y) = weighted mean of log Σ_k exp(m_ik) - m_i,target(i) + ½ Σ_jk alpha_x[j] A_jk² + ½ Σ_jk alpha_y[j] B_jk².

    The margins of n samples and K classes are m = XA + YB. x is A, of shape (d, K), one row after the other in one
    vector, and y likewise is B; ``r.x.reshape(-1, K)`` is A. When x is fixed its margins XA are kept, so an inner step
    costs products with Y alone.

    f does not change where one number is added to all K coefficients of a column without a penalty. No step goes there,
    so from the start zero such coefficients sum to zero over the classes, as those of penalised columns do at the
    minimum.

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
        labels = checked_column(labels, "target", self.X.shape[0], np.zeros(0))
        self.target = like(np.eye(self.outputs)[labels.astype(np.intp)].reshape(-1), vectors)

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

    def prepare(self, margins: Array) -> Array:
        """exp(m_k - max m), which never overflows."""
        table = self.table(margins)
        xp = array_namespace(table)
        return self.vector(xp.exp(table - _row(xp.max, table)))

    def losses(self, margins: Array, shared: Array) -> Array:
        """log1p of the others' exponentials where the target's is the largest, so that small losses are exact."""
        m, e, t = self.table(margins), self.table(shared), self.table(self.target)
        xp = array_namespace(m)
        others, own = xp.sum((1.0 - t) * e, axis=1), xp.sum(t * e, axis=1)
        behind = xp.max(m, axis=1) - xp.sum(t * m, axis=1)
        return xp.where(own >= 1.0, xp.log1p(others), behind + xp.log(own + others))

    def slopes(self, margins: Array, shared: Array) -> Array:
        """p_k, and for the target minus the sum of the others: p - 1 would lose what is left of a small loss."""
        e, t = self.table(shared), self.table(self.target)
        xp = array_namespace(e)
        others = (1.0 - t) * e
        left = _row(xp.sum, others)
        return self.vector((others - t * left) / (left + _row(xp.sum, t * e)))

    def bending(self, margins: Array, shared: Array) -> Bending:
        return _SoftmaxBending(self.table(shared), self.weights)

    def bending_from_afar(self, margins: Array, slopes: Array, near: Bending) -> Bending | None:
        """Parabolas that bend alike in all directions; with two classes they are those of the logistic loss."""
        assert isinstance(near, _SoftmaxBending)
        m, s, t = self.table(margins), self.table(slopes), self.table(self.target)
        xp = array_namespace(m)
        centred = m - _row(xp.mean, m)
        change = s + t - 1.0 / self.outputs
        size = xp.max(xp.abs(centred), axis=1)
        far, one = size > 1.0, xp.ones_like(size)
        unit = xp.where(far, size, one)
        scaled = centred / unit[:, None]
        chord = xp.sum(change * scaled, axis=1) / (unit * xp.where(far, xp.sum(scaled * scaled, axis=1), one))
        return near.with_chord(xp.where(far, self.weights * chord, 0.0 * one))

    def is_in_dual_domain(self, change: Array, near: Bending) -> bool:
        """Whether q = p + ℓ''u has no negative entry: then KL(q, p) <= χ²(q, p) = <u, ℓ''u>."""
        assert isinstance(near, _SoftmaxBending)
        return bool(array_namespace(change).all(near.deviation(self.table(change)) >= -1.0))

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

    def pinned(self, hess_yy: Array) -> Array:
        """Plus a multiple of 11ᵀ for every column of y without a penalty, along which f does not change.

        No gradient has a part there, so that no step gets one, and the matrix can be inverted.
        """
        if self.penalty_y.covers_all:
            return hess_yy
        xp, K = array_namespace(hess_yy), self.outputs
        columns = self.d_y // K
        sizes = xp.mean(self.table(self.penalty_y.free_part(xp.linalg.diagonal(hess_yy))), axis=1)
        identity = xp.eye(columns, dtype=sizes.dtype, device=device(sizes))
        alike = xp.broadcast_to((identity * sizes / K)[:, None, :, None], (columns, K, columns, K))
        return hess_yy + xp.reshape(alike, (self.d_y, self.d_y))

    def _against_target(self, change: Array) -> Array:
        table, t = self.table(change), self.table(self.target)
        return table - _row(array_namespace(table).sum, t * table)

    def _with_targets(self, slack: Array) -> Array:
        table, t = self.table(slack), self.table(self.target)
        return table + _row(array_namespace(table).sum, t * table)


class _SoftmaxBending(Bending):
    """w(diag(p) - ppᵀ) for every sample, plus c(I - 11ᵀ/K) where there are chords c.

    Everything is computed from the others of the likeliest class d, since 1 - p_d cancels where p_d is nearly one.
    """

    __slots__ = ("_chord", "_likeliest", "_others", "_p", "_w")

    def __init__(self, exponentials: Array, weights: Array):
        xp = array_namespace(exponentials)
        classes = exponentials.shape[1]
        places = xp.arange(classes, device=device(exponentials))
        likeliest = xp.argmax(exponentials, axis=1)[:, None] == places[None, :]
        self._likeliest = xp.astype(likeliest, exponentials.dtype)
        self._p = exponentials / _row(xp.sum, exponentials)
        self._others = xp.where(likeliest, 0.0 * self._p, self._p)
        self._w = weights[:, None]
        self._chord: Array | None = None
        left = xp.where(likeliest, _row(xp.sum, self._others), 1.0 - self._p)
        super().__init__(xp.reshape(self._w * self._p * left, (-1,)))

    def with_chord(self, chord: Array) -> _SoftmaxBending:
        """The same with a chord for every sample."""
        twin = copy(self)
        twin._chord = chord[:, None]
        classes = self._p.shape[1]
        xp = array_namespace(chord)
        own = xp.broadcast_to((1.0 - 1.0 / classes) * twin._chord, self._p.shape)
        twin.diagonal = self.diagonal + xp.reshape(own, (-1,))
        return twin

    def deviation(self, table: Array) -> Array:
        """u_k - Σ p_l u_l for every sample."""
        xp = array_namespace(table)
        from_likeliest = table - _row(xp.sum, self._likeliest * table)
        return from_likeliest - _row(xp.sum, self._others * from_likeliest)

    def times(self, v: Array) -> Array:
        xp = array_namespace(v)
        table = xp.reshape(v, self._p.shape)
        bent = self._w * self._p * self.deviation(table)
        if self._chord is not None:
            bent = bent + self._chord * (table - _row(xp.mean, table))
        return xp.reshape(bent, (-1,))

    def gram(self, design: Any) -> Array:
        """A block for every pair of classes, of which those on the diagonal are computed on their own."""
        xp, classes, columns = array_namespace(self._p), self._p.shape[1], design.shape[1]
        products: Any = 0.0
        for piece in pieces(design.shape[0]):
            rows = design[piece].toarray() if scipy.sparse.issparse(design) else design[piece, :]
            weighted = self._w[piece, :] ** 0.5 * self._p[piece, :]
            flat = xp.reshape(rows[:, :, None] * weighted[:, None, :], (rows.shape[0], columns * classes))
            products = products - flat.T @ flat
        blocks = xp.reshape(products, (columns, classes, columns, classes))
        if self._chord is not None:
            blocks = blocks - weighted_gram(design, self._chord[:, 0])[:, None, :, None] / classes
        own = xp.reshape(self.diagonal, self._p.shape)
        for k in range(classes):
            blocks[:, k, :, k] = weighted_gram(design, own[:, k])
        return xp.reshape(blocks, (columns * classes,) * 2)


def _row(reduce: Any, table: Array) -> Array:
    """A column of what a reduction makes of every row."""
    return reduce(table, axis=1, keepdims=True)


def _checked_labels(target: Any, classes: int | None) -> Array:
    """The targets as NumPy's numbers, all of them whole and within range."""
    labels = to_numpy(as_real(target, "target"))
    require_finite(labels, "target")
    most = math.inf if classes is None else as_count(classes, "classes") - 1
    wrong = np.argwhere((labels < 0) | (labels > most) | (labels != np.floor(labels)))
    if wrong.size:
        index = tuple(wrong[0].tolist())
        known = "0, 1, 2, ..." if classes is None else f"0 to {most}"
        place = ", ".join(map(str, index))
        raise InputError(f"target[{place}] = {labels[index]:g}: give classes as whole numbers, {known}")
    return labels

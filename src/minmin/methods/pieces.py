"""Pieces: where the term of a block is smooth around a point, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from minmin.core.arrays import Array, namespace_of
from minmin.core.term import Piece, Term
from minmin.core.vectors import Parts, Vector, from_parts, parts_of


class Pieces:
    """The piece of every part of a block (:class:`minmin.core.term.Piece`); all of space where there is no term.

    Parameters
    ----------
    term : Term or None
    v, gradient : vectors
        A point of the block, and the gradient of f there.

    Attributes
    ----------
    each : list of Piece or None
        One per part.
    """

    def __init__(self, term: Term | None, v: Vector, gradient: Vector):
        triples = zip(split_term(term, v), parts_of(v), parts_of(gradient), strict=True)
        self.each = [None if t is None else t.piece(part, g) for t, part, g in triples]

    @property
    def free(self) -> Array | None:
        """Which coordinates of a block with one part can move; None if all can, since there is no term."""
        (piece,) = self.each
        return None if piece is None else piece.free

    def gradient(self, of_f: Vector) -> Vector:
        """The gradient of f plus the term on the pieces; zero for coordinates that stay."""
        return self._map(lambda piece, g: mask(piece, g + piece.gradient), of_f)

    def keep(self, d: Vector) -> Vector:
        """The vector with zeros for coordinates that stay."""
        return self._map(mask, d)

    def add_hessian(self, d: Vector, product: Vector) -> Vector:
        """``product`` plus the product of the term's Hessian with d."""
        return self._map(lambda piece, part, p: p + piece.times(part), d, product)

    def add_diagonal(self, diagonal: Vector) -> Vector:
        """The diagonal plus that of the term's Hessian."""
        return self._map(lambda piece, part: part + piece.diagonal, diagonal)

    def rise(self, d: Vector) -> float:
        """How much the term changes over a step d within the pieces."""
        weights = d.weights if isinstance(d, Parts) else (1.0,)
        triples = zip(weights, self.each, parts_of(d), strict=True)
        return sum(weight * piece.rise(part) for weight, piece, part in triples if piece is not None)

    def hold(self, v: Vector) -> Vector:
        """A point of the pieces near v; v itself if it lies there."""
        held = self._map(lambda piece, part: piece.hold(part), v)
        pairs = zip(parts_of(held), parts_of(v), strict=True)
        return v if all(bool(namespace_of(a).all(a == b)) for a, b in pairs) else held

    def _map(self, function: Callable[..., Array], first: Vector, *others: Vector) -> Vector:
        """The function of every piece and the parts that belong to it; the last part where there is no piece."""
        rows: Iterator[Any] = zip(self.each, parts_of(first), *map(parts_of, others), strict=True)
        return from_parts([parts[-1] if piece is None else function(piece, *parts) for piece, *parts in rows], first)


def split_term(term: Term | None, v: Vector) -> tuple[Term | None, ...]:
    """One term, or None, per part of a vector."""
    return (None,) * len(parts_of(v)) if term is None else term.parts


def find_proximal_point(term: Term | None, v: Vector, gradient: Vector, curvature: Vector) -> Vector:
    """Where a proximal gradient step ends, with one curvature per coordinate; parts without a term stay."""
    rows = zip(split_term(term, v), parts_of(v), parts_of(gradient), parts_of(curvature), strict=True)
    return from_parts([part if t is None else t.prox(part - g / c, 1.0 / c) for t, part, g, c in rows], v)


def mask(piece: Piece, d: Array) -> Array:
    """A vector, or each row of a matrix, with zeros for coordinates that stay."""
    return namespace_of(d).where(piece.free, d, 0.0 * d)

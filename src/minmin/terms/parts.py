"""PartsTerm and BlocksTerm: the terms of all parts of y, or of all blocks in y, as one term."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any

from minmin.core.arrays import Array, largest
from minmin.core.blocks import join
from minmin.core.term import Change, Piece, Term
from minmin.core.vectors import Parts, square
from minmin.terms.pieces import JoinedPiece, make_free
from minmin.terms.scaled import Scaled


class PartsTerm(Term):
    """Σ_i w_i t_i(y_i) for the y of a :class:`minmin.Sum`, w_i the weights of its inner product.

    In that inner product the proximal map of the sum is the proximal map of every t_i.

    Parameters
    ----------
    terms : sequence of Term or None
        One per part; None where there is none.
    """

    def __init__(self, terms: Sequence[Term | None]):
        self.terms = tuple(terms)
        self.convexity = min(0.0 if term is None else term.convexity for term in self.terms)
        self.has_pieces = all(term is None or term.has_pieces for term in self.terms)

    @property
    def parts(self) -> tuple[Term | None, ...]:
        return self.terms

    def value(self, v: Parts) -> float:
        triples = zip(v.weights, self.terms, v, strict=True)
        return sum(weight * term.value(part) for weight, term, part in triples if term is not None)

    def change(self, old: Parts, new: Parts) -> Change:
        each = zip(old.weights, self.terms, old, new, strict=True)
        changes = [(weight, *term.change(a, b)) for weight, term, a, b in each if term is not None]
        return Change(sum(w * value for w, value, _ in changes), sum(w * size for w, _, size in changes))

    def prox(self, v: Parts, step: float) -> Parts:
        return self._map(lambda term, part: term.prox(part, step), v)

    def conjugate(self, s: Parts) -> float | None:
        """Σ w_i t_i*(s_i); where a part has no term, infinite unless s_i is zero."""
        total = 0.0
        for weight, term, part in zip(s.weights, self.terms, s, strict=True):
            value = (math.inf if largest(part) > 0.0 else 0.0) if term is None else term.conjugate(part)
            if value is None:
                return None
            total += weight * value
        return total

    def diameter(self, v: Parts) -> float:
        triples = zip(v.weights, self.terms, v, strict=True)
        squares = [math.inf if term is None else weight * square(term.diameter(part)) for weight, term, part in triples]
        return math.sqrt(sum(squares))

    def project(self, v: Parts) -> Parts:
        return self._map(lambda term, part: term.project(part), v)

    def slack(self, v: Parts) -> float:
        triples = zip(v.weights, self.terms, v, strict=True)
        return math.sqrt(sum(weight * square(term.slack(part)) for weight, term, part in triples if term is not None))

    def _map(self, function: Callable[[Term, Array], Array], v: Parts) -> Parts:
        pairs = zip(self.terms, v, strict=True)
        return Parts([part if term is None else function(term, part) for term, part in pairs], v.weights)

    def identity(self) -> Iterable[Any]:
        return [item for term in self.terms for item in (["none"] if term is None else term.identity())]


def weigh_terms(terms: Sequence[Term | None], weights: Sequence[float]) -> Term | None:
    """Σ_i t_i(v_i) for parts v_i with these weights; None if there is no term."""
    if all(term is None for term in terms):
        return None
    pairs = zip(terms, weights, strict=True)
    return PartsTerm([None if term is None else Scaled(term, 1.0 / weight) for term, weight in pairs])


class BlocksTerm(Term):
    """Σ_i t_i(v_i), where v_i are the pieces of one array: the blocks in y, where a problem has three or more.

    Parameters
    ----------
    terms : sequence of Term or None
        One per piece; None where there is none.
    sizes : sequence of int
        The lengths of the pieces.
    """

    def __init__(self, terms: Sequence[Term | None], sizes: Sequence[int]):
        self.all, self.sizes = PartsTerm(terms), tuple(sizes)
        self.convexity, self.has_pieces = self.all.convexity, self.all.has_pieces
        self.takes_steps = all(term is None or term.takes_steps for term in self.all.terms)

    def value(self, v: Array) -> float:
        return self.all.value(self._cut(v))

    def change(self, old: Array, new: Array) -> Change:
        return self.all.change(self._cut(old), self._cut(new))

    def prox(self, v: Array, step: Any) -> Array:
        steps = self._cut(step) if getattr(step, "ndim", 0) else [step] * len(self.sizes)
        rows = zip(self.all.terms, self._cut(v), steps, strict=True)
        return join([part if term is None else term.prox(part, s) for term, part, s in rows])

    def piece(self, v: Array, gradient: Array) -> Piece:
        rows = zip(self.all.terms, self._cut(v), self._cut(gradient), strict=True)
        return JoinedPiece(tuple(make_free(part) if term is None else term.piece(part, g) for term, part, g in rows))

    def conjugate(self, s: Array) -> float | None:
        return self.all.conjugate(self._cut(s))

    def diameter(self, v: Array) -> float:
        return self.all.diameter(self._cut(v))

    def project(self, v: Array) -> Array:
        return join(self.all.project(self._cut(v)).parts)

    def slack(self, v: Array) -> float:
        return self.all.slack(self._cut(v))

    def split(self) -> tuple[Term | None, Term | None]:
        """The term of the first piece, and that of the others."""
        return self.all.terms[0], join_terms(self.all.terms[1:], self.sizes[1:])

    def _cut(self, v: Array) -> Parts:
        ends = list(accumulate(self.sizes))
        pieces = [v[end - size : end] for size, end in zip(self.sizes, ends, strict=True)]
        return Parts(pieces, [1.0] * len(pieces))

    def identity(self) -> Iterable[Any]:
        return [*self.sizes, *self.all.identity()]


def join_terms(terms: Sequence[Term | None], sizes: Sequence[int]) -> Term | None:
    """The terms of consecutive pieces of an array as one term; None if there is none."""
    if all(term is None for term in terms):
        return None
    return terms[0] if len(terms) == 1 else BlocksTerm(terms, sizes)

"""BlockLayout: a function of several blocks as a problem of two, x the outermost block and y all the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from minmin.core.arrays import Array, namespace_of
from minmin.core.constants import Constants, Source
from minmin.core.counting import Tally
from minmin.core.vectors import copy_vector, largest_entry

_CHEAPER_INSIDE, _CHEAPER_INSIDE_IF_UNLIKE, _UNLIKE = 2.0, 0.5, 100.0
"""The reduced methods minimise over the blocks inside at every point of a block if its gradient costs this many times
as much as theirs; the second number if condition numbers differ by the factor ``_UNLIKE``. Otherwise they minimise over
all together. On 20 quadratics and logistic models with three blocks, one inside the other takes fewer calls of the
second block than together, 0.5 to 0.95 of them if the condition numbers are alike and 0.2 to 0.7 if not; of the third
it takes 1.4 to 2.1 times as many if they are alike, and 0.4 to 1.6 if not."""


class BlockLayout(NamedTuple):
    """Where the blocks of a user's function are in x and y.

    x is the outermost block. y holds the others, each times its scale, so that all have the same strong convexity, as
    the theorems ask of one block. The blocks that are fixed are in neither: with x fixed, the rest is a problem of
    two blocks again.

    Attributes
    ----------
    sizes : tuple of int
        The blocks' lengths, in the user's order, like ``scales``, ``L`` and ``mu``.
    order : tuple of int
        The blocks from the outermost to the innermost, by their numbers.
    scales : tuple of float
    costs : tuple of float
        What each block's gradient costs.
    L, mu : tuples of float, or None
        The constants of each block.
    source : str
        Where they come from, see :class:`Constants`.
    fixed : tuple of arrays
        The outermost blocks, as far as they are fixed, in the order of ``order``.
    """

    sizes: tuple[int, ...]
    order: tuple[int, ...]
    scales: tuple[float, ...]
    costs: tuple[float, ...]
    L: tuple[float, ...] | None
    mu: tuple[float, ...] | None
    source: Source
    fixed: tuple[Array, ...] = ()

    @property
    def outer(self) -> int:
        """The number of the block that is x."""
        return self.order[len(self.fixed)]

    @property
    def rest(self) -> tuple[int, ...]:
        """The numbers of the blocks that are in y."""
        return self.order[len(self.fixed) + 1 :]

    @property
    def d_x(self) -> int:
        return self.sizes[self.outer]

    @property
    def d_y(self) -> int:
        return sum(self.sizes[i] for i in self.rest)

    @property
    def names(self) -> tuple[str, str]:
        """What the user calls x and y. "(scaled)" says that y's blocks do not have the units of the user."""
        is_scaled = any(self.scales[i] != 1.0 for i in self.rest)
        return f"block {self.outer}", _name_blocks(self.rest) + (" (scaled)" if is_scaled else "")

    @property
    def constants(self) -> Constants | None:
        """The constants of f in x and in y."""
        if self.L is None or self.mu is None:
            return None
        in_x = 1.0 / self.scales[self.outer] ** 2
        scaled = [(self.L[i] / self.scales[i] ** 2, self.mu[i] / self.scales[i] ** 2) for i in self.rest]
        L_y, mu_y = max(L for L, _ in scaled), min(mu for _, mu in scaled)
        return Constants(self.L[self.outer] * in_x, L_y, self.mu[self.outer] * in_x, mu_y, self.source, self.names)

    @property
    def saves_calls_inside(self) -> bool:
        """Whether to minimise over the blocks in y at every x, and not over x and y together."""
        ratio = self.costs[self.outer] / sum(self.costs[i] for i in self.rest)
        alike = True
        if self.L is not None and self.mu is not None and min(self.mu) > 0.0:
            kappas = [self.L[i] / self.mu[i] for i in (self.outer, *self.rest)]
            alike = max(kappas) < _UNLIKE * min(kappas)
        return ratio >= (_CHEAPER_INSIDE if alike else _CHEAPER_INSIDE_IF_UNLIKE)

    def split(self, x: Array, y: Array) -> list[Array]:
        """The blocks in the user's order, at a point (x, y); copies, since a callable may change them."""
        blocks = dict(zip(self.order, self.fixed, strict=False))
        blocks |= {i: _divide(piece, self.scales[i]) for i, piece in self._cut(x, y)}
        return [copy_vector(blocks[i]) for i in range(len(self.sizes))]

    def _cut(self, x: Array, y: Array) -> Iterator[tuple[int, Array]]:
        """The pieces of x and y that belong to blocks, each with the number of its block."""
        yield self.outer, x
        start = 0
        for i in self.rest:
            yield i, y[start : start + self.sizes[i]]
            start += self.sizes[i]

    def join(self, blocks: Sequence[Array]) -> tuple[Array, Array]:
        """x and y for blocks in the user's order."""
        scaled = [_multiply(blocks[i], self.scales[i]) for i in (self.outer, *self.rest)]
        return scaled[0], join(scaled[1:])

    def join_gradients(self, gradients: Sequence[Array], numbers: Sequence[int]) -> Array:
        """∇ₓ or ∇ᵧ from the gradients of the blocks with these numbers."""
        return join([_divide(g, self.scales[i]) for i, g in zip(numbers, gradients, strict=True)])

    def find_largest_entry(self, grad_x: Array, grad_y: Array) -> float:
        """The largest absolute entry of both gradients, in the user's units."""
        return largest_entry(*(_multiply(piece, self.scales[i]) for i, piece in self._cut(grad_x, grad_y)))

    def fix(self, x: Array) -> BlockLayout:
        """The layout of the blocks in y, with x fixed."""
        return self._replace(fixed=(*self.fixed, _divide(x, self.scales[self.outer])))

    def count_in(self, tally: Tally) -> Tally:
        """A view of a tally that counts each block's gradient, too: as "grad_0", ...

        "grad_x" counts the outermost block's gradient, and "grad_y" the innermost one's.
        """
        outer = f"grad_{self.outer}"
        rest = (f"grad_{i}" for i in self.rest)
        return tally.rename_kinds(
            {"grad_x": (outer,) if self.fixed else ("grad_x", outer), "grad_y": ("grad_y", *rest)}
        )

    def locate(self, gradient: str, index: int) -> str:
        """Where an entry of ∇ₓ or ∇ᵧ is, in the user's words."""
        if gradient == "grad_x":
            return f"index {index} of block {self.outer}"
        for i in self.rest:
            if index < self.sizes[i]:
                break
            index -= self.sizes[i]
        return f"index {index} of block {i}"


def _name_blocks(numbers: Sequence[int]) -> str:
    *first, last = map(str, numbers)
    return f"blocks {', '.join(first)} and {last}" if first else f"block {last}"


def _multiply(block: Array, scale: float) -> Array:
    return block if scale == 1.0 else block * scale


def _divide(block: Array, scale: float) -> Array:
    return block if scale == 1.0 else block * (1.0 / scale)


def join(arrays: Sequence[Array]) -> Array:
    """Arrays of one library, one after the other."""
    return arrays[0] if len(arrays) == 1 else namespace_of(arrays[0]).concat(list(arrays))

"""BlockLayout: a function of several blocks as a problem of two, x the outermost block and y all the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from minmin.core.arrays import Array, namespace_of
from minmin.core.bound import Constants, Estimates, Source
from minmin.core.counting import Tally
from minmin.core.vectors import copy_vector, largest_entry
from minmin.errors import InputError, as_count, as_number

_CHEAPER_INSIDE, _CHEAPER_INSIDE_IF_UNLIKE, _UNLIKE = 2.0, 0.5, 100.0
"""The reduced methods minimise over the blocks inside at every point of a block if its gradient costs this many times
as much as theirs; the second number if condition numbers differ by the factor ``_UNLIKE``. Otherwise they minimise over
all together. Measured: docs/benchmarks/tuning.md."""


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
        constants = Constants(self.L[self.outer] * in_x, L_y, self.mu[self.outer] * in_x, mu_y, self.source, self.names)
        return constants.with_blocks(self.L, self.mu)

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

    def with_exact_scales(self) -> BlockLayout:
        """The layout with powers of two for scales: a bound of a block is then met exactly in the user's units."""
        return self._replace(scales=tuple(2.0 ** round(math.log2(scale)) for scale in self.scales))

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


_COST_OF_NESTING = 1.5
"""How many times as often a gradient is called if its block is one deeper. Measured: docs/benchmarks/tuning.md."""
_MOST_COMPARED = 12
"""Up to this many blocks the order with the lowest expected cost is found. Measured: docs/benchmarks/tuning.md."""


def make_layout(sizes: Any, L: Any, mu: Any, costs: Any, source: Source = "given") -> BlockLayout:
    """The layout for what a user says about their blocks; everything but the sizes may be None."""
    lengths = _read_sizes(sizes)
    if (L is None) != (mu is None):
        raise InputError(f"give {'L' if L is None else 'mu'}, too: both constants of every block, or neither")
    smoothness, convexity = _read_numbers(L, "L", lengths), _read_numbers(mu, "mu", lengths)
    prices = _read_numbers(costs, "costs", lengths)
    if prices is not None and not all(0.0 < cost < math.inf for cost in prices):
        raise InputError(f"costs = {list(prices)}: every cost must be positive and finite")
    if smoothness is not None and convexity is not None:
        for i, pair in enumerate(zip(smoothness, convexity, strict=True)):
            _check_pair(i, *pair)
    source = "estimated" if isinstance(L, Estimates) or isinstance(mu, Estimates) else source
    order = _choose_order(smoothness, convexity, prices, len(lengths))
    scales = _choose_scales(order, convexity)
    return BlockLayout(lengths, order, scales, prices or (1.0,) * len(lengths), smoothness, convexity, source)


def _read_sizes(sizes: Any) -> tuple[int, ...]:
    try:
        lengths = tuple(as_count(size, f"sizes[{i}]") for i, size in enumerate(sizes))
    except TypeError:
        raise InputError(f"sizes must be a list with the length of every block, got {sizes!r}") from None
    if len(lengths) < 2:
        raise InputError(
            f"sizes = {list(lengths)}: give at least two blocks; a method gains nothing from one block alone"
        )
    if 0 in lengths:
        raise InputError(f"sizes = {list(lengths)}: every block needs at least one variable")
    return lengths


def _read_numbers(values: Any, name: str, sizes: tuple[int, ...]) -> tuple[float, ...] | None:
    if values is None:
        return None
    try:
        numbers = tuple(as_number(value, f"{name}[{i}]") for i, value in enumerate(values))
    except TypeError:
        raise InputError(f"{name} must be a list with a number for every block, got {values!r}") from None
    if len(numbers) != len(sizes):
        raise InputError(f"{name} has {len(numbers)} numbers, and sizes {len(sizes)}; give one for every block")
    return numbers


def _check_pair(number: int, L: float, mu: float) -> None:
    if not 0.0 <= mu <= L or L == 0.0 or math.isinf(mu):
        raise InputError(f"L[{number}] = {L:g} and mu[{number}] = {mu:g}: give 0 <= mu <= L, mu < inf and L > 0")


def _choose_order(
    L: tuple[float, ...] | None, mu: tuple[float, ...] | None, costs: tuple[float, ...] | None, count: int
) -> tuple[int, ...]:
    """The blocks from the outermost to the innermost.

    In nested BAM the calls of a block grow like the largest √κ from the outermost block to its own, and a little with
    the depth. So the order with the lowest expected cost is taken. Without constants the costs decide alone. Two blocks
    without costs keep their order, as x and y do.
    """
    numbers = range(count)
    if L is None or mu is None or min(mu) == 0.0 or math.isinf(max(L)):
        return tuple(numbers) if costs is None else tuple(sorted(numbers, key=lambda i: -costs[i]))
    if costs is None and count == 2:
        return 0, 1
    roots = [math.sqrt(a / b) for a, b in zip(L, mu, strict=True)]
    prices = (1.0,) * count if costs is None else costs

    if count > _MOST_COMPARED:
        return tuple(sorted(numbers, key=lambda i: roots[i]))
    # What the blocks inside cost depends on which blocks are outside, but not on their order. So of all orders of the
    # same blocks the cheapest is enough.
    cheapest: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {frozenset(): (0.0, ())}
    for depth in numbers:
        longer: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {}
        for outside, (cost, order) in cheapest.items():
            most = max((roots[i] for i in outside), default=0.0)
            for i in (number for number in numbers if number not in outside):
                total = cost + prices[i] * max(most, roots[i]) * _COST_OF_NESTING**depth
                if total < longer.get(outside | {i}, (math.inf, ()))[0]:
                    longer[outside | {i}] = total, (*order, i)
        cheapest = longer
    return cheapest[frozenset(numbers)][1]


def _choose_scales(order: tuple[int, ...], mu: tuple[float, ...] | None) -> tuple[float, ...]:
    """The factors that give all blocks but the outermost the same mu; 1 where a mu is zero or unknown."""
    if mu is None or min(mu) == 0.0:
        return (1.0,) * len(order)
    reference = mu[order[1]]
    return tuple(1.0 if i == order[0] else math.sqrt(mu[i] / reference) for i in range(len(order)))

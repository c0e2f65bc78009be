"""make_layout: which of a user's blocks is inside of which, and in which units."""

from __future__ import annotations

import math
from typing import Any

from minmin.core.blocks import BlockLayout
from minmin.core.constants import Source
from minmin.errors import InputError, as_count, as_number

_COST_OF_NESTING = 1.5
"""How many times as often a gradient is called if its block is one deeper. With κ = 100 in all of three blocks BAM
calls them 113, 132 and 248 times."""
_MOST_COMPARED = 12
"""Up to this many blocks the order with the lowest expected cost is found; for twelve that takes 75 ms."""


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

"""Traits: what a problem is, as one frozen record."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from minmin.core.blocks import BlockLayout
from minmin.core.structure import Structure
from minmin.core.term import Term


@dataclass(frozen=True)
class Traits:
    """What a problem is, apart from its data: :attr:`minmin.Problem.traits`.

    The author of a problem sets attributes of these names; :class:`minmin.Problem` has their defaults and says what
    they mean. A wrapper takes the record of the problem inside, and says what it changes.
    """

    d_x: int
    d_y: int
    has_value: bool
    is_second_order: bool
    has_y_hessian: bool
    part_sizes: tuple[int, ...]
    part_weights: tuple[float, ...]
    has_noisy_gradients: bool
    grad_y_from_values: bool
    y_is_remote: bool
    term_x: Term | None
    term_y: Term | None
    structure_x: Structure | None
    structure_y: Structure | None
    part_structures: tuple[Structure | None, ...]
    blocks: BlockLayout | None
    bounds_by_data: bool
    has_constant_hessian: bool
    flat_gradient_proves_unbounded: bool

    @classmethod
    def of(cls, problem: Any) -> Self:
        """The record of a problem that has these attributes."""
        return cls(*(getattr(problem, field.name) for field in fields(cls)))

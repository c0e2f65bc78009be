"""Traits: what a problem is, as one frozen record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from minmin.core.blocks import BlockLayout
from minmin.core.structure import Structure
from minmin.core.term import Term


class HasTraits:
    """The attributes that are traits, with their defaults; :class:`minmin.Problem` says what they mean."""

    d_x: int
    d_y: int
    has_value: bool = True
    is_second_order: bool = False
    has_y_hessian: bool = False
    part_sizes: tuple[int, ...] = ()
    part_weights: tuple[float, ...] = ()
    has_noisy_gradients: bool = False
    grad_y_from_values: bool = False
    y_is_remote: bool = False
    term_x: Term | None = None
    term_y: Term | None = None
    structure_x: Structure | None = None
    structure_y: Structure | None = None
    part_structures: tuple[Structure | None, ...] = ()
    blocks: BlockLayout | None = None
    bounds_by_data: bool = False
    has_constant_hessian: bool = False
    flat_gradient_proves_unbounded: bool = False


@dataclass(frozen=True)
class Traits(HasTraits):
    """What a problem is, apart from its data: :attr:`minmin.Problem.traits`.

    The author of a problem sets attributes of these names; :class:`minmin.Problem` has their defaults and says what
    they mean. A wrapper takes the record of the problem inside, and says what it changes.
    """

    __annotations__ = HasTraits.__annotations__  # so that every trait is a field

    @classmethod
    def of(cls, problem: Any) -> Self:
        """The record of a problem that has these attributes."""
        return cls(**{name: getattr(problem, name) for name in cls.__annotations__})

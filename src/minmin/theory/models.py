"""What the methods' models have in common: a method as PEPit sees it, on unknown points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from minmin.core.constants import Constants
from minmin.theory.function_class import Sample, TwoBlockFunction


class Measured(NamedTuple):
    """What a theorem compares: its measure at the start, and after the last step. Both are PEPit.Expressions."""

    first: Any
    last: Any


class Model(ABC):
    """A method, what its theorem measures, and what the theorem promises. Fields are the options of ``rate``."""

    name: ClassVar[str]
    needs_strong_convexity: ClassVar[bool] = True

    @abstractmethod
    def run(self, f: TwoBlockFunction, steps: int) -> Measured:
        """Run the method on f, from an unknown start."""

    @abstractmethod
    def theorem(self, constants: Constants, steps: int) -> float:
        """The theorem's bound on last/first."""


class StateBlock(NamedTuple):
    """What a method remembers of one block: two points."""

    point: Any
    bar: Any


class State(NamedTuple):
    """What a method remembers between two steps."""

    x: StateBlock
    y: StateBlock


def new_state(f: TwoBlockFunction) -> State:
    """An unknown state."""
    return State(StateBlock(f.new_x(), f.new_x()), StateBlock(f.new_y(), f.new_y()))


class StepModel(Model):
    """A method whose step is the same at every iteration, so that it has an asymptotic rate."""

    @abstractmethod
    def step(self, f: TwoBlockFunction, state: State) -> tuple[State, Sample]:
        """The next state, and f where the step evaluated it."""

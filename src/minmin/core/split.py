"""SplitProblem: f + g, for methods that ask for the two gradients separately."""

from __future__ import annotations

from abc import abstractmethod

from minmin.core.constants import Constants
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem
from minmin.core.second_order import SecondOrderProblem
from minmin.core.vectors import Vector


class SplitProblem(SecondOrderProblem):
    """f(x, y) + g(x, y), with f more expensive than g.

    Attributes
    ----------
    f, g : Problem
        Both over the same variables.
    """

    terms: tuple[Problem, ...]

    @property
    def f(self) -> Problem:
        return self.terms[0]

    @property
    def g(self) -> Problem:
        return self.terms[1]

    @property
    @abstractmethod
    def constants_of_both(self) -> tuple[Constants, Constants] | None:
        """The constants of f and of g, whose ``blocks`` say so; None if those of one are not known."""

    @abstractmethod
    def evaluate_f(self, x: Vector, y: Vector) -> Evaluation:
        """f alone at (x, y). A gradient there counts as one "grad_f", whatever the block."""

    @abstractmethod
    def evaluate_g(self, x: Vector, y: Vector) -> Evaluation:
        """g alone at (x, y). A gradient there counts as one "grad_g", whatever the block, and as nothing else."""

"""The clients' halves: some steps on the own data, and one vector back, by which x shall go down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from minmin.constants import Constants
from minmin.methods.reconstruct import Reconstruct
from minmin.oracle import Ability, Evaluation, Problem, Slice, Work
from minmin.space import Array
from minmin.tally import UNCOUNTED

_EXACTLY = 1e-12
"""What y may leave of f where it is solved for."""


class LocalMemory(NamedTuple):
    """y_i, the x that the last round ended at or came from, and a control variate; both empty before the first."""

    y: Array
    x: Array
    control: Array


class Displacement(Evaluation):
    """An evaluation that tells a displacement of x in place of ∇ₓf."""

    __slots__ = ("_at", "_displacement")

    def __init__(self, at: Evaluation, displacement: Array):
        super().__init__(at.x, at.y, UNCOUNTED)
        self._at = at
        self._displacement = displacement

    def _compute_value(self) -> float:
        return self._at.value

    def _compute_grad_x(self) -> Array:
        return self._displacement

    def _compute_grad_y(self) -> Array:
        return self._at.grad_y

    def _other_terms(self) -> float:
        return self._at._other_terms()


class LocalWork(Work):
    """Work that moves x as well, so that one slice is not enough."""

    def begin(self, y: Array) -> LocalMemory:
        return LocalMemory(y, y[:0], y[:0])

    def at(self, part: Slice, memory: Any) -> tuple[Any, Evaluation]:
        raise TypeError(f"{type(self).__name__} needs the whole problem of a client")


@dataclass(frozen=True)
class GradientWork(LocalWork):
    """No step, but ∇ₓf_i at (x, y_i): for a certificate."""

    def done_by(self, problem: Problem, x: Array, memory: LocalMemory) -> tuple[LocalMemory, Evaluation]:
        return memory, problem.fix(x).at(memory.y)


@dataclass(frozen=True)
class FedAvgWork(LocalWork):
    """Gradient steps in x and y_i together (McMahan et al. 2017, with y_i local)."""

    steps: int
    step_x: float
    step_y: float

    def done_by(self, problem: Problem, x: Array, memory: LocalMemory) -> tuple[LocalMemory, Evaluation]:
        x_i, y = _descended(problem, x, memory.y, self.steps, self.step_x, self.step_y, 0.0)
        return memory._replace(y=y), Displacement(problem.fix(x).at(y), x - x_i)


@dataclass(frozen=True)
class ReconstructionWork(LocalWork):
    """y_i is reconstructed from its start at x, then x goes down alone (Singhal et al. 2021, Algorithm 1)."""

    steps: int
    step_x: float
    constants: Constants | None

    def done_by(self, problem: Problem, x: Array, memory: LocalMemory) -> tuple[LocalMemory, Evaluation]:
        inner = "newton" if Ability.HESS_YY in problem.abilities else "lbfgs"
        solver = Reconstruct(inner, _EXACTLY, self.constants, stateless=True)
        found, evaluation = solver.at(problem.fix(x), solver.begin(memory.y))
        x_i, y = _descended(problem, x, found.y, self.steps, self.step_x, 0.0, 0.0)
        return memory._replace(y=y), Displacement(evaluation, x - x_i)


@dataclass(frozen=True)
class ScaffoldWork(LocalWork):
    """Gradient steps corrected by control variates (Karimireddy et al. 2020, option II).

    All clients take part, so the server's variate is what x moved by in the last round, over the steps: clients find it
    out from the two xs that they saw, and it need not be sent.
    """

    steps: int
    step_x: float
    step_y: float

    def done_by(self, problem: Problem, x: Array, memory: LocalMemory) -> tuple[LocalMemory, Evaluation]:
        length = self.steps * self.step_x
        first = memory.x.shape[0] == 0
        shared = 0.0 * x if first else (memory.x - x) * (1.0 / length)
        own = 0.0 * x if first else memory.control
        x_i, y = _descended(problem, x, memory.y, self.steps, self.step_x, self.step_y, shared - own)
        control = own - shared + (x - x_i) * (1.0 / length)
        return LocalMemory(y, x, control), Displacement(problem.fix(x).at(y), x - x_i)


@dataclass(frozen=True)
class ProxSkipWork(LocalWork):
    """Scaffnew (Mishchenko et al. 2022, Algorithm 2): as many steps as the server's coin said, then a mean.

    With the new mean x a client first completes its control variate, h_i += (p/γ)(x - x̂_i).
    """

    steps: int
    probability: float
    step_x: float
    step_y: float

    def done_by(self, problem: Problem, x: Array, memory: LocalMemory) -> tuple[LocalMemory, Evaluation]:
        pull = self.probability / self.step_x
        first = memory.x.shape[0] == 0
        control = 0.0 * x if first else memory.control + pull * (x - memory.x)
        x_hat, y = _descended(problem, x, memory.y, self.steps, self.step_x, self.step_y, -control)
        sent = x_hat - control * (1.0 / pull)
        return LocalMemory(y, x_hat, control), Displacement(problem.fix(x).at(y), x - sent)


def _descended(
    problem: Problem, x: Array, y: Array, steps: int, step_x: float, step_y: float, shift: Any
) -> tuple[Array, Array]:
    """Gradient steps x - step_x·(∇ₓf + shift), and y - step_y·∇ᵧf."""
    for _ in range(steps):
        evaluation = problem.fix(x).at(y)
        x = x - step_x * (evaluation.grad_x + shift)
        if step_y > 0.0:
            y = y - step_y * evaluation.grad_y
    return x, y

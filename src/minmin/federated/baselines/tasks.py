"""The clients' halves: some steps on their own data, and one vector back, by which x goes down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from minmin.core.arrays import Array
from minmin.core.problem import Problem
from minmin.federated.tasks import ClientTask, Outcome
from minmin.methods.inner.partial_minimum import LowerY

_EXACTLY = 1e-12
"""What y may leave of f where it is solved for: a millionth of the default tol."""


class LocalMemory(NamedTuple):
    """y_i, the x that the last round ended at or came from, and a control variate; both empty before the first."""

    y: Array
    x: Array
    control: Array


class LocalTask(ClientTask):
    """A task that moves x as well, and sends how far; one that moves nothing sends ∇ₓf_i."""

    memory_types: ClassVar[tuple[type, ...]] = (LocalMemory,)

    def begin(self, y: Array) -> LocalMemory:
        return LocalMemory(y, y[:0], y[:0])


@dataclass(frozen=True)
class GradientTask(LocalTask):
    """No step, but ∇ₓf_i at (x, y_i): for a certificate."""

    name: ClassVar[str] = "gradient"

    def run_at_client(self, problem: Problem, x: Array, memory: LocalMemory) -> Outcome:
        evaluation = problem.fix(x).at(memory.y)
        return Outcome(memory, evaluation, evaluation.grad_x)


@dataclass(frozen=True)
class FedAvgTask(LocalTask):
    """Gradient steps in x and y_i together (McMahan et al. 2017, with y_i local)."""

    name: ClassVar[str] = "fedavg"
    steps: int
    step_x: float
    step_y: float

    def run_at_client(self, problem: Problem, x: Array, memory: LocalMemory) -> Outcome:
        x_i, y = _descend(problem, x, memory.y, self.steps, self.step_x, self.step_y, 0.0)
        return Outcome(memory._replace(y=y), problem.fix(x).at(y), x - x_i)


@dataclass(frozen=True)
class ReconstructionTask(LocalTask):
    """y_i is reconstructed from its start at x, then x goes down alone (Singhal et al. 2021, Algorithm 1)."""

    name: ClassVar[str] = "fedrecon"
    steps: int
    step_x: float

    def run_at_client(self, problem: Problem, x: Array, memory: LocalMemory) -> Outcome:
        inner = "newton" if problem.has_y_hessian else "lbfgs"
        task = LowerY(inner, _EXACTLY, None, stateless=True)
        found, evaluation = task.run(problem.fix(x), task.begin(memory.y))
        x_i, y = _descend(problem, x, found.y, self.steps, self.step_x, 0.0, 0.0)
        return Outcome(memory._replace(y=y), evaluation, x - x_i)


@dataclass(frozen=True)
class ScaffoldTask(LocalTask):
    """Gradient steps corrected by control variates (Karimireddy et al. 2020, option II).

    All clients take part, so the server's variate is what x moved by in the last round, over the steps. Clients work it
    out from the two xs that they saw, and it need not be sent.
    """

    name: ClassVar[str] = "scaffold"
    steps: int
    step_x: float
    step_y: float

    def run_at_client(self, problem: Problem, x: Array, memory: LocalMemory) -> Outcome:
        length = self.steps * self.step_x
        first = memory.x.shape[0] == 0
        shared = 0.0 * x if first else (memory.x - x) * (1.0 / length)
        own = 0.0 * x if first else memory.control
        x_i, y = _descend(problem, x, memory.y, self.steps, self.step_x, self.step_y, shared - own)
        control = own - shared + (x - x_i) * (1.0 / length)
        return Outcome(LocalMemory(y, x, control), problem.fix(x).at(y), x - x_i)


@dataclass(frozen=True)
class ProxSkipTask(LocalTask):
    """Scaffnew (Mishchenko et al. 2022, Algorithm 2): as many steps as the server's coin says, then a mean.

    With the new mean x a client first completes its control variate, h_i += (p/γ)(x - x̂_i).
    """

    name: ClassVar[str] = "proxskip"
    steps: int
    probability: float
    step_x: float
    step_y: float

    def run_at_client(self, problem: Problem, x: Array, memory: LocalMemory) -> Outcome:
        pull = self.probability / self.step_x
        first = memory.x.shape[0] == 0
        control = 0.0 * x if first else memory.control + pull * (x - memory.x)
        x_hat, y = _descend(problem, x, memory.y, self.steps, self.step_x, self.step_y, -control)
        sent = x_hat - control * (1.0 / pull)
        return Outcome(LocalMemory(y, x_hat, control), problem.fix(x).at(y), x - sent)


def _descend(
    problem: Problem, x: Array, y: Array, steps: int, step_x: float, step_y: float, shift: Any
) -> tuple[Array, Array]:
    """Gradient steps x - step_x·(∇ₓf + shift), and y - step_y·∇ᵧf."""
    for _ in range(steps):
        evaluation = problem.fix(x).at(y)
        x = x - step_x * (evaluation.grad_x + shift)
        if step_y > 0.0:
            y = y - step_y * evaluation.grad_y
    return x, y

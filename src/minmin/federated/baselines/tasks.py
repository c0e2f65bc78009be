"""The clients' side of the methods: local steps, then one vector, which the server subtracts from x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from minmin.core.arrays import Array
from minmin.core.problem import Problem
from minmin.federated.tasks import ClientTask, Outcome
from minmin.methods.inner.partial_minimum import LowerY

_RECONSTRUCTION_TOL = 1e-12
"""How far f_i may be above its minimum over y_i after a reconstruction: a millionth of the default tol."""


class LocalMemory(NamedTuple):
    """y_i, an x of the last round, and a control variate; the last two are empty before the first round.

    The x is where the round started in SCAFFOLD, and where the local steps ended in ProxSkip.
    """

    y: Array
    x: Array
    control: Array


class LocalTask(ClientTask):
    """A task that moves a local copy of x as well and sends the displacement."""

    memory_types: ClassVar[tuple[type, ...]] = (LocalMemory,)

    def begin(self, y: Array) -> LocalMemory:
        return LocalMemory(y, y[:0], y[:0])


@dataclass(frozen=True)
class GradientTask(LocalTask):
    """Takes no step and sends ∇ₓf_i at (x, y_i), for a certificate."""

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
    """Solves for y_i from its starting point, then takes gradient steps in x (Singhal et al. 2021, Algorithm 1)."""

    name: ClassVar[str] = "fedrecon"
    steps: int
    step_x: float

    def run_at_client(self, problem: Problem, x: Array, memory: LocalMemory) -> Outcome:
        inner = "newton" if problem.has_y_hessian else "lbfgs"
        task = LowerY(inner, _RECONSTRUCTION_TOL, None, stateless=True)
        solved, evaluation = task.run(problem.fix(x), task.begin(memory.y))
        x_i, y = _descend(problem, x, solved.y, self.steps, self.step_x, 0.0, 0.0)
        return Outcome(memory._replace(y=y), evaluation, x - x_i)


@dataclass(frozen=True)
class ScaffoldTask(LocalTask):
    """Gradient steps corrected by control variates (Karimireddy et al. 2020, option II).

    All clients take part, so the server's control variate is the last displacement of x divided by the total step
    length. Clients compute it from the last two values of x, so it need not be sent.
    """

    name: ClassVar[str] = "scaffold"
    steps: int
    step_x: float
    step_y: float

    def run_at_client(self, problem: Problem, x: Array, memory: LocalMemory) -> Outcome:
        length = self.steps * self.step_x
        first = memory.x.shape[0] == 0
        shared = 0.0 * x if first else (memory.x - x) * (1.0 / length)
        local = 0.0 * x if first else memory.control
        x_i, y = _descend(problem, x, memory.y, self.steps, self.step_x, self.step_y, shared - local)
        control = local - shared + (x - x_i) * (1.0 / length)
        return Outcome(LocalMemory(y, x, control), problem.fix(x).at(y), x - x_i)


@dataclass(frozen=True)
class ProxSkipTask(LocalTask):
    """Scaffnew (Mishchenko et al. 2022, Algorithm 2): takes a number of steps that the server drew.

    First, with the new mean x, a client completes the update of its control variate: h_i += (p/γ)(x - x̂_i).
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

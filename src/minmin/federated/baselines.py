"""Methods of federated learning to compare with; x is shared, y_i is local.

Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, name them. A client takes local steps, then sends one vector. The
server subtracts the weighted mean of these vectors from x.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from minmin.core.arrays import Array
from minmin.core.problem import Problem
from minmin.core.vectors import Vector
from minmin.errors import InputError, as_count, as_positive
from minmin.federated.problem import RemoteSlice
from minmin.federated.tasks import ClientTask, Outcome
from minmin.methods.base import Candidate, Method
from minmin.methods.inner.partial_minimum import DescendInY
from minmin.methods.needs import KNOWN_CONSTANTS, Need

_NEVER = 10**9
"""More iterations than any run makes."""
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
        task = DescendInY(inner, _RECONSTRUCTION_TOL, None, stateless=True)
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


class LocalState(NamedTuple):
    """x, the number of rounds so far, and the candidate."""

    x: Vector
    rounds: int
    candidate: Candidate


@dataclass(frozen=True)
class LocalMethod(Method):
    """Base class of methods whose clients take local steps between two rounds.

    Parameters
    ----------
    L_x, L_y : float
        The largest constants among the clients.
    step_size : float
        The step size of a client, in units of 1/L_x in x and 1/L_y in y.
    certify_every : int
        After this many rounds, an extra round asks for ∇ₓf, for a certificate; never if 0.
    """

    state_types: ClassVar[tuple[type, ...]] = (LocalState,)
    L_x: float
    L_y: float
    step_size: float = 0.5
    certify_every: int = 25

    def __post_init__(self) -> None:
        as_positive(self.step_size, "step_size")
        as_count(self.certify_every, "certify_every")

    @property
    def needs(self) -> frozenset[Need]:
        return KNOWN_CONSTANTS

    def init(self, problem: Problem, x: Vector, y: Vector) -> LocalState:
        return LocalState(x, 0, Candidate(x, y))

    def step(self, problem: Problem, state: LocalState) -> LocalState:
        """Run one round; if a certificate is due, one in which neither x nor y moves."""
        rounds = state.rounds + 1
        slice_ = problem.fix(state.x)
        assert isinstance(slice_, RemoteSlice)
        if self.certify_every and rounds % (self.certify_every + 1) == 0:
            _, evaluation = slice_.run_on_parts(GradientTask(), ())
            bound, size = problem.bound(evaluation), evaluation.gradient_size
            return LocalState(state.x, rounds, Candidate(state.x, evaluation.y, bound, gradient_size=size))
        displacement, y = slice_.average(self._task(problem, rounds))
        x = state.x - displacement
        return LocalState(x, rounds, Candidate(x, y))

    def patience(self, problem: Problem) -> int:
        """Unlimited: some of these methods do not converge to the minimum, so their bound may never fall."""
        return _NEVER

    @abstractmethod
    def _task(self, problem: Problem, rounds: int) -> ClientTask:
        """The task that the clients run in this round."""


@dataclass(frozen=True)
class FixedSteps(LocalMethod):
    """Base class of methods with the same number of local steps in every round.

    Parameters
    ----------
    local_steps : int
    """

    local_steps: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if as_count(self.local_steps, "local_steps") == 0:
            raise InputError("local_steps = 0: a client must take at least one step")


@dataclass(frozen=True)
class FedAvg(FixedSteps):
    """Federated averaging (McMahan et al. 2017) of x, with y_i local.

    Guarantee: none if clients differ; with several local steps it ends near the minimum, not at it.
    """

    name: ClassVar[str] = "fedavg"

    def _task(self, problem: Problem, rounds: int) -> ClientTask:
        return FedAvgTask(self.local_steps, self.step_size / self.L_x, self.step_size / self.L_y)


@dataclass(frozen=True)
class FederatedReconstruction(FixedSteps):
    """Federated Reconstruction (Singhal et al. 2021): stateless clients solve for y_i in each round, then move x.

    Guarantee: that of federated averaging on F_i(x) = min_y f_i(x, y).
    """

    name: ClassVar[str] = "fedrecon"

    def _task(self, problem: Problem, rounds: int) -> ClientTask:
        return ReconstructionTask(self.local_steps, self.step_size / self.L_x)


@dataclass(frozen=True)
class Scaffold(FixedSteps):
    """SCAFFOLD (Karimireddy et al. 2020): local steps corrected by control variates; all clients take part.

    Guarantee: converges to the minimum in O(κ log 1/ε) rounds if the step size is small enough.
    """

    name: ClassVar[str] = "scaffold"

    def _task(self, problem: Problem, rounds: int) -> ClientTask:
        return ScaffoldTask(self.local_steps, self.step_size / self.L_x, self.step_size / self.L_y)


@dataclass(frozen=True)
class ProxSkip(LocalMethod):
    """ProxSkip for federated learning, Scaffnew (Mishchenko et al. 2022): a random number of local steps per round.

    Guarantee: O(√κ log 1/ε) rounds in expectation, for step_size = 1 and on average √κ steps per round.

    Parameters
    ----------
    seed : int
        The seed of the random numbers of steps.
    """

    name: ClassVar[str] = "proxskip"
    step_size: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count(self.seed, "seed")

    def _task(self, problem: Problem, rounds: int) -> ClientTask:
        constants = problem.constants
        assert constants is not None
        probability = min(1.0, math.sqrt(self.step_size * constants.mu_x / self.L_x))
        steps = int(np.random.default_rng((self.seed, rounds)).geometric(probability))
        return ProxSkipTask(steps, probability, self.step_size / self.L_x, self.step_size / self.L_y)

"""The server's side of the methods: it subtracts from x the weighted mean of the clients' vectors."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from minmin.core.problem import Problem
from minmin.core.vectors import Vector
from minmin.errors import InputError, as_count, as_number
from minmin.federated.baselines.tasks import (
    FedAvgTask,
    GradientTask,
    ProxSkipTask,
    ReconstructionTask,
    ScaffoldTask,
)
from minmin.federated.problem import RemoteSlice
from minmin.federated.tasks import ClientTask
from minmin.methods.base import Candidate, Method, require_constants

_NEVER = 10**9
"""More iterations than any run makes."""


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
        if not 0.0 < as_number(self.step_size, "step_size") < math.inf:
            raise InputError(f"step_size = {self.step_size} must be positive and finite")
        as_count(self.certify_every, "certify_every")

    def check(self, problem: Problem) -> None:
        require_constants(self.name, problem)

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

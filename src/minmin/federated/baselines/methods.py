"""The servers' halves: x goes down by the weighted mean of what the clients sent."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from minmin.errors import InputError, as_count, as_number
from minmin.federated.baselines.works import (
    FedAvgWork,
    GradientWork,
    LocalMemory,
    ProxSkipWork,
    ReconstructionWork,
    ScaffoldWork,
)
from minmin.methods.base import Answer, Method, require_constants
from minmin.oracle import Problem, Work
from minmin.space import Vector, parts_of


class LocalState(NamedTuple):
    """x, what is known of the clients' memories, how many rounds were made, and the answer."""

    x: Vector
    y: tuple[LocalMemory, ...]
    rounds: int
    answer: Answer


@dataclass(frozen=True)
class LocalMethod(Method):
    """Clients make steps of their own between two rounds.

    Parameters
    ----------
    L_x, L_y : float
        The worst client's.
    step_size : float
        The length of a client's step, in units of 1/L_x in x and 1/L_y in y.
    certify_every : int
        After so many rounds one more asks for ∇ₓf, for a certificate; 0 never does.
    """

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
        memories = tuple(LocalMemory(part, part[:0], part[:0]) for part in parts_of(y))
        return LocalState(x, memories, 0, Answer(x, y, math.inf))

    def step(self, problem: Problem, state: LocalState) -> LocalState:
        """A round; or, where that is due, one that only looks."""
        rounds = state.rounds + 1
        if self.certify_every and rounds % (self.certify_every + 1) == 0:
            y, evaluation = problem.fix(state.x).done(GradientWork(), state.y)
            bound, floor = problem.convexity_bound(evaluation), problem.gap_floor(evaluation)
            return LocalState(state.x, y, rounds, Answer(state.x, evaluation.y, bound, floor))
        y, evaluation = problem.fix(state.x).done(self._work(problem, rounds), state.y)
        x = state.x - evaluation.grad_x
        return LocalState(x, y, rounds, Answer(x, evaluation.y, math.inf))

    def patience(self, problem: Problem) -> int:
        """Never given up for want of a bound: some of them do not converge to the minimum at all."""
        return 10**9

    @abstractmethod
    def _work(self, problem: Problem, rounds: int) -> Work:
        """What clients shall do in this round."""


@dataclass(frozen=True)
class FixedSteps(LocalMethod):
    """As many steps in every round.

    Parameters
    ----------
    local_steps : int
    """

    local_steps: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if as_count(self.local_steps, "local_steps") == 0:
            raise InputError("local_steps = 0: a client must make a step")


@dataclass(frozen=True)
class FedAvg(FixedSteps):
    """Federated averaging (McMahan et al. 2017) of x, with y_i local.

    Guarantee: none where clients differ; with several local steps it ends near the minimum, not at it.
    """

    name: ClassVar[str] = "fedavg"

    def _work(self, problem: Problem, rounds: int) -> Work:
        return FedAvgWork(self.local_steps, self.step_size / self.L_x, self.step_size / self.L_y)


@dataclass(frozen=True)
class FederatedReconstruction(FixedSteps):
    """Federated Reconstruction (Singhal et al. 2021): stateless clients find y_i anew in every round, then move x.

    Guarantee: as federated averaging on F_i(x) = min_y f_i(x, y).
    """

    name: ClassVar[str] = "fedrecon"

    def _work(self, problem: Problem, rounds: int) -> Work:
        return ReconstructionWork(self.local_steps, self.step_size / self.L_x, None)


@dataclass(frozen=True)
class Scaffold(FixedSteps):
    """SCAFFOLD (Karimireddy et al. 2020): local steps corrected by control variates, all clients taking part.

    Guarantee: converges to the minimum for steps that are short enough, in O(κ log 1/ε) rounds.
    """

    name: ClassVar[str] = "scaffold"

    def _work(self, problem: Problem, rounds: int) -> Work:
        return ScaffoldWork(self.local_steps, self.step_size / self.L_x, self.step_size / self.L_y)


@dataclass(frozen=True)
class ProxSkip(LocalMethod):
    """ProxSkip for federated learning, Scaffnew (Mishchenko et al. 2022): rounds are skipped by a coin.

    Guarantee: O(√κ log 1/ε) rounds in expectation, for step_size = 1 and a round in √κ steps.

    Parameters
    ----------
    seed : int
        Of the coin.
    """

    name: ClassVar[str] = "proxskip"
    step_size: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count(self.seed, "seed")

    def _work(self, problem: Problem, rounds: int) -> Work:
        constants = problem.constants
        assert constants is not None
        probability = min(1.0, math.sqrt(self.step_size * constants.mu_x / self.L_x))
        steps = int(np.random.default_rng((self.seed, rounds)).geometric(probability))
        return ProxSkipWork(steps, probability, self.step_size / self.L_x, self.step_size / self.L_y)

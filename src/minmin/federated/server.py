"""The server's half: a Sum whose terms are far away. Methods run on it as on any other problem."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol, TypeVar

import numpy as np

from minmin.constants import Constants
from minmin.errors import InputError, MinMinError, UnsupportedError
from minmin.federated.engines import Engine
from minmin.federated.messages import (
    DescribeRequest,
    Description,
    LookRequest,
    MeasureRequest,
    Measures,
    Message,
    Refusal,
    Reply,
    WorkRequest,
    encode,
    encoded_size,
)
from minmin.federated.works import described, public_part
from minmin.oracle import Ability, Evaluation, Problem, Slice, Work, start_array, zeros
from minmin.space import Array, Blocks, Vector, all_finite, dtype_name
from minmin.stops import RunEnded
from minmin.sums import combined_constants
from minmin.tally import UNCOUNTED, Tally

AnswerType = TypeVar("AnswerType", bound=Message)


class ClientError(MinMinError):
    """A client cannot be reached, or cannot describe itself, before there is a run that could end."""


@dataclass(frozen=True)
class Policy:
    """How long clients are waited for, and how often they are asked again.

    Attributes
    ----------
    timeout : float or None
        Seconds for one answer; None waits for ever.
    retries : int
        How often a client that fails to answer well is asked again before the run is given up.
    """

    timeout: float | None
    retries: int


@dataclass
class Traffic:
    """What a run has sent and received, and how long every client has worked."""

    bytes_down: int
    bytes_up: int
    client_seconds: list[float]


class RoundLog(Protocol):
    """Keeps the replies of rounds until the step that asked for them is finished and kept."""

    def replies(self, round_: int, digest: str) -> list[Reply] | None:
        """What came back for this very request, if that is known."""

    def note(self, round_: int, digest: str, replies: list[Reply]) -> None:
        """Keep what came back."""


class Federation(Problem):
    """f(x, y_1, …, y_M) = Σ w_i f_i(x, y_i) where only x is here.

    To a method it is a :class:`minmin.Sum`: y's parts are empty arrays, since they stay with the clients, and work on
    them is sent there. One joint ∇ₓ is one round.
    """

    takes_rounds = True
    y_elsewhere = True

    def __init__(self, engine: Engine, count: int, run: str, policy: Policy, *, values: bool, measure_every: int = 0):
        self._engine = engine
        self._policy = policy
        self.run = run
        self.rounds = 0
        self.log: RoundLog | None = None
        self.traffic = Traffic(0, 0, [0.0] * count)
        self._sizes: dict[tuple[Any, ...], int] = {}
        self._values = values
        self._newest: tuple[Any, list[Reply]] | None = None
        self._given_up: RunEnded | None = None
        self._told = frozenset[str]()
        self._names = [""] * count
        self._measure_every = measure_every
        self._measured_in: int | None = None
        self._measures: dict[str, tuple[float, ...]] = {}
        self._y_at_start: Blocks | None = None
        try:
            found = self._gather(DescribeRequest(run, 0), count, Description)
        except RunEnded as ended:
            raise ClientError(str(ended)) from None
        self._names = [description.name for description in found]
        if shared_names := {name for name in self._names if name and self._names.count(name) > 1}:
            raise InputError(f"more than one client is called {min(shared_names)!r}")
        measured = [name for description in found for name in description.measured] if measure_every else []
        self._measures = dict.fromkeys(measured, (math.nan,) * count)
        self.d_x, self.d_y = found[0].d_x, sum(description.d_y for description in found)
        for number, description in enumerate(found):
            if description.d_x != self.d_x:
                raise InputError(f"client {number} has d_x = {description.d_x}, the first has {self.d_x}; x is shared")
            if description.dtype != found[0].dtype:
                raise InputError(
                    f"client {number} computes in {description.dtype}, the first in {found[0].dtype}; x is shared"
                )
        total = sum(description.weight for description in found)
        self.weights = tuple(description.weight / total for description in found)
        abilities = [Ability(description.abilities) for description in found]
        shared = Ability.VALUE | Ability.HESS_YY
        for ability in abilities:
            shared &= ability
        self.told_values = Ability.VALUE in shared
        self.abilities = shared if values else shared & ~Ability.VALUE
        told = [description.constants for description in found]
        self._constants = combined_constants(self.weights, told)
        self.worst = _worst(told)
        self._model = np.zeros(0, dtype=found[0].dtype)
        self._marks = [_mark(description) for description in found]

    @property
    def constants(self) -> Constants | None:
        return self._constants

    @property
    def model(self) -> Array:
        return self._model

    def identity(self) -> Iterable[Any]:
        return [*super().identity(), *self.weights, str(self._model.dtype), *self._marks, *self._measures]

    def counted(self, tally: Tally) -> _CountedFederation:
        return _CountedFederation(self, tally)

    def fix(self, x: Vector) -> Slice:
        return _RemoteSlice(self, x, UNCOUNTED)

    def start(self, x0: Any, y0: Any) -> tuple[Vector, Vector]:
        x = zeros(self.d_x, self._model) if x0 is None else start_array(x0, self.d_x, "x0", self._model)
        if not isinstance(x, np.ndarray) or x.dtype != self._model.dtype:
            raise InputError(f"x0 is {dtype_name(x)}, but the clients compute in {self._model.dtype}; give NumPy's")
        self._y_at_start = self.unseen_y
        return x, self._y_at_start

    def _exchanged(self) -> NoReturn:
        raise UnsupportedError("y stays with the clients, so only x can be the outer block of a federation")

    @property
    def unseen_y(self) -> Blocks:
        """y as the server sees it: nothing."""
        return Blocks([self._model] * len(self.weights), self.weights)

    def work(self, x: Array, work: Work) -> list[Reply]:
        """One round: every client does its work at x.

        A round that a server before this one finished, but for its step, is not asked for again.
        """
        self.rounds += 1
        name, settings = described(work)
        self._told = frozenset(public_part(work.begin(self._model)))
        request = WorkRequest(self.run, self.rounds, x, name, settings, self._values, "")
        request = replace(request, digest=hashlib.sha256(encode(request)).hexdigest())
        replies = self.log.replies(self.rounds, request.digest) if self.log is not None else None
        if replies is None:
            replies = self._gather(request, len(self.weights), Reply)
            if self.log is not None:
                self.log.note(self.rounds, request.digest, replies)
        self._newest = x, replies
        return replies

    @property
    def has_worked(self) -> bool:
        """Whether there was a round since this server was started: only then it knows which y_i the clients hold."""
        return self._newest is not None

    def measure(self, x: Array) -> dict[str, tuple[float, ...]]:
        """What the metrics say at x and at the y_i of now, by metric and client, NaN where a client has none.

        No round, and nothing moves.
        """
        answers = self._gather(MeasureRequest(self.run, self.rounds, x), len(self.weights), Measures)
        names = dict.fromkeys(name for answer in answers for name in answer.metrics)
        return {name: tuple(answer.metrics.get(name, math.nan) for answer in answers) for name in names}

    def meters(self, x: Vector | None = None) -> dict[str, Any]:
        self._measure_when_due(x)
        traffic = self.traffic
        return {
            "bytes_up": traffic.bytes_up,
            "bytes_down": traffic.bytes_down,
            "client_seconds": tuple(traffic.client_seconds),
            **self._measures,
        }

    def _measure_when_due(self, x: Vector | None) -> None:
        last = self._measured_in
        if x is None or self._given_up is not None or not self._measures:
            return
        if last is not None and self.rounds < last + self._measure_every:
            return
        told = self.measure(x)
        self._measures = {name: told.get(name, values) for name, values in self._measures.items()}
        self._measured_in = self.rounds

    def look(self, x: Array, y: Blocks | None = None, *, gradient: bool = False) -> list[Reply]:
        """f, and its gradients where wanted, at x and the y_i of now, or of the start where that is given as y.

        No round, and nothing moves.
        """
        at_start = y is not None and y is self._y_at_start
        known = self._values and not gradient and not at_start and self._newest is not None
        if known and self._newest is not None and self._newest[0] is x:
            return self._newest[1]
        return self._gather(
            LookRequest(self.run, 0 if at_start else self.rounds, x, gradient), len(self.weights), Reply
        )

    def bound_of(self, x: Array, replies: Sequence[Reply]) -> float:
        """The bound at x and the y_i of now, from what a look with gradients told."""
        return self.convexity_bound(_RemoteEvaluation(x, self, replies))

    def _gather(self, request: Message, count: int, kind: type[AnswerType]) -> list[AnswerType]:
        """Ask all clients, and those that failed to answer well again, as often as the policy allows."""
        if self._given_up is not None:
            raise self._given_up
        found: dict[int, AnswerType] = {}
        faults: dict[int, str] = {}
        counts = not isinstance(request, LookRequest | MeasureRequest)  # looking is no part of what is measured
        size = encoded_size(request) if counts else 0
        for _ in range(self._policy.retries + 1):
            asked = [number for number in range(count) if number not in found]
            replies = self._engine.exchange(dict.fromkeys(asked, request), self._policy.timeout)
            if counts:
                self.traffic.bytes_down += size * len(asked)
            for number in asked:
                reply = replies.get(number)
                fault = self._fault(request, reply, kind)
                if fault is None:
                    assert isinstance(reply, kind)
                    found[number] = reply
                    if counts:
                        self._note_traffic(number, reply)
                else:
                    faults[number] = fault
            if len(found) == count:
                return [found[number] for number in range(count)]
        number = min(number for number in range(count) if number not in found)
        tries = self._policy.retries + 1
        self._given_up = RunEnded(
            "interrupted",
            f"{self._called(number)} {faults[number]} in round {request.round}, asked {tries} time{'s' * (tries > 1)}",
        )
        raise self._given_up

    def _called(self, number: int) -> str:
        return f"client {number} ({self._names[number]})" if self._names[number] else f"client {number}"

    def _note_traffic(self, number: int, answer: Message) -> None:
        if not isinstance(answer, Reply):
            self.traffic.bytes_up += encoded_size(answer)
            return
        shape = answer.shape()
        if shape not in self._sizes:
            self._sizes[shape] = encoded_size(answer)
        self.traffic.bytes_up += self._sizes[shape]
        self.traffic.client_seconds[number] += answer.seconds

    def _fault(self, request: Message, reply: Message | None, kind: type[Message]) -> str | None:
        """What is wrong with an answer, in words that follow "client 3"."""
        if reply is None:
            return "did not answer"
        if isinstance(reply, Refusal):
            return f"refused ({reply.reason})"
        if not isinstance(reply, kind):
            return "answered something else"
        if (reply.run, reply.round) != (request.run, request.round):
            return f"answered round {reply.round} of run {reply.run!r}"
        if not isinstance(reply, Reply):
            return None
        wants_vector = isinstance(request, WorkRequest) or (isinstance(request, LookRequest) and request.gradient)
        if reply.vector.shape != ((self.d_x,) if wants_vector else (0,)):
            return f"sent a vector of shape {reply.vector.shape}"
        if wants_vector and reply.vector.dtype != self._model.dtype:
            return f"sent a vector of {reply.vector.dtype}"
        if set(reply.memory) != (self._told if isinstance(request, WorkRequest) else set()):
            return "told of another memory"
        if any(math.isnan(number) for number in reply.memory.values()) or min(reply.calls.values(), default=0) < 0:
            return "sent NaN or a negative count"
        numbers = [reply.grad_y_square, reply.y_square, reply.other_terms, reply.eps, reply.seconds]
        wants_value = self.told_values and (isinstance(request, LookRequest) or self._values)
        if not all_finite(reply.vector) or not all(math.isfinite(number) for number in numbers):
            return "sent NaN or infinity"
        if wants_value and (reply.value is None or not math.isfinite(reply.value)):
            return "sent no finite value"
        return None


def _worst(told: Sequence[Constants | None]) -> Constants | None:
    """Constants that hold for every client alone; None where one is unknown."""
    known = [c for c in told if c is not None]
    if len(known) < len(told):
        return None
    return Constants(
        L_x=max(c.L_x for c in known),
        L_y=max(c.L_y for c in known),
        mu_x=min(c.mu_x for c in known),
        mu_y=min(c.mu_y for c in known),
        source=known[0].source,
    )


def _mark(description: Description) -> str:
    """What tells a client from others: its name, its size, and its constants but for rounding."""
    c = description.constants
    known = None if c is None else [f"{number:.6g}" for number in (c.L_x, c.L_y, c.mu_x, c.mu_y)]
    return f"{description.name} {description.d_y} {known}"


class _CountedFederation(Federation):
    """The same federation, reporting to a tally."""

    def __init__(self, original: Federation, tally: Tally):
        self.__dict__.update(original.__dict__)
        self._original = original
        self._tally = tally

    def fix(self, x: Vector) -> Slice:
        return _RemoteSlice(self._original, x, self._tally)


class _RemoteSlice(Slice):
    __slots__ = ("_federation", "_tally")

    def __init__(self, federation: Federation, x: Vector, tally: Tally):
        super().__init__(x)
        self._federation = federation
        self._tally = tally

    def done(self, work: Work, memories: Sequence[Any]) -> tuple[tuple[Any, ...], Evaluation]:
        """A round: refused before anything is sent where the budget is spent."""
        self._tally.add("grad_x")
        replies = self._federation.work(self.x, work)
        for reply in replies:
            for kind, count in reply.calls.items():
                if kind not in ("grad_x", "value"):
                    for _ in range(count):
                        self._tally.add(kind)
        unseen = work.begin(self._federation.model)
        told = tuple(unseen._replace(**reply.memory) for reply in replies)
        return told, _RemoteEvaluation(self.x, self._federation, replies)

    def at(self, y: Blocks) -> Evaluation:
        self._tally.add("value")
        return _RemoteEvaluation(self.x, self._federation, self._federation.look(self.x, y))


class _RemoteEvaluation(Evaluation):
    """f at x and at y_i that only the clients see, from what they told."""

    __slots__ = ("_replies", "_weights")

    def __init__(self, x: Vector, federation: Federation, replies: Sequence[Reply]):
        super().__init__(x, federation.unseen_y, UNCOUNTED)
        self._weights = federation.weights
        self._replies = replies

    @property
    def grad_y_norm(self) -> float:
        return math.sqrt(sum(w * r.grad_y_square for w, r in zip(self._weights, self._replies, strict=True)))

    @property
    def y_norm(self) -> float:
        return math.sqrt(sum(w * r.y_square for w, r in zip(self._weights, self._replies, strict=True)))

    @property
    def eps(self) -> float:
        return max(reply.eps for reply in self._replies)

    def _other_terms(self) -> float:
        return math.sqrt(sum(w * r.other_terms**2 for w, r in zip(self._weights, self._replies, strict=True)))

    def _compute_value(self) -> float:
        return sum(w * (r.value or 0.0) for w, r in zip(self._weights, self._replies, strict=True))

    def _compute_grad_x(self) -> Vector:
        total = self._weights[0] * self._replies[0].vector
        term = np.empty_like(total)
        for w, reply in zip(self._weights[1:], self._replies[1:], strict=True):
            total += np.multiply(w, reply.vector, out=term)
        return total

    def _compute_grad_y(self) -> Vector:
        raise TypeError("∇ᵧf stays with the clients")

    @property
    def shows_y(self) -> bool:
        return False

"""The server's conversation with its clients: requests, retries, checks of the answers, traffic, and rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from minmin.core.arrays import Array, all_finite
from minmin.core.problem import YTask
from minmin.errors import InputError, MinMinError, as_count, show
from minmin.federated import protocol
from minmin.federated.engines import Engine
from minmin.federated.protocol import Envelope, Message, MessageError
from minmin.federated.tasks import describe_task
from minmin.loop.stopping import RunEnded

MessageType = TypeVar("MessageType", bound=Message)
Check = Callable[[Any], str | None]
"""Says what is wrong with an answer, in words that follow "client 3"; None where nothing is."""


DEFAULT_TIMEOUT = 600.0
"""Seconds for one answer. A choice: rounds take seconds to minutes, so this is long even for a slow client, and a lost
message costs ten minutes, not a night. On Flower late answers count, so a client has this time whenever it is asked."""
_SILENT = "did not answer"
_MOST_NAMED = 5
"""So many clients are named in a message; a federation may have thousands."""


class ClientError(MinMinError):
    """A client cannot be reached, or cannot describe itself, before there is a run that could end."""


@dataclass(frozen=True)
class Policy:
    """How many seconds clients have for one answer, and how often they are asked again before the run is given up."""

    timeout: float | None = DEFAULT_TIMEOUT
    retries: int = 3

    def __post_init__(self) -> None:
        if self.timeout is not None and not (isinstance(self.timeout, int | float) and 0 < self.timeout < math.inf):
            raise InputError(
                f"timeout = {show(self.timeout)} must be a positive number of seconds, or None for no limit"
            )
        as_count(self.retries, "retries")


class Traffic(NamedTuple):
    """What a run has sent and received, and how many seconds each client has worked."""

    bytes_down: int
    bytes_up: int
    client_seconds: tuple[float, ...]


class RoundLog(Protocol):
    """Keeps the replies of rounds until the step that asked for them is finished and kept."""

    def find(self, round_: int, digest: str) -> list[Envelope] | None:
        """What came back for exactly this request, if that is known."""

    def add(self, round_: int, digest: str, replies: list[Envelope]) -> None:
        """Keep what came back."""


class Session:
    """All that is said between the server and ``count`` clients in one run. Creating one sends nothing.

    Every message carries the run's name; without one, clients answer for their newest run. ``traffic`` is that of
    descriptions and rounds: evaluations and metrics are not part of what a method costs.
    """

    def __init__(self, engine: Engine, count: int, policy: Policy, run: str = ""):
        self.run = run
        self.rounds = 0
        self.traffic = Traffic(0, 0, (0.0,) * count)
        self.log: RoundLog | None = None
        self._engine = engine
        self._policy = policy
        self._descriptions: Sequence[protocol.Description] = ()
        self._newest: tuple[Array, list[protocol.Reply]] | None = None
        self._ended: RunEnded | None = None

    def resume(self, run: str, rounds: int, traffic: Traffic) -> None:
        """Take over from an earlier server."""
        self.run, self.rounds, self.traffic = run, rounds, traffic

    @property
    def has_worked(self) -> bool:
        """Whether there was a round since this server started: only then it knows which y_i the clients hold."""
        return self._newest is not None

    def describe(self) -> list[protocol.Description]:
        """Ask every client what its problem is like; needed before all else."""
        try:
            answers = self._ask(Envelope(protocol.DescribeRequest(self.run, 0)), protocol.Description, counts=True)
        except RunEnded as ended:
            raise ClientError(str(ended)) from None
        self._descriptions = [_expect(answer, protocol.Description) for answer in answers]
        return list(self._descriptions)

    def run_task(self, x: Array, task: YTask, memory: frozenset[str], *, value: bool) -> list[protocol.Reply]:
        """One round: every client runs a task at x, whose memory has these public numbers.

        A round that an earlier server finished, but whose step it did not, is not asked for again.
        """
        self.rounds += 1
        name, settings = describe_task(task)
        request = Envelope(protocol.TaskRequest(self.run, self.rounds, x, name, settings, value))
        answers = self.log.find(self.rounds, request.digest) if self.log is not None else None
        if answers is None:
            check = self._check_reply(vector=True, value=value, memory=memory)
            answers = self._ask(request, protocol.Reply, check, counts=True)
            if self.log is not None:
                self.log.add(self.rounds, request.digest, answers)
        replies = [_expect(answer, protocol.Reply) for answer in answers]
        self._newest = x, replies
        return replies

    def find_values(self, x: Array) -> list[protocol.Reply] | None:
        """The newest round's replies, where that round was at x: they may hold f, and need no message."""
        if self._newest is None or not np.array_equal(self._newest[0], x):
            return None
        return self._newest[1]

    def evaluate(self, x: Array, *, gradient: bool, at_start: bool = False) -> list[protocol.Reply]:
        """f, and its gradients where wanted, at x and the current y_i, or those at the start. Nothing moves."""
        request = Envelope(protocol.EvaluateRequest(self.run, 0 if at_start else self.rounds, x, gradient))
        check = self._check_reply(vector=gradient, value=True, memory=frozenset())
        return [_expect(answer, protocol.Reply) for answer in self._ask(request, protocol.Reply, check, counts=False)]

    def measure(self, x: Array) -> list[protocol.Measures]:
        """The clients' metrics at x and the current y_i. Nothing moves."""
        request = Envelope(protocol.MeasureRequest(self.run, self.rounds, x))
        return [_expect(answer, protocol.Measures) for answer in self._ask(request, protocol.Measures, counts=False)]

    def _ask(
        self, request: Envelope, kind: type[Message], check: Check | None = None, *, counts: bool
    ) -> list[Envelope]:
        """Ask all clients, and again those that failed to answer well, as often as the policy allows."""
        if self._ended is not None:
            raise self._ended
        count = len(self.traffic.client_seconds)
        found: dict[int, Envelope] = {}
        faults: dict[int, str] = {}
        for _ in range(self._policy.retries + 1):
            missing = [number for number in range(count) if number not in found]
            answers = self._engine.exchange(dict.fromkeys(missing, request), self._policy.timeout)
            good = {}
            for number in missing:
                fault = _find_fault(request, answers.get(number), kind, check)
                if fault is None:
                    good[number] = answers[number]
                else:
                    faults[number] = fault
            if counts:
                self._count(request, len(missing), good)
            found |= good
            if len(found) == count:
                return [found[number] for number in range(count)]
        self._ended = self._give_up(request, {number: faults[number] for number in faults if number not in found})
        raise self._ended

    def _give_up(self, request: Envelope, faults: dict[int, str]) -> RunEnded:
        first, *others = sorted(faults)
        tries, timeout = self._policy.retries + 1, self._policy.timeout
        often = f"{tries} time{'s' * (tries > 1)}"
        limit = f" with timeout = {timeout:g} s" if timeout is not None and faults[first] == _SILENT else ""
        message = f"{self._name(first)} {faults[first]} in round {request.label.round}, asked {often}{limit}"
        if others:
            named = ", ".join(map(self._name, others[:_MOST_NAMED]))
            more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
            message += f"; no good answer came from {named}{more} either"
        return RunEnded("interrupted", message)

    def _name(self, number: int) -> str:
        name = self._descriptions[number].name if self._descriptions else ""
        return f"client {number} ({name})" if name else f"client {number}"

    def _count(self, request: Envelope, sent: int, answers: dict[int, Envelope]) -> None:
        seconds = list(self.traffic.client_seconds)
        for number, answer in answers.items():
            if isinstance(answer.message, protocol.Reply):
                seconds[number] += answer.message.seconds
        down = self.traffic.bytes_down + request.size * sent
        up = self.traffic.bytes_up + sum(answer.size for answer in answers.values())
        self.traffic = Traffic(down, up, tuple(seconds))

    def _check_reply(self, *, vector: bool, value: bool, memory: frozenset[str]) -> Check:
        """Checks that a reply has what was asked for, and that all of it is finite."""
        first = self._descriptions[0]
        tells_values = all(description.has_value for description in self._descriptions)

        def check(reply: protocol.Reply) -> str | None:
            if reply.vector.shape != ((first.d_x,) if vector else (0,)):
                return f"sent a vector of shape {reply.vector.shape}"
            if vector and reply.vector.dtype != first.dtype:
                return f"sent a vector of {reply.vector.dtype}"
            if set(reply.memory) != memory:
                return "told of another memory"
            if any(map(math.isnan, reply.memory.values())) or min(reply.calls.values(), default=0) < 0:
                return "sent NaN or a negative count"
            numbers = [reply.grad_y_square, reply.y_square, reply.fixed_terms, reply.eps, reply.seconds]
            if not all_finite(reply.vector) or not all(map(math.isfinite, numbers)):
                return "sent NaN or infinity"
            if value and tells_values and (reply.value is None or not math.isfinite(reply.value)):
                return "sent no finite value"
            return None

        return check


def _find_fault(request: Envelope, answer: Envelope | None, kind: type[Message], check: Check | None) -> str | None:
    if answer is None:
        return _SILENT
    try:
        message = answer.message
    except MessageError:
        return "sent bytes that are no message"
    if isinstance(message, protocol.Refusal):
        return f"refused ({message.reason})"
    if not isinstance(message, kind):
        return "answered something else"
    if (message.run, message.round) != request.label[1:]:
        return f"answered round {message.round} of run {message.run!r}"
    return None if check is None else check(message)


def _expect(answer: Envelope, kind: type[MessageType]) -> MessageType:
    message = answer.message
    assert isinstance(message, kind)
    return message

"""The server's side of a run: sends requests, asks again, checks replies, and counts traffic and rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from minmin.core.arrays import Array
from minmin.core.problem import YTask
from minmin.core.vectors import norm
from minmin.errors import InputError, MinMinError, UserCodeError, as_count, show
from minmin.federated import protocol
from minmin.federated.engines import Engine
from minmin.federated.protocol import Envelope, Message, MessageError
from minmin.federated.ranges import find_number_outside
from minmin.federated.tasks import describe_task
from minmin.log import LOG
from minmin.loop.stopping import RunEnded

MessageType = TypeVar("MessageType", bound=Message)
Check = Callable[[Any], str | None]
"""Says what is wrong with a reply, as the end of a sentence that begins with "client 3"; None if it is valid."""


DEFAULT_TIMEOUT = 600.0
"""Seconds for one reply. Chosen, not measured: rounds take seconds to minutes, so this is long even for a slow client,
and a lost message costs ten minutes, not a night. On Flower a late reply is accepted, so a client has this time again
with each try."""
_NO_REPLY = "did not answer"
_MAX_NAMED = 5
"""How many clients an error names; a federation may have thousands."""
_LONGEST_TEXT = 200
"""How many characters of a client's text an error shows."""


class ClientError(MinMinError):
    """A client cannot be reached, or cannot describe its problem, so that no run can start."""


@dataclass(frozen=True)
class Policy:
    """How many seconds clients have for one reply, and how often they are asked again before the run ends."""

    timeout: float | None = DEFAULT_TIMEOUT
    retries: int = 3

    def __post_init__(self) -> None:
        if self.timeout is not None and not (isinstance(self.timeout, int | float) and 0 < self.timeout < math.inf):
            raise InputError(
                f"timeout = {show(self.timeout)} must be a positive number of seconds, or None for no limit"
            )
        as_count(self.retries, "retries")


class Traffic(NamedTuple):
    """How many bytes a run has sent and received, and how many seconds each client has computed."""

    bytes_down: int
    bytes_up: int
    client_seconds: tuple[float, ...]


class RoundLog(Protocol):
    """Keeps the replies of rounds until the step that asked for them is finished and saved."""

    def find(self, round_: int, digest: str) -> list[Envelope] | None:
        """The replies to exactly this request, if they are kept."""

    def add(self, round_: int, digest: str, replies: list[Envelope]) -> None:
        """Keep the replies to a request."""


class Session:
    """Exchanges the messages of one run with ``count`` clients. Creating a session sends nothing.

    Every message carries the name of the run; if it is empty, clients reply for their newest run. ``traffic`` counts
    descriptions and rounds; evaluations and metrics are left out, since they are not part of the cost of a method.
    ``in_round`` says whether a round was begun and not finished, so that only some clients may have moved their y_i.
    ``constants`` are what requests say of f, if a client has a term in y.
    """

    def __init__(self, engine: Engine, count: int, policy: Policy, run: str = ""):
        self.run = run
        self.rounds = 0
        self.traffic = Traffic(0, 0, (0.0,) * count)
        self.log: RoundLog | None = None
        self.in_round = False
        self.constants: dict[str, float] = {}
        self._engine = engine
        self._policy = policy
        self._descriptions: Sequence[protocol.Description] = ()
        self._newest: tuple[Array, list[protocol.Reply]] | None = None
        self._ended: RunEnded | None = None

    def resume(self, run: str, rounds: int, traffic: Traffic) -> None:
        """Continue the run of an earlier server."""
        self.run, self.rounds, self.traffic = run, rounds, traffic

    @property
    def has_worked(self) -> bool:
        """Whether there was a round since this server started. Only then it is known which y_i the clients hold."""
        return self._newest is not None

    def describe(self) -> list[protocol.Description]:
        """Ask every client to describe its problem; call this before anything else."""
        try:
            request = Envelope(protocol.DescribeRequest(self.run, 0))
            replies = self._ask(request, protocol.Description, _check_description, counts=True)
        except RunEnded as ended:
            raise ClientError(str(ended)) from None
        self._descriptions = [_open(reply, protocol.Description) for reply in replies]
        return list(self._descriptions)

    def run_task(self, x: Array, task: YTask, memory: frozenset[str], *, value: bool) -> list[protocol.Reply]:
        """Run one round: every client runs the task at x. ``memory`` names the scalars that it sends of its memory.

        If an earlier server received all replies of this round but did not finish its step, nothing is sent again.
        """
        self.rounds += 1
        self.in_round = True
        name, settings = describe_task(task)
        request = Envelope(protocol.TaskRequest(self.run, self.rounds, x, name, settings, value, self.constants))
        envelopes = self.log.find(self.rounds, request.digest) if self.log is not None else None
        if envelopes is None:
            check = self._check_reply(vector=True, value=value, memory=memory, never_negative=task.never_negative)
            envelopes = self._ask(request, protocol.Reply, check, counts=True)
            if self.log is not None:
                self.log.add(self.rounds, request.digest, envelopes)
        replies = [_open(envelope, protocol.Reply) for envelope in envelopes]
        self._newest, self.in_round = (x, replies), False
        return replies

    def find_values(self, x: Array) -> list[protocol.Reply] | None:
        """The replies of the newest round if it was at x: they may hold f, so that no message is needed."""
        if self._newest is None or not np.array_equal(self._newest[0], x):
            return None
        return self._newest[1]

    def evaluate(
        self, x: Array, *, gradient: bool, at_start: bool = False, counts: bool = False
    ) -> list[protocol.Reply]:
        """f, and its gradients if wanted, at x and the current or first y_i. No client moves its y_i.

        ``counts`` says whether the message counts as traffic.
        """
        constants = self.constants if gradient else {}
        request = Envelope(protocol.EvaluateRequest(self.run, 0 if at_start else self.rounds, x, gradient, constants))
        check = self._check_reply(vector=gradient, value=True)
        return [_open(reply, protocol.Reply) for reply in self._ask(request, protocol.Reply, check, counts=counts)]

    def measure(self, x: Array) -> list[protocol.Measures]:
        """The clients' metrics at x and the current y_i. No client moves its y_i."""
        request = Envelope(protocol.MeasureRequest(self.run, self.rounds, x))
        return [_open(reply, protocol.Measures) for reply in self._ask(request, protocol.Measures, counts=False)]

    def _ask(
        self, request: Envelope, kind: type[Message], check: Check | None = None, *, counts: bool
    ) -> list[Envelope]:
        """Ask all clients, and ask again those without a valid reply, as often as the policy allows."""
        if self._ended is not None:
            raise self._ended
        count = len(self.traffic.client_seconds)
        valid: dict[int, Envelope] = {}
        faults: dict[int, str] = {}
        for retries_left in range(self._policy.retries, -1, -1):
            missing = [number for number in range(count) if number not in valid]
            replies = self._exchange(dict.fromkeys(missing, request))
            new = {}
            for number in missing:
                fault = _find_fault(request, replies.get(number), kind, check)
                if fault is None:
                    new[number] = replies[number]
                else:
                    faults[number] = fault
                    named, round_ = self.name_clients([number]), request.label.round
                    LOG.warning("%s %s in round %d; retries left: %d", named, fault, round_, retries_left)
            if counts:
                self._count(request, len(missing), new)
            valid |= new
            if len(valid) == count:
                return [valid[number] for number in range(count)]
        self._ended = self._give_up(request, {number: faults[number] for number in faults if number not in valid})
        raise self._ended

    def _exchange(self, requests: dict[int, Envelope]) -> Mapping[int, Envelope]:
        try:
            return self._engine.exchange(requests, self._policy.timeout)
        except MinMinError:
            raise
        except Exception as error:
            name = type(self._engine).__name__
            raise UserCodeError(f"the engine {name} raised {type(error).__name__}: {error}") from error

    def _give_up(self, request: Envelope, faults: dict[int, str]) -> RunEnded:
        first, *others = sorted(faults)
        tries, timeout = self._policy.retries + 1, self._policy.timeout
        asked = f"asked {tries} time{'s' * (tries > 1)}"
        limit = f" with timeout = {timeout:g} s" if timeout is not None and faults[first] == _NO_REPLY else ""
        message = f"{self.name_clients([first])} {faults[first]} in round {request.label.round}, {asked}{limit}"
        if others:
            message += f"; {self.name_clients(others)} sent no valid reply either"
        return RunEnded("interrupted", message)

    def name_clients(self, numbers: Sequence[int]) -> str:
        """What messages call these clients: their numbers, and their names if they have any."""
        names = [_shorten(self._descriptions[number].name) if self._descriptions else "" for number in numbers]
        shown = [f"client {number}" + f" ({name})" * bool(name) for number, name in zip(numbers, names, strict=True)]
        more = f" and {len(shown) - _MAX_NAMED} more" if len(shown) > _MAX_NAMED else ""
        return ", ".join(shown[:_MAX_NAMED]) + more

    def _count(self, request: Envelope, sent: int, replies: dict[int, Envelope]) -> None:
        seconds = list(self.traffic.client_seconds)
        for number, reply in replies.items():
            if isinstance(reply.message, protocol.Reply):
                seconds[number] += reply.message.seconds
        down = self.traffic.bytes_down + request.size * sent
        up = self.traffic.bytes_up + sum(reply.size for reply in replies.values())
        self.traffic = Traffic(down, up, tuple(seconds))

    def _check_reply(
        self, *, vector: bool, value: bool, memory: frozenset[str] = frozenset(), never_negative: Collection[str] = ()
    ) -> Check:
        """Make a check that a reply has what was asked for.

        ``memory`` names the scalars of the task's memory, and ``never_negative`` those that must be at least zero.
        """
        first = self._descriptions[0]
        sends_values = all(description.has_value for description in self._descriptions)
        in_y = protocol.IN_Y if vector and self.constants else frozenset()

        def check(reply: protocol.Reply) -> str | None:
            if reply.vector.shape != ((first.d_x,) if vector else (0,)):
                return f"sent a vector of shape {reply.vector.shape}"
            if vector and reply.vector.dtype != first.dtype:
                return f"sent a vector of {reply.vector.dtype}"
            if not math.isfinite(length := norm(reply.vector)):
                return f"sent a vector of norm {length}"
            if set(reply.memory) != memory:
                return "sent another memory than that of its task"
            if set(reply.in_y) != in_y:
                return "sent other numbers about its y than it was asked for"
            for name, number in reply.memory.items():
                if math.isnan(number) or (number < 0 and name in never_negative):
                    return f"sent {name} = {number:g}"
            outside = reply.memory.get("outside_domain", False)  # of f's domain, where there is no value
            if value and sends_values and not outside and not (reply.value is not None and math.isfinite(reply.value)):
                return f"sent value = {reply.value}, which must be finite"
            return None

        return check


def _check_description(description: protocol.Description) -> str | None:
    if description.dtype in ("float32", "float64"):
        return None
    return f"computes in {_shorten(description.dtype)}, which must be float32 or float64"


def _find_fault(request: Envelope, reply: Envelope | None, kind: type[Message], check: Check | None) -> str | None:
    if reply is None:
        return _NO_REPLY
    try:
        message = reply.message
    except MessageError as error:
        return f"sent bytes that are not a message ({_shorten(str(error))})"
    if isinstance(message, protocol.Refusal):
        return f"refused ({_shorten(message.reason)})"
    if not isinstance(message, kind):
        return f"sent a message of the wrong kind ({message.kind})"
    if (message.run, message.round) != request.label[1:]:
        return f"sent a reply for round {message.round} of run {_shorten(message.run)!r}"
    return find_number_outside(message) or (None if check is None else check(message))


def _shorten(text: str) -> str:
    """A client's text as an error shows it: on one line, and not long."""
    shown = "".join(character if character.isprintable() else " " for character in text[: _LONGEST_TEXT + 1])
    return shown if len(shown) <= _LONGEST_TEXT else f"{shown[:_LONGEST_TEXT]}…"


def _open(envelope: Envelope, kind: type[MessageType]) -> MessageType:
    message = envelope.message
    assert isinstance(message, kind)
    return message

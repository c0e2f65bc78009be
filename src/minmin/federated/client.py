"""The client's half: it holds f_i and y_i, and answers messages."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from minmin.errors import InputError, as_number
from minmin.federated.blur import Blur
from minmin.federated.messages import (
    DescribeRequest,
    Description,
    LookRequest,
    MeasureRequest,
    Measures,
    Message,
    MessageError,
    Refusal,
    Reply,
    WorkRequest,
    decode,
    encode,
)
from minmin.federated.store import Kept, MemoryStore, StateStore
from minmin.federated.works import public_part, rebuilt
from minmin.oracle import Ability, Evaluation, Problem, Work
from minmin.space import all_finite, dot, dtype_name, like, to_numpy
from minmin.sums import JOINTLY_EXPENSIVE, Sum
from minmin.tally import Tally


class Client:
    """One holder of data: a problem in the shared x and a y of its own, which never leaves.

    Parameters
    ----------
    problem : Problem
        f_i. Its y is private.
    weight : float
        w_i, positive; a run divides by the sum of all, so numbers of samples will do.
    y0 : array, optional
        Where y_i starts, zero where not given.
    store : StateStore, optional
        Where y_i and the last reply are kept; in memory where not given.
    blur : Blur, optional
        Clipping and noise for the vector that is sent; the server's bound is no certificate then.
    name : str, optional
        What the client is called in messages and errors; a run that goes on needs the same clients in the same order.
    metrics : mapping of str to callable, optional
        What this client is willing to tell of itself when it is asked, such as its loss on data held out: each
        ``metric(x, y)`` gives one number.
    """

    def __init__(
        self,
        problem: Problem,
        weight: float = 1.0,
        *,
        y0: Any = None,
        store: StateStore | None = None,
        blur: Blur | None = None,
        name: str = "",
        metrics: Mapping[str, Callable[[Any, Any], float]] | None = None,
    ):
        if not isinstance(problem, Problem) or isinstance(problem, Sum):
            raise InputError(f"a client's problem must be a minmin problem, but no Sum; got {type(problem).__name__}")
        if not 0.0 < as_number(weight, "weight") < math.inf:
            raise InputError(f"weight = {weight} must be positive and finite")
        self.weight = float(weight)
        self.store = MemoryStore() if store is None else store
        if blur is not None and not isinstance(blur, Blur):
            raise InputError(f"blur must be a minmin.federated.Blur, got {blur!r}")
        self.blur = blur
        if not isinstance(name, str):
            raise InputError(f"a client's name must be a str, got {name!r}")
        self.name = name
        self.metrics = _checked_metrics(metrics)
        _, self.y0 = problem.start(None, y0)
        self._tally = Tally()
        self._problem = problem.matching(self.y0).counted(self._tally)

    @property
    def y(self) -> np.ndarray[Any, Any]:
        """y_i after the newest round of the newest run, for use where the client is."""
        run = self.store.newest()
        kept = None if run is None else self.store.load(run, self.y0)
        return to_numpy(self.y0 if kept is None else kept.y)

    def answer(self, data: bytes) -> bytes:
        """The same as :meth:`handle` for encoded messages."""
        try:
            message = decode(data)
        except MessageError:
            return encode(Refusal("", 0, "malformed"))
        return encode(self.handle(message))

    def handle(self, message: Message) -> Message:
        """Answer a message of the server's; whatever goes wrong is told in a word, without any of the data."""
        try:
            if isinstance(message, DescribeRequest):
                return self._description(message)
            if isinstance(message, WorkRequest):
                return self._worked(message)
            if isinstance(message, LookRequest):
                return self._looked(message)
            if isinstance(message, MeasureRequest):
                return self._measured(message)
        except Exception as error:
            return Refusal(message.run, message.round, f"raised {type(error.__cause__ or error).__name__}")
        return Refusal(message.run, message.round, "malformed")

    def _description(self, message: DescribeRequest) -> Description:
        p = self._problem
        constants, abilities = p.constants_where(JOINTLY_EXPENSIVE), p.abilities
        if self.blur is not None:  # whatever a bound is computed from, it then rests on vectors that are no gradients
            constants = None if constants is None else replace(constants, source="estimated")
            abilities &= ~Ability.VALUE
        return Description(
            message.run,
            message.round,
            self.name,
            list(self.metrics),
            p.d_x,
            p.d_y,
            self.weight,
            dtype_name(self.y0),
            int(abilities.value),
            constants,
        )

    def _worked(self, request: WorkRequest) -> Message:
        if not self._asks_at_a_point(request):
            return Refusal(request.run, request.round, "malformed")
        kept = self.store.load(request.run, self.y0)
        done = 0 if kept is None else kept.round
        if kept is not None and request.round == done:
            return self._again(request, kept)
        if request.round != done + 1:
            return Refusal(request.run, request.round, "stale" if request.round <= done else f"missed round {done + 1}")
        try:
            work = _work_of(request)
        except (KeyError, TypeError, ValueError):
            return Refusal(request.run, request.round, "unknown work")
        begun = time.perf_counter()
        self._tally.counts.clear()
        memory = work.begin(self.y0 if kept is None else kept.y)
        if kept is not None and type(kept.memory) is type(memory):  # else another kind of work goes on from y
            memory = kept.memory
        memory, evaluation = work.done_by(self._problem, like(request.x, self.y0), memory)
        told = public_part(memory)
        reply = self._reply(request, evaluation, told, gradient=True, value=request.value, begun=begun)
        if not (all_finite(reply.vector) and math.isfinite(reply.grad_y_square)):
            return Refusal(request.run, request.round, "not finite")
        self.store.save(request.run, Kept(request.round, evaluation.y, memory, request.digest, reply))
        return reply

    def _again(self, request: WorkRequest, kept: Kept) -> Message:
        """A round that was answered before is answered the same, and y does not move."""
        if request.digest != kept.request:
            return Refusal(request.run, request.round, "another request of the same round")
        return kept.reply

    def _looked(self, request: LookRequest) -> Message:
        if not self._asks_at_a_point(request):
            return Refusal(request.run, request.round, "malformed")
        kept = self.store.load(request.run, self.y0) if request.round > 0 else None
        begun = time.perf_counter()
        self._tally.counts.clear()
        y = self.y0 if kept is None else kept.y
        evaluation = self._problem.fix(like(request.x, self.y0)).at(y)
        return self._reply(request, evaluation, {}, gradient=request.gradient, value=True, begun=begun)

    def _measured(self, request: MeasureRequest) -> Message:
        if not self._asks_at_a_point(request):
            return Refusal(request.run, request.round, "malformed")
        kept = self.store.load(request.run, self.y0) if request.run else None
        y = self.y if not request.run else to_numpy(self.y0 if kept is None else kept.y)
        told = {name: float(metric(request.x.copy(), y.copy())) for name, metric in self.metrics.items()}
        return Measures(request.run, request.round, told)

    def _asks_at_a_point(self, request: WorkRequest | LookRequest | MeasureRequest) -> bool:
        x: Any = request.x
        known = isinstance(x, np.ndarray) and dtype_name(x) == dtype_name(self.y0)
        return known and x.shape == (self._problem.d_x,) and _is_finite(request)

    def _reply(
        self,
        request: Message,
        evaluation: Evaluation,
        memory: dict[str, float],
        *,
        gradient: bool,
        value: bool,
        begun: float,
    ) -> Reply:
        has_value = value and Ability.VALUE in self._problem.abilities and self.blur is None
        told = float(evaluation.value) if has_value else None
        vector = to_numpy(evaluation.grad_x) if gradient else np.zeros(0)
        if gradient and self.blur is not None:
            vector = self.blur.of(vector, request)
        slope = evaluation.grad_y if gradient else None
        calls = dict(self._tally.counts)
        return Reply(
            request.run,
            request.round,
            vector=vector,
            value=told,
            grad_y_square=0.0 if slope is None else dot(slope, slope),
            y_square=dot(evaluation.y, evaluation.y),
            other_terms=evaluation._other_terms() if gradient else 0.0,
            eps=evaluation.eps,
            memory=memory,
            calls=calls,
            seconds=time.perf_counter() - begun,
        )


def _checked_metrics(metrics: Any) -> dict[str, Callable[[Any, Any], float]]:
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics must be a mapping of names to callables of (x, y), got {metrics!r}")
    for name, metric in metrics.items():
        if not isinstance(name, str) or not name or not callable(metric):
            raise InputError(f"metrics must be names with callables of (x, y), got {name!r}: {metric!r}")
    return dict(metrics)


# What was found out of the newest request, for all clients in this process that are handed the very same one. Each is
# set at once: clients may be asked by several threads.
_newest_finite: tuple[Message, bool] | None = None
_newest_work: tuple[WorkRequest, Work] | None = None


def _is_finite(request: WorkRequest | LookRequest | MeasureRequest) -> bool:
    global _newest_finite
    known = _newest_finite
    if known is None or known[0] is not request:
        known = _newest_finite = request, all_finite(request.x)
    return known[1]


def _work_of(request: WorkRequest) -> Work:
    global _newest_work
    known = _newest_work
    if known is None or known[0] is not request:
        known = _newest_work = request, rebuilt(request.work, request.settings)
    return known[1]

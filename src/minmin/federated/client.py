"""The client's half: it holds f_i and y_i, and answers messages."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from minmin.core.arrays import Array, all_finite, dtype_name, to_like, to_numpy
from minmin.core.counting import Tally
from minmin.core.problem import Evaluation, Problem, YTask
from minmin.core.start import make_start
from minmin.core.vectors import dot, square
from minmin.errors import InputError, as_number
from minmin.federated import protocol
from minmin.federated.clip_and_noise import ClipAndNoise
from minmin.federated.protocol import Envelope, Message, MessageError
from minmin.federated.store import Kept, MemoryStore, StateStore
from minmin.federated.tasks import build_task, public_part, run_task
from minmin.problems.sum import JOINTLY_EXPENSIVE, Sum


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
    clip_and_noise : ClipAndNoise, optional
        For the vector that is sent; the server's bound is then no certificate.
    name : str, optional
        What the client is called in messages and errors; a run resumes only with the same clients in the same order.
    metrics : mapping of str to callable, optional
        What this client is willing to tell of itself when it is asked, such as its loss on held-out data: each
        ``metric(x, y)`` gives one number.
    blur : ClipAndNoise, optional
        The former name of ``clip_and_noise``.
    """

    def __init__(
        self,
        problem: Problem,
        weight: float = 1.0,
        *,
        y0: Any = None,
        store: StateStore | None = None,
        clip_and_noise: ClipAndNoise | None = None,
        name: str = "",
        metrics: Mapping[str, Callable[[Any, Any], float]] | None = None,
        blur: ClipAndNoise | None = None,
    ):
        if not isinstance(problem, Problem) or isinstance(problem, Sum):
            raise InputError(f"a client's problem must be a minmin problem, but no Sum; got {type(problem).__name__}")
        if not 0.0 < as_number(weight, "weight") < math.inf:
            raise InputError(f"weight = {weight} must be positive and finite")
        self.weight = float(weight)
        self.store = MemoryStore() if store is None else store
        if blur is not None:
            warnings.warn("Client(blur=) is called clip_and_noise= now", DeprecationWarning, stacklevel=2)
            clip_and_noise = blur
        if clip_and_noise is not None and not isinstance(clip_and_noise, ClipAndNoise):
            raise InputError(f"clip_and_noise must be a minmin.federated.ClipAndNoise, got {clip_and_noise!r}")
        self.clip_and_noise = clip_and_noise
        if not isinstance(name, str):
            raise InputError(f"a client's name must be a str, got {name!r}")
        self.name = name
        self.metrics = _check_metrics(metrics)
        _, self.y0 = make_start(problem, None, y0)
        self._tally = Tally()
        self._problem = problem.to_like(self.y0).counted(self._tally)

    @property
    def y(self) -> np.ndarray[Any, Any]:
        """y_i after the newest round of the newest run, for use where the client is."""
        run = self.store.newest()
        return to_numpy(self.y0 if run is None else self._y_in(run))

    def answer(self, data: bytes) -> bytes:
        """The same as :meth:`handle`, for bytes."""
        return self.handle(Envelope.from_bytes(data)).data

    def handle(self, request: Envelope) -> Envelope:
        """Answer a request. Whatever goes wrong is told in a few words, without any of the data."""
        try:
            message = request.message
        except MessageError:
            return Envelope(protocol.Refusal("", 0, "malformed"))
        try:
            if isinstance(message, protocol.DescribeRequest):
                return Envelope(self._describe(message))
            if isinstance(message, protocol.TaskRequest) and self._is_point(message.x):
                return self._run_task(message, request)
            if isinstance(message, protocol.EvaluateRequest) and self._is_point(message.x):
                return Envelope(self._evaluate(message, request))
            if isinstance(message, protocol.MeasureRequest) and self._is_point(message.x):
                return Envelope(self._measure(message))
        except Exception as error:
            return _refuse(message, f"raised {type(error.__cause__ or error).__name__}")
        return _refuse(message, "malformed")

    def _describe(self, message: protocol.DescribeRequest) -> protocol.Description:
        p = self._problem
        constants, has_value = p.constants_for(JOINTLY_EXPENSIVE), p.has_value
        if self.clip_and_noise is not None:  # any bound would then rest on vectors that are no gradients
            constants = None if constants is None else replace(constants, source="estimated")
            has_value = False
        return protocol.Description(
            message.run,
            message.round,
            name=self.name,
            measured=list(self.metrics),
            d_x=p.d_x,
            d_y=p.d_y,
            weight=self.weight,
            dtype=dtype_name(self.y0),
            has_value=has_value,
            has_y_hessian=p.has_y_hessian,
            constants=constants,
        )

    def _run_task(self, message: protocol.TaskRequest, request: Envelope) -> Envelope:
        kept = self.store.load(message.run, self.y0)
        done = 0 if kept is None else kept.round
        if kept is not None and message.round == done:  # answered before: answer the same, and y does not move
            same = request.digest == kept.request
            return kept.reply if same else _refuse(message, "another request of the same round")
        if message.round != done + 1:
            return _refuse(message, "stale" if message.round <= done else f"missed round {done + 1}")
        try:
            task = build_task(YTask.named[message.task], message.settings)
        except (KeyError, TypeError, ValueError):
            return _refuse(message, "unknown task")
        begun = time.perf_counter()
        self._tally.counts.clear()
        memory = task.begin(self.y0 if kept is None else kept.y)
        if kept is not None and type(kept.memory) is type(memory):  # else another kind of task starts from y
            memory = kept.memory
        memory, evaluation, vector = run_task(task, self._problem, to_like(message.x, self.y0), memory)
        reply = self._reply(request, evaluation, vector, public_part(memory), value=message.value, begun=begun)
        if not (all_finite(reply.vector) and math.isfinite(reply.grad_y_square)):
            return _refuse(message, "not finite")
        answer = Envelope(reply)
        self.store.save(message.run, Kept(message.round, evaluation.y, memory, request.digest, answer))
        return answer

    def _evaluate(self, message: protocol.EvaluateRequest, request: Envelope) -> protocol.Reply:
        begun = time.perf_counter()
        self._tally.counts.clear()
        y = self._y_in(message.run) if message.round > 0 else self.y0
        evaluation = self._problem.fix(to_like(message.x, self.y0)).at(y)
        vector = evaluation.grad_x if message.gradient else None
        return self._reply(request, evaluation, vector, {}, value=True, begun=begun)

    def _measure(self, message: protocol.MeasureRequest) -> protocol.Measures:
        y = to_numpy(self._y_in(message.run)) if message.run else self.y
        told = {name: float(metric(message.x.copy(), y.copy())) for name, metric in self.metrics.items()}
        return protocol.Measures(message.run, message.round, told)

    def _y_in(self, run: str) -> Array:
        """y_i after the newest round of a run."""
        kept = self.store.load(run, self.y0)
        return self.y0 if kept is None else kept.y

    def _is_point(self, x: Any) -> bool:
        known = isinstance(x, np.ndarray) and dtype_name(x) == dtype_name(self.y0)
        return known and x.shape == (self._problem.d_x,) and all_finite(x)

    def _reply(
        self,
        request: Envelope,
        evaluation: Evaluation,
        vector: Array | None,
        memory: dict[str, float],
        *,
        value: bool,
        begun: float,
    ) -> protocol.Reply:
        """The reply; without a vector, it tells nothing of gradients at all."""
        has_value = value and self._problem.has_value and self.clip_and_noise is None
        told = float(evaluation.value) if has_value else None
        sent = np.zeros(0) if vector is None else to_numpy(vector)
        if vector is not None and self.clip_and_noise is not None:
            sent = self.clip_and_noise.apply(sent, request)
        slope = None if vector is None else evaluation.grad_y
        label, rounding = request.label, evaluation.rounding
        return protocol.Reply(
            label.run,
            label.round,
            vector=sent,
            value=told,
            grad_y_square=0.0 if slope is None else dot(slope, slope),
            y_square=square(rounding.y_norm),
            fixed_terms=0.0 if vector is None else rounding.fixed_terms,
            eps=rounding.eps,
            memory=memory,
            calls=dict(self._tally.counts),
            seconds=time.perf_counter() - begun,
        )


def _refuse(message: Message, reason: str) -> Envelope:
    return Envelope(protocol.Refusal(message.run, message.round, reason))


def _check_metrics(metrics: Any) -> dict[str, Callable[[Any, Any], float]]:
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics must be a mapping of names to callables of (x, y), got {metrics!r}")
    for name, metric in metrics.items():
        if not isinstance(name, str) or not name or not callable(metric):
            raise InputError(f"metrics must be names with callables of (x, y), got {name!r}: {metric!r}")
    return dict(metrics)

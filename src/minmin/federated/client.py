"""The client: it holds f_i and y_i, and replies to requests."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from minmin.core.arrays import Array, all_finite, array_eps, dtype_name, to_like, to_numpy
from minmin.core.bound import Constants
from minmin.core.counting import Tally
from minmin.core.evaluation import Evaluation
from minmin.core.precision import full_float32
from minmin.core.problem import Problem, YTask, require_two_blocks
from minmin.core.start import make_start
from minmin.core.structure import Structure
from minmin.core.vectors import dot, norm, square
from minmin.deprecation import warn_renamed
from minmin.errors import InputError, as_number
from minmin.federated import protocol
from minmin.federated.clip_and_noise import ClipAndNoise
from minmin.federated.protocol import Envelope, Message, MessageError
from minmin.federated.ranges import WEIGHTS
from minmin.federated.store import ClientState, MemoryStore, StateStore
from minmin.federated.tasks import build_task, public_part, run_task
from minmin.problems.sum import COST_RATIO_OF_SUM, Sum


class Client:
    """One owner of data: a problem in the shared x and in a private y_i, which is never sent.

    Parameters
    ----------
    problem : Problem
        f_i. Its y is private. It may have a term in y: ``minmin.problems.Composite(problem, term_y=...)``.
    weight : float
        w_i, positive, such as the number of samples. A run minimises the mean of the f_i with these weights: it divides
        them by their sum, over all clients.
    y0 : array, optional
        The starting point of y_i; zero by default.
    store : StateStore, optional
        Where y_i and the last reply are kept; in memory by default.
    clip_and_noise : ClipAndNoise, optional
        Applied to the vector before it is sent; the server's bound is then not a certificate.
    name : str, optional
        The client's name in messages and errors. A run resumes only with the same clients in the same order.
    metrics : mapping of str to callable, optional
        Numbers that this client may send when asked, such as its loss on held-out data. Each ``metric(x, y)`` returns
        one number.
    blur : ClipAndNoise, optional
        The old name of ``clip_and_noise``; deprecated, to be removed in minmin 0.3.
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
            raise InputError(
                f"a client's problem must be a minmin problem other than a Sum, got {type(problem).__name__}"
            )
        require_two_blocks(problem, "a client")
        if problem.term_x is not None:
            raise InputError(
                "a client's problem has a term in x, which all clients share: give it to the server, "
                "minmin.federated.run(..., term_x=...)"
            )
        least, largest = WEIGHTS
        if not least <= as_number(weight, "weight") <= largest:
            raise InputError(f"weight = {weight} must be positive and finite, from {least:g} to {largest:g}")
        self.weight = float(weight)
        self.store = MemoryStore() if store is None else store
        if blur is not None:
            warn_renamed("Client(blur=)", "clip_and_noise=", stacklevel=2)
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
    def y(self) -> Any:
        """y_i after the newest round of the newest run. It is read here, at the client, and not sent."""
        run = self.store.newest()
        return _show(self._problem.structure_y, self.y0 if run is None else self._y_in(run))

    @property
    def structure_x(self) -> Structure | None:
        """How the user sees x, if not as a flat array."""
        return self._problem.structure_x

    def answer(self, data: bytes) -> bytes:
        """Reply to the bytes of a request with the bytes of a reply; see :meth:`handle`."""
        return self.handle(Envelope.from_bytes(data)).data

    def handle(self, request: Envelope) -> Envelope:
        """Reply to a request. A failure is reported in a few words, without any of the data."""
        try:
            message = request.message
        except MessageError:
            return Envelope(protocol.Refusal("", 0, "malformed"))
        try:
            with full_float32(self._problem.prototype_at(self.y0)):
                return self._reply_to(message, request)
        except Exception as error:
            return _refuse(message, f"raised {type(error.__cause__ or error).__name__}")

    def _reply_to(self, message: Message, request: Envelope) -> Envelope:
        if isinstance(message, protocol.DescribeRequest):
            return Envelope(self._describe(message))
        if isinstance(message, protocol.TaskRequest) and self._is_point(message.x):
            return self._run_task(message, request)
        if isinstance(message, protocol.EvaluateRequest) and self._is_point(message.x):
            return Envelope(self._evaluate(message, request))
        if isinstance(message, protocol.MeasureRequest) and self._is_point(message.x):
            return Envelope(self._measure(message))
        return _refuse(message, "malformed")

    def _describe(self, message: protocol.DescribeRequest) -> protocol.Description:
        p = self._problem
        constants, has_value = p.constants_for(COST_RATIO_OF_SUM), p.has_value
        if self.clip_and_noise is not None:  # a bound would be computed from vectors that are not gradients
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
            noisy=self.clip_and_noise is not None,
            constants=constants,
            term_y={} if p.term_y is None else {"convexity": p.term_y.convexity},
        )

    def _run_task(self, message: protocol.TaskRequest, request: Envelope) -> Envelope:
        state = self.store.load(message.run, self.y0)
        done = 0 if state is None else state.round
        if state is not None and message.round == done:  # repeat the reply without moving y
            same = request.digest == state.request
            return state.reply if same else _refuse(message, "another request of the same round")
        if message.round != done + 1:
            return _refuse(message, "stale" if message.round <= done else f"missed round {done + 1}")
        try:
            task = build_task(YTask.named[message.task], message.settings)
        except (KeyError, TypeError, ValueError):
            return _refuse(message, "unknown task")
        started = time.perf_counter()
        self._tally.counts.clear()
        memory = task.begin(self.y0 if state is None else state.y)
        if state is not None and type(state.memory) is type(memory):  # another kind of task starts from y alone
            memory = state.memory
        memory, evaluation, vector = run_task(task, self._problem, to_like(message.x, self.y0), memory)
        if getattr(memory, "outside_domain", False):  # as in YMemory; the memories of most tasks have no such field
            y, reply = memory.y, self._reply_outside(message, memory, started)
        else:
            y, known = evaluation.y, public_part(memory)
            reply = self._reply(request, evaluation, vector, known, value=message.value, started=started)
            if not (all_finite(reply.vector) and math.isfinite(reply.grad_y_square)):
                return _refuse(message, "not finite")
        envelope = Envelope(reply)  # stored first, so that the reply can be repeated
        self.store.save(message.run, ClientState(message.round, y, memory, request.digest, envelope))
        return envelope

    def _reply_outside(self, message: protocol.TaskRequest, memory: Any, started: float) -> protocol.Reply:
        """Say that x is outside of f's domain: the memory says so, and y_i stays where it is."""
        return protocol.Reply(
            message.run,
            message.round,
            vector=0.0 * message.x,
            value=None,
            grad_y_square=0.0,
            y_square=dot(memory.y, memory.y),
            fixed_terms=0.0,
            eps=array_eps(memory.y),
            memory=public_part(memory),
            calls=dict(self._tally.counts),
            seconds=time.perf_counter() - started,
            in_y=dict.fromkeys(protocol.IN_Y if message.constants else (), 0.0),
        )

    def _evaluate(self, message: protocol.EvaluateRequest, request: Envelope) -> protocol.Reply:
        started = time.perf_counter()
        self._tally.counts.clear()
        y = self._y_in(message.run) if message.round > 0 else self.y0
        evaluation = self._problem.fix(to_like(message.x, self.y0)).at(y)
        vector = evaluation.grad_x if message.gradient else None
        return self._reply(request, evaluation, vector, {}, value=True, started=started)

    def _measure(self, message: protocol.MeasureRequest) -> protocol.Measures:
        run = message.run or self.store.newest()
        y = self.y0 if run is None else self._y_in(run)
        pairs = (self._problem.structure_x, message.x), (self._problem.structure_y, y)
        measures = {name: float(metric(*(_show(*pair) for pair in pairs))) for name, metric in self.metrics.items()}
        return protocol.Measures(message.run, message.round, measures)

    def _y_in(self, run: str) -> Array:
        """y_i after the newest round of a run."""
        state = self.store.load(run, self.y0)
        return self.y0 if state is None else state.y

    def _is_point(self, x: Any) -> bool:
        right_type = isinstance(x, np.ndarray) and dtype_name(x) == dtype_name(self.y0)
        return right_type and x.shape == (self._problem.d_x,) and all_finite(x)

    def _reply(
        self,
        request: Envelope,
        evaluation: Evaluation,
        vector: Array | None,
        memory: dict[str, float],
        *,
        value: bool,
        started: float,
    ) -> protocol.Reply:
        """Build the reply. Without a vector it contains nothing about gradients."""
        has_value = value and self._problem.has_value and self.clip_and_noise is None
        sent = np.zeros(0) if vector is None else to_numpy(vector)
        if vector is not None and self.clip_and_noise is not None:
            sent = self.clip_and_noise.apply(sent, request)
        grad_y = None if vector is None else evaluation.grad_y
        label, rounding = request.label, evaluation.rounding
        constants = getattr(request.message, "constants", {})
        return protocol.Reply(
            label.run,
            label.round,
            vector=sent,
            value=float(evaluation.value) if has_value else None,
            grad_y_square=0.0 if grad_y is None else dot(grad_y, grad_y),
            y_square=square(rounding.y_norm),
            fixed_terms=0.0 if vector is None else rounding.fixed_terms + rounding.difference_terms,
            eps=rounding.eps,
            memory=memory,
            calls=dict(self._tally.counts),
            seconds=time.perf_counter() - started,
            in_y=_describe_y(evaluation, Constants(**constants), memory) if constants else {},
        )


def _describe_y(evaluation: Evaluation, constants: Constants, memory: Mapping[str, float]) -> dict[str, float]:
    """What a reply says of y_i if a client has a term in y: see :data:`minmin.federated.protocol.IN_Y`."""
    eps, term = evaluation.rounding.eps, evaluation.term_y
    noise = constants.gradient_noise(evaluation.rounding, norm(evaluation.x))[1]
    gap = evaluation.gap_in_y(constants.lower_mu(eps)[1], noise=noise, eps=eps)
    return {
        "gap": gap.value,
        "floor": gap.floor,
        "estimate": evaluation.estimate_in_y(memory.get("min_curvature_seen", math.inf)),
        "residual_square": square(evaluation.residual_in_y(memory.get("max_curvature_seen", math.inf))),
        "step_square": square(evaluation.residual_in_y(1.0)),
        "term": 0.0 if term is None else float(term.value(evaluation.y)),
    }


def _refuse(message: Message, reason: str) -> Envelope:
    return Envelope(protocol.Refusal(message.run, message.round, reason))


def _show(structure: Structure | None, vector: Array) -> Any:
    """A copy of a vector as the user sees it: in their structure, or as a flat NumPy array."""
    return to_numpy(vector).copy() if structure is None else structure.unflatten(vector)


def _check_metrics(metrics: Any) -> dict[str, Callable[[Any, Any], float]]:
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics must be a mapping of names to callables of (x, y), got {metrics!r}")
    for name, metric in metrics.items():
        if not isinstance(name, str) or not name or not callable(metric):
            raise InputError(f"metrics must map non-empty names to callables of (x, y), got {name!r}: {metric!r}")
    return dict(metrics)

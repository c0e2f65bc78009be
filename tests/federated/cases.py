"""Problems for federations, clients that misbehave, and an engine that listens; all of it can go to other processes."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import minmin
from minmin import extend, federated
from minmin.federated import protocol
from minmin.federated.protocol import DescribeRequest, Envelope
from minmin.problems import GLM, Function, Quadratic

TIGHT = {"bam": {}, "reduced-lbfgs": {"inner_tolerance_ratio": 1e-3}}
VARIANTS = [
    ("bam", {}),
    ("bam", {"inner": "newton"}),
    ("reduced-lbfgs", {"inner_tolerance_ratio": 1e-3}),
    ("reduced-lbfgs", {"inner_tolerance_ratio": 0.05, "inner": "newton"}),
    ("reduced-lbfgs", {"inner_tolerance_ratio": 0.01, "stateless": True}),
    ("inexact-outer", {}),
]


class Callables:
    """A quadratic as a user's own functions, with names that another process can find."""

    def __init__(self, problem):
        self.problem = problem

    def value(self, x, y):
        return self.problem.fix(x).at(y).value

    def grad_x(self, x, y):
        return self.problem.fix(x).at(y).grad_x

    def grad_y(self, x, y):
        return self.problem.fix(x).at(y).grad_y


def quadratic(rng, d_x, d_y, dtype="float64"):
    q = Quadratic.random(d_x=d_x, d_y=d_y, L_x=30.0, L_y=200.0, coupling=1.0, seed=int(rng.integers(2**31)))
    return Quadratic(q.H.astype(dtype), q.b.astype(dtype), d_x)


def glm(rng, d_x, d_y, dtype="float64", n=40):
    X, Y = rng.standard_normal((n, d_x)), 0.5 * rng.standard_normal((n, d_y))
    target = np.where(rng.uniform(size=n) < 0.5, 1.0, -1.0)
    return GLM(X.astype(dtype), Y.astype(dtype), target.astype(dtype), alpha_x=0.1, alpha_y=0.05)


def function(rng, d_x, d_y, dtype="float64"):
    q = quadratic(rng, d_x, d_y, dtype)
    calls = Callables(q)
    return Function(calls.value, calls.grad_x, calls.grad_y, d_x=d_x, d_y=d_y, constants=q.constants)


KINDS = {"quadratic": quadratic, "glm": glm, "function": function}


def three_problems(seed=0, d_x=6):
    rng = np.random.default_rng(seed)
    return [glm(rng, d_x, 3), quadratic(rng, d_x, 2), function(rng, d_x, 4)]


WEIGHTS = [1.0, 0.7, 2.5]


def three_clients(folder=None, seed=0, d_x=6):
    """Three dissimilar clients, with stores in a folder where one is given."""
    pairs = zip(three_problems(seed, d_x), WEIGHTS, strict=True)
    stores = [None if folder is None else federated.FolderStore(Path(folder) / str(i)) for i in range(3)]
    return [federated.Client(p, w, store=store) for (p, w), store in zip(pairs, stores, strict=True)]


def as_sum(problems, weights):
    weights = [float(weight) for weight in weights]  # sum() rounds numbers of NumPy in another way
    return minmin.Sum(problems, [weight / sum(weights) for weight in weights])


class Misbehaving(federated.Client):
    """Does something wrong in the given rounds: once each, or always.

    What it did is kept in files, since its process may be another one the next time.
    """

    def __init__(self, problem, weight, *, fault, rounds, folder, always=False):
        super().__init__(problem, weight, store=federated.FolderStore(Path(folder) / "state"))
        self.fault, self.rounds, self.folder, self.always = fault, rounds, Path(folder), always

    def _run_task(self, message, request):
        if not self._is_due(message.round):
            return super()._run_task(message, request)
        return self._misbehave(self.fault, request)

    def _misbehave(self, fault, request):
        """A fault gives the fields of the reply that it changes, or another answer."""
        changed = getattr(self, fault)(request)
        return changed if isinstance(changed, Envelope) else Envelope(replace(self._good(request), **changed))

    def _good(self, request):
        return super()._run_task(request.message, request).message

    def _is_due(self, round_):
        mark = self.folder / f"round {round_}"
        if round_ not in self.rounds or (mark.exists() and not self.always):
            return False
        mark.touch()
        return True

    def dies_before(self, request):
        os.kill(os.getpid(), signal.SIGKILL)

    def dies_after(self, request):
        self._good(request)
        os.kill(os.getpid(), signal.SIGKILL)

    def sleeps_before(self, request):
        time.sleep(60)

    def sleeps_after(self, request):
        self._good(request)
        time.sleep(60)

    def garbage(self, request):
        return Envelope.from_bytes(b"garbage")

    def raises(self, request):
        raise RuntimeError("row 3.14159 of the data is wrong")

    def sends_nan(self, request):
        return {"vector": np.full_like(self._good(request).vector, np.nan)}

    def sends_no_slope(self, request):
        return {"grad_y_square": float("inf")}

    def sends_a_wrong_shape(self, request):
        return {"vector": self._good(request).vector[:-1]}

    def sends_a_wrong_dtype(self, request):
        return {"vector": self._good(request).vector.astype("float32")}

    def sends_an_old_round(self, request):
        return {"round": request.label.round - 1}

    def sends_another_memory(self, request):
        return {"memory": {"y": 1.0}}

    def sends_a_description(self, request):
        return self.handle(Envelope(DescribeRequest(*request.label[1:])))


class Planned(Misbehaving):
    """Does something else wrong in every round of its plan, once each."""

    def __init__(self, problem, weight, plan, folder):
        super().__init__(problem, weight, fault="", rounds=tuple(plan), folder=folder)
        self.plan = plan

    def _run_task(self, message, request):
        self.fault = self.plan.get(message.round, "")
        return super()._run_task(message, request)


class Lying(federated.Client):
    """Sends other numbers than it should: in its description, or in its replies from some round on."""

    def __init__(self, problem, *, kind, numbers, since=0, name="liar"):
        super().__init__(problem, name=name)
        self.kind, self.numbers, self.since = kind, numbers, since

    def handle(self, request):
        message = super().handle(request).message
        if message.kind != self.kind or message.round < self.since:
            return Envelope(message)
        changed = dict(self.numbers)
        if "memory" in changed:
            changed["memory"] = {**message.memory, **changed["memory"]}
        return Envelope(replace(message, **changed))


class Listening(extend.Engine):
    """Another engine, with every message that passes kept as bytes."""

    def __init__(self, engine):
        self.engine = engine
        self.down, self.up = [], []

    def exchange(self, requests, timeout):
        self.down += [request.data for request in requests.values()]
        replies = self.engine.exchange(requests, timeout)
        self.up += [reply.data for reply in replies.values()]
        return replies

    def close(self):
        self.engine.close()


def ask(client, message):
    """A client's answer to a message, by function calls."""
    return client.handle(Envelope(message)).message


def count_calls(monkeypatch):
    """How often this process encodes and decodes messages from now on."""
    found = {"encode": 0, "decode": 0}

    def count(name, original):
        def counted(argument):
            found[name] += 1
            return original(argument)

        return counted

    for name in found:
        monkeypatch.setattr(protocol, name, count(name, getattr(protocol, name)))
    return found

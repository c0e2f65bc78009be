"""Problems for federations, clients that misbehave, and an engine that listens; all of it can go to other processes."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import minmin
from minmin import federated
from minmin.federated import messages
from minmin.problems import GLM, Function, Quadratic

LOOSENESS = {"bam": {}, "reduced-lbfgs": {"looseness": 1e-3}}
VARIANTS = [
    ("bam", {}),
    ("bam", {"inner": "newton"}),
    ("reduced-lbfgs", {"looseness": 1e-3}),
    ("reduced-lbfgs", {"looseness": 0.05, "inner": "newton"}),
    ("reduced-lbfgs", {"looseness": 0.01, "stateless": True}),
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
    total = sum(weights)
    return minmin.Sum(problems, [weight / total for weight in weights])


class Misbehaving(federated.Client):
    """Does something wrong in the given rounds: once each, or always.

    What it did is kept in files, since its process may be another one the next time.
    """

    def __init__(self, problem, weight, *, fault, rounds, folder, always=False):
        super().__init__(problem, weight, store=federated.FolderStore(Path(folder) / "state"))
        self.fault, self.rounds, self.folder, self.always = fault, rounds, Path(folder), always

    def answer(self, data):
        message = messages.decode(data)
        if self.fault == "garbage" and isinstance(message, messages.WorkRequest) and self._is_due(message):
            return b"garbage"
        return super().answer(data)

    def _worked(self, request):
        if self.fault == "garbage" or not self._is_due(request):
            return super()._worked(request)
        return getattr(self, self.fault)(request)

    def _is_due(self, request):
        mark = self.folder / f"round {request.round}"
        if request.round not in self.rounds or (mark.exists() and not self.always):
            return False
        mark.touch()
        return True

    def dies_before(self, request):
        os.kill(os.getpid(), signal.SIGKILL)

    def dies_after(self, request):
        super()._worked(request)
        os.kill(os.getpid(), signal.SIGKILL)

    def sleeps_before(self, request):
        time.sleep(60)

    def sleeps_after(self, request):
        super()._worked(request)
        time.sleep(60)

    def raises(self, request):
        raise RuntimeError("row 3.14159 of the data is wrong")

    def sends_nan(self, request):
        reply = super()._worked(request)
        return replace(reply, vector=np.full_like(reply.vector, np.nan))

    def sends_no_slope(self, request):
        return replace(super()._worked(request), grad_y_square=float("inf"))

    def sends_a_wrong_shape(self, request):
        reply = super()._worked(request)
        return replace(reply, vector=reply.vector[:-1])

    def sends_a_wrong_dtype(self, request):
        reply = super()._worked(request)
        return replace(reply, vector=reply.vector.astype("float32"))

    def sends_an_old_round(self, request):
        return replace(super()._worked(request), round=request.round - 1)

    def sends_another_memory(self, request):
        return replace(super()._worked(request), memory={"y": 1.0})

    def sends_a_description(self, request):
        return self._description(messages.DescribeRequest(request.run, request.round))


class Listening(federated.Engine):
    """Another engine, with every message that passes kept as bytes."""

    def __init__(self, engine):
        self.engine = engine
        self.down, self.up = [], []

    def exchange(self, requests, timeout):
        self.down += [messages.encode(request) for request in requests.values()]
        replies = self.engine.exchange(requests, timeout)
        self.up += [messages.encode(reply) for reply in replies.values()]
        return replies

    def close(self):
        self.engine.close()

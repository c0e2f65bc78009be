"""run(): minimize() over clients that keep their y_i."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

from minmin.checkpoint import fingerprint
from minmin.errors import InputError, UnsupportedError, as_count, near_names
from minmin.federated.baselines import FedAvg, FederatedReconstruction, LocalMethod, ProxSkip, Scaffold
from minmin.federated.checkpoint import ServerCheckpoint
from minmin.federated.client import Client
from minmin.federated.engines import Engine
from minmin.federated.opening import checked_policy, opened
from minmin.federated.server import Federation
from minmin.methods import Method, build
from minmin.progress import Progress
from minmin.result import Record, Result
from minmin.run import Run
from minmin.stops import Clock, RunEnded, Stops

_BASELINES: dict[str, type[LocalMethod]] = {
    kind.name: kind for kind in (FederatedReconstruction, FedAvg, Scaffold, ProxSkip)
}
_OURS = ("reduced-lbfgs", "bam")


def names() -> list[str]:
    """The names that ``run(method=...)`` takes."""
    return [*_OURS, *_BASELINES]


def run(
    clients: Sequence[Client] | int,
    method: str = "reduced-lbfgs",
    *,
    engine: str | Engine = "local",
    x0: Any = None,
    tol: float = 1e-6,
    rounds: int | None = 1000,
    max_seconds: float | None = None,
    timeout: float | None = None,
    retries: int = 3,
    values: bool = True,
    callback: Callable[[Record], Any] | None = None,
    progress: bool = False,
    checkpoint: Any = None,
    evaluate_every: int = 0,
    **options: Any,
) -> Result:
    """Minimise Σ w_i f_i(x, y_i) over clients that share x and keep y_i to themselves.

    Section 5 of the paper: in a round the server sends x, every client moves its own y_i and sends ∇ₓf_i back, so
    rounds are calls of ∇ₓ. The code is that of :func:`minmin.minimize` on a :class:`minmin.Sum`, in two places, and x
    is the same to the last bit.

    Parameters
    ----------
    clients : sequence of Client, or int
        How many there are, where they are elsewhere and ``engine`` reaches them.
    method : {"reduced-lbfgs", "bam", "fedrecon", "fedavg", "scaffold", "proxskip"}
        The first two as for :func:`minmin.minimize`; "reduced-lbfgs" with ``stateless=True`` for clients that keep
        nothing. The others, to compare with, are in :mod:`minmin.federated.baselines`.
    engine : {"local", "processes", "flower"} or Engine
        How messages travel: by function calls, as bytes to a process of every client's own, or by Flower's simulation.
    x0 : array, optional
        The start, zero where not given; the clients have their own y0.
    tol : float
        Stop as ``converged`` when f - f* <= tol is proved.
    rounds : int, optional
        The most rounds; the run then ends as ``budget``.
    max_seconds : float, optional
    timeout : float, optional
        Seconds that a client has for one answer; for ever where not given.
    retries : int
        How often a client that does not answer, or not well, is asked again. After that the run is given up, as
        ``interrupted``, with what it has reached.
    values : bool
        Have the history show f, which for "bam" takes a further message after every round. The final f is always asked
        for.
    callback, progress
        As for :func:`minmin.minimize`; the record's y is empty.
    checkpoint : path, optional
        The server's file, written after every round; a later run with the same clients goes on from it.
    evaluate_every : int
        Ask for the clients' metrics at the start and every so many rounds; never where 0. The history then has a
        column a metric, with a number a client: the newest, NaN where a client has none.
    **options
        Go to the method.

    Returns
    -------
    Result
        ``r.y`` is None, since it stays with the clients; ``r.calls["grad_x"]`` is the number of rounds; the history has
        the columns ``bytes_up``, ``bytes_down`` and ``client_seconds`` as well, all cumulative.
    """
    clock = Clock()
    if method not in names():
        raise UnsupportedError(f"method {method!r} does not run in a federation: {near_names(method, names())}")
    stops = Stops(tol, None, rounds, None, max_seconds)
    policy = checked_policy(timeout, retries)
    measure_every = as_count(evaluate_every, "evaluate_every")
    with opened(clients, engine) as (reached, count):
        name = secrets.token_hex(8)
        federation = Federation(reached, count, name, policy, values=values, measure_every=measure_every)
        built = _built(method, federation, options)
        x, y = federation.start(x0, None)
        file = None
        if checkpoint is not None:
            file = ServerCheckpoint(checkpoint, fingerprint(federation, built, x, y), federation)
            federation.log = file
        shown = Progress(built.name) if progress else None
        result = Run(federation, built, "", stops, clock, callback, shown, file).go(x, y)
        return _completed(federation, result)


def _built(name: str, federation: Federation, options: dict[str, Any]) -> Method:
    if name in _OURS:
        return build(name, federation, options, None)[0]
    kind = _BASELINES[name]
    known = [field.name for field in fields(kind) if field.name not in ("L_x", "L_y")]
    for option in options:
        if option not in known:
            raise InputError(f"method {name!r} has no option {option!r}: {near_names(option, known)}")
    worst = federation.worst
    if worst is None:
        raise UnsupportedError(f"method {name!r} needs the constants of every client's problem")
    method = kind(L_x=worst.L_x, L_y=worst.L_y, **options)
    method.check(federation)
    return method


def _completed(federation: Federation, result: Result) -> Result:
    """The result with y left out, f asked for, and, where a step was cut off, a bound for the y_i of now."""
    try:
        cut = not result.success or not federation.has_worked
        replies = federation.look(result.x, gradient=cut)
        weights = federation.weights
        told = [reply.value for reply in replies]
        fun = math.nan if None in told else sum(w * v for w, v in zip(weights, told, strict=True) if v is not None)
        bound = federation.bound_of(result.x, replies) if cut else result.gap_bound
        return replace(result, y=None, fun=fun, gap_bound=bound, certified=result.certified and math.isfinite(bound))
    except RunEnded:
        return replace(result, y=None, certified=False)

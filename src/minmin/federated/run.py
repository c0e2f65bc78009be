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
from minmin.federated.engines import ENGINES, Engine
from minmin.federated.server import Federation, Policy
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
    **options
        Go to the method.

    Returns
    -------
    Result
        ``r.y`` is None, since it stays with the clients; ``r.calls["grad_x"]`` is the number of rounds; the history has
        the columns ``bytes_up``, ``bytes_down`` and ``client_seconds`` as well, all cumulative.
    """
    clock = Clock()
    holders, count = _checked(clients, engine)
    if method not in names():
        raise UnsupportedError(f"method {method!r} does not run in a federation: {near_names(method, names())}")
    stops = Stops(tol, None, rounds, None, max_seconds)
    policy = Policy(_checked_timeout(timeout), as_count(retries, "retries"))
    opened = engine if isinstance(engine, Engine) else _engine(engine)(holders)
    try:
        federation = Federation(opened, count, secrets.token_hex(8), policy, values=values)
        built = _built(method, federation, options)
        x, y = federation.start(x0, None)
        file = None
        if checkpoint is not None:
            file = ServerCheckpoint(checkpoint, fingerprint(federation, built, x, y), federation)
            federation.log = file
        shown = Progress(built.name) if progress else None
        result = Run(federation, built, "", stops, clock, callback, shown, file).go(x, y)
        return _completed(federation, result)
    finally:
        if not isinstance(engine, Engine):
            opened.close()


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


def _checked(clients: Any, engine: Any) -> tuple[list[Client], int]:
    """The clients that are here, and how many there are."""
    if isinstance(clients, int) and isinstance(engine, Engine):
        if as_count(clients, "clients") == 0:
            raise InputError("a federation needs at least one client")
        return [], clients
    if not hasattr(clients, "__iter__"):
        raise InputError(
            f"clients must be a sequence of minmin.federated.Client, got {clients!r}; "
            "a number goes with an Engine that reaches them"
        )
    holders = list(clients)
    if not holders:
        raise InputError("a federation needs at least one client")
    for i, client in enumerate(holders):
        if not isinstance(client, Client):
            raise InputError(f"client {i} is a {type(client).__name__}; give minmin.federated.Client(problem, weight)")
    return holders, len(holders)


def _checked_timeout(timeout: Any) -> float | None:
    if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < math.inf):
        raise InputError(f"timeout = {timeout!r} must be a positive number of seconds, or None to wait for ever")
    return timeout


def _engine(name: Any) -> type[Engine]:
    if not isinstance(name, str) or name not in ENGINES:
        raise InputError(f"unknown engine {name!r}: {near_names(name, ENGINES)}")
    return ENGINES[name]

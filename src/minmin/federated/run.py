"""run(): minimize() over clients, each of which keeps its y_i. evaluate(): their metrics at a point."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from minmin.core.orientation import Outer
from minmin.core.start import describe_projection, make_start
from minmin.core.term import Term
from minmin.errors import InputError, MinMinError, UnsupportedError, as_count, near_names
from minmin.federated.baselines import FedAvg, FederatedReconstruction, LocalMethod, ProxSkip, Scaffold
from minmin.federated.checkpoint import ServerCheckpoint
from minmin.federated.client import Client
from minmin.federated.engine_factory import choose_structure, open_engine
from minmin.federated.engines import Engine
from minmin.federated.keywords import OF_RUN
from minmin.federated.metrics import FederationMetrics, tabulate
from minmin.federated.problem import Federation
from minmin.federated.protocol import Description
from minmin.federated.session import DEFAULT_TIMEOUT, ClientError, Policy, Session
from minmin.loop.checkpoint import fingerprint
from minmin.loop.loop import Loop
from minmin.loop.progress import Clock, Progress
from minmin.loop.stopping import RunEnded, StoppingCriteria
from minmin.methods.base import Method
from minmin.methods.needs import Feature
from minmin.methods.registry import METHODS, build, check_method, names_for
from minmin.problems.composite import check_term, make_box
from minmin.result import Record, Result

_BASELINES: dict[str, type[LocalMethod]] = {
    kind.name: kind for kind in (FederatedReconstruction, FedAvg, Scaffold, ProxSkip)
}


def names() -> list[str]:
    """The names that ``run(method=...)`` takes."""
    return [*names_for(Feature.REMOTE), *_BASELINES]


def run(
    clients: Sequence[Client] | int,
    method: str | Method = "reduced-lbfgs",
    *,
    engine: str | Engine = "local",
    x0: Any = None,
    term_x: Term | None = None,
    bounds_x: Any = None,
    tol: float = 1e-6,
    rtol: float = 0.0,
    gtol: float | None = None,
    rounds: int | None = 1000,
    max_seconds: float | None = None,
    assume_convex: bool = True,
    timeout: float | None = DEFAULT_TIMEOUT,
    retries: int = 3,
    values: bool = True,
    callback: Callable[[Record], Any] | None = None,
    progress: bool = False,
    checkpoint: Any = None,
    evaluate_every: int = 0,
    **options: Any,
) -> Result:
    """Minimise Σ p_i f_i(x, y_i) over clients that share x and keep y_i private, with p_i = w_i / Σ w_j.

    w_i is the ``weight`` of client i. So f is the weighted mean of the f_i.

    This is the federated application in Section 5 of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439. In a round the
    server sends x, and every client moves its y_i and sends ∇ₓf_i back. So one round is one call of ∇ₓ. The methods are
    those of :func:`minmin.minimize` on a :class:`minmin.Sum` with the weights p_i, and the result x is bit-identical to
    theirs.

    Parameters
    ----------
    clients : sequence of Client, or int
        The clients; or only their number, if ``engine`` is an object that reaches clients elsewhere.
    method : {"reduced-lbfgs", "bam", "fedrecon", "fedavg", "scaffold", "proxskip"} or Method
        A name, or an object that moves y by tasks, such as ``minmin.methods.Bam(inner="newton")``. The first two are
        those of :func:`minmin.minimize`; "reduced-lbfgs" with ``stateless=True`` is for clients that keep no state. The
        others are methods to compare with.
    engine : {"local", "processes", "flower"} or Engine
        How messages are carried: by function calls, as bytes to one process per client, or by Flower's simulation; or
        your own engine.
    x0 : array, or nested dicts, lists and tuples of arrays, optional
        The starting point of x, and what ``r.x`` looks like. By default that of the first client's problem, or zero.
        Each client has its own y0.
    term_x : Term, optional
        A term of :mod:`minmin.terms` that is added to f: it belongs to the server. Terms in y belong to the clients:
        ``Client(minmin.problems.Composite(f_i, term_y=...))``. The methods of :func:`minmin.minimize` take terms.
    bounds_x : scipy.optimize.Bounds, or pairs, or nested dicts, lists and tuples of these, optional
        Bounds on x, as for :func:`minmin.minimize`, in place of a ``term_x``.
    tol : float
        Stop as ``converged`` when the bound on f - f* is at most tol. It is proved if the clients' constants are known.
    rtol : float
        As for :func:`minmin.minimize`; it needs ``values=True``.
    gtol : float, optional
        Stop as ``converged`` also when no entry of ∇ₓf is larger than gtol in absolute value, nor the norm of any
        client's ∇ᵧf_i: clients do not send its entries. With a term it is v - prox(v - gradient, 1) in place of the
        gradient. "bam" takes a further round to see that, after every round whose own gradients are within gtol.
    rounds : int, optional
        The largest number of rounds; the run then ends with the status ``budget``.
    max_seconds : float, optional
    assume_convex : bool
        As for :func:`minmin.minimize`.
    timeout : float, optional
        How many seconds a client has for one reply before it is asked again; 600 by default, None for no limit.
    retries : int
        How often a client is asked again if it sends no valid reply. After that the run ends with the status
        ``interrupted`` and returns what it has reached: x, f and the bound of the last full round.
    values : bool
        Record f in the history. For "bam" this takes one more message after every round. The final f is always
        computed.
    callback, progress
        As for :func:`minmin.minimize`; the y of a record is empty.
    checkpoint : path, optional
        A file of the server, written after every round; a later run with the same clients resumes from it.
    evaluate_every : int
        Ask for the clients' metrics at the start and then after each ``evaluate_every`` rounds; never if 0. The history
        then has one column per metric, with one number per client: the newest, or NaN if there is none.
    **options
        Options of the method.

    Returns
    -------
    Result
        ``r.y`` is None, since y stays with the clients. ``r.calls["grad_x"]`` is the number of rounds. The history also
        has the columns ``bytes_up``, ``bytes_down`` and ``client_seconds``, all cumulative.
    """
    clock = Clock()
    if not isinstance(method, Method) and method not in (*names(), *METHODS):  # of its own methods, it tells why
        raise UnsupportedError(f"method {method!r} does not run in a federation: {near_names(method, names())}")
    criteria = StoppingCriteria(
        tol=tol, rtol=rtol, gtol=gtol, max_grad_x=rounds, max_seconds=max_seconds, assume_convex=assume_convex
    )
    policy = Policy(timeout, retries)
    every = as_count(evaluate_every, "evaluate_every")
    with open_engine(clients, engine) as (opened, count):
        session = Session(opened, count, policy, run=secrets.token_hex(8))
        descriptions = session.describe()
        metrics = FederationMetrics(session, descriptions, every)
        federation = Federation(session, descriptions, values=values)
        federation.structure_x = choose_structure(clients, x0)
        federation.term_x = _make_term_x(federation, term_x, bounds_x)
        criteria.check(federation)
        built = _build_method(method, federation, descriptions, options)
        start = make_start(federation, x0)
        file = None
        if checkpoint is not None:
            marks = fingerprint(federation, built, *start) | {"metrics": " ".join(metrics.names)}
            file = session.log = ServerCheckpoint(checkpoint, marks, session)
        loop = Loop(
            federation,
            built,
            Outer.X,
            start,
            criteria,
            clock,
            callback=callback,
            progress=Progress(built.name) if progress else None,
            extra_metrics=metrics,
            file=file,
            about_start=describe_projection(federation, x0, None),
        )
        try:
            result = loop.run()
        except MinMinError as error:
            if error.result is not None:
                error.result = replace(error.result, y=None)
            raise
        return _complete_result(federation, result, is_convex=not loop.has_seen_not_convex)


def evaluate(
    clients: Sequence[Client] | int,
    x: Any,
    *,
    engine: str | Engine = "local",
    timeout: float | None = DEFAULT_TIMEOUT,
    retries: int = 3,
) -> dict[str, np.ndarray[Any, Any]]:
    """Ask the clients for their metrics at x, and at the y_i of the newest run that each took part in.

    Parameters
    ----------
    x : array, or nested dicts, lists and tuples of arrays
        The shared variables, such as ``r.x`` of a run.
    clients, engine, timeout, retries
        As for :func:`run`.

    Returns
    -------
    dict of str to array
        For each metric, one number per client; NaN for a client without a metric of that name.
    """
    if x is None:
        raise InputError("evaluate() needs an x, such as r.x of a run")
    policy = Policy(timeout, retries)
    with open_engine(clients, engine) as (opened, count):
        session = Session(opened, count, policy)
        federation = Federation(session, session.describe(), values=False)
        federation.structure_x = choose_structure(clients, x)
        try:
            measures = session.measure(make_start(federation, x)[0])
        except RunEnded as ended:
            raise ClientError(str(ended)) from None
    return {name: np.array(values) for name, values in tabulate(measures).items()}


def _make_term_x(federation: Federation, term: Any, bounds: Any) -> Term | None:
    """The server's term: the one that the user gave, or that of their bounds."""
    if bounds is None:
        return check_term(term, federation.d_x, "term_x")
    if term is not None:
        raise InputError("give term_x or bounds_x, not both; bounds alone are the term minmin.terms.Box(...)")
    return make_box(bounds, "bounds_x", (federation.d_x,), federation.structure_x)


def _build_method(
    name: str | Method, federation: Federation, descriptions: Sequence[Description], options: dict[str, Any]
) -> Method:
    if isinstance(name, Method) or name not in _BASELINES:
        method, _ = build(name, federation, options, None, OF_RUN)
        if getattr(method, "radius", None) is not None:
            raise UnsupportedError(
                "radius= does not work in a federation, since the server cannot add a penalty on y: add a small one at "
                "every client, or take method='reduced-lbfgs'"
            )
        method.outer_block(federation).orient(federation)  # raises if y is the outer block
        check_method(method, federation)
        return method
    kind = _BASELINES[name]
    allowed = [field.name for field in fields(kind) if field.name not in ("L_x", "L_y")]
    for option in options:
        if option not in allowed:
            raise InputError(f"method {name!r} has no option {option!r}: {OF_RUN.explain(option, allowed)}")
    constants = [description.constants for description in descriptions if description.constants is not None]
    if len(constants) < len(descriptions):
        raise UnsupportedError(f"method {name!r} needs the constants of every client's problem")
    baseline = kind(L_x=max(c.L_x for c in constants), L_y=max(c.L_y for c in constants), **options)
    check_method(baseline, federation)
    return baseline


def _complete_result(federation: Federation, result: Result, *, is_convex: bool) -> Result:
    """The result without y and with the final f.

    It has a new bound, for the current y_i, if a step was interrupted; but none if f is not convex. A run that ended in
    the middle of a round has f and the bound of its last full round, since it is not known which y_i have moved.
    """
    result = replace(result, y=None)
    if federation.session.in_round and math.isfinite(result.fun + result.gap_bound):
        return result
    try:
        cut = is_convex and (not result.success or not federation.session.has_worked)
        final = federation.ask(make_start(federation, result.x)[0], gradient=cut)
    except RunEnded:
        return result
    bound = federation.bound(final) if cut else result.bound
    if bound.is_proved and not result.certified:  # no stronger than the bound that the run itself had
        bound = bound._replace(basis="estimate")
    return replace(result, fun=final.value, bound=bound)

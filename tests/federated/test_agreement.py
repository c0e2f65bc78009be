"""The central run on the Sum, one process, and one process per client: a bit-identical x."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minmin
from federated.cases import KINDS, VARIANTS, WEIGHTS, as_sum, glm, quadratic, three_clients, three_problems
from minmin import federated
from minmin.methods import reduced_step


class Trace:
    """The points of a run, as a callback."""

    def __init__(self):
        self.points = []

    def __call__(self, record):
        self.points.append(record.x)


def agree(
    problems,
    weights,
    method,
    options,
    *,
    engine="local",
    x0=None,
    y0=None,
    tol=1e-6,
    budget=60,
    term_x=None,
    together=None,
    noise=0.0,
):
    """Both runs, after every step of both was held against the other.

    ``together`` is the problem in one place, and ``noise`` is what both bounds may differ by because of rounding.
    """
    y0 = [None] * len(problems) if y0 is None else y0
    central_trace, apart = Trace(), Trace()
    central = minmin.minimize(
        together or as_sum(problems, weights),
        x0,
        None if y0[0] is None else y0,
        method,
        tol=tol,
        max_grad_x=budget,
        callback=central_trace,
        **options,
    )
    clients = [federated.Client(p, w, y0=y) for p, w, y in zip(problems, weights, y0, strict=True)]
    ours = federated.run(
        clients, method, engine=engine, x0=x0, term_x=term_x, tol=tol, rounds=budget, callback=apart, **options
    )
    assert len(central_trace.points) == len(apart.points)
    for a, b in zip(central_trace.points, apart.points, strict=True):
        assert np.array_equal(a, b)
        assert a.dtype == b.dtype
    assert (ours.status, ours.nit) == (central.status, central.nit)
    assert ours.calls["grad_x"] == central.calls["grad_x"]
    if central.success:
        assert np.array_equal(ours.x, central.x)
        assert ours.gap_bound == pytest.approx(central.gap_bound, rel=1e-9, abs=noise)
        assert ours.fun == pytest.approx(central.fun, rel=1e-12)
        for client, part in zip(clients, central.y, strict=True):
            assert np.array_equal(client.y, part)
    return central, ours


@settings(max_examples=25)
@given(seed=st.integers(0, 2**31), variant=st.sampled_from(VARIANTS), single=st.booleans())
@example(seed=0, variant=VARIANTS[0], single=False)
def test_random_federations_in_one_process(seed, variant, single):
    rng = np.random.default_rng(seed)
    method, options = variant
    dtype = "float32" if single else "float64"
    kinds = [k for k in KINDS if k != "function" or options.get("inner") != "newton"]
    d_x, sizes = int(rng.integers(1, 8)), rng.integers(1, 6, size=rng.integers(1, 5))
    problems = [KINDS[rng.choice(kinds)](rng, d_x, int(d_y), dtype) for d_y in sizes]
    x0 = rng.standard_normal(d_x).astype(dtype)
    y0 = [rng.standard_normal(d_y).astype(dtype) for d_y in sizes]
    agree(problems, rng.uniform(0.1, 5.0, len(sizes)), method, options, x0=x0, y0=y0, tol=1e-2 if single else 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "options"), [("bam", {}), ("reduced-lbfgs", {"inner_tolerance_ratio": 1e-3})])
def test_a_process_a_client(method, options):
    central, ours = agree(three_problems(), WEIGHTS, method, options, engine="processes", budget=200)
    assert central.success
    assert ours.y is None


@pytest.mark.slow
def test_a_process_a_client_in_single_precision_without_state():
    rng = np.random.default_rng(1)
    problems = [glm(rng, 5, 2, "float32"), quadratic(rng, 5, 3, "float32")]
    options = {"stateless": True, "inner_tolerance_ratio": 1e-3}
    assert agree(problems, [3.0, 1.0], "reduced-lbfgs", options, engine="processes", tol=1e-2)[0].success


def test_single_precision_is_asked_for_by_y0():
    problems = three_problems()[1:]
    y0 = [np.zeros(p.d_y, "float32") for p in problems]
    x0 = np.zeros(6, "float32")
    central, ours = agree(problems, [1.0, 1.0], "bam", {}, x0=x0, y0=y0, tol=1e-2)
    assert central.success
    assert ours.x.dtype == np.float32


def test_precisions_do_not_mix():
    rng = np.random.default_rng(0)
    single, double = quadratic(rng, 3, 2, "float32"), quadratic(rng, 3, 2)
    with pytest.raises(minmin.InputError, match="client 1 has dtype = float64, but client 0 has float32"):
        federated.run([federated.Client(single), federated.Client(double)])
    with pytest.raises(minmin.InputError, match="x0 is float32, but the clients compute in float64"):
        federated.run([federated.Client(double)], x0=np.zeros(3, "float32"))
    with pytest.raises(minmin.InputError, match="client 1 has d_x = 4, but client 0 has 3"):
        federated.run([federated.Client(double), federated.Client(quadratic(rng, 4, 2))])


def test_the_guard_takes_over_in_a_federation_too(monkeypatch):
    """BAM's half continues from the y_i that the clients hold."""
    monkeypatch.setattr(reduced_step, "inverse_times", lambda pairs, gradient: 1e-9 * gradient)
    central, ours = agree(three_problems(), WEIGHTS, "reduced-lbfgs", {"inner_tolerance_ratio": 1e-3}, budget=2000)
    assert "BAM took over after" in central.message
    assert "BAM took over after" in ours.message
    assert ours.success


def test_only_x_can_be_the_outer_block():
    with pytest.raises(minmin.UnsupportedError, match="y stays with the clients"):
        federated.run(three_clients(), "bam", outer="y")


def test_the_final_value_is_known_without_values_on_the_way():
    shown, quiet = (federated.run(three_clients(), values=values) for values in (True, False))
    assert quiet.fun == shown.fun
    assert np.array_equal(quiet.x, shown.x)
    assert np.isnan(quiet.history.value).all()


@pytest.mark.slow
def test_clients_serve_several_runs_with_any_engine():
    clients = three_clients()
    first = federated.run(clients, engine="processes")
    after = [client.y for client in clients]
    for engine in ("local", "processes"):
        again = federated.run(clients, engine=engine)
        assert np.array_equal(again.x, first.x)
        assert all(np.array_equal(client.y, y) for client, y in zip(clients, after, strict=True))


def test_the_history_has_bytes_and_seconds_by_client():
    history = federated.run(three_clients(), "bam", tol=1e-3).history
    assert np.all(np.diff(history.bytes_up) > 0)
    assert np.all(np.diff(history.bytes_down) > 0)
    assert history.client_seconds.shape == (len(history), 3)
    assert np.all(np.diff(history.client_seconds, axis=0) >= 0)

"""Terms in x at the server and in y at the clients: the run of a Sum of Composite problems, with a bound that holds."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minmin
from composite.independent import Case, Piece, find_minima
from contract.test_options import glm, option_pairs, quadratic
from federated.cases import KINDS, VARIANTS, as_sum, three_problems
from federated.test_agreement import agree
from minmin import federated
from minmin.federated import Client, ClipAndNoise, FolderStore
from minmin.federated.protocol import Envelope
from minmin.problems import GLM, Composite, Function
from minmin.terms import L1, Box, ElasticNet, GroupL2, NonNegative
from minmin.terms.scaled import Scaled

EXACT_WEIGHTS = [[1.0], [1.0, 1.0], [2.0, 1.0, 1.0], [4.0, 2.0, 1.0, 1.0]]
"""Their shares are powers of two, so that a term times a share, divided by it, has the same bits."""

COUNT, ROWS = 40, 30
"""How many federations are compared with an independent solver, and how many rows each has."""


def draw_term(rng, d, block):
    terms = {
        "none": lambda: None,
        "L1": lambda: L1(0.2 * rng.uniform(size=d)),
        "Box": lambda: Box(-0.1 * rng.uniform(size=d), 0.05 * rng.uniform(size=d)),
    }
    if block == "x":
        halves = [list(range(0, d, 2)), list(range(1, d, 2))] if d > 1 else [[0]]
        terms |= {
            "NonNegative": NonNegative,
            "ElasticNet": lambda: ElasticNet(0.1, 0.2),
            "GroupL2": lambda: GroupL2(0.1, halves),
        }
    return terms[rng.choice(list(terms))]()


def attach(problem, term):
    return problem if term is None else Composite(problem, term_y=term)


def whole(problems, terms, weights, term_x):
    """The same problem in one place."""
    if term_x is None:
        return as_sum([attach(p, t) for p, t in zip(problems, terms, strict=True)], weights)
    shares = [weight / sum(weights) for weight in weights]
    terms_y = [None if t is None else Scaled(t, share) for t, share in zip(terms, shares, strict=True)]
    return Composite(as_sum(problems, weights), term_x, terms_y)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**31), variant=st.sampled_from([v for v in VARIANTS if v[1].get("inner") != "newton"]))
@example(seed=1, variant=("bam", {"inner": "nag"}))
def test_the_run_is_that_of_a_sum(seed, variant):
    rng = np.random.default_rng(seed)
    method, options = variant
    single = rng.uniform() < 0.2
    dtype, tol = ("float32", 1e-2) if single else ("float64", 1e-6)
    d_x, sizes = int(rng.integers(1, 8)), [int(d) for d in rng.integers(1, 6, size=rng.integers(1, 5))]
    problems = [KINDS[rng.choice(list(KINDS))](rng, d_x, d, dtype) for d in sizes]
    terms, term_x = [draw_term(rng, d, "y") for d in sizes], draw_term(rng, d_x, "x")
    weights = rng.permutation(EXACT_WEIGHTS[len(sizes) - 1]) if term_x else rng.uniform(0.1, 5.0, len(sizes))
    weights = [float(weight) for weight in weights]
    clients = [attach(p, t) for p, t in zip(problems, terms, strict=True)]
    together = whole(problems, terms, weights, term_x)
    x0 = rng.standard_normal(d_x).astype(dtype)
    y0 = [rng.standard_normal(d).astype(dtype) for d in sizes]
    agree(
        clients,
        weights,
        method,
        options,
        x0=x0,
        y0=y0,
        tol=tol,
        budget=200,
        term_x=term_x,
        together=together,
        noise=(1e-2 if single else 1e-6) * tol,
    )


def draw_federation(rng):
    """Clients with logistic or squared losses and terms, and the same as one problem for a solver that is not ours."""
    d_x, sizes = int(rng.integers(1, 7)), [int(d) for d in rng.integers(1, 3, size=rng.integers(1, 5))]
    loss, n = str(rng.choice(["logistic", "squared"])), ROWS
    counts = [int(count) for count in 1 + rng.multinomial(n - len(sizes), np.full(len(sizes), 1 / len(sizes)))]
    ends, d = np.cumsum([0, *sizes]), d_x + sum(sizes)
    places = [np.r_[0:d_x, d_x + start : d_x + end] for start, end in itertools.pairwise(ends)]
    shares = np.repeat(np.array(counts) / n, sizes)  # of the coordinates of all y
    kind_x, kind_y = str(rng.choice(["none", "L1", "Box"])), str(rng.choice(["L1", "Box"]))
    x, y = (
        Piece(
            size,
            kind,
            l1=0.2 * scale * rng.uniform(size=size) if kind == "L1" else None,
            lower=-0.2 * rng.uniform(size=size) if kind == "Box" else None,
            upper=0.2 * rng.uniform(size=size) if kind == "Box" else None,
        )
        for size, kind, scale in ((d_x, kind_x, 1.0), (d - d_x, kind_y, shares))
    )
    clients, rows, targets = [], [], []
    for count, place, start, end in zip(counts, places, ends, ends[1:], strict=False):
        A, own = rng.standard_normal((count, len(place))), slice(start, end)
        target = np.ones(count) if loss == "logistic" else rng.standard_normal(count)
        term = L1(y.l1[own] * n / count) if kind_y == "L1" else Box(y.lower[own], y.upper[own])
        problem = GLM(A[:, :d_x], A[:, d_x:], target, loss, alpha_x=0.1, alpha_y=0.05)
        clients.append(Client(Composite(problem, term_y=term), count))
        rows.append(np.zeros((count, d)))
        rows[-1][:, place] = A
        targets.append(target)
    A, target, alpha = np.vstack(rows), np.concatenate(targets), np.r_[np.full(d_x, 0.1), 0.05 * shares]
    bound = np.linalg.norm(A, 2) ** 2 / n + 0.1
    constants = minmin.Constants(bound, bound, 0.1, alpha.min())
    if loss == "logistic":
        return Case(x, y, constants, A=A, alpha=alpha), clients, x.to_term()
    return Case(x, y, constants, H=A.T @ A / n + np.diag(alpha), b=-A.T @ target / n), clients, x.to_term()


def test_no_bound_is_below_the_true_gap():
    """At every iteration, by a solver that is not ours."""
    rng = np.random.default_rng(0)
    drawn = [draw_federation(rng) for _ in range(COUNT)]
    minima = find_minima([case for case, *_ in drawn])
    for i, (minimum, (_, clients, term_x)) in enumerate(zip(minima, drawn, strict=True)):

        def compare(record, clients=clients, minimum=minimum):
            gap = minimum.gap(record.x, np.concatenate([client.y for client in clients]))
            assert record.gap_bound >= gap

        r = federated.run(clients, ("reduced-lbfgs", "bam")[i % 2], term_x=term_x, tol=1e-9, callback=compare)
        assert r.success
        assert r.certified


def unknown(problem):
    """The same functions, without constants."""
    return Function(
        lambda x, y: problem.evaluate(x, y).value,
        lambda x, y: problem.evaluate(x, y).grad_x,
        lambda x, y: problem.evaluate(x, y).grad_y,
        d_x=problem.d_x,
        d_y=problem.d_y,
    )


def test_without_constants_the_bound_is_an_estimate():
    """The steps are those of a Sum. It may end a step sooner or later, since every client knows its own curvature."""
    problems, terms = three_problems(), [L1(0.05), None, Box(-0.05, 0.1)]
    clients = [Client(attach(unknown(p), t)) for p, t in zip(problems, terms, strict=True)]
    r = federated.run(clients, term_x=L1(0.05))
    together = whole([unknown(p) for p in problems], terms, [1.0] * 3, L1(0.05))
    central = minmin.minimize(together, method="reduced-lbfgs")
    assert r.success
    assert not r.certified
    assert abs(r.nit - central.nit) <= 1
    best = minmin.minimize(whole(problems, terms, [1.0] * 3, L1(0.05)), method="nag", tol=1e-11)
    assert r.fun - best.fun <= r.gap_bound
    assert np.array_equal(r.x == 0, best.x == 0)


@pytest.mark.parametrize(("term", "certified"), [(Box(-0.1, 0.1), True), (L1(0.02), False)])
def test_without_curvature_in_y_the_conjugate_proves_what_it_can(term, certified):
    rng = np.random.default_rng(3)
    flat = []
    for _ in range(2):
        X, Y, target = rng.standard_normal((30, 3)), rng.standard_normal((30, 2)), rng.choice([-1.0, 1.0], 30)
        flat.append(GLM(X, Y, target, alpha_x=0.1, alpha_y=0.0))
    r = federated.run([Client(attach(problem, term)) for problem in flat])
    central = minmin.minimize(whole(flat, [term] * 2, [1.0] * 2, None), method="reduced-lbfgs")
    assert r.success
    assert r.certified == central.certified == certified
    assert abs(r.fun - central.fun) <= 1e-6


@pytest.mark.parametrize("method", ["reduced-lbfgs", "bam"])
def test_a_server_and_its_clients_resume(method, tmp_path):
    def clients(folder):
        return [
            Client(attach(problem, L1(0.05)), store=FolderStore(tmp_path / folder / str(i)))
            for i, problem in enumerate(three_problems())
        ]

    options = {"x0": np.ones(6), "bounds_x": (-0.02, 0.02)}
    expected = federated.run(clients("whole"), method, **options)
    for rounds in (2, 3, 1000):
        r = federated.run(clients("cut"), method, rounds=rounds, checkpoint=tmp_path / "server", **options)
    assert np.array_equal(r.x, expected.x)
    assert (r.nit, r.fun, r.gap_bound, r.calls["grad_x"]) == (
        expected.nit,
        expected.fun,
        expected.gap_bound,
        expected.calls["grad_x"],
    )
    assert "the run started at the nearest point" in expected.message
    with pytest.raises(minmin.CheckpointError, match="problem"):
        federated.run(clients("cut"), method, checkpoint=tmp_path / "server", x0=np.ones(6), bounds_x=(-0.03, 0.02))


def test_gtol_looks_at_a_step_of_length_one():
    clients = [Client(attach(problem, Box(-0.05, 0.05))) for problem in three_problems()]
    for method in ("reduced-lbfgs", "bam"):
        r = federated.run(clients, method, term_x=L1(0.05), tol=0.0, gtol=1e-7)
        assert r.success
        assert r.gap_bound < 1e-10


@pytest.mark.slow
def test_clients_with_terms_in_processes_of_their_own():
    problems, terms = three_problems(), [L1(0.05), None, Box(-0.05, 0.1)]
    clients = [attach(problem, term) for problem, term in zip(problems, terms, strict=True)]
    together = whole(problems, terms, [1.0, 1.0, 2.0], GroupL2(0.1, [[0, 1, 2]]))
    agree(
        clients,
        [1.0, 1.0, 2.0],
        "reduced-lbfgs",
        {},
        engine="processes",
        term_x=GroupL2(0.1, [[0, 1, 2]]),
        together=together,
    )


def test_the_bound_of_noisy_clients_is_an_estimate():
    def clients(noise):
        return [Client(attach(problem, L1(0.05)), clip_and_noise=noise) for problem in three_problems()]

    exact = federated.run(clients(None), "bam", term_x=L1(0.1), tol=1e-10).x
    noisy = federated.run(clients(ClipAndNoise(noise=1e-4, seed=0)), "bam", term_x=L1(0.1), tol=1e-12, rounds=100)
    assert not noisy.certified
    assert 0 < np.linalg.norm(noisy.x - exact) < 0.01
    assert np.array_equal(noisy.x == 0, exact == 0)


@pytest.mark.parametrize("method", ["fedavg", "fedrecon", "scaffold", "proxskip"])
def test_other_methods_are_refused_with_a_remedy(method):
    clients = [Client(problem) for problem in three_problems()]
    with pytest.raises(minmin.UnsupportedError, match=r"does not support terms.*method='reduced-lbfgs'"):
        federated.run(clients, method, term_x=L1(0.1))
    assert federated.run(clients, "reduced-lbfgs", term_x=L1(0.1)).success


@pytest.mark.parametrize("method", ["reduced-lbfgs", "bam"])
def test_options_work_together_or_are_refused_with_a_remedy_that_works(method):
    problems, terms = [glm(), quadratic(seed=1)], [L1(0.02), Box(-0.1, 0.2)]
    clients = [Client(attach(p, t)) for p, t in zip(problems, terms, strict=True)]
    least = minmin.minimize(whole(problems, terms, [1.0, 1.0], L1(0.05)), method="nag", tol=1e-11).fun
    for options in option_pairs(method):
        try:
            r = federated.run(clients, method, term_x=L1(0.05), tol=1e-4, **options)
        except minmin.UnsupportedError as refusal:
            remedies = re.findall(r"method='([\w-]+)'", str(refusal))
            assert federated.run(clients, remedies[0], term_x=L1(0.05), tol=1e-4).success
        else:
            assert r.success, (options, r)
            assert r.certified
            assert r.fun - least <= r.gap_bound


@pytest.mark.parametrize("numbers", [{"gap": -1.0}, {"step_square": np.nan}, {"term": np.inf}, {}])
def test_impossible_numbers_about_y_are_refused(numbers):
    class Liar(Client):
        def handle(self, request):
            message = super().handle(request).message
            if message.kind == "reply" and message.in_y:
                message = replace(message, in_y={**message.in_y, **numbers} if numbers else {})
            return Envelope(message)

    r = federated.run([Liar(attach(problem, L1(0.1))) for problem in three_problems()], retries=0)
    assert r.status == "interrupted"
    assert re.search(r"client 0 sent (gap = -1|step_square = nan|term = inf|other numbers about its y)", r.message)

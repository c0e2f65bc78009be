"""What every problem, loss, method and engine has to keep, as functions to point at one's own.

assert_problem(MyProblem(...))
assert_loss(MyLoss(), targets)
assert_method(MyMethod())
assert_engine(MyEngine)
"""

import copy
import pickle

import numpy as np

import minmin
from minmin import federated
from minmin.core.counting import Tally
from minmin.core.start import make_start
from minmin.loop.checkpoint import fingerprint
from minmin.problems import GLM, Quadratic
from reference import ExactQuadratic, random_glm, random_quadratic


def assert_problem(problem, tol=1e-6):
    """Gradients, slices and constants are what they claim; answers are lazy, counted once and kept; runs end."""
    report = minmin.check(problem)
    assert report.ok, str(report)
    tally = Tally()
    x, y = make_start(problem)
    evaluation = problem.counted(tally).evaluate(x, y)
    asked = ("grad_x", "grad_y", "value") if problem.has_value else ("grad_x", "grad_y")
    early = [name for name in asked if tally[name]]
    assert not early, f"{early} computed before anybody asked: compute them in _compute_..."
    for name in 2 * asked:
        assert getattr(evaluation, name) is getattr(evaluation, name), f"{name} changes from one question to the next"
    counts = {name: tally[name] for name in asked}
    assert set(counts.values()) == {1}, f"counted {counts}, not once each: hand problem.tally to Evaluation.__init__"
    whole = minmin.minimize(problem, tol=tol)
    assert whole.success, whole
    for twin in (copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        again = minmin.minimize(twin, tol=tol)
        assert np.array_equal(again.x, whole.x), "a copy of the problem has another minimum"
        assert again.calls == whole.calls, "a copy of the problem takes other calls"
        marks = [fingerprint(p, minmin.methods.Nag(), x, y)["problem"] for p in (problem, twin)]
        assert marks[0] == marks[1], "a copy has another identity(): a run could not be resumed"
    if problem.constants is not None:
        assert whole.certified, whole
        for method in ("bam", "nag"):
            other = minmin.minimize(problem, method=method, tol=tol)
            assert other.certified, other
            assert abs(other.fun - whole.fun) <= whole.gap_bound + other.gap_bound, f"{method} finds another minimum"
    return whole


def assert_loss(loss, targets, seed=0):
    """Derivatives are those of the value, the loss is convex, and a model with it is solved with a true bound."""
    rng = np.random.default_rng(seed)
    target = loss.check_target(np.asarray(targets, float))
    n, h = len(target), 1e-5
    for size in (0.1, 1.0, 5.0):
        margins = size * rng.standard_normal(n)
        at = {t: margins + t * h for t in (-1, 0, 1)}
        shared = {t: loss.prepare(m, target) for t, m in at.items()}
        value, slope = ({t: f(at[t], target, shared[t]) for t in at} for f in (loss.value, loss.slope))
        curvature = loss.curvature(at[0], target, shared[0])
        scale = 1 + np.abs(value[0]).max()
        by_differences = (value[1] - value[-1]) / (2 * h)
        assert np.allclose(by_differences, slope[0], atol=1e-5 * scale), "slope is not the derivative of value"
        by_differences = (slope[1] - slope[-1]) / (2 * h)
        close = np.allclose(by_differences, curvature, atol=1e-5 * (1 + np.abs(slope[0]).max()))
        assert close, "curvature is not the derivative of slope"
        assert np.all(curvature >= 0), "the loss is not convex"
        assert np.all(curvature <= loss.max_curvature * (1 + 1e-12)), "curvature exceeds max_curvature"
        assert np.all(curvature >= loss.min_curvature * (1 - 1e-12)), "curvature is below min_curvature"
        assert_distance(loss, margins, target, rng)
        assert_fenchel_gap(loss, margins, target, rng)
    X, Y = rng.standard_normal((n, 4)), rng.standard_normal((n, 2))
    problem = GLM(X, Y, targets, loss, alpha_x=1e-2, alpha_y=1e-3)
    assert minmin.check(problem).ok
    best = minmin.minimize(problem, tol=1e-12)

    def compare(record):
        assert record.value - best.fun <= record.gap_bound + best.gap_bound + 1e-14

    r = minmin.minimize(problem, tol=1e-8, callback=compare)
    assert r.success
    assert r.certified


def assert_distance(loss, margins, target, rng):
    """Over a change of distance d <= 1 the second derivative changes by a factor exp(d) at most."""
    for m, t in zip(margins, target, strict=True):
        m, t, u = np.array([m]), np.array([t]), rng.uniform(-1, 1, size=1)
        distance = loss.distance(u, m, t)
        if distance <= 1.0:
            before, after = (float(loss.curvature(at, t, loss.prepare(at, t))[0]) for at in (m - u, m))
            low, high = sorted([before, after])
            changes = f"from {m - u} to {m} the curvature changes from {before} to {after}: distance"
            assert high <= np.exp(distance) * (1 + 1e-9) * low + 1e-12, changes


def assert_fenchel_gap(loss, margins, target, rng):
    """ℓ(m) + ℓ*(c·s) - c·m·s is at most the gap of the dual point, ℓ* from below by many points."""
    grid = np.linspace(-30.0, 30.0, 601)
    for m, t in zip(margins, target, strict=True):
        u = np.array([rng.uniform(-1, 1) * 10 ** rng.uniform(-2, 0.5)])
        one = np.ones(1)
        here, there = (np.array([m]), np.array([t])), (grid, np.full(grid.shape, t))
        value, slope = (float(f(*here, loss.prepare(*here))[0]) for f in (loss.value, loss.slope))
        near = loss.hessian(*here, loss.prepare(*here), one)
        point = loss.find_dual_point(u, *here, one, near, 0.0)
        s = point.scale * (slope + float((near.diagonal * u)[0]))
        conjugate = np.max(s * grid - loss.value(*there, loss.prepare(*there)))
        gap = value + conjugate - m * s
        assert gap <= point.gap + 1e-9 * (1 + abs(value)), "self_concordance is too small"


def assert_method(method, tmp_path, tol=1e-6):
    """Pure, right, resumable, within budgets, and with bounds that are never below the true gap."""
    problems = [
        Quadratic.random(d_x=5, d_y=3, L_x=5.0, L_y=30.0, coupling=1.0),
        random_glm(np.random.default_rng(5)),
        minmin.Sum([Quadratic.random(d_x=4, d_y=2, L_x=5.0, L_y=30.0, coupling=1.0, seed=s) for s in range(2)]),
    ]
    for number, problem in enumerate(problems):
        assert_pure(method, problem)
        whole = minmin.minimize(problem, method=method, tol=tol)
        assert whole.success, whole
        assert abs(whole.fun - minmin.minimize(problem, tol=1e-10).fun) <= tol, "converged, but not to the minimum"
        spent = minmin.minimize(problem, method=method, tol=tol, max_grad_x=3)
        assert spent.status == "budget"
        assert spent.calls["grad_x"] <= 3
        file = tmp_path / f"{number}.checkpoint"
        for cut in (2, 5):
            minmin.minimize(problem, method=method, tol=tol, max_grad_y=cut, checkpoint=file)
        assert_same_run(whole, minmin.minimize(problem, method=method, tol=tol, checkpoint=file))
    assert_bounds(method, problems=50)


def assert_bounds(method, problems, draw=11, **options):
    """On random quadratics, at every iteration, no bound is below the true gap; ``draw`` says which quadratics."""
    rng = np.random.default_rng(draw)
    for case in range(problems):
        problem = random_quadratic(rng)
        exact = ExactQuadratic(problem)

        def compare(record, exact=exact, case=case):
            gap = exact.gap(record.x, record.y)
            assert record.gap_bound >= gap, f"problem {case}: a bound of {record.gap_bound} where f - f* is {gap}"

        start = rng.standard_normal(problem.d_x), rng.standard_normal(problem.d_y)
        tol = 10 ** rng.uniform(-9, -1)
        r = minmin.minimize(problem, *start, method=method, tol=tol, max_grad_y=800, callback=compare, **options)
        assert r.certified == np.isfinite(r.gap_bound)
        assert r.gap_bound >= exact.gap(r.x, r.y)
        assert r.status in ("converged", "budget")


def assert_pure(method, problem, steps=5):
    """The same state gives the same next state: what a resumed run rests on."""
    problem = method.outer_block(problem).orient(problem)
    state = method.init(problem, *make_start(problem))
    for _ in range(steps):
        before = [np.copy(a) for a in leaves_of(state)]
        again, following = method.step(problem, state), method.step(problem, state)
        for a, b in zip(leaves_of(again), leaves_of(following), strict=True):
            assert np.array_equal(a, b)
        for a, b in zip(before, leaves_of(state), strict=True):
            assert np.array_equal(a, b)
        state = following


def leaves_of(state):
    """The leaves of a state, which are arrays, numbers, strings and None only."""
    if isinstance(state, tuple | minmin.Parts):
        return [leaf for part in state for leaf in leaves_of(part)]
    assert state is None or isinstance(state, np.ndarray | float | int | str), type(state)
    return [] if state is None else [np.asarray(state)]


def assert_same_run(a, b):
    assert np.array_equal(a.x, b.x)
    for p, q in zip(a.y, b.y, strict=True):
        assert np.array_equal(p, q)
    assert a.calls == b.calls
    assert (a.fun, a.bound, a.status, a.nit) == (b.fun, b.bound, b.status, b.nit)
    for column in ("grad_x", "grad_y", "value", "gap_bound"):
        assert np.array_equal(a.history[column], b.history[column]), column


def assert_engine(make_engine):
    """The same bits as a run in one process, and every client is asked under its own number."""
    problems = [Quadratic.random(d_x=4, d_y=2 + i, L_x=5.0, L_y=30.0, coupling=1.0, seed=i) for i in range(3)]
    for method in ("reduced-lbfgs", "bam"):
        local = federated.run([federated.Client(p, 1.0 + i) for i, p in enumerate(problems)], method, tol=1e-8)
        clients = [federated.Client(p, 1.0 + i) for i, p in enumerate(problems)]
        engine = make_engine(clients)
        try:
            r = federated.run(len(clients), method, engine=engine, tol=1e-8)
        finally:
            engine.close()
        assert np.array_equal(r.x, local.x)
        assert r.calls == local.calls

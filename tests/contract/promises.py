"""What every problem, loss, term, method and engine has to keep, as functions to point at one's own.

assert_problem(MyProblem(...))
assert_loss(MyLoss(), targets)
assert_term(MyTerm(), size)
assert_method(MyMethod())
assert_engine(MyEngine)
"""

import contextlib
import copy
import itertools
import math
import pickle

import numpy as np

import minmin
from minmin import federated
from minmin.extend import Tally, make_start
from minmin.loop.checkpoint import fingerprint
from minmin.problems import GLM, Composite, Quadratic
from minmin.term_checks import check_term
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


def assert_term(term, size, seed=0, accuracy=1e-6):
    """prox is the proximal map of value, copies are the same term, and a run with it has a true bound.

    check_term looks at firm nonexpansiveness, convexity, projections and the conjugate. ``size`` is the length of v.
    ``accuracy`` is that of prox, relative to its points.
    """
    term.check_size(size, "term_x")
    rng = np.random.default_rng(seed)
    wrong = [str(finding) for finding in check_term(term, size, rng, np.zeros(1)) if not finding.ok]
    assert not wrong, "; ".join(wrong)
    points = [scale * rng.standard_normal(size) for scale in (0.1, 1.0, 30.0) for _ in range(2)]
    for step in (0.05, 1.0, 7.0):
        images = [assert_prox(term, v, step) for v in points]
        for v, u in zip(points, images, strict=True):
            assert_minimiser(term, v, step, u, [*images, *map(term.project, points)], accuracy)
            assert_step_scaling(term, v, step, u, accuracy)
        for old, new in itertools.pairwise(images):
            change, size_of_numbers = term.change(old, new)
            expected = term.value(new) - term.value(old)
            allowed = 1e-12 * (size_of_numbers + abs(term.value(new)) + abs(term.value(old)))
            assert abs(change - expected) <= allowed, f"change is {change}, the values differ by {expected}"
    for twin in (copy.deepcopy(term), pickle.loads(pickle.dumps(term))):
        assert np.array_equal(twin.prox(points[-1], 1.0), term.prox(points[-1], 1.0)), "a copy has another prox"
        marks = [repr([np.asarray(part).tolist() for part in one.identity()]) for one in (term, twin)]
        assert marks[0] == marks[1], "a copy has another identity(): a run could not be resumed"
    problem = Composite(Quadratic.random(d_x=size, d_y=3, L_x=5.0, L_y=30.0, coupling=1.0), term_x=term)
    best = minmin.minimize(problem, tol=1e-12)

    def compare(record):
        assert record.value - best.fun <= record.gap_bound + best.gap_bound + 1e-12 * (1 + abs(best.fun))

    r = minmin.minimize(problem, tol=1e-8, callback=compare)
    assert r.success, r
    assert r.certified, r
    assert math.isfinite(term.value(r.x)), "a run ends where the term is infinite"


def assert_prox(term, v, step):
    """A new array like v where the term is finite, and v is kept."""
    before = v.copy()
    u = term.prox(v, step)
    assert np.array_equal(v, before), "prox changes its argument"
    assert u.shape == v.shape, f"prox(v) has shape {u.shape}, and v {v.shape}"
    assert math.isfinite(term.value(u)), f"value is {term.value(u)} at prox(v, {step}): allow for rounding errors"
    return u


def assert_minimiser(term, v, step, u, others, accuracy):
    """t(w) + |w - v|²/2step is above its minimum, at u, by (1/step + convexity)/2 |w - u|² at least, for every w."""
    least = term.value(u) + (u - v) @ (u - v) / (2 * step)
    norm = np.linalg.norm
    error = accuracy * (norm(u) + norm(v))
    for other, length in itertools.product(others, (1e-2, 1.0)):
        w = u + length * (other - u)
        if math.isinf(term.value(w)):  # by rounding, or since other is not allowed
            continue
        value, move = term.value(w) + (w - v) @ (w - v) / (2 * step), (w - u) @ (w - u)
        rounding = 1e-13 * (abs(least) + abs(value) + (u @ u + v @ v + w @ w) / step)
        missing = least + (1 / step + term.convexity) / 2 * move - value
        allowed = error * (norm(w - u) + norm(v - u)) / step + rounding
        assert missing <= allowed, f"prox(v, {step}) does not minimise value(u) + |u - v|²/2step"


def assert_step_scaling(term, v, step, u, accuracy):
    """If u = prox(v, a), then also u = prox(u + b/a (v - u), b): the subgradient (v - u)/a is the same."""
    for factor in (0.1, 10.0):
        again = term.prox(u + factor * (v - u), factor * step)
        apart, size = np.linalg.norm(again - u), (1 + factor) * (np.linalg.norm(u) + np.linalg.norm(v))
        assert apart <= accuracy * size, f"prox uses its step wrongly: {step} and {factor * step} do not fit together"


@contextlib.contextmanager
def on(name):
    """Errors say on which problem they occurred."""
    try:
        yield
    except Exception as error:
        error.add_note(f"on {name}")
        raise


def assert_method(method, tmp_path, tol=1e-6):
    """Pure, right, resumable, within budgets, and with bounds that are never below the true gap."""
    problems = {
        "a quadratic": Quadratic.random(d_x=5, d_y=3, L_x=5.0, L_y=30.0, coupling=1.0),
        "a logistic regression": random_glm(np.random.default_rng(5)),
        "a Sum of two quadratics": minmin.Sum(
            [Quadratic.random(d_x=4, d_y=2, L_x=5.0, L_y=30.0, coupling=1.0, seed=s) for s in range(2)]
        ),
    }
    for number, (name, problem) in enumerate(problems.items()):
        with on(name):
            assert_runs(method, problem, tmp_path / f"{number}.checkpoint", tol)
    assert_bounds(method, problems=50)


def assert_runs(method, problem, file, tol):
    """On one problem: pure, right, within budgets, and resumable."""
    assert_pure(method, problem)
    whole = minmin.minimize(problem, method=method, tol=tol)
    assert whole.success, whole
    above = whole.fun - minmin.minimize(problem, tol=1e-10).fun
    assert abs(above) <= tol, f"converged, but f is {above} above the minimum, and tol is {tol}"
    spent = minmin.minimize(problem, method=method, tol=tol, max_grad_x=3)
    assert spent.status == "budget", f"with max_grad_x=3 a run ends as {spent.status}"
    assert spent.calls["grad_x"] <= 3, f"with max_grad_x=3 a run has {spent.calls['grad_x']} calls of ∇ₓf"
    for cut in (2, 5):
        minmin.minimize(problem, method=method, tol=tol, max_grad_y=cut, checkpoint=file)
    with on("a run that was resumed from a checkpoint"):
        assert_same_run(whole, minmin.minimize(problem, method=method, tol=tol, checkpoint=file))


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
        with on(f"random quadratic {case}"):
            r = minmin.minimize(problem, *start, method=method, tol=tol, max_grad_y=800, callback=compare, **options)
            assert r.certified == np.isfinite(r.gap_bound), r
            assert r.gap_bound >= exact.gap(r.x, r.y), r
            assert r.status in ("converged", "budget"), r


def assert_pure(method, problem, steps=5):
    """The same state gives the same next state: what a resumed run rests on."""
    problem = method.outer_block(problem).orient(problem)
    state = method.init(problem, *make_start(problem))
    for _ in range(steps):
        before = [np.copy(a) for a in leaves_of(state)]
        again, following = method.step(problem, state), method.step(problem, state)
        for a, b in zip(leaves_of(again), leaves_of(following), strict=True):
            assert np.array_equal(a, b), "two steps from the same state differ"
        for a, b in zip(before, leaves_of(state), strict=True):
            assert np.array_equal(a, b), "step changes the state that it is given"
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

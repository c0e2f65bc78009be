"""How runs end: gtol, rtol, max_iterations, what a method says of its point, and which point is returned."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import minmin
from minmin import federated
from minmin.core.bound import Bound
from minmin.extend import Candidate
from minmin.methods import Method
from minmin.problems import Function, Quadratic
from reference import VARIANTS, ExactQuadratic, as_function

PROBLEM = Quadratic.random(d_x=6, d_y=3, coupling=1.0)
SUM = minmin.Sum([Quadratic.random(d_x=6, d_y=2, seed=seed) for seed in range(3)])


def gradient_size(problem, r):
    evaluation = problem.fix(r.x).at(r.y)
    in_y = evaluation.grad_y if problem is SUM else [evaluation.grad_y]
    return max(np.abs(gradient).max() for gradient in (evaluation.grad_x, *in_y))


@pytest.mark.parametrize("variant", VARIANTS)
def test_gtol_holds_at_the_point_itself_for_every_method(variant):
    method, options = VARIANTS[variant]
    r = minmin.minimize(PROBLEM, method=method, tol=0, gtol=1e-4, **options)
    assert r.success
    assert "within gtol = 0.0001" in r.message
    assert gradient_size(PROBLEM, r) <= 1e-4


@pytest.mark.parametrize("method", ["reduced-lbfgs", "reduced-newton", "bam"])
def test_gtol_looks_at_every_term_of_a_sum(method):
    r = minmin.minimize(SUM, method=method, tol=0, gtol=1e-5)
    assert r.success
    assert gradient_size(SUM, r) <= 1e-5


def test_the_gradients_that_confirm_gtol_are_counted():
    f = as_function(PROBLEM)
    calls = {"grad_x": 0, "grad_y": 0}

    def count(name):
        function = getattr(f, name)

        def wrapped(x, y):
            calls[name] += 1
            return function(x, y)

        return wrapped

    counted = Function(f.value, count("grad_x"), count("grad_y"), d_x=6, d_y=3, constants=PROBLEM.constants)
    r = minmin.minimize(counted, method="nag", tol=0, gtol=1e-4)
    assert {kind: r.calls[kind] for kind in calls} == calls
    assert r.calls["grad_x"] > r.nit


def test_tol_and_gtol_together_stop_at_whichever_comes_first():
    assert "tol = 1e-06" in minmin.minimize(PROBLEM, method="bam", gtol=1e-12).message
    assert "gtol = 0.1" in minmin.minimize(PROBLEM, method="bam", tol=1e-12, gtol=0.1).message


def test_a_gtol_below_rounding_says_to_give_a_larger_one():
    r = minmin.minimize(PROBLEM, tol=0, gtol=1e-300)
    assert r.status == "stalled"
    assert "give a larger gtol" in r.message


@pytest.mark.parametrize(("method", "gtol"), [("reduced-lbfgs", 1e-3), ("bam", 1e-3), ("proxskip", 1.0)])
def test_gtol_in_a_federation_bounds_every_gradient(method, gtol):
    clients = [federated.Client(term) for term in SUM.terms]
    r = federated.run(clients, method, tol=0, gtol=gtol)
    assert r.success
    assert "within gtol" in r.message
    y = [np.linalg.solve(t.H[6:, 6:], -t.b[6:] - t.H[6:, :6] @ r.x) for t in SUM.terms]
    at_best_y = SUM.fix(r.x).at(minmin.Parts(y, SUM.weights))
    assert np.abs(at_best_y.grad_x).max() < 20 * gtol


def test_a_federation_counts_the_round_that_confirms_gtol():
    clients = [federated.Client(term) for term in SUM.terms]
    central = minmin.minimize(SUM, method="bam", tol=0, gtol=0.1)
    r = federated.run(clients, "bam", tol=0, gtol=0.1)
    assert r.calls["grad_x"] > r.nit
    assert central.nit <= r.nit  # norms are at least as large as entries


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_max_iterations_is_a_budget_of_outer_iterations(limit):
    r = minmin.minimize(PROBLEM, tol=1e-12, max_iterations=limit)
    assert (r.status, r.nit) == ("budget", limit)
    assert f"max_iterations = {limit} iterations are done" in r.message
    if limit == 0:
        assert np.array_equal(r.x, np.zeros(6))
        assert r.calls["grad_x"] == 0


def test_max_iterations_counts_those_before_a_checkpoint(tmp_path):
    file = tmp_path / "run"
    whole = minmin.minimize(PROBLEM, tol=1e-12, max_iterations=7)
    minmin.minimize(PROBLEM, tol=1e-12, max_iterations=4, checkpoint=file)
    assert minmin.minimize(PROBLEM, tol=1e-12, max_iterations=4, checkpoint=file).nit == 4
    r = minmin.minimize(PROBLEM, tol=1e-12, max_iterations=7, checkpoint=file)
    assert r.nit == 7
    assert r.calls == whole.calls
    assert np.array_equal(r.x, whole.x)


def test_rtol_is_relative_to_what_f_has_fallen():
    exact = ExactQuadratic(PROBLEM)
    for scale in (1e-6, 1e6):
        scaled = Quadratic(scale * PROBLEM.H, scale * PROBLEM.b, 6)
        r = minmin.minimize(scaled, tol=0, rtol=1e-3)
        assert r.success
        assert "rtol = 0.001" in r.message
        assert r.gap_bound <= 1e-3 * (0.0 - r.fun)
        assert r.fun / scale - exact.value <= 1e-3 * -exact.value


def test_rtol_uses_the_start_of_the_run_before_the_checkpoint(tmp_path):
    file = tmp_path / "run"
    whole = minmin.minimize(PROBLEM, method="bam", tol=0, rtol=1e-6)
    minmin.minimize(PROBLEM, method="bam", tol=0, max_iterations=whole.nit - 1, rtol=1e-6, checkpoint=file)
    r = minmin.minimize(PROBLEM, method="bam", tol=0, rtol=1e-6, checkpoint=file)
    assert (r.success, r.nit) == (True, whole.nit)


def test_an_rtol_below_rounding_ends_as_stalled():
    r = minmin.minimize(PROBLEM, tol=0, rtol=1e-40)
    assert r.status == "stalled"
    assert "rounding" in r.message


def test_rtol_without_values_is_refused():
    f = as_function(PROBLEM)
    silent = Function(None, f.grad_x, f.grad_y, d_x=6, d_y=3, constants=PROBLEM.constants)
    with pytest.raises(minmin.UnsupportedError, match=r"rtol needs values of f.*give tol"):
        minmin.minimize(silent, rtol=1e-3)
    with pytest.raises(minmin.UnsupportedError, match=r"rtol needs values of f.*give tol"):
        federated.run([federated.Client(silent)], rtol=1e-3)


@pytest.mark.parametrize("run", [minmin.minimize, lambda p, **stops: federated.run([federated.Client(p)], **stops)])
@pytest.mark.parametrize(
    ("stop", "value"), [("gtol", -1.0), ("gtol", "small"), ("rtol", -1.0), ("rtol", math.inf), ("assume_convex", 1)]
)
def test_a_wrong_stop_is_named(run, stop, value):
    with pytest.raises(minmin.InputError, match=f"{stop} (=|must)"):
        run(PROBLEM, **{stop: value})


def test_a_wrong_number_of_iterations_is_named():
    for value in (-1, 2.5, True):
        with pytest.raises(minmin.InputError, match=r"max_iterations = .* must be a whole number"):
            minmin.minimize(PROBLEM, max_iterations=value)


@pytest.mark.parametrize(("fall", "ends"), [(0.0, 200), (1e-10, 200), (1e-3, None)])
def test_a_run_whose_bound_and_f_stay_where_they_are_ends(fall, ends):
    script = [(1.0, {"bound": Bound(2.0 * (1.0 - fall * i), basis="constants")}) for i in range(300)]
    r = run_script(*script, max_iterations=250)
    assert r.status == ("budget" if ends is None else "stalled")
    assert r.nit == (ends or 250)
    if ends:
        assert r.message.startswith("over 100 iterations neither f nor its bound has moved: ")


@pytest.mark.parametrize(
    "stops", [{"gtol": 1e-9}, {"target_value": 0.5}, {"tol": 0}], ids=lambda stops: next(iter(stops))
)
def test_a_bound_that_stays_where_it_is_ends_no_run_that_aims_at_something_else(stops):
    script = [(1.0 + 1e-3 / (1 + i), {"bound": Bound(2.0)}) for i in range(300)]
    assert run_script(*script, max_iterations=250, **stops).status == "budget"


class ScriptedState(NamedTuple):
    """The number of steps so far, and the candidate."""

    steps: int
    candidate: Candidate


@dataclass(frozen=True)
class Scripted(Method):
    """Proposes the points 1, 2, ... of a script; each is a value of x and what the candidate says of it."""

    name: ClassVar[str] = "scripted"
    state_types: ClassVar[tuple[type, ...]] = (ScriptedState,)
    script: tuple[tuple[float, dict], ...]

    def init(self, problem, x, y):
        return ScriptedState(0, Candidate(x, y))

    def step(self, problem, state):
        x, said = self.script[min(state.steps, len(self.script) - 1)]
        return ScriptedState(state.steps + 1, Candidate(np.array([x]), np.zeros(1), **said))


def parabola(**constants):
    return Function(
        lambda x, y: float(x[0] ** 2 + y[0] ** 2), lambda x, y: 2 * x, lambda x, y: 2 * y, d_x=1, d_y=1, **constants
    )


def run_script(*script, problem=None, **stops):
    return minmin.minimize(problem or parabola(), np.array([9.0]), method=Scripted(script), **stops)


EVIDENCE = "between two points of this run the gradient changed by -0.3 per unit of distance"
SEEN = {"not_convex": EVIDENCE}
CONVERGING = {
    "tol": ({"bound": Bound(1e-9)}, {}),
    "rtol": ({"bound": Bound(1e-3)}, {"tol": 0, "rtol": 1e-2}),
    "gtol": ({"gradient_size": 1e-9}, {"tol": 0, "gtol": 1e-8}),
}


@pytest.mark.parametrize("stop", CONVERGING)
def test_a_run_that_has_seen_a_function_that_is_not_convex_does_not_converge(stop):
    said, stops = CONVERGING[stop]
    r = run_script((1.0, said | SEEN), **stops)
    assert r.status == "stalled"
    assert r.message == (
        f"f is not convex: {EVIDENCE}; the point may be a local minimum or a saddle point; "
        "give assume_convex=False if a stationary point is enough; "
        "or a gradient may be wrong: check the gradients with minmin.check(problem)"
    )
    assert r.gap_bound == math.inf
    assert not r.certified


@pytest.mark.parametrize("stop", CONVERGING)
def test_with_assume_convex_false_a_stationary_point_is_enough(stop):
    said, stops = CONVERGING[stop]
    r = run_script((1.0, said | SEEN), assume_convex=False, **stops)
    assert r.success
    assert f"within {stop} = " in r.message
    assert r.message.endswith(f"; f is not convex: {EVIDENCE}")
    assert "f*" not in r.message
    assert r.gap_bound == math.inf


def test_other_ends_say_as_well_that_f_is_not_convex():
    r = run_script((1.0, {"bound": Bound(1e-3)} | SEEN), max_iterations=3)
    assert r.status == "budget"
    assert r.message == f"max_iterations = 3 iterations are done; f is not convex: {EVIDENCE}"
    assert r.gap_bound == math.inf
    assert np.isinf(r.history.gap_bound).all()


def test_a_point_found_before_f_showed_that_it_is_not_convex_has_no_bound_either():
    r = run_script((1.0, {"bound": Bound(1e-3)}), (2.0, {"bound": Bound(1e-3)} | SEEN), max_iterations=2)
    assert r.x[0] == 1.0
    assert r.gap_bound == math.inf
    assert EVIDENCE in r.message


def test_target_value_does_not_need_a_convex_function():
    r = run_script((1.0, {"bound": Bound(1e-9)} | SEEN), target_value=2.0)
    assert r.success
    assert "target_value" in r.message
    assert r.gap_bound == math.inf


@dataclass(frozen=True)
class DoubtfulBam(minmin.methods.Bam):
    """BAM that believes that f is not convex."""

    def step(self, problem, state):
        state = super().step(problem, state)
        return state._replace(candidate=state.candidate._replace(**SEEN))


@pytest.mark.parametrize(("assume_convex", "status"), [(True, "stalled"), (False, "converged")])
def test_a_federation_reports_no_bound_either_if_f_is_not_convex(assume_convex, status):
    clients = [federated.Client(term) for term in SUM.terms]
    r = federated.run(clients, DoubtfulBam(), tol=1.0, assume_convex=assume_convex)
    assert r.status == status
    assert EVIDENCE in r.message
    assert r.gap_bound == math.inf


def test_a_resumed_federation_stops_at_gtol_as_an_undisturbed_one(tmp_path):
    easy = [Quadratic.random(d_x=6, d_y=2, mu_x=1.0, L_x=2.0, mu_y=1.0, L_y=2.0, seed=seed) for seed in range(2)]
    whole = federated.run([federated.Client(term) for term in easy], "bam", tol=0, gtol=0.1)
    clients, file = [federated.Client(term) for term in easy], tmp_path / "server"
    federated.run(clients, "bam", tol=0, gtol=0.1, rounds=3, checkpoint=file)
    r = federated.run(clients, "bam", tol=0, gtol=0.1, checkpoint=file)
    assert r.success
    assert r.nit > 3
    assert np.array_equal(r.x, whole.x)
    assert r.calls["grad_x"] == whole.calls["grad_x"]


def test_the_reason_of_a_method_is_the_message():
    reason = "f appears unbounded below"
    r = run_script((1.0, {"reason": reason, "exhausted": True} | SEEN))
    assert (r.status, r.message) == ("stalled", reason)
    r = run_script((1.0, {"reason": reason, "bound": Bound(1e-9)}))
    assert r.success


def test_a_value_that_the_method_knows_is_not_computed_again():
    said = {"bound": Bound(1e-9), "value": 1.0}
    r = run_script((1.0, said))
    assert r.fun == 1.0
    assert r.calls["monitor"] == 1  # at the start
    f = parabola()
    silent = Function(None, f.grad_x, f.grad_y, d_x=1, d_y=1)
    assert math.isnan(run_script((1.0, said), problem=silent).fun)


def test_an_early_point_with_a_low_estimate_is_not_returned():
    script = ((3.0, {"bound": Bound(1e-3)}), (1.0, {"bound": Bound(0.1)}), (2.0, {"bound": Bound(0.2)}))
    r = run_script(*script, max_iterations=3)
    assert (r.x[0], r.fun, r.gap_bound) == (1.0, 1.0, 0.1)
    f = parabola()
    silent = Function(None, f.grad_x, f.grad_y, d_x=1, d_y=1)
    assert run_script(*script, problem=silent, max_iterations=3).x[0] == 2.0


def test_a_low_bound_that_is_proved_still_counts():
    script = ((3.0, {"bound": Bound(10.0, basis="constants")}), (1.0, {"bound": Bound(20.0, basis="constants")}))
    assert run_script(*script, max_iterations=2).x[0] == 3.0


def test_the_newest_point_counts_also_between_two_records():
    script = tuple((9.0 - 0.01 * k, {"bound": Bound(1.0 / k)}) for k in range(1, 400))
    r = run_script(*script, max_iterations=399)
    assert r.x[0] == script[398][0]


def test_the_lowest_point_survives_a_checkpoint(tmp_path):
    file = tmp_path / "run"
    script = ((1.0, {"bound": Bound(0.1)}), (3.0, {"bound": Bound(1e-3)}), (2.0, {"bound": Bound(1e-4)}))
    whole = run_script(*script, max_iterations=3)
    run_script(*script, max_iterations=2, checkpoint=file)
    r = run_script(*script, max_iterations=3, checkpoint=file)
    assert (r.x[0], r.gap_bound) == (whole.x[0], whole.gap_bound) == (1.0, 0.1)
    assert r.calls == whole.calls


def test_only_a_proved_bound_prints_at_most(capsys):
    proved, estimated = Bound(1e-7, basis="constants"), Bound(1.2e-7)
    r = run_script((1.0, {"bound": proved}), progress=True)
    assert "f(x, y) = 1, at most 1e-07 above the minimum (certified)\n" in str(r)
    assert "gap ≤ 1e-07" in capsys.readouterr().err
    r = run_script((1.0, {"bound": estimated}), progress=True)
    assert "f(x, y) = 1, about 1.2e-07 above the minimum, if f is convex (estimated)\n" in str(r)
    assert r.message == "f(x, y) - f* is about 1.2e-07, if f is convex (estimated), within tol = 1e-06"
    assert "gap ≈ 1.2e-07" in capsys.readouterr().err
    r = run_script((1.0, {}), max_iterations=1, progress=True)
    assert "f(x, y) = 1, how far above the minimum is not known\n" in str(r)
    assert "gap not known" in capsys.readouterr().err


def test_why_auto_took_a_method_is_in_the_message_but_not_printed():
    r = minmin.minimize(PROBLEM)
    assert r.why_method == "auto took reduced-lbfgs in x, the more expensive block by convention"
    assert r.message.endswith(f"; {r.why_method}")
    assert "auto" not in str(r)
    assert minmin.minimize(PROBLEM, method="bam").why_method == ""


def test_a_result_that_was_saved_without_its_newest_fields_loads():
    r = minmin.minimize(PROBLEM)
    state = dict(r.__dict__)
    del state["why_method"]
    older = minmin.Result.__new__(minmin.Result)
    older.__setstate__(state)
    assert older.why_method == ""
    assert r.message in str(older)


def test_a_failed_run_keeps_its_lowest_point():
    f = parabola()
    failing = Function(lambda x, y: math.nan if x[0] == 5 else f.value(x, y), f.grad_x, f.grad_y, d_x=1, d_y=1)
    with pytest.raises(minmin.NonFiniteError) as caught:
        run_script((1.0, {}), (2.0, {}), (5.0, {}), problem=failing)
    assert caught.value.result.x[0] == 1.0

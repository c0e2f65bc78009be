"""Relatives of BAM: instances with true constants and minima, runs that count what minimize() counts, verdicts."""

import json
import math

import numpy as np
import pytest

import minmin
from minmin.experiments.race import Task
from minmin.experiments.relatives import contenders
from minmin.experiments.relatives.claims import judge_relatives
from minmin.experiments.relatives.instances import (
    aligned_split,
    flat_squares,
    papers_quadratic,
    three_blocks,
    tight_quadratic,
    unit_blocks,
)
from minmin.experiments.relatives.panels import draw_curves
from minmin.experiments.relatives.studies import MOST_SEEDS, STUDIES
from minmin.experiments.relatives.trials import gather, is_trial, run_trial, trial_tasks
from minmin.experiments.runner import tasks
from minmin.experiments.settings import PAPERS

from .conftest import made_up_calls, make_up_outcomes


def make_trials(calls):
    outcomes = make_up_outcomes(calls)
    return gather(outcomes, list(outcomes), 1e-8)


def verdicts(trials, words):
    (claim,) = (claim for claim in judge_relatives(trials) if words in claim.text)
    return [row.verdict for row in claim.rows]


def constants_hold(H, L, mu, scale):
    least, largest = (np.linalg.eigvalsh(side)[0] for side in (H - np.diag(mu), np.diag(L) - H))
    return min(least, largest) >= -1e-12 * scale


@pytest.mark.parametrize("near", [False, True])
def test_constants_of_coupled_blocks_are_true(near):
    instance = tight_quadratic(1, 1e3, 1e2, d_x=5, d_y=8, near=near)
    problem, c = instance.problem, instance.problem.constants
    assert (c.kappa_x, c.kappa_y) == (pytest.approx(1e3), pytest.approx(1e2))
    L, mu = np.repeat([c.L_x, c.L_y], [5, 8]), np.repeat([c.mu_x, c.mu_y], [5, 8])
    assert constants_hold(problem.H, L, mu, c.L_x)


def test_constants_of_three_blocks_are_true():
    problem = three_blocks(0, spread=10.0, size=4).problem
    layout = problem.blocks
    assert np.allclose(np.divide(layout.L, layout.mu), [1e2, 1e3, 1e4])
    assert constants_hold(problem.H, np.repeat(layout.L, 4), np.repeat(layout.mu, 4), 1e4)


def test_constants_of_both_parts_of_a_split_are_true():
    split = aligned_split(0, L_f=10.0, L_g=1e3, d=8).problem
    for part in (split.f, split.g):
        c = part.constants
        assert constants_hold(part.H, np.full(8, c.L_x), np.full(8, c.mu_x), c.L_x)
    assert np.linalg.eigvalsh(split.f.H + split.g.H)[0] == pytest.approx(1.0)


def test_the_coupling_is_what_it_says():
    H = unit_blocks(0, inverse=50.0, d=6).problem.H
    assert 1 / (1 - np.linalg.norm(H[:6, 6:], 2) ** 2) == pytest.approx(50.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tight_quadratic(0, 1e2, 1e1),
        lambda: tight_quadratic(0, 1e2, 1e1, near=True),
        lambda: papers_quadratic(0, L_y=500.0, coupling=1.0),
        lambda: three_blocks(0, spread=1.0),
        lambda: aligned_split(0, L_f=10.0, L_g=100.0),
        lambda: unit_blocks(0, inverse=10.0),
        lambda: flat_squares(0),
    ],
)
def test_the_minimum_is_exact(make):
    instance = make()
    found = minmin.minimize(instance.problem, method="reduced-lbfgs", tol=1e-10 * abs(instance.minimum))
    assert found.fun == pytest.approx(instance.minimum, rel=1e-8)


def test_a_minimiser_of_the_flat_squares_is_within_the_radius():
    instance = flat_squares(3)
    problem = instance.problem
    z = np.linalg.pinv(problem.H) @ -problem.b
    assert np.linalg.norm(z) == pytest.approx(instance.options["radius"])


@pytest.mark.parametrize(
    ("setting", "contender", "instance"),
    [
        ("blocks/1", contenders.BAM, lambda: three_blocks(2, spread=1.0)),
        ("sliding-g/100", contenders.SLIDING, lambda: aligned_split(2, L_f=10.0, L_g=100.0)),
        ("alternating/10", contenders.ALTERNATING_PLAIN, lambda: unit_blocks(2, inverse=10.0)),
        ("inexact-both/10", contenders.INEXACT, lambda: tight_quadratic(2, 10.0, 10.0)),
    ],
)
def test_a_run_counts_what_minimize_counts(setting, contender, instance):
    made = instance()
    outcome = run_trial(Task(setting, contender.key, 2), 1e-3)
    gap = -1e-3 * made.minimum
    options = {"tol": gap, "target_value": made.minimum + gap, **contender.options}
    calls = minmin.minimize(made.problem, method=contender.method, **options).calls
    assert outcome.calls
    assert outcome.calls == {kind: calls[kind] for kind in outcome.calls}


def test_with_values_in_place_of_grad_y_no_gradient_in_y_is_computed(monkeypatch):
    called = []
    compute = minmin.problems.quadratic.QuadraticEvaluation._compute_grad_y
    monkeypatch.setattr(
        minmin.problems.quadratic.QuadraticEvaluation,
        "_compute_grad_y",
        lambda self: called.append(1) or compute(self),
    )
    assert run_trial(Task("values/10", "bam-values", 0), 1e-2).calls["grad_y"] > 0
    assert not called
    assert run_trial(Task("values/10", "bam", 0), 1e-2).calls["grad_y"] == len(called)


def test_a_run_that_does_not_reach_the_gap_has_no_calls(monkeypatch):
    monkeypatch.setattr("minmin.experiments.relatives.trials.MOST_CALLS", 3)
    assert run_trial(Task("inexact-x/10", "bam", 0), 1e-8).calls == {}


def test_the_papers_experiments_have_no_trials_and_their_seeds_are_limited():
    assert not any(is_trial(task) for task in tasks(PAPERS, 3))
    assert len(set(trial_tasks(50))) == len(trial_tasks(50)) == MOST_SEEDS * len(trial_tasks(1))
    assert [task for task in tasks(("relatives",), 2) if not is_trial(task)] == []


@pytest.mark.parametrize(("power", "verdict"), [(0.5, "holds"), (0.6, "does not hold")])
def test_growth_is_compared_with_what_theory_promises(power, verdict):
    trials = make_trials(lambda study, point, _: dict.fromkeys(study.kinds, 1e3 * point.varied**power))
    assert verdicts(trials, "For f + g") == [verdict, verdict]
    assert verdicts(trials, "no faster than √(1/ε)") == [verdict, verdict]
    assert verdicts(trials, "√max(κ_x, κ_y)") == [verdict, verdict]
    assert verdicts(trials, "Accelerated alternating") == [verdict, "holds"]
    assert verdicts(trials, "do not depend on L_g") == ["does not hold"]
    assert verdicts(trials, "They do not grow with κ_x") == ["does not hold"]
    assert verdicts(trials, "The first block's calls do not grow") == ["does not hold"]


def test_calls_are_compared_with_those_of_the_other_method():
    def calls(study, point, contender):
        few = contender.key in ("bam-triple-momentum", "bam", "alternating")
        return dict.fromkeys(study.kinds, 70 if few else 100)

    trials = make_trials(calls)
    assert set(verdicts(trials, "much worse than BAM")) == {"holds", "does not hold"}
    assert verdicts(trials, "Acceleration saves") == ["holds"]
    assert verdicts(trials, "fewer ∇ₓ calls with triple momentum") == ["holds", "holds"]
    assert verdicts(trials, "only values of f") == ["does not hold"]
    assert verdicts(trials, "Without known constants") == ["does not hold", "holds"] * 2


def test_runs_that_do_not_arrive_count_as_infinite():
    def calls(study, point, contender):
        stuck = contender.key in ("cutting-plane", "bam-values", "sliding") and point is study.points[-1]
        return {} if stuck else made_up_calls(study, point, contender)

    trials = make_trials(calls)
    study = trials["cutting-d"]
    assert trials.medians(study, contenders.CUTTING, "grad_x")[-1] == math.inf
    assert verdicts(trials, "grow no faster than d_x") == ["does not hold"]
    assert verdicts(trials, "They do not grow with κ_x") == ["does not hold"]
    assert verdicts(trials, "do not depend on L_g") == ["does not hold"]
    assert draw_curves(trials, study)[0].promised is None


def test_what_is_promised_lies_above_the_medians_and_touches_them():
    trials = make_trials(lambda study, point, _: dict.fromkeys(study.kinds, 7 * point.varied**0.3))
    promised = [curve for study in STUDIES for curve in draw_curves(trials, study) if curve.promised]
    assert len(promised) > 10
    for curve in promised:
        ratios = np.array(curve.promised) / [spread.median for spread in curve.calls]
        assert ratios.min() == pytest.approx(1.0)


def test_lines_of_a_panel_differ_in_colour_or_dash():
    trials = make_trials(made_up_calls)
    for study in STUDIES:
        curves = draw_curves(trials, study)
        assert len({(curve.colour, curve.dash) for curve in curves}) == len(curves)


@pytest.mark.slow
def test_a_report_has_a_figure_a_page_and_every_run(relatives):
    assert (relatives / "figure-6-relatives.png").stat().st_size > 50_000
    content = json.loads((relatives / "results.json").read_text())
    assert content["experiments"] == ["relatives"]
    runs = {(run["setting"], run["method"]): run for run in content["runs of relatives"]}
    assert set(runs) == {(task.setting, task.method) for task in trial_tasks(1)}
    assert runs["blocks/10", "bam"] == {
        "setting": "blocks/10",
        "method": "bam",
        "seed": 0,
        "grad_0": 32,
        "grad_1": 33,
        "grad_2": 34,
    }
    missing = run_trial(Task("alternating/10", "alternating", 0), 0.1)
    assert runs["alternating/10", "alternating"]["min_x"] == missing.calls["min_x"]
    levels = {entry["setting"]: entry["level"] for entry in content["relatives"]}
    assert (levels["blocks/10"], levels["convex/1000"]) == (0.1, 1e-3)
    page = (relatives / "index.html").read_text()
    assert "minmin reproduce relatives --seeds 1 --tol 1e-1 --out report" in page
    assert all(claim["rows"] for claim in content["verdict"]["claims"])

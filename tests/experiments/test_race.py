"""A race counts what minimize() counts, at every level."""

from pathlib import Path

import numpy as np
import pytest

import minmin
from minmin.experiments.contestants import CENTRAL, CONTESTANTS, FEDERATED
from minmin.experiments.race import Task, levels, race
from minmin.experiments.runner import tasks
from minmin.experiments.settings import EXPERIMENTS, a1a_smoothness, describe_group, select_settings


def test_levels_fall_tenfold_in_ten_steps_to_the_tolerance():
    for tol in (1e-8, 3e-5, 0.1):
        found = levels(tol)
        assert found[-1] == tol
        assert (np.diff(found) < 0).all()
        ratios = np.array(found[1:-1]) / found[:-2]
        np.testing.assert_allclose(ratios, 10**-0.1, rtol=1e-3)
    assert 1e-4 in levels(1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("method", [key for key in CENTRAL if key != "joint-lbfgs"])
@pytest.mark.parametrize("setting", ["coupled/500", "paper/0.002"])
def test_every_level_is_what_a_run_with_that_target_counts(method, setting):
    (chosen,) = (s for s in select_settings(EXPERIMENTS) if s.key == setting)
    outcome = race(Task(setting, method, 3), 1e-4)
    problem = chosen.build(3)
    start = problem.fix(np.zeros(problem.d_x)).at(np.zeros(problem.d_y)).value
    minimum = minmin.minimize(problem, tol=1e-13).fun
    contestant = CONTESTANTS[method]
    for level in (levels(1e-4)[20], 1e-4):
        target = minimum + level * (start - minimum)
        options = {"tol": 0, "target_value": target, "seed": 3, **contestant.options}
        calls = minmin.minimize(problem, method=contestant.method, **options).calls
        index = levels(1e-4).index(level)
        assert (outcome.grad_x[index], outcome.grad_y[index]) == (calls["grad_x"], calls["grad_y"])


def test_joint_lbfgs_asks_for_both_gradients_at_every_evaluation():
    outcome = race(Task("diagonal/500", "joint-lbfgs", 0), 1e-6)
    assert outcome.grad_x == outcome.grad_y
    assert len(outcome.grad_x) == len(levels(1e-6))
    assert (np.diff(outcome.grad_x) >= 0).all()
    assert (np.diff(outcome.seconds) >= 0).all()


@pytest.mark.parametrize("method", FEDERATED)
def test_every_federated_method_reaches_the_last_level(method):
    outcome = race(Task("squares/8", method, 0), 0.1)
    assert len(outcome.grad_x) == len(outcome.kilobytes) == len(levels(0.1))
    assert (np.diff(outcome.grad_x) >= 0).all()
    assert outcome.kilobytes[-1] > 0


def test_the_settings_are_the_papers():
    found = {setting.key: setting.build(0) for setting in select_settings(("quadratic", "logistic"))}
    for group in ("diagonal", "coupled"):
        for L_y in (500, 5000, 50000):
            problem = found[f"{group}/{L_y}"]
            c = problem.constants
            assert (problem.d_x, problem.d_y, c.mu_x, c.mu_y, c.L_x, c.L_y) == (100, 10, 0.1, 0.1, 50, L_y)
            coupled = np.abs(problem.H[:100, 100:]).max() > 0
            assert coupled == (group == "coupled")
            eigenvalues = np.linalg.eigvalsh(problem.H)
            assert eigenvalues[0] >= 0.1 * (1 - 1e-9)
    for mu_y in (0.002, 0.0001, 0.00005):
        paper, tight = found[f"paper/{mu_y:g}"], found[f"tight/{mu_y:g}"]
        assert (paper.d_x, paper.d_y, paper.alpha_x, paper.alpha_y) == (100, 19, 0.01, mu_y)
        assert f"{paper.constants.L_x:.3f}" == f"{paper.constants.L_y:.3f}" == "1.567"
        assert tight.constants.source == "proved"
        assert tight.constants.L_y < paper.constants.L_y


def test_smoothness_of_a1a_is_its_largest_eigenvalue():
    A, _ = minmin.datasets.load_a1a()
    assert a1a_smoothness() == pytest.approx(np.linalg.eigvalsh((A.T @ A).toarray())[-1] / (4 * 1605), rel=1e-9)


def test_only_what_is_random_runs_more_than_once():
    counts = {}
    for task in tasks(("quadratic", "logistic"), 5):
        counts.setdefault((task.setting, task.method), []).append(task.seed)
    for (setting, method), seeds in counts.items():
        random = setting.startswith(("diagonal", "coupled")) or CONTESTANTS[method].draws
        assert seeds == (list(range(5)) if random else [0])


def test_clients_take_the_rows_that_are_given(tmp_path):
    file = tmp_path / "rows.svm"
    file.write_text("".join(f"{(-1) ** i} {i % 123 + 1}:1\n" for i in range(200)))
    given, generated = (select_settings(("federated",), a9a)[0] for a9a in (file, None))
    assert sum(len(term.target) for term in given.build(0).terms) == 200
    assert sum(len(term.target) for term in generated.build(0).terms) == 20_000
    assert describe_group(given).startswith("Data: a9a. ")
    assert describe_group(generated).startswith("Data: 20000 generated rows like a9a's. ")


@pytest.mark.slow
def test_a9a_itself():
    file = Path(__file__).parents[3] / "shared" / "data" / "libsvm" / "a9a.gz"
    if not file.exists():
        pytest.skip("a9a is not beside the project (../shared/data/libsvm/a9a.gz)")
    assert race(Task("clients/20", "federated-lbfgs", 0), 1e-3, file).grad_x[-1] <= 10

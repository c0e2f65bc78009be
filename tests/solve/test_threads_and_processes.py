"""Runs side by side, and problems and results that travel."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import minmin
from minmin.problems import Quadratic
from reference import VARIANTS, random_glm

PROBLEMS = {
    "quadratic": Quadratic.random(d_x=12, d_y=4, L_x=5.0, L_y=50.0, coupling=1.0),
    "glm": random_glm(np.random.default_rng(5), sparse=True),
    "sum": minmin.Sum([Quadratic.random(d_x=5, d_y=3, L_x=5.0, coupling=1.0, seed=s) for s in range(2)]),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_runs_at_once_on_one_problem_do_not_meet(variant):
    method, options = VARIANTS[variant]
    problem = PROBLEMS["glm"]
    alone = minmin.minimize(problem, method=method, tol=1e-6, **options)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: minmin.minimize(problem, method=method, tol=1e-6, **options), range(4)))
    for r in together:
        assert np.array_equal(r.x, alone.x)
        assert r.calls == alone.calls


def solve(problem):
    return minmin.minimize(problem, method="bam", tol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_problem_goes_to_another_process_and_the_result_comes_back(kind):
    here = solve(PROBLEMS[kind])
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = pool.submit(solve, PROBLEMS[kind]).result(timeout=60)
    assert np.array_equal(here.x, there.x)
    assert here.calls == there.calls
    assert np.array_equal(here.history.value, there.history.value)


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("travel", [copy.deepcopy, copy.copy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_copies_are_as_good_as_the_original(kind, travel):
    problem = PROBLEMS[kind]
    assert problem.swapped() is not None
    r = solve(problem)
    again = solve(travel(problem))
    assert np.array_equal(r.x, again.x)
    kept = travel(r)
    assert np.array_equal(kept.x, r.x)
    assert kept.calls == r.calls
    assert np.array_equal(kept.history.gap_bound, r.history.gap_bound)
    assert str(kept) == str(r)

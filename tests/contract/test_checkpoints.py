"""Every method resumes from a checkpoint as if it had never been cut."""

import numpy as np
import pytest

import minmin
from contract.promises import assert_same_run
from minmin.problems import Quadratic
from reference import VARIANTS, as_function, random_glm


def problem_of(kind):
    if kind == "quadratic":
        return Quadratic.random(d_x=12, d_y=4, L_x=5.0, L_y=50.0, coupling=1.0)
    if kind == "glm":
        return random_glm(np.random.default_rng(5), sparse=True)
    return minmin.Sum([Quadratic.random(d_x=5, d_y=3, L_x=5.0, L_y=30.0, coupling=1.0, seed=s) for s in range(2)])


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", ["quadratic", "glm", "sum"])
def test_cut_anywhere_a_resumed_run_is_the_undisturbed_one(variant, kind, tmp_path):
    method, options = VARIANTS[variant]
    problem = problem_of(kind)
    whole = minmin.minimize(problem, method=method, tol=1e-8, **options)
    assert whole.success
    rng = np.random.default_rng(len(variant))
    file = tmp_path / "run.minmin"
    for cut in sorted(rng.integers(0, whole.calls["grad_y"], size=4).tolist()):
        part = minmin.minimize(problem, method=method, tol=1e-8, max_grad_y=cut, checkpoint=file, **options)
        assert part.status == "budget"
    resumed = minmin.minimize(problem, method=method, tol=1e-8, checkpoint=file, **options)
    assert_same_run(whole, resumed)
    finished = minmin.minimize(problem, method=method, tol=1e-8, checkpoint=file, **options)
    assert_same_run(whole, finished)


def test_a_target_and_callables_resume_too(tmp_path):
    problem = Quadratic.random(d_x=12, d_y=4, coupling=1.0)
    target = 0.9999 * 0.5 * float(problem.b @ np.linalg.solve(problem.H, -problem.b))
    arguments = {"method": "bam", "tol": 0, "target_value": target}
    whole = minmin.minimize(as_function(problem), **arguments)
    file = tmp_path / "run.minmin"
    assert minmin.minimize(as_function(problem), **arguments, max_grad_x=9, checkpoint=file).status == "budget"
    assert_same_run(whole, minmin.minimize(as_function(problem), **arguments, checkpoint=file))
    assert_same_run(whole, minmin.minimize(as_function(problem), **arguments, checkpoint=file))

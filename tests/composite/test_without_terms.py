"""A Composite without terms runs as the problem itself."""

import numpy as np
import pytest

import minmin
from contract.promises import assert_same_run
from minmin.problems import Composite, Quadratic
from reference import as_function, random_glm

PROBLEMS = {
    "quadratic": Quadratic.random(d_x=6, d_y=4, L_x=5.0, L_y=50.0, coupling=1.0),
    "linear model": random_glm(np.random.default_rng(5)),
    "callables": as_function(Quadratic.random(d_x=3, d_y=4, L_x=5.0, L_y=50.0, coupling=0.5)),
    "sum": minmin.Sum([Quadratic.random(d_x=4, d_y=2, L_x=5.0, L_y=30.0, coupling=1.0, seed=s) for s in range(2)]),
}
VARIANTS = (
    {"method": "reduced-lbfgs"},
    {"method": "reduced-lbfgs", "inner": "nag"},
    {"method": "reduced-lbfgs", "inner": "newton"},
    {"method": "bam"},
    {"method": "bam", "inner": "nag-ogmg"},
    {"method": "bam", "inner": "newton"},
    {"method": "bam", "outer": "y"},
    {"method": "bam", "outer": "auto"},
    {"method": "nag"},
    {"method": "nag", "rescale": True},
    {"method": "acdm"},
    {"method": "lincoupling"},
)


CASES = [(name, o) for name in PROBLEMS for o in VARIANTS if o.get("inner") != "newton" or name != "callables"]


@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda given: str(given))
def test_counts_and_bits_are_those_of_the_problem_itself(name, options):
    problem = PROBLEMS[name]
    alone = minmin.minimize(problem, tol=1e-8, **options)
    assert_same_run(alone, minmin.minimize(Composite(problem), tol=1e-8, **options))


def test_without_constants_too():
    known = PROBLEMS["callables"]
    f = minmin.problems.Function(known.value, known.grad_x, known.grad_y, d_x=known.d_x, d_y=known.d_y)
    assert_same_run(minmin.minimize(f, tol=1e-8), minmin.minimize(Composite(f), tol=1e-8))

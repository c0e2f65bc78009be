"""scikit-learn's own checks of estimators, none expected to fail, with and without its array API dispatch."""

import os
import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from minmin import estimators

pytestmark = pytest.mark.slow
EVERY = [getattr(estimators, name) for name in estimators.__all__ if name.startswith("Block")]
SINGLE = [kind for kind in EVERY if not kind.__name__.endswith("CV")]
LIKE_POISSON = ("BlockGammaRegressorCV", "BlockHuberRegressorCV", "BlockTweedieRegressorCV")
"""They differ from BlockPoissonRegressorCV by their loss alone, and their losses have classes that are checked."""


DISPATCH = "check_array_api_input"
"""Skips itself unless dispatch is on; it runs below."""
CHECKS = [
    (estimator, check)
    for kind in [*(kind() for kind in EVERY if kind.__name__ not in LIKE_POISSON), *(kind(cheap=()) for kind in SINGLE)]
    for estimator, check in estimator_checks_generator(kind)
    if check.func.__name__ != DISPATCH
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=lambda part: getattr(part, "func", type(part)).__name__)
def test_a_check_of_scikit_learn(estimator, check):
    check(estimator)


PROGRAM = """
import sys, unittest, warnings
from sklearn.utils.estimator_checks import estimator_checks_generator
from minmin import estimators

warnings.simplefilter("error")
failed, passed = [], []
names = [name for name in estimators.__all__ if name.startswith("Block")]
for name in names:
    for estimator, check in estimator_checks_generator(getattr(estimators, name)()):
        kind = check.func.__name__
        if kind != sys.argv[1] and name.endswith("CV"):
            continue
        try:
            check(estimator)
            passed.append((name, kind))
        except unittest.SkipTest:
            pass
        except Exception as error:
            failed.append(f"{name}: {kind}: {error!r}")
failed += [f"{name}: {sys.argv[1]} did not run" for name in names if (name, sys.argv[1]) not in passed]
sys.exit("\\n".join(failed) or 0)
"""


def test_checks_with_array_api_dispatch():
    """The check of dispatch for every estimator, all others for those without cross-validation, which the rest use."""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", PROGRAM, DISPATCH]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr

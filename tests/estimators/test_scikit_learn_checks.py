"""scikit-learn's own checks of estimators, none expected to fail, with and without its array API dispatch."""

import os
import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from minmin import estimators

EVERY = [getattr(estimators, name) for name in estimators.__all__]
SINGLE = [kind for kind in EVERY if not kind.__name__.endswith("CV")]


@parametrize_with_checks([*(kind() for kind in EVERY), *(kind(cheap=()) for kind in SINGLE)])
def test_a_check_of_scikit_learn(estimator, check):
    check(estimator)


PROGRAM = """
import sys, warnings
from sklearn.utils.estimator_checks import check_estimator
from minmin import estimators

warnings.simplefilter("error")
found = check_estimator(getattr(estimators, sys.argv[1])(), on_skip=None, on_fail=None)
failed = [f"{check['check_name']}: {check['exception']!r}" for check in found if check["status"] == "failed"]
ran = [check["check_name"] for check in found if check["status"] == "passed"]
assert "check_array_api_input" in ran, "the check of array API dispatch did not run"
sys.exit("\\n".join(failed) or 0)
"""


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_all_checks_with_array_api_dispatch(kind):
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", PROGRAM, kind.__name__]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr

"""scikit-learn's own checks of estimators, none expected to fail, with and without its array API dispatch."""

import os
import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from minmin import estimators

pytestmark = pytest.mark.slow
EVERY = [getattr(estimators, name) for name in estimators.__all__]
SINGLE = [kind for kind in EVERY if not kind.__name__.endswith("CV")]


DISPATCH = "check_array_api_input"
"""Skips itself unless dispatch is on; it runs below."""
CHECKS = [
    (estimator, check)
    for kind in [*(kind() for kind in EVERY), *(kind(cheap=()) for kind in SINGLE)]
    for estimator, check in estimator_checks_generator(kind)
    if check.func.__name__ != DISPATCH
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=lambda part: getattr(part, "func", type(part)).__name__)
def test_a_check_of_scikit_learn(estimator, check):
    check(estimator)


PROGRAM = """
import sys, warnings
from sklearn.utils.estimator_checks import check_estimator
from minmin import estimators

warnings.simplefilter("error")
failed = []
for name in estimators.__all__:
    found = check_estimator(getattr(estimators, name)(), on_skip=None, on_fail=None)
    failed += [f"{name}: {c['check_name']}: {c['exception']!r}" for c in found if c["status"] == "failed"]
    ran = [check["check_name"] for check in found if check["status"] == "passed"]
    assert "check_array_api_input" in ran, f"{name}: the check of array API dispatch did not run"
sys.exit("\\n".join(failed) or 0)
"""


def test_all_checks_with_array_api_dispatch():
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", PROGRAM]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr

"""What a user can do wrong, and what the message says."""

import subprocess
import sys

import pytest

import minmin
from minmin.extend import SolverError
from minmin.theory import lyapunov_rate, rate


@pytest.mark.parametrize("function", [rate, lyapunov_rate])
@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("bamm", {}, "unknown method 'bamm': did you mean 'bam'"),
        (None, {}, "unknown method None"),
        ("bam", {"kappa_x": 0.5}, "kappa_x = 0.5 must be at least 1"),
        ("bam", {"kappa_y": float("nan")}, "kappa_y = nan must be at least 1"),
        ("bam", {"kappa_y": "10"}, "kappa_y must be a number, got '10'"),
        ("nag", {"kappa_x": float("inf")}, "kappa_x must be finite: the theorem of 'nag'"),
        ("nag", {"kappa_y": 1e6}, "kappa_y = 1000000.0 is above 100000, where the solver's accuracy ends"),
        ("nag", {"exact": True}, "method 'nag' has no option 'exact': Known: rescale"),
        ("nag", {"rescale": 1}, "rescale must be True or False"),
        ("bam", {"exact": "yes"}, "exact must be True or False"),
        ("bam", {"eta_x_factor": 0}, "eta_x_factor = 0.0 must be positive and finite"),
        ("bam", {"condition_factor": "loose"}, "condition_factor must be a number"),
    ],
)
def test_a_wrong_argument_is_named(function, method, options, words):
    with pytest.raises(minmin.InputError) as caught:
        function(method, **{"kappa_x": 10, "kappa_y": 10, **options})
    assert words in str(caught.value)


@pytest.mark.parametrize("steps", [0, -1, 1.5, True])
def test_steps_are_a_whole_number_from_one_on(steps):
    with pytest.raises(minmin.InputError, match="steps = "):
        rate("bam", kappa_x=10, kappa_y=10, steps=steps)


def test_ogm_g_has_no_asymptotic_rate():
    with pytest.raises(minmin.UnsupportedError, match=r"'ogm-g' has no asymptotic rate.*use rate\(\)"):
        lyapunov_rate("ogm-g", kappa_x=10, kappa_y=10)


def test_a_method_that_diverges_has_no_lyapunov_function():
    with pytest.raises(SolverError, match="no quadratic Lyapunov function was found"):
        lyapunov_rate("bam", kappa_x=10, kappa_y=10, eta_x_factor=20.0)


def test_a_missing_package_is_an_error_that_names_the_extra():
    lines = [
        "import minmin, sys",
        "sys.modules['cvxpy'] = None",
        "try: minmin.theory",
        "except ImportError as error: print(error)",
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert 'minmin.theory needs PEPit and cvxpy; in the clone of minmin: pip install ".[theory]"' in done.stdout

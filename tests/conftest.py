"""Settings for every test, which worker runs it, and the list of hard cases at the end of a run."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy is loaded; workers that share the cores must not each take all
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job that a shell has put in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
TESTS = Path(__file__).parent
BENCHMARKS = TESTS.parent / "benchmarks"
sys.path[:0] = [str(TESTS), str(BENCHMARKS), str(BENCHMARKS / "two_block_glm")]

if sys.platform == "win32":
    collect_ignore = ["experiments/test_report.py", "federated/flower"]  # they end processes by signals of POSIX

settings.register_profile("minmin", deadline=None, derandomize=True, max_examples=50, print_blob=False)
settings.register_profile("quick", settings.get_profile("minmin"), max_examples=10)
settings.load_profile("minmin")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One more than cores where nothing is left out: the tests with the mark ``flower`` wait at times."""
    return None if config.option.markexpr else 1 + (os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Groups of our own: some pairs of pytest and pytest-xdist silently ignore the mark ``xdist_group``."""
    if config.getoption("dist") != "loadfile":
        return None
    from schedule import Files

    return Files(config, log)


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        from schedule import sort

        sort(items)


def pytest_terminal_summary(terminalreporter):
    cases = sorted(
        value
        for report in terminalreporter.stats.get("passed", [])
        for name, value in report.user_properties
        if name == "hard input"
    )
    if cases and terminalreporter.config.get_verbosity() >= 0:
        terminalreporter.section(f"{len(cases)} cases of hard input, and how each ended")
        for line in cases:
            terminalreporter.write_line(line)

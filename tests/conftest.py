"""Settings for every test, and the list of hard cases at the end of a run."""

import sys
from pathlib import Path

from hypothesis import settings

TESTS = Path(__file__).parent
BENCHMARKS = TESTS.parent / "benchmarks"
sys.path[:0] = [str(TESTS), str(BENCHMARKS), str(BENCHMARKS / "two_block_glm")]

settings.register_profile("minmin", deadline=None, derandomize=True, max_examples=50, print_blob=False)
settings.load_profile("minmin")


def pytest_terminal_summary(terminalreporter):
    cases = sorted(
        value
        for report in terminalreporter.stats.get("passed", [])
        for name, value in report.user_properties
        if name == "hard input"
    )
    if cases:
        terminalreporter.section(f"{len(cases)} cases of hard input, and how each ended")
        for line in cases:
            terminalreporter.write_line(line)

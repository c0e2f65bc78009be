"""The stopwatch of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """A stopwatch that can be stopped while a run is only observed."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def advance(self, seconds: float) -> None:
        """Add time that was spent before this stopwatch was started."""
        self._start -= seconds

    def elapsed(self) -> float:
        return time.perf_counter() - self._start

    @contextmanager
    def stopped(self) -> Iterator[None]:
        before = time.perf_counter()
        try:
            yield
        finally:
            self._start += time.perf_counter() - before

"""The stopwatch of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """A stopwatch that can be paused while a run is only observed."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def advance(self, seconds: float) -> None:
        """Add time that an earlier run has spent."""
        self._start -= seconds

    def elapsed(self) -> float:
        return time.perf_counter() - self._start

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Do not count the time inside a ``with`` block."""
        before = time.perf_counter()
        try:
            yield
        finally:
            self._start += time.perf_counter() - before

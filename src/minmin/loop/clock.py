"""The stopwatch of a run."""

from __future__ import annotations

import time


class Clock:
    """A stopwatch that can be paused while a run is only observed."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def advance(self, seconds: float) -> None:
        """Add time that an earlier run has spent."""
        self._start -= seconds

    def elapsed(self) -> float:
        return time.perf_counter() - self._start

    def pause(self) -> Pause:
        """Do not count the time inside a ``with`` block."""
        return Pause(self)


class Pause:
    """A ``with`` block whose time a clock does not count."""

    __slots__ = ("_clock", "_since")

    def __init__(self, clock: Clock):
        self._clock = clock

    def __enter__(self) -> None:
        self._since = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self._clock.advance(self._since - time.perf_counter())

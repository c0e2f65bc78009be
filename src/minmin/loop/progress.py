"""The stopwatch of a run, and the line on the terminal that shows how far it is."""

from __future__ import annotations

import math
import sys
import time

from minmin.result import Record


class Clock:
    """A stopwatch that can be paused while a run is only observed."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def advance(self, seconds: float) -> None:
        """Add time that an earlier run has spent."""
        self._start -= seconds

    def elapsed(self) -> float:
        return time.perf_counter() - self._start

    def pause(self) -> Clock:
        """Do not count the time inside a ``with`` block; such blocks are not nested."""
        return self

    def __enter__(self) -> None:
        self._since = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self.advance(self._since - time.perf_counter())


_LIVE_SECONDS, _LOG_SECONDS = 0.2, 10.0
"""The time between two lines: as fast as one can read on a terminal, and slow enough for a log file."""


class Progress:
    """Rewrites a line on a terminal five times per second; elsewhere prints one every ten seconds."""

    def __init__(self, method: str):
        self._method = method
        self._stream = sys.stderr
        self._live = self._stream.isatty()
        self._interval = _LIVE_SECONDS if self._live else _LOG_SECONDS
        self._next = time.perf_counter()

    def show(self, record: Record, *, last: bool = False) -> None:
        now = time.perf_counter()
        if now < self._next and not last:
            return
        self._next = now + self._interval
        relation = "≤" if record.bound.is_proved else "≈"
        gap = f"gap {relation} {record.gap_bound:.2g}" if math.isfinite(record.gap_bound) else "gap not known"
        line = (
            f"{self._method}  ∇x {record.grad_x}  ∇y {record.grad_y}  f {record.value:.6g}  {gap}  "
            f"{record.seconds:.1f} s"
        )
        if self._live:
            self._stream.write(f"\r\x1b[K{line}" + ("\n" if last else ""))
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

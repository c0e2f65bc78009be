"""Stops a computation that takes too much processor time."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_INTERVAL = 0.02
"""Seconds between two looks at the clock. A timer of processor time would make that clock coarse (4 ms on Linux)."""


@contextmanager
def limit_seconds(seconds: float) -> Iterator[None]:
    """Raise TimeoutError when the block has used that much processor time; compiled code ends its call first."""
    end = time.process_time() + seconds

    def stop_late(number: int, frame: FrameType | None) -> None:
        if time.process_time() > end:
            raise TimeoutError

    def report(unraisable: Any) -> None:
        """Ignore the exception where it cannot stop anything, as in a callback of C code; the next one may."""
        if not isinstance(unraisable.exc_value, TimeoutError):
            sys.__unraisablehook__(unraisable)

    before, sys.unraisablehook = signal.signal(signal.SIGALRM, stop_late), report
    signal.setitimer(signal.ITIMER_REAL, _INTERVAL, _INTERVAL)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = sys.__unraisablehook__

"""Stops a computation that takes too much processor time."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_AGAIN = 0.2
"""The signal comes again after these seconds: an exception in a destructor or in a callback of C code is ignored."""


@contextmanager
def limit_seconds(seconds: float) -> Iterator[None]:
    """Raise TimeoutError when the block has used that much processor time; compiled code ends its call first."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    def report(unraisable: Any) -> None:
        if not isinstance(unraisable.exc_value, TimeoutError):
            sys.__unraisablehook__(unraisable)

    before, sys.unraisablehook = signal.signal(signal.SIGPROF, stop), report
    signal.setitimer(signal.ITIMER_PROF, min(seconds, 1e6), _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
        sys.unraisablehook = sys.__unraisablehook__

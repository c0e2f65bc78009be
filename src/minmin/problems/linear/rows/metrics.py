"""The columns that rows on a cluster add to the history of a run."""

from __future__ import annotations

import time
from typing import Any

from minmin.problems.linear.rows.session import RowSession


class RowMetrics:
    """What travelled since the start of a run, and the time that it took.

    ``worker_seconds`` is the work of the worker that took longest, summed over exchanges; ``waiting`` is the share of
    the run in which the driver waited for messages, not for that work.
    """

    def __init__(self, session: RowSession):
        self._session = session
        self._before = session.traffic
        self._start = time.perf_counter()

    def update(self, x: Any) -> None:
        """Nothing has to be measured."""

    def read(self) -> dict[str, float]:
        since = [now - before for now, before in zip(self._session.traffic, self._before, strict=True)]
        exchanges, bytes_sent, bytes_received, seconds, busy_seconds = since
        passed = time.perf_counter() - self._start
        return {
            "exchanges": exchanges,
            "bytes_sent": bytes_sent,
            "bytes_received": bytes_received,
            "exchange_seconds": seconds,
            "worker_seconds": busy_seconds,
            "waiting": max(seconds - busy_seconds, 0.0) / passed if passed > 0.0 else 0.0,
        }

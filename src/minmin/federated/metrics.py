"""When the clients' metrics are asked for, and the newest numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minmin.core.arrays import Array
from minmin.federated.protocol import Description, Measures
from minmin.federated.session import Session


class FederationMetrics:
    """The columns that a federation adds to the history: its traffic, and the clients' metrics.

    Metrics are asked for at the start and then every so many rounds; never where ``every`` is 0.
    """

    def __init__(self, session: Session, descriptions: Sequence[Description], every: int):
        names = [name for description in descriptions for name in description.measured] if every else []
        self._newest = dict.fromkeys(names, (math.nan,) * len(descriptions))
        self._session = session
        self._every = every
        self._due = 0

    @property
    def names(self) -> list[str]:
        """Of the clients' metrics."""
        return list(self._newest)

    def update(self, x: Array) -> None:
        """Ask for the metrics at x and the current y_i, unless the last answers are recent enough."""
        if not self._newest or self._session.rounds < self._due:
            return
        told = tabulate(self._session.measure(x))
        self._newest = {name: told.get(name, values) for name, values in self._newest.items()}
        self._due = self._session.rounds + self._every

    def read(self) -> dict[str, Any]:
        """The newest numbers; by metric, one per client, NaN where a client has none, or none yet."""
        traffic = self._session.traffic
        return {
            "bytes_up": traffic.bytes_up,
            "bytes_down": traffic.bytes_down,
            "client_seconds": traffic.client_seconds,
            **self._newest,
        }


def tabulate(answers: Sequence[Measures]) -> dict[str, tuple[float, ...]]:
    """By metric, one number per client; NaN where it has none of that name."""
    names = dict.fromkeys(name for answer in answers for name in answer.metrics)
    return {name: tuple(answer.metrics.get(name, math.nan) for answer in answers) for name in names}

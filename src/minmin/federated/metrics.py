"""The columns that a federation adds to the history of a run: traffic, and the clients' metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minmin.core.arrays import Array
from minmin.federated.protocol import Description, Measures
from minmin.federated.session import Session


class FederationMetrics:
    """Traffic and the newest metrics of the clients.

    Metrics are asked for at the start and then after each ``every`` rounds; never if ``every`` is 0.
    """

    def __init__(self, session: Session, descriptions: Sequence[Description], every: int):
        names = [name for description in descriptions for name in description.measured] if every else []
        self._newest = dict.fromkeys(names, (math.nan,) * len(descriptions))
        self._session = session
        self._every = every
        self._due = 0

    @property
    def names(self) -> list[str]:
        """The names of the clients' metrics."""
        return list(self._newest)

    def update(self, x: Array) -> None:
        """Ask for the metrics at x and the current y_i, unless the newest ones are recent enough."""
        if not self._newest or self._session.rounds < self._due:
            return
        measures = tabulate(self._session.measure(x))
        self._newest = {name: measures.get(name, values) for name, values in self._newest.items()}
        self._due = self._session.rounds + self._every

    def read(self) -> dict[str, Any]:
        """The traffic, and for each metric one number per client: the newest, or NaN if there is none."""
        down, up, seconds = self._session.traffic
        traffic = {"bytes_up": up, "bytes_down": down, "client_seconds": seconds}
        return {**traffic, **self._newest, **traffic}  # no metric takes the place of these


def tabulate(replies: Sequence[Measures]) -> dict[str, tuple[float, ...]]:
    """For each metric, one number per client; NaN for a client without a metric of that name."""
    names = dict.fromkeys(name for reply in replies for name in reply.metrics)
    return {name: tuple(reply.metrics.get(name, math.nan) for reply in replies) for name in names}

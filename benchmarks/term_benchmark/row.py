"""Row: what every contestant takes on one instance."""

from __future__ import annotations

from typing import NamedTuple

from term_benchmark.contestants import count_certified, count_ours, count_peers
from term_benchmark.instances import Instance
from term_benchmark.minimum import GAP, find_minimum
from term_benchmark.race import Count


class Row(NamedTuple):
    instance: Instance
    ours: Count
    certified: Count
    peers: dict[str, Count]


def measure(instance: Instance) -> Row:
    minimum = find_minimum(instance)
    tol = GAP * (instance.value(instance.start) - minimum)
    ours = count_ours(instance, minimum + tol)
    certified = count_certified(instance, tol)
    return Row(instance, ours, certified, count_peers(instance, minimum + tol, ours.calls))

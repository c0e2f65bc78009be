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
    target = minimum + tol
    return Row(instance, count_ours(instance, target), count_certified(instance, tol), count_peers(instance, target))

"""LocalEngine: all groups of rows in this process."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Sequence

from minmin.problems.linear.rows.group import Batch, Partition, RowGroup
from minmin.problems.linear.rows.session import RowSession


class LocalEngine:
    """Calls groups in this process, one after the other.

    Parameters
    ----------
    groups : sequence of sequences of Partition
    """

    def __init__(self, groups: Sequence[Sequence[Partition]]):
        self.groups = [RowGroup(number, *partitions) for number, partitions in enumerate(groups)]
        self._partitions = groups

    @property
    def numbers(self) -> range:
        return range(len(self.groups))

    def pickle(self, batch: Batch) -> bytes:
        return pickle.dumps(batch, protocol=5)

    def call(self, numbers: Collection[int], payload: bytes) -> dict[int, bytes]:
        return {number: self.groups[number].execute(payload) for number in numbers}

    def restore(self, number: int) -> None:
        self.groups[number] = RowGroup(number, *self._partitions[number])


def open_here(partitions: Sequence[Partition]) -> RowSession:
    """Partitions in this process as one group of rows."""
    engine = LocalEngine([partitions])
    return RowSession(engine, [engine.groups[0].sizes], range(len(partitions)))

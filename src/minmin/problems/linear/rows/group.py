"""RowGroup: some partitions of the rows, and all values that belong to them. It lives where the rows are."""

from __future__ import annotations

import hashlib
import pickle
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.errors import InputError, MinMinError


class Partition(NamedTuple):
    """Some rows, checked.

    Attributes
    ----------
    matrices : dict of arrays, CSR arrays, or objects with a function ``stack``
        float32 or float64; the designs are made of their columns. ``stack`` puts several such objects one above the
        other, with which they are more than numbers, such as codes of categories.
    columns : dict of arrays
        What else is known of every row, such as "target".
    number : int
        What errors call it.
    """

    matrices: dict[str, Any]
    columns: dict[str, np.ndarray[Any, Any]]
    number: int = 0

    @property
    def rows(self) -> int:
        return int(next(iter(self.matrices.values())).shape[0])


class Ref(NamedTuple):
    """Stands for a value of the group."""

    token: int | str


class PerGroup(NamedTuple):
    """An argument that differs between groups: one per group."""

    values: list[Any]


class RowCount:
    """Stands for the number of rows of the group."""


class Batch(NamedTuple):
    """What a group is asked to do, in this order.

    Attributes
    ----------
    steps : list
        (token, function, args) computes a value, and (token, None, ()) forgets one.
    first : int
        The number of the first step. A group skips steps that it has done: a batch may arrive again after an
        interruption.
    wanted : list
        (function, args) for every result to send back.
    is_catch_up : bool
        Whether the steps are those of a new group, which takes the place of one that had done ``first`` steps.
    """

    steps: list[tuple[Any, ...]]
    first: int
    wanted: Sequence[tuple[Any, ...]] = ()
    is_catch_up: bool = False


class Reply(NamedTuple):
    """The results, or the error that ended the batch, and the time that was spent on it."""

    results: list[Any]
    error: Exception | None
    seconds: float


class _Failure(NamedTuple):
    """In place of a value that could not be computed; the error is raised by all that needs the value."""

    error: Exception


class RowGroup:
    """Partitions of the rows, which are asked for sums.

    Parameters
    ----------
    number : int
        The number of this group.
    partitions : sequence of Partition
        In the order of the rows.
    """

    def __init__(self, number: int, *partitions: Partition):
        self._number = number
        self.sizes = [partition.rows for partition in partitions]
        self._rows = sum(self.sizes)
        self._steps_done = 0
        numbers = [partition.number for partition in partitions]
        self._values: dict[int | str, Any] = {"sizes": self.sizes, "numbers": numbers}
        for name, first in partitions[0].matrices.items():
            stack = getattr(first, "stack", PartitionedMatrix)
            self._values[name] = stack([partition.matrices[name] for partition in partitions])
        for name in partitions[0].columns:
            self._values[name] = np.concatenate([partition.columns[name] for partition in partitions])

    def execute(self, payload: bytes) -> bytes:
        """Work on a pickled :class:`Batch`, and return a pickled :class:`Reply`."""
        start = time.perf_counter()
        results, error = [], None
        try:
            batch = _unpickle(payload)
            with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
                self._work(batch)
                results = [function(*self._resolve(args)) for function, args in batch.wanted]
        except Exception as raised:
            error = raised if isinstance(raised, MinMinError) else RuntimeError(f"{type(raised).__name__}: {raised}")
        return pickle.dumps(Reply(results, error, time.perf_counter() - start), protocol=5)

    def _work(self, batch: Batch) -> None:
        if batch.is_catch_up:
            for step in batch.steps:
                self._do(*step)
            self._steps_done = batch.first
            return
        for step in batch.steps[self._steps_done - batch.first :]:
            self._do(*step)
            self._steps_done += 1

    def _do(self, token: int | str, function: Any, args: Any) -> None:
        if function is None:
            del self._values[token]
            return
        try:
            self._values[token] = function(*self._resolve(args))
        except Exception as error:  # of a value that nobody may ask for
            self._values[token] = _Failure(error.with_traceback(None))

    def _resolve(self, args: Any) -> tuple[Any, ...]:
        return tuple(self._resolve_one(arg) for arg in args)

    def _resolve_one(self, arg: Any) -> Any:
        if isinstance(arg, Ref):
            value = self._values[arg.token]
            if isinstance(value, _Failure):
                raise value.error.with_traceback(None)  # or each time would add to its traceback
            return value
        if isinstance(arg, PerGroup):
            return arg.values[self._number]
        if arg is RowCount:
            return self._rows
        return self._resolve(arg) if type(arg) is tuple else arg


class LocalRowEngine:
    """All groups of rows in this process, called one after the other.

    Parameters
    ----------
    groups : sequence of sequences of Partition
    """

    def __init__(self, groups: Sequence[Sequence[Partition]]):
        self.groups = [RowGroup(number, *partitions) for number, partitions in enumerate(groups)]
        self._partitions, self.numbers = groups, range(len(groups))

    def pickle(self, batch: Batch) -> bytes:
        return pickle.dumps(batch, protocol=5)

    def call(self, numbers: Collection[int], payload: bytes) -> dict[int, bytes]:
        return {number: self.groups[number].execute(payload) for number in numbers}

    def restore(self, number: int) -> None:
        self.groups[number] = RowGroup(number, *self._partitions[number])


def _unpickle(payload: bytes) -> Batch:
    try:
        batch: Batch = pickle.loads(payload)
    except (AttributeError, ImportError) as error:
        raise InputError(
            f"the workers cannot load what a run needs: {error}; install that module there, or define the loss in the "
            "script that is run"
        ) from None
    return batch


def digest(arrays: Iterable[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """A fingerprint of arrays."""
    state = hashlib.sha256()
    for array in arrays:
        state.update(f"{array.dtype} {array.shape}".encode())
        state.update(np.ascontiguousarray(array).data)
    return np.frombuffer(state.digest(), dtype=np.uint8)

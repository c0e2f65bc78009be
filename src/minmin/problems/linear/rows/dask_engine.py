"""DaskEngine: every worker of a Dask cluster holds a group of rows, and is asked once per exchange."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from concurrent.futures import CancelledError
from typing import Any

import cloudpickle
from distributed import Client, Future, KilledWorker, wait
from distributed.actor import ProxyRPC
from distributed.protocol import to_serialize

from minmin.errors import DataLostError
from minmin.problems.linear.rows.group import Batch, RowGroup
from minmin.problems.linear.rows.session import RowSession

_LOOK_SECONDS = 2.0
"""How often the scheduler is asked whether a worker that has not answered yet is still there."""
_DIRECT_SECONDS = 5.0
"""How long to wait for a direct connection to a worker; without one, messages go through the scheduler."""
_PATIENCE_SECONDS = 60.0
"""How long to wait for a new worker if none is left. A nanny takes some seconds to start one."""

_GONE = "the Dask cluster is gone: {}; start it again, and fit again"


class DaskEngine:
    """Reaches the groups of rows on a cluster.

    Parameters
    ----------
    client : distributed.Client
    groups : sequence of sequences of Future
        The partitions of every group, computed and kept by the cluster. If a worker is lost, Dask computes its
        partitions again.
    places : sequence of str
        The address of the worker that has the partitions of every group.
    """

    def __init__(self, client: Client, groups: Sequence[Sequence[Future]], places: Sequence[str]):
        self._client = client
        self._groups, self.numbers = groups, range(len(groups))
        self._actors: list[Future] = [
            self._start(number, workers=[place], allow_other_workers=True) for number, place in enumerate(places)
        ]
        self._connections = [self._connect(number) for number in self.numbers]

    def pickle(self, batch: Batch) -> bytes:
        payload: bytes = cloudpickle.dumps(batch)  # which can also pickle a loss that is defined in a script
        return payload

    def call(self, numbers: Collection[int], payload: bytes) -> dict[int, bytes]:
        try:
            replies = self._client.sync(self._call, list(numbers), payload)
        except (OSError, RuntimeError, ValueError) as error:  # the last two: connections were closed
            raise DataLostError(_GONE.format(error)) from error
        return {number: reply for number, reply in zip(numbers, replies, strict=True) if reply is not None}

    def restore(self, number: int) -> None:
        self._actors[number] = self._start(number)
        self._connections[number] = self._connect(number)

    def _start(self, number: int, **options: Any) -> Future:
        return self._client.submit(RowGroup, number, *self._groups[number], actor=True, pure=False, **options)

    def _connect(self, number: int) -> tuple[str, Any]:
        """The address of a group, and a connection to its worker."""
        watch = _WorkerWatch(self._client)
        while True:
            try:
                self._actors[number].result(timeout=_LOOK_SECONDS)
                (holders,) = self._client.who_has([self._actors[number]]).values()
                if holders:
                    return holders[0], self._client.sync(self._reach, holders[0])
                self._actors[number] = self._start(number)  # its worker died before it could be asked
            except TimeoutError:
                watch.require_some()
            except (Exception, CancelledError) as error:  # whatever computing the rows again may raise
                for future in [*self._actors, *(one for group in self._groups for one in group)]:
                    future.release()
                raise DataLostError(
                    f"a worker is gone, and Dask cannot compute its rows again: {error}; give collections that "
                    "Dask can compute from files, not scattered data"
                ) from error

    async def _reach(self, address: str) -> Any:
        """A direct connection to a worker, or one through the scheduler if the worker cannot be reached from here."""
        direct = self._client.rpc(address)
        try:
            await asyncio.wait_for(direct.identity(), _DIRECT_SECONDS)
        except (OSError, TimeoutError):
            return ProxyRPC(self._client.scheduler, address)
        return direct

    async def _call(self, numbers: list[int], payload: bytes) -> list[bytes | None]:
        return await asyncio.gather(*(self._call_one(number, payload) for number in numbers))

    async def _call_one(self, number: int, payload: bytes) -> bytes | None:
        """The reply of a group; None if its worker is lost."""
        address, connection = self._connections[number]
        args: dict[str, Any] = {"args": [to_serialize(payload)], "kwargs": {}}
        call = asyncio.ensure_future(
            connection.actor_execute(function="execute", actor=self._actors[number].key, **args)
        )
        while not (await asyncio.wait([call], timeout=_LOOK_SECONDS))[0]:
            if address not in await _list_workers(self._client):
                call.cancel()
                return None
        try:
            reply = call.result()
        except (OSError, KeyError):  # KeyError: a new worker at the same address knows no such group
            return None
        finally:
            del call  # its exception refers to this frame, which would keep the rows at their workers
        if reply["status"] != "OK":
            return None
        result: bytes = reply["result"]
        return result


class _WorkerWatch:
    """Watches whether a cluster has workers."""

    def __init__(self, client: Client):
        self._client = client
        self._last_seen = time.monotonic()

    def require_some(self) -> None:
        """Raise if there has been no worker for too long."""
        try:
            workers = self._client.sync(_list_workers, self._client)
        except OSError as error:
            raise DataLostError(_GONE.format(error)) from error
        if workers:
            self._last_seen = time.monotonic()
        elif time.monotonic() - self._last_seen > _PATIENCE_SECONDS:
            raise DataLostError(_GONE.format("no worker is left"))


async def _list_workers(client: Client) -> dict[str, Any]:
    identity = await client.scheduler.identity()
    workers: dict[str, Any] = identity["workers"]
    return workers


def gather_patiently(client: Client, futures: Sequence[Future]) -> list[Any]:
    """The results of futures, which are released, or an error if all workers are gone."""
    watch = _WorkerWatch(client)
    try:
        while not _are_done(futures):
            watch.require_some()
        results: list[Any] = client.gather(list(futures))
    except (CancelledError, KilledWorker) as error:
        raise DataLostError(
            "the cluster has lost the data before they were loaded; give collections that Dask can compute, of the "
            "current client, not data that were scattered or are held by another client"
        ) from error
    finally:
        for future in futures:
            future.release()
    return results


def _are_done(futures: Sequence[Future]) -> bool:
    """Whether all are done; it waits for them a little."""
    try:
        wait(futures, timeout=_LOOK_SECONDS)
    except TimeoutError:
        return False
    return True


def open_on_cluster(client: Client, partitions: Sequence[Future], sizes: Sequence[int]) -> RowSession:
    """Partitions that a cluster has computed, as one group of rows per worker."""
    where = client.who_has(list(partitions))
    by_worker: dict[str, list[int]] = {}
    for number, partition in enumerate(partitions):
        holders = where[partition.key] or list(by_worker)  # a partition may have been lost just now
        by_worker.setdefault(holders[0] if holders else "", []).append(number)
    engine = DaskEngine(client, [[partitions[i] for i in group] for group in by_worker.values()], list(by_worker))
    order = [number for group in by_worker.values() for number in group]
    return RowSession(engine, [[sizes[i] for i in group] for group in by_worker.values()], order)

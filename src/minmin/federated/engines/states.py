"""Moves clients' states to folders before their clients go to other processes, and back afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path

from minmin.federated.client import Client
from minmin.federated.store import FolderStore, MemoryStore


def move_to_folders(folder: Path, clients: Sequence[Client]) -> list[Client]:
    """Copy the clients. One that keeps its state in memory gets a folder below ``folder``, to survive its process."""
    copies = [copy(client) for client in clients]
    for number, client in enumerate(copies):
        if isinstance(client.store, MemoryStore):
            memory, client.store = client.store, FolderStore(folder / str(number))
            if (run := memory.newest()) is not None and (state := memory.load(run, client.y0)) is not None:
                client.store.save(run, state)
    return copies


def copy_states_back(clients: Sequence[Client], copies: Sequence[Client]) -> None:
    """Store the newest state of every copy in its original client."""
    for original, client in zip(clients, copies, strict=True):
        if client.store is not original.store and (run := client.store.newest()) is not None:
            state = client.store.load(run, client.y0)
            assert state is not None
            original.store.save(run, state)

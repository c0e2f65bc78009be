"""Clients that go to other processes, and their states, which come back."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path

from minmin.federated.client import Client
from minmin.federated.store import FolderStore, MemoryStore


def move_to_folders(folder: Path, clients: Sequence[Client]) -> list[Client]:
    """Copies of the clients; one that kept its state in memory keeps it below ``folder``, to survive its process."""
    copies = [copy(client) for client in clients]
    for number, client in enumerate(copies):
        if isinstance(client.store, MemoryStore):
            memory, client.store = client.store, FolderStore(folder / str(number))
            if (run := memory.newest()) is not None and (kept := memory.load(run, client.y0)) is not None:
                client.store.save(run, kept)
    return copies


def hand_back(clients: Sequence[Client], copies: Sequence[Client]) -> None:
    """Give every client the newest state of its copy."""
    for original, client in zip(clients, copies, strict=True):
        if client.store is not original.store and (run := client.store.newest()) is not None:
            kept = client.store.load(run, client.y0)
            assert kept is not None
            original.store.save(run, kept)

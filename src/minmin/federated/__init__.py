"""Federated minimisation: the clients share x, and each keeps its data and its y_i private."""

from typing import Any

from minmin.deprecation import warn_renamed
from minmin.federated.client import Client
from minmin.federated.clip_and_noise import ClipAndNoise
from minmin.federated.engines import Engine, FlowerEngine, LocalEngine, ProcessEngine
from minmin.federated.layout import Layout
from minmin.federated.protocol import Envelope
from minmin.federated.run import evaluate, names, run
from minmin.federated.session import ClientError
from minmin.federated.store import FolderStore, MemoryStore, StateStore
from minmin.federated.tasks import ClientTask, Outcome

__all__ = [
    "Client",
    "ClientError",
    "ClientTask",
    "ClipAndNoise",
    "Engine",
    "Envelope",
    "FlowerEngine",
    "FolderStore",
    "Layout",
    "LocalEngine",
    "MemoryStore",
    "Outcome",
    "ProcessEngine",
    "StateStore",
    "evaluate",
    "names",
    "run",
]

__dir__ = __all__.copy  # dir() lists public names only


def __getattr__(name: str) -> Any:
    if name == "Blur":
        warn_renamed("minmin.federated.Blur", "ClipAndNoise", stacklevel=2)
        return ClipAndNoise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

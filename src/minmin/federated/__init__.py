"""Federated minimisation: the clients share x, and each keeps its data and its y_i private."""

from minmin.deprecation import names_elsewhere
from minmin.federated.client import Client
from minmin.federated.clip_and_noise import ClipAndNoise
from minmin.federated.engines import FlowerEngine, LocalEngine, ProcessEngine
from minmin.federated.layout import Layout
from minmin.federated.run import evaluate, names, run
from minmin.federated.session import ClientError
from minmin.federated.store import FolderStore, MemoryStore

__all__ = [
    "Client",
    "ClientError",
    "ClipAndNoise",
    "FlowerEngine",
    "FolderStore",
    "Layout",
    "LocalEngine",
    "MemoryStore",
    "ProcessEngine",
    "evaluate",
    "names",
    "run",
]

__dir__ = __all__.copy  # dir() lists public names only
__getattr__ = names_elsewhere(
    __name__,
    in_extend=["ClientTask", "Engine", "Envelope", "Outcome", "StateStore"],
    renamed={"Blur": "minmin.federated:ClipAndNoise"},
)

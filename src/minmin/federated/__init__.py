"""One shared x, private y_i: minimise over clients whose data and y_i never leave them."""

from minmin.federated.blur import Blur
from minmin.federated.client import Client
from minmin.federated.engines import Engine, FlowerEngine, LocalEngine, ProcessEngine
from minmin.federated.evaluation import evaluate
from minmin.federated.layout import Layout
from minmin.federated.run import names, run
from minmin.federated.server import ClientError
from minmin.federated.store import FolderStore, MemoryStore, StateStore

__all__ = [
    "Blur",
    "Client",
    "ClientError",
    "Engine",
    "FlowerEngine",
    "FolderStore",
    "Layout",
    "LocalEngine",
    "MemoryStore",
    "ProcessEngine",
    "StateStore",
    "evaluate",
    "names",
    "run",
]

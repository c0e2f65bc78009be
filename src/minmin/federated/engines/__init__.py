"""Engines: how requests reach the clients, and how their replies come back."""

from collections.abc import Callable, Sequence

from minmin.federated.client import Client
from minmin.federated.engines.base import Engine, LocalEngine
from minmin.federated.engines.flower import FlowerEngine
from minmin.federated.engines.processes import ProcessEngine

__all__ = ["ENGINES", "Engine", "FlowerEngine", "LocalEngine", "ProcessEngine"]

ENGINES: dict[str, Callable[[Sequence[Client]], Engine]] = {
    "flower": FlowerEngine,
    "local": LocalEngine,
    "processes": ProcessEngine,
}

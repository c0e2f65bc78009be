"""How messages reach clients and replies come back."""

from minmin.federated.engines.base import Engine
from minmin.federated.engines.local import LocalEngine
from minmin.federated.engines.processes import ProcessEngine

__all__ = ["ENGINES", "Engine", "LocalEngine", "ProcessEngine"]

ENGINES: dict[str, type[Engine]] = {"local": LocalEngine, "processes": ProcessEngine}

"""Federations on Flower.

``GridEngine`` is an engine for a ServerApp; ``client_app`` builds a ClientApp. For a run on this machine alone, use
``run(clients, engine="flower")`` instead.
"""

from minmin.errors import needs_extra

try:
    import flwr  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(needs_extra("minmin.federated.flower", "flwr", "flower")) from error

from minmin.federated.flower.client import client_app, client_id
from minmin.federated.flower.grid import GridEngine

__all__ = ["GridEngine", "client_app", "client_id"]

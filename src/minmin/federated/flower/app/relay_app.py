"""The module that Flower loads; its code is in the installed package."""

from minmin.federated.flower.relay import client_app, server_app

__all__ = ["client_app", "server_app"]

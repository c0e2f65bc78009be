"""The half that runs in a hospital: its data, and its y, which is kept in a folder there."""

from __future__ import annotations

from pathlib import Path

from flwr.app import Context

from hospitals.data import problem
from minmin.federated import Client, FolderStore
from minmin.federated.flower import client_app, client_id


def hospital(context: Context) -> Client:
    own, patients = problem(int(context.node_config["partition-id"]))
    states = context.node_config.get("states", context.run_config["states"])
    return Client(own, weight=patients, store=FolderStore(Path(str(states)).expanduser() / client_id(context)))


app = client_app(hospital)

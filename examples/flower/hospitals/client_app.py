"""The client, which runs in a hospital: its data, and its y_i, which is kept in a folder there."""

from __future__ import annotations

from pathlib import Path

from flwr.app import Context

from hospitals.data import problem
from minmin.federated import Client, FolderStore
from minmin.federated.flower import client_app, client_id


def hospital(context: Context) -> Client:
    local_problem, patients = problem(int(context.node_config["partition-id"]))
    states = Path(str(context.node_config.get("states", context.run_config["states"]))).expanduser()
    return Client(local_problem, weight=patients, store=FolderStore(states / client_id(context)))


app = client_app(hospital)

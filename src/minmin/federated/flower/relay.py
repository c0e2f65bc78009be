"""The apps of FlowerEngine: a ServerApp that relays messages from a socket, a ClientApp that loads a pickled client."""

from __future__ import annotations

import pickle
from multiprocessing import connection
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from minmin.federated.client import Client
from minmin.federated.engines.flower_wire import client_path, read_requests, socket_path, write_replies
from minmin.federated.flower.client import client_app as build_client_app
from minmin.federated.flower.client import client_id
from minmin.federated.flower.grid import GridEngine

server_app = ServerApp()


@server_app.main()
def relay(grid: Grid, context: Context) -> None:
    """Relay messages until the engine closes the socket."""
    folder, clients = Path(str(context.run_config["folder"])), int(context.run_config["clients"])
    engine = GridEngine(grid, clients)
    with connection.Client(str(socket_path(folder)), "AF_UNIX") as engine_side:
        try:
            while True:
                requests, timeout = read_requests(engine_side)
                write_replies(engine_side, engine.exchange(requests, timeout))
        except EOFError:
            return


def _load(context: Context) -> Client:
    path = client_path(Path(str(context.run_config["folder"])), int(client_id(context)))
    client: Client = pickle.loads(path.read_bytes())
    return client


client_app = build_client_app(_load)

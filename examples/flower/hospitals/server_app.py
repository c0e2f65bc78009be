"""The server: it sees x, gradients in x and a few numbers, but no data and no y_i."""

from __future__ import annotations

from typing import Any

import numpy as np
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from minmin import federated
from minmin.federated.flower import GridEngine

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    config: dict[str, Any] = dict(context.run_config)
    count = config["clients"]
    r = federated.run(
        count,
        config["method"],
        engine=GridEngine(grid, count),
        tol=config["tol"],
        rounds=config["rounds"],
        timeout=config["timeout"],
        retries=config["retries"],
        checkpoint=config["checkpoint"] or None,
        callback=lambda record: print(f"round {record.grad_x}: f = {record.value:.9g}", flush=True),
    )
    print(r, flush=True)
    if config["result"]:
        np.savez(config["result"], x=r.x, fun=r.fun, gap_bound=r.gap_bound, rounds=r.calls["grad_x"], status=r.status)

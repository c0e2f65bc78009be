"""Rounds and seconds to a relative gap of 1e-6 on Flower: the rows of a9a over clients, by simulation or deployment.

The relative gap is (f - f*)/(f(0) - f*). The same run in one process shows which rounds to expect. With the argument
"local", Federated Reconstruction runs in one process, too, with one and with five local steps; multiply its rounds by
the seconds per round to compare.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import minmin
from minmin import extend, federated
from minmin.experiments.clients import clients_of_a9a, data_name
from minmin.extend import make_start
from report import print_machine

GAP = 1e-6
LOCAL_ROUNDS = 2000


def build_clients(problem: minmin.Sum) -> list[federated.Client]:
    return [federated.Client(term, weight) for term, weight in zip(problem.terms, problem.weights, strict=True)]


class Watch:
    """Stops a run at the target, and records when each round ended."""

    def __init__(self, target: float):
        self.target, self.times, self.rounds = target, list[float](), math.inf

    def __call__(self, record: minmin.result.Record) -> bool:
        self.times.append(time.perf_counter())
        if record.value <= self.target:
            self.rounds = record.grad_x
        return record.value <= self.target


def run(clients: list[federated.Client], target: float, rounds: int, **options: Any) -> tuple[Watch, minmin.Result]:
    watch = Watch(target)
    return watch, federated.run(clients, tol=0.0, rounds=rounds, callback=watch, **options)


def start_engine(make: Callable[[], extend.Engine]) -> tuple[float, extend.Engine]:
    """The seconds that an engine takes to start, and the engine."""
    started = time.perf_counter()
    engine = make()
    return time.perf_counter() - started, engine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runtime", choices=["local", "simulation", "deployment"])
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--a9a", type=Path, help="that file; without it, rows like its own are generated")
    arguments = parser.parse_args()
    print_machine("flwr", "ray")
    problem = clients_of_a9a(0, arguments.clients, arguments.a9a)
    assert isinstance(problem, minmin.Sum)
    lowest = minmin.minimize(problem, tol=1e-11).fun
    first = problem.fix(np.zeros(problem.d_x)).at(make_start(problem)[1]).value
    target = lowest + GAP * (first - lowest)
    watch, same = run(build_clients(problem), target, 100)
    where = f"{data_name(arguments.a9a)}, {arguments.clients} clients, {os.cpu_count()} cores"
    print(f"{where}; in one process {watch.rounds} rounds", flush=True)
    if arguments.runtime == "local":
        for steps in (1, 5):
            for size in (1.0, 2.0):
                options = {"method": "fedrecon", "local_steps": steps, "step_size": size, "certify_every": 0}
                watch, end = run(build_clients(problem), target, LOCAL_ROUNDS, **options)
                left = (end.fun - lowest) / (first - lowest)
                print(
                    f"  fedrecon, {steps} local steps of {size}/L: {watch.rounds} rounds, last gap {left:.1e}",
                    flush=True,
                )
        return
    clients = build_clients(problem)
    seconds, engine = start_engine(
        lambda: federated.FlowerEngine(clients, deployment=arguments.runtime == "deployment")
    )
    try:
        started = time.perf_counter()
        watch, result = run(clients, target, 100, engine=engine)
    finally:
        engine.close()
    lengths = np.diff([started, *watch.times])[1:]
    difference = np.abs(result.x - same.x).max()
    print(f"  {watch.rounds} rounds; started in {seconds:.0f} s, all rounds in {watch.times[-1] - started:.0f} s")
    print(f"  seconds per round: median {np.median(lengths):.2f}, least {lengths.min():.2f}, most {lengths.max():.2f}")
    print(f"  x differs from that of one process by {difference:.1e}; {result.history.bytes_up[-1] / 1000:.0f} kB up")


if __name__ == "__main__":
    main()

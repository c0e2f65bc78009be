"""Central, local, processes, Flower's simulation and its deployment: the same x, whatever happens on the way."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra minmin[flower]")
pytest.importorskip("ray", reason="needs the extra minmin[flower]")

import minmin
from federated.cases import WEIGHTS, Planned, as_sum, three_problems
from federated.flower.deployments import alive, assert_on_loopback_alone
from minmin import federated
from minmin.cli.app import run as run_command
from minmin.federated import Client, FlowerEngine
from minmin.federated.protocol import DescribeRequest, Envelope
from minmin.problems import Composite, Function
from minmin.terms import L1

pytestmark = [
    pytest.mark.flower,
    pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc"),
]
ROUNDS = 2
WITHOUT_TERM, WITH_TERM = three_problems()[:2]
PROBLEMS, OWN_WEIGHTS = [WITHOUT_TERM, Composite(WITH_TERM, term_y=L1(0.05))], WEIGHTS[:2]


def two_clients():
    return [Client(p, w) for p, w in zip(PROBLEMS, OWN_WEIGHTS, strict=True)]


def assert_same(result, clients):
    """The bits that as many rounds give in one process."""
    others = two_clients()
    expected = federated.run(others, rounds=ROUNDS)
    assert result.status == "budget", result.message
    assert np.array_equal(result.x, expected.x)
    assert (result.fun, result.gap_bound, result.nit) == (expected.fun, expected.gap_bound, expected.nit)
    for client, other in zip(clients, others, strict=True):
        assert np.array_equal(client.y, other.y)


def processes_of(engine):
    commands = [engine.flower.superlink, *engine.flower.nodes.values()]
    return [process for command in commands for process in command.process_ids()]


class Dawdling(Planned):
    """Can also answer too late."""

    def __init__(self, problem, weight, plan, timeout, folder):
        super().__init__(problem, weight, plan, folder)
        self.timeout = timeout

    def dawdles(self, request):
        """Works, and answers after the server has given up waiting."""
        reply = Client._run_task(self, request.message, request)
        time.sleep(self.timeout + 3.0)
        return reply


def assert_agrees(engine, clients, timeout, callback=lambda record: None):
    """With all other engines and with a central run.

    And it listens nowhere but on the loopback interface, and leaves no process behind.
    """
    central = minmin.minimize(as_sum(PROBLEMS, OWN_WEIGHTS), method="reduced-lbfgs", max_grad_x=ROUNDS)
    others = [federated.run(two_clients(), engine=name, rounds=ROUNDS).x for name in ("local", "processes")]
    started = []

    def look(record):
        started.extend(processes_of(engine))
        assert_on_loopback_alone(started)
        callback(record)

    try:
        result = federated.run(clients, engine=engine, rounds=ROUNDS, timeout=timeout, retries=10, callback=look)
    finally:
        engine.close()
    for x in (central.x, *others):
        assert np.abs(result.x - x).max() <= 1e-12
    assert_same(result, clients)
    assert alive(started) == []
    for client in clients:
        assert sorted(path.name for path in client.folder.glob("round*")) == [f"round {n}" for n in client.plan]


def ask_for_ever(engine):
    while True:
        engine.exchange({0: Envelope(DescribeRequest("before", 0))}, None)


def test_the_simulation_agrees_with_all_others_whatever_its_apps_do(tmp_path):
    """Also after a run that was interrupted: what was asked before is not taken for an answer."""
    plans, timeout = [{1: "raises", 2: "sends_an_old_round"}, {1: "sends_nan", 2: "dawdles"}], 6.0
    clients = [Dawdling(PROBLEMS[i], OWN_WEIGHTS[i], plans[i], timeout, tmp_path / str(i)) for i in range(2)]
    engine = FlowerEngine(clients)
    impatient = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    try:
        impatient.start()
        with pytest.raises(KeyboardInterrupt):
            ask_for_ever(engine)
    except BaseException:
        engine.close()
        raise
    assert_agrees(engine, clients, timeout)


def test_the_deployment_agrees_with_all_others_whatever_its_apps_do_and_whatever_is_killed(tmp_path):
    """A SuperNode after the first round, the SuperLink, with all that hangs on it, after the second."""
    plans, timeout = [{1: "raises"}, {1: "dawdles"}], 30.0  # a message starts a process here, slowly on a busy machine
    clients = [Dawdling(PROBLEMS[i], OWN_WEIGHTS[i], plans[i], timeout, tmp_path / str(i)) for i in range(2)]
    engine = FlowerEngine(clients, deployment=True)
    killed = []

    def kill(record):
        command = {1: engine.flower.nodes[0], 2: engine.flower.superlink}[record.grad_x]
        killed.append(min(command.process_ids()))
        os.kill(killed[-1], signal.SIGKILL)

    assert_agrees(engine, clients, timeout, kill)
    assert len(killed) == 2


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(minmin.UnsupportedError, match=r'pip install "\.\[flower\]"'):
        federated.run(two_clients(), engine="flower")


def test_clients_that_cannot_travel_are_named():
    nameless = Function(lambda x, y: 0.0, lambda x, y: x, lambda x, y: y, d_x=1, d_y=1)
    with pytest.raises(minmin.InputError, match="client 1 cannot be sent to another process"):
        FlowerEngine([two_clients()[0], Client(nameless)])


def test_clients_of_a_script_are_named(monkeypatch):
    class OfAScript(Client):
        pass

    OfAScript.__module__, OfAScript.__qualname__ = "__main__", "OfAScript"
    monkeypatch.setattr("__main__.OfAScript", OfAScript, raising=False)
    with pytest.raises(minmin.InputError, match="client 0 uses something defined in the script itself"):
        FlowerEngine([OfAScript(PROBLEMS[0])])


def test_a_superlink_that_does_not_start_is_told(monkeypatch):
    def broken(name):
        return str(Path("/bin/false")) if name == "flower-superlink" else name

    monkeypatch.setattr("minmin.federated.engines.flower_processes.program", broken)
    with pytest.raises(minmin.MinMinError, match="the SuperLink did not start"):
        FlowerEngine(two_clients())


WITHOUT = """
import sys
sys.modules["flwr"] = sys.modules["ray"] = None
import minmin
try:
    import minmin.federated.flower
except ImportError as error:
    print(error)
"""


def test_minmin_works_without_flower():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert done.stdout == 'minmin.federated.flower needs flwr; in the clone of minmin: pip install ".[flower]"\n'


def test_the_command_runs_the_simulation(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 2, 60), rng.standard_normal((60, 5))])
    file = tmp_path / "data.csv"
    np.savetxt(file, rows, delimiter=",", header="label,a,b,c,d,e", comments="")
    command = [
        "federated",
        "simulate",
        str(file),
        "--target",
        "label",
        "--y-columns",
        "d,e",
        "--clients",
        "2",
        "--json",
    ]
    said = []
    for engine in ("local", "flower"):
        assert run_command([*command, "--engine", engine]) == 0
        said.append(json.loads(capsys.readouterr().out))
    local, flower = said
    assert (flower["fun"], flower["gap_bound"], flower["calls"]) == (local["fun"], local["gap_bound"], local["calls"])

"""A server that is killed and started again: x, and every client's state, as if nothing had happened."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import minmin
from federated.cases import WEIGHTS, three_clients, three_problems
from minmin import federated
from minmin.federated import Client, FolderStore, LocalEngine

TESTS = str(Path(__file__).parent.parent)


def leaves(tree):
    """The arrays and numbers of a state."""
    if isinstance(tree, tuple):
        return [leaf for item in tree for leaf in leaves(item)]
    return [tree]


def states(folder):
    """What every client holds: round, y, all that its task remembers, and the vector it sent; not the run's name."""
    found = []
    for client in three_clients(folder):
        kept = client.store.load(client.store.newest(), client.y0)
        found.append(leaves((kept.round, kept.y, kept.memory, kept.reply.message.vector)))
    return found


def assert_same_states(a, b):
    for mine, other in zip(a, b, strict=True):
        assert len(mine) == len(other)
        assert all(np.array_equal(p, q) for p, q in zip(mine, other, strict=True))


class Killed(BaseException):
    """The server's end, between two instructions."""


class Deadly(LocalEngine):
    """The server dies in its n-th exchange: before, in the middle, or after the clients have answered."""

    def __init__(self, clients, when, how):
        super().__init__(clients)
        self.left, self.how = when, how

    def exchange(self, requests, timeout):
        self.left -= 1
        if self.left == 0:
            answered = {"before": 0, "amid": 1, "after": len(requests)}[self.how]
            super().exchange(dict(list(requests.items())[:answered]), timeout)
            raise Killed
        return super().exchange(requests, timeout)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["before", "amid", "after"])
@pytest.mark.parametrize(("method", "most"), [("reduced-lbfgs", 1000), ("bam", 4)])
def test_killed_in_every_exchange(method, most, how, tmp_path):
    """And again in the restarted run, until it comes through."""
    options = {"rounds": most, "x0": np.linspace(-1, 1, 6)}
    whole = federated.run(three_clients(tmp_path / "whole"), method, **options)
    folder, kills = tmp_path / "cut", 0
    for when in range(2, 100):
        clients = three_clients(folder)
        try:
            result = federated.run(
                clients, method, engine=Deadly(clients, when, how), checkpoint=folder / "c", **options
            )
            break
        except Killed:
            kills += 1
    assert kills >= 4
    assert np.array_equal(result.x, whole.x)
    assert (result.status, result.nit, result.fun) == (whole.status, whole.nit, whole.fun)
    assert result.calls["grad_x"] == whole.calls["grad_x"]
    assert result.calls["grad_y"] == whole.calls["grad_y"]
    assert np.array_equal(result.history.value, whole.history.value)
    assert_same_states(states(folder), states(tmp_path / "whole"))


def test_traffic_is_counted_on(tmp_path):
    federated.run(three_clients(tmp_path), "bam", tol=1e-3, rounds=5, checkpoint=tmp_path / "c")
    history = federated.run(three_clients(tmp_path), "bam", tol=1e-3, checkpoint=tmp_path / "c").history
    for column in ("bytes_up", "bytes_down", "seconds"):
        assert np.all(np.diff(history[column]) > 0), column
    assert np.all(np.diff(history.client_seconds, axis=0) >= 0)


def test_a_finished_run_answers_again(tmp_path):
    first = federated.run(three_clients(tmp_path), "bam", tol=1e-3, checkpoint=tmp_path / "c")
    again = federated.run(three_clients(tmp_path), "bam", tol=1e-3, checkpoint=tmp_path / "c")
    assert np.array_equal(again.x, first.x)
    assert (again.status, again.fun, again.nit) == (first.status, first.fun, first.nit)
    assert again.calls["grad_x"] == first.calls["grad_x"]


SERVER = """
import sys, time
folder, engine, method, tests = sys.argv[1:]
sys.path.insert(0, tests)
import numpy as np
from federated.cases import three_clients
from minmin import federated
from minmin.federated.engines import ENGINES

def slow(record):
    time.sleep(0.002)

if __name__ == "__main__":
    clients = three_clients(folder)
    started = ENGINES[engine](clients)
    if engine == "processes":
        print(*(started.process_id(i) for i in range(3)))
    print("ready", flush=True)
    r = federated.run(clients, method, engine=started, callback=slow, checkpoint=folder + "/server")
    started.close()
    np.savez(folder + "/answer", x=r.x, fun=r.fun, grad_x=r.history.grad_x, value=r.history.value, nit=r.nit)
"""


def start(script, folder, engine, method):
    folder.mkdir(exist_ok=True)
    child = subprocess.Popen(
        [sys.executable, script, str(folder), engine, method, TESTS], stdout=subprocess.PIPE, text=True
    )
    line = child.stdout.readline()
    ids = [] if line == "ready\n" else [int(word) for word in line.split() if word.isdigit()]
    assert line == "ready\n" or child.stdout.readline() == "ready\n"
    return child, ids


def is_there(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
@pytest.mark.parametrize(("engine", "kills"), [("local", 2), ("processes", 1)])
def test_killed_at_random_moments(engine, kills, tmp_path):
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    whole = federated.run(three_clients(tmp_path / "whole"), "bam")
    rng = np.random.default_rng(0)
    cut = tmp_path / "cut"
    ended = 0
    for _ in range(kills):
        child, clients = start(script, cut, engine, "bam")
        time.sleep(rng.uniform(0.0, 0.3) + (0.7 if engine == "processes" else 0.0))
        child.send_signal(signal.SIGKILL)
        ended += child.wait(timeout=60) == -signal.SIGKILL
        child.stdout.close()
        deadline = time.monotonic() + 20
        while any(map(is_there, clients)):
            assert time.monotonic() < deadline, "clients outlive their server"
            time.sleep(0.02)
    assert ended == kills
    child, _ = start(script, cut, engine, "bam")
    assert child.wait(timeout=120) == 0
    child.stdout.close()
    with np.load(cut / "answer.npz") as answer:
        assert np.array_equal(answer["x"], whole.x)
        assert answer["fun"] == whole.fun
        assert answer["nit"] == whole.nit
        assert np.array_equal(answer["grad_x"], whole.history.grad_x)
        assert np.array_equal(answer["value"], whole.history.value)
    assert_same_states(states(cut), states(tmp_path / "whole"))


def test_a_checkpoint_of_another_federation_is_refused(tmp_path):
    file = tmp_path / "c"
    federated.run(three_clients(tmp_path / "s"), "bam", rounds=4, checkpoint=file)
    before = file.read_bytes()

    def refused(clients, match, method="bam", **options):
        with pytest.raises(minmin.CheckpointError, match=match):
            federated.run(clients, method, checkpoint=file, **options)
        assert file.read_bytes() == before

    refused(three_clients(tmp_path / "s")[:2], "another problem")
    refused(three_clients(tmp_path / "t", d_x=5), "another problem")
    refused(three_clients(tmp_path / "s"), "another method", "reduced-lbfgs")
    refused(three_clients(tmp_path / "s"), "another start", x0=np.ones(6))
    weighted = [Client(p, 1.0) for p in three_problems()]
    refused(weighted, "another problem")
    others = [Client(p, w, store=FolderStore(tmp_path / "o")) for p, w in zip(three_problems(1), WEIGHTS, strict=True)]
    refused(others, "another problem")
    file.write_bytes(before[:-1])
    before = file.read_bytes()
    refused(three_clients(tmp_path / "s"), "truncated or damaged")


def test_a_checkpoint_of_a_central_run_is_refused(tmp_path):
    minmin.minimize(minmin.Sum(three_problems()), method="bam", max_grad_x=3, checkpoint=tmp_path / "c")
    with pytest.raises(minmin.CheckpointError, match=r"belongs to another|no federation|cannot be read"):
        federated.run(three_clients(), "bam", checkpoint=tmp_path / "c")


def test_a_full_disk_ends_the_run_and_not_the_clients(tmp_path, monkeypatch):
    """What the server cannot keep it does not go on from."""
    federated.run(three_clients(tmp_path), "bam", tol=1e-3, rounds=3, checkpoint=tmp_path / "c")

    def full(path, data):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("minmin.loop.checkpoint.write_atomically", full)
        with pytest.raises(minmin.CheckpointError, match="No space left"):
            federated.run(three_clients(tmp_path), "bam", tol=1e-3, checkpoint=tmp_path / "c")
    result = federated.run(three_clients(tmp_path), "bam", tol=1e-3, checkpoint=tmp_path / "c")
    assert np.array_equal(result.x, federated.run(three_clients(), "bam", tol=1e-3).x)

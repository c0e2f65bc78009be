"""examples/flower as a user runs it: simulated, deployed, killed in the middle, and among strangers."""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra minmin[flower]")
pytest.importorskip("ray", reason="needs the extra minmin[flower]")

from federated.flower.deployments import APP, HOST, Deployment, assert_on_loopback_alone
from minmin import federated
from minmin.federated import Client
from minmin.federated.engines.flower_processes import free_port

pytestmark = [
    pytest.mark.flower,
    pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc"),
    pytest.mark.skipif(not APP.exists(), reason="needs the examples, which are not in the wheel"),
]
ROUNDS = 2
SCRIPT = APP.parents[1] / "scripts" / "flower_credentials.py"


def run_in_one_process(hospitals, rounds=ROUNDS):
    """What as many rounds give for this many hospitals: the result, and y of each."""
    spec = importlib.util.spec_from_file_location("hospitals_data", APP / "hospitals" / "data.py")
    data = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(data)
    clients = [Client(problem, patients) for problem, patients in map(data.problem, range(hospitals))]
    return federated.run(clients, rounds=rounds), [client.y for client in clients]


def assert_same(found, folder, rounds=ROUNDS):
    """The bits of a run of the hospital in berlin alone."""
    result, (own,) = run_in_one_process(1, rounds)
    assert found["rounds"] == rounds
    assert np.array_equal(found["x"], result.x)
    assert found["fun"] == result.fun
    store = federated.FolderStore(Path(folder) / "states" / "berlin")
    assert len(list(store.folder.glob("*.state"))) == 1  # one run, whoever was killed in it
    assert np.array_equal(store.load(store.newest(), own).y, own)


def make_credentials(folder, *nodes):
    names = [word for node in nodes for word in ("--node", node)]
    command = [sys.executable, SCRIPT, folder, "--server", HOST, *names]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_flwr_run_takes_it_as_it_is(monkeypatch):
    """Simulated by a SuperLink that flwr itself starts; nothing is installed, since the app names nothing."""
    monkeypatch.setenv("FLWR_LOCAL_SUPERLINK_HTTP_API_PORT", str(free_port()))
    monkeypatch.setenv("FLWR_LOCAL_CONTROL_API_PORT", str(free_port()))
    with (
        tempfile.TemporaryDirectory(prefix="minmin-") as folder,
        Deployment(folder) as flower,
    ):  # Ray needs a short name
        (flower.home / "config.toml").write_text('[superlink.test]\naddress = ":local:"\n')
        values = f'rounds={ROUNDS} result="{folder}/x.npz" states="{folder}/states"'
        flower.result = Path(folder) / "x.npz"
        flower.start("flwr", flower.home, "flwr", "run", APP, "test", "--run-config", values, "--stream")
        found = flower.wait_for_result(120)
    assert found["rounds"] == ROUNDS
    assert np.array_equal(found["x"], run_in_one_process(2)[0].x)


def test_a_killed_node_and_a_killed_superlink_lose_nothing(tmp_path):
    """The server resumes from its checkpoint, the client from its store; y does not move on a stale x."""
    with Deployment(tmp_path) as flower:
        flower.start_superlink()
        flower.start_node("berlin", 0)
        options = {"clients": 1, "rounds": ROUNDS, "checkpoint": f"{tmp_path}/server.checkpoint", "timeout": 60.0}
        flower.run(result=f"{tmp_path}/first.npz", **options)
        flower.wait_for("berlin", "ROUND 1]", 120)
        flower.start_node("berlin", 0)  # the one that runs is killed
        flower.wait_for("berlin", "ROUND 2]", 120)
        flower.start_superlink()
        flower.run(result=f"{tmp_path}/second.npz", **options)
        found = flower.wait_for_result(150)
        assert_on_loopback_alone([p for command in flower.commands.values() for p in command.process_ids()])
    assert not (tmp_path / "first.npz").exists()
    assert_same(found, tmp_path)


def test_strangers_are_refused_and_the_run_goes_on(tmp_path):
    """A node without a key, one with an unknown key, and one that trusts another authority."""
    advice = make_credentials(tmp_path / "ours", "berlin")
    make_credentials(tmp_path / "theirs", "mallory")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    with Deployment(tmp_path / "run", ours) as flower:
        flower.start_superlink()
        flower.flwr("supernode", "register", ours / "server" / "berlin.pub", "test")
        trust = ["--root-certificates", ours / "berlin" / "ca.crt"]
        few = ["--max-retries", "2"]
        flower.start_node("no key", 0, *trust, *few)
        key = "--auth-supernode-private-key"
        flower.start_node("wrong key", 0, *trust, key, theirs / "mallory" / "node.key", *few)
        deceived = ["--root-certificates", theirs / "mallory" / "ca.crt", key, ours / "berlin" / "node.key", *few]
        flower.start_node("wrong certificate", 0, *deceived)
        flower.start_node("berlin", 0, *trust, key, ours / "berlin" / "node.key")
        flower.run(clients=1, rounds=1, result=f"{tmp_path}/x.npz", timeout=60.0)
        found = flower.wait_for_result(150)
        reasons = {
            "no key": "All SuperNodes must be registered",
            "wrong key": "Failed to activate SuperNode",
            "wrong certificate": "CERTIFICATE_VERIFY_FAILED",
        }
        for name, reason in reasons.items():
            assert not flower.commands[name].runs
            assert reason in flower.said(name)
            assert "SuperNode ID" not in flower.said(name)
        assert_on_loopback_alone([p for command in flower.commands.values() for p in command.process_ids()])
    assert_same(found, tmp_path / "run", rounds=1)
    assert "flower-supernode --superlink" in advice


def test_credentials_are_private_and_never_overwritten(tmp_path):
    make_credentials(tmp_path / "c", "berlin")
    secret = list((tmp_path / "c").rglob("*.key"))
    assert len(secret) == 3
    assert all(path.stat().st_mode & 0o077 == 0 for path in secret)
    before = {path: path.read_bytes() for path in secret}
    for arguments, words in [
        ([tmp_path / "c", "--server", "a", "--node", "b"], "give one that does not exist"),
        ([tmp_path / "d", "--server", "a", "--node", "../b"], "needs a different name"),
        ([tmp_path / "d", "--server", "a", "--node", "server"], "not 'server'"),
        ([tmp_path / "d", "--server", "a", "--node", "b", "--days", "0"], "--days 0 must be at least 1"),
    ]:
        done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert words in done.stderr
    assert before == {path: path.read_bytes() for path in secret}
    assert not (tmp_path / "d").exists()

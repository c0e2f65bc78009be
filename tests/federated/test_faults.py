"""Clients in processes that die, dawdle or answer wrongly: what comes out is what an undisturbed run finds."""

import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest

import minmin
from federated.cases import WEIGHTS, Misbehaving, Planned, three_clients, three_problems
from minmin import federated
from minmin.federated import Client, ClientError, FolderStore, ProcessEngine
from minmin.problems import Function, Quadratic


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert multiprocessing.active_children() == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("minmin-client")]


def disturbed(fault, tmp_path, rounds=(2, 3), always=False):
    clients = three_clients(tmp_path / "good")
    clients[1] = Misbehaving(
        three_problems()[1], WEIGHTS[1], fault=fault, rounds=rounds, folder=tmp_path / "bad", always=always
    )
    return clients


@pytest.fixture(scope="module")
def undisturbed():
    """By method: the result, and the clients after it."""
    found = {}
    for method in ("bam", "reduced-lbfgs"):
        clients = three_clients()
        found[method] = federated.run(clients, method), clients
    return found


def assert_nothing_changed(result, clients, whole):
    expected, holders = whole
    assert result.success, result.message
    assert np.array_equal(result.x, expected.x)
    assert (result.fun, result.gap_bound, result.nit) == (expected.fun, expected.gap_bound, expected.nit)
    assert {k: v for k, v in result.calls.items() if k != "monitor"} == {
        k: v for k, v in expected.calls.items() if k != "monitor"
    }
    for client, holder in zip(clients, holders, strict=True):
        assert np.array_equal(client.y, holder.y)


OF_ANSWERS = [
    "raises",
    "sends_nan",
    "sends_a_wrong_shape",
    "sends_an_old_round",
    "sends_no_slope",
    "sends_a_wrong_dtype",
    "sends_another_memory",
    "sends_a_description",
]


@pytest.mark.parametrize("fault", OF_ANSWERS)
def test_a_fault_that_passes_changes_nothing(fault, tmp_path, undisturbed, caplog):
    clients = disturbed(fault, tmp_path)
    result = federated.run(clients)
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [line.startswith("client 1 ") for line in warned] == [True, True]
    assert [line.partition(" in round ")[2] for line in warned] == ["2; retries left: 3", "3; retries left: 3"]
    assert_nothing_changed(result, clients, undisturbed["reduced-lbfgs"])
    assert sorted(path.name for path in (tmp_path / "bad").glob("round*")) == ["round 2", "round 3"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("faults", "timeout"),
    [
        (("dies_before", "dies_after", "garbage", "raises"), 30.0),
        (("sleeps_before", "sleeps_after"), 0.5),
    ],
    ids=["dies", "sleeps"],
)
def test_faults_of_a_process_that_pass_change_nothing(faults, timeout, tmp_path, undisturbed, caplog):
    """Another one in every round, from the second on."""
    plan = dict(enumerate(faults, start=2))
    clients = three_clients(tmp_path / "good")
    clients[1] = Planned(three_problems()[1], WEIGHTS[1], plan, tmp_path / "bad")
    result = federated.run(clients, engine="processes", timeout=timeout)
    assert_nothing_changed(result, clients, undisturbed["reduced-lbfgs"])
    assert "the process of client 1 has died or was late; it is started again" in caplog.messages
    assert sorted(path.name for path in (tmp_path / "bad").glob("round*")) == [f"round {n}" for n in plan]


WORDS = {
    "dies_before": ("processes", "did not answer"),
    "sleeps_before": ("processes", "did not answer"),
    "raises": ("local", "refused (raised RuntimeError)"),
    "sends_nan": ("local", "sent a vector of norm nan"),
    "sends_no_slope": ("local", "sent grad_y_square = inf, which must be finite"),
    "sends_a_wrong_shape": ("local", "sent a vector of shape (5,)"),
    "sends_a_wrong_dtype": ("local", "sent a vector of float32"),
    "sends_an_old_round": ("local", "sent a reply for round 2 of run"),
    "sends_another_memory": ("local", "sent another memory"),
    "sends_a_description": ("local", "sent a message of the wrong kind"),
}


@pytest.mark.parametrize(
    "fault", [pytest.param(f, marks=pytest.mark.slow if WORDS[f][0] == "processes" else ()) for f in WORDS]
)
def test_a_fault_that_stays_ends_the_run(fault, tmp_path):
    engine, words = WORDS[fault]
    clients = disturbed(fault, tmp_path, rounds=(3,), always=True)
    timeout = 0.5 if "sleeps" in fault else 30.0
    result = federated.run(clients, "bam", engine=engine, timeout=timeout, retries=1)
    assert result.status == "interrupted"
    assert f"client 1 {words}" in result.message
    assert "in round 3, asked 2 times" in result.message
    assert "3.14159" not in result.message
    expected = federated.run(three_clients(), "bam", rounds=2)
    assert np.array_equal(result.x, expected.x)
    assert (result.fun, result.gap_bound) == (expected.fun, expected.history.gap_bound[-1])
    assert (result.nit, result.certified, result.y) == (2, True, None)


def test_a_client_that_never_answers_well_ends_a_run_in_its_first_round(tmp_path):
    result = federated.run(disturbed("raises", tmp_path, (1,), always=True), retries=0)
    assert result.status == "interrupted"
    assert "client 1 refused (raised RuntimeError) in round 1, asked 1 time" in result.message
    assert np.array_equal(result.x, np.zeros(6))


class Broken(Quadratic):
    """Cannot be evaluated at all."""

    def fix(self, x):
        raise RuntimeError("the data are gone")


class Indescribable(Quadratic):
    def constants_for(self, cost_ratio):
        raise RuntimeError("the data are gone")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "processes"])
def test_before_the_first_round(engine):
    """A run that cannot be looked at ends where it starts; one that cannot be described does not begin."""
    q = Quadratic.random(d_x=3, d_y=2)
    result = federated.run([Client(Broken(q.H, q.b, 3))], "bam", engine=engine)
    assert result.status == "interrupted"
    assert "client 0 refused (raised RuntimeError) in round 0" in result.message
    assert np.array_equal(result.x, np.zeros(3))
    assert np.isnan(result.fun)
    with pytest.raises(ClientError, match=r"client 0 refused \(raised RuntimeError\) in round 0, asked 4 times"):
        federated.run([Client(Indescribable(q.H, q.b, 3))], "bam", engine=engine)


def test_functions_without_names_cannot_go_to_a_process():
    f = Function(None, lambda x, y: x, lambda x, y: y, d_x=2, d_y=2)
    with pytest.raises(minmin.InputError, match="client 0 cannot be sent to another process"):
        federated.run([Client(f)], engine="processes")


class Killing(ProcessEngine):
    """Kills a client before, and while, messages are exchanged."""

    def __init__(self, clients, times, seed=0):
        super().__init__(clients)
        self.rng = np.random.default_rng(seed)
        self.left = times
        self.killed = []

    def exchange(self, requests, timeout):
        number = int(self.rng.integers(len(self._clients)))
        if self.left == 0 or self.rng.uniform() < 0.3:
            return super().exchange(requests, timeout)
        self.left -= 1
        if self.process_id(number) in self.killed:  # and nobody has noticed yet
            self._running[number].process.join()
        self._make_ready([number])
        self.killed.append(self.process_id(number))
        if self.left % 2:
            os.kill(self.killed[-1], signal.SIGKILL)
            return super().exchange(requests, timeout)
        killer = threading.Timer(self.rng.uniform(0.0, 0.004), os.kill, (self.killed[-1], signal.SIGKILL))
        killer.start()
        replies = super().exchange(requests, timeout)
        killer.join()
        return replies


@pytest.mark.slow
def test_six_kills_of_random_clients_change_nothing(undisturbed):
    clients = three_clients()
    engine = Killing(clients, 6)
    try:
        result = federated.run(clients, "bam", engine=engine, retries=10)
    finally:
        engine.close()
    assert len(set(engine.killed)) == 6
    assert sum(engine.started.values()) >= 3 + 5
    assert_nothing_changed(result, clients, undisturbed["bam"])


@pytest.mark.slow
def test_a_stopped_client_does_not_block_a_large_message():
    """Its pipe is full, and the server's time-out holds all the same."""
    d_x = 200_000
    f = Large()
    client = Client(Function(f.value, f.grad_x, f.grad_y, d_x=d_x, d_y=2, constants=minmin.Constants(2, 2, 1, 1)))
    engine = ProcessEngine([client, client])
    stopped = []

    def stop(record):
        if not stopped:
            stopped.append(engine.process_id(0))
            os.kill(stopped[0], signal.SIGSTOP)

    begun = time.monotonic()
    try:
        result = federated.run([client, client], "bam", engine=engine, timeout=1.0, callback=stop, tol=1e-3)
    finally:
        engine.close()
    assert result.success
    assert engine.started == {0: 2, 1: 1}
    assert time.monotonic() - begun < 60


class Large:
    """½|x - 1/1000|² + ½|y|²."""

    def value(self, x, y):
        return 0.5 * float((x - 1e-3) @ (x - 1e-3)) + 0.5 * float(y @ y)

    def grad_x(self, x, y):
        return x - 1e-3

    def grad_y(self, x, y):
        return y


@pytest.mark.slow
def test_ctrl_c_waits_for_nobody(tmp_path):
    """In the middle of an exchange without a time-out."""
    clients = disturbed("sleeps_before", tmp_path, rounds=(2,))

    def interrupt():
        while not (tmp_path / "bad" / "round 2").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    begun = time.monotonic()
    thread = threading.Thread(target=interrupt)
    thread.start()
    result = federated.run(clients, engine="processes")
    thread.join()
    assert (result.status, result.message) == ("interrupted", "interrupted from the keyboard")
    assert np.isfinite(result.fun)
    assert time.monotonic() - begun < 30


@pytest.mark.slow
def test_a_client_comes_back_from_its_folder_in_a_new_engine(tmp_path, undisturbed):
    """The whole federation goes away and comes back: no state is lost."""
    for rounds in (3, None):
        clients = three_clients(tmp_path)
        result = federated.run(clients, engine="processes", rounds=rounds, checkpoint=tmp_path / "server")
    assert result.nit > 3
    assert_nothing_changed(result, clients, undisturbed["reduced-lbfgs"])


def test_a_lost_state_is_told(tmp_path):
    """Without its y_i a client cannot go on, and does not pretend to."""
    federated.run(three_clients(tmp_path), "bam", rounds=3, checkpoint=tmp_path / "server")
    clients = three_clients(tmp_path)
    clients[2] = Client(three_problems()[2], WEIGHTS[2], store=FolderStore(tmp_path / "empty"))
    result = federated.run(clients, "bam", checkpoint=tmp_path / "server", retries=0)
    assert result.status == "interrupted"
    assert "client 2 refused (missed round 1) in round 4" in result.message

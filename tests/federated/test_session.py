"""The session: nothing is sent unless asked for, each message is encoded once, and engines are easy to write."""

import multiprocessing
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import minmin
from federated.cases import as_sum, count_calls, quadratic, three_clients, three_problems
from minmin import extend, federated
from minmin.core.counting import Tally
from minmin.core.start import make_start
from minmin.extend import ClientTask, Envelope, Outcome
from minmin.federated import Client, FolderStore, LocalEngine
from minmin.federated.engines.flower_wire import read_replies, read_requests, write_replies, write_requests
from minmin.federated.metrics import FederationMetrics
from minmin.federated.problem import Federation
from minmin.federated.protocol import DescribeRequest, MeasureRequest, TaskRequest
from minmin.federated.session import Policy, Session
from minmin.methods.inner.partial_minimum import DescendInY


class Counting(LocalEngine):
    """Notes the kinds of the messages of every exchange."""

    def __init__(self, clients):
        super().__init__(clients)
        self.kinds = []

    def exchange(self, requests, timeout):
        self.kinds += {request.label.kind for request in requests.values()}
        return super().exchange(requests, timeout)


def size_of_y(x, y):
    return float(y @ y)


def measured_clients():
    return [Client(p, metrics={"size": size_of_y}) for p in three_problems()]


def test_only_explicit_calls_send_messages():
    engine = Counting(measured_clients())
    session = Session(engine, 3, Policy(), run="run")
    assert engine.kinds == []
    descriptions = session.describe()
    assert engine.kinds == ["describe"]
    metrics = FederationMetrics(session, descriptions, 1)
    federation = Federation(session, descriptions, values=True)
    x, y = make_start(federation)
    counted = federation.counted(Tally())
    slice_ = counted.fix(x)
    for problem in (federation, counted):
        _ = problem.constants, list(problem.identity()), problem.prototype
        assert np.isnan(metrics.read()["size"]).all()
    assert engine.kinds == ["describe"]
    assert np.isfinite(slice_.at(y).value)
    metrics.update(x)
    metrics.update(x)
    assert engine.kinds == ["describe", "evaluate", "measure"]
    assert metrics.read()["size"] == (0.0, 0.0, 0.0)


def test_counted_copies_share_the_session_and_have_a_tally_each():
    session = Session(LocalEngine(three_clients()), 3, Policy(), run="run")
    federation = Federation(session, session.describe(), values=True)
    tallies = Tally(), Tally()
    task = DescendInY("lbfgs", 1e-3, None, False)
    for tally in tallies:
        federation.counted(tally).fix(np.zeros(6)).run_on_parts(task, [task.begin(federation.prototype)] * 3)
    assert session.rounds == 2
    assert [tally["grad_x"] for tally in tallies] == [1, 1]


@pytest.fixture
def calls(monkeypatch):
    return count_calls(monkeypatch)


@pytest.mark.parametrize("method", ["reduced-lbfgs", "bam", "scaffold"])
def test_in_one_process_nothing_is_encoded(calls, method):
    federated.run(three_clients(), method, rounds=5)
    assert calls == {"encode": 0, "decode": 0}


def test_a_reply_is_stored_as_the_bytes_that_are_encoded_once(calls, tmp_path):
    federated.run(three_clients(tmp_path), rounds=4, tol=0.0, checkpoint=tmp_path / "c")
    assert calls["encode"] == 4 * 3


@pytest.mark.slow
def test_between_processes_the_server_encodes_every_request_once(calls):
    result = federated.run(three_clients(), rounds=4, tol=0.0, engine="processes")
    exchanges = calls["encode"]
    assert exchanges == 1 + 1 + 4 + 1  # describe, the start's value, the rounds, the end
    assert calls["decode"] == 3 * exchanges
    assert result.calls["grad_x"] == 4


def test_a_relay_neither_encodes_nor_decodes(calls):
    requests = {n: Envelope(TaskRequest("r", 1, np.ones(3), "bam", "{}", True)) for n in (0, 2)}
    requests[5] = Envelope(MeasureRequest("r", 1, np.ones(3)))
    engine_side, relay_side = multiprocessing.Pipe()
    write_requests(engine_side, requests, 2.5)
    assert calls == {"encode": 2, "decode": 0}  # equal requests once
    read, timeout = read_requests(relay_side)
    assert timeout == 2.5
    assert {number: envelope.digest for number, envelope in read.items()} == {
        number: envelope.digest for number, envelope in requests.items()
    }
    assert read[5].label == ("measure", "r", 1)
    write_replies(relay_side, {2: Envelope.from_bytes(b"anything")})
    assert read_replies(engine_side)[2].data == b"anything"
    assert calls == {"encode": 2, "decode": 0}


class Posting(extend.Engine):
    """An engine of a user's own."""

    def __init__(self, clients):
        self.clients = clients

    def exchange(self, requests, timeout):
        return {n: Envelope.from_bytes(self.clients[n].answer(request.data)) for n, request in requests.items()}


def test_an_engine_of_a_few_lines_runs_everything(tmp_path):
    clients = measured_clients()
    engine = Posting(clients)
    result = federated.run(3, engine=engine, evaluate_every=1, checkpoint=tmp_path / "c")
    expected = federated.run(measured_clients())
    assert np.array_equal(result.x, expected.x)
    assert (result.fun, result.history.bytes_up[-1]) == (expected.fun, expected.history.bytes_up[-1])
    assert np.array_equal(federated.evaluate(3, result.x, engine=engine)["size"], result.history["size"][-1])
    engine.close()


class HalvingMemory(NamedTuple):
    y: object
    halvings: int


@dataclass(frozen=True)
class Halving(ClientTask):
    """Halves y, and sends x times a factor."""

    name: ClassVar[str] = "test-halving"
    memory_types: ClassVar[tuple[type, ...]] = (HalvingMemory,)
    factor: float

    def begin(self, y):
        return HalvingMemory(y, 0)

    def run_at_client(self, problem, x, memory):
        evaluation = problem.fix(x).at(0.5 * memory.y)
        return Outcome(HalvingMemory(evaluation.y, memory.halvings + 1), evaluation, self.factor * x)


def test_a_task_of_ones_own_runs_and_survives_its_process(tmp_path):
    def client(number):
        problem = quadratic(np.random.default_rng(number), 4, 2)
        return Client(problem, 1.0 + number, y0=np.ones(2), store=FolderStore(tmp_path / str(number)))

    x = np.arange(4.0)
    task, rounds = Halving(3.0), 3
    session = Session(LocalEngine([client(0), client(1)]), 2, Policy(), run="run")
    federation = Federation(session, session.describe(), values=True)
    for _ in range(rounds):
        session._engine = LocalEngine([client(0), client(1)])
        mean, y = federation.fix(x).average(task)
        np.testing.assert_allclose(mean, 3.0 * x)
        assert [part.shape for part in y] == [(0,), (0,)]
    known, _ = federation.fix(x).run_on_parts(task, ())
    assert [memory.halvings for memory in known] == [rounds + 1] * 2
    assert [memory.y.shape for memory in known] == [(0,), (0,)]
    assert np.array_equal(client(0).y, np.full(2, 0.5 ** (rounds + 1)))


def test_names_of_tasks_are_unique_and_known():
    with pytest.raises(minmin.InputError, match=r"a task called 'bam' exists already: minmin.methods.bam_steps.YHalf"):

        class Taken(Halving):
            name = "bam"

    class Nameless(Halving):
        pass

    session = Session(LocalEngine(three_clients()), 3, Policy(), run="run")
    session.describe()
    with pytest.raises(minmin.InputError, match="is the name of another task; give Nameless a different one"):
        session.run_task(np.zeros(6), Nameless(1.0), frozenset(), value=False)


@pytest.mark.parametrize(("timeout", "retries"), [(0, 3), (-1.0, 3), ("1", 3), (np.inf, 3), (1.0, -1), (1.0, 0.5)])
def test_a_policy_is_checked_before_an_engine_is_started(timeout, retries):
    with pytest.raises(minmin.InputError, match=r"timeout|retries"):
        federated.run(three_clients(), engine="no engine", timeout=timeout, retries=retries)


class Silent(extend.Engine):
    """Nobody answers, or some do; it keeps the timeouts."""

    def __init__(self, answering=()):
        self.answering = dict(answering)
        self.timeouts = []

    def exchange(self, requests, timeout):
        self.timeouts.append(timeout)
        return {n: self.answering[n].handle(request) for n, request in requests.items() if n in self.answering}


@pytest.mark.parametrize("ask", [lambda **o: federated.run(2, **o), lambda **o: federated.evaluate(2, np.ones(6), **o)])
def test_clients_have_ten_minutes_for_an_answer_unless_another_time_is_given(ask):
    for given, expected in (({}, 600.0), ({"timeout": None}, None), ({"timeout": 2.5}, 2.5)):
        engine = Silent()
        with pytest.raises(federated.ClientError, match="did not answer"):
            ask(engine=engine, retries=1, **given)
        assert engine.timeouts == [expected] * 2


def test_all_clients_that_do_not_answer_are_named():
    engine = Silent({1: three_clients()[1]})
    with pytest.raises(federated.ClientError) as caught:
        federated.run(9, engine=engine, timeout=2.5)
    assert str(caught.value) == (
        "client 0 did not answer in round 0, asked 4 times with timeout = 2.5 s; client 2, client 3, "
        "client 4, client 5, client 6 and 2 more sent no valid reply either"
    )


def test_a_session_that_gave_up_asks_nobody_again():
    session = Session(Silent(), 2, Policy(retries=1), run="run")
    with pytest.raises(federated.ClientError, match="client 0 did not answer in round 0, asked 2 times"):
        session.describe()
    with pytest.raises(federated.ClientError, match="client 0 did not answer in round 0, asked 2 times"):
        session.describe()


def test_values_of_the_newest_round_need_no_message():
    """Whoever asks with an equal x, and not only with the very same array."""
    engine = Counting(three_clients())
    session = Session(engine, 3, Policy(), run="run")
    federation = Federation(session, session.describe(), values=True)
    x, task = np.ones(6), DescendInY("lbfgs", 1e-3, None, False)
    _, evaluation = federation.fix(x).run_on_parts(task, [])
    assert federation.fix(x.copy()).at(evaluation.y).value == evaluation.value
    assert engine.kinds == ["describe", "task"]
    assert federation.fix(2 * x).at(evaluation.y).value != evaluation.value
    assert engine.kinds == ["describe", "task", "evaluate"]


def test_the_start_is_evaluated_where_the_clients_started():
    problems = three_problems()
    session = Session(LocalEngine([Client(p) for p in problems]), 3, Policy(), run="run")
    federation = Federation(session, session.describe(), values=True)
    x, start = make_start(federation, np.ones(6))
    federation.fix(x).run_on_parts(DescendInY("lbfgs", 1e-3, None, False), [])
    whole = as_sum(problems, [1.0] * 3)
    assert federation.fix(x).at(start).value == pytest.approx(whole.fix(x).at(make_start(whole)[1]).value)


def test_equal_requests_have_equal_digests_and_others_not():
    x = np.ones(3)
    requests = [
        DescribeRequest("a", 0),
        MeasureRequest("a", 0, x),
        MeasureRequest("a", 1, x),
        MeasureRequest("b", 0, x),
    ]
    requests += [MeasureRequest("a", 0, 2 * x), MeasureRequest("a", 0, x.astype("float32"))]
    assert len({Envelope(request).digest for request in requests}) == len(requests)
    assert Envelope(MeasureRequest("a", 0, x.copy())).digest == Envelope(requests[1]).digest

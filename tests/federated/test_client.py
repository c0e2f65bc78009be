"""Clients: a repeated round moves nothing, and what should not be answered is refused in a word."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

import minmin
from federated.cases import ask, glm, quadratic
from minmin.federated import Client, FolderStore, MemoryStore
from minmin.federated.protocol import (
    DescribeRequest,
    Description,
    EvaluateRequest,
    Refusal,
    Reply,
    TaskRequest,
    decode,
    encode,
)
from minmin.federated.tasks import describe_task
from minmin.methods.inner.partial_minimum import DescendInY
from minmin.problems import Function

NAME, SETTINGS = describe_task(DescendInY("lbfgs", 1e-8, None, False))


def changed(**settings):
    return json.dumps(json.loads(SETTINGS) | settings)


def request(round_=1, x=None, **changes):
    x = np.linspace(1.0, 2.0, 4) if x is None else x
    return replace(TaskRequest("run", round_, x, NAME, SETTINGS, True), **changes)


@pytest.fixture(params=["memory", "folder"])
def client(request, tmp_path):
    store = MemoryStore() if request.param == "memory" else FolderStore(tmp_path)
    return Client(quadratic(np.random.default_rng(0), 4, 3), store=store)


def refusal_of(client, message):
    """Why a client refused; whatever it refuses leaves its state alone."""
    before = client.y
    answer = ask(client, message)
    assert isinstance(answer, Refusal)
    assert (answer.run, answer.round) == (message.run, message.round)
    assert np.array_equal(client.y, before)
    return answer.reason


def test_a_description_is_what_the_problem_is(client):
    answer = ask(client, DescribeRequest("run", 0))
    assert isinstance(answer, Description)
    assert (answer.d_x, answer.d_y, answer.weight, answer.dtype) == (4, 3, 1.0, "float64")


def test_a_round_moves_y_and_tells_the_gradient(client):
    reply = ask(client, request())
    assert isinstance(reply, Reply)
    evaluation = client._problem.fix(request().x).at(client.y)
    assert np.array_equal(reply.vector, evaluation.grad_x)
    assert reply.value == evaluation.value
    assert np.linalg.norm(client.y) > 0.0


def test_a_repeated_round_is_answered_the_same_and_moves_nothing(client):
    ask(client, request())
    first = ask(client, request(2))
    y = client.y
    for _ in range(3):
        again = ask(client, request(2))
        assert encode(again) == encode(first)
        assert np.array_equal(client.y, y)


def test_a_client_that_comes_back_goes_on_from_its_folder(tmp_path):
    problem = quadratic(np.random.default_rng(0), 4, 3)
    staying, coming_back = Client(problem), Client(problem, store=FolderStore(tmp_path))
    xs = np.random.default_rng(1).standard_normal((5, 4))
    for number, x in enumerate(xs, 1):
        reply = ask(staying, request(number, x))
        for _ in range(2):
            coming_back = Client(problem, store=FolderStore(tmp_path))
            told = ask(coming_back, request(number, x))
            assert np.array_equal(told.vector, reply.vector)
            assert np.array_equal(coming_back.y, staying.y)


def test_stale_rounds_are_refused(client):
    for number in (1, 2, 3):
        ask(client, request(number))
    assert refusal_of(client, request(2)) == "stale"
    assert refusal_of(client, request(0)) == "stale"
    assert refusal_of(client, request(-1)) == "stale"


def test_a_missed_round_is_named(client):
    assert refusal_of(client, request(2)) == "missed round 1"
    ask(client, request(1))
    assert refusal_of(client, request(7)) == "missed round 2"
    assert isinstance(ask(client, request(2)), Reply)


def test_another_request_of_the_same_round_is_refused(client):
    ask(client, request())
    assert refusal_of(client, request(x=np.zeros(4))) == "another request of the same round"


def test_another_run_has_a_y_of_its_own(client):
    ask(client, request())
    first = client.y
    ask(client, request(x=np.zeros(4), run="other"))
    assert not np.array_equal(client.y, first)
    y = client.store.load("run", client.y0).y
    assert np.array_equal(y, first)


@pytest.mark.parametrize("name", ["../run", "", "a b", "x" * 65])
def test_foreign_names_of_runs_write_nothing(name, tmp_path):
    client = Client(quadratic(np.random.default_rng(0), 4, 3), store=FolderStore(tmp_path / "s"))
    assert refusal_of(client, request(run=name)) == "raised InputError"
    assert [path.name for path in (tmp_path / "s").iterdir()] == [".lock"]


@pytest.mark.parametrize(
    "x",
    [
        np.zeros(3),
        np.zeros(5),
        np.zeros(0),
        np.zeros((4, 1)),
        np.float64(1.0),
        np.zeros(4, "float32"),
        np.zeros(4, "int64"),
        np.array([1.0, np.nan, 0.0, 0.0]),
        np.array([1.0, np.inf, 0.0, 0.0]),
    ],
    ids=str,
)
def test_an_x_of_another_shape_or_type_is_refused(client, x):
    assert refusal_of(client, request(x=x)) == "malformed"
    assert refusal_of(client, EvaluateRequest("run", 0, x, True)) == "malformed"


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("eval", "{}"),
        ("descend-in-y", "{}"),
        ("descend-in-y", ""),
        ("descend-in-y", "[]"),
        ("descend-in-y", "{" * 100_000),
        ("bam", SETTINGS),
        ("descend-in-y", changed(more=1)),
        ("descend-in-y", changed(constants={"L_x": -1.0})),
        ("descend-in-y", changed(constants=[1])),
    ],
)
def test_unknown_tasks_are_refused(client, name, settings):
    assert refusal_of(client, request(task=name, settings=settings)) == "unknown task"


def test_a_task_that_cannot_be_run_is_refused(client):
    assert refusal_of(client, request(settings=changed(inner="magic"))).startswith("raised ")


def test_messages_that_are_no_requests_are_refused(client):
    for message in (Refusal("run", 1, "stale"), ask(client, DescribeRequest("run", 0))):
        assert refusal_of(client, message) == "malformed"
    assert decode(client.answer(b"no message")).reason == "malformed"
    assert decode(client.answer(encode(request())[:-1])).reason == "malformed"


def test_looking_moves_nothing(client):
    x = np.ones(4)
    before = ask(client, EvaluateRequest("run", 0, x, True))
    ask(client, request())
    y = client.y
    after = ask(client, EvaluateRequest("run", 1, x, True))
    assert np.array_equal(client.y, y)
    assert np.array_equal(after.vector, client._problem.fix(x).at(y).grad_x)
    assert ask(client, EvaluateRequest("run", 1, x, False)).vector.shape == (0,)
    at_start = ask(client, EvaluateRequest("run", 0, x, True))
    assert np.array_equal(at_start.vector, before.vector)
    assert at_start.value == before.value


def test_a_store_that_fails_moves_nothing(tmp_path, monkeypatch):
    client = Client(quadratic(np.random.default_rng(0), 4, 3), store=FolderStore(tmp_path))
    undisturbed = Client(quadratic(np.random.default_rng(0), 4, 3))
    ask(client, request())
    ask(undisturbed, request())

    def full(self, run, kept):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "save", full)
        assert refusal_of(client, request(2)) == "raised OSError"
    again, whole = ask(client, request(2)), ask(undisturbed, request(2))
    assert np.array_equal(again.vector, whole.vector)
    assert np.array_equal(client.y, undisturbed.y)


def test_damage_is_refused_without_telling_where(tmp_path):
    client = Client(quadratic(np.random.default_rng(0), 4, 3), store=FolderStore(tmp_path))
    ask(client, request())
    (tmp_path / "run.state").write_bytes(b"damage")
    assert ask(client, request(2)).reason == "raised CheckpointError"


@pytest.mark.parametrize("place", ["value", "grad_x", "grad_y"])
def test_errors_carry_no_data(place):
    row = np.random.default_rng(0).standard_normal(4)

    def failing(x, y):
        raise ValueError(f"bad row {row!r} {row.tobytes()!r} {float(row[0])} {float(row[0]).hex()}")

    parts = {"value": lambda x, y: 0.0, "grad_x": lambda x, y: x, "grad_y": lambda x, y: y, place: failing}
    client = Client(Function(parts["value"], parts["grad_x"], parts["grad_y"], d_x=4, d_y=3))
    for message in (request(), EvaluateRequest("run", 0, np.ones(4), True)):
        told = ask(client, message)
        assert told.reason == "raised ValueError"
        assert asdict(told) == {"run": "run", "round": message.round, "reason": "raised ValueError"}
        data = client.answer(encode(message))
        for secret in (row.tobytes(), row[:1].tobytes(), repr(float(row[0])).encode(), b"bad row"):
            assert secret not in data


def test_answers_that_are_not_finite_are_refused():
    def nan(x, y):
        return np.full_like(x, np.nan)

    client = Client(Function(None, nan, lambda x, y: y, d_x=4, d_y=3))
    assert refusal_of(client, request()) == "not finite"


def test_what_a_client_must_be_given():
    problem = glm(np.random.default_rng(0), 3, 2)
    for weight in (0.0, -1.0, float("inf"), float("nan"), "1"):
        with pytest.raises(minmin.InputError, match="weight"):
            Client(problem, weight)
    with pytest.raises(minmin.InputError, match="other than a Sum"):
        Client(minmin.Sum([problem]))
    with pytest.raises(minmin.InputError, match="y0 has shape"):
        Client(problem, y0=np.zeros(3))

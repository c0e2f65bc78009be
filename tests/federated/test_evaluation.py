"""Clients' own metrics: at the server's x and their own y_i, told only by name, and never part of what is measured."""

import numpy as np
import pytest

import minmin
from federated.cases import ask, glm, quadratic
from minmin import federated
from minmin.federated.protocol import MeasureRequest, Refusal, encode


def of_x(x, y):
    return float(x[0])


def of_y(x, y):
    return float(y @ y)


def raising(x, y):
    raise ZeroDivisionError("a secret")


def clients_with(metrics, count=3, seed=0):
    rng = np.random.default_rng(seed)
    return [federated.Client(glm(rng, 4, 3), weight=i + 1, name=f"ward {i}", metrics=metrics) for i in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "processes"])
def test_metrics_are_taken_at_the_answer_and_the_clients_own_y(engine):
    clients = clients_with({"first": of_x, "size": of_y})
    r = federated.run(clients, engine=engine, tol=1e-8, evaluate_every=1)
    assert r.history["first"].shape == (len(r.history), 3)
    assert np.array_equal(r.history["first"][0], np.zeros(3))
    assert np.array_equal(r.history["first"][-1], np.full(3, r.x[0]))
    assert np.array_equal(r.history["size"][-1], [client.y @ client.y for client in clients])
    told = federated.evaluate(clients, r.x, engine=engine)
    assert np.array_equal(told["size"], r.history["size"][-1])


def test_looking_changes_nothing_and_counts_nothing():
    quiet = federated.run(clients_with({"size": of_y}), tol=1e-8)
    asked = federated.run(clients_with({"size": of_y}), tol=1e-8, evaluate_every=2)
    assert np.array_equal(quiet.x, asked.x)
    assert quiet.calls == asked.calls
    assert quiet.history.bytes_up[-1] == asked.history.bytes_up[-1]


def test_metrics_are_asked_for_every_so_many_rounds():
    seen = []

    def counting(x, y):
        seen.append(x.copy())
        return len(seen)

    r = federated.run(clients_with({"calls": counting}, count=1), "bam", rounds=10, tol=0.0, evaluate_every=4)
    assert len(seen) == 3
    assert list(r.history["calls"][:, 0]) == [1.0] * 4 + [2.0] * 4 + [3.0] * 3
    assert list(r.history.grad_x) == list(range(11))


def test_a_client_without_a_metric_is_nan_and_nobody_is_asked_without_need():
    clients = [*clients_with({"size": of_y}, count=1), federated.Client(quadratic(np.random.default_rng(5), 4, 2))]
    r = federated.run(clients, rounds=2, tol=0.0)
    assert "size" not in r.history.columns
    told = federated.evaluate(clients, r.x)
    assert np.isfinite(told["size"][0])
    assert np.isnan(told["size"][1])


def test_a_metric_that_raises_ends_the_run_by_name_and_tells_nothing():
    clients = clients_with({"bad": raising}, count=2)
    r = federated.run(clients, retries=0, evaluate_every=1)
    assert r.status == "interrupted"
    assert "client 0 (ward 0) refused (raised ZeroDivisionError)" in r.message
    assert "secret" not in r.message
    with pytest.raises(federated.ClientError, match="ward 0"):
        federated.evaluate(clients, np.zeros(4), retries=0)


def test_only_declared_numbers_leave():
    rng = np.random.default_rng(0)
    client = federated.Client(glm(rng, 4, 3), metrics={"size": of_y})
    federated.run([client], rounds=3, tol=0.0)
    answer = ask(client, MeasureRequest("", 0, np.zeros(4)))
    assert vars(answer) == {"run": "", "round": 0, "metrics": {"size": client.y @ client.y}}
    assert client.y.tobytes() not in encode(answer)
    assert isinstance(ask(client, MeasureRequest("", 0, np.zeros(5))), Refusal)


def test_metrics_cannot_move_what_the_client_keeps():
    def mean(x, y):
        x[:], y[:] = np.nan, np.nan
        return 0.0

    clients = clients_with({"mean": mean})
    assert np.array_equal(
        federated.run(clients, tol=1e-8, evaluate_every=1).x, federated.run(clients_with({}), tol=1e-8).x
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": 3}, "name must be a str"),
        ({"metrics": [of_x]}, "mapping of names"),
        ({"metrics": {"a": 1.0}}, "names to callables"),
        ({"metrics": {"": of_x}}, "names to callables"),
    ],
)
def test_bad_names_and_metrics_are_refused(options, words):
    with pytest.raises(minmin.MinMinError, match=words):
        federated.Client(glm(np.random.default_rng(0), 4, 3), **options)


def test_two_clients_of_one_name_are_refused():
    rng = np.random.default_rng(0)
    clients = [federated.Client(glm(rng, 4, 3), name="ward") for _ in range(2)]
    with pytest.raises(minmin.MinMinError, match="more than one client is called 'ward'"):
        federated.run(clients)


def test_a_checkpoint_knows_its_clients_by_name(tmp_path):
    clients = clients_with({})
    federated.run(clients, rounds=2, tol=0.0, checkpoint=tmp_path / "run")
    clients[1].name = "another"
    with pytest.raises(minmin.CheckpointError):
        federated.run(clients, rounds=4, tol=0.0, checkpoint=tmp_path / "run")
    clients[1].name = "ward 1"
    assert federated.run(clients, rounds=4, tol=0.0, checkpoint=tmp_path / "run").calls["grad_x"] == 4


def test_a_resumed_run_measures_what_a_whole_one_does(tmp_path):
    options = {"tol": 0.0, "evaluate_every": 1}
    whole = federated.run(clients_with({"first": of_x, "size": of_y}), "bam", rounds=8, **options).history
    clients = clients_with({"first": of_x, "size": of_y})
    for rounds in (3, 8):
        cut = federated.run(clients, "bam", rounds=rounds, checkpoint=tmp_path / "c", **options).history
    assert cut.columns == whole.columns
    for column in ("grad_x", "value", "first", "size"):
        assert np.array_equal(cut[column], whole[column]), column


def test_metrics_are_measured_after_a_step_that_the_budget_cuts_off():
    """The history's last row is at the answer and the y_i of now."""
    clients = clients_with({"first": of_x, "size": of_y})
    r = federated.run(clients, "reduced-lbfgs", rounds=7, tol=0.0, evaluate_every=1)
    assert r.status == "budget"
    assert np.array_equal(r.history["first"][-1], np.full(3, r.x[0]))
    assert np.array_equal(r.history["size"][-1], [client.y @ client.y for client in clients])


def test_a_metric_that_was_not_announced_is_left_out():
    clients = clients_with({"first": of_x})

    def add(record):
        clients[0].metrics["size"] = of_y

    r = federated.run(clients, rounds=4, tol=0.0, evaluate_every=1, callback=add)
    assert r.history.columns[-1] == "first"
    assert np.array_equal(r.history["first"][-1], np.full(3, r.x[0]))

"""A client that sends numbers that cannot be is refused and named, with the number, whatever the engine."""

import math

import numpy as np
import pytest

import minmin
from federated.cases import Lying, three_clients, three_problems
from minmin import extend, federated
from minmin.federated import Client, ClientError
from minmin.federated.protocol import Envelope
from minmin.problems import Function


class Posting(extend.Engine):
    """Messages as bytes."""

    def __init__(self, clients):
        self.clients = clients

    def exchange(self, requests, timeout):
        return {n: Envelope.from_bytes(self.clients[n].answer(request.data)) for n, request in requests.items()}


def with_liar(kind, numbers, since=0):
    clients = three_clients()
    clients[1] = Lying(three_problems()[1], kind=kind, numbers=numbers, since=since)
    return clients


KNOWN = minmin.Constants(2.0, 2.0, 1.0, 1.0)
DESCRIPTIONS = [
    ({"weight": -1.0}, "weight = -1, which must be from 1e-100 to 1e+100"),
    ({"weight": 0.0}, "weight = 0, which must be from"),
    ({"weight": math.nan}, "weight = nan, which must be finite"),
    ({"weight": math.inf}, "weight = inf, which must be finite"),
    ({"weight": 1e308}, "weight = 1e+308, which must be from"),
    ({"d_y": -3}, "d_y = -3, which must be from 1 to"),
    ({"d_x": 0}, "d_x = 0, which must be from 1 to"),
    ({"d_x": 2**60}, "d_x = 1.15292e+18, which must be from"),
    ({"constants": minmin.Constants(1e308, 2.0, 1.0, 1.0)}, "L_x = 1e+308, which must be from"),
    ({"constants": minmin.Constants(2.0, 2.0, 1.0, 5e-324)}, "mu_y = 4.94066e-324, which must be from"),
]


@pytest.mark.parametrize(("numbers", "words"), DESCRIPTIONS)
@pytest.mark.parametrize("engine", [None, Posting])
def test_a_description_with_impossible_numbers_is_refused(engine, numbers, words):
    clients = with_liar("description", numbers)
    reached = (clients, "local") if engine is None else (3, engine(clients))
    with pytest.raises(ClientError) as caught:
        federated.run(reached[0], engine=reached[1], retries=1)
    assert str(caught.value).startswith(f"client 1 sent {words}")
    assert str(caught.value).endswith("in round 0, asked 2 times")


def test_a_description_of_another_dtype_is_refused():
    with pytest.raises(ClientError, match="client 1 computes in object, which must be float32 or float64"):
        federated.run(with_liar("description", {"dtype": "object"}), retries=0)


@pytest.mark.parametrize(
    "constants",
    [None, minmin.Constants(math.inf, math.inf, 0.0, 0.0), minmin.Constants(2.0, math.inf, 1.0, 0.0, "estimated")],
)
def test_constants_that_say_that_nothing_is_known_are_taken(constants):
    result = federated.run(with_liar("description", {"constants": constants}), retries=0, rounds=2)
    assert result.status == "budget"


REPLIES = [
    ({"grad_y_square": -1.0}, "grad_y_square = -1, which must be from 0 to"),
    ({"y_square": -1e-9}, "y_square = -1e-09, which"),
    ({"y_square": math.nan}, "y_square = nan, which must be finite"),
    ({"fixed_terms": 1e308}, "fixed_terms = 1e+308, which must be from 0 to 1e+100"),
    ({"fixed_terms": -1.0}, "fixed_terms = -1, which"),
    ({"eps": -1e-16}, "eps = -1e-16, which must be from 0 to 1"),
    ({"eps": 2.0}, "eps = 2, which"),
    ({"seconds": -1.0}, "seconds = -1, which"),
    ({"seconds": 1e300}, "seconds = 1e+300, which"),
    ({"value": math.nan}, "value = nan, which must be finite"),
    ({"value": None}, "value = None, which must be finite"),
    ({"calls": {"grad_y": -1}}, "calls = -1, which"),
    ({"calls": {"grad_y": 2**62}}, "calls = 4.61169e+18, which"),
    ({"vector": np.full(6, np.inf)}, "a vector of norm inf"),
    ({"memory": {"gain": -1.0}}, "gain = -1"),
    ({"memory": {"min_curvature_seen": -1.0}}, "min_curvature_seen = -1"),
    ({"memory": {"distance": math.nan}}, "distance = nan"),
]


@pytest.mark.parametrize(("numbers", "words"), REPLIES)
@pytest.mark.parametrize("engine", [None, Posting])
def test_a_reply_with_impossible_numbers_ends_the_run(engine, numbers, words):
    clients = with_liar("reply", numbers, since=3)
    reached = (clients, "local") if engine is None else (3, engine(clients))
    result = federated.run(reached[0], engine=reached[1], retries=1)
    assert result.status == "interrupted"
    assert result.message.startswith(f"client 1 (liar) sent {words}")
    assert result.message.endswith("in round 3, asked 2 times")
    assert result.nit == 2


@pytest.mark.slow
def test_processes_refuse_them_too():
    result = federated.run(with_liar("reply", {"eps": -1.0}, since=2), engine="processes", retries=0)
    assert result.message.startswith("client 1 (liar) sent eps = -1, which must be from 0 to 1")
    with pytest.raises(ClientError, match="client 1 sent weight = -1"):
        federated.run(with_liar("description", {"weight": -1.0}), engine="processes", retries=0)


def test_a_lie_that_passes_changes_nothing():
    class Once(Lying):
        def handle(self, request):
            reply = super().handle(request)
            self.numbers = {} if reply.message.kind == "reply" and reply.message.round == 2 else self.numbers
            return reply

    clients = three_clients()
    clients[1] = Once(three_problems()[1], kind="reply", numbers={"grad_y_square": -1.0}, since=2)
    clients[1].weight = three_clients()[1].weight
    result, expected = federated.run(clients), federated.run(three_clients())
    assert result.success
    assert np.array_equal(result.x, expected.x)


def test_an_honest_count_of_any_length_takes_no_time():
    """Counts are added at once, not one by one."""
    clients = with_liar("reply", {"calls": {"grad_y": 10**12}})
    assert federated.run(clients, rounds=2).calls["grad_y"] > 10**12


def test_a_long_text_of_a_client_is_cut():
    class Talking(Client):
        def _run_task(self, message, request):
            return Envelope(federated.protocol.Refusal(message.run, message.round, "no\n\x1b" * 1000))

    clients = [Talking(three_problems()[1], name="t" * 1000)]
    message = federated.run(clients, retries=0).message
    assert len(message) < 600
    assert message.isprintable()


def test_a_weight_outside_of_its_range_is_refused_at_the_client():
    for weight in (0.0, -1.0, math.inf, math.nan, 1e308, 10**400):
        with pytest.raises(minmin.InputError, match="weight"):
            Client(three_problems()[1], weight)


def test_a_metric_cannot_take_the_place_of_a_column():
    client = Client(three_problems()[1], metrics={"bytes_up": lambda x, y: -1.0, "grad loss": lambda x, y: math.nan})
    result = federated.run([client], rounds=2, evaluate_every=1)
    assert result.history.bytes_up[-1] > 0
    assert np.isnan(result.history["grad loss"]).all()


def zero(x, y):
    return 0.0


def nan_in_x(x, y):
    return x * math.nan


def nan_in_y(x, y):
    return y * math.nan


@pytest.mark.parametrize("engine", ["local", pytest.param("processes", marks=pytest.mark.slow)])
def test_clients_where_f_is_not_finite_are_named(engine):
    clients = three_clients()
    clients[1] = Client(Function(zero, nan_in_x, nan_in_y, d_x=6, d_y=2), name="north")
    with pytest.raises(minmin.NonFiniteError, match=r"f is NaN or infinite at client 1 \(north\); f may be infinite"):
        federated.run(clients, engine=engine)

"""The engine over a Grid whose nodes come, go, fail and dawdle: what comes out is what an undisturbed run finds."""

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra minmin[flower]")

from flwr.app import Context, RecordDict
from flwr.app import Message as FlowerMessage
from flwr.common.constant import ErrorCode
from flwr.supercore.task_identity import TaskIdentity

import minmin
from federated.cases import count_calls, three_clients, three_problems
from federated.flower.grids import InProcessGrid, Node, failing
from minmin import federated
from minmin.federated.flower import GridEngine, client_id
from minmin.federated.flower import grid as grid_module
from minmin.federated.flower.records import from_records, to_records
from minmin.federated.protocol import DescribeRequest, Envelope, Refusal, decode


@pytest.fixture(autouse=True)
def within_a_task(monkeypatch):
    """As Flower sets it for an app that runs."""
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    for name in ("_FIRST_PAUSE", "_LAST_PAUSE", "_NODES_SECONDS"):
        monkeypatch.setattr(grid_module, name, 0.0)


@pytest.fixture(scope="module")
def undisturbed():
    clients = three_clients()
    return federated.run(clients), [client.y for client in clients]


def build(client):
    return lambda context: client


def nodes_of(clients, first=100):
    """In another order than the clients, as Flower lists them."""
    return {first + 7 * (2 - i): Node(build(client), partition_id=i) for i, client in enumerate(clients)}


def assert_same(result, clients, undisturbed):
    expected, y = undisturbed
    assert result.success, result.message
    assert np.array_equal(result.x, expected.x)
    assert (result.fun, result.gap_bound, result.nit) == (expected.fun, expected.gap_bound, expected.nit)
    assert all(np.array_equal(client.y, own) for client, own in zip(clients, y, strict=True))


def asked(message, round_):
    """Whether a message of Flower's asks for the work of a round."""
    data, _ = from_records(message.content)
    return bool(data) and Envelope.from_bytes(data).label[::2] == ("task", round_)


def run(grid, **options):
    return federated.run(3, engine=GridEngine(grid, 3), **options)


def test_a_grid_changes_nothing(undisturbed):
    clients = three_clients()
    assert_same(run(InProcessGrid(nodes_of(clients))), clients, undisturbed)


def test_metrics_travel_too():
    clients = three_clients()
    for client in clients:
        client.metrics = {"size of y": lambda x, y: y @ y}
    engine = GridEngine(InProcessGrid(nodes_of(clients)), 3)
    r = federated.run(3, engine=engine, evaluate_every=1)
    told = federated.evaluate(3, r.x, engine=engine)["size of y"]
    assert np.array_equal(told, [client.y @ client.y for client in clients])
    assert np.array_equal(told, r.history["size of y"][-1])


def test_numbers_follow_the_ids_and_not_the_nodes():
    names = ["10", "9", "berlin"]
    grid = InProcessGrid({i: Node(build(client), client_id=names[i]) for i, client in enumerate(three_clients())})
    engine = GridEngine(grid, 3)
    federated.run(3, engine=engine, rounds=1)
    assert engine.ids == ["9", "10", "berlin"]


def test_the_first_exchange_waits_for_all_clients(undisturbed):
    clients = three_clients()
    there = nodes_of(clients)
    grid = InProcessGrid({})
    looks = []

    def arrive():
        looks.append(len(grid.nodes))
        if len(looks) % 3 == 0 and there:
            node = next(iter(there))
            grid.nodes[node] = there.pop(node)

    grid.on_look = arrive
    assert_same(run(grid), clients, undisturbed)
    assert 0 in looks


def test_too_few_clients_end_the_wait():
    grid = InProcessGrid(dict(list(nodes_of(three_clients()).items())[:2]))
    with pytest.raises(federated.ClientError, match="client 0 did not answer in round 0, asked 2 times"):
        run(grid, timeout=0.05, retries=1)


def test_nodes_that_are_no_clients_are_left_out(undisturbed):
    clients = three_clients()
    grid = InProcessGrid({1: Node(build(clients[0])), **nodes_of(clients)})  # the first has no name
    late = Node(build(clients[0]), partition_id=17)
    grid.on_push = lambda node, message: (
        failing(ErrorCode.CLIENT_APP_RAISED_EXCEPTION)(message) if node is grid.nodes.get(1) else node.handle(message)
    )
    grid.on_look = lambda: grid.nodes.update({2: late} if len(grid.pushed) > 10 else {})
    assert_same(run(grid), clients, undisturbed)
    assert all(from_records(message.content)[0] == b"" for message in late.received)


@pytest.mark.parametrize("answered", [False, True])
def test_a_client_that_restarts_on_another_node_is_asked_again(answered, undisturbed):
    """Killed before or after it worked, with its message or its answer lost; its state is on its disk."""
    clients = three_clients()
    grid = InProcessGrid(nodes_of(clients))
    moved = []

    def kill(node, message):
        if node.config["partition-id"] == 1 and asked(message, 3) and not moved:
            if answered:
                node.handle(message)
            moved.append(grid.nodes.pop(message.metadata.dst_node_id))
            grid.nodes[999] = moved[0]
            return None
        return node.handle(message)

    grid.on_push = kill
    assert_same(run(grid), clients, undisturbed)
    assert moved


def test_an_old_node_that_is_still_listed_is_not_waited_for(undisturbed):
    """Flower takes a minute to notice that a killed node is gone."""
    clients = three_clients()
    grid = InProcessGrid(nodes_of(clients))
    dead = set()

    def kill(node, message):
        number = message.metadata.dst_node_id
        if node.config["partition-id"] == 1 and asked(message, 3) and not dead:
            dead.add(number)
            grid.nodes[999] = node
        return None if number in dead else node.handle(message)

    grid.on_push = kill
    assert_same(run(grid), clients, undisturbed)
    assert dead <= set(grid.nodes)


def test_a_node_that_lost_what_it_was_asked_is_asked_again(undisturbed):
    """Nodes with keys keep their number, so nothing shows that one was killed with a message in its hands."""
    clients = three_clients()
    grid = InProcessGrid(nodes_of(clients))
    lost = []

    def lose(node, message):
        data, _ = from_records(message.content)
        kind = Envelope.from_bytes(data).label.kind if data else "who are you"
        if node.config["partition-id"] == 1 and kind not in lost:
            lost.append(kind)
            return None
        return node.handle(message)

    grid.on_push = lose
    assert_same(run(grid, timeout=0.2), clients, undisturbed)
    assert lost == ["who are you", "describe", "evaluate", "task"]


def test_a_client_on_two_nodes_is_heard_once(undisturbed):
    """It moved, and both its old node and its new one answer, in a later attempt for another client."""
    clients = three_clients()
    grid = InProcessGrid(nodes_of(clients))
    held, slow = [], []

    def move(node, message):
        number = node.config["partition-id"]
        if number == 1 and asked(message, 3):
            grid.nodes[999] = node
            held.append(node.handle(message))
            return held[1] if len(held) == 2 else None
        if number == 2 and asked(message, 3):
            slow.append(message)
            if len(slow) == 1:
                return None
            grid.replies[held[0].metadata.reply_to_message_id] = held[0]
        return node.handle(message)

    grid.on_push = move
    assert_same(run(grid, timeout=0.2), clients, undisturbed)
    assert len(slow) == 2
    assert list(grid.replies.values()) == held[:1]


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.CLIENT_APP_RAISED_EXCEPTION,
        ErrorCode.LOAD_CLIENT_APP_EXCEPTION,
        ErrorCode.CLIENT_APP_CRASHED,
        ErrorCode.NODE_UNAVAILABLE,
        ErrorCode.MESSAGE_UNAVAILABLE,
        ErrorCode.REPLY_MESSAGE_UNAVAILABLE,
        ErrorCode.UNKNOWN,
    ],
)
def test_an_error_that_passes_changes_nothing(code, undisturbed):
    clients = three_clients()
    grid = InProcessGrid(nodes_of(clients))
    failed = []

    def fail(node, message):
        due = node.config["partition-id"] == 2 and asked(message, 2) and not failed
        if due:
            failed.append(message)
            node.handle(message)
        return failing(code)(message) if due else node.handle(message)

    grid.on_push = fail
    assert_same(run(grid), clients, undisturbed)
    assert failed


def test_a_greeting_that_does_not_arrive_is_repeated(undisturbed):
    clients = three_clients()
    grid = InProcessGrid(nodes_of(clients))
    unreached = failing(ErrorCode.NODE_UNAVAILABLE)
    grid.on_push = lambda node, message: unreached(message) if len(grid.pushed) < 8 else node.handle(message)
    assert_same(run(grid), clients, undisturbed)


def test_a_message_that_flower_does_not_take_is_sent_again(undisturbed):
    clients = three_clients()
    grid = InProcessGrid(nodes_of(clients))
    push, refused = grid.push_messages, []

    def refuse_some(messages):
        keys = push(messages)
        if len(refused) < 3:
            refused.append(keys[0])
            grid.replies.pop(keys[0])
            keys[0] = None
        return keys

    grid.push_messages = refuse_some
    assert_same(run(grid), clients, undisturbed)
    assert len(refused) == 3


def test_an_error_that_stays_is_told_without_its_words():
    grid = InProcessGrid(nodes_of(three_clients()))
    raising = failing(ErrorCode.CLIENT_APP_RAISED_EXCEPTION)
    grid.on_push = lambda node, message: raising(message) if asked(message, 2) else node.handle(message)
    result = run(grid, retries=1)
    assert result.status == "interrupted"
    assert "client 0 refused (its ClientApp raised an exception) in round 2, asked 2 times" in result.message
    assert "3.14159" not in result.message


def test_a_late_answer_to_the_same_request_counts(undisturbed):
    """It takes longer than the timeout, and is there before the repetition is answered."""
    clients = three_clients()
    grid = InProcessGrid(nodes_of(clients))
    held = []

    def dawdle(node, message):
        if node.config["partition-id"] == 0 and asked(message, 2):
            held.append(node.handle(message))
            if len(held) == 2:
                grid.replies[held[0].metadata.reply_to_message_id] = held[0]
            return None
        return node.handle(message)

    grid.on_push = dawdle
    assert_same(run(grid, timeout=0.2), clients, undisturbed)
    assert len(held) == 2


def test_answers_to_older_requests_are_never_read(undisturbed):
    """What comes for round 2 after that round was given up is left where it is."""
    clients = three_clients()
    grid = InProcessGrid(nodes_of(clients))
    late = []

    def answer_twice(node, message):
        reply = node.handle(message)
        if asked(message, 2):
            late.append(reply)
        if asked(message, 4):
            grid.replies.update({f"late {r.metadata.reply_to_message_id}": r for r in late})
        return reply

    grid.on_push = answer_twice
    assert_same(run(grid), clients, undisturbed)
    assert len(grid.replies) == len(late) == 3


@pytest.mark.parametrize("content", ["none of ours", "no message", "another kind"])
def test_an_answer_that_is_no_message_is_asked_for_again(content, undisturbed):
    contents = {"no message": b"garbage", "another kind": Envelope(DescribeRequest("a", 0)).data}
    clients = three_clients()
    grid = InProcessGrid(nodes_of(clients))
    spoilt = []

    def spoil(node, message):
        reply = node.handle(message)
        if node.config["partition-id"] == 1 and asked(message, 2) and not spoilt:
            spoilt.append(message)
            other = to_records(contents[content], "1") if content in contents else RecordDict()
            return FlowerMessage(other, reply_to=message)
        return reply

    grid.on_push = spoil
    assert_same(run(grid), clients, undisturbed)
    assert spoilt


class Raising(federated.Client):
    def handle(self, message):
        raise RuntimeError("row 3.14159 of the data is wrong")


def raises(context):
    raise RuntimeError("row 3.14159 of the data is wrong")


@pytest.mark.parametrize("broken", [raises, build(Raising(three_problems()[2]))])
def test_what_a_client_raises_stays_with_it(broken):
    nodes = nodes_of(three_clients())
    nodes[100] = Node(broken, partition_id=2)
    grid = InProcessGrid(nodes)
    with pytest.raises(federated.ClientError, match=r"client 2 refused \(raised RuntimeError\)") as caught:
        run(grid)
    assert "3.14159" not in str(caught.value)
    assert not any("3.14159" in str(message.content) for message in grid.pulled)


def answer_of(node, records):
    message = FlowerMessage(records, 1, "query")
    message.metadata.__dict__.update({"_message_id": "1", "_src_node_id": 1, "_run_id": 1})
    return from_records(node.handle(message).content)


def test_a_message_for_somebody_else_is_refused():
    client = three_clients()[0]
    node = Node(build(client), partition_id=0)
    reply, name = answer_of(node, to_records(Envelope(DescribeRequest("r", 0)).data, "1"))
    assert (decode(reply), name) == (Refusal("r", 0, "the request is for another client"), "0")


def test_records_that_are_not_ours_are_refused():
    node = Node(build(three_clients()[0]), partition_id=0)
    for records in (RecordDict(), to_records(b"no message", "0")):
        assert decode(answer_of(node, records)[0]) == Refusal("", 0, "malformed")


def test_a_node_without_a_name_says_how_to_give_it_one():
    context = Context(run_id=1, node_id=2, node_config={}, state=RecordDict(), run_config={})
    with pytest.raises(minmin.InputError, match=r"--node-config 'client-id="):
        client_id(context)


@pytest.mark.parametrize(("clients", "words"), [(0, "at least one client"), (-1, "whole number"), (2.5, "a number")])
def test_how_many_clients_is_checked(clients, words):
    with pytest.raises(minmin.InputError, match=words):
        federated.run(clients, engine=GridEngine(InProcessGrid({}), 1))


def test_every_message_is_encoded_once_and_decoded_once(monkeypatch):
    """By whoever sends it and by whoever receives it; Flower's records hold those bytes."""
    calls = count_calls(monkeypatch)
    run(InProcessGrid(nodes_of(three_clients())), rounds=2, tol=0.0)
    exchanges = 1 + 1 + 2 + 1  # describe, the start's value, the rounds, the end
    assert calls == {"encode": exchanges * (1 + 3), "decode": exchanges * (3 + 3)}

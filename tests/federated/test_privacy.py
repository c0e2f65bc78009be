"""What leaves a client: one vector of x's size and the scalars that a reply names; no y_i, no data, no label."""

from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest

from federated.cases import Listening
from minmin import federated
from minmin.federated import Client, FolderStore, LocalEngine, ProcessEngine
from minmin.federated.protocol import Description, Refusal, Reply, decode
from minmin.problems import GLM, Quadratic

D_X, SIZES = 7, (3, 5)


def clients(folder):
    """Clients whose numbers are irrational, so that none is met by chance; d_y is never d_x."""
    rng = np.random.default_rng(0)
    found = []
    for i, d_y in enumerate(SIZES):
        X, Y = rng.standard_normal((20, D_X)), rng.standard_normal((20, d_y))
        target = rng.standard_normal(20)
        problem = GLM(X, Y, target, "squared", alpha_x=0.1, alpha_y=0.1, sample_weight=rng.uniform(0.5, 2.0, 20))
        y0 = rng.standard_normal(d_y)
        found.append(Client(problem, 1.0 + i, y0=y0, store=FolderStore(folder / str(i))))
    return found


class Secrets:
    """Numbers that must not leave, looked for as text and as bytes.

    In single precision two neighbours are looked for: the four bytes of one number are met by chance in one run of
    about sixty. A number that is sent alone is met in every run: see :meth:`singles_in`.
    """

    def __init__(self, holders):
        self.numbers, self.neighbours = set(), set()
        for problem in (client._problem for client in holders):
            for array in (problem.X, problem.Y, problem.target, problem.weights):
                self.watch(array)
                self.watch(array.T)
        for client in holders:
            self.watch(client.y)

    def watch(self, array):
        numbers = [float(v) for v in np.ravel(array)]
        self.numbers |= {v for v in numbers if v != 0.0}
        self.neighbours |= {pair for pair in pairwise(numbers) if pair != (0.0, 0.0)}

    def found_in(self, messages):
        """Which of them occur; one search a message, over all of its windows and words."""
        pieces = {np.array(v, dtype).tobytes(): v for v in self.numbers for dtype in ("<f8", ">f8")}
        pieces |= {np.array(pair, dtype).tobytes(): pair for pair in self.neighbours for dtype in ("<f4", ">f4")}
        texts = {text: v for v in self.numbers for text in (repr(v), f"{v:.10g}"[:12], float(v).hex())}
        found = set()
        for data in messages:
            windows = {data[i : i + 8] for i in range(len(data) - 7)}
            found |= {pieces[w] for w in windows & pieces.keys()}
            words = data.decode("latin-1")
            found |= {v for text, v in texts.items() if text in words}
        return found

    def singles_in(self, messages):
        """Which of them occur as four bytes, be it by chance."""
        pieces = {np.array(v, dtype).tobytes(): v for v in self.numbers for dtype in ("<f4", ">f4")}
        return {pieces[data[i : i + 4]] for data in messages for i in range(len(data) - 3) if data[i : i + 4] in pieces}


class Spied:
    """Every y that a client ever held, seen where it is."""

    def __init__(self, holders, secrets):
        self.holders, self.secrets = holders, secrets

    def __call__(self, record):
        for client in self.holders:
            self.secrets.watch(client.y)


VARIANTS = [("bam", {}), ("bam", {"inner": "newton"}), ("reduced-lbfgs", {}), ("reduced-lbfgs", {"stateless": True})]


@pytest.mark.parametrize(("method", "options"), VARIANTS)
def test_no_message_of_a_run_holds_what_is_private(method, options, tmp_path):
    holders = clients(tmp_path)
    secrets, engine = Secrets(holders), Listening(LocalEngine(holders))
    result = federated.run(holders, method, engine=engine, callback=Spied(holders, secrets), **options)
    assert result.success
    assert len(engine.up) >= 12
    assert len(secrets.numbers) > 500
    assert not secrets.found_in(engine.up + engine.down)


def test_no_number_of_the_data_leaves_alone_in_single_precision(tmp_path):
    """It would leave in two runs that differ in all else."""
    found = []
    for start in (-1.0, 1.0):
        holders = clients(tmp_path / str(start))
        secrets, engine = Secrets(holders), Listening(LocalEngine(holders))
        assert federated.run(holders, "bam", x0=np.full(D_X, start), engine=engine).success
        found.append(secrets.singles_in(engine.up + engine.down))
    assert not found[0] & found[1]


@pytest.mark.slow
def test_no_message_between_processes_holds_what_is_private(tmp_path):
    holders = clients(tmp_path)
    secrets, engine = Secrets(holders), Listening(ProcessEngine(holders))
    try:
        assert federated.run(holders, engine=engine, callback=Spied(holders, secrets)).success
    finally:
        engine.close()
    assert not secrets.found_in(engine.up + engine.down)


def test_the_search_finds_what_is_there(tmp_path):
    holders = clients(tmp_path)
    secrets = Secrets(holders)
    X = holders[1]._problem.X
    of_a_row, of_a_column = X[3, 2:4].astype("float32"), X[5:7, 1].astype(">f4")
    in_words = b"<<" + repr(float(X[3, 1])).encode() + b">>"
    for leak in (X[3, 2].tobytes(), of_a_row.tobytes(), of_a_column.tobytes(), in_words):
        assert secrets.found_in([b"abc" + leak])
    assert secrets.singles_in([b"abc" + holders[1]._problem.target[4].astype("float32").tobytes()])


def test_what_leaves_is_one_vector_and_named_scalars(tmp_path):
    holders = clients(tmp_path)
    engine = Listening(LocalEngine(holders))
    federated.run(holders, "bam", engine=engine, tol=1e-3)
    kinds = set()
    for message in map(decode, engine.up):
        kinds.add(type(message))
        arrays = {name: value for name, value in vars(message).items() if isinstance(value, np.ndarray)}
        if isinstance(message, Description):
            assert not arrays
            continue
        assert isinstance(message, Reply)
        assert set(arrays) == {"vector"}
        assert message.vector.shape in ((D_X,), (0,))
        assert set(message.memory) <= {"failures", "largest_gradient"}
        numbers = [*message.memory.values(), *message.calls.values()]
        numbers += [getattr(message, f.name) for f in fields(message) if str(f.type).startswith(("float", "int"))]
        assert all(number is None or isinstance(number, float | int) for number in numbers)
    assert kinds == {Description, Reply}


def test_the_server_is_sent_no_array_of_the_size_of_y(tmp_path):
    """Nor does its own state, or its checkpoint, hold one."""
    holders = clients(tmp_path)
    secrets = Secrets(holders)
    result = federated.run(holders, "bam", tol=1e-3, callback=Spied(holders, secrets), checkpoint=tmp_path / "server")
    assert result.y is None
    assert not secrets.found_in([(tmp_path / "server").read_bytes()])


class LeakyError(Exception):
    """Tells a row of the data, as errors of users' code do."""


class Leaky(Quadratic):
    """Raises with its own data in the error's words."""

    def fix(self, x):
        raise LeakyError(f"bad row {self.H[0].tolist()} {self.H.tobytes()!r}")


def test_refusals_hold_nothing_private():
    q = Quadratic.random(d_x=4, d_y=3, coupling=1.0)
    client = Client(Leaky(q.H, q.b, 4))
    engine = Listening(LocalEngine([client]))
    result = federated.run([client], "bam", engine=engine)
    assert result.status == "interrupted"
    assert "client 0 refused (raised LeakyError)" in result.message
    refusals = [message for message in map(decode, engine.up) if isinstance(message, Refusal)]
    assert {message.reason for message in refusals} == {"raised LeakyError"}
    for number in np.ravel(q.H):
        for data in engine.up:
            assert number.tobytes() not in data
            assert repr(float(number)).encode() not in data

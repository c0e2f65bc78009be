"""Stores: whole or not at all, never backwards, and clear about damage."""

import errno
import os
import signal
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import minmin
from minmin.core.arrays import dtype_name
from minmin.federated import FolderStore, MemoryStore
from minmin.federated.protocol import Envelope, Reply
from minmin.federated.store import ClientState
from minmin.loop.codec import encode, seal
from minmin.methods.inner.partial_minimum import YMemory
from minmin.numerics.lbfgs import Pairs, remember

Y = np.array([np.pi, np.e])


class Nested(NamedTuple):
    """A memory that no task declares."""

    y: int


def kept(round_=1, y=Y):
    reply = Reply(
        "run", round_, np.ones(3, dtype_name(y)), 1.0, 0.5, 0.25, 0.0, 1e-16, {"gain": 2.0}, {"grad_y": 3}, 0.1
    )
    return ClientState(
        round_,
        y,
        YMemory(y, remember(Pairs(), y, 2.0 * y), gradient=3.0 * y, gain=0.5, distance=0.25),
        "digest",
        Envelope(reply),
    )


def assert_same(a, b):
    assert (a.round, a.request) == (b.round, b.request)
    assert a.reply.data == b.reply.data
    assert np.array_equal(a.y, b.y)
    assert np.array_equal(a.memory.y, b.memory.y)
    assert np.array_equal(a.memory.gradient, b.memory.gradient)
    others = dict.fromkeys(("y", "solver", "gradient"))  # compared above and below
    assert a.memory._replace(**others) == b.memory._replace(**others)
    for one, other in zip(a.memory.solver, b.memory.solver, strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other))


@pytest.fixture(params=["memory", "folder"])
def store(request, tmp_path):
    return MemoryStore() if request.param == "memory" else FolderStore(tmp_path / "a" / "b")


def test_one_state_a_run(store):
    assert store.load("run", Y) is None
    assert store.newest() is None
    for number in (1, 2):
        store.save("run", kept(number))
    store.save("other", kept(7))
    assert_same(store.load("run", Y), kept(2))
    assert_same(store.load("other", Y), kept(7))
    assert store.newest() == "other"


def test_a_folder_is_found_again(tmp_path):
    FolderStore(tmp_path).save("run", kept())
    assert_same(FolderStore(tmp_path).load("run", Y), kept())
    assert FolderStore(tmp_path).newest() == "run"


def test_single_precision_stays(tmp_path):
    y = Y.astype("float32")
    FolderStore(tmp_path).save("run", kept(y=y))
    found = FolderStore(tmp_path).load("run", y)
    assert found.y.dtype == found.memory.y.dtype == np.float32
    assert np.array_equal(found.y, y)


def test_arrays_come_back_in_their_library(tmp_path):
    strict = pytest.importorskip("array_api_strict")
    y = strict.asarray([np.pi, np.e])
    FolderStore(tmp_path).save("run", kept(y=y))
    assert type(FolderStore(tmp_path).load("run", y).memory.y) is type(y)


def test_a_round_never_goes_back(tmp_path):
    """A process that was taken for dead writes at last, after its successor."""
    late, successor = FolderStore(tmp_path), FolderStore(tmp_path)
    successor.save("run", kept(2))
    for number in (1, 2):
        with pytest.raises(minmin.CheckpointError, match="another process has saved round 2 to the client state"):
            late.save("run", kept(number, 2 * Y))
    assert_same(late.load("run", Y), kept(2))


@pytest.mark.parametrize("name", ["", "..", "a/b", "../a", "a\0b", "a.state", "ü", "x" * 65, " a", "a\n"])
def test_names_that_are_no_runs_are_refused(name, tmp_path):
    store = FolderStore(tmp_path / "s")
    for use in (lambda: store.load(name, Y), lambda: store.save(name, kept())):
        with pytest.raises(minmin.InputError, match="must be 1 to 64 letters, digits"):
            use()
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(minmin.InputError, match="cannot use the folder"):
        FolderStore(tmp_path / "file" / "state")


def test_every_damage_is_told(tmp_path):
    store = FolderStore(tmp_path)
    store.save("run", kept())
    path = tmp_path / "run.state"
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    flipped = [bytes([*whole[:i], whole[i] ^ 4, *whole[i + 1 :]]) for i in rng.integers(len(whole), size=100)]
    cut = [whole[:i] for i in (0, 5, 30, len(whole) // 2, len(whole) - 1)]
    for data in [*flipped, *cut, b"something else"]:
        path.write_bytes(data)
        damaged = data.startswith(b"minmin client state ")
        words = "is truncated or damaged" if damaged else "is not a minmin client state"
        with pytest.raises(minmin.CheckpointError, match=rf"run\.state {words}; it was left as it is"):
            store.load("run", Y)
        assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"minmin client state 1\n" + b"0" * 32, "older format, from an earlier minmin, and cannot be resumed"),
        (seal("minmin client state", 99, b"")[:-1], "truncated or damaged"),
        (seal("minmin client state", 99, b"x"), "has format 99, from a newer minmin; this one reads 4"),
        (seal("minmin checkpoint", 2, b"x"), "is not a minmin client state"),
        (seal("minmin client state", 4, encode(Nested(1), {})), "of a task whose module is not imported"),
    ],
)
def test_files_of_other_formats_are_refused_and_left(head, words, tmp_path):
    path = tmp_path / "run.state"
    path.write_bytes(head)
    store = FolderStore(tmp_path)
    for use in (lambda: store.load("run", Y), lambda: store.save("run", kept())):
        with pytest.raises(minmin.CheckpointError, match=words):
            use()
    assert path.read_bytes() == head


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    store = FolderStore(tmp_path)
    store.save("run", kept(1))

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            store.save("run", kept(2))
    assert_same(store.load("run", Y), kept(1))
    store.save("run", kept(2))
    assert_same(store.load("run", Y), kept(2))


KILLED_BETWEEN = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from federated.test_store import kept
from minmin.federated import FolderStore
store = FolderStore(sys.argv[1])
store.save("run", kept(1))
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
store.save("run", kept(2))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_killed_between_writing_and_renaming(tmp_path):
    here = os.path.dirname(os.path.dirname(__file__))
    child = subprocess.run([sys.executable, "-c", KILLED_BETWEEN, str(tmp_path), here], timeout=60)
    assert child.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".run.state.*.tmp"))) == 1
    store = FolderStore(tmp_path)
    assert_same(store.load("run", Y), kept(1))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "run.state"]
    store.save("run", kept(2))
    assert_same(store.load("run", Y), kept(2))

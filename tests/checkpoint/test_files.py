"""Checkpoint files: atomic, whole or refused, and never lost."""

import errno
import io
import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import minmin
from minmin.files import write_atomically
from minmin.loop import checkpoint as module
from minmin.loop import codec
from minmin.problems import Quadratic
from reference import as_function

PROBLEM = Quadratic.random(d_x=6, d_y=3, coupling=1.0)


def begin(path, **arguments):
    return minmin.minimize(PROBLEM, **{"method": "bam", "max_grad_x": 7, "checkpoint": path, **arguments})


def refused(path, words, **arguments):
    before = path.read_bytes()
    with pytest.raises(minmin.CheckpointError, match=words) as caught:
        begin(path, **arguments)
    assert isinstance(caught.value, ValueError)
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]


def test_it_is_that_very_file_and_nothing_else(tmp_path):
    file = tmp_path / "odd name.ckpt"
    begin(file)
    assert [p.name for p in tmp_path.iterdir()] == ["odd name.ckpt"]
    assert begin(str(file), max_grad_x=20).nit == 20


@pytest.mark.parametrize("keep", [0, 5, 17, 18, 60, 90, 400, -1])
def test_truncated(tmp_path, keep):
    file = tmp_path / "c"
    begin(file)
    file.write_bytes(file.read_bytes()[:keep])
    refused(file, "truncated or damaged" if keep < 0 or keep >= 18 else "not a minmin checkpoint")


def test_a_flipped_bit_anywhere_is_seen(tmp_path):
    file = tmp_path / "c"
    begin(file)
    whole = file.read_bytes()
    for position in np.linspace(0, len(whole) - 1, 60).astype(int):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << (position % 8)
        file.write_bytes(bytes(damaged))
        with pytest.raises(minmin.CheckpointError, match=r"not a minmin checkpoint|truncated or damaged"):
            begin(file)
        assert file.read_bytes() == bytes(damaged)


def test_foreign_files(tmp_path):
    for content in (b"hello", b"\x80\x04\x95", b"PK\x03\x04", np.arange(9).tobytes()):
        file = tmp_path / "c"
        file.write_bytes(content)
        refused(file, "not a minmin checkpoint; it was left as it is")


def test_a_newer_format(tmp_path, monkeypatch):
    file = tmp_path / "c"
    monkeypatch.setattr(module, "_FORMAT", 99)
    begin(file)
    monkeypatch.undo()
    refused(file, "format 99, from a newer minmin; this one reads 8")


@pytest.mark.parametrize("head", [b"minmin checkpoint\n", b"minmin checkpoint 1\n"])
def test_an_older_format(tmp_path, head):
    file = tmp_path / "c"
    file.write_bytes(head + b"0" * 64 + b"\n1\nan archive")
    refused(file, "older format, from an earlier minmin, and cannot be resumed; it was left as it is")


def test_the_format_before_this_one(tmp_path, monkeypatch):
    file = tmp_path / "c"
    monkeypatch.setattr(module, "_FORMAT", 3)
    begin(file)
    monkeypatch.undo()
    refused(file, "older format, from an earlier minmin, and cannot be resumed; it was left as it is")


def test_the_parts_of_a_sum_keep_their_key_on_disk():
    """Checkpoints written while the class was called Blocks say "blocks"."""
    parts = minmin.Parts([np.ones(2), np.zeros(1)], [0.5, 2.0])
    archive = codec.encode(parts, {})
    with np.load(io.BytesIO(archive)) as stored:
        assert list(json.loads(stored["manifest"].tobytes())["tree"]) == ["blocks", "weights"]
    again = codec.decode(archive, (), None)
    assert [part.tolist() for part in again] == [[1.0, 1.0], [0.0]]
    assert list(again.weights) == [0.5, 2.0]


def test_another_run(tmp_path):
    file = tmp_path / "c"
    begin(file)
    refused(file, "another method", method="nag")
    refused(file, "another method", inner="nag")
    refused(file, "another start", x0=np.ones(6))
    before = file.read_bytes()
    with pytest.raises(minmin.CheckpointError, match="another problem"):
        minmin.minimize(Quadratic.random(d_x=6, d_y=3, coupling=1.0, seed=1), method="bam", checkpoint=file)
    assert file.read_bytes() == before


def test_callables_are_told_apart_by_their_values(tmp_path):
    file = tmp_path / "c"
    one = as_function(PROBLEM)
    minmin.minimize(one, method="bam", max_grad_x=5, checkpoint=file)
    other = as_function(PROBLEM)
    other.value = lambda x, y: one.value(x, y) + 1.0
    with pytest.raises(minmin.CheckpointError, match="another problem: f at the start"):
        minmin.minimize(other, method="bam", checkpoint=file)


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(minmin.CheckpointError, match="is a folder"):
        begin(tmp_path)
    with pytest.raises(minmin.CheckpointError, match="cannot be written: No such file"):
        begin(tmp_path / "missing" / "c")
    with pytest.raises(minmin.CheckpointError, match="must be a path"):
        begin(3.5)


def test_a_full_disk_costs_neither_the_old_file_nor_the_answer(tmp_path, monkeypatch):
    file = tmp_path / "c"
    begin(file)
    before = file.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(minmin.CheckpointError, match="No space left") as caught:
        begin(file, max_grad_x=30)
    assert caught.value.result.nit == 30
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["c"]


def test_a_new_file_is_durable_in_its_folder_too(tmp_path, monkeypatch):
    synced, sync = [], os.fsync

    def note(descriptor):
        synced.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write_atomically(tmp_path / "c", b"content")
    assert synced == ["file", "folder"]


@pytest.mark.parametrize("error", [errno.EINVAL, errno.ENOTSUP])
def test_file_systems_that_sync_no_folders(tmp_path, monkeypatch, error):
    fail_to_sync_folders(monkeypatch, error)
    write_atomically(tmp_path / "c", b"content")
    assert (tmp_path / "c").read_bytes() == b"content"


def test_a_disk_that_fails_to_sync_a_folder_is_told(tmp_path, monkeypatch):
    fail_to_sync_folders(monkeypatch, errno.EIO)
    with pytest.raises(OSError, match=f"{os.strerror(errno.EIO)}.*{tmp_path / 'c'}"):
        write_atomically(tmp_path / "c", b"content")


def fail_to_sync_folders(monkeypatch, error):
    sync = os.fsync

    def fail(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(error, os.strerror(error))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fail)


def test_reading_runs_no_code(tmp_path, monkeypatch):
    import pickle

    file = tmp_path / "c"
    begin(file)

    def forbidden(*_, **__):
        raise AssertionError("unpickled")

    monkeypatch.setattr(pickle, "loads", forbidden)
    monkeypatch.setattr(pickle, "load", forbidden)
    assert begin(file, max_grad_x=20).nit == 20
    assert b"pickle" not in file.read_bytes()


def test_every_end_leaves_a_file_that_goes_on(tmp_path):
    ends = {
        "converged": {"tol": 1e-3},
        "interrupted": {"callback": lambda record: record.grad_x == 6},
        "stalled": {"tol": 1e-300},
        "budget": {"max_grad_x": 3},
    }
    for status, arguments in ends.items():
        file = tmp_path / status
        r = minmin.minimize(PROBLEM, method="bam", checkpoint=file, **arguments)
        assert r.status == status
        again = minmin.minimize(PROBLEM, method="bam", checkpoint=file, tol=1e-3)
        assert again.success
        assert again.nit >= min(r.nit, 1)


def test_an_error_leaves_a_file_that_goes_on(tmp_path):
    file = tmp_path / "c"
    f, count = as_function(PROBLEM), [0]
    gradient = f.grad_x

    def failing(x, y):
        count[0] += 1
        if count[0] == 6:
            raise RuntimeError("the cluster is down")
        return gradient(x, y)

    f.grad_x = failing
    with pytest.raises(minmin.UserCodeError, match="the cluster is down"):
        minmin.minimize(f, method="bam", checkpoint=file)
    r = minmin.minimize(f, method="bam", checkpoint=file)
    whole = minmin.minimize(as_function(PROBLEM), method="bam")
    assert np.array_equal(r.x, whole.x)
    assert r.calls == whole.calls


CHILD = textwrap.dedent("""
    import sys, time
    import numpy as np, minmin
    from minmin.loop import checkpoint
    checkpoint._SHARE = 1e9  # write after every iteration
    problem = minmin.problems.Quadratic.random(d_x=20, d_y=5, L_x=50.0, L_y=500.0, coupling=1.0)
    def slow(record):
        time.sleep(0.003)
    print("ready", flush=True)
    r = minmin.minimize(problem, method=sys.argv[2], tol=1e-6, callback=slow, checkpoint=sys.argv[1])
    np.savez(sys.argv[1] + ".answer", x=r.x, y=r.y, calls=sorted(r.calls.items()), **{c: r.history[c] for c in
             ("grad_x", "grad_y", "value", "gap_bound")})
""")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bam", "acdm"])
def test_killed_at_random_moments(method, tmp_path):
    """SIGKILL, three times a method; what is left goes on, and the end is that of an undisturbed run."""
    rng = np.random.default_rng(0)

    def start(name):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path / name), method], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout.readline() == "ready\n"
        return child

    undisturbed = start("whole")
    kills = 0
    for _ in range(3):
        child = start("cut")
        time.sleep(rng.uniform(0.0, 0.25))
        child.send_signal(signal.SIGKILL)
        kills += child.wait(timeout=60) == -signal.SIGKILL
        child.stdout.close()
    assert kills == 3
    for child in (start("cut"), undisturbed):
        assert child.wait(timeout=120) == 0
        child.stdout.close()
    with np.load(tmp_path / "whole.answer.npz") as a, np.load(tmp_path / "cut.answer.npz") as b:
        for name in a.files:
            assert np.array_equal(a[name], b[name]), name

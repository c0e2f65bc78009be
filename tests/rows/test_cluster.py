"""On a cluster of Dask: every loss, workers that are killed, and a cluster that is closed in the middle of a run."""

import gc
import os
import random
import signal
import threading
import time

import numpy as np
import pytest

import minmin
from minmin.problems.linear.losses import Loss
from rows.cases import ALL_LOSSES, CLASSES, agree, make_data, make_here, penalties
from rows.test_dask import cut_sparse, da

distributed = pytest.importorskip("distributed", reason="needs minmin[dask]")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    here = "127.0.0.1"
    listening = {"host": here, "dashboard_address": f"{here}:0", "worker_dashboard_address": f"{here}:0"}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **listening) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


def make_there(loss, data, parts):
    X, Y, target, weights, offset = data
    X = cut_sparse(X, parts)
    args = X, da.from_array(Y, chunks=(X.chunks[0], -1)), target
    options = {"sample_weight": weights, "offset": offset, **penalties()}
    if loss == "softmax":
        return minmin.problems.Softmax(*args, CLASSES, **options)
    return minmin.problems.GLM(*args, loss, **options)


@pytest.mark.parametrize(("loss", "parts"), [*((loss, 7) for loss in ALL_LOSSES), ("logistic", 1), ("logistic", 2)])
def test_the_same_run(client, loss, parts):
    data = make_data(loss)
    models = make_here(loss, data), make_there(loss, data, parts)
    agree(*(minmin.minimize(model, method="reduced-newton", tol=1e-10) for model in models))


class Quartic(Loss):
    """A loss that workers cannot import."""

    def value(self, margins, target, shared):
        return 0.5 * (margins - target) ** 2 + (margins - target) ** 4

    def slope(self, margins, target, shared):
        return (margins - target) + 4 * (margins - target) ** 3

    def curvature(self, margins, target, shared):
        return 1.0 + 12 * (margins - target) ** 2


def test_your_own_loss(client):
    data = make_data("squared")
    models = make_here(Quartic(), data), make_there(Quartic(), data, 3)
    agree(*(minmin.minimize(model, method="reduced-newton", tol=1e-6) for model in models))


def find_pids(client):
    """The processes of the workers, from those that watch them: a worker that is dying would not answer."""
    return [nanny.pid for nanny in client.cluster.workers.values()]


def kill_a_worker(client, seconds):
    """Kill a worker after some seconds."""
    killer = threading.Timer(seconds, os.kill, (random.choice(find_pids(client)), signal.SIGKILL))
    killer.start()
    return killer


def wait_for_workers(client, killer):
    """Until there is another worker in place of the killed one."""
    deadline = time.monotonic() + 60
    while not all(find_pids(client)) or killer.args[0] in find_pids(client):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    client.wait_for_workers(2, timeout=60)


def test_a_killed_worker_changes_nothing(client):
    random.seed(0)
    data = make_data("logistic", n=20_000)
    there = make_there("logistic", data, 5)
    expected = minmin.minimize(there, method="reduced-newton", tol=1e-10)
    for _ in range(3):
        killer = kill_a_worker(client, random.uniform(0.0, 1.0) * expected.seconds)
        found = minmin.minimize(there, method="reduced-newton", tol=1e-10)
        killer.join()
        agree(expected, found, rtol=1e-12)
        wait_for_workers(client, killer)


def count_tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def test_fits_leave_nothing_on_the_cluster(client):
    """Neither one that is done, nor one that a worker's death disturbed, nor one whose data are wrong."""
    data = make_data("logistic")
    gc.collect()
    time.sleep(0.5)
    before = count_tasks(client)
    minmin.minimize(make_there("logistic", data, 3), method="reduced-newton", tol=1e-6)
    wrong = data[0].copy()
    wrong.data[7] = np.nan
    with pytest.raises(minmin.InputError, match="partition 0, row"):
        make_there("logistic", (wrong, *data[1:]), 3)
    gc.collect()
    gc.disable()  # from here on, a cycle of references would keep the rows
    try:
        there = make_there("logistic", data, 3)
        killer = kill_a_worker(client, 0.0)
        minmin.minimize(there, method="reduced-newton", tol=1e-6)
        wait_for_workers(client, killer)
        del there
        deadline = time.monotonic() + 20
        while count_tasks(client) > before and time.monotonic() < deadline:
            time.sleep(0.1)
        assert count_tasks(client) <= before
    finally:
        gc.enable()


def test_a_cluster_that_is_closed(client):
    """Last in this file: the run ends with what it has reached."""
    data = make_data("logistic", n=20_000)
    there = make_there("logistic", data, 5)

    def close(record):
        if record.grad_x == 2:
            client.cluster.close()
            time.sleep(0.1)

    ended = minmin.minimize(there, method="reduced-newton", tol=1e-10, callback=close)
    assert ended.status == "interrupted"
    assert np.isfinite(ended.fun)
    assert "gone" in ended.message

"""Rows in groups give the same run as rows here, and lost groups change nothing."""

import pickle

import numpy as np
import pytest

import minmin
from minmin.core.rows import RowVector
from minmin.problems import Composite
from minmin.problems.linear.rows.group import LocalRowEngine
from minmin.problems.linear.sampling import sample_gram
from minmin.terms import L1
from rows.cases import ALL_LOSSES, agree, make_data, make_here, make_in_groups, penalties


@pytest.mark.parametrize("parts", [1, 2, 7])
@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_the_same_run(loss, parts):
    data = make_data(loss)
    there, _ = make_in_groups(loss, data, parts)
    here = minmin.minimize(make_here(loss, data), method="reduced-newton", tol=1e-10)
    agree(here, minmin.minimize(there, method="reduced-newton", tol=1e-10))
    assert here.certified


def test_one_penalty_for_all_columns():
    """Then rounding errors are bounded by other sums."""
    data = make_data("logistic", seed=1)
    runs = [
        minmin.minimize(model, method="reduced-newton", tol=1e-8)
        for model in (
            make_here("logistic", data, **penalties(one_number=True)),
            make_in_groups("logistic", data, 3, **penalties(one_number=True))[0],
        )
    ]
    agree(*runs)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
@pytest.mark.parametrize("count", [60, 10_000])
def test_the_same_sample_of_rows(loss, count):
    data = make_data(loss, seed=2)
    columns = np.array([1, 5, 7, 20])
    matrices = []
    for model in (make_here(loss, data), make_in_groups(loss, data, 5)[0]):
        x, y = (0.3 * np.random.default_rng(3).standard_normal(size) for size in (model.d_x, model.d_y))
        matrices.append(sample_gram(model, model.evaluate(x, y).margin_hessian, count, columns))
    np.testing.assert_allclose(*matrices, rtol=1e-12, atol=1e-15)


def test_without_constants_methods_that_need_none_run_and_others_name_one():
    model, _ = make_in_groups("logistic", make_data("logistic"), 2)
    assert model.constants is None
    with pytest.raises(minmin.UnsupportedError, match=r"give constants=.*or method='reduced-lbfgs'"):
        minmin.minimize(model, method="bam")
    best = minmin.minimize(model, tol=1e-9)
    for options in (
        {"method": "reduced-lbfgs"},
        {"method": "reduced-lbfgs", "inner": "newton", "outer": "y"},
        {"method": "bam", "adaptive": True},
        {"bounds_x": (-9.0, 9.0)},
    ):
        r = minmin.minimize(model, tol=1e-6, **options)
        assert r.status == "converged"
        assert r.fun - best.fun <= 1e-6
    with_term = minmin.minimize(Composite(model, term_x=L1(0.01)), tol=1e-6)
    assert with_term.bound.basis == "data"
    assert minmin.check(model).ok


class LosingEngine(LocalRowEngine):
    """Loses groups at random: before a batch, or after it, before the reply arrives."""

    rng = np.random.default_rng(0)
    share = 0.0
    lost = 0

    def call(self, numbers, payload):
        replies = {}
        for number in numbers:
            fate = self.rng.random()
            if fate < self.share:
                self.groups[number] = None
            else:
                reply = self.groups[number].execute(payload)
                if fate > 2 * self.share:
                    replies[number] = reply
                    continue
            type(self).lost += 1
        return replies


@pytest.mark.parametrize("loss", ["logistic", "huber", "softmax"])
def test_lost_groups_change_nothing(loss, caplog):
    data = make_data(loss, seed=4)
    whole, _ = make_in_groups(loss, data, 4)
    expected = minmin.minimize(whole, method="reduced-newton", tol=1e-10)
    LosingEngine.lost = 0
    there, _ = make_in_groups(loss, data, 4, engine=LosingEngine)
    try:
        LosingEngine.share = 0.05
        found = minmin.minimize(there, method="reduced-newton", tol=1e-10)
    finally:
        LosingEngine.share = 0.0
    assert LosingEngine.lost >= 5
    warnings = [record for record in caplog.records if (record.name, record.levelname) == ("minmin", "WARNING")]
    assert len(warnings) >= 5
    assert all("of the rows was lost; the group is made anew" in record.getMessage() for record in warnings)
    agree(expected, found, rtol=1e-12)


class LosingOnceEngine(LocalRowEngine):
    """Loses a group in one call, before or after it has done the batch; the new group may be lost at once, too."""

    calls = 0
    lose_at = frozenset()

    def call(self, numbers, payload):
        type(self).calls += 1
        if self.calls in self.lose_at:
            if self.calls % 2:
                self.groups[numbers[-1]].execute(payload)
            return super().call(numbers[:-1], payload)
        return super().call(numbers, payload)


def test_a_group_lost_at_any_moment():
    """From the first exchange of a model on, when many steps are queued and few are done."""
    data = make_data("logistic", seed=9)

    def run(*lose_at):
        LosingOnceEngine.calls, LosingOnceEngine.lose_at = 0, frozenset(lose_at)
        there, _ = make_in_groups("logistic", data, 4, engine=LosingOnceEngine)
        return minmin.minimize(there, method="reduced-newton", tol=1e-10)

    expected, calls = run(), LosingOnceEngine.calls
    for moment in [*range(1, 20), *range(20, calls, 7)]:
        agree(expected, run(moment, moment + 1), rtol=1e-12)


class InterruptedEngine(LocalRowEngine):
    """Some groups have done a batch when the user presses Ctrl-C."""

    calls_left = 10**9

    def call(self, numbers, payload):
        type(self).calls_left -= 1
        if self.calls_left == 0:
            self.groups[0].execute(payload)
            raise KeyboardInterrupt
        return super().call(numbers, payload)


@pytest.mark.parametrize("calls", [20, 30, 41])
def test_an_interrupted_batch_is_not_done_twice(calls):
    data = make_data("logistic", seed=5)
    there, _ = make_in_groups("logistic", data, 4, engine=InterruptedEngine)
    expected = minmin.minimize(there, method="reduced-newton", tol=1e-10)
    InterruptedEngine.calls_left = calls
    ended = minmin.minimize(there, method="reduced-newton", tol=1e-10)
    assert ended.status == "interrupted"
    assert np.isfinite(ended.fun)
    agree(expected, minmin.minimize(there, method="reduced-newton", tol=1e-10))


class GoneEngine(LocalRowEngine):
    """After some calls, nothing answers."""

    calls_left = 10**9

    def call(self, numbers, payload):
        type(self).calls_left -= 1
        return super().call(numbers, payload) if self.calls_left > 0 else {}

    def restore(self, number):
        raise minmin.errors.DataLostError("the cluster is gone")


def test_a_cluster_that_is_gone():
    data = make_data("logistic", seed=6)
    there, _ = make_in_groups("logistic", data, 4, engine=GoneEngine)
    GoneEngine.calls_left = 40
    ended = minmin.minimize(there, method="reduced-newton", tol=1e-10)
    assert (ended.status, ended.nit > 0, np.isfinite(ended.fun)) == ("interrupted", True, True)
    assert "the cluster is gone" in ended.message
    assert ended.fun < minmin.minimize(make_here("logistic", data), max_iterations=0).fun


@pytest.mark.parametrize("loss", ["logistic", "tweedie", "softmax"])
def test_a_resumed_run_has_the_same_bits(loss, tmp_path):
    data = make_data(loss, seed=7)
    expected = minmin.minimize(make_in_groups(loss, data, 3)[0], method="reduced-newton", tol=1e-10)
    options = {"method": "reduced-newton", "tol": 1e-10, "checkpoint": tmp_path / "run"}
    minmin.minimize(make_in_groups(loss, data, 3)[0], max_iterations=2, **options)
    resumed = minmin.minimize(make_in_groups(loss, data, 3)[0], **options)
    assert (resumed.x == expected.x).all()
    assert (resumed.y == expected.y).all()
    assert dict(resumed.calls) == dict(expected.calls)
    with pytest.raises(minmin.CheckpointError, match="another problem"):
        minmin.minimize(make_in_groups(loss, make_data(loss, seed=8), 3)[0], **options)


def test_values_that_nothing_refers_to_are_forgotten():
    there, session = make_in_groups("logistic", make_data("logistic"), 3)
    for _ in range(3):
        minmin.minimize(there, method="reduced-newton", tol=1e-8)
    held = len(session.engine.groups[0]._values)
    minmin.minimize(there, method="reduced-newton", tol=1e-8)
    assert len(session.engine.groups[0]._values) <= held < 60


def test_only_sums_and_coefficients_travel():
    """No exchange carries a number per row: 4000 rows take as many bytes as 400."""
    sizes = {}
    for n in (400, 4000):
        there, session = make_in_groups("logistic", make_data("logistic", n=n), 3)
        before = session.traffic
        result = minmin.minimize(there, method="reduced-newton", max_iterations=2, tol=1e-30)
        after = session.traffic
        sizes[n] = max(after.bytes_sent - before.bytes_sent, after.bytes_received - before.bytes_received)
        assert result.nit == 2
        assert result.history.exchanges[-1] == after.exchanges - before.exchanges
        assert 0.0 <= result.history.waiting[-1] < 1.0
        assert result.history.worker_seconds[-1] <= result.history.exchange_seconds[-1]
    assert sizes[4000] < 1.6 * sizes[400]


def test_arithmetic_is_that_of_arrays():
    there, session = make_in_groups("squared", make_data("squared"), 5)
    here = make_here("squared", make_data("squared"))
    a, b = there.target, there.weights
    p, q = here.target, here.weights
    formulas = [
        lambda a, b: a + b - 2.0 * a / 3.0,
        lambda a, b: a * b + 1.0 / (1.0 + b),
        lambda a, b: 1.0 - abs(-a) + b**0.5,
        lambda a, b: np.float64(2.0) * a[:, None],
    ]
    for formula in formulas:
        found, expected = formula(a, b), formula(p, q)
        assert isinstance(found, RowVector)
        assert found.shape == expected.shape
        np.testing.assert_allclose(session.gather(found), expected, rtol=1e-14)
    assert session.gather(session.scatter(p)).tolist() == p.tolist()
    assert float(a @ b) == pytest.approx(float(p @ q), rel=1e-13)


def test_what_workers_cannot_import_is_an_error_not_a_lost_group():
    _, session = make_in_groups("logistic", make_data("logistic"), 2)
    reply = pickle.loads(session.engine.groups[0].execute(b"cmodule_of_the_user\nOwnLoss\n."))
    assert isinstance(reply.error, minmin.InputError)
    assert "the workers cannot load what a run needs: No module named 'module_of_the_user'" in str(reply.error)

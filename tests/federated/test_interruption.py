"""A run that ends in the middle of a round has f and the bound of its last full round."""

import numpy as np
import pytest

import minmin
from federated.cases import three_clients
from minmin import extend, federated

ROUNDS = 3


class Ending(extend.Engine):
    """Ends in the round after the third, when the first client has answered."""

    def __init__(self, clients, how):
        self.clients, self.how, self.is_gone = clients, how, False

    def exchange(self, requests, timeout):
        if self.is_gone:
            return {}
        label = requests[min(requests)].label
        if (label.kind, label.round) == ("task", ROUNDS + 1):
            self.clients[0].handle(requests[0])
            return getattr(self, self.how)()
        return {number: self.clients[number].handle(request) for number, request in requests.items()}

    def is_lost(self):
        self.is_gone = True
        return {}

    def is_interrupted(self):
        raise KeyboardInterrupt

    def fails(self):
        raise ConnectionError("no route")


def assert_as_after_the_last_full_round(result, method):
    expected = federated.run(three_clients(), method, rounds=ROUNDS)
    assert (result.status, result.nit, result.y) == ("interrupted", ROUNDS, None)
    assert np.array_equal(result.x, expected.x)
    assert (result.fun, result.gap_bound) == (expected.fun, expected.history.gap_bound[-1])
    assert result.certified


@pytest.mark.parametrize("method", ["bam", "reduced-lbfgs"])
@pytest.mark.parametrize("how", ["is_lost", "is_interrupted"])
def test_a_run_that_ends_in_a_round_keeps_the_bound_of_the_round_before(method, how):
    result = federated.run(3, method, engine=Ending(three_clients(), how), retries=1)
    assert_as_after_the_last_full_round(result, method)


@pytest.mark.parametrize("method", ["bam", "reduced-lbfgs"])
def test_an_engine_that_raises_is_named_and_the_error_has_the_result(method):
    with pytest.raises(minmin.UserCodeError, match="the engine Ending raised ConnectionError: no route") as caught:
        federated.run(3, method, engine=Ending(three_clients(), "fails"))
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert_as_after_the_last_full_round(caught.value.result, method)


def test_without_values_an_interrupted_run_has_a_bound_at_its_end():
    """There is no f of the last full round, so both belong to what the clients have now."""
    result = federated.run(3, "bam", engine=Ending(three_clients(), "is_interrupted"), values=False)
    assert result.status == "interrupted"
    assert np.isfinite(result.fun)
    assert result.certified

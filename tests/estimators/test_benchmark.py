"""The benchmark of the estimators: all packages minimise the same function, and files are read as they say."""

import warnings

import numpy as np
import pytest
import scipy.sparse

from estimator_benchmark import ours
from estimator_benchmark.encode import encode_codes
from estimator_benchmark.file import read_objective
from estimator_benchmark.limit import limit_seconds
from estimator_benchmark.losses import LOSSES
from estimator_benchmark.minimum import find_minimum
from estimator_benchmark.objective import Data, Objective
from estimator_benchmark.peers import find_peers
from estimator_benchmark.tolerance import GAP, find_tolerance
from minmin.errors import InputError


def small_objective(loss, weighted=False):
    """200 rows: five categories in x; three numbers, of different units, in y."""
    rng = np.random.default_rng(0)
    n = 200
    categories = encode_codes(rng.integers(0, 5, n), 5)
    numbers = rng.standard_normal((n, 3)) * [1.0, 3.0, 0.1]
    matrix = scipy.sparse.csr_array(scipy.sparse.hstack([categories, numbers], format="csr"))
    margins = matrix @ rng.standard_normal(8) * 0.5
    targets = {
        "logistic": np.where(margins + rng.logistic(size=n) > 0, 1.0, -1.0),
        "poisson": rng.poisson(np.exp(margins)).astype(float),
        "squared": margins + rng.standard_normal(n),
        "softmax": rng.integers(0, 3, n),
    }
    weights = rng.random(n) + 0.5 if weighted else None
    blocks = {"x": slice(0, 5), "y": slice(5, 8)}
    return Objective(Data(matrix, targets[loss], blocks, weights, (slice(0, 5),)), loss, (1e-2, 1e-4))


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_peer_reaches_the_proved_minimum_in_every_form(loss, weighted):
    objective = small_objective(loss, weighted)
    minimum = find_minimum(objective)
    peers = [peer for peer in find_peers(objective) if peer.installed]
    assert {"CSR", "C"} <= {peer.form for peer in peers}
    for peer in peers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = find_tolerance(peer.prepare(objective), objective, minimum.value, np.inf, 10.0)
        assert found.reached, peer.title
        assert found.gap >= -1e-3 * GAP, peer.title  # below the minimum by rounding at most


@pytest.mark.parametrize("loss", LOSSES)
def test_ours_is_certified_for_the_same_function(loss):
    objective = small_objective(loss, weighted=True)
    minimum = find_minimum(objective)
    tol = GAP * (objective.start_value - minimum.value)
    model = ours.fit(objective, GAP)
    assert ours.why_not_certified(model, tol) is None
    assert "times the gap" in ours.why_not_certified(model, tol * 1e-30)
    assert objective.relative_gap(model.coef_[0] if loss == "logistic" else model.coef_, minimum.value) <= GAP


def test_text_columns_of_a_file_become_categories_and_the_last_block_gets_a_constant(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("town,size,other,n,w\nA,1,0,2,1\nB,2,1,0,1\nA,3,0,1,2\n")
    objective = read_objective(file, "poisson", "n", "w", ["x=to*", "y=size,other"], [1e-2, 1e-3])
    matrix = objective.data.matrix
    dense = matrix.toarray() if scipy.sparse.issparse(matrix) else matrix
    np.testing.assert_array_equal(dense, [[1, 0, 1, 0, 1], [0, 1, 2, 1, 1], [1, 0, 3, 0, 1]])
    assert objective.data.one_hot == (slice(0, 2),)
    np.testing.assert_array_equal(objective.penalties, [1e-2, 1e-2, 1e-3, 1e-3, 1e-3])
    np.testing.assert_array_equal(objective.data.weights, [1, 1, 2])


def test_blocks_of_a_libsvm_file_are_slices(tmp_path):
    file = tmp_path / "data.svm"
    file.write_text("1 1:1 3:2\n-1 2:1\n1 4:1\n")
    objective = read_objective(file, "logistic", None, None, ["x=0:1,3", "y=1:3"], [1e-2, 1e-3])
    np.testing.assert_array_equal(objective.penalties, [1e-2, 1e-3, 1e-3, 1e-2])
    np.testing.assert_array_equal(objective.data.target, [1, -1, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("logistic", "n", None, [], [1.0]), "exactly two classes"),
        (("poisson", "m", None, [], [1.0]), "--target m: .* has no such column"),
        (("poisson", "n", None, ["x"], [1.0]), "give NAME=COLUMNS"),
        (("poisson", "n", None, ["x=size"], [1.0, 1.0, 1.0]), "alpha has 3 entries for 2 blocks"),
        (("poisson", "n", None, [], [0.0]), "must be above 0"),
        (("poisson", "n", "town", [], [1.0]), "has text"),
        (("squared", "size", None, [], [1.0]), "'n' has no finite number in row 2"),
    ],
)
def test_errors_about_a_file_name_the_option_or_the_column(tmp_path, arguments, message):
    file = tmp_path / "data.csv"
    file.write_text(
        "town,size,n\nA,1,0\nB,2,\nA,3,2\n" if arguments[0] == "squared" else "town,size,n\nA,1,0\nB,2,1\nA,3,2\n"
    )
    with pytest.raises(InputError, match=message):
        read_objective(file, *arguments)


def compute_for_ever():
    while True:
        sum(range(1000))


def test_a_computation_is_stopped_after_its_processor_time():
    with pytest.raises(TimeoutError), limit_seconds(0.05):
        compute_for_ever()

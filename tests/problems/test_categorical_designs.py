"""Categories as whole numbers, alone and beside other columns, do what the matrix of zeros and ones does."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse
from design_promises import require_products_of

import minmin
from minmin import InputError
from minmin.extend import CategoricalDesign, MixedDesign
from minmin.numerics import row_pieces
from minmin.problems import GLM, Design, Softmax
from minmin.problems.linear.categories import OnesDesign
from minmin.problems.linear.checked_designs import make_design

ROWS, SIZES = 150, [3, 1, 5, 4]


def make_codes(missing=True):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(-1 if missing else 0, size, ROWS) for size in SIZES], axis=1)
    codes[:, 1] = -1 if missing else 0
    return codes


def one_hot(codes, sizes=SIZES):
    return np.concatenate([np.eye(size + 1)[code][:, :size] for code, size in zip(codes.T, sizes, strict=True)], axis=1)


def cases(dtype):
    """Designs and their matrices."""
    rng = np.random.default_rng(1)
    codes, numbers = make_codes(), rng.standard_normal((ROWS, 2)).astype(dtype)
    few = scipy.sparse.random_array((ROWS, 6), density=0.3, rng=rng, format="csr").astype(dtype)
    alone, full = CategoricalDesign(codes, SIZES, dtype), CategoricalDesign(make_codes(False), SIZES, dtype)
    return {
        "categories": (alone, one_hot(codes)),
        "categories, none missing": (full, one_hot(make_codes(False))),
        "numbers and categories": (MixedDesign([numbers, alone]), np.hstack([numbers, one_hot(codes)])),
        "categories, sparse and numbers": (
            MixedDesign([alone, few, numbers]),
            np.hstack([one_hot(codes), few.toarray(), numbers]),
        ),
        "categories and ones": (
            MixedDesign([full, OnesDesign(ROWS, dtype)]),
            np.hstack([one_hot(make_codes(False)), np.ones((ROWS, 1))]),
        ),
        "sparse and categories": (MixedDesign([few, full]), np.hstack([few.toarray(), one_hot(make_codes(False))])),
    }


KINDS = list(cases(np.float64))


@pytest.fixture
def many_pieces(monkeypatch):
    monkeypatch.setattr(row_pieces, "_CODES_PER_PIECE", 40)
    monkeypatch.setattr(row_pieces, "_LEAST_NUMBERS_PER_COLUMN", 1)


@pytest.mark.parametrize("pieces", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", KINDS)
def test_a_design_computes_what_its_dense_matrix_does(kind, dtype, pieces, request):
    if pieces:
        request.getfixturevalue("many_pieces")
    design, dense = cases(dtype)[kind]
    assert design.stored == np.count_nonzero(dense)
    require_products_of(design, dense.astype(dtype), np.array([7, 2, 12, 4]))


def test_the_bits_do_not_depend_on_the_number_of_threads(many_pieces, monkeypatch):
    v, r = np.random.default_rng(0).random(sum(SIZES)), np.random.default_rng(1).random(ROWS)
    runs = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(row_pieces, "_pool", None)
        monkeypatch.setattr(row_pieces, "_count_threads", lambda threads=threads: threads)
        design = CategoricalDesign(make_codes(), SIZES)
        runs.append((design.image(v), design.adjoint(r)))
    assert all((a == b).all() for run in runs[1:] for a, b in zip(run, runs[0], strict=True))


def test_codes_take_four_bytes_and_sizes_are_found():
    codes = make_codes(missing=False).astype(np.int64)
    design = CategoricalDesign(codes)
    assert design.places.dtype == np.int32
    assert design.shape == (ROWS, sum(SIZES))
    assert np.array_equal(pickle.loads(pickle.dumps(design)).places, design.places)


LABELS = np.where(np.random.default_rng(4).random(ROWS) < 0.4, 1.0, -1.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["reduced-newton", "reduced-lbfgs", "bam"])
def test_a_run_is_certified_and_ends_where_that_of_the_dense_matrix_does(kind, method):
    design, dense = cases(np.float64)[kind]
    Y = np.ones((ROWS, 1))
    r = minmin.minimize(GLM(design, Y, LABELS, alpha_x=1e-2, alpha_y=1e-3), method=method, tol=1e-10)
    other = minmin.minimize(GLM(dense, Y, LABELS, alpha_x=1e-2, alpha_y=1e-3), method=method, tol=1e-10)
    assert r.certified
    assert abs(r.fun - other.fun) <= 2e-10


@pytest.mark.parametrize("kind", KINDS)
def test_categories_may_be_the_cheap_block_and_have_no_penalty(kind):
    design, dense = cases(np.float64)[kind]
    X = np.random.default_rng(5).standard_normal((ROWS, 30))
    alpha = np.full(dense.shape[1], 1e-2)
    alpha[0] = 0.0
    target = np.random.default_rng(6).integers(0, 3, ROWS)
    runs = [minmin.minimize(Softmax(X, Y, target, alpha_x=1e-2, alpha_y=alpha), tol=1e-9) for Y in (design, dense)]
    assert runs[0].certified
    assert abs(runs[0].fun - runs[1].fun) <= 2e-9


def test_a_problem_of_categories_is_what_it_claims_to_be():
    design, _ = cases(np.float64)["categories, sparse and numbers"]
    assert minmin.check(GLM(design, np.ones((ROWS, 1)), LABELS, alpha_x=1e-2, alpha_y=1e-3)).ok


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: CategoricalDesign([[0.5]]), "codes have dtype float64 and shape"),
        (lambda: CategoricalDesign([0, 1]), r"shape \(2,\); give whole numbers, one row per sample"),
        (lambda: CategoricalDesign(np.zeros((0, 2), dtype=int)), "at least one row and one column"),
        (lambda: CategoricalDesign([[0], [-2]]), r"codes\[1, 0\] = -2; give 0, 1, 2"),
        (lambda: CategoricalDesign([[0], [3]], [3]), r"codes\[1, 0\] = 3, but sizes\[0\] = 3; give 0 to 2"),
        (lambda: CategoricalDesign([[0], [3]], [3, 4]), "there are 2 sizes, but codes have 1 columns"),
        (lambda: MixedDesign([]), "parts is empty"),
        (lambda: MixedDesign([np.ones((2, 1)), np.ones((3, 1))]), r"parts\[0\] has 2 rows and parts\[1\] has 3"),
        (lambda: MixedDesign([np.full((2, 1), np.nan)]), r"parts\[0\] holds nan"),
    ],
)
def test_what_is_wrong_is_said(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_categories_refuse_vectors_of_other_libraries():
    strict = pytest.importorskip("array_api_strict")
    for design in (CategoricalDesign(make_codes()), OnesDesign(ROWS, np.float64)):
        with pytest.raises(InputError, match=r"X .*only with NumPy vectors"):
            design.to_like(strict.zeros(3), "X")


def test_a_design_is_taken_as_it_is():
    design = MixedDesign([CategoricalDesign(make_codes())])
    assert isinstance(design, Design)
    assert make_design(design, "X") is design


def test_an_evaluation_that_forgets_computes_the_same_again():
    design, _ = cases(np.float64)["numbers and categories"]
    problem = GLM(design, np.ones((ROWS, 1)), LABELS, alpha_x=1e-2, alpha_y=1e-3)
    evaluation = problem.evaluate(np.ones(design.shape[1]), np.ones(1))
    before = evaluation.residual, evaluation.margin_hessian.diagonal
    evaluation.forget()
    for old, new in zip(before, (evaluation.residual, evaluation.margin_hessian.diagonal), strict=True):
        assert old is not new
        np.testing.assert_array_equal(old, new)

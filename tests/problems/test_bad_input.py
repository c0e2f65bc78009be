"""What is wrong is said before any work, with where and what to do."""

import numpy as np
import pytest
import scipy.sparse

import minmin
from minmin import Constants, InputError
from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.problems import GLM, Function, Huber, NegativeBinomial, Quadratic, Softmax, Tweedie

EYE = np.eye(3)
ONES = np.ones(3)


def glm(X=None, Y=None, target=None, loss="logistic", **options):
    X = np.ones((4, 2)) if X is None else X
    Y = np.ones((4, 1)) if Y is None else Y
    target = [1, -1, 1, -1] if target is None else target
    return GLM(X, Y, target, loss, **{"alpha_x": 0.1, "alpha_y": 0.1, **options})


def softmax(target, classes=None, **options):
    return Softmax(np.ones((4, 2)), np.ones((4, 1)), target, classes, alpha_x=0.1, alpha_y=0.1, **options)


def with_entry(value, index=(1, 0)):
    X = np.ones((4, 2))
    X[index] = value
    return X


def with_index(index, layout="csr"):
    X = getattr(scipy.sparse, f"{layout}_array")(np.ones((4, 2)))
    X.indices[3] = index
    return X


MASKED = np.ma.masked_array([1.0, 0.0, 1.0, 1.0], mask=[False, False, True, False])

CASES = {
    "a column out of range": (
        lambda: glm(with_index(2)),
        r"X is not a valid csr matrix: indices must be < 2; build it",
    ),
    "a row out of range": (lambda: glm(Y=with_index(-1, "csc")), r"Y is not a valid csc matrix: .*; build it anew"),
    "no column of partitions": (
        lambda: glm(Y=PartitionedMatrix([np.ones((4, 2))])[:, :0]),
        r"Y has shape \(4, 0\); both blocks need at least one row and one column",
    ),
    "a huge column": (
        lambda: glm(with_entry(1e200)),
        r"column 0 of X holds numbers so large that their squares overflow",
    ),
    "a huge column in single precision": (
        lambda: glm(Y=with_entry(1e30, (1, 1)).astype(np.float32), X=np.ones((4, 2), dtype=np.float32)),
        r"column 1 of Y holds numbers so large",
    ),
    "masked X": (
        lambda: glm(np.ma.masked_array(np.ones((4, 2)), mask=np.eye(4, 2))),
        r"X is a masked array with masked",
    ),
    "masked target": (lambda: glm(target=MASKED), r"target is a masked array with masked entries; fill them"),
    "masked weights": (lambda: glm(sample_weight=MASKED), r"sample_weight is a masked array"),
    "masked offset": (lambda: glm(offset=MASKED), r"offset is a masked array"),
    "masked classes": (lambda: softmax(MASKED), r"target is a masked array"),
    "masked codes": (
        lambda: minmin.extend.CategoricalDesign(np.ma.masked_array([[0], [1]], mask=[[True], [False]])),
        r"codes is a masked array",
    ),
    "a masked start": (lambda: minmin.minimize(glm(), MASKED[1:3]), r"x0 is a masked array"),
    "H and b do not fit": (lambda: Quadratic(EYE, np.ones(2), 1), r"H has shape \(3, 3\) and b \(2,\)"),
    "H is not a matrix": (
        lambda: Quadratic(ONES, ONES, 1),
        r"H has shape \(3,\).*give them shapes \(n, n\)",
    ),
    "H has a NaN": (lambda: Quadratic(np.full((3, 3), np.nan), ONES, 1), r"H holds nan at index \(0, 0\)"),
    "b has an infinity": (lambda: Quadratic(EYE, np.array([0, np.inf, 0]), 1), r"b holds inf at index 1"),
    "H is not symmetric": (lambda: Quadratic(np.triu(np.ones((3, 3))), ONES, 1), r"not symmetric.*use \(H \+ Hᵀ\)/2"),
    "H is not convex": (lambda: Quadratic(-EYE, ONES, 1).constants, r"eigenvalue -1: f is not convex"),
    "no x": (lambda: Quadratic(EYE, ONES, 0), r"d_x = 0: both blocks need at least one variable"),
    "no y": (lambda: Quadratic(EYE, ONES, 3), r"d_x = 3 leaves no y"),
    "d_x is not a number": (lambda: Quadratic(EYE, ONES, "2"), r"d_x = '2'"),
    "complex H": (lambda: Quadratic(1j * EYE, ONES, 1), r"H has dtype complex128"),
    "text in H": (lambda: Quadratic([["a"]], ONES, 1), r"H holds <U1"),
    "ragged H": (lambda: Quadratic([[1, 2], [3]], ONES, 1), r"H cannot be read as an array"),
    "mixed dtypes": (
        lambda: Quadratic(EYE.astype(np.float32), ONES, 1),
        r"H is float32 .* b is float64 .*; give both in one dtype",
    ),
    "half precision": (lambda: Quadratic(EYE.astype(np.float16), ONES, 1), r"H has dtype float16; give float32"),
    "coupling above one": (lambda: Quadratic.random(coupling=2.0), r"coupling = 2.0"),
    "random with no x": (lambda: Quadratic.random(d_x=0), r"d_x = 0"),
    "negative mu": (lambda: Constants(1, 1, -0.1, 0.1), r"mu_x = -0.1 must not be negative"),
    "mu above L": (lambda: Constants(1, 1, 0.1, 2), r"mu_y = 2 is above L_y = 1"),
    "NaN L": (lambda: Constants(float("nan"), 1, 0.1, 0.1), r"L_x = nan"),
    "zero L": (lambda: Constants(0, 1, 0, 0.1), r"L_x = 0 and mu_x = 0"),
    "L as text": (lambda: Constants("1o", 1, 0.1, 0.1), r"L_x must be a number, got '1o'"),
    "unknown source": (lambda: Constants(1, 1, 0, 0, "guessed"), r"source must be"),
    "X has a NaN": (lambda: glm(with_entry(np.nan)), r"X holds nan at index \(1, 0\)"),
    "sparse X has an infinity": (lambda: glm(scipy.sparse.csr_array(with_entry(np.inf))), r"stored values of X.*inf"),
    "X and Y do not fit": (lambda: glm(Y=np.ones((3, 1))), r"X has 4 rows and Y 3"),
    "Y is a vector": (lambda: glm(Y=np.ones(4)), r"Y has shape \(4,\); it must be a matrix"),
    "Y has no columns": (lambda: glm(Y=np.ones((4, 0))), r"Y has shape \(4, 0\)"),
    "sparse X has no columns": (lambda: glm(scipy.sparse.csr_array((4, 0))), r"X has shape \(4, 0\)"),
    "no rows": (lambda: glm(np.ones((0, 2)), np.ones((0, 1)), []), r"X has shape \(0, 2\)"),
    "short target": (lambda: glm(target=[1, -1]), r"target has shape \(2,\); X has 4 rows"),
    "target has a NaN": (lambda: glm(target=[1, np.nan, 1, -1]), r"target holds nan at index 1"),
    "labels out of range": (lambda: glm(target=[1, 2, 1, -1]), r"target\[1\] = 2: .* \{-1, 1\} or \{0, 1\}"),
    "a label out of range after a zero": (lambda: glm(target=[1, 0, 3, 1]), r"target\[2\] = 3"),
    "labels of two kinds": (lambda: glm(target=[1, -1, 0, 1]), r"target\[2\] = 0"),
    "text labels": (lambda: glm(target=list("abcd")), r"target holds <U1"),
    "negative counts": (lambda: glm(target=[1, 0, -3, 1], loss="poisson"), r"target\[2\] = -3: .*counts >= 0"),
    "a gamma target of zero": (lambda: glm(target=[1, 2, 0, 1], loss="gamma"), r"target\[2\] = 0: .*gamma.* > 0"),
    "a negative Tweedie target": (lambda: glm(target=[1, -2, 0, 1], loss="tweedie"), r"target\[1\] = -2: .*>= 0"),
    "a negative count": (lambda: glm(target=[1, 2, 0, -1], loss="negative-binomial"), r"target\[3\] = -1: .*>= 0"),
    "labels of the probit loss": (lambda: glm(target=[1, 0, 2, 1], loss="probit"), r"target\[2\] = 2: the probit loss"),
    "a Tweedie power of 2": (lambda: Tweedie(power=2), r"power = 2 must lie between 1 and 2; .* for 2 loss='gamma'"),
    "a Tweedie power as text": (lambda: Tweedie("1.5"), r"power must be a number, got '1.5'"),
    "a dispersion of 0": (lambda: NegativeBinomial(0.0), r"dispersion = 0 must be finite and above 0; .*'poisson'"),
    "a negative delta": (lambda: Huber(-1.0), r"delta = -1 must be finite and above 0"),
    "short offset": (lambda: glm(offset=[1.0]), r"offset has shape \(1,\); give one number for each row, so \(4,\)"),
    "offset has a NaN": (lambda: glm(offset=[0, np.nan, 0, 0]), r"offset holds nan at index 1"),
    "text in the offset": (lambda: glm(offset=list("abcd")), r"offset holds <U1"),
    "offset of a Softmax": (
        lambda: softmax([0, 1, 2, 0], offset=np.zeros(4)),
        r"offset has shape \(4,\); give one number for each row and class, so \(4, 3\)",
    ),
    "negative weight": (lambda: glm(sample_weight=[1, 1, -1, 1]), r"sample_weight\[2\] = -1 is negative"),
    "zero weights": (lambda: glm(sample_weight=np.zeros(4)), r"zero everywhere"),
    "short weights": (lambda: glm(sample_weight=[1.0]), r"sample_weight has shape"),
    "negative penalty": (lambda: glm(alpha_x=-1.0), r"alpha_x = -1.0 must be finite and not negative"),
    "NaN penalty": (lambda: glm(alpha_y=float("nan")), r"alpha_y = nan"),
    "penalty as text": (lambda: glm(alpha_y="big"), r"alpha_y must be a number"),
    "too few penalties": (lambda: glm(alpha_x=[1.0]), r"alpha_x has shape \(1,\); .*one for each of 2 columns"),
    "a negative penalty among them": (lambda: glm(alpha_x=[1.0, -2.0]), r"alpha_x\[1\] = -2 must not be negative"),
    "an infinite penalty among them": (lambda: glm(alpha_y=np.array([np.inf])), r"alpha_y holds inf at index 0"),
    "penalties as text": (lambda: glm(alpha_x=["a", "b"]), r"alpha_x holds <U1"),
    "classes that are not whole": (lambda: softmax([0, 1, 1.5, 2]), r"target\[2\] = 1.5: .*whole numbers, 0, 1, 2"),
    "a class out of range": (lambda: softmax([0, 1, 2, 3], 3), r"target\[3\] = 3: .*whole numbers, 0 to 2"),
    "years for classes": (
        lambda: softmax([2023, 2024, 2025, 2025]),
        r"2025 among 4 samples.*number the classes from 0",
    ),
    "a negative class": (lambda: softmax([0, -1, 1, 1]), r"target\[1\] = -1"),
    "classes as text": (lambda: softmax(list("abcd")), r"target holds <U1"),
    "a NaN class": (lambda: softmax([0, 1, np.nan, 1]), r"target holds nan at index 2"),
    "one class": (lambda: softmax([0, 0, 0, 0]), r"1 class is too few; give classes=2"),
    "half a class": (lambda: softmax([0, 1, 1, 0], 2.5), r"classes = 2.5 must be a whole number"),
    "too few classes": (lambda: softmax([0, 1, 2]), r"target has shape \(3,\); X has 4 rows"),
    "unknown loss": (lambda: glm(loss="logistc"), r"unknown loss 'logistc': did you mean 'logistic'"),
    "gradient not callable": (lambda: Function(None, 3, abs, d_x=1, d_y=1), r"grad_x must be callable"),
    "constants of another kind": (lambda: Function(None, abs, abs, d_x=1, d_y=1, constants=1.0), r"minmin.Constants"),
    "empty function block": (lambda: Function(None, abs, abs, d_x=1, d_y=0), r"d_y = 0"),
    "empty sum": (lambda: minmin.Sum([]), r"at least one term"),
    "sum of different x": (
        lambda: minmin.Sum([Quadratic(EYE, ONES, 1), Quadratic(EYE, ONES, 2)]),
        r"term 1 has d_x = 2",
    ),
    "too few weights": (lambda: minmin.Sum([Quadratic(EYE, ONES, 1)], [1, 2]), r"2 weights for 1 terms"),
    "zero weight": (lambda: minmin.Sum([Quadratic(EYE, ONES, 1)], [0.0]), r"weight 0 is 0.0"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_problem(case):
    make, words = CASES[case]
    with pytest.raises(InputError, match=words) as caught:
        make()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, minmin.MinMinError)


def test_one_class_alone_is_allowed():
    assert minmin.minimize(glm(target=np.ones(4))).success
    assert minmin.minimize(glm(target=np.zeros(4))).success


def test_a_masked_array_without_masked_entries_is_an_array():
    assert minmin.minimize(glm(np.ma.masked_array(np.ones((4, 2)))), np.ma.masked_array([0.0, 0.0])).success

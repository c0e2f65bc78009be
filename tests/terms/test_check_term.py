"""check_term() passes what is right, and names what is no proximal map, no convex function, or no conjugate."""

import math

import array_api_strict
import numpy as np
import pytest

from minmin.errors import InputError
from minmin.extend import Scaled
from minmin.term_checks import check_term
from minmin.terms import L1, Box, ElasticNet, GroupL2, L2Ball, NonNegative, Simplex, Term
from terms.cases import SIZE, UNSCALED

FLOAT64 = np.zeros(1)


def failures(term, size=SIZE, seed=0, prototype=FLOAT64):
    return [f for f in check_term(term, size, np.random.default_rng(seed), prototype) if not f.ok]


@pytest.mark.parametrize("name", UNSCALED)
def test_right_terms_pass(name):
    assert not failures(UNSCALED[name], prototype=np.zeros(1, np.float32))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_terms_of_other_libraries_are_checked(dtype):
    prototype = array_api_strict.zeros(1, dtype=getattr(array_api_strict, dtype))
    assert not failures(Box(-1, [1, 2]), 2, prototype=prototype)


@pytest.mark.parametrize(("size", "scale"), [(1, 1.0), (300, 1e-4), (300, 1e4)])
def test_right_terms_of_other_scales_pass(scale, size):
    terms = [L1(scale), ElasticNet(1, scale), L2Ball(scale, scale), Simplex(scale), Box(scale, 3 * scale)]
    for term in terms:
        assert not failures(term, size, seed=1)


def test_a_proximal_map_from_an_iteration_passes():
    class Inexact(Simplex):
        def prox(self, v, step):
            low, high = v.min() - 1.0, v.max()
            for _ in range(40):
                middle = (low + high) / 2
                low, high = (middle, high) if np.maximum(v - middle, 0).sum() > 1 else (low, middle)
            return np.maximum(v - high, 0)

        def value(self, v):
            return 0.0 if (v >= 0).all() and abs(v.sum() - 1) < 1e-6 else math.inf

    assert not failures(Inexact())


def test_a_term_without_a_conjugate_passes():
    class Plain(Term):
        def value(self, v):
            return float(np.abs(v).sum())

        def prox(self, v, step):
            return np.sign(v) * np.maximum(np.abs(v) - step, 0)

    assert not failures(Plain())


def wrong(term, **methods):
    """The term with other methods."""
    made = type("Wrong", (type(term),), {name: staticmethod(method) for name, method in methods.items()})
    copy = made.__new__(made)
    copy.__dict__.update(term.__dict__)
    return copy


def hard_threshold(v, step):
    return np.where(v * v > 2 * step, v, 0.0)


def clip_in_place(v, step):
    return np.clip(v, -1, 1, out=v)


def with_attributes(term, **attributes):
    term.__dict__.update(attributes)
    return term


LASSO, NET = L1(0.7), ElasticNet(0.3, 0.5)
GROUPS = GroupL2(1.0, [range(4), range(4, SIZE)])
WRONG_STEP = wrong(LASSO, prox=lambda v, step: LASSO.prox(v, 1.0))
WRONG = {
    "the sign of the step": (
        wrong(LASSO, prox=lambda v, step: 2 * v - LASSO.prox(v, step)),
        "prox against other points",
    ),
    "the step is ignored": (WRONG_STEP, "prox against other points"),
    "the step is squared": (wrong(NET, prox=lambda v, step: NET.prox(v, step**2)), "prox against other points"),
    "the threshold is off by 1 %": (
        wrong(LASSO, prox=lambda v, step: LASSO.prox(v, 1.01 * step)),
        "prox against other points",
    ),
    "no proximal map at all": (wrong(LASSO, prox=lambda v, step: v.copy()), "prox against other points"),
    "that of the square": (wrong(LASSO, prox=lambda v, step: v / (1 + 0.7 * step)), "prox against other points"),
    "that of another weight": (
        wrong(GROUPS, prox=lambda v, step: GroupL2([1, 2], GROUPS.groups).prox(v, step)),
        "prox against other points",
    ),
    "too far inside": (wrong(Box(-1, 1), prox=lambda v, step: np.clip(v, -0.9, 0.9)), "prox against other points"),
    "not the nearest point": (
        wrong(Simplex(), prox=lambda v, step: np.maximum(v, 0.01) / np.maximum(v, 0.01).sum()),
        "prox against other points",
    ),
    "a hard threshold": (
        wrong(LASSO, prox=hard_threshold, value=lambda v: float(np.count_nonzero(v))),
        "firm non-expansiveness",
    ),
    "the number of nonzeros": (
        wrong(LASSO, prox=hard_threshold, value=lambda v: float(np.count_nonzero(v))),
        "convexity of t",
    ),
    "a jump": (wrong(LASSO, prox=hard_threshold), "firm non-expansiveness"),
    "a root": (wrong(LASSO, value=lambda v: float(np.sqrt(np.abs(v)).sum())), "convexity of t"),
    "a sphere": (
        wrong(
            L2Ball(1),
            prox=lambda v, step: v / np.linalg.norm(v),
            value=lambda v: 0.0 if abs(np.linalg.norm(v) - 1) < 1e-9 else math.inf,
        ),
        "convexity of t",
    ),
    "convexity too large": (with_attributes(ElasticNet(0.3, 0.5), convexity=0.6), "convexity of t"),
    "outside of the set": (
        wrong(NonNegative(), prox=lambda v, step: np.maximum(v, -0.01)),
        "t at proximal points",
    ),
    "outside by a little": (
        wrong(L2Ball(1), prox=lambda v, step: L2Ball(1 + 1e-6).prox(v, step)),
        "t at proximal points",
    ),
    "NaN": (wrong(LASSO, prox=lambda v, step: v * np.nan), "t at proximal points"),
    "NaN value": (wrong(LASSO, value=lambda v: math.nan), "t at proximal points"),
    "a projection outside": (wrong(Box(-1, 1), project=lambda v: v), "projection"),
    "a projection too far": (wrong(Box(-1, 1), project=lambda v: 0 * v), "projection"),
    "the conjugate is too small": (wrong(NET, conjugate=lambda s: 0.9 * NET.conjugate(s)), "conjugate"),
    "the conjugate is too large": (wrong(NET, conjugate=lambda s: 1.1 * NET.conjugate(s)), "conjugate"),
    "the conjugate is zero": (wrong(L2Ball(2), conjugate=lambda s: 0.0), "conjugate"),
    "dual_scale is too large": (wrong(LASSO, dual_scale=lambda s: 1.0), "conjugate"),
    "the argument changes": (wrong(Box(-1, 1), prox=clip_in_place), "arguments"),
    "another shape": (wrong(LASSO, prox=lambda v, step: v[:1]), "output of prox"),
    "another precision": (wrong(LASSO, prox=lambda v, step: v.astype(np.float32)), "output of prox"),
    "a list": (wrong(LASSO, prox=lambda v, step: list(v)), "output of prox"),
    "an exception in prox": (wrong(LASSO, prox=lambda v, step: 1 / 0), "term"),
    "an exception in value": (wrong(LASSO, value=lambda v: 1 / 0), "term"),
    "scaled": (Scaled(WRONG_STEP, 3), "prox against other points"),
}


def names(findings):
    return [finding.name for finding in findings]


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(case):
    term, name = WRONG[case]
    assert name in names(failures(term))


@pytest.mark.parametrize("size", [1, 300])
@pytest.mark.parametrize("case", ["the step is ignored", "the sign of the step", "a jump", "a root"])
def test_it_is_found_in_blocks_of_every_size_and_in_single_precision(case, size):
    term, name = WRONG[case]
    assert name in names(failures(term, size, prototype=np.zeros(1, np.float32)))


def test_what_was_measured_is_said():
    details = {finding.name: finding.detail for finding in failures(WRONG_STEP)}
    assert "t grows by" in details["prox against other points"]
    assert "it must by" in details["prox against other points"]
    (shape,) = failures(WRONG["another shape"][0])
    assert shape.detail == "shape (1,), float64 of numpy, and must be shape (12,), float64 of numpy"
    (raised,) = failures(WRONG["an exception in value"][0])
    assert raised.detail == "value raised ZeroDivisionError: division by zero"
    (changes,) = failures(WRONG["the argument changes"][0])
    assert changes.detail == "changed by project and prox, which must work on a copy"


def test_errors_of_our_own_are_said_too():
    def refuse(v):
        raise InputError("not this v")

    (raised,) = failures(wrong(LASSO, conjugate=refuse))
    assert "conjugate" in raised.detail or "dual_scale" in raised.detail
    assert "not this v" in raised.detail

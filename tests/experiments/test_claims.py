"""The verdict follows from the numbers: other numbers, another verdict."""

import math

import numpy as np
import pytest

from minmin.experiments.claims import Claim, Row, judge, judge_claims, summarise_claims
from minmin.experiments.contestants import CENTRAL
from minmin.experiments.race import Outcome, levels
from minmin.experiments.settings import select_settings
from minmin.experiments.summary import Summary, spread, theory_line

TOL = 0.1


def summary(experiments, calls):
    """A report whose runs took calls(setting, method) -> (∇x, ∇y) to every level."""
    chosen = select_settings(experiments)
    count = len(levels(TOL))
    runs = {}
    for setting in chosen:
        for method in setting.methods:
            grad_x, grad_y = calls(setting, method)
            runs[setting.key, method] = [Outcome([grad_x] * count, [grad_y] * count, [0.1] * count)]
    return Summary(chosen, runs, TOL)


def verdicts(report, words):
    (claim,) = (claim for claim in judge_claims(report) if words in claim.text)
    return [row.verdict for row in claim.rows]


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([0.5, 1.0, 0.9], "holds"),
        ([0.5, 0.9, 7.0], "holds mostly"),
        ([0.9, 1.1, 1.09], "holds mostly"),
        ([1.05, 1.1, 1.09], "does not hold"),
        ([0.5, 1.2, 7.0], "does not hold"),
        ([1.11], "does not hold"),
        ([math.inf], "does not hold"),
    ],
)
def test_the_rule(ratios, verdict):
    assert judge(ratios, 1.0) == verdict


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ([], "The paper makes no claims about these experiments that the counts could confirm or refute."),
        (["holds"], "1 of 1 claims holds in every case."),
        (["holds, holds", "holds"], "2 of 2 claims hold in every case."),
        (["holds", "holds, does not hold"], "1 of 2 claims holds in every case, 1 in some cases or mostly."),
        (
            ["holds mostly", "does not hold, does not hold", "does not hold, holds mostly"],
            "0 of 3 claims hold in every case, 2 in some cases or mostly, 1 in no case.",
        ),
    ],
)
def test_the_sentence_on_all_claims(verdicts, sentence):
    claims = [Claim("", "", "", [Row("", "", verdict) for verdict in rows.split(", ")]) for rows in verdicts]
    assert summarise_claims(claims) == sentence


@pytest.mark.parametrize(("bam", "verdict"), [(99, "holds"), (100, "holds"), (108, "does not hold")])
def test_fewest_expensive_calls(bam, verdict):
    report = summary(("quadratic",), lambda _, m: (bam if "bam" in m else 100, 100))
    assert set(verdicts(report, "needs fewer ∇ₓ calls")) == {verdict}


def test_others_are_taken_in_their_better_scaling():
    report = summary(("quadratic",), lambda _, m: (100 if "bam" in m else 90 if "rescaled" in m else 200, 100))
    assert set(verdicts(report, "needs fewer ∇ₓ calls")) == {"does not hold"}


@pytest.mark.parametrize(("coordinate", "verdict"), [(79, "holds"), (85, "does not hold")])
def test_coordinate_methods_against_nag(coordinate, verdict):
    report = summary(("logistic",), lambda _, m: (100 if m.startswith("nag") else coordinate, 100))
    assert set(verdicts(report, "far fewer ∇ₓ calls than NAG")) == {verdict}


@pytest.mark.parametrize(("bam", "verdict"), [(200, "holds"), (215, "does not hold")])
def test_cheap_calls_alike(bam, verdict):
    report = summary(("quadratic",), lambda _, m: (100, bam if "bam" in m else 100))
    assert set(verdicts(report, "about as many ∇ᵧ calls")) == {verdict}


def test_useful_where_x_is_expensive():
    cheap_in_x = summary(("quadratic",), lambda _, m: (50, 30000) if "bam" in m else (100, 100))
    assert set(verdicts(cheap_in_x, "If ∇ₓ is expensive")) == {"holds"}
    lavish_in_y = summary(("quadratic",), lambda _, m: (50, 90000) if "bam" in m else (100, 100))
    assert set(verdicts(lavish_in_y, "If ∇ₓ is expensive")) == {"does not hold"}


@pytest.mark.parametrize(("power", "verdict"), [(0.5, "holds"), (0.6, "does not hold")])
def test_slopes(power, verdict):
    def calls(setting, method):
        return 10 * setting.varied**power, 10 * setting.varied**power

    report = summary(("scaling",), calls)
    assert set(verdicts(report, "no faster than √κ_x")) == {verdict}
    assert set(verdicts(report, "no faster than √κ_y")) == {verdict}
    assert report.slope("kappa_x", "bam", "grad_x") == pytest.approx(power)
    assert set(verdicts(report, "do not depend on κ_y")) == {"does not hold"}


def test_theory_touches_bam_and_lies_above_it():
    report = summary(("scaling",), lambda s, m: (s.varied**0.4, s.varied**0.3))
    for group in ("kappa_x", "kappa_y"):
        for kind in ("grad_x", "grad_y"):
            line = theory_line(report, group, kind)
            calls = [report.at(s.key, "bam-paper", TOL, kind).median for s in report.group(group)]
            ratios = np.array(line) / calls
            assert ratios.min() == pytest.approx(1.0)
            assert (ratios >= 1 - 1e-12).all()


def test_only_claims_that_were_measured():
    texts = [claim.text for claim in judge_claims(summary(("quadratic",), lambda s, m: (1, 1)))]
    assert not any("a1a" in text or "√" in text for text in texts)


def test_runs_that_never_arrive_count_as_infinite():
    assert spread(np.array([1.0, 2.0, 3.0, math.inf])).median == 2.5
    assert spread(np.array([1.0, math.inf, math.inf])).median == math.inf
    assert list(spread(np.array([[1.0, 5.0], [3.0, math.inf]])).high) == [pytest.approx(2.8), math.inf]


def test_every_contestant_is_drawn_differently():
    from minmin.experiments.styles import style_of

    assert len({style_of(key)[1:3] for key in CENTRAL}) == len(CENTRAL)

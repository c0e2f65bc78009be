"""The verdicts: compares the claims of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, with the counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from minmin.experiments.contestants import CENTRAL, CONTESTANTS
from minmin.experiments.settings import GROUPS, a1a_smoothness
from minmin.experiments.summary import Summary

Verdict = Literal["holds", "holds mostly", "does not hold"]
_Ratio = Callable[[str, str], float]

RULE = (
    "Each claim becomes one ratio per setting, with a limit for all of them. A claim holds if no ratio exceeds the "
    "limit. It holds mostly if at least two thirds of the ratios are within the limit, or if at least one is and none "
    "exceeds the limit by more than a tenth. Otherwise it does not hold. Ratios compare medians at the smallest "
    "relative gap. NAG, ACDM and Linear Coupling each count in the scaling, plain or rescaled, that needs fewer ∇ₓ "
    "calls."
)

_BAMS = ("bam-paper", "bam")
_OTHERS = ("nag", "acdm", "lincoupling")
MUCH_FEWER = 0.8
_ABOUT_EQUAL = 2.0
_NEARLY_LOWEST = 1.1
LITTLE_GROWTH = 1.25
"""Limits of ratios: what the words of the claims are taken to mean."""
_COST_OF_GRAD_X = 1000.0
"""In units of the cost of ∇ᵧ."""


class Row(NamedTuple):
    """A claim for one group of settings: what was measured, and the verdict."""

    where: str
    measured: str
    verdict: Verdict


class Claim(NamedTuple):
    """A claim of the paper in our words, the rule by which it is judged, and the verdicts."""

    source: str
    text: str
    rule: str
    rows: list[Row]

    def as_dict(self) -> dict[str, Any]:
        """The claim as plain lists and dicts, for JSON."""
        return {**self._asdict(), "rows": [row._asdict() for row in self.rows]}


def judge(ratios: list[float], limit: float) -> Verdict:
    """Apply RULE, which is the same for all claims."""
    within = sum(ratio <= limit for ratio in ratios)
    if within == len(ratios):
        return "holds"
    nearly = within > 0 and max(ratios) <= 1.1 * limit
    return "holds mostly" if 3 * within >= 2 * len(ratios) or nearly else "does not hold"


def judge_claims(summary: Summary) -> list[Claim]:
    """The verdicts on all claims about the experiments in the report."""
    races = [group for group in summary.groups if group in ("diagonal", "coupled", "paper", "tight")]
    return [
        *(_judge_races(summary, races) if races else []),
        *([_judge_smoothness()] if "paper" in races else []),
        *(_judge_sweeps(summary) if "kappa_x" in summary.groups else []),
    ]


def summarise_claims(claims: list[Claim]) -> str:
    """How many claims hold, in one sentence."""
    if not claims:
        return "The paper makes no claims about these experiments that the counts could confirm or refute."
    verdicts = [{row.verdict for row in claim.rows} for claim in claims]
    holding, failing = verdicts.count({"holds"}), verdicts.count({"does not hold"})
    mixed = len(claims) - holding - failing
    counts = [f"{holding} of {len(claims)} claims {'holds' if holding == 1 else 'hold'} in every case"]
    counts += [f"{mixed} in some cases or mostly"] if mixed else []
    counts += [f"{failing} in no case"] if failing else []
    return f"{', '.join(counts)}."


def count_verdicts(claims: list[Claim]) -> list[tuple[Verdict, int]]:
    """How often each verdict occurs, in a fixed order."""
    verdicts = [row.verdict for claim in claims for row in claim.rows]
    return [(verdict, verdicts.count(verdict)) for verdict in get_args(Verdict)]


def _judge_races(summary: Summary, groups: list[str]) -> list[Claim]:
    """The claims that the paper draws from its figures."""

    def others(setting: str, kind: str) -> list[float]:
        """The calls of the other methods, each in the scaling that needs fewer ∇ₓ calls."""
        scalings = ((method, f"{method}-rescaled") for method in _OTHERS)
        scaled = (min(two, key=lambda key: _calls(summary, setting, key, "grad_x")) for two in scalings)
        return [_calls(summary, setting, method, kind) for method in scaled]

    def cost(setting: str, method: str) -> float:
        return _COST_OF_GRAD_X * _calls(summary, setting, method, "grad_x") + _calls(summary, setting, method, "grad_y")

    def expensive_calls(setting: str, bam: str) -> float:
        return _calls(summary, setting, bam, "grad_x") / min(others(setting, "grad_x"))

    def coordinate_calls(setting: str, _: str) -> float:
        nag, *coordinate = others(setting, "grad_x")
        return max(coordinate) / nag

    def cheap_calls(setting: str, bam: str) -> float:
        return _calls(summary, setting, bam, "grad_y") / float(np.median(others(setting, "grad_y")))

    def costs(setting: str, bam: str) -> float:
        return cost(setting, bam) / min(cost(setting, m) for m in CENTRAL if CONTESTANTS[m].method in _OTHERS)

    def claim(text: str, rule: str, ratio: _Ratio, limit: float, unit: str, methods: Sequence[str] = _BAMS) -> Claim:
        rows = []
        for group in groups:
            for method in methods:
                ratios = [ratio(setting.key, method) for setting in summary.group(group)]
                where = f"{GROUPS[group]}; {CONTESTANTS[method].label}" if method in _BAMS else GROUPS[group]
                measured = ", ".join(f"{value:.2f}" for value in ratios)
                rows.append(Row(where, f"{measured} × {unit}", judge(ratios, limit)))
        return Claim("Results", text, f"{rule}: at most {limit:g}.", rows)

    return [
        claim(
            "BAM needs fewer ∇ₓ calls than NAG, ACDM and Linear Coupling, on both objectives and for all condition "
            "numbers.",
            "BAM's ∇ₓ calls divided by the fewest of the three",
            expensive_calls,
            1.0,
            "the fewest ∇ₓ calls of the others",
        ),
        claim(
            "The accelerated coordinate methods need far fewer ∇ₓ calls than NAG.",
            "The ∇ₓ calls of ACDM or Linear Coupling, whichever are more, divided by NAG's",
            coordinate_calls,
            MUCH_FEWER,
            "NAG's ∇ₓ calls",
            methods=["nag"],
        ),
        claim(
            "BAM needs about as many ∇ᵧ calls as the coordinate methods and NAG.",
            "BAM's ∇ᵧ calls divided by the median of the three",
            cheap_calls,
            _ABOUT_EQUAL,
            "the median ∇ᵧ calls of the others",
        ),
        claim(
            "If ∇ₓ is expensive, BAM can be useful.",
            f"BAM's cost c·∇ₓ + ∇ᵧ for c = {_COST_OF_GRAD_X:g}, divided by the lowest of the three in any scaling",
            costs,
            _NEARLY_LOWEST,
            "the lowest other cost",
        ),
    ]


def _judge_smoothness() -> Claim:
    L = a1a_smoothness()
    return Claim(
        "Logistic regression",
        "The smoothness constant of a1a is 1.567.",
        "λ_max(AᵀA)/4n, rounded to three decimals, is 1.567.",
        [Row("a1a, 1605 × 119", f"L = {L:.4f}", "holds" if f"{L:.3f}" == "1.567" else "does not hold")],
    )


def _judge_sweeps(summary: Summary) -> list[Claim]:
    """The claims of the paper's theorem about condition numbers."""

    def slope(bam: str, group: str, kind: str) -> Row:
        measured = summary.slope(group, bam, kind)
        return Row(CONTESTANTS[bam].label, f"slope {measured:.2f}", judge([measured / 0.5], 1.1))

    def growth(bam: str) -> Row:
        calls = [_calls(summary, setting.key, bam, "grad_x") for setting in summary.group("kappa_y")]
        ratio = max(calls) / min(calls)
        return Row(CONTESTANTS[bam].label, f"ratio {ratio:.2f}", judge([ratio], LITTLE_GROWTH))

    return [
        Claim(
            "Theorem 2.2",
            "BAM's ∇ₓ calls grow no faster than √κ_x.",
            "The slope of log ∇ₓ calls over log κ_x, divided by ½: at most 1.1.",
            [slope(bam, "kappa_x", "grad_x") for bam in _BAMS],
        ),
        Claim(
            "Theorem 2.2",
            "BAM's ∇ₓ calls do not depend on κ_y.",
            f"The most divided by the fewest ∇ₓ calls for κ_y from 1e2 to 1e6: at most {LITTLE_GROWTH:g}.",
            [growth(bam) for bam in _BAMS],
        ),
        Claim(
            "Theorem 2.2",
            "If κ_y is larger than κ_x, BAM's ∇ᵧ calls grow no faster than √κ_y.",
            "The slope of log ∇ᵧ calls over log κ_y, divided by ½: at most 1.1.",
            [slope(bam, "kappa_y", "grad_y") for bam in _BAMS],
        ),
    ]


def _calls(summary: Summary, setting: str, method: str, kind: str) -> float:
    return float(summary.at(setting, method, summary.tol, kind).median)

"""The verdict: what the paper says of its experiments and its bounds, held against the numbers by fixed rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from minmin.experiments.contestants import CENTRAL, CONTESTANTS
from minmin.experiments.settings import GROUPS, a1a_smoothness
from minmin.experiments.summary import Summary

Verdict = Literal["holds", "holds mostly", "does not hold"]

RULE = (
    "Every claim is turned into a ratio that must not exceed a bound in any setting. It holds if that is so in all "
    "settings; mostly, if it is so in at least two thirds of them, or in at least one while no ratio is more than "
    "a tenth above the bound; otherwise it does not hold. Ratios are of medians at the last level, and each of "
    "the paper's other methods is taken in whichever scaling, plain or rescaled, asks for ∇ₓ less."
)

_BAMS = ("bam-paper", "bam")
_OTHERS = ("nag", "acdm", "lincoupling")
_SIGNIFICANTLY = 0.8
_ALIKE = 2.0
_EXPENSIVE = 1000.0
_NEARLY = 1.1
_LITTLE = 1.25


class Row(NamedTuple):
    """A claim in one place: what was measured there, and what follows from it."""

    where: str
    measured: str
    verdict: Verdict


class Claim(NamedTuple):
    """What the paper says, in our words, how it is judged, and the verdicts."""

    source: str
    text: str
    rule: str
    rows: list[Row]

    def as_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {**self._asdict(), "rows": [row._asdict() for row in self.rows]}


def judged(ratios: list[float], bound: float) -> Verdict:
    """The one rule for all claims."""
    kept = sum(ratio <= bound for ratio in ratios)
    if kept == len(ratios):
        return "holds"
    nearly = kept > 0 and max(ratios) <= 1.1 * bound
    return "holds mostly" if 3 * kept >= 2 * len(ratios) or nearly else "does not hold"


def claims(summary: Summary) -> list[Claim]:
    """The verdict on every claim that the report's experiments bear on."""
    races = [group for group in summary.groups if group in ("diagonal", "coupled", "paper", "tight")]
    found: list[Claim] = []
    if races:
        found += [_fewest_expensive_calls(summary, races), _coordinate_beats_nag(summary, races)]
        found += [_cheap_calls_alike(summary, races), _useful_where_x_is_expensive(summary, races)]
    if "paper" in races:
        found.append(_smoothness())
    if "kappa_x" in summary.groups:
        found += [
            _root_of_kappa_x(summary),
            _kappa_y_costs_no_expensive_calls(summary),
            _cheap_calls_grow_as_root(summary),
        ]
    return found


def _fewest_expensive_calls(summary: Summary, groups: list[str]) -> Claim:
    def ratio(setting: str, bam: str) -> float:
        others = (_calls(summary, setting, _scaled(summary, setting, other), "grad_x") for other in _OTHERS)
        return _calls(summary, setting, bam, "grad_x") / min(others)

    return Claim(
        "Results",
        "BAM asks for ∇ₓ less often than NAG, ACDM and Linear Coupling, on both objectives, whatever the conditioning.",
        "BAM's ∇ₓ calls over the fewest of the three: at most 1.",
        list(_bam_rows(summary, groups, ratio, 1.0, "∇ₓ of the best other")),
    )


def _coordinate_beats_nag(summary: Summary, groups: list[str]) -> Claim:
    def ratio(setting: str) -> float:
        nag, *coordinate = (_calls(summary, setting, _scaled(summary, setting, m), "grad_x") for m in _OTHERS)
        return max(coordinate) / nag

    return Claim(
        "Results",
        "The accelerated coordinate methods beat NAG by far.",
        f"The more ∇ₓ calls of ACDM and Linear Coupling over NAG's: at most {_SIGNIFICANTLY:g}.",
        [
            Row(GROUPS[group], f"{_listed(ratios)} × NAG's ∇ₓ", judged(ratios, _SIGNIFICANTLY))
            for group in groups
            for ratios in [[ratio(setting.key) for setting in summary.group(group)]]
        ],
    )


def _cheap_calls_alike(summary: Summary, groups: list[str]) -> Claim:
    def ratio(setting: str, bam: str) -> float:
        others = [_calls(summary, setting, _scaled(summary, setting, other), "grad_y") for other in _OTHERS]
        return _calls(summary, setting, bam, "grad_y") / float(np.median(others))

    return Claim(
        "Results",
        "In calls of ∇ᵧ BAM is about as good as the coordinate methods and NAG.",
        f"BAM's ∇ᵧ calls over the median of the three: at most {_ALIKE:g}.",
        list(_bam_rows(summary, groups, ratio, _ALIKE, "the others' median ∇ᵧ")),
    )


def _useful_where_x_is_expensive(summary: Summary, groups: list[str]) -> Claim:
    def cost(setting: str, method: str) -> float:
        return _EXPENSIVE * _calls(summary, setting, method, "grad_x") + _calls(summary, setting, method, "grad_y")

    def ratio(setting: str, bam: str) -> float:
        others = (cost(setting, method) for method in CENTRAL if CONTESTANTS[method].family in _OTHERS)
        return cost(setting, bam) / min(others)

    return Claim(
        "Results",
        "Where ∇ₓ is expensive, BAM can be useful.",
        f"BAM's cost c·∇ₓ + ∇ᵧ at c = {_EXPENSIVE:g} over the lowest of the three in any scaling: at most {_NEARLY:g}.",
        list(_bam_rows(summary, groups, ratio, _NEARLY, "the lowest other cost")),
    )


def _smoothness() -> Claim:
    L = a1a_smoothness()
    return Claim(
        "Logistic regression",
        "The smoothness constant of a1a is 1.567.",
        "λ_max(AᵀA)/4n, rounded to three decimals, is 1.567.",
        [Row("a1a, 1605 × 119", f"L = {L:.4f}", "holds" if f"{L:.3f}" == "1.567" else "does not hold")],
    )


def _root_of_kappa_x(summary: Summary) -> Claim:
    return Claim(
        "Theorem 2.2",
        "BAM's ∇ₓ calls grow no faster than √κ_x.",
        "The slope of log ∇ₓ calls over log κ_x, divided by ½: at most 1.1.",
        _slope_rows(summary, "kappa_x", "grad_x"),
    )


def _kappa_y_costs_no_expensive_calls(summary: Summary) -> Claim:
    def growth(method: str) -> float:
        calls = [_calls(summary, setting.key, method, "grad_x") for setting in summary.group("kappa_y")]
        return max(calls) / min(calls)

    return Claim(
        "Theorem 2.2",
        "κ_y does not matter to BAM's ∇ₓ calls.",
        f"The most over the fewest ∇ₓ calls while κ_y goes from 1e2 to 1e6: at most {_LITTLE:g}.",
        [
            Row(CONTESTANTS[bam].label, f"{found:.2f} ×", judged([found], _LITTLE))
            for bam in _BAMS
            for found in [growth(bam)]
        ],
    )


def _cheap_calls_grow_as_root(summary: Summary) -> Claim:
    return Claim(
        "Theorem 2.2",
        "With κ_y above κ_x, BAM's ∇ᵧ calls grow no faster than √κ_y.",
        "The slope of log ∇ᵧ calls over log κ_y, divided by ½: at most 1.1.",
        _slope_rows(summary, "kappa_y", "grad_y"),
    )


def _slope_rows(summary: Summary, group: str, kind: str) -> list[Row]:
    """The slope of both BAMs along a sweep, beside the theory's ½."""
    return [
        Row(CONTESTANTS[bam].label, f"slope {slope:.2f}", judged([slope / 0.5], 1.1))
        for bam in _BAMS
        for slope in [summary.slope(group, bam, kind)]
    ]


def _bam_rows(
    summary: Summary, groups: list[str], ratio: Callable[[str, str], float], bound: float, unit: str
) -> Iterator[Row]:
    for group in groups:
        for bam in _BAMS:
            ratios = [ratio(setting.key, bam) for setting in summary.group(group)]
            yield Row(
                f"{GROUPS[group]}; {CONTESTANTS[bam].label}", f"{_listed(ratios)} × {unit}", judged(ratios, bound)
            )


def _scaled(summary: Summary, setting: str, method: str) -> str:
    """The method, plain or rescaled, whichever asks for ∇ₓ less."""
    return min((method, f"{method}-rescaled"), key=lambda key: _calls(summary, setting, key, "grad_x"))


def _calls(summary: Summary, setting: str, method: str, kind: str) -> float:
    return float(summary.at(setting, method, summary.tol, kind).median)


def _listed(ratios: list[float]) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)

"""The verdict: what the paper says of its experiments and its bounds, held against the numbers by fixed rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from minmin.experiments.contestants import CENTRAL, CONTESTANTS
from minmin.experiments.settings import GROUPS, a1a_smoothness
from minmin.experiments.summary import Summary

Verdict = Literal["holds", "holds mostly", "does not hold"]
_Ratio = Callable[[str, str], float]

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


def judge(ratios: list[float], bound: float) -> Verdict:
    """The one rule for all claims."""
    kept = sum(ratio <= bound for ratio in ratios)
    if kept == len(ratios):
        return "holds"
    nearly = kept > 0 and max(ratios) <= 1.1 * bound
    return "holds mostly" if 3 * kept >= 2 * len(ratios) or nearly else "does not hold"


def claims(summary: Summary) -> list[Claim]:
    """The verdict on every claim that the report's experiments bear on."""
    races = [group for group in summary.groups if group in ("diagonal", "coupled", "paper", "tight")]
    return [
        *(_of_races(summary, races) if races else []),
        *([_smoothness()] if "paper" in races else []),
        *(_of_sweeps(summary) if "kappa_x" in summary.groups else []),
    ]


def _of_races(summary: Summary, groups: list[str]) -> list[Claim]:
    """What the paper concludes from its figures."""

    def others(setting: str, kind: str) -> list[float]:
        """The calls of the other methods, plain or rescaled, whichever asks for ∇ₓ less."""
        scalings = ((method, f"{method}-rescaled") for method in _OTHERS)
        scaled = (min(two, key=lambda key: _calls(summary, setting, key, "grad_x")) for two in scalings)
        return [_calls(summary, setting, method, kind) for method in scaled]

    def cost(setting: str, method: str) -> float:
        return _EXPENSIVE * _calls(summary, setting, method, "grad_x") + _calls(summary, setting, method, "grad_y")

    def expensive_calls(setting: str, bam: str) -> float:
        return _calls(summary, setting, bam, "grad_x") / min(others(setting, "grad_x"))

    def coordinate_calls(setting: str, _: str) -> float:
        nag, *coordinate = others(setting, "grad_x")
        return max(coordinate) / nag

    def cheap_calls(setting: str, bam: str) -> float:
        return _calls(summary, setting, bam, "grad_y") / float(np.median(others(setting, "grad_y")))

    def costs(setting: str, bam: str) -> float:
        return cost(setting, bam) / min(cost(setting, m) for m in CENTRAL if CONTESTANTS[m].method in _OTHERS)

    def claim(text: str, rule: str, ratio: _Ratio, bound: float, unit: str, methods: Sequence[str] = _BAMS) -> Claim:
        rows = []
        for group in groups:
            for method in methods:
                ratios = [ratio(setting.key, method) for setting in summary.group(group)]
                where = f"{GROUPS[group]}; {CONTESTANTS[method].label}" if method in _BAMS else GROUPS[group]
                measured = ", ".join(f"{found:.2f}" for found in ratios)
                rows.append(Row(where, f"{measured} × {unit}", judge(ratios, bound)))
        return Claim("Results", text, f"{rule}: at most {bound:g}.", rows)

    return [
        claim(
            "BAM asks for ∇ₓ less often than NAG, ACDM and Linear Coupling, on both objectives, whatever the "
            "conditioning.",
            "BAM's ∇ₓ calls over the fewest of the three",
            expensive_calls,
            1.0,
            "∇ₓ of the best other",
        ),
        claim(
            "The accelerated coordinate methods beat NAG by far.",
            "The more ∇ₓ calls of ACDM and Linear Coupling over NAG's",
            coordinate_calls,
            _SIGNIFICANTLY,
            "NAG's ∇ₓ",
            methods=["nag"],
        ),
        claim(
            "In calls of ∇ᵧ BAM is about as good as the coordinate methods and NAG.",
            "BAM's ∇ᵧ calls over the median of the three",
            cheap_calls,
            _ALIKE,
            "the others' median ∇ᵧ",
        ),
        claim(
            "Where ∇ₓ is expensive, BAM can be useful.",
            f"BAM's cost c·∇ₓ + ∇ᵧ at c = {_EXPENSIVE:g} over the lowest of the three in any scaling",
            costs,
            _NEARLY,
            "the lowest other cost",
        ),
    ]


def _smoothness() -> Claim:
    L = a1a_smoothness()
    return Claim(
        "Logistic regression",
        "The smoothness constant of a1a is 1.567.",
        "λ_max(AᵀA)/4n, rounded to three decimals, is 1.567.",
        [Row("a1a, 1605 × 119", f"L = {L:.4f}", "holds" if f"{L:.3f}" == "1.567" else "does not hold")],
    )


def _of_sweeps(summary: Summary) -> list[Claim]:
    """What the paper's theorem promises of condition numbers."""

    def slope(bam: str, group: str, kind: str) -> Row:
        found = summary.slope(group, bam, kind)
        return Row(CONTESTANTS[bam].label, f"slope {found:.2f}", judge([found / 0.5], 1.1))

    def growth(bam: str) -> Row:
        calls = [_calls(summary, setting.key, bam, "grad_x") for setting in summary.group("kappa_y")]
        found = max(calls) / min(calls)
        return Row(CONTESTANTS[bam].label, f"{found:.2f} ×", judge([found], _LITTLE))

    return [
        Claim(
            "Theorem 2.2",
            "BAM's ∇ₓ calls grow no faster than √κ_x.",
            "The slope of log ∇ₓ calls over log κ_x, divided by ½: at most 1.1.",
            [slope(bam, "kappa_x", "grad_x") for bam in _BAMS],
        ),
        Claim(
            "Theorem 2.2",
            "κ_y does not matter to BAM's ∇ₓ calls.",
            f"The most over the fewest ∇ₓ calls while κ_y goes from 1e2 to 1e6: at most {_LITTLE:g}.",
            [growth(bam) for bam in _BAMS],
        ),
        Claim(
            "Theorem 2.2",
            "With κ_y above κ_x, BAM's ∇ᵧ calls grow no faster than √κ_y.",
            "The slope of log ∇ᵧ calls over log κ_y, divided by ½: at most 1.1.",
            [slope(bam, "kappa_y", "grad_y") for bam in _BAMS],
        ),
    ]


def _calls(summary: Summary, setting: str, method: str, kind: str) -> float:
    return float(summary.at(setting, method, summary.tol, kind).median)

"""The verdicts on relatives of BAM: what the paper and its references say of them, compared with the counts."""

from __future__ import annotations

import numpy as np

from minmin.experiments.claims import LITTLE_GROWTH, MUCH_FEWER, Claim, Row, judge
from minmin.experiments.contestants import Contestant
from minmin.experiments.relatives import contenders as c
from minmin.experiments.relatives.trials import Trials
from minmin.experiments.summary import fit_slope

_FASTER = 1.1
"""The limit of a slope divided by the power that theory promises."""
_FEWER = 1.0
_HARDLY_MORE = 1.1
_NO_POWER = 0.1
"""Limits of ratios, besides those on the paper's own experiments; the last one is a fifth of the power of √κ."""


def judge_relatives(trials: Trials) -> list[Claim]:
    """The verdicts on all claims; none if the report has no trials."""
    if not trials.studies:
        return []
    return [
        *_judge_inexact(trials),
        *_judge_cutting(trials),
        *_judge_alternating(trials),
        *_judge_sliding(trials),
        *_judge_blocks(trials),
        *_judge_convex(trials),
        _judge_values(trials),
        *_judge_variants(trials),
    ]


def _judge_inexact(trials: Trials) -> list[Claim]:
    sweeps = {"inexact-x": ("κ_x", 0.5), "inexact-y": ("κ_y", 0.5), "inexact-both": ("κ_x = κ_y", 1.0)}

    def bam_row(bam: Contestant) -> Row:
        row = _growth(trials, "inexact-both", bam, "grad_y", 0.5)
        alone = (_show(trials.slope(trials[f"inexact-{block}"], bam, "grad_y")) for block in "xy")
        return row._replace(measured=f"{row.measured}; over κ_x and κ_y alone {' and '.join(alone)}")

    return [
        Claim(
            "Related works",
            "A method in x with inner solves in y takes ∇ᵧ calls like √(κ_x κ_y).",
            f"The slope of log ∇ᵧ calls over log κ, divided by its power in √(κ_x κ_y): at most {_FASTER:g}.",
            [
                _growth(trials, key, c.INEXACT, "grad_y", power, where=f"over {axis}")
                for key, (axis, power) in sweeps.items()
            ],
        ),
        Claim(
            "Related works",
            "BAM's ∇ᵧ calls grow no faster than √max(κ_x, κ_y).",
            f"The slope of log ∇ᵧ calls over log κ, κ_x = κ_y = κ, divided by ½: at most {_FASTER:g}.",
            [bam_row(bam) for bam in (c.BAM_PAPER, c.BAM)],
        ),
        Claim(
            "Related works",
            "A method in x with inner solves in y is much worse than BAM in ∇ᵧ calls.",
            f"BAM's ∇ᵧ calls divided by those of the inexact outer method: at most {MUCH_FEWER:g}.",
            [
                _ratio(trials, key, "grad_y", bam, c.INEXACT, MUCH_FEWER, f"over {axis}; {bam.label}")
                for key, (axis, _) in sweeps.items()
                for bam in (c.BAM_PAPER, c.BAM)
            ],
        ),
    ]


def _judge_cutting(trials: Trials) -> list[Claim]:
    over_kappa = trials["cutting-kappa"]
    slope = trials.slope(over_kappa, c.CUTTING, "grad_x")
    calls = trials.medians(over_kappa, c.CUTTING, "grad_x")
    return [
        Claim(
            "Related works",
            "If x is short, the ∇ₓ calls of cutting planes grow no faster than d_x.",
            f"The slope of log ∇ₓ calls over log d_x: at most {_FASTER:g}.",
            [_growth(trials, "cutting-d", c.CUTTING, "grad_x", 1.0)],
        ),
        Claim(
            "Related works",
            "They do not grow with κ_x.",
            f"The slope of log ∇ₓ calls over log κ_x: at most {_NO_POWER:g}.",
            [
                Row(
                    c.CUTTING.label,
                    f"slope {_show(slope)}, {calls.min():.0f} to {calls.max():.0f} calls",
                    judge([slope], _NO_POWER),
                )
            ],
        ),
    ]


def _judge_alternating(trials: Trials) -> list[Claim]:
    source = "Diakonikolas and Orecchia, arXiv:1805.09185 (Related works)"
    return [
        Claim(
            source,
            "Accelerated alternating minimisation grows no faster than 1/√(1 − ρ²), plain no faster than 1/(1 − ρ²).",
            f"The slope of log minimisations over log 1/(1 − ρ²), divided by ½ or 1: at most {_FASTER:g}.",
            [
                _growth(trials, "alternating", c.ALTERNATING, "min_x", 0.5),
                _growth(trials, "alternating", c.ALTERNATING_PLAIN, "min_x", 1.0),
            ],
        ),
        Claim(
            source,
            "Acceleration saves minimisations.",
            f"Minimisations with acceleration divided by those without: at most {MUCH_FEWER:g}.",
            [_ratio(trials, "alternating", "min_x", c.ALTERNATING, c.ALTERNATING_PLAIN, MUCH_FEWER, "each coupling")],
        ),
    ]


def _judge_sliding(trials: Trials) -> list[Claim]:
    of_f = trials.medians(trials["sliding-g"], c.SLIDING, "grad_f")
    growth = float(of_f.max() / of_f.min())
    return [
        Claim(
            "Introduction",
            "For f + g, ∇f calls grow no faster than √L_f and ∇g calls no faster than √L_g.",
            f"The slope of log calls over log L, divided by ½: at most {_FASTER:g}.",
            [
                _growth(trials, f"sliding-{part}", c.SLIDING, f"grad_{part}", 0.5, where=f"∇{part} over L_{part}")
                for part in "fg"
            ],
        ),
        Claim(
            "Introduction",
            "∇f calls do not depend on L_g.",
            f"The most divided by the fewest ∇f calls for L_g from 1e2 to 1e5: at most {LITTLE_GROWTH:g}.",
            [Row(c.SLIDING.label, f"ratio {growth:.2f}", judge([growth], LITTLE_GROWTH))],
        ),
    ]


def _judge_blocks(trials: Trials) -> list[Claim]:
    study = trials["blocks"]
    calls = np.array([trials.medians(study, c.BAM, kind) for kind in study.kinds])
    last = fit_slope([1e2, 1e4, 1e6], calls[:, -1])
    counts = ", ".join(f"{count:.0f}" for count in calls[:, -1])
    growth = [float(ratio) for ratio in calls[0] / calls[0, 0]]
    return [
        Claim(
            "Discussion",
            "With several blocks, BAM's calls of each gradient grow no faster than √κ of that block.",
            f"The slope of log calls over log κ of the block, divided by ½: at most {_FASTER:g}.",
            [
                Row(
                    "blocks 1 to 3, κ = 1e2, 1e4, 1e6",
                    f"{counts} calls: slope {_show(last)}, promised 0.5",
                    judge([last / 0.5], _FASTER),
                ),
                *(
                    _growth(trials, "blocks", c.BAM, f"grad_{i}", 0.5 * i, where=f"block {i + 1} over s, κ = 100·{s}")
                    for i, s in ((1, "s"), (2, "s²"))
                ),
            ],
        ),
        Claim(
            "Discussion",
            "The first block's calls do not grow with the κ of the others.",
            f"Its calls divided by those for κ = 100 in all blocks: at most {LITTLE_GROWTH:g}.",
            [Row("s = 1, 10, 100", ", ".join(f"{r:.2f}" for r in growth), judge(growth, LITTLE_GROWTH))],
        ),
    ]


def _judge_convex(trials: Trials) -> list[Claim]:
    return [
        Claim(
            "Introduction",
            "On convex functions, with μ ~ ε/R² added, ∇ₓ calls grow no faster than √(1/ε).",
            f"The slope of log ∇ₓ calls over log 1/ε, divided by ½: at most {_FASTER:g}.",
            [_growth(trials, "convex", method, "grad_x", 0.5) for method in (c.BAM, c.NAG)],
        ),
        Claim(
            "minmin, radius='auto'",
            "Finding R during the run costs little.",
            f"∇ₓ calls with R found during the run, divided by those with R given: at most {LITTLE_GROWTH:g}.",
            [
                _ratio(trials, "convex", "grad_x", auto, given, LITTLE_GROWTH, given.label)
                for given, auto in ((c.BAM, c.BAM_AUTO), (c.NAG, c.NAG_AUTO))
            ],
        ),
    ]


def _judge_values(trials: Trials) -> Claim:
    return Claim(
        "Discussion",
        "If only values of f are known in y, BAM needs hardly more ∇ₓ calls.",
        f"∇ₓ calls with values in place of ∇ᵧ, divided by those with ∇ᵧ: at most {_HARDLY_MORE:g}.",
        [_ratio(trials, "values", "grad_x", c.BAM_VALUES, c.BAM, _HARDLY_MORE, "each κ_y")],
    )


def _judge_variants(trials: Trials) -> list[Claim]:
    groups = {"variants-diagonal": "Quadratics, block-diagonal", "variants-coupled": "Quadratics, coupled"}

    def rows(kind: str, pairs: list[tuple[Contestant, Contestant]], limit: float) -> list[Row]:
        return [
            _ratio(trials, key, kind, variant, plain, limit, f"{title}; {variant.label}")
            for key, title in groups.items()
            for variant, plain in pairs
        ]

    source = "Van Scoy, Freeman and Lynch (2018)"
    return [
        Claim(
            source,
            "BAM needs fewer ∇ₓ calls with triple momentum than with Nesterov's steps.",
            f"∇ₓ calls divided by those of BAM: at most {_FEWER:g}.",
            rows("grad_x", [(c.BAM_TRIPLE, c.BAM)], _FEWER),
        ),
        Claim(
            source,
            "It needs hardly more ∇ᵧ calls.",
            f"∇ᵧ calls divided by those of BAM: at most {_HARDLY_MORE:g}.",
            rows("grad_y", [(c.BAM_TRIPLE, c.BAM)], _HARDLY_MORE),
        ),
        Claim(
            "minmin, adaptive=True",
            "Without known constants, BAM and NAG need hardly more ∇ₓ calls.",
            f"∇ₓ calls with estimated constants, divided by those with the true ones: at most {_HARDLY_MORE:g}.",
            rows("grad_x", [(c.BAM_ADAPTIVE, c.BAM), (c.NAG_ADAPTIVE, c.NAG)], _HARDLY_MORE),
        ),
    ]


def _growth(trials: Trials, key: str, contender: Contestant, kind: str, power: float, where: str = "") -> Row:
    """The growth of a contender's calls, and the power of it that theory promises."""
    slope = trials.slope(trials[key], contender, kind)
    return Row(where or contender.label, f"slope {_show(slope)}, promised {power:g}", judge([slope / power], _FASTER))


def _show(number: float) -> str:
    """Two digits; no minus sign before zero."""
    return f"{round(number, 2) + 0.0:.2f}"


def _ratio(
    trials: Trials, key: str, kind: str, contender: Contestant, other: Contestant, limit: float, where: str
) -> Row:
    """The calls of a contender divided by those of another, at each point."""
    study = trials[key]
    pairs = zip(trials.medians(study, contender, kind), trials.medians(study, other, kind), strict=True)
    ratios = [float(ours / theirs) if np.isfinite(ours) else np.inf for ours, theirs in pairs]
    return Row(where, ", ".join(f"{ratio:.2f}" for ratio in ratios), judge(ratios, limit))

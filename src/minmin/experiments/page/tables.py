"""The tables of the page: calls until a relative gap."""

from __future__ import annotations

from typing import Any

from minmin.experiments.contestants import CONTESTANTS
from minmin.experiments.race import format_level
from minmin.experiments.relatives.panels import name_kind
from minmin.experiments.relatives.studies import Study
from minmin.experiments.relatives.trials import Trials
from minmin.experiments.results import select_table_levels
from minmin.experiments.summary import KINDS, Spread, Summary

_WHAT = "medians, and 10–90 % ranges if there are several runs"


def build_table(summary: Summary, group: str) -> dict[str, Any]:
    """One row per method, one column per setting and level; a single level is in the caption."""
    settings = summary.group(group)
    in_table = [summary.tol] if settings[0].experiment == "scaling" else select_table_levels(summary.tol)
    several = len(in_table) > 1
    until = "the relative gap" if several else f"the relative gap {format_level(in_table[0])}"
    return {
        "caption": f"∇ₓ calls / ∇ᵧ calls until {until}: {_WHAT}",
        "heads": [setting.label for setting in settings],
        "levels": [format_level(level) for level in in_table] if several else [],
        "rows": [
            {
                "label": CONTESTANTS[method].label,
                "cells": [
                    _cell(
                        [summary.at(setting.key, method, level, kind) for kind in KINDS],
                        len(summary.runs[setting.key, method]),
                    )
                    for setting in settings
                    for level in in_table
                ],
            }
            for method in settings[0].methods
        ],
    }


def describe_studies(trials: Trials) -> list[dict[str, Any]]:
    """What the page's template shows of each study."""
    return [
        {
            "key": study.key,
            "title": study.title,
            "text": study.text,
            "has_panel": bool(study.lines),
            "caption": " / ".join(name_kind(symbol) for symbol in study.kinds.values()),
            "table": _study_table(trials, study),
        }
        for study in trials.studies
    ]


def _study_table(trials: Trials, study: Study) -> dict[str, Any]:
    """A row per point: what varies, and the calls of each contender."""
    return {
        "heads": [contender.label for contender in study.contenders],
        "levels": [],
        "rows": [
            {
                "label": point.label,
                "cells": [
                    _cell(
                        [trials.at(study, point, contender, kind) for kind in study.kinds],
                        len(trials.runs[study.key_of(point), contender.key]),
                    )
                    for contender in study.contenders
                ],
            }
            for point in study.points
        ],
    }


def _cell(spreads: list[Spread], runs: int) -> dict[str, str]:
    """The calls of each kind, and their ranges if there are several runs."""
    return {
        "median": " / ".join(_count(spread.median) for spread in spreads),
        "band": " / ".join(f"{_count(spread.low)}–{_count(spread.high)}" for spread in spreads) if runs > 1 else "",
    }


def _count(calls: float) -> str:
    return f"{calls:.0f}" if calls < float("inf") else "not reached"

"""The tables of the page: calls of both gradients until a relative gap."""

from __future__ import annotations

from typing import Any

from minmin.experiments.contestants import CONTESTANTS
from minmin.experiments.race import format_level
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
                "cells": [_cell(summary, setting.key, method, level) for setting in settings for level in in_table],
            }
            for method in settings[0].methods
        ],
    }


def _cell(summary: Summary, setting: str, method: str, level: float) -> dict[str, str]:
    x, y = (summary.at(setting, method, level, kind) for kind in KINDS)
    several = len(summary.runs[setting, method]) > 1
    return {"median": f"{_count(x.median)} / {_count(y.median)}", "band": f"{_band(x)} / {_band(y)}" if several else ""}


def _band(spread: Spread) -> str:
    return f"{_count(spread.low)}–{_count(spread.high)}"


def _count(calls: float) -> str:
    return f"{calls:.0f}" if calls < float("inf") else "not reached"

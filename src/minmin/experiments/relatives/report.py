"""The studies on relatives of BAM as tables and panels of the page, and as lines of results.json."""

from __future__ import annotations

import math
import re
from typing import Any

from minmin.experiments.race import format_level
from minmin.experiments.relatives.contenders import Contender
from minmin.experiments.relatives.panels import draw_curves, name_calls, name_kind
from minmin.experiments.relatives.study import Point, Study
from minmin.experiments.relatives.trials import Trials
from minmin.experiments.summary import Spread


def describe_studies(trials: Trials) -> list[dict[str, Any]]:
    """What the page's template shows of each study."""
    return [
        {
            "key": study.key,
            "title": study.title,
            "text": study.text,
            "has_panel": bool(study.lines),
            "caption": " / ".join(name_kind(symbol) for symbol in study.kinds.values()),
            "table": _table(trials, study),
        }
        for study in trials.studies
    ]


def _table(trials: Trials, study: Study) -> dict[str, Any]:
    """A row per point: what varies, and the calls of each contender."""
    return {
        "heads": [contender.label for contender in study.contenders],
        "levels": [],
        "rows": [
            {
                "label": point.label,
                "cells": [_cell(trials, study, point, contender) for contender in study.contenders],
            }
            for point in study.points
        ],
    }


def _cell(trials: Trials, study: Study, point: Point, contender: Contender) -> dict[str, str]:
    spreads = [trials.at(study, point, contender, kind) for kind in study.kinds]
    several = len(trials.runs[study.key_of(point), contender.key]) > 1
    return {
        "median": " / ".join(_count(spread.median) for spread in spreads),
        "band": " / ".join(f"{_count(spread.low)}–{_count(spread.high)}" for spread in spreads) if several else "",
    }


def _count(calls: float) -> str:
    return f"{calls:.0f}" if math.isfinite(calls) else "not reached"


def panel_data(trials: Trials) -> dict[str, Any]:
    """The data from which the page draws the panels."""
    return {
        study.key: {
            "x": [point.varied for point in study.points],
            "x_title": _subscripts(study.axis),
            "y_title": name_calls(study),
            "curves": [
                {
                    "label": curve.label,
                    "colour": curve.colour,
                    "dash": curve.dash,
                    "calls": [_finite(spread) for spread in curve.calls],
                    "promised": curve.promised,
                }
                for curve in draw_curves(trials, study)
            ],
        }
        for study in trials.studies
        if study.lines
    }


def _subscripts(text: str) -> str:
    """κₓ for κ_x; letters without a subscript of their own, as in L_f, get the tag that the axis understands."""
    return re.sub(r"_(\w)", r"<sub>\1</sub>", text.replace("_x", "ₓ").replace("_y", "ᵧ"))


def _finite(spread: Spread) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in spread]


def result_lines(trials: Trials) -> dict[str, list[dict[str, Any]]]:
    """The medians and all runs, for results.json; empty if the report has no trials."""
    if not trials.studies:
        return {}
    medians, runs = [], []
    for study in trials.studies:
        for point in study.points:
            for contender in study.contenders:
                setting = study.key_of(point)
                calls = {kind: _finite(trials.at(study, point, contender, kind)) for kind in study.kinds}
                level = float(format_level(study.gap_of(point, trials.tol)))
                medians.append({"setting": setting, "method": contender.key, "level": level, **calls})
                runs += [
                    {"setting": setting, "method": contender.key, "seed": seed, **run.calls}
                    for seed, run in enumerate(trials.runs[setting, contender.key])
                ]
    return {"relatives": medians, "runs of relatives": runs}

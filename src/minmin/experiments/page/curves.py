"""The data from which the page draws the curves, in its panels."""

from __future__ import annotations

import re
from typing import Any

from minmin.experiments.race import format_level, levels
from minmin.experiments.relatives.panels import draw_curves, name_calls
from minmin.experiments.relatives.trials import Trials
from minmin.experiments.styles import ON_DARK, style_of
from minmin.experiments.summary import KINDS, Summary, theory_line

DASHES = ("none", "6 3", "8 3 2 3")
"""Lengths of dashes and gaps, in pixels, by the number of the variant."""
_SYMBOLS = {"grad_x": "∇ₓ", "grad_y": "∇ᵧ"}
_AXES = {"kappa_x": "κₓ", "kappa_y": "κᵧ"}


def list_panels(summary: Summary, group: str) -> list[dict[str, str]]:
    """The panels of a group: one per setting, or one per gradient for a sweep."""
    settings = summary.group(group)
    if settings[0].experiment == "scaling":
        return [{"key": f"{group}/{kind}", "label": f"{_SYMBOLS[kind]} calls"} for kind in KINDS]
    return [{"key": setting.key, "label": setting.label} for setting in settings]


def collect_curves(summary: Summary, trials: Trials) -> dict[str, Any]:
    """What the page's script reads."""
    panels: dict[str, Any] = {}
    for group in summary.groups:
        settings = summary.group(group)
        if settings[0].experiment == "scaling":
            panels |= {f"{group}/{kind}": _sweep(summary, group, kind) for kind in KINDS}
        else:
            panels |= {setting.key: {"runs": _runs(summary, setting.key)} for setting in settings}
    return {
        "tol": format_level(summary.tol),
        "levels": levels(summary.tol),
        "inks": ON_DARK,
        "dashes": DASHES,
        "methods": {key: style_of(key)._asdict() for key in summary.methods},
        "panels": panels | _studies(trials),
    }


def _runs(summary: Summary, setting: str) -> dict[str, Any]:
    return {
        method: [{"grad_x": run.grad_x, "grad_y": run.grad_y, "seconds": run.seconds} for run in runs]
        for (key, method), runs in summary.runs.items()
        if key == setting
    }


def _sweep(summary: Summary, group: str, kind: str) -> dict[str, Any]:
    settings = summary.group(group)
    return {
        "sweep": _AXES[group],
        "kind": kind,
        "kappas": [setting.varied for setting in settings],
        "calls": {
            method: [summary.at(setting.key, method, summary.tol, kind).for_json() for setting in settings]
            for method in settings[0].methods
        },
        "theory": [value if value < float("inf") else None for value in theory_line(summary, group, kind)],
    }


def _studies(trials: Trials) -> dict[str, Any]:
    """A panel per study on relatives of BAM that has lines."""
    return {
        study.key: {
            "x": [point.varied for point in study.points],
            "x_title": _subscripts(study.axis),
            "y_title": name_calls(study),
            "curves": [
                curve._asdict() | {"calls": [spread.for_json() for spread in curve.calls]}
                for curve in draw_curves(trials, study)
            ],
        }
        for study in trials.studies
        if study.lines
    }


def _subscripts(text: str) -> str:
    """κₓ for κ_x; letters without a subscript of their own, as in L_f, get the tag that the axis understands."""
    return re.sub(r"_(\w)", r"<sub>\1</sub>", text.replace("_x", "ₓ").replace("_y", "ᵧ"))

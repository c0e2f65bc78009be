"""The page of a report: one HTML file that loads no other files."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from minmin.experiments.claims import RULE, Claim
from minmin.experiments.contestants import CONTESTANTS
from minmin.experiments.race import format_level, levels
from minmin.experiments.relatives.report import describe_studies, panel_data
from minmin.experiments.relatives.studies import MOST_SEEDS
from minmin.experiments.relatives.trials import Trials
from minmin.experiments.results import infinite_to_none, select_table_levels
from minmin.experiments.settings import GROUPS, describe_group
from minmin.experiments.styles import style_of
from minmin.experiments.summary import KINDS, Spread, Summary, theory_line

_SYMBOLS = {"grad_x": "∇ₓ", "grad_y": "∇ᵧ"}


def build_page(
    summary: Summary,
    trials: Trials,
    claims: list[Claim],
    figures: list[str],
    seeds: int,
    machine: dict[str, str],
    command: str,
) -> bytes:
    """Build the page. ``command`` is the command that made the report, with EXPERIMENT in place of the experiment."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["symbols"] = _symbols
    folder = files("minmin.experiments.page")
    template = environment.from_string(folder.joinpath("template.html").read_text("utf-8"))
    experiments = list(dict.fromkeys(setting.experiment for setting in summary.settings))
    if trials.studies:
        experiments.append("relatives")
    return template.render(
        css=folder.joinpath("page.css").read_text("utf-8"),
        script=folder.joinpath("page.js").read_text("utf-8"),
        plotly=get_plotlyjs(),
        data=json.dumps(_data(summary, trials), ensure_ascii=False, allow_nan=False).replace("</", "<\\/"),
        tol=format_level(summary.tol),
        seeds=seeds,
        command=command.replace("EXPERIMENT", experiments[0] if len(experiments) == 1 else "all"),
        verdicts=_count_verdicts(claims),
        rule=RULE,
        claims=claims,
        figures=figures,
        methods=[{"key": key, **style_of(key)._asdict()} for key in summary.methods],
        groups=[_group(summary, group, command) for group in summary.groups],
        relatives=describe_studies(trials),
        relatives_seeds=MOST_SEEDS,
        relatives_command=command.replace("EXPERIMENT", "relatives"),
        machine=machine,
    ).encode()


def _count_verdicts(claims: list[Claim]) -> list[tuple[str, int]]:
    """How often each verdict occurs, in a fixed order."""
    verdicts = [row.verdict for claim in claims for row in claim.rows]
    return [(verdict, verdicts.count(verdict)) for verdict in ("holds", "holds mostly", "does not hold")]


def _symbols(text: str) -> Markup:
    """Text with subscripts for κ_x, L_y and so on."""
    return Markup(re.sub(r"([A-Za-zκμ])_(xx|yy|xy|[xyfg])\b", r"\1<sub>\2</sub>", str(escape(text))))


def _group(summary: Summary, group: str, command: str) -> dict[str, Any]:
    settings = summary.group(group)
    sweep = settings[0].experiment == "scaling"
    return {
        "sweep": sweep,
        "title": GROUPS[group],
        "text": describe_group(settings[0]),
        "panels": (
            [{"key": f"{group}/{kind}", "label": f"{_SYMBOLS[kind]} calls"} for kind in KINDS]
            if sweep
            else [{"key": setting.key, "label": setting.label} for setting in settings]
        ),
        "table": _table(summary, group),
        "command": command.replace("EXPERIMENT", settings[0].experiment),
    }


def _table(summary: Summary, group: str) -> dict[str, Any]:
    settings = summary.group(group)
    in_table = [summary.tol] if settings[0].experiment == "scaling" else select_table_levels(summary.tol)
    columns = [(setting, level) for setting in settings for level in in_table]
    return {
        "heads": [f"{setting.label}, gap {format_level(level)}" for setting, level in columns],
        "rows": [
            {
                "label": CONTESTANTS[method].label,
                "cells": [_cell(summary, setting.key, method, level) for setting, level in columns],
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


def _data(summary: Summary, trials: Trials) -> dict[str, Any]:
    """The data from which the page draws the curves."""
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
        "methods": {key: style_of(key)._asdict() for key in summary.methods},
        "panels": panels | panel_data(trials),
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
        "sweep": group.replace("kappa", "κ"),
        "kind": kind,
        "kappas": [setting.varied for setting in settings],
        "calls": {
            method: [infinite_to_none(summary.at(setting.key, method, summary.tol, kind)) for setting in settings]
            for method in settings[0].methods
        },
        "theory": [value if value < float("inf") else None for value in theory_line(summary, group, kind)],
    }

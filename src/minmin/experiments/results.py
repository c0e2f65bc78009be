"""All counts of a report as JSON and CSV; times, which change from run to run, in a separate file."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from minmin.experiments.claims import RULE, Claim
from minmin.experiments.contestants import CONTESTANTS
from minmin.experiments.race import format_level, levels
from minmin.experiments.relatives.trials import Trials
from minmin.experiments.settings import GROUPS
from minmin.experiments.summary import KINDS, Summary


def select_table_levels(tol: float) -> list[float]:
    """The relative gaps in the tables: 1e-4 and the last one."""
    return [1e-4, tol] if tol < 1e-4 else [tol]


def results_json(summary: Summary, trials: Trials, claims: list[Claim], seeds: int) -> bytes:
    """All counts and verdicts as JSON; the bytes are the same for the same seeds."""
    content = {
        "format": 1,
        "experiments": sorted({setting.experiment for setting in summary.settings})
        + ["relatives"] * bool(trials.studies),
        "seeds": seeds,
        "tol": summary.tol,
        "levels": levels(summary.tol),
        "methods": {key: CONTESTANTS[key].label for key in summary.methods},
        "settings": {s.key: {"group": GROUPS[s.group], "label": s.label} for s in summary.settings},
        "table": [
            {
                "setting": setting.key,
                "method": method,
                "level": level,
                **{kind: summary.at(setting.key, method, level, kind).for_json() for kind in KINDS},
            }
            for setting in summary.settings
            for method in setting.methods
            for level in select_table_levels(summary.tol)
        ],
        "verdict": {"rule": RULE, "claims": [claim.as_dict() for claim in claims]},
        "runs": [
            {name: value for name, value in run.items() if name != "kilobytes" or value}
            for run in summary.each_run(*KINDS, "kilobytes")
        ],
        **_list_trials(trials),
    }
    return _encode(content)


def _list_trials(trials: Trials) -> dict[str, list[dict[str, Any]]]:
    """The medians and all runs of the studies; empty if the report has none."""
    if not trials.studies:
        return {}
    medians, runs = [], []
    for study in trials.studies:
        for point in study.points:
            for contender in study.contenders:
                setting = study.key_of(point)
                calls = {kind: trials.at(study, point, contender, kind).for_json() for kind in study.kinds}
                level = float(format_level(study.gap_of(point, trials.tol)))
                medians.append({"setting": setting, "method": contender.key, "level": level, **calls})
                runs += [
                    {"setting": setting, "method": contender.key, "seed": seed, **run.calls}
                    for seed, run in enumerate(trials.runs[setting, contender.key])
                ]
    return {"relatives": medians, "runs of relatives": runs}


def results_csv(summary: Summary) -> bytes:
    """One line per run and level: the calls of both gradients until that level."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["setting", "method", "seed", "level", *KINDS])
    for run in summary.each_run(*KINDS):
        for level, calls in zip(levels(summary.tol), zip(run["grad_x"], run["grad_y"], strict=True), strict=False):
            writer.writerow([run["setting"], run["method"], run["seed"], level, *calls])
    return buffer.getvalue().encode()


def times_json(summary: Summary, machine: dict[str, str]) -> bytes:
    """The seconds until each level, and the machine on which they were measured."""
    content = {
        "machine": machine,
        "levels": levels(summary.tol),
        "runs": list(summary.each_run("seconds")),
    }
    return _encode(content)


def _encode(content: dict[str, Any]) -> bytes:
    """JSON with one line per item of a list, so that files can be compared line by line."""
    parts = []
    for name, value in content.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            items = ",\n  ".join(json.dumps(item, ensure_ascii=False) for item in value)
            parts.append(f" {json.dumps(name)}: [\n  {items}\n ]")
        else:
            parts.append(f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}")
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode()

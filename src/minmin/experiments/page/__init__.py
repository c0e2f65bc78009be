"""The page of a report: one HTML file that loads no other files."""

from __future__ import annotations

import base64
import gzip
import json
import re
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from minmin.experiments.claims import RULE, Claim, count_verdicts, summarise_claims
from minmin.experiments.page.curves import DASHES, collect_curves, list_panels
from minmin.experiments.page.tables import build_table, describe_studies
from minmin.experiments.race import format_level
from minmin.experiments.relatives.studies import MOST_SEEDS
from minmin.experiments.relatives.trials import Trials
from minmin.experiments.settings import GROUPS, describe_group
from minmin.experiments.styles import ON_DARK, style_of
from minmin.experiments.summary import Summary

_PAPERS = ("The paper's experiments, repeated", "repeats its experiments and counts all gradient calls")
_ALONE = {
    "relatives": (
        "Relatives and extensions of BAM",
        "counts the gradient calls of methods and extensions that the paper names",
    ),
    "federated": (
        "The paper's federated application",
        "runs the application that the paper names and counts all gradient calls",
    ),
}
"""Titles of pages on the paper's experiments, or on another one alone, and what they do."""


def build_page(
    summary: Summary,
    trials: Trials,
    claims: list[Claim],
    figures: list[str],
    seeds: int,
    machine: dict[str, str],
    command: str,
    documentation: str | None,
) -> bytes:
    """Build the page.

    ``command`` is the command that made the report, with EXPERIMENT in place of the experiment; ``documentation`` is
    the address of the documentation, if it is known.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["symbols"] = _symbols
    folder = files("minmin.experiments.page")
    template = environment.from_string(folder.joinpath("template.html").read_text("utf-8"))
    experiments = list(dict.fromkeys(setting.experiment for setting in summary.settings))
    if trials.studies:
        experiments.append("relatives")
    alone = experiments[0] if len(experiments) == 1 else "all"
    title, aim = _ALONE.get(alone, _PAPERS)
    parts = _parts(summary, command)
    relatives = describe_studies(trials)
    return template.render(
        css=folder.joinpath("page.css").read_text("utf-8"),
        script=folder.joinpath("page.js").read_text("utf-8"),
        plotly=_pack(get_plotlyjs()),
        data=_pack(json.dumps(collect_curves(summary, trials), ensure_ascii=False, allow_nan=False)),
        inks=ON_DARK,
        dashes=DASHES,
        title=title,
        aim=aim,
        lead=summarise_claims(claims),
        documentation=documentation,
        tol=format_level(summary.tol),
        seeds=seeds,
        command=command.replace("EXPERIMENT", alone),
        verdicts=count_verdicts(claims),
        rule=RULE,
        claims=claims,
        figures=figures,
        contents=_contents(claims, parts, relatives),
        parts=parts,
        relatives=relatives,
        relatives_seeds=MOST_SEEDS,
        relatives_command=command.replace("EXPERIMENT", "relatives"),
        machine=machine,
    ).encode()


def _pack(text: str) -> str:
    """Text in a quarter to a half of its size, which the page unpacks; the same text gives the same letters."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _symbols(text: str) -> Markup:
    """Text with subscripts for κ_x, L_y and so on."""
    return Markup(re.sub(r"([A-Za-zακμ])_(xx|yy|xy|[xyfgi])\b", r"\1<sub>\2</sub>", str(escape(text))))


def _parts(summary: Summary, command: str) -> list[dict[str, Any]]:
    """The sections with curves: races to a relative gap, and sweeps over condition numbers, each with its methods."""
    sections: dict[str, list[str]] = {}
    for group in summary.groups:
        sweep = summary.group(group)[0].experiment == "scaling"
        sections.setdefault("scaling" if sweep else "curves", []).append(group)
    return [
        {
            "key": key,
            "title": key.capitalize(),
            "methods": [
                {"key": method, **style_of(method)._asdict()}
                for method in summary.methods
                if any(method in summary.group(group)[0].methods for group in groups)
            ],
            "groups": [_group(summary, group, command) for group in groups],
        }
        for key, groups in sections.items()
    ]


def _group(summary: Summary, group: str, command: str) -> dict[str, Any]:
    setting = summary.group(group)[0]
    return {
        "key": group,
        "title": GROUPS[group],
        "text": describe_group(setting),
        "panels": list_panels(summary, group),
        "table": build_table(summary, group),
        "command": command.replace("EXPERIMENT", setting.experiment),
    }


def _contents(
    claims: list[Claim], parts: list[dict[str, Any]], relatives: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The sections of the page in their order, each with its entries."""
    return [
        *([{"key": "verdicts", "title": "Verdicts", "entries": []}] if claims else []),
        *({"key": part["key"], "title": part["title"], "entries": part["groups"]} for part in parts),
        *([{"key": "relatives", "title": "Relatives of BAM", "entries": relatives}] if relatives else []),
        {"key": "files", "title": "Files", "entries": []},
    ]

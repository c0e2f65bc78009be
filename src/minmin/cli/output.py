"""What all commands share: --json, --quiet, and how results are printed."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from minmin.result import Result

EXIT_CODES = {"converged": 0, "interrupted": 130}
"""Of a run's status; others are 1."""

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
quiet = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors (and what --json asks for).")


def print_json(content: dict[str, Any]) -> None:
    """Numbers that JSON lacks become null."""
    click.echo(json.dumps(_plain(content), ensure_ascii=False))


def outcome(result: Result) -> dict[str, Any]:
    """What a script wants to know of a run."""
    kept = ("status", "message", "method", "fun", "gap_bound", "certified", "nit", "seconds", "calls")
    return {name: getattr(result, name) for name in kept}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

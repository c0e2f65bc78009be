"""What all commands share: --json, --quiet, --tol, --save, and how results are printed."""

from __future__ import annotations

import functools
import json
import math
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from minmin.errors import InputError
from minmin.files import write_atomically
from minmin.result import Result

EXIT_CODES = {"converged": 0, "interrupted": 130}
"""Of a run's status; others are 1."""

_Command = Callable[..., Any]

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors (and what --json asks for).")
tol_option = functools.partial(
    click.option, "--tol", default=1e-6, show_default=True, help="Stop when f - f* is proved to be at most this."
)


@dataclass(frozen=True)
class Output:
    """To a person, to a script (``as_json``), or to nobody (``quiet``)."""

    as_json: bool
    quiet: bool

    @property
    def talks(self) -> bool:
        return not (self.as_json or self.quiet)

    @property
    def shows_progress(self) -> bool:
        return self.talks and sys.stderr.isatty()

    def say(self, text: object) -> None:
        """Print words for a person."""
        if self.talks:
            click.echo(str(text))

    def answer(self, text: object, content: dict[str, Any]) -> None:
        """Print what was found, as text or as JSON."""
        if self.as_json:
            print_json(content)
        self.say(text)

    def save(self, path: Path, data: bytes) -> None:
        write_atomically(path, data)
        self.say(f"saved to {path}")


def output_options(command: _Command) -> _Command:
    """Add --json and --quiet to a command, which gets an Output in place of them."""

    @functools.wraps(command)
    def with_output(*, as_json: bool, quiet: bool, **options: Any) -> Any:
        return command(output=Output(as_json, quiet), **options)

    return json_option(quiet_option(with_output))


def save_option(suffix: str, text: str) -> Callable[[_Command], _Command]:
    """--save FILE, which replaces nothing but such files."""

    def check(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
        if path is None:
            return None
        check_place(path, "--save")
        if path.is_file() and path.stat().st_size > 0 and not zipfile.is_zipfile(path):
            raise InputError(f"--save {path}: there is a file that is no .{suffix} archive; it was left as it is")
        return path

    return click.option("--save", type=click.Path(path_type=Path), callback=check, help=text)


def check_place(path: Path, option: str) -> None:
    """Better to hear of a wrong place before the work than after it."""
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; give the name of a file")


def columns_of_text(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells under each other."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ("  ".join(map(str.ljust, line, widths)) for line in lines)
    return "\n".join(line.rstrip() for line in padded)


def print_json(content: dict[str, Any]) -> None:
    """Numbers that JSON lacks become null."""
    click.echo(json.dumps(_plain(content)))


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

"""Options that commands share (--json, --quiet, --tol, --save), and the printing of results."""

from __future__ import annotations

import functools
import io
import json
import math
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minmin.errors import InputError
from minmin.files import write_atomically

if TYPE_CHECKING:
    from minmin.result import Result

EXIT_CODES = {"converged": 0, "interrupted": 130}
"""The exit code by the status of a run; 1 for any other status."""

_Command = Callable[..., Any]
Columns = list[tuple[str, Any]]
"""Columns of a table: their names and values."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
quiet_option = functools.partial(click.option, "--quiet", "-q", is_flag=True)
tol_option = functools.partial(
    click.option,
    "--tol",
    default=1e-6,
    show_default=True,
    help="Stop when the bound on f - f* is at most this; it is proved where the data allow a proof.",
)


@dataclass(frozen=True)
class Output:
    """Prints text for people, JSON for scripts (``as_json``), or nothing (``quiet``)."""

    as_json: bool
    quiet: bool

    @property
    def prints_text(self) -> bool:
        return not (self.as_json or self.quiet)

    @property
    def shows_progress(self) -> bool:
        return self.prints_text and sys.stderr.isatty()

    def print_text(self, text: object) -> None:
        """Print text for people."""
        if self.prints_text:
            click.echo(str(text))

    def print_note(self, text: str) -> None:
        """Print something to mind on standard error."""
        if self.prints_text:
            click.echo(f"note: {text}", err=True)

    def print_result(self, text: object, content: dict[str, Any]) -> None:
        """Print the result of a command, as text or as JSON."""
        if self.as_json:
            print_json(content)
        self.print_text(text)

    def save(self, path: Path, data: bytes) -> None:
        write_atomically(path, data)
        self.print_text(f"saved to {path}")


def output_options(command: _Command) -> _Command:
    """Add --json and --quiet to a command, which is then called with an Output instead of them."""

    @functools.wraps(command)
    def with_output(*, as_json: bool, quiet: bool, **options: Any) -> Any:
        return command(output=Output(as_json, quiet), **options)

    return json_option(quiet_option(help="Print nothing but errors, and JSON if --json is given.")(with_output))


def save_option(suffix: str, text: str) -> Callable[[_Command], _Command]:
    """The option --save; it overwrites an existing file only if that is an archive as well."""

    def check(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
        if path is None:
            return None
        check_writable(path, "--save")
        if path.is_file() and path.stat().st_size > 0 and not zipfile.is_zipfile(path):
            raise InputError(
                f"--save {path}: the file exists and is not a .{suffix} archive; it was left as it is; "
                "give another name"
            )
        return path

    return click.option("--save", type=click.Path(path_type=Path), callback=check, help=text)


@contextmanager
def show_progress(label: str, shown: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal, or else print a line every ten seconds."""
    if not shown:
        yield lambda done, total: None
    elif sys.stderr.isatty():
        with click.progressbar(length=1, label=label, file=sys.stderr, show_pos=True) as bar:

            def advance(done: int, total: int) -> None:
                bar.length = total
                bar.update(done - bar.pos)

            yield advance
    else:
        due = time.monotonic()

        def print_line(done: int, total: int) -> None:
            nonlocal due
            if time.monotonic() >= due or done == total:
                due = time.monotonic() + 10.0
                click.echo(f"{done} of {total} {label}", err=True)

        yield print_line


def check_writable(path: Path, option: str) -> None:
    """Check the path of an output before the work starts, so that a wrong one does not waste it."""
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: there is no folder {path.parent}; create it, or give another path")
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; give the name of a file")


def align_columns(lines: Sequence[Sequence[str]]) -> str:
    """A table as text: cells of a column start at the same position."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ("  ".join(map(str.ljust, line, widths)) for line in lines)
    return "\n".join(line.rstrip() for line in padded)


def describe_columns(columns: list[str]) -> str:
    shown = ", ".join(columns if len(columns) <= 4 else [*columns[:2], "…", columns[-1]])
    return f"{len(columns)} column{'s' if len(columns) > 1 else ''} ({shown})"


def encode_table(columns: Columns, *, as_parquet: bool = False) -> bytes:
    """A table as the content of a CSV or Parquet file."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    buffer = io.BytesIO()
    write = pyarrow.parquet.write_table if as_parquet else pyarrow.csv.write_csv
    write(pa.table([column for _, column in columns], names=[name for name, _ in columns]), buffer)
    return buffer.getvalue()


def print_json(content: dict[str, Any]) -> None:
    """Print one line of JSON; NaN and infinity, which JSON does not have, become null."""
    click.echo(json.dumps(_replace_non_finite(content)))


def summarise(result: Result) -> dict[str, Any]:
    """The fields of a result that --json prints."""
    names = ("status", "message", "method", "fun", "gap_bound", "certified", "nit", "seconds", "calls")
    return {name: getattr(result, name) for name in names}


def _replace_non_finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _replace_non_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_non_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

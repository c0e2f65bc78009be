"""minmin partition."""

from __future__ import annotations

from pathlib import Path

import click

from minmin.cli.options import DataPath, delimiter_option, form_option, target_option
from minmin.cli.output import quiet_option


@click.command()
@click.argument("files", metavar="DATA...", nargs=-1, required=True, type=DataPath(path_type=Path))
@click.option("--out", "folder", metavar="FOLDER", required=True, type=click.Path(path_type=Path), help="A new folder.")
@target_option
@click.option("--ignore", metavar="COLUMNS", help="Columns to leave out; not for LIBSVM files.")
@form_option
@delimiter_option
@quiet_option(help="Do not print what was written.")
def partition(
    files: tuple[Path, ...],
    folder: Path,
    target: str | None,
    ignore: str | None,
    form: str | None,
    delimiter: str | None,
    quiet: bool,
) -> int:
    """Read DATA once, a part of the rows at a time, and write them to a FOLDER of partitions.

    DATA are CSV, Parquet or Arrow files with the same columns, which must be numbers but for the target, or LIBSVM
    files.
    'minmin fit' and 'minmin predict' take the FOLDER in place of a file. Its rows stay on disk, so there may be more of
    them than fit into memory.

    \b
      minmin partition january.csv.gz february.csv.gz --target clicked --ignore 'id,date' --out clicks
      minmin fit clicks --block 'words=word_*:1e-3' --alpha 1e-6 --save model.skops
    """
    from minmin.cli.chunks import write_chunks

    writer = write_chunks(files, folder, target, ignore, form, delimiter)
    if not quiet:
        count = writer.count
        click.echo(
            f"{writer.rows} rows and {writer.columns} columns in {folder}: {count} partition{'s' * (count != 1)}"
        )
    return 0

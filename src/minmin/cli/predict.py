"""minmin predict."""

from __future__ import annotations

import warnings
from pathlib import Path

import click

from minmin.cli.options import OFFSET_OPTIONS, DataPath, delimiter_option, form_option
from minmin.cli.output import Columns, check_writable, encode_table, quiet_option
from minmin.errors import InputError, name_type
from minmin.files import write_atomically


@click.command()
@click.argument("file", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("data", metavar="DATA", type=DataPath(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Write to this file: Parquet if its name ends in .parquet or .pq, else CSV. [default: print CSV]",
)
@click.option("--proba", is_flag=True, help="Predict the probability of each class instead of the most probable class.")
@OFFSET_OPTIONS["offset"]
@OFFSET_OPTIONS["exposure"]
@form_option
@delimiter_option
@quiet_option(help="Print no notes, and with --output nothing at all.")
def predict(
    file: Path,
    data: Path,
    output: Path | None,
    proba: bool,
    offset: str | None,
    exposure: str | None,
    form: str | None,
    delimiter: str | None,
    quiet: bool,
) -> int:
    """Predict the target of each row of DATA with a MODEL that 'minmin fit --save' or 'minmin solve --save' wrote.

    A CSV or Parquet file must have the model's columns, by name and in any order; other columns are ignored. If the
    model was fitted with --offset or --exposure, DATA must have that column, too; these options name another. If it has
    an --id, that column is printed beside the predictions. A category that the model does not know has the coefficient
    0. In a LIBSVM file the labels are ignored, missing columns count as zero, and columns that the model does not have
    are ignored. DATA may also be a folder that 'minmin partition' wrote. Loading a model never runs code from the file;
    a file that could is refused.

    \b
      minmin predict model.skops tomorrow.csv
      minmin predict model.skops tomorrow.parquet --proba --output probabilities.parquet
    """
    from minmin.cli.features import find_offset, find_unknown, predict_classes, predict_target, take_features
    from minmin.cli.reading import read_table
    from minmin.cli.saved import load
    from minmin.cli.table import PARQUET, Frame

    if output is not None:
        check_writable(output, "--output")
        if output.resolve() in (file.resolve(), data.resolve()):
            raise InputError(f"--output {output} is also an input; give another name")
    model = load(file)
    if proba and not hasattr(model, "predict_proba"):
        raise InputError(f"--proba: {file} holds {name_type(model)}, which has no classes; leave --proba out")
    table = read_table(data, getattr(model, "first_index_", None), form=form, delimiter=delimiter)
    notes = [f"{data}: {table.format}"] if table.format else []
    roles = getattr(model, "row_columns_", {})
    columns: Columns = []
    if "id" in roles and isinstance(table, Frame):
        if roles["id"] in table.names:
            columns.append((roles["id"], table.take(roles["id"], "--id").column))
        else:
            notes.append(f"{data} has no column {roles['id']!r}; predictions are in the order of its rows")
    X = take_features(model, file, table)
    given = {role: name for role, name in (("offset", offset), ("exposure", exposure)) if name is not None}
    shift = find_offset(model, file, table, given)
    if isinstance(table, Frame):
        notes += find_unknown(table, getattr(model, "categories_", {}))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # take_features has matched the names
        columns += predict_classes(model, X, shift) if proba else [("prediction", predict_target(model, X, shift))]
    content = encode_table(columns, as_parquet=output is not None and output.suffix.lower() in PARQUET)
    if not quiet:
        for note in notes:
            click.echo(f"note: {note}", err=True)
    if output is None:
        click.echo(content, nl=False)
        return 0
    write_atomically(output, content)
    if not quiet:
        click.echo(f"{table.rows} predictions in {output}")
    return 0

"""minmin coefficients."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from minmin.cli.estimator import read_classes
from minmin.cli.output import align_columns, check_writable, encode_table
from minmin.errors import InputError, needs_extra, shorten, show
from minmin.files import write_atomically

INTERCEPT, MISSING = "(intercept)", "(missing)"
"""The column of the intercept, and the category of empty cells."""

_MOST_BARS = 30
"""How many bars a figure has without --top."""


class Coefficient(NamedTuple):
    """A line of the table; ``of_class`` is empty unless there is a coefficient per class."""

    block: str
    column: str
    category: str
    of_class: str
    value: float

    @property
    def label(self) -> str:
        name = f"{self.column} = {self.category}" if self.category else self.column
        return shorten(f"{name} ({self.of_class})" if self.of_class else name, 50)


@click.command()
@click.argument("file", metavar="MODEL", type=click.Path(path_type=Path))
@click.option("--top", type=click.IntRange(1), metavar="N", help="Only the N largest in size, the largest first.")
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), help="Write the table to this CSV file instead.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    help=f"Write a figure of the --top coefficients ({_MOST_BARS} by default) to this file, such as a .png.",
)
def coefficients(file: Path, top: int | None, csv_file: Path | None, plot: Path | None) -> None:
    """Print the coefficients of a MODEL that 'minmin fit --save' wrote.

    The table has the block, the column, the category of a text column, and the coefficient; for more than two classes a
    coefficient per class. Blocks are in the order of the model. In a block, columns with large coefficients come first,
    and the categories of a column are sorted by their coefficients.

    \b
      minmin coefficients model.skops
      minmin coefficients model.skops --top 20 --plot coefficients.png
      minmin coefficients model.skops --csv coefficients.csv
    """
    from minmin.cli.saved import load

    for path, option in ((csv_file, "--csv"), (plot, "--plot")):
        if path is not None:
            check_writable(path, option)
            if path.resolve() == file.resolve():
                raise InputError(f"{option} {path} is also the model; give another name")
    model = load(file)
    found = list_coefficients(model)
    largest = sorted((one for one in found if one.column != INTERCEPT), key=lambda one: -abs(one.value))
    chosen = found if top is None else largest[:top]
    if plot is not None:
        write_atomically(plot, _draw(largest[: top or _MOST_BARS], plot.suffix))
        click.echo(f"figure in {plot}")
    if csv_file is not None:
        columns = list(zip(*chosen, strict=True)) or [()] * len(_HEADER)
        write_atomically(csv_file, encode_table(list(zip(_HEADER, columns, strict=True))))
        click.echo(f"{len(chosen)} coefficients in {csv_file}")
    if plot is None and csv_file is None:
        click.echo(_describe(chosen, model))


def list_coefficients(model: Any) -> list[Coefficient]:
    """All coefficients of a fitted model, the intercept first, then block by block."""
    coef = np.atleast_2d(model.coef_)
    classes = _name_outputs(model, len(coef))
    features = _name_features(model)
    found = []
    if model.fit_intercept:
        values = np.atleast_1d(model.intercept_).tolist()
        found = [Coefficient("", INTERCEPT, "", name, value) for name, value in zip(classes, values, strict=True)]
    for block, places in model.blocks_.items():
        size: dict[str, float] = {}
        for place in places:
            column = features[place][0]
            size[column] = max(size.get(column, 0.0), float(np.abs(coef[:, place]).max()))
        in_block = [
            Coefficient(str(block), column, category, name, float(coef[number, place]))
            for place in places
            for column, category in [features[place]]
            for number, name in enumerate(classes)
        ]
        order = {name: number for number, name in enumerate(classes)}
        found += sorted(in_block, key=lambda one: (-size[one.column], one.column, order[one.of_class], -one.value))
    return found


def _name_outputs(model: Any, count: int) -> list[str]:
    """The class of each row of the coefficients; the number of the target for several; nothing for one row."""
    if count == 1:
        return [""]
    return [str(name) for name in (read_classes(model) if hasattr(model, "classes_") else range(1, count + 1))]


def _name_features(model: Any) -> list[tuple[str, str]]:
    """The column and the category of every coefficient."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [str(number + 1) for number in range(model.n_features_in_)]
    categories = getattr(model, "categories_", {})
    return [
        (str(name), category)
        for name in names
        for category in ([MISSING if one is None else one for one in categories[name]] if name in categories else [""])
    ]


def _describe(chosen: list[Coefficient], model: Any) -> str:
    lines = [_HEADER, *([one.block, one.column, one.category, one.of_class, f"{one.value: .6g}"] for one in chosen)]
    shown = [number for number in range(len(_HEADER)) if any(line[number] for line in lines[1:])]
    lines = [[line[number] for number in shown] for line in lines]
    table = align_columns(lines)
    classes = list(read_classes(model)) if hasattr(model, "classes_") else []
    if len(classes) != 2:
        return table
    return f"{table}\n\npositive: more probably {show(classes[1])}; negative: more probably {show(classes[0])}"


_HEADER = ["block", "column", "category", "class", "coefficient"]


def _draw(chosen: list[Coefficient], suffix: str) -> bytes:
    """A bar per coefficient, the first at the top."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError(needs_extra("--plot", "matplotlib", "plot")) from error
    figure = Figure(figsize=(7.0, 1.2 + 0.25 * len(chosen)), layout="constrained")
    axes = figure.subplots()
    axes.barh(range(len(chosen)), [one.value for one in chosen], color="tab:blue")
    axes.set_yticks(range(len(chosen)), [one.label for one in chosen], parse_math=False)
    axes.set_ylim(len(chosen) - 0.4, -0.6)
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_xlabel("coefficient")
    buffer = io.BytesIO()
    kind = suffix.lstrip(".").lower()
    if kind not in figure.canvas.get_supported_filetypes():
        raise InputError(f"--plot: matplotlib cannot write .{kind} files; give a name that ends in .png, .svg or .pdf")
    figure.savefig(buffer, format=kind, dpi=150)
    return buffer.getvalue()

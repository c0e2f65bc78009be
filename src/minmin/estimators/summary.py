"""A table of coefficients with standard errors and intervals."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

from minmin.deprecation import names_elsewhere
from minmin.errors import import_extra
from minmin.estimators.coefficient_plot import plot_summary
from minmin.estimators.model import BlockModel
from minmin.estimators.standard_errors import Estimates

_Array = np.ndarray[Any, Any]

_TEXT = ("block", "name", "class", "target")


@dataclass(frozen=True, eq=False, repr=False)
class CoefficientTable:
    """Coefficients with their standard errors. Prints as a table.

    Attributes
    ----------
    columns : dict of arrays
        "block", "name", "class" or "target" if there are several, "coefficient", "standard_error", "z", "p_value",
        "low" and "high".
    level : float
        An interval from low to high covers the mean of the estimate with this probability.
    dispersion : array
        φ, one number, or one per target; 1 if it is known.
    n_samples : float
        The number of samples, or the sum of their weights.
    robust : bool
        Whether the standard errors rest on the samples instead of on the model.
    """

    columns: dict[str, _Array]
    level: float
    dispersion: _Array
    n_samples: float
    robust: bool

    def __getitem__(self, name: str) -> _Array:
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.columns["name"])

    def __repr__(self) -> str:
        cells = [[_format(value) for value in values] for values in self.columns.values()]
        widths = [max(map(len, [name, *column])) for name, column in zip(self.columns, cells, strict=True)]
        lines = []
        for row in [list(self.columns), *map(list, zip(*cells, strict=True))]:
            pads = [
                cell.ljust(width) if name in _TEXT else cell.rjust(width)
                for name, cell, width in zip(self.columns, row, widths, strict=True)
            ]
            lines.append("  ".join(pads).rstrip())
        kind = "robust" if self.robust else f"dispersion {', '.join(map(_format, self.dispersion.tolist()))}"
        lines.append(f"{_format(self.n_samples)} samples, {kind}, intervals of {100.0 * self.level:g} %")
        return "\n".join(lines)

    def to_pandas(self) -> Any:
        """The table as a pandas.DataFrame."""
        return import_extra("pandas", "to_pandas()", "pandas", "pandas").DataFrame(self.columns)

    def to_csv(self, file: str | Path) -> None:
        """Write the table to a CSV file with a header."""
        with open(file, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(self.columns)
            writer.writerows(zip(*(values.tolist() for values in self.columns.values()), strict=True))

    def plot(self, columns: Any = None, top: int = 30) -> Any:
        """Draw the coefficients with their intervals, by block, without the intercept; needs matplotlib.

        Parameters
        ----------
        columns : selector, optional
            Names and patterns of names in the table, such as ``["age", "city=*"]``, or other selectors as in
            ``blocks``; by default all.
        top : int, at most 200
            If there are more columns than this, draw those with the largest ``|z|``. That does not depend on the units
            of the columns, as the size of a coefficient does. With several classes, the largest counts.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return plot_summary(self, columns, top)


def make_summary(model: BlockModel, found: Estimates, level: float, robust: bool) -> CoefficientTable:
    """The table of a model: by block, with one row per column and output, and the intercept at the end."""
    owner = np.empty(model.coef_.shape[-1], dtype=np.intp)
    for number, features in enumerate(model.blocks_.values()):
        owner[features] = number
    order = np.argsort(owner[found.columns], kind="stable")
    chosen = found.columns[order]
    titles = [str(block) for block in model.blocks_]
    blocks, names = [titles[number] for number in owner[chosen]], model.feature_names_out_[chosen].tolist()
    coef, errors = np.atleast_2d(model.coef_)[:, chosen].T, found.errors[order]
    if model.fit_intercept:
        coef = np.vstack([coef, np.reshape(model.intercept_, (1, -1))])
        errors = np.vstack([errors, found.errors[-1:]])
        blocks, names = [*blocks, ""], [*names, "(intercept)"]
    per_row = coef.shape[1]
    outputs: dict[str, _Array] = {}
    if per_row > 1:
        title, labels = ("class", model.classes_) if hasattr(model, "classes_") else ("target", range(per_row))
        outputs = {title: np.tile(np.array([str(label) for label in labels]), len(names))}
    distribution = t(np.resize(found.freedom, coef.size))
    coefficients, deviations = coef.reshape(-1), errors.reshape(-1)
    with np.errstate(divide="ignore", invalid="ignore"):  # a column of zeros has the coefficient 0 ± 0
        z = coefficients / deviations
    half = distribution.isf(0.5 * (1.0 - level)) * deviations
    columns = {
        "block": np.repeat(np.array(blocks, dtype=object), per_row),
        "name": np.repeat(np.array(names, dtype=object), per_row),
        **outputs,
        "coefficient": coefficients,
        "standard_error": deviations,
        "z": z,
        "p_value": 2.0 * distribution.sf(np.abs(z)),
        "low": coefficients - half,
        "high": coefficients + half,
    }
    return CoefficientTable(columns, level, found.dispersion, found.n_samples, robust)


def _format(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


__getattr__ = names_elsewhere(__name__, renamed={"Summary": f"{__name__}:CoefficientTable"})

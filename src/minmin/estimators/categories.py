"""The categories of a text column: those that occur, sorted, and the number of each."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from minmin.datasets.plain_numbers import looks_like_number, parse_number
from minmin.errors import InputError
from minmin.estimators.frames import Codes, Vector

Category = str | None
"""A category of a text column; None for missing values."""

Known = Mapping[str, Sequence[Category]]
"""The categories of every text column, by its name."""


def find_categories(codes: Codes) -> tuple[list[Category], Vector]:
    """The sorted categories that occur, and the number of each label's category; the last is that of missing values.

    Missing values are a category of their own, the last one, if there are any.
    """
    codes = _write_labels(codes)
    counts = np.bincount(codes.numbers.astype(np.intp, copy=False) + 1, minlength=len(codes.labels) + 1)
    used = {label for label, count in zip(codes.labels, counts[1:].tolist(), strict=True) if count}
    categories: list[Category] = [*sorted(used - {None})]
    if counts[0] or None in used:
        categories.append(None)
    return categories, recognise(codes, categories)


def recognise(codes: Codes, categories: Sequence[Category]) -> Vector:
    """For every label, and last for missing values, the number of its category; -1 if that is not known."""
    known = {category: number for number, category in enumerate(categories)}
    labels = [*_write_labels(codes).labels, None]
    return np.array(list(map(known.get, labels, repeat(-1))), dtype=np.int32)


def _write_labels(codes: Codes) -> Codes:
    """The same codes with all labels as text."""
    if set(map(type, codes.labels)) <= {str}:
        return codes
    return codes._replace(labels=[None if label is None else _to_text(label) for label in codes.labels])


def warn_of_numbers(categories: Sequence[Category], name: str) -> None:
    """Warn if most of the different texts of a column look like numbers. Whole numbers alone are taken for names."""
    texts = [text for text in categories if text is not None]
    are_names = all(text.isascii() and text.isdecimal() for text in texts)
    if not are_names and 2 * sum(map(looks_like_number, texts)) > len(texts):
        shown = next((text for text in texts if parse_number(text) is None), texts[0])
        warnings.warn(
            f"column {name!r} has text that looks like numbers, such as {shown!r}, and gets a coefficient per text; "
            "convert it to numbers, or to a categorical type if it holds categories",
            stacklevel=2,
        )


def name_features(names: Sequence[str], categories: Known) -> list[str]:
    """Names of the features of these columns: those of columns of numbers, and "column=category" for text."""
    features: list[str] = []
    for name in names:
        if name in categories:
            features += [f"{name} is missing" if of is None else f"{name}={of}" for of in categories[name]]
        else:
            features.append(name)
    return features


def _to_text(label: Any) -> str:
    """A label as text; whole numbers are written without a fraction, since missing values turn integers to floats."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def require_present(codes: Codes, name: str) -> None:
    numbers = np.array([label is None for label in [*codes.labels, None]])
    if numbers[codes.numbers].any():
        row = int(numbers[codes.numbers].argmax())
        raise InputError(
            f"column {name!r} has a missing value in row {row} (from 0); replace it, or give missing='category'"
        )


def require_seen(codes: Codes, numbers: Vector, name: str) -> None:
    unknown = (numbers < 0)[codes.numbers]
    if unknown.any():
        row = int(unknown.argmax())
        number = int(codes.numbers[row])
        label = "a missing value" if number < 0 else repr(_to_text(codes.labels[number]))
        raise InputError(
            f"column {name!r} has {label} in row {row} (from 0), which did not occur in fit; unseen='zero' ignores it"
        )

"""The values of one column: as numbers, as labels or as text. Errors speak of the column, the row and its value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from minmin.datasets.plain_numbers import looks_like_number, parse_number
from minmin.errors import InputError

Vector = np.ndarray[Any, Any]

NUMBERS, TEXT, DATES, NOTHING, OTHER = "numbers", "text", "dates", "nothing", "other"
"""What a column holds; NOTHING if no row has a value."""

_LARGEST = 1e150
"""The square of a number far above this overflows."""

_LIKE_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?")
_MOSTLY = 0.5
"""A text column is taken for a mistake if more than this share of its texts looks like numbers, or like dates."""


class Cells:
    """A column of a table.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
    name : str
        The name of the column.
    file : path
        The file that it is in, for messages.
    first_row : int
        The number of its first row in the file, from 0.
    decimal : str
        What is before the decimals of numbers.
    """

    def __init__(self, column: Any, name: str, file: Any, first_row: int = 0, decimal: str = "."):
        self.column, self.name, self._first_row, self._decimal = column, name, first_row, decimal
        self.where = f"column {name!r} of {file}"

    @property
    def holds(self) -> str:
        import pyarrow as pa

        kind, types = self.column.type, pa.types
        if types.is_null(kind):
            return NOTHING
        if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
            return NUMBERS
        if types.is_dictionary(kind) or is_string(kind):
            return TEXT
        return DATES if types.is_temporal(kind) else OTHER

    def numbers(self, remedy: str = "leave the column out") -> Vector:
        """The column as numbers. ``remedy`` is what else a user can do if some value is not a number."""
        import pyarrow as pa

        self.require_values(f"fill in a number, remove the row, or {remedy}")
        if self.holds == TEXT:
            return self._parse(remedy)
        if self.holds != NUMBERS:
            what = f"dates or times, such as {self.first!r}," if self.holds == DATES else "values"
            raise InputError(f"{self.where} holds {what} that are not numbers; convert them, or {remedy}")
        column = self.column.cast(pa.int8()) if pa.types.is_boolean(self.column.type) else self.column
        numbers: Vector = column.cast(pa.float64(), safe=False).to_numpy()
        return self._require_moderate(numbers)

    def _parse(self, remedy: str) -> Vector:
        texts = self.column.to_pylist()
        numbers = [parse_number(str(text), self._decimal) for text in texts]
        if None in numbers:
            row = numbers.index(None)
            raise InputError(
                f"{self.where} has {texts[row]!r} in {self.row(row)}, which is not a number; correct it, or {remedy}"
            )
        return self._require_moderate(np.array(numbers))

    def _require_moderate(self, numbers: Vector) -> Vector:
        self.refuse(numbers, ~(np.abs(numbers) <= _LARGEST), f"give finite numbers up to {_LARGEST:g}")
        return numbers

    def refuse(self, numbers: Vector, wrong: Vector, remedy: str) -> None:
        """Raise if one of the numbers of this column is wrong."""
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(f"{self.where} is {numbers[row]:.15g} in {self.row(row)}; {remedy}")

    def labels(self) -> Vector:
        """The column as classes: numbers, true and false, or text."""
        import pyarrow as pa

        self.require_values("fill in the class, or remove the row")
        if self.holds == TEXT:
            texts = self.column.to_pylist()
            like = list(filter(looks_like_number, dict.fromkeys(texts)))
            odd = [text for text in like if parse_number(text, self._decimal) is None]
            if 0 < len(odd) < len(like):
                what = f"classes that are numbers, but {odd[0]!r} in {self.row(texts.index(odd[0]))} is none"
                raise InputError(f"{self.where} has {what}; correct it, or give all classes names that are no numbers")
            return np.array(texts, dtype=np.str_)
        numbers = self.numbers("give another --target")
        return numbers.astype(bool) if pa.types.is_boolean(self.column.type) else numbers

    def require_values(self, remedy: str) -> None:
        import pyarrow.compute

        empty = self.column.is_null(nan_is_null=True)
        count = pyarrow.compute.sum(empty).as_py()
        if count:
            first = pyarrow.compute.index(empty, True).as_py()
            others = f" ({count} such rows in all)" if count > 1 else ""
            raise InputError(f"{self.where} has no value in {self.row(first)}{others}; {remedy}")

    def require_categories(self) -> None:
        """Raise if this text column seems to hold numbers or dates."""
        import pyarrow as pa

        if pa.types.is_dictionary(self.column.type):
            return  # whoever wrote the file said that these are categories
        if self._look_like(lambda text: _LIKE_DATE.fullmatch(text) is not None):
            raise InputError(self.describe_dates())
        if not self.looks_like_numbers:
            return
        texts = [(row, text) for row, text in enumerate(self.column.to_pylist()) if text is not None]
        odd = next((cell for cell in texts if parse_number(cell[1], self._decimal) is None), None)
        row, text = odd or texts[0]
        if odd:
            what = f"numbers, but {text!r} in {self.row(row)} is none; write plain numbers such as 1234{self._decimal}5"
        else:
            what = f"numbers as text, such as {text!r} in {self.row(row)}; read them with --numbers {self.name!r}"
        raise InputError(
            f"{self.where} has {what}, take the column as categories with --text {self.name!r}, or leave it out with "
            f"--ignore {self.name!r}"
        )

    @property
    def looks_like_numbers(self) -> bool:
        """Whether more than half of the texts look like numbers."""
        return self._look_like(looks_like_number)

    def _look_like(self, test: Callable[[str], bool]) -> bool:
        counts = self.column.drop_null().value_counts()
        texts, rows = counts.field("values").to_pylist(), counts.field("counts").to_numpy()
        like = np.array([test(str(text)) for text in texts], dtype=bool)
        return bool(rows[like].sum() > _MOSTLY * rows.sum())

    def describe_dates(self) -> str:
        """An error message about a feature that holds dates."""
        return (
            f"{self.where} holds dates or times, such as {self.first!r}; turn them into numbers (such as days since a "
            f"first date), take them as categories with --text {self.name!r}, or leave the column out with --ignore "
            f"{self.name!r}"
        )

    @property
    def first(self) -> str:
        """The first value, as text."""
        return str(next((value for value in self.column.to_pylist() if value is not None), ""))

    def row(self, number: int) -> str:
        """A row in a message; ``number`` counts from 0."""
        return name_row(self._first_row + number)


def name_row(number: int) -> str:
    """A row of a file in a message; ``number`` counts from 0."""
    return f"row {number + 1} below the header"


def is_string(kind: Any) -> bool:
    """Whether columns of this type of pyarrow hold text that is not encoded."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))

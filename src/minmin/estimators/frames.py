"""Columns of pandas, polars and pyarrow frames: what they hold, as numbers or as codes of a dictionary."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Hashable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from minmin.errors import InputError, show

Vector = np.ndarray[Any, Any]

NUMBERS, TEXT, NOTHING, OTHER = "numbers", "text", "nothing", "other"
"""What a column holds: numbers or booleans; text or categories; only missing values of unknown type; other types."""

_OBJECT = np.dtype(object)
_OBJECTS = {
    "string": TEXT,
    **dict.fromkeys(["integer", "floating", "mixed-integer-float", "boolean", "decimal"], NUMBERS),
    "empty": NOTHING,
}
"""What an object column of pandas holds, by what pandas infers from its values."""
_OF_ARROW = {
    **dict.fromkeys(["dictionary", "string", "large_string", "string_view"], TEXT),
    **dict.fromkeys(["integer", "floating", "boolean", "decimal"], NUMBERS),
    "null": NOTHING,
}
"""What a column of pyarrow holds, by the name of its type."""


class Codes(NamedTuple):
    """A column of categories: their labels, and for every row the number of its label; -1 if the value is missing.

    ``declared`` says that the frame calls them categories, not text.
    """

    numbers: Vector
    labels: list[Any]
    declared: bool = False


class Frame(ABC):
    """A frame, column by column; columns are given by number. No two have one name."""

    def __init__(self, frame: Any):
        self.frame = frame
        names = self.names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"two columns of X are called {show(twice)}; rename one")

    @property
    def names(self) -> list[Hashable]:
        """The names of the columns."""
        return list(self.frame.columns)

    @cached_property
    def types(self) -> list[Any]:
        """The types of the columns, in the words of the library."""
        return list(self.frame.dtypes)

    @abstractmethod
    def _holds(self, dtype: Any) -> str | None:
        """What columns of this type hold; None if only their values say it."""

    def _infer(self, column: int) -> str:
        """What a column holds, by its values."""
        return OTHER

    @abstractmethod
    def read_codes(self, column: int) -> Codes:
        """A column that holds text; one with a dictionary is not decoded."""

    @abstractmethod
    def _numpy_type(self, column: int) -> Any:
        """The type of a column of numbers in NumPy."""

    @abstractmethod
    def _read(self, column: int, dtype: Any) -> Vector:
        """A column of numbers, with NaN where it has no value."""

    @cached_property
    def kinds(self) -> list[str]:
        """What every column holds."""
        by_type = {dtype: self._holds(dtype) for dtype in set(self.types)}
        return [by_type[dtype] or self._infer(column) for column, dtype in enumerate(self.types)]

    def read_numbers(self, columns: list[int]) -> Any:
        """The matrix of some columns: float32 if all fit into that, else float64."""
        types = [self._numpy_type(column) for column in columns]
        dtype = np.float32 if types and np.result_type(*types) == np.float32 else np.float64
        matrix = np.empty((self.frame.shape[0], len(columns)), dtype=dtype)
        for place, column in enumerate(columns):
            matrix[:, place] = self._read(column, dtype)
        return matrix

    def is_empty(self, column: int) -> bool:
        """Whether a column has only missing values."""
        return self.kinds[column] == NOTHING or (
            self.kinds[column] == NUMBERS and bool(np.isnan(self._read(column, np.float64)).all())
        )


class PandasFrame(Frame):
    def _holds(self, dtype: Any) -> str | None:
        pandas = sys.modules["pandas"]
        types = pandas.api.types
        if dtype == _OBJECT:
            return None
        if isinstance(dtype, pandas.CategoricalDtype) or types.is_string_dtype(dtype):
            return TEXT
        if isinstance(dtype, pandas.ArrowDtype):
            return _arrow_holds(dtype.pyarrow_dtype)
        return NUMBERS if types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype) else OTHER

    def _infer(self, column: int) -> str:
        inferred = sys.modules["pandas"].api.types.infer_dtype(self.frame.iloc[:, column], skipna=True)
        return _OBJECTS.get(inferred, OTHER)

    def read_codes(self, column: int) -> Codes:
        values = self.frame.iloc[:, column]
        if isinstance(values.dtype, sys.modules["pandas"].CategoricalDtype):
            return Codes(values.cat.codes.to_numpy(), values.cat.categories.tolist(), True)
        numbers, labels = sys.modules["pandas"].factorize(values)
        return Codes(numbers, labels.tolist())

    def _numpy_type(self, column: int) -> Any:
        dtype = self.types[column]
        dtype = getattr(dtype, "subtype", dtype)  # of a sparse column
        return np.float64 if dtype == _OBJECT else getattr(dtype, "numpy_dtype", dtype)

    def _read(self, column: int, dtype: Any) -> Vector:
        numbers: Vector = self.frame.iloc[:, column].to_numpy(dtype=dtype, na_value=np.nan)
        return numbers

    def read_numbers(self, columns: list[int]) -> Any:
        """As a CSR array if all columns are sparse."""
        sparse = sys.modules["pandas"].SparseDtype
        if columns and all(isinstance(self.types[column], sparse) for column in columns):
            csr = scipy.sparse.csr_array(self.frame.iloc[:, columns].sparse.to_coo())
            return csr if csr.dtype == np.float32 else csr.astype(np.float64)
        return super().read_numbers(columns)


class PolarsFrame(Frame):
    def _holds(self, dtype: Any) -> str | None:
        polars = sys.modules["polars"]
        if dtype in (polars.String, polars.Categorical, polars.Enum):
            return TEXT
        if dtype == polars.Null:
            return NOTHING
        return NUMBERS if dtype.is_numeric() or dtype == polars.Boolean else OTHER

    def read_codes(self, column: int) -> Codes:
        polars, values = sys.modules["polars"], self.frame.to_series(column)
        is_text = values.dtype == polars.String
        if is_text:
            values = values.cast(polars.Categorical)
        used = values.drop_nulls().unique()
        numbers, known = values.to_physical(), used.to_physical().to_numpy()
        labels: list[Any] = [None] * (int(known.max()) + 1 if len(known) else 0)
        for number, label in zip(known.tolist(), used.cast(polars.String).to_list(), strict=True):
            labels[number] = label
        return Codes(numbers.cast(polars.Int64).fill_null(-1).to_numpy(), labels, not is_text)

    def _numpy_type(self, column: int) -> Any:
        name = str(self.types[column]).lower()
        names = ("float32", "int8", "uint8", "int16", "uint16")
        return np.dtype(name) if name in names else np.bool_ if name == "boolean" else np.float64

    def _read(self, column: int, dtype: Any) -> Vector:
        polars = sys.modules["polars"]
        wanted = polars.Float32 if dtype == np.float32 else polars.Float64
        numbers: Vector = self.frame.to_series(column).cast(wanted).to_numpy()
        return numbers


class ArrowTable(Frame):
    @property
    def names(self) -> list[Hashable]:
        return list(self.frame.column_names)

    @cached_property
    def types(self) -> list[Any]:
        return list(self.frame.schema.types)

    def _holds(self, dtype: Any) -> str | None:
        return _arrow_holds(dtype)

    def read_codes(self, column: int) -> Codes:
        pyarrow, values = sys.modules["pyarrow"], self.frame.column(column)
        has_dictionary = pyarrow.types.is_dictionary(values.type)
        values = values.unify_dictionaries() if has_dictionary else values.dictionary_encode()
        if values.num_chunks == 0:
            return Codes(np.zeros(0, dtype=np.int32), [])
        parts = [chunk.indices.cast(pyarrow.int32()).fill_null(-1).to_numpy() for chunk in values.chunks]
        return Codes(np.concatenate(parts), values.chunk(0).dictionary.to_pylist(), has_dictionary)

    def _numpy_type(self, column: int) -> Any:
        return self.types[column].to_pandas_dtype()

    def _read(self, column: int, dtype: Any) -> Vector:
        pyarrow, values = sys.modules["pyarrow"], self.frame.column(column)
        if pyarrow.types.is_boolean(values.type):
            values = values.cast(pyarrow.int8())
        numbers: Vector = values.cast(pyarrow.from_numpy_dtype(dtype), safe=False).to_numpy()
        return numbers


def _arrow_holds(dtype: Any) -> str:
    types = sys.modules["pyarrow"].types
    matching = (kind for name, kind in _OF_ARROW.items() if getattr(types, f"is_{name}")(dtype))
    return next(matching, OTHER)


_KINDS = [("pandas", "DataFrame", PandasFrame), ("polars", "DataFrame", PolarsFrame), ("pyarrow", "Table", ArrowTable)]


def wrap_frame(X: Any) -> Frame | None:
    """A user's data as a frame; None if they are not one."""
    for module, name, kind in _KINDS:
        library = sys.modules.get(module)  # no frame of it can exist before it is imported
        if library is not None and isinstance(X, getattr(library, name)):
            return kind(X)
    return None

"""What a run returns: the point it found, how it ended, what it cost, and its history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from minmin.core.bound import Bound
from minmin.core.vectors import Vector
from minmin.errors import import_extra

if TYPE_CHECKING:
    import pandas

Status = Literal["converged", "budget", "stalled", "interrupted"]


class Record(NamedTuple):
    """One row of the history, and the point it describes.

    Attributes
    ----------
    grad_x, grad_y : int
        Calls of each gradient so far.
    value : float
        f(x, y); NaN if the problem has no values.
    bound : Bound
        How far f(x, y) is above its minimum; ``gap_bound`` is its value.
    seconds : float
        Time spent so far, without the time for values of the history.
    x, y : vectors
        The point; callbacks get it, the history does not keep it.
    """

    grad_x: int
    grad_y: int
    value: float
    bound: Bound
    seconds: float
    x: Vector
    y: Vector

    @property
    def gap_bound(self) -> float:
        """The bound's value: f(x, y) - f* is at most this if the bound is proved, and about this if it is estimated."""
        return self.bound.value

    @property
    def row(self) -> tuple[float, ...]:
        """What the history keeps."""
        return self.grad_x, self.grad_y, self.value, self.gap_bound, self.seconds


_COLUMNS = ("grad_x", "grad_y", "value", "gap_bound", "seconds")


class History:
    """The records of a run as columns: ``grad_x``, ``grad_y``, ``value``, ``gap_bound``, ``seconds``.

    ``history.value`` and ``history["value"]`` are NumPy arrays. The history has every one of the first 200 iterations,
    then about one record for every 1 % more iterations, so it stays short even for a long run.
    """

    def __init__(self, extra: Iterable[str] = ()) -> None:
        self.columns = (*_COLUMNS, *extra)
        self._rows: list[tuple[Any, ...]] = []

    def append(self, record: Record, extra: Iterable[Any] = ()) -> None:
        self._rows.append((*record.row, *extra))

    def rows(self) -> tuple[tuple[Any, ...], ...]:
        """The records so far, for a checkpoint."""
        return tuple(self._rows)

    def restore(self, rows: tuple[tuple[Any, ...], ...]) -> None:
        """Continue after the records of a checkpoint."""
        self._rows = list(rows)

    def finish(self, record: Record, extra: Iterable[Any] = ()) -> None:
        """Append the last record, unless it differs from the previous one only in time."""
        if not self._rows or self._rows[-1][:4] != record.row[:4]:
            self.append(record, extra)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, column: str) -> np.ndarray[Any, Any]:
        if column not in self.columns:
            raise KeyError(f"no column {column!r}; the columns are {', '.join(self.columns)}")
        index = self.columns.index(column)
        dtype = np.int64 if column in ("grad_x", "grad_y") else np.float64
        return np.array([row[index] for row in self._rows], dtype=dtype)

    def __getattr__(self, name: str) -> np.ndarray[Any, Any]:
        if name in self.__dict__.get("columns", ()):
            return self[name]
        raise AttributeError(f"History has no attribute {name!r}; its columns are {', '.join(_COLUMNS)}")

    def __repr__(self) -> str:
        return f"History of {len(self)} records: {', '.join(self.columns)}"

    def to_pandas(self) -> pandas.DataFrame:
        """The columns as a data frame (needs pandas); a column with several numbers per record becomes several."""
        flat: dict[str, np.ndarray[Any, Any]] = {}
        for column in self.columns:
            values = self[column]
            several = {f"{column}_{i}": values[:, i] for i in range(values.shape[1])} if values.ndim > 1 else {}
            flat |= several or {column: values}
        frame: pandas.DataFrame = import_extra("pandas", "to_pandas()", "pandas", "pandas").DataFrame(flat)
        return frame


@dataclass(frozen=True)
class Result:
    """The outcome of :func:`minmin.minimize`.

    Attributes
    ----------
    x, y : arrays
        The point that was found; y is a :class:`minmin.Parts`, one array per term, if the problem is a
        :class:`minmin.Sum`. If it has three or more blocks, x is the first, and y is the list of the others.
    blocks : list of arrays
        All blocks in the user's order.
    fun : float
        f(x, y).
    bound : Bound
        How far f(x, y) is above its minimum, and what that is based on.
    gap_bound : float
        The bound's value. f(x, y) - f* is at most this if ``certified``; otherwise this is an estimate, which holds
        only if f is convex.
    certified : bool
        Whether the bound is proved: by the data, or by constants that were given or proved, not estimated. A proof by
        given constants is right if the constants are.
    success : bool
        Whether the run ended as ``converged``.
    status : {"converged", "budget", "stalled", "interrupted"}
    message : str
        What ended the run, in words, then ``why_method``.
    method : str
    nit : int
        Outer iterations.
    seconds : float
        Time of the run, without the time for values of the history.
    calls : dict
        What the run computed, by kind; a kind that never occurred may be missing.

        - "grad_x", "grad_y", "value": gradients and values for the method. In a :class:`minmin.Sum` every term's ∇ᵧ
          counts, and one "grad_x" is a joint ∇ₓ; in a federation that is a round. In a
          :class:`minmin.problems.Split` they are those of f.
        - "grad_f", "grad_g": for a Split, the points where a gradient of f, and of g, was computed, in one block or in
          both.
        - "grad_0", "grad_1", ...: gradients of every block, if the problem has ``sizes=[...]``. Then "grad_x" are those
          of the outermost block, and "grad_y" of the innermost one.
        - "min_x", "min_y": minimisations over a block by "alternating". The gradients that they take count, too.
        - "hess_yy", "hess_xx": y-Hessians, and x-Hessians where the blocks are exchanged. "hess_product": products
          with the whole Hessian.
        - "hess_yy_product", "hess_xx_diagonal", "third_derivative": for functions of JAX and PyTorch, products with
          H_yy, diagonals of H_xx, which take a product per variable, and derivatives of f along a step.
        - "passes", "passes_y": for linear models, products of X or Xᵀ (or X∘X, for a diagonal) with a vector, and of Y
          or Yᵀ, but for those in Hessians. A sample of rows for a preconditioner counts as one, and coefficients that
          are all zero cost none.
        - "passes_of_columns": for linear models with terms, products with some sparse columns of X alone, in no pass.
        - "rows_y": for linear models, the rows of Y in gradients: all n for a ∇ᵧf, and as many as were drawn for a step
          of ``inner="katyusha"``, which are in no pass. "rows": the same for X where the blocks are exchanged.
        - Of these passes, some are for what is computed once and then reused: "constants_passes" and
          "constants_passes_y" for the constants, where a Gram matrix takes one per column; "row_norms", "row_norms_y",
          "row_norms_over_penalty", "row_norms_over_penalty_y", "column_norms" and "column_norms_y". Every run that
          needs them counts them once, also where an earlier run on the same problem has computed them, and not again
          when it is resumed. In a federation what clients compute before the first round is not counted.
        - "monitor": values computed for the history, target, callback and progress alone.
    history : History
    why_method : str
        Why "auto" took the method; empty if the method was given.
    """

    x: Vector
    y: Vector
    fun: float
    bound: Bound
    status: Status
    message: str
    method: str
    nit: int
    seconds: float
    calls: dict[str, int]
    history: History = field(repr=False)
    why_method: str = field(default="", repr=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Also read results that were saved before ``bound`` existed, with ``gap_bound`` and ``certified``."""
        if "bound" not in state:
            value, certified = state.pop("gap_bound"), state.pop("certified")
            state["bound"] = Bound(value, basis="constants" if certified else "estimate")
        self.__dict__.update(state)

    @property
    def blocks(self) -> list[Any]:
        """The blocks in the user's order; x and y if there are two."""
        return [self.x, *self.y] if isinstance(self.y, list) else [self.x, self.y]

    @property
    def gap_bound(self) -> float:
        return self.bound.value

    @property
    def certified(self) -> bool:
        return self.bound.is_proved

    @property
    def success(self) -> bool:
        return self.status == "converged"

    def __str__(self) -> str:
        calls = ", ".join(f"{kind} {count}" for kind, count in self.calls.items())
        return (
            f"{self.status}: {self.message.removesuffix(f'; {self.why_method}')}\n"
            f"  f(x, y) = {self.fun:.10g}, {self.bound.describe()}\n"
            f"  {self.method}, {self.nit} iterations, {self.seconds:.3g} s; calls: {calls}"
        )

    def plot(self) -> Any:
        """Plot the gap bound against calls of each gradient and seconds (needs matplotlib).

        Returns
        -------
        matplotlib.figure.Figure
        """
        from minmin.plot import plot_result

        return plot_result(self)

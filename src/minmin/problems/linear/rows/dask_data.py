"""Dask collections as rows of a linear model: blocks are checked where they are, and stay there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from minmin.datasets.partition_checks import check_column, check_dense, check_sparse
from minmin.datasets.sparse_checks import read_csr
from minmin.errors import InputError, require_values
from minmin.problems.linear.rows.group import LocalRowEngine, Partition
from minmin.problems.linear.rows.session import RowSession

_Vector = np.ndarray[Any, Any]


class _Kind(NamedTuple):
    """What must be the same in all partitions: for every matrix and column its width, dtype and storage."""

    columns: int
    dtype: str
    storage: str


class _Summary(NamedTuple):
    rows: int
    kinds: dict[str, _Kind]


def is_dask(collection: Any) -> bool:
    """Whether this is an array, a series or a frame of Dask."""
    return hasattr(collection, "__dask_graph__") and hasattr(collection, "to_delayed")


def load_rows(
    matrices: Mapping[str, Any], columns: Mapping[str, Any], read: Callable[[Any, str, str], Any] | None = None
) -> RowSession:
    """Compute Dask collections block by block, and keep the blocks where they were computed.

    That is on the cluster of the current client; without one, in this process.

    Parameters
    ----------
    matrices : dict of collections
        Arrays or frames, all with the same blocks of rows.
    columns : dict of collections or arrays
        What is known of every row: "y", "weight" and "offset". Arrays need blocks of known sizes.
    read : callable, optional
        ``read(block, name, where)`` checks a block of a matrix; by default numbers are expected.
    """
    import dask

    make = dask.delayed(make_partition)
    blocks = cut_blocks(matrices, columns)
    tasks = [make(number, *of_rows, read or read_numbers) for number, of_rows in enumerate(blocks)]
    client = find_client()
    if client is None:
        computed = dask.compute(*tasks)
        kept = _check_alike([summarize(partition) for partition in computed])
        engine = LocalRowEngine([[computed[number] for number in kept]])
        return RowSession(engine, [engine.groups[0].sizes], range(len(kept)))
    from minmin.problems.linear.rows.dask_engine import gather_patiently, open_on_cluster

    futures = client.compute(tasks)
    described = client.map(summarize, futures)
    try:
        summaries = gather_patiently(client, described)
        kept = _check_alike(summaries)
        return open_on_cluster(client, [futures[i] for i in kept], [summaries[i].rows for i in kept])
    except BaseException:
        for future in futures:
            future.release()  # an error refers to this frame, which would keep the rows at their workers
        raise


def cut_blocks(matrices: Mapping[str, Any], columns: Mapping[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The blocks of matrices and columns that belong to the same rows, not yet computed; columns may be None."""
    first = next(iter(matrices))
    by_matrix = {name: _list_blocks(matrix, name) for name, matrix in matrices.items()}
    sizes, count = _find_sizes(matrices[first]), len(by_matrix[first])
    by_column = {name: _cut_column(column, name, sizes, count) for name, column in columns.items()}
    for name, blocks in {**by_matrix, **by_column}.items():
        if len(blocks) != count:
            raise InputError(
                f"{name} has {len(blocks)} blocks of rows, and {first} has {count}; rechunk or repartition them to the "
                "same rows"
            )
    return [
        ({name: of[number] for name, of in by_matrix.items()}, {name: of[number] for name, of in by_column.items()})
        for number in range(count)
    ]


def find_client() -> Any:
    """The current client of Dask's distributed scheduler, or None."""
    try:
        from distributed import get_client

        client = get_client()
    except (ImportError, ValueError):
        return None
    if client.asynchronous:
        raise InputError("the client of Dask is asynchronous; call this in a thread, as by asyncio.to_thread(...)")
    return client


def _list_blocks(collection: Any, name: str) -> list[Any]:
    """The blocks of rows of an array or a frame, with all columns."""
    if name in ("X", "Y") and getattr(collection, "ndim", 2) != 2:
        raise InputError(f"{name} has {collection.ndim} dimension; give a matrix or a frame, one row per sample")
    if not is_dask(collection):
        raise InputError(f"{name} must be a Dask array or frame like the rest, got {type(collection).__name__}")
    if getattr(collection, "ndim", 1) == 2 and hasattr(collection, "rechunk") and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    # An optimised graph would have other tasks under names that the cluster knows already.
    return list(np.ravel(collection.to_delayed(optimize_graph=False)))


def list_sizes(collection: Any) -> list[float]:
    """The rows of every block of an array; NaN where they are not known, as for frames."""
    return list(collection.chunks[0]) if hasattr(collection, "chunks") else [math.nan] * collection.npartitions


def _find_sizes(collection: Any) -> tuple[int, ...] | None:
    """The rows of every block; None if they are not known."""
    sizes = list_sizes(collection)
    return None if any(map(math.isnan, sizes)) else tuple(map(int, sizes))


def _cut_column(column: Any, name: str, sizes: tuple[int, ...] | None, count: int) -> list[Any]:
    """The blocks of a column that belong to blocks of rows of these sizes."""
    if column is None:
        return [None] * count
    if is_dask(column):
        if sizes is not None and _find_sizes(column) not in (None, sizes) and sum(column.chunks[0]) == sum(sizes):
            column = column.rechunk({0: sizes})
        return _list_blocks(column, name)
    array = np.asarray(column)
    if array.ndim == 0:
        raise InputError(f"{name} is {array.item()!r}; give one number per row")
    if sizes is None:
        raise InputError(
            f"the sizes of the blocks of X are not known, so {name} cannot be cut into blocks: give {name} as a "
            "collection of Dask with the same blocks (for an array X, X.compute_chunk_sizes() finds the sizes)"
        )
    if len(array) != sum(sizes):
        raise InputError(f"{name} has {len(array)} entries, and X has {sum(sizes)} rows")
    return np.split(array, np.cumsum(sizes)[:-1])


def make_partition(
    number: int, matrices: dict[str, Any], columns: dict[str, Any], read: Callable[[Any, str, str], Any]
) -> Partition:
    """Check a block of rows, where it is. No number is copied that need not be."""
    where = f"partition {number}"
    checked = {name: read(matrix, name, where) for name, matrix in matrices.items()}
    rows = next(iter(checked.values())).shape[0]
    vectors = {name: as_column(column, name, where) for name, column in columns.items() if column is not None}
    for name, part in {**checked, **vectors}.items():
        if part.shape[0] != rows:
            raise InputError(f"{where}: {name} has {part.shape[0]} rows, and {next(iter(checked))} has {rows}")
    return Partition(checked, vectors, number)


def read_numbers(matrix: Any, name: str, where: str) -> Any:
    """A checked block of a matrix of numbers, as an array or a CSR array."""
    if scipy.sparse.issparse(matrix):
        csr = read_csr(matrix, f"{where}: {name}")
        check_sparse(csr.data, csr.indices, csr.indptr, csr.shape[1], where)
        return csr
    require_values(matrix, f"{where}: {name}")
    dtypes = set(matrix.dtypes) if hasattr(matrix, "dtypes") else {matrix.dtype}
    dtype = np.float32 if dtypes == {np.dtype(np.float32)} else np.float64
    try:
        if any(getattr(one, "kind", "O") in "UScmM" for one in dtypes):
            raise TypeError
        if hasattr(matrix, "to_numpy"):
            matrix = matrix.to_numpy(dtype=dtype, na_value=np.nan)
        array = np.ascontiguousarray(matrix, dtype=dtype)
    except (TypeError, ValueError):
        raise InputError(f"{where}: {name} holds {', '.join(sorted(map(str, dtypes)))} values; give numbers") from None
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"{where}: {name} has shape {array.shape}; it must be a matrix, one row per sample")
    check_dense(array, where)
    return array


def as_column(column: Any, name: str, where: str) -> _Vector:
    """A checked column of a block of rows: numbers or, for y, also text."""
    require_values(column, f"{where}: {name}")
    array = np.asarray(column)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2 and name == "offset":  # of a loss with several margins per row
        check_dense(array, where)
        return array
    if array.ndim != 1:
        raise InputError(f"{where}: {name} has shape {array.shape}; give one number per row")
    if array.dtype.kind == "O":
        array = _unpack_objects(array, name, where)
    check_column(array, name, where)
    return array


def _unpack_objects(array: _Vector, name: str, where: str) -> _Vector:
    """Objects as text if they all are text, and else as numbers."""
    is_text = np.array([isinstance(value, str) for value in array])
    if is_text.all():
        return array.astype(str)
    if is_text.any():
        row = int(np.argmin(is_text))
        raise InputError(f"{where}, row {row}: {name} is {array[row]!r}, and other labels are text; give text for all")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{where}: {name} holds neither text nor numbers") from None


def summarize(partition: Partition) -> _Summary:
    """What is known of a partition without its numbers."""
    kinds = {
        name: _Kind(matrix.shape[1], str(matrix.dtype), "sparse" if scipy.sparse.issparse(matrix) else "dense")
        for name, matrix in partition.matrices.items()
    }
    for name, column in partition.columns.items():
        width = math.prod(column.shape[1:])
        kinds[name] = _Kind(width, "text" if column.dtype.kind == "U" else "numbers", "dense")
    return _Summary(partition.rows, kinds)


def _check_alike(summaries: Sequence[_Summary]) -> list[int]:
    """The numbers of the partitions that have rows; an error names the first that is not like the others."""
    kept = [number for number, summary in enumerate(summaries) if summary.rows > 0]
    if not kept:
        raise InputError("the collections have no rows")
    first = summaries[kept[0]].kinds
    for number in kept:
        for name, kind in summaries[number].kinds.items():
            for what, here, there in zip(_Kind._fields, kind, first[name], strict=True):
                if here != there:
                    raise InputError(
                        f"partition {number}: {name} has {what} {here}, and partition {kept[0]} has {there}; give all "
                        "partitions the same columns and dtype"
                    )
    return kept

"""A user's matrices as checked designs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from array_api_compat import array_namespace, device

from minmin.core.arrays import Array, all_finite, as_real, describe_kind, dtype_name, require_finite, to_numpy
from minmin.datasets.partitioned_matrix import PartitionedMatrix
from minmin.datasets.sparse_checks import read_csr
from minmin.errors import InputError
from minmin.problems.linear.designs import Design, wrap_matrix
from minmin.problems.linear.partitioned import PartitionedDesign


def make_designs(X: Any, Y: Any) -> tuple[Design, Design]:
    """The checked designs of both blocks, converted to the wider of their dtypes."""
    designs = make_design(X, "X"), make_design(Y, "Y")
    rows = designs[0].shape[0]
    if designs[1].shape[0] != rows:
        raise InputError(f"X has {rows} rows and Y {designs[1].shape[0]}; they must describe the same samples")
    prototypes = [design.prototype for design in designs]
    if array_namespace(prototypes[0]) is not array_namespace(prototypes[1]):
        raise InputError("X and Y must be of the same array library; scipy.sparse counts as NumPy")
    if device(prototypes[0]) != device(prototypes[1]):
        kinds = [describe_kind(prototype) for prototype in prototypes]
        raise InputError(f"X is {kinds[0]} and Y is {kinds[1]}; move both to one device")
    if dtype_name(prototypes[0]) == dtype_name(prototypes[1]):
        return designs
    widest = next(prototype for prototype in prototypes if dtype_name(prototype) == "float64")
    return designs[0].to_like(widest, "X"), designs[1].to_like(widest, "Y")


def make_design(matrix: Any, name: str) -> Design:
    """A user's matrix as a checked design; a Design is returned unchanged, and partitions were checked when opened."""
    if scipy.sparse.issparse(matrix):
        matrix = read_csr(matrix, name)
        require_finite(matrix.data, f"the stored values of {name}")
    elif not isinstance(matrix, Design | PartitionedMatrix):
        matrix = as_real(matrix, name)
        if matrix.ndim != 2:
            raise InputError(f"{name} has shape {tuple(matrix.shape)}; it must be a matrix, one row per sample")
        require_finite(matrix, name)
    design = as_design(matrix)
    if 0 in design.shape:
        raise InputError(f"{name} has shape {tuple(design.shape)}; both blocks need at least one row and one column")
    return design


def as_design(matrix: Any) -> Design:
    """The design of a matrix that needs no check, see :func:`wrap_matrix`; a Design is returned unchanged."""
    if isinstance(matrix, Design):
        return matrix
    return PartitionedDesign(matrix) if isinstance(matrix, PartitionedMatrix) else wrap_matrix(matrix)


def refuse_huge(design: Design, name: Callable[[int], str]) -> None:
    """Raise if squares of the numbers in a column overflow, of which f and its bounds are made."""
    most = math.sqrt(float(np.finfo(dtype_name(design.prototype)).max) / design.shape[1])
    if all(_are_within(array, most) for array in design.arrays()):
        return
    with np.errstate(over="ignore"):
        if all_finite(design.row_norms_squared):
            return
        squares = to_numpy(design.column_squares(design.ones()))
    raise InputError(
        f"{name(int(np.argmax(squares)))} holds numbers so large that their squares overflow; give it in other units, "
        "such as divided by its largest number"
    )


def _are_within(array: Array, most: float) -> bool:
    """Whether no number is farther from zero, without a copy of the array."""
    xp = array_namespace(array)
    return 0 in array.shape or (float(xp.max(array)) <= most and float(xp.min(array)) >= -most)

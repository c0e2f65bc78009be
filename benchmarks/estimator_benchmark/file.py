"""Reads any LIBSVM, CSV or Parquet file as data of the benchmark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from estimator_benchmark.encode import encode
from estimator_benchmark.losses import Vector
from estimator_benchmark.objective import Data, Objective
from minmin.datasets import load_libsvm
from minmin.errors import InputError, near_names
from minmin.estimators.blocks import resolve_blocks
from minmin.estimators.penalties import resolve_alphas


def read_objective(
    path: Path, loss: str, target: str | None, weight: str | None, blocks: Sequence[str], alphas: Sequence[float]
) -> Objective:
    """The objective of a file; blocks are texts like "x=word_*", or "x=0:100" for LIBSVM."""
    data = _read(path, loss, target, weight, _parse_blocks(blocks))
    by_block = resolve_alphas(list(alphas) if len(alphas) > 1 else alphas[0], list(data.blocks))
    if not all(by_block.values()):
        raise InputError("--alphas: every penalty must be above 0, since the packages treat 0 differently")
    return Objective(data, loss, tuple(by_block.values()))


def _parse_blocks(texts: Sequence[str]) -> dict[str, str]:
    blocks: dict[str, str] = {}
    for text in texts:
        name, equals, columns = text.partition("=")
        if not (name and equals and columns):
            raise InputError(f"--blocks {text}: give NAME=COLUMNS, as in 'x=word_*' or, for LIBSVM, 'x=0:100'")
        if name in blocks:
            raise InputError(f"--blocks {text}: the block {name!r} is given twice; give all its columns with commas")
        blocks[name] = columns
    return blocks


def _read(path: Path, loss: str, target: str | None, weight: str | None, blocks: dict[str, str]) -> Data:
    if not path.is_file():
        raise InputError(f"--file {path}: there is no such file")
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".bz2")]
    kind = suffixes[-1] if suffixes else ""
    if kind in (".csv", ".tsv", ".parquet", ".pq"):
        return _read_frame(path, kind, loss, target, weight, blocks)
    if target is not None or weight is not None:
        raise InputError(
            f"{path} is read as LIBSVM, where the target is the first number of each line; leave --target and --weight "
            "out"
        )
    matrix, labels = load_libsvm(path)
    chosen = {name: _parse_numbers(text) for name, text in blocks.items()}
    columns = resolve_blocks(chosen or None, None, matrix.shape[1], None)
    return Data(matrix, _check_target(labels, loss, path), {str(name): found for name, found in columns.items()})


def _read_frame(
    path: Path, kind: str, loss: str, target: str | None, weight: str | None, blocks: dict[str, str]
) -> Data:
    import pandas

    try:
        parquet = kind in (".parquet", ".pq")
        frame = pandas.read_parquet(path) if parquet else pandas.read_csv(path, sep="\t" if kind == ".tsv" else ",")
    except (ValueError, OSError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    names = [str(name) for name in frame.columns]
    frame.columns = names
    if target is None:
        raise InputError(f"{path}: name the column to predict with --target; {near_names('', names)}")
    for option, name in (("--target", target), ("--weight", weight)):
        if name is not None and name not in names:
            raise InputError(f"{option} {name}: {path} has no such column; {near_names(name, names)}")
    features = [name for name in names if name not in (target, weight)]
    chosen = {name: text.split(",") for name, text in blocks.items()}
    columns = resolve_blocks(chosen or None, None, len(features), features)
    by_block = {str(name): [features[i] for i in found] for name, found in columns.items()}
    weights = None if weight is None else _check_weights(frame[weight], weight)
    return encode(frame, by_block, _check_target(frame[target], loss, path), weights, ones=list(by_block)[-1])


def _parse_numbers(text: str) -> Any:
    """A slice like 0:100, or column numbers from several of them, counted from 0."""
    if match := re.fullmatch(r"(\d*):(\d*)", text):
        return slice(*(int(number) if number else None for number in match.groups()))
    if not re.fullmatch(r"\d+(:\d+)?(,\d+(:\d+)?)*", text):
        raise InputError(
            f"--blocks {text}: columns of a LIBSVM file are slices like 0:100, counted from 0; several slices, as in "
            "0:10,20:30, need both ends"
        )
    bounds = [[int(number) for number in part.split(":")] for part in text.split(",")]
    return np.concatenate([np.arange(part[0], part[1] if len(part) > 1 else part[0] + 1) for part in bounds])


def _check_target(column: Any, loss: str, path: Path) -> Vector:
    """-1 and 1 for two classes, 0, 1, … for more, numbers otherwise."""
    if loss in ("logistic", "softmax"):
        classes, codes = np.unique(np.asarray(column).astype(str), return_inverse=True)
        if loss == "logistic" and len(classes) == 2:
            return 2.0 * codes - 1.0
        if loss == "softmax" and len(classes) > 2:
            return codes
        wanted = "exactly two" if loss == "logistic" else "more than two"
        raise InputError(f"--loss {loss} needs {wanted} classes, but the target of {path} has {len(classes)}")
    try:
        numbers = np.asarray(column, dtype=np.float64)
    except ValueError:
        raise InputError(f"--loss {loss} needs numbers, but the target of {path} has text") from None
    if not np.isfinite(numbers).all() or (loss == "poisson" and (numbers < 0.0).any()):
        raise InputError(f"the target of {path} must be finite" + (" and at least 0" if loss == "poisson" else ""))
    return numbers


def _check_weights(column: Any, name: str) -> Vector:
    try:
        weights = np.asarray(column, dtype=np.float64)
    except ValueError:
        raise InputError(f"--weight {name}: the column has text, not numbers") from None
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and weights.sum() > 0.0):
        raise InputError(f"--weight {name}: weights must be finite, at least 0 and not all 0")
    return weights

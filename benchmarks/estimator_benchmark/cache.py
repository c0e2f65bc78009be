"""Remembers minima and sufficient tolerances between runs, by the content of the data."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from estimator_benchmark.objective import Objective


class Cache:
    """The entries of one objective; without a folder, they are forgotten at the end of the run."""

    def __init__(self, folder: Path | None, objective: Objective):
        self._file = None if folder is None else folder / f"{_digest(objective)}.json"
        known = self._file is not None and self._file.exists()
        self._entries: dict[str, Any] = json.loads(self._file.read_text()) if self._file and known else {}

    def get(self, key: str) -> Any:
        """The entry of that name; None if there is none."""
        return self._entries.get(key)

    def put(self, key: str, entry: Any) -> None:
        self._entries[key] = entry
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(self._entries, indent=1))


def _digest(objective: Objective) -> str:
    data = objective.data
    matrix = scipy.sparse.csr_array(data.matrix)
    content = hashlib.sha256(repr((objective.loss, data.matrix.shape, data.one_hot)).encode())
    weights = np.ones(0) if data.weights is None else data.weights
    for array in (matrix.data, matrix.indices, matrix.indptr, data.target, weights, objective.penalties):
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()[:24]

"""The benchopt data set around a real one; if its file is missing, the objective skips it and says why."""

from __future__ import annotations

from typing import Any

from benchopt import BaseDataset

from benchmark_utils import real


class RealDataset(BaseDataset):
    def get_data(self) -> dict[str, Any]:
        reason = real.missing(self.name)
        if reason is not None:
            return {"missing": reason}
        X, Y, labels = real.load(self.name)
        return {"X": X, "Y": Y, "labels": labels, "alpha_x": self.alpha_x, "alpha_y": self.alpha_y}

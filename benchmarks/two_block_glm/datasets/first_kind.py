from typing import Any

from benchopt import BaseDataset

from benchmark_utils import clicks


class Dataset(BaseDataset):
    """Generated clicks: many rare columns beside 20 ill-conditioned ones, with three pairs of penalties."""

    name = "first kind"
    parameters = {"penalties": ["easy", "middle", "hard"], "scale": [0.25, 1.0, 4.0], "seed": [0]}
    test_parameters = {"penalties": ["easy"], "scale": [0.05], "seed": [0]}

    def get_data(self) -> dict[str, Any]:
        X, Y, labels = clicks.first_kind(self.seed, self.scale)
        alpha_x, alpha_y = clicks.FIRST_KIND_PENALTIES[self.penalties]
        return {"X": X, "Y": Y, "labels": labels, "alpha_x": alpha_x, "alpha_y": alpha_y}

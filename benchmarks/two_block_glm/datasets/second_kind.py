from typing import Any

from benchopt import BaseDataset

from benchmark_utils import clicks


class Dataset(BaseDataset):
    """Generated clicks: fewer, fuller columns beside 50 well-conditioned ones."""

    name = "second kind"
    parameters = {"scale": [0.25, 1.0, 4.0], "seed": [0]}
    test_parameters = {"scale": [0.02], "seed": [0]}

    def get_data(self) -> dict[str, Any]:
        X, Y, labels = clicks.second_kind(self.seed, self.scale)
        alpha_x, alpha_y = clicks.SECOND_KIND_PENALTIES
        return {"X": X, "Y": Y, "labels": labels, "alpha_x": alpha_x, "alpha_y": alpha_y}

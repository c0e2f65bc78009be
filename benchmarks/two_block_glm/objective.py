from typing import Any

import numpy as np
from benchopt import BaseObjective

from benchmark_utils.model import Model, minimum
from benchmark_utils.until_gap import UntilGap


class Objective(BaseObjective):
    """Mean logistic loss of Xx + Yy, plus alpha_x/2 |x|² + alpha_y/2 |y|²; no intercept.

    The gap is (f - f*)/(f(0) - f*), where f* is computed with an error of at most 1e-13 of f(0) - f*.
    """

    name = "Two-block logistic regression"
    min_benchopt_version = "1.9"
    requirements = ["pip::minmin", "pip::scikit-learn", "pip::threadpoolctl"]
    parameters = {"alpha_x, alpha_y": [(None, None)]}  # None: the penalties that come with the data
    sampling_strategy = "tolerance"
    stopping_criterion = UntilGap()
    test_dataset_name = "a1a"

    def skip(self, missing: str | None = None, **_: Any) -> tuple[bool, str | None]:
        return missing is not None, missing

    def set_data(self, X: Any, Y: Any, labels: Any, alpha_x: float, alpha_y: float) -> None:
        alpha_x = alpha_x if self.alpha_x is None else self.alpha_x
        alpha_y = alpha_y if self.alpha_y is None else self.alpha_y
        self.model = Model(X, Y, labels, alpha_x, alpha_y)
        self.minimum = minimum(self.model)

    def get_objective(self) -> dict[str, Any]:
        return self.model._asdict()

    def evaluate_result(self, x: Any, y: Any) -> dict[str, float]:
        return {"value": self.model.value(x, y), "gap": self.model.relative_gap(x, y, self.minimum)}

    def get_one_result(self) -> dict[str, Any]:
        return {"x": np.zeros(self.model.X.shape[1]), "y": np.zeros(self.model.Y.shape[1])}

"""When a curve ends: at a small gap, when smaller tolerances stop helping, or at the smallest tolerance."""

from __future__ import annotations

from typing import Any

from benchopt.stopping_criterion import StoppingCriterion


class UntilGap(StoppingCriterion):
    """Tolerances fall by a factor of 10. After one has helped, the curve ends at three in a row that do not."""

    def __init__(
        self,
        gap: float = 1e-10,
        least_tol: float = 1e-14,
        patience: int = 3,
        strategy: str | None = None,
        key_to_monitor: str = "value",
        minimize: bool = True,
    ):
        self.gap, self.least_tol, self.patience = gap, least_tol, patience
        super().__init__(
            strategy=strategy,
            key_to_monitor=key_to_monitor,
            minimize=minimize,
            gap=gap,
            least_tol=least_tol,
            patience=patience,
        )

    def get_next_stop_val(self, stop_val: float) -> float:
        return min(100.0, stop_val / 10.0)

    def check_convergence(self, objective_list: list[dict[str, Any]]) -> tuple[bool, float]:
        gaps = [max(record["objective_gap"], self.gap) for record in objective_list]
        helped, recent = min(gaps) < gaps[0], gaps[-self.patience - 1 :]
        exhausted = objective_list[-1]["stop_val"] <= self.least_tol
        stalled = helped and len(recent) > self.patience and min(recent[1:]) >= recent[0]
        return gaps[-1] <= self.gap or exhausted or stalled, 0.0

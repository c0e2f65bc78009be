"""PyTorch: five shops share one layer of a module and each keeps a private head; prints the held-out loss of each shop.

The logistic loss of a sum of two linear layers is convex, so the run ends with a proved bound. Needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.func import functional_call
from torch.nn.functional import binary_cross_entropy_with_logits

import minmin
from minmin.federated import Client, Layout, evaluate, run

SHARED_COLUMNS, LOCAL_COLUMNS, PENALTY = 20, 3, 1e-2


class Clicks(torch.nn.Module):
    """Log-odds of a click: a shared layer on the columns of all shops, plus a head on the local columns of the shop."""

    def __init__(self) -> None:
        super().__init__()
        self.features = torch.nn.Linear(SHARED_COLUMNS, 1, bias=False, dtype=torch.float64)
        self.head = torch.nn.Linear(LOCAL_COLUMNS, 1, dtype=torch.float64)

    def forward(self, shared: torch.Tensor, local: torch.Tensor) -> torch.Tensor:
        return (self.features(shared) + self.head(local)).squeeze(1)


class Shop:
    """The visitors of one shop; the last quarter of them is held out."""

    def __init__(self, seed: int, visitors: int) -> None:
        rng = np.random.default_rng(seed)
        shared, local = rng.standard_normal((visitors, SHARED_COLUMNS)), rng.standard_normal((visitors, LOCAL_COLUMNS))
        effect_of_shared, effect_of_local = np.linspace(1.0, -1.0, SHARED_COLUMNS), rng.standard_normal(LOCAL_COLUMNS)
        score = shared @ effect_of_shared + local @ effect_of_local + seed - 2.0
        clicked = (rng.random(visitors) < 1.0 / (1.0 + np.exp(-score))).astype(float)
        rows = [torch.from_numpy(column) for column in (shared, local, clicked)]
        self.module = Clicks()
        self.train = [column[: visitors * 3 // 4] for column in rows]
        self.held_out = [column[visitors * 3 // 4 :] for column in rows]

    def loss(self, parameters: Mapping[str, torch.Tensor], rows: list[torch.Tensor]) -> torch.Tensor:
        shared, local, clicked = rows
        scores = functional_call(self.module, dict(parameters), (shared, local))
        return binary_cross_entropy_with_logits(scores, clicked)

    def value(self, model: Mapping[str, np.ndarray[Any, Any]]) -> float:
        return float(self._penalised(_tensors(model)))

    def gradient(self, model: Mapping[str, np.ndarray[Any, Any]], names: list[str]) -> dict[str, Any]:
        parameters = _tensors(model)
        wanted = [parameters[name].requires_grad_() for name in names]
        return dict(zip(names, torch.autograd.grad(self._penalised(parameters), wanted), strict=True))

    def held_out_loss(self, model: Mapping[str, np.ndarray[Any, Any]]) -> float:
        return float(self.loss(_tensors(model), self.held_out))

    def _penalised(self, parameters: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return self.loss(parameters, self.train) + PENALTY / 2 * sum((p * p).sum() for p in parameters.values())

    def constants(self) -> minmin.Constants:
        """The curvature of the logistic loss is at most λ_max(AᵀA)/4n; the penalty bounds it from below."""
        shared, local, _ = self.train
        rows = torch.hstack([shared, local, torch.ones(len(local), 1, dtype=torch.float64)])
        smoothness = float(torch.linalg.matrix_norm(rows, ord=2) ** 2) / len(rows) / 4.0 + PENALTY
        return minmin.Constants(L_x=smoothness, L_y=smoothness, mu_x=PENALTY, mu_y=PENALTY)


def _tensors(model: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(array) for name, array in model.items()}


def main() -> None:
    start = {name: 0.0 * tensor for name, tensor in Clicks().state_dict().items()}
    layout = Layout(start, private=["head.*"])
    shops = {f"shop {seed}": Shop(seed, visitors=400 + 200 * seed) for seed in range(5)}
    clients = [
        Client(
            layout.problem(shop.value, shop.gradient, constants=shop.constants()),
            weight=len(shop.train[0]),
            name=name,
            metrics={"held-out loss": layout.metric(shop.held_out_loss)},
        )
        for name, shop in shops.items()
    ]

    before = evaluate(clients, layout.x0)["held-out loss"]
    r = run(clients, x0=layout.x0, tol=1e-6, evaluate_every=1)
    after = evaluate(clients, r.x)["held-out loss"]

    print(r)
    print("shared arrays:", {name: array.shape for name, array in layout.shared(r.x).items()})
    for client, was, is_now in zip(clients, before, after, strict=True):
        bias = layout.private(client.y)["head.bias"][0]
        print(f"{client.name} keeps its head (bias {bias:+.2f}); held-out loss {was:.3f} before, {is_now:.3f} after")


if __name__ == "__main__":
    main()

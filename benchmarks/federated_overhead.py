"""How much a federation in one process costs above the bare loop over its clients' gradients.

A thousand clients, f_i = ½ Σ_j a_ij (x_j - c_ij)² + ½ Σ_k b_ik (y_ik - x_k)², with 10⁴ variables in x and in y_i. The
bare loop computes, in every round, as many gradients as the run does and the weighted sum of ∇ₓ, in plain NumPy: no
method, no steps in y, no norms, no checks. The same with 5 variables in y_i shows what Python costs a client and round,
and minimize() on the Sum how much of it is the method's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import minmin
from minmin import federated
from minmin.problems import Function
from report import interleaved_medians, print_machine

Array = np.ndarray[Any, Any]
CLIENTS, D_X, ROUNDS = 1000, 10_000, 10


class Holder:
    """One client's data and gradients."""

    def __init__(self, rng: np.random.Generator, d_y: int) -> None:
        self.d_y = d_y
        self.a = rng.uniform(1.0, 10.0, D_X)
        self.b = rng.uniform(0.5, 2.0, d_y)
        self.c = rng.standard_normal(D_X)

    def value(self, x: Array, y: Array) -> float:
        away, left = x - self.c, y - x[: self.d_y]
        return 0.5 * float(away @ (self.a * away)) + 0.5 * float(left @ (self.b * left))

    def grad_x(self, x: Array, y: Array) -> Array:
        gradient = self.a * (x - self.c)
        gradient[: self.d_y] += self.b * (x[: self.d_y] - y)
        return gradient

    def grad_y(self, x: Array, y: Array) -> Array:
        return self.b * (y - x[: self.d_y])

    def problem(self) -> Function:
        constants = minmin.Constants(14.0, 4.0, 0.5, 0.2)
        return Function(self.value, self.grad_x, self.grad_y, d_x=D_X, d_y=self.d_y, constants=constants)


def measure(d_y: int, method: str, **options: Any) -> None:
    rng = np.random.default_rng(0)
    holders = [Holder(rng, d_y) for _ in range(CLIENTS)]
    clients = [federated.Client(holder.problem()) for holder in holders]
    joint = minmin.Sum([holder.problem() for holder in holders])

    def ours() -> minmin.Result:
        return federated.run(clients, method, rounds=ROUNDS, tol=0.0, values=False, **options)

    def central() -> minmin.Result:
        return minmin.minimize(joint, method=method, max_grad_x=ROUNDS, tol=0.0, **options)

    calls = ours().calls
    if calls["grad_x"] != ROUNDS:
        raise SystemExit(f"the run ended after {calls['grad_x']} rounds")
    each = calls["grad_y"] / CLIENTS / ROUNDS

    def bare() -> Array:
        x, y = np.zeros(D_X), np.zeros(d_y)
        for number in range(ROUNDS):
            times = round(each * (number + 1)) - round(each * number)
            total = np.zeros(D_X)
            for holder in holders:
                for _ in range(times):
                    holder.grad_y(x, y)
                total += (1.0 / CLIENTS) * holder.grad_x(x, y)
            x = x - 0.05 * total
        return x

    ours_s, central_s, bare_s = interleaved_medians(ours, central, bare, repeats=5)
    print(
        f"{method:>13}, d_y = {d_y:>5}, {each:.1f} ∇y a client and round: federated.run {ours_s:.2f} s, "
        f"minimize {central_s:.2f} s, bare {bare_s:.2f} s; ratio to bare {ours_s / bare_s:.2f}, "
        f"to minimize {ours_s / central_s:.2f}"
    )


def main() -> None:
    print_machine()
    measure(D_X, "bam")
    measure(5, "bam")
    measure(5, "reduced-lbfgs", looseness=1e-3)


if __name__ == "__main__":
    main()

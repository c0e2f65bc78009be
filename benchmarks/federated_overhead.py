"""The time of a federation in one process, compared with a bare loop over the gradients of its clients.

A thousand clients that exchange 10⁴ numbers each. There are two types of clients. Rows: a logistic model of 20 rows
with 10⁴ shared and 5 private columns. Callables: f_i = ½ Σ_j a_ij (x_j - c_ij)² + ½ Σ_k b_ik (y_ik - x_k)², with 10⁴ or
5 variables in y_i; its gradients take only a few operations per number. In each round the bare loop computes as many
gradients as the run, and the weighted sum of ∇ₓ, in plain NumPy: no method, no steps in y, no norms, no checks.
minimize() on the Sum shows how much of the difference is due to the method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

import minmin
from minmin import federated
from minmin.problems import GLM, Function
from report import interleaved_medians, print_machine

Array = np.ndarray[Any, Any]
CLIENTS, D_X, ROUNDS, ROWS, ALPHA = 1000, 10_000, 10, 20, 1e-2


class Rows:
    """The rows of one client, and the gradients of its logistic model."""

    def __init__(self, rng: np.random.Generator, d_y: int) -> None:
        self.X = rng.standard_normal((ROWS, D_X)) / np.sqrt(D_X)
        self.Y = rng.standard_normal((ROWS, d_y))
        self.target = np.where(rng.random(ROWS) < 0.5, 1.0, -1.0)

    def bare(self, x: Array, y: Array, times: int) -> Array:
        """Compute ∇ᵧ ``times`` times, then ∇ₓ."""
        fixed = self.X @ x
        for _ in range(times):
            slope = -self.target * expit(-self.target * (fixed + self.Y @ y)) / ROWS
            self.Y.T @ slope + ALPHA * y
        return self.X.T @ slope + ALPHA * x

    def problem(self) -> GLM:
        constants = minmin.Constants(1.0, 4.0, ALPHA, ALPHA)
        return GLM(self.X, self.Y, self.target, alpha_x=ALPHA, alpha_y=ALPHA, constants=constants)


class Callables:
    """The data and the gradients of one client."""

    def __init__(self, rng: np.random.Generator, d_y: int) -> None:
        self.d_y = d_y
        self.a = rng.uniform(1.0, 10.0, D_X)
        self.b = rng.uniform(0.5, 2.0, d_y)
        self.c = rng.standard_normal(D_X)

    def bare(self, x: Array, y: Array, times: int) -> Array:
        """Compute ∇ᵧ ``times`` times, then ∇ₓ."""
        for _ in range(times):
            self.grad_y(x, y)
        return self.grad_x(x, y)

    def value(self, x: Array, y: Array) -> float:
        in_x, in_y = x - self.c, y - x[: self.d_y]
        return 0.5 * float(in_x @ (self.a * in_x)) + 0.5 * float(in_y @ (self.b * in_y))

    def grad_x(self, x: Array, y: Array) -> Array:
        gradient = self.a * (x - self.c)
        gradient[: self.d_y] += self.b * (x[: self.d_y] - y)
        return gradient

    def grad_y(self, x: Array, y: Array) -> Array:
        return self.b * (y - x[: self.d_y])

    def problem(self) -> Function:
        constants = minmin.Constants(14.0, 4.0, 0.5, 0.2)
        return Function(self.value, self.grad_x, self.grad_y, d_x=D_X, d_y=self.d_y, constants=constants)


def measure(kind: type[Rows | Callables], d_y: int, method: str, **options: Any) -> None:
    rng = np.random.default_rng(0)
    terms = [kind(rng, d_y) for _ in range(CLIENTS)]
    clients = [federated.Client(term.problem()) for term in terms]
    joint = minmin.Sum([term.problem() for term in terms])

    def ours() -> minmin.Result:
        return federated.run(clients, method, rounds=ROUNDS, tol=0.0, values=False, **options)

    def central() -> minmin.Result:
        return minmin.minimize(joint, method=method, max_grad_x=ROUNDS, tol=0.0, **options)

    calls = ours().calls
    if calls["grad_x"] != ROUNDS:
        raise SystemExit(f"the run ended after {calls['grad_x']} rounds, not after {ROUNDS}; the times do not compare")
    each = calls["grad_y"] / CLIENTS / ROUNDS

    def bare() -> Array:
        x, y = np.zeros(D_X), np.zeros(d_y)
        for number in range(ROUNDS):
            times = round(each * (number + 1)) - round(each * number)
            total = np.zeros(D_X)
            for term in terms:
                total += (1.0 / CLIENTS) * term.bare(x, y, times)
            x = x - 0.05 * total
        return x

    ours_s, central_s, bare_s = interleaved_medians(ours, central, bare, repeats=5)
    print(
        f"{kind.__name__:>9}, {method:>13}, d_y = {d_y:>5}, {each:.1f} ∇y per client and round: "
        f"federated.run {ours_s:.2f} s, minimize {central_s:.2f} s, bare {bare_s:.2f} s; "
        f"ratio to bare {ours_s / bare_s:.2f}, to minimize {ours_s / central_s:.2f}"
    )


def main() -> None:
    print_machine()
    measure(Rows, 5, "bam")
    measure(Rows, 5, "reduced-lbfgs", inner_tolerance_ratio=1e-3)
    measure(Callables, D_X, "bam")
    measure(Callables, 5, "bam")
    measure(Callables, 5, "reduced-lbfgs", inner_tolerance_ratio=1e-3)


if __name__ == "__main__":
    main()

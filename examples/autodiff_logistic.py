"""One logistic model in JAX and in PyTorch: nested dicts of parameters, gradients by differentiation, a proved bound.

Will a customer buy? x weighs when the customer visited the shop: a table of 7 days by 24 hours. y weighs three facts
about the customer, and holds a bias. Needs jax and torch.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

import minmin

jax.config.update("jax_enable_x64", True)  # without it JAX computes in float32

Array = np.ndarray[Any, Any]
CUSTOMERS, DAYS, HOURS, FACTS = 400, 7, 24, 3
PENALTY = 1e-2


def make_data() -> tuple[Array, Array, Array]:
    """The visits of each customer, facts, and 1 for those who bought something, else -1."""
    rng = np.random.default_rng(0)
    visits, facts = rng.standard_normal((CUSTOMERS, DAYS, HOURS)), rng.standard_normal((CUSTOMERS, FACTS))
    scores = np.einsum("cdh,dh->c", visits, rng.standard_normal((DAYS, HOURS)) / 5) + facts @ [2.0, -1.0, 0.5] + 0.3
    return visits, facts, np.where(rng.logistic(size=CUSTOMERS) < scores, 1.0, -1.0)


def bound_curvature(visits: Array, facts: Array) -> minmin.Constants:
    """Bounds on the curvature, which prove the bound on the gap.

    The logistic loss has a curvature between 0 and 1/4. With one row of [X, Y] per customer, the Hessian is at most the
    penalty plus [X, Y]ᵀ[X, Y]/4n, and that is at most XᵀX/2n in x and YᵀY/2n in y.
    """
    X, Y = visits.reshape(CUSTOMERS, -1), np.column_stack([facts, np.ones(CUSTOMERS)])
    L_x, L_y = (np.linalg.norm(A, 2) ** 2 / (2 * CUSTOMERS) + PENALTY for A in (X, Y))
    return minmin.Constants(L_x=L_x, L_y=L_y, mu_x=PENALTY, mu_y=PENALTY)


def in_jax(visits: Array, facts: Array, bought: Array, constants: minmin.Constants) -> minmin.Problem:
    def f(x: Any, y: Any) -> Any:
        weights, head, bias = x["visits"]["weights"], y["head"]["weights"], y["bias"]
        scores = jnp.einsum("cdh,dh->c", visits, weights) + facts @ head + bias
        penalty = jnp.sum(weights**2) + jnp.sum(head**2) + bias**2
        return jnp.mean(jnp.logaddexp(0.0, -bought * scores)) + PENALTY / 2 * penalty

    x0 = {"visits": {"weights": jnp.zeros((DAYS, HOURS))}}
    y0 = {"head": {"weights": jnp.zeros(FACTS)}, "bias": 0.0}
    return minmin.problems.from_jax(f, x0, y0, constants=constants)


def in_torch(visits: Array, facts: Array, bought: Array, constants: minmin.Constants) -> minmin.Problem:
    visits_, facts_, bought_ = map(torch.tensor, (visits, facts, bought))

    def f(x: Any, y: Any) -> Any:
        weights, head, bias = x["visits"]["weights"], y["head"]["weights"], y["bias"]
        scores = torch.einsum("cdh,dh->c", visits_, weights) + facts_ @ head + bias
        penalty = (weights**2).sum() + (head**2).sum() + bias**2
        return torch.nn.functional.softplus(-bought_ * scores).mean() + PENALTY / 2 * penalty

    x0 = {"visits": {"weights": torch.zeros(DAYS, HOURS, dtype=torch.float64)}}
    y0 = {"head": {"weights": torch.zeros(FACTS, dtype=torch.float64)}, "bias": 0.0}
    return minmin.problems.from_torch(f, x0, y0, constants=constants)


def main() -> None:
    visits, facts, bought = make_data()
    constants = bound_curvature(visits, facts)
    results = {}
    for name, make_problem in (("JAX", in_jax), ("PyTorch", in_torch)):
        r = results[name] = minmin.minimize(make_problem(visits, facts, bought, constants), tol=1e-9)
        weights = r.x["visits"]["weights"]
        print(f"{name}: {r.status}, f = {r.fun:.9f}; f - f* <= {r.gap_bound:.1e} is proved: {r.certified}")
        print(f"  {r.calls['grad_x']} calls of ∇ₓ, {r.calls['grad_y']} of ∇ᵧ")
        print(f"  weights: {tuple(weights.shape)} of {weights.dtype}, bias {r.y['bias']:.6f}")
    of_jax, of_torch = (np.asarray(r.x["visits"]["weights"]) for r in results.values())
    print(f"largest difference between the weights: {np.abs(of_jax - of_torch).max():.0e}")


if __name__ == "__main__":
    main()

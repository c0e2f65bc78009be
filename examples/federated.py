"""Three hospitals fit one model together: x weighs the measurements of all hospitals, y_i those of hospital i.

Only x, its gradients and a few numbers are sent; the rows and the y_i of a hospital stay there.
"""

from __future__ import annotations

import numpy as np

import minmin


def hospital(seed: int, patients: int) -> minmin.problems.GLM:
    """Measurements with the same meaning in all hospitals (X), local measurements (Y), and which patients recovered."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((patients, 30)), rng.standard_normal((patients, 4))
    effect_of_shared = np.linspace(1.0, -1.0, 30)  # the same everywhere
    effect_of_local = rng.standard_normal(4)  # different in each hospital
    recovered = rng.random(patients) < 1.0 / (1.0 + np.exp(-X @ effect_of_shared - Y @ effect_of_local))
    return minmin.problems.GLM(X, Y, recovered.astype(float), "logistic", alpha_x=1e-2, alpha_y=1e-3)


def main() -> None:
    sizes = [300, 1000, 500]
    clients = [minmin.federated.Client(hospital(seed, n), weight=n) for seed, n in enumerate(sizes)]

    r = minmin.federated.run(clients, method="reduced-lbfgs", tol=1e-6)

    print(r)  # the status, f, and the proved bound on f - f*
    print(f"rounds: {r.calls['grad_x']}; sent by the clients: {r.history.bytes_up[-1] / 1000:.1f} kB")
    print("shared weights:", np.round(r.x[:5], 2), "...")
    for seed, client in enumerate(clients):
        print(f"hospital {seed} keeps its own:", np.round(client.y, 2))


if __name__ == "__main__":
    main()

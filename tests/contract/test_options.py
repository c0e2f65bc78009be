"""Every pair of options on every kind of problem: it works, or it is refused with a remedy that works.

Part of them here; ``python tests/contract/test_options.py`` tries all of them, and prints what is wrong with any.
"""

from __future__ import annotations

import itertools
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import minmin
from minmin import federated
from minmin.problems import GLM, Composite, Function, Quadratic, Softmax, Split
from minmin.terms import L1, Box
from reference import as_function

OPTIONS: dict[str, dict[str, list[Any]]] = {
    "auto": {"cost_ratio": [0.1]},
    "reduced-newton": {"first_y_steps": [0], "loosest": [0.5], "forcing_power": [1.0], "most_cg_steps": [3]},
    "reduced-lbfgs": {
        "inner": ["lbfgs", "newton", "nag"],
        "outer": ["y"],
        "inner_tolerance_ratio": [0.5],
        "stateless": [True],
    },
    "bam": {
        "inner": ["newton", "nag", "nag-ogmg", "katyusha"],
        "outer": ["y", "auto"],
        "radius": [20.0, "auto"],
        "adaptive": [True],
        "scheme": ["triple-momentum"],
    },
    "nag": {"rescale": [True], "radius": [20.0, "auto"], "adaptive": [True]},
    "acdm": {"rescale": [True], "certify_every": [7], "radius": [20.0, "auto"]},
    "lincoupling": {"rescale": [True], "certify_every": [3], "radius": [20.0, "auto"]},
    "inexact-outer": {"accuracy": [1e-6]},
    "alternating": {"accelerated": [False]},
    "cutting-plane": {"inner": ["newton", "nag"], "radius": [20.0]},
    "sliding": {"inner": ["nag", "nag-ogmg"]},
}
"""The values of every option that differ from its default."""
RUN_OPTIONS: list[dict[str, Any]] = [
    {"gtol": 1e-2},
    {"rtol": 1e-2},
    {"bounds_x": (-1.0, 1.0)},
    {"bounds_y": (0.0, None)},
    {"max_iterations": 2},
    {"max_grad_y": 3},
    {"max_seconds": 0.01},
]


def quadratic(mu: float = 0.5, seed: int = 0) -> Quadratic:
    return Quadratic.random(d_x=3, d_y=2, mu_x=mu, mu_y=mu, L_x=3.0, L_y=5.0, coupling=1.0, seed=seed)


def flat() -> Quadratic:
    """With a minimum, and without curvature in one direction."""
    A = np.random.default_rng(1).standard_normal((4, 5))
    return Quadratic(A.T @ A, A.T @ np.array([1.0, -0.5, 0.2, 0.3]), 3)


def glm(loss: str = "logistic", seed: int = 0, alpha: float = 0.2) -> GLM:
    rng = np.random.default_rng(seed)
    X, Y, z = rng.standard_normal((12, 3)), rng.standard_normal((12, 2)), rng.standard_normal(12)
    target = np.sign(z) if loss == "logistic" else np.exp(0.3 * z)
    return GLM(X, Y, target, loss, alpha_x=alpha, alpha_y=alpha)


def softmax() -> Softmax:
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((12, 2)), rng.standard_normal((12, 1))
    return Softmax(X, Y, np.arange(12) % 3, alpha_x=0.2, alpha_y=0.2)


def without_constants(**changes: Any) -> Function:
    q = quadratic()
    f = as_function(q)
    given = {"value": f.value, "grad_x": f.grad_x, "grad_y": f.grad_y, "constants": None} | changes
    return Function(given.pop("value"), given.pop("grad_x"), given.pop("grad_y"), d_x=3, d_y=2, **given)


def of_blocks(**given: Any) -> Function:
    """The quadratic as callables of three blocks."""
    q, spans = quadratic(), (slice(0, 2), slice(2, 3), slice(3, 5))

    def value(*blocks: Any) -> float:
        z = np.concatenate(blocks)
        return float(0.5 * z @ q.H @ z + q.b @ z)

    grads = [lambda *blocks, span=span: q.H[span] @ np.concatenate(blocks) + q.b[span] for span in spans]
    return Function(value, grads=grads, sizes=[2, 1, 2], **given)


def on_disk() -> GLM:
    folder, model = Path(tempfile.mkdtemp()) / "rows", glm()
    data = np.hstack([model.X, model.Y])
    minmin.datasets.write_partitions(folder, [(data[:5], model.target[:5]), (data[5:], model.target[5:])])
    parts = minmin.datasets.open_partitions(folder)
    return GLM(parts.X[:, :3], parts.X[:, 3:], parts.y, "logistic", alpha_x=0.2, alpha_y=0.2)


def on_dask() -> GLM:
    arrays, model = pytest.importorskip("dask.array", reason="needs minmin[dask]"), glm()
    X, Y = (arrays.from_array(block, chunks=(6, block.shape[1])) for block in (model.X, model.Y))
    return GLM(X, Y, model.target, "logistic", alpha_x=0.2, alpha_y=0.2)


def of_jax() -> minmin.Problem:
    pytest.importorskip("jax", reason="needs minmin[jax]")
    H, b = (a.astype(np.float32) for a in (quadratic().H, quadratic().b))

    def f(x: Any, y: Any) -> Any:
        return 0.5 * (x @ H[:3, :3] @ x + y @ H[3:, 3:] @ y) + x @ H[:3, 3:] @ y + x @ b[:3] + y @ b[3:]

    return minmin.problems.from_jax(f, np.zeros(3, np.float32), np.zeros(2, np.float32))


def clients(*, with_terms: bool = False) -> list[federated.Client]:
    terms = {"term_y": L1(0.02)} if with_terms else {}
    return [federated.Client(Composite(glm(seed=i), **terms) if with_terms else glm(seed=i)) for i in range(2)]


KINDS: dict[str, Callable[[], Any]] = {
    "Quadratic": quadratic,
    "flat Quadratic": flat,
    "GLM": glm,
    "Poisson GLM": lambda: glm("poisson"),
    "Softmax": softmax,
    "Sum": lambda: minmin.Sum([quadratic(), quadratic(seed=1)]),
    "Sum of GLMs": lambda: minmin.Sum([glm(), glm(seed=1)]),
    "Split": lambda: Split(quadratic(), quadratic(seed=1)),
    "Split of functions": lambda: Split(as_function(quadratic()), as_function(quadratic(seed=1))),
    "three blocks": lambda: Quadratic(quadratic().H, quadratic().b, sizes=[2, 1, 2]),
    "Function": lambda: as_function(quadratic()),
    "Function without constants": without_constants,
    "Function without values": lambda: without_constants(value=None, constants=quadratic().constants),
    "Function by differences": lambda: without_constants(grad_y=None, constants=quadratic().constants),
    "Composite in x": lambda: Composite(glm(), term_x=L1(0.05)),
    "Composite in y": lambda: Composite(quadratic(), term_y=Box(-0.1, 0.2)),
    "Composite Sum": lambda: Composite(minmin.Sum([glm(), glm(seed=1)]), L1(0.05), L1(0.02)),
    "Composite Function": lambda: Composite(without_constants(), L1(0.05), L1(0.02)),
    "Composite Split": lambda: Composite(Split(quadratic(), quadratic(seed=1)), L1(0.05), Box(-0.1, 0.2)),
    "Composite Sum with a term for each": lambda: Composite(minmin.Sum([glm(), glm(seed=1)]), None, [L1(0.05), None]),
    "Sum of Composites": lambda: minmin.Sum([Composite(glm(), term_y=L1(0.02)), glm(seed=1)]),
    "blocks of callables": lambda: of_blocks(L=[3.0, 3.0, 5.0], mu=[0.5] * 3, costs=[9.0, 3.0, 1.0]),
    "blocks without constants": of_blocks,
    "Composite of blocks": lambda: Composite(KINDS["three blocks"](), L1(0.05), [Box(-0.1, 0.2), L1(0.02)]),
    "from_jax": of_jax,
    "rows on disk": on_disk,
    "rows on Dask": on_dask,
    "federation": clients,
    "federation with terms": lambda: clients(with_terms=True),
}
"""A federation is the list of its clients."""


def option_pairs(method: str) -> Iterator[dict[str, Any]]:
    """No option, every option alone, and every pair of them."""
    values = [(name, value) for name, choices in OPTIONS[method].items() for value in choices]
    yield {}
    yield from ({name: value} for name, value in values)
    for first, second in itertools.combinations(values, 2):
        if first[0] != second[0]:
            yield dict([first, second])


def solve(problem: Any, method: str, **options: Any) -> minmin.Result:
    if not isinstance(problem, list):
        return minmin.minimize(problem, method=method, **options)
    budgets = {"max_iterations": "rounds"}
    return federated.run(problem, method, **{budgets.get(name, name): value for name, value in options.items()})


def find_fault(kind: str, method: str, options: dict[str, Any], run: dict[str, Any]) -> str:
    """What is wrong with a run or with its refusal; empty if nothing is."""
    problem = KINDS[kind]()
    with_bounds = {name: value for name, value in run.items() if name.startswith("bounds")}
    try:
        r = solve(problem, method, **{"tol": 1e-3, "max_seconds": 5.0, **run}, **options)
    except minmin.UnsupportedError as refusal:
        remedy = re.search(r"method='([\w-]+)'", str(refusal))
        if remedy is None:
            return f"a refusal without a remedy: {refusal}"
        try:
            solve(KINDS[kind](), remedy[1], max_iterations=1, **with_bounds)
        except minmin.UnsupportedError as again:
            return f"the remedy is refused, too: {refusal} / {again}"
        return ""
    if r.status not in ("converged", "budget"):
        return f"ended as {r.status}: {r.message}"
    noise = 1e-5 if kind == "from_jax" else 1e-9  # in single precision
    if r.certified and not with_bounds and r.fun - minima(kind) > r.gap_bound + noise:
        return f"the bound {r.gap_bound} is below the gap {r.fun - minima(kind)}"
    return ""


_MINIMA: dict[str, float] = {}


def minima(kind: str) -> float:
    """The minimum of f, to rounding or to 1e-10."""
    if kind not in _MINIMA:
        method = "reduced-lbfgs" if "federation" in kind else "auto"
        _MINIMA[kind] = solve(KINDS[kind](), method, tol=1e-11, max_iterations=500).fun
    return _MINIMA[kind]


def cases() -> list[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Every pair of a method's options on every kind of problem, and every option of a run with every method."""
    pairs = [(kind, m) for kind in KINDS for m in OPTIONS if m != "auto" or "federation" not in kind]
    of_methods = [(kind, m, options, {}) for kind, m in pairs for options in option_pairs(m)]
    of_runs = [(kind, m, {}, run) for kind, m in pairs for run in RUN_OPTIONS if can_have(kind, run)]
    return of_methods + of_runs


def can_have(kind: str, run: dict[str, Any]) -> bool:
    """Whether an option of a run makes sense for a kind of problem, whatever the method."""
    if "rtol" in run:
        return kind != "Function without values"
    if "federation" in kind and {"bounds_y", "max_grad_y"} & run.keys():
        return False
    if "bounds_y" in run and "blocks" in kind:
        return False
    return not any(name.startswith("bounds") for name in run) or "Composite" not in kind


SAMPLE = 23
"""One case in so many is tried in the suite: a prime, so that all kinds, methods and options occur."""
SLOW = {"rows on Dask": 5, "from_jax": 3}
"""Of these kinds so many times fewer."""


@pytest.mark.parametrize("kind", KINDS)
def test_options_work_together_or_are_refused_with_a_remedy_that_works(kind):
    sample = cases()[:: SAMPLE * SLOW.get(kind, 1)]
    faults = [f"{case}: {fault}" for case in sample if case[0] == kind and (fault := find_fault(*case))]
    assert not faults, "\n".join(faults)


if __name__ == "__main__":
    every = cases()
    faults = []
    for case in every:
        try:
            fault = find_fault(*case)
        except Exception as error:  # whatever it is, it is a fault
            fault = f"{type(error).__name__}: {error}"
        if fault:
            faults.append(fault)
            print(*case, fault, sep="; ", flush=True)
    print(f"{len(every)} cases, {len(faults)} faults")

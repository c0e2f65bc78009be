"""Random problems whose values, gradients or data are rounded, and whether a run claims too much or fails in odd ways.

``python tests/rounded.py 5000`` tries that many seeds in a few minutes, and prints what is wrong with any of them. One
seed in five is a fit of an estimator, or a function of JAX or PyTorch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import minmin
from minmin.problems import GLM, Composite, Function, Quadratic, Softmax, Split, Sum
from minmin.terms import L1, Box, NonNegative
from reference import (
    SPLIT_VARIANTS,
    VARIANTS,
    ExactQuadratic,
    glm_minimum,
    random_quadratic,
    random_softmax,
    random_target,
)
from rounded_fits import draw_fit

Gap = Callable[[Any, Any], float]
Run = Callable[[], tuple[bool, float, float]]
"""Returns whether a bound is proved, the bound, and the gap."""

ROUND: dict[str, Callable[[Any], Any]] = {
    "exact": lambda a: a,
    "single": np.float32,
    "hidden single": lambda a: np.float32(a).astype(float) if np.ndim(a) else float(np.float32(a)),
}
ROUND_VALUES = ROUND | {
    "half": np.float16,
    "one decimal": lambda a: round(a, 1),
    "three decimals": lambda a: round(a, 3),
    "six decimals": lambda a: round(a, 6),
}
VALUE_ERRORS = {"one decimal": 0.0501, "three decimals": 0.000501, "six decimals": 5.01e-7}
"""What a user has to say of values that are coarser than single precision, if differences of them replace ∇ᵧf."""
GRADIENTS = ["exact", "single"]  # a certificate takes gradients of dtype float64 at their word
DATA = ["float64", "float32", "float16", "int8"]
VISIBLE = 1e-16
"""A claim is wrong if it is too small by more than this fraction of the terms of f: the error of the gaps here."""


class Case(NamedTuple):
    """A problem, a start, how far a point is above the minimum less the error of that number, and a description."""

    problem: minmin.Problem
    start: tuple[Any, ...]
    gap: Gap
    told: str


class Outcome(NamedTuple):
    """Whether a run has certified a gap, and what is wrong with it, if anything."""

    certified: bool
    fault: str | None


def draw(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    if seed % 5 == 4:
        return draw_autodiff(rng)
    kinds = draw_function, draw_sum, draw_composite, draw_glm, draw_quadratic, draw_split, draw_blocks, draw_softmax
    return kinds[seed % len(kinds)](rng)


def draw_function(rng: np.random.Generator) -> Case:
    """½zᵀHz + bᵀz + c by callables that round, with ∇ᵧ or without, with L or without."""
    quadratic = random_quadratic(rng, 1e3)
    value, gradient = str(rng.choice(list(ROUND_VALUES))), str(rng.choice(GRADIENTS))
    c = float(rng.choice([0.0, 1.0, 1e3]) * rng.standard_normal())
    differences, smooth = bool(rng.uniform() < 0.2), bool(rng.uniform() < 0.8)
    if differences and value == "half":
        value = "hidden single"
    function = round_function(quadratic, value, gradient, c, differences=differences, smooth=smooth)
    told = f"value {value}, gradients {gradient}, c = {c:g}, differences {differences}, smooth {smooth}"
    start = rng.standard_normal(quadratic.d_x), rng.standard_normal(quadratic.d_y)
    return Case(function, start, ExactQuadratic(quadratic).gap, told)


def draw_sum(rng: np.random.Generator) -> Case:
    """Two such functions that share x."""
    first = random_quadratic(rng, 1e2)
    d_x, d_y = first.d_x, first.d_y
    both = first, Quadratic(first.H, rng.standard_normal(d_x + d_y), d_x)
    value, gradient = str(rng.choice(list(ROUND_VALUES))), str(rng.choice(GRADIENTS))
    H, b = np.zeros((d_x + 2 * d_y,) * 2), np.zeros(d_x + 2 * d_y)
    for i, q in enumerate(both):
        chosen = np.r_[:d_x, d_x + i * d_y : d_x + (i + 1) * d_y]
        H[np.ix_(chosen, chosen)] += 0.5 * np.asarray(q.H)
        b[chosen] += 0.5 * np.asarray(q.b)
    exact = ExactQuadratic(Quadratic(H, b, d_x))
    start = rng.standard_normal(d_x), minmin.Parts([rng.standard_normal(d_y) for _ in both], (0.5, 0.5))
    problem = Sum([round_function(q, value, gradient) for q in both])
    return Case(problem, start, lambda x, y: exact.gap(x, np.concatenate(list(y))), f"sum, {value}, {gradient}")


def draw_composite(rng: np.random.Generator) -> Case:
    """Such a function with a term in x; coordinate descent finds its minimum."""
    quadratic = random_quadratic(rng, 1e2)
    value, gradient = str(rng.choice(list(ROUND_VALUES))), str(rng.choice(GRADIENTS))
    terms = (L1(0.3), 0.3, -np.inf, np.inf), (Box(-0.5, 0.25), 0.0, -0.5, 0.25), (NonNegative(), 0.0, 0.0, np.inf)
    term, l1, low, high = terms[rng.integers(3)]
    H, b, in_x = np.asarray(quadratic.H), np.asarray(quadratic.b), np.arange(len(quadratic.b)) < quadratic.d_x
    weights = np.where(in_x, l1, 0.0)
    best = descend_by_coordinates(H, b, weights, np.where(in_x, low, -np.inf), np.where(in_x, high, np.inf))

    def f(z: np.ndarray) -> np.longdouble:
        z = z.astype(np.longdouble)
        return 0.5 * z @ (H @ z) + b @ z + weights @ np.abs(z)

    def gap(x: Any, y: Any) -> float:
        z = np.concatenate([x, y]).astype(float)
        size = 0.5 * np.abs(z) @ np.abs(H) @ np.abs(z) + (np.abs(b) + weights) @ np.abs(z)
        return float(f(z) - f(best)) - VISIBLE * size

    problem = Composite(round_function(quadratic, value, gradient), term_x=term)
    start = np.zeros(quadratic.d_x), np.zeros(quadratic.d_y)
    return Case(problem, start, gap, f"{type(term).__name__}, {value}, {gradient}")


def draw_glm(rng: np.random.Generator) -> Case:
    """A GLM on data of low precision: its minimum is that of these data."""
    loss, dtype = str(rng.choice(["logistic", "squared", "poisson"])), str(rng.choice(DATA))
    n, d_x, d_y = int(rng.integers(1, 40)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
    scale = 1.0 if loss == "poisson" else 3.0  # with more, Newton's method needs a line search
    X, Y = ((scale * rng.standard_normal((n, d))).astype(dtype) for d in (d_x, d_y))
    if dtype == "float16":  # such data are refused
        X, Y = X.astype(float), Y.astype(float)
    margins = X @ rng.standard_normal(d_x) / 3.0 + Y @ rng.standard_normal(d_y) / 3.0
    target, alphas = random_target(rng, loss, margins).astype(X.dtype), 10 ** rng.uniform(-4, 0, size=2)
    exact = GLM(X.astype(float), Y.astype(float), target, loss, alpha_x=alphas[0], alpha_y=alphas[1])
    best, _ = glm_minimum(exact)
    A, alpha = np.hstack([X, Y]).astype(np.longdouble), np.repeat(alphas, (d_x, d_y))

    def f(z: np.ndarray) -> np.longdouble:
        z = z.astype(np.longdouble)
        m, t = A @ z, target
        of_row = {
            "logistic": lambda: np.logaddexp(0.0, -t * m),
            "squared": lambda: 0.5 * (m - t) ** 2,
            "poisson": lambda: np.exp(m) - t * m,
        }[loss]()
        return np.mean(of_row) + 0.5 * alpha @ z**2

    def gap(x: Any, y: Any) -> float:
        z = np.concatenate([x, y]).astype(float)
        return float(f(z) - f(best)) - VISIBLE * float(abs(f(z)) + abs(f(best)))

    problem = GLM(X, Y, target, loss, alpha_x=alphas[0], alpha_y=alphas[1])
    start_dtype = np.float32 if dtype == "float32" and rng.uniform() < 0.5 else np.float64
    return Case(problem, (np.zeros(d_x, start_dtype), np.zeros(d_y, start_dtype)), gap, f"{loss}, {dtype} data")


def draw_quadratic(rng: np.random.Generator) -> Case:
    """A quadratic in single precision: its minimum is that of the rounded H and b."""
    q = random_quadratic(rng, 1e2)
    H, b = np.float32(q.H), np.float32(q.b)
    exact = ExactQuadratic(Quadratic(H.astype(float), b.astype(float), q.d_x))
    dtype = np.float32 if rng.uniform() < 0.5 else np.float64
    start = rng.standard_normal(q.d_x).astype(dtype), rng.standard_normal(q.d_y).astype(dtype)
    return Case(Quadratic(H, b, q.d_x), start, exact.gap, f"quadratic in float32, start in {dtype.__name__}")


def draw_split(rng: np.random.Generator) -> Case:
    """The sum of two such functions of the same variables."""
    first = random_quadratic(rng, 1e2)
    other = Quadratic(first.H, rng.standard_normal(len(first.b)), first.d_x)
    exact = ExactQuadratic(Quadratic(2.0 * np.asarray(first.H), first.b + other.b, first.d_x))
    value, gradient = str(rng.choice(list(ROUND_VALUES))), str(rng.choice(GRADIENTS))
    problem = Split(*(round_function(q, value, gradient) for q in (first, other)))
    start = rng.standard_normal(first.d_x), rng.standard_normal(first.d_y)
    return Case(problem, start, exact.gap, f"split, {value}, {gradient}")


def draw_blocks(rng: np.random.Generator) -> Case:
    """A quadratic of three blocks without interaction, by callables that round."""
    sizes = rng.integers(1, 4, size=3)
    L, ends = 10 ** rng.uniform(0, 3, size=3), np.cumsum(sizes)[:-1]
    mu = L / 10 ** rng.uniform(0, 2, size=3)
    diagonal = np.concatenate([rng.uniform(*pair, size=d) for *pair, d in zip(mu, L, sizes, strict=True)])
    b = rng.standard_normal(len(diagonal))
    value, gradient = str(rng.choice(list(ROUND_VALUES))), str(rng.choice(GRADIENTS))

    def slope(number: int, blocks: Any) -> Any:
        z = np.concatenate(blocks)
        return ROUND[gradient](np.split(diagonal * z + b, ends)[number])

    def f(*blocks: Any) -> Any:
        z = np.concatenate(blocks)
        return ROUND_VALUES[value](float(0.5 * z @ (diagonal * z) + b @ z))

    def gap(x: Any, y: Any) -> float:
        away = np.concatenate([x, *y]) + b / diagonal
        return 0.5 * float(away @ (diagonal * away))

    grads = [lambda *blocks, number=number: slope(number, blocks) for number in range(3)]
    problem = Function(f, grads=grads, sizes=sizes.tolist(), L=L.tolist(), mu=mu.tolist())
    return Case(problem, ([np.zeros(d) for d in sizes],), gap, f"three blocks, {value}, {gradient}")


def draw_softmax(rng: np.random.Generator) -> Case:
    """A softmax in single precision: its minimum is that of the rounded data."""
    drawn = random_softmax(rng)
    data = [np.asarray(a).astype(np.float32) for a in (drawn.X, drawn.Y, drawn.weights)]
    alphas = [np.asarray(a).astype(np.float32) for a in (drawn.alpha_x, drawn.alpha_y)]

    def make(dtype: str) -> Softmax:
        X, Y, weights = (a.astype(dtype) for a in data)
        in_x, in_y = (a.astype(dtype) for a in alphas)
        return Softmax(X, Y, drawn.target, drawn.classes, alpha_x=in_x, alpha_y=in_y, sample_weight=weights)

    exact = make("float64")
    best = minmin.minimize(exact, tol=1e-15).fun

    def gap(x: Any, y: Any) -> float:
        value = exact.evaluate(x.astype(float), y.astype(float)).value
        return value - best - 40.0 * VISIBLE * (1.0 + abs(value))

    dtype = np.float32 if rng.uniform() < 0.5 else np.float64
    return Case(
        make("float32"), (np.zeros(exact.d_x, dtype), np.zeros(exact.d_y, dtype)), gap, f"softmax in {dtype.__name__}"
    )


def draw_autodiff(rng: np.random.Generator) -> Case:
    """A quadratic in JAX or PyTorch, in single precision, or in PyTorch with a start in double precision."""
    import jax.numpy as jnp
    import torch

    drawn, name = random_quadratic(rng, 1e2), str(rng.choice(["jax", "torch", "torch in double", "torch from double"]))
    c, constants = float(rng.choice([0.0, 1.0, 1e3]) * rng.standard_normal()), drawn.constants
    start = rng.standard_normal(drawn.d_x), rng.standard_normal(drawn.d_y)
    given = minmin.Constants(constants.L_x, constants.L_y, constants.mu_x, constants.mu_y)

    if name == "jax":
        H, b, *z0 = (jnp.asarray(np.float32(a)) for a in (drawn.H, drawn.b, *start))
        join, wrap = jnp.concatenate, minmin.problems.from_jax
    else:
        dtype, start_dtype = (
            torch.float64 if name.endswith(told) else torch.float32 for told in ("in double", "double")
        )
        H, b = (torch.asarray(np.asarray(a)).to(dtype) for a in (drawn.H, drawn.b))
        z0 = [torch.asarray(a).to(start_dtype) for a in start]
        join, wrap = (lambda blocks: torch.cat(blocks).to(dtype)), minmin.problems.from_torch

    def f(x: Any, y: Any) -> Any:
        z = join([x, y])
        return 0.5 * z @ H @ z + b @ z + c

    exact = ExactQuadratic(Quadratic(np.asarray(H, float), np.asarray(b, float), drawn.d_x))
    return Case(wrap(f, *z0, constants=given), (), lambda x, y: exact.gap(np.asarray(x), np.asarray(y)), name)


def round_function(
    quadratic: Quadratic,
    value: str,
    gradient: str,
    c: float = 0.0,
    *,
    differences: bool = False,
    smooth: bool = True,
) -> Function:
    """A quadratic plus c, whose callables round what they return."""
    k = quadratic.constants
    constants = k if smooth else minmin.Constants(np.inf, np.inf, k.mu_x, k.mu_y)
    if differences:
        constants = k
    H, b, d_x = np.asarray(quadratic.H), np.asarray(quadratic.b), quadratic.d_x

    def f(x: Any, y: Any) -> Any:
        z = np.concatenate([x, y])
        return ROUND_VALUES[value](float(0.5 * z @ H @ z + b @ z + c))

    def slope(x: Any, y: Any) -> Any:
        return H @ np.concatenate([x, y]) + b

    return Function(
        f,
        lambda x, y: ROUND[gradient](slope(x, y)[:d_x]),
        None if differences else lambda x, y: ROUND[gradient](slope(x, y)[d_x:]),
        d_x=d_x,
        d_y=quadratic.d_y,
        constants=minmin.Constants(constants.L_x, constants.L_y, constants.mu_x, constants.mu_y),
        value_error=VALUE_ERRORS.get(value) if differences else None,
    )


def descend_by_coordinates(H: Any, b: Any, l1: Any, low: Any, high: Any) -> np.ndarray:
    """The minimiser of ½zᵀHz + bᵀz + Σ l1_i|z_i| with low <= z <= high, in long double."""
    z, g = np.zeros(len(b), np.longdouble), b.astype(np.longdouble)
    for _ in range(3000):
        before = z.copy()
        for i, h in enumerate(np.diag(H)):
            u = z[i] - g[i] / h
            new = np.clip(np.sign(u) * max(abs(u) - l1[i] / h, np.longdouble(0.0)), low[i], high[i])
            g += H[:, i] * (new - z[i])
            z[i] = new
        if np.array_equal(before, z):
            break
    return z


def find_fault(seed: int) -> str | None:
    """What is wrong with a run on this seed's problem: a claim below the truth, or an odd error; else None."""
    return try_seed(seed).fault


def try_seed(seed: int) -> Outcome:
    fits = seed % 5 == 4 and seed % 3 > 0
    told, run = prepare_fit(seed) if fits else prepare_run(seed)
    try:
        certified, bound, gap = run()
    except minmin.MinMinError:
        return Outcome(False, None)
    except Exception as error:
        return Outcome(False, f"{told}: {type(error).__name__}: {error}")
    wrong = certified and gap > bound * (1.0 + 1e-9)
    return Outcome(certified, f"{told}: claims {bound:.3g}, and the gap is {gap:.3g}" if wrong else None)


def prepare_fit(seed: int) -> tuple[str, Run]:
    fit = draw_fit(np.random.default_rng(seed))
    return f"seed {seed}, {fit.told}", fit.run


def prepare_run(seed: int) -> tuple[str, Run]:
    case = draw(seed)
    rng = np.random.default_rng(seed + 10**9)
    variants = VARIANTS | SPLIT_VARIANTS if isinstance(case.problem, Split) else VARIANTS
    name, options = variants[str(rng.choice(["cutting-plane", *variants]))]
    tol = float(10 ** rng.uniform(-13, -2))
    if name == "cutting-plane" and rng.uniform() < 0.3:
        options = {"radius": 100.0}

    def run() -> tuple[bool, float, float]:
        r = minmin.minimize(case.problem, *case.start, method=name, tol=tol, max_seconds=2.0, **options)
        return r.certified, r.gap_bound, case.gap(r.x, r.y) if r.certified else 0.0

    return f"seed {seed}, {name} {options}, tol {tol:.1e}, {case.told}", run


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    outcomes = [try_seed(seed) for seed in range(first, first + count)]
    faults = [outcome.fault for outcome in outcomes if outcome.fault is not None]
    certificates = sum(outcome.certified for outcome in outcomes)
    print("\n".join([*faults, f"{len(faults)} faults in {count} problems, {certificates} certificates"]))


if __name__ == "__main__":
    main()

"""Terms of every kind, and vectors of every library and precision to try them with."""

import array_api_strict
import numpy as np

from minmin.extend import Scaled
from minmin.terms import L1, Box, ElasticNet, GroupL2, L2Ball, NonNegative, Simplex

SIZE = 12
RNG = np.random.default_rng(10)
WEIGHTS = np.where(np.arange(SIZE) == 3, 0.0, RNG.uniform(0.1, 2.0, SIZE))
CENTER = RNG.standard_normal(SIZE)
LOWER = np.where(np.arange(SIZE) % 3 == 0, -np.inf, -RNG.uniform(0.0, 1.0, SIZE))
UPPER = np.where(np.arange(SIZE) % 4 == 0, np.inf, RNG.uniform(0.0, 1.0, SIZE))
GROUPS = [[0, 5], [1, 2, 3], [7], [8, 9]]

UNSCALED = {
    "L1": L1(0.7),
    "L1 with weights": L1(WEIGHTS),
    "L1 of weight 0": L1(0),
    "ElasticNet": ElasticNet(0.3, 0.5),
    "ElasticNet with weights": ElasticNet(list(WEIGHTS), WEIGHTS[::-1]),
    "ElasticNet with l2 per coordinate": ElasticNet(0.4, WEIGHTS),
    "ElasticNet without squares": ElasticNet(WEIGHTS, 0.0),
    "GroupL2": GroupL2(0.8, GROUPS),
    "GroupL2 with weights": GroupL2([1.0, 0.0, 0.3, 0.5], GROUPS),
    "GroupL2 of everything": GroupL2(2.0, [range(SIZE)]),
    "Box": Box(-1, 0.1),
    "Box with bounds per coordinate": Box(LOWER, UPPER),
    "Box with a free side": Box(None, UPPER),
    "Box of one point": Box(0.3, 0.3),
    "NonNegative": NonNegative(),
    "Simplex": Simplex(),
    "Simplex of total 20": Simplex(20.0),
    "L2Ball": L2Ball(1.0),
    "L2Ball around a center": L2Ball(2, CENTER),
    "L2Ball of one point": L2Ball(0.0, 1.0),
}
SCALED = ("L1 with weights", "ElasticNet with weights", "GroupL2", "Box with a free side", "Simplex", "L2Ball")
TERMS = {**UNSCALED, **{f"scaled {name}": Scaled(UNSCALED[name], 0.37) for name in SCALED}}
CONSTRAINTS = [name for name in TERMS if any(kind in name for kind in ("Box", "NonNegative", "Simplex", "Ball"))]
KINDS = {f"{xp.__name__} {dtype}": (xp, dtype) for xp in (np, array_api_strict) for dtype in ("float32", "float64")}
STEPS = (0.05, 1.0, 7.0)


def eps_of(kind: str) -> float:
    return float(np.finfo(KINDS[kind][1]).eps)


def vectors(kind: str, count: int, seed: int = 0, size: int = SIZE):
    """Random vectors of several lengths, some with equal entries and zeros; a third as many of a slow library."""
    xp, dtype = KINDS[kind]
    rng = np.random.default_rng(seed)
    for i in range(count if xp is np else (count + 2) // 3):
        v = rng.standard_normal(size) * (0.1, 1.0, 30.0)[i % 3]
        if i % 4 == 3:
            v = np.round(v)
        yield xp.asarray(v, dtype=getattr(xp, dtype))

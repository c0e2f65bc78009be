"""Random functions over nested inputs, the same in JAX and in PyTorch."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import torch

import minmin


class Layer(NamedTuple):
    weights: Any
    offset: Any


class Library(NamedTuple):
    """What differs between the two libraries."""

    xp: Any
    asarray: Any
    make: Any


LIBRARIES = {
    "jax": Library(jnp, lambda a, dtype: jnp.asarray(a, dtype=dtype), minmin.problems.from_jax),
    "torch": Library(
        torch, lambda a, dtype: torch.tensor(np.asarray(a), dtype=getattr(torch, dtype)), minmin.problems.from_torch
    ),
}


class RandomFunction:
    """A smooth function of two nested structures with random shapes; convex if its curvature outweighs the waves.

    Every entry of the inputs goes through a random linear map; f adds a log-sum-exp, a wave and a square of the images.
    """

    def __init__(self, seed: int, library: str, dtype: str = "float64"):
        self.library, self.dtype = LIBRARIES[library], dtype
        rng = np.random.default_rng(seed)
        self.x0, self.y0 = self.make_input(rng, seed % 3), self.make_input(rng, (seed + 1) % 3)
        self.sizes = [sum(int(np.prod(np.shape(leaf))) for leaf in leaves_of(tree)) for tree in (self.x0, self.y0)]
        n = 7
        self.maps = [self.array(rng.standard_normal((n, size)) / np.sqrt(size)) for size in self.sizes]
        self.shift = self.array(rng.standard_normal(n))

    def array(self, values):
        return self.library.asarray(values, self.dtype)

    def make_input(self, rng, kind):
        shape = tuple(int(k) for k in rng.integers(1, 4, size=2))
        some = self.array(rng.standard_normal(shape))
        if kind == 0:
            return {
                "layer": Layer(some, self.array(rng.standard_normal(3))),
                "scale": 0.5,
                "none": self.array(np.zeros((0, 2))),
            }
        if kind == 1:
            return [some, (self.array(rng.standard_normal(())), {"b": self.array(rng.standard_normal(2))})]
        return some

    def __call__(self, x, y):
        xp = self.library.xp
        flat = [xp.concatenate([xp.reshape(leaf, (-1,)) for leaf in leaves_of(tree)]) for tree in (x, y)]
        images = self.maps[0] @ flat[0] + self.maps[1] @ flat[1] + self.shift
        waves = xp.sum(xp.sin(images) * xp.sin(2.0 * flat[1][0]))
        square = xp.sum(flat[0] ** 2) + xp.sum(flat[1] ** 2)
        return xp.log(xp.sum(xp.exp(images))) + 0.1 * waves + 0.5 * square + 0.1 * xp.sum(images**4)

    def problem(self, **options):
        return self.library.make(self, self.x0, self.y0, **options)


def leaves_of(tree):
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, list | tuple):
        return [leaf for part in tree for leaf in leaves_of(part)]
    return [tree]

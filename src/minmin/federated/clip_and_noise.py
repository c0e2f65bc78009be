"""Clipping and Gaussian noise on the vector that a client sends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from minmin.errors import InputError, as_count, as_number
from minmin.federated.protocol import Envelope


@dataclass(frozen=True)
class ClipAndNoise:
    """What a client does to its vector before it is sent: scale it down to ``clip``, then add noise.

    Guarantee: the vector of a round has a norm of at most ``clip`` before noise of this size is added. There is no more
    to it: the scalars of a reply are sent as they are, nobody counts how often a client answered, and no (ε, δ)
    follows. The server's bound is then an estimate, never certified; f_i is not sent at all.

    Parameters
    ----------
    clip : float, optional
        The largest Euclidean norm that is sent; unlimited where not given.
    noise : float
        The standard deviation of what is added to each coordinate, in units of ∇ₓf_i.
    seed : int, optional
        For noise that can be repeated: it then follows from the seed and the request. Whoever knows the seed can remove
        the noise again. Where not given, the operating system's randomness is used.
    """

    clip: float | None = None
    noise: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.clip is not None and not 0.0 < as_number(self.clip, "clip") < math.inf:
            raise InputError(f"clip = {self.clip} must be positive and finite")
        if not 0.0 <= as_number(self.noise, "noise") < math.inf:
            raise InputError(f"noise = {self.noise} must not be negative, and finite")
        if self.seed is not None:
            as_count(self.seed, "seed")
        if self.clip is None and self.noise == 0.0:
            raise InputError("ClipAndNoise() does nothing; give clip=, noise= or both")

    def apply(self, vector: np.ndarray[Any, Any], request: Envelope) -> np.ndarray[Any, Any]:
        """What is sent in place of a vector in answer to a request."""
        norm = float(np.linalg.norm(vector))
        clipped = vector if self.clip is None or norm <= self.clip else vector * (self.clip / norm)
        if self.noise == 0.0:
            return np.asarray(clipped, vector.dtype)
        key = None if self.seed is None else [self.seed, *bytes.fromhex(request.digest)]
        noise = np.random.default_rng(key).normal(0.0, self.noise, vector.shape)
        return np.asarray(clipped + noise, vector.dtype)

"""Clipping and Gaussian noise on the vector that a client sends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from minmin.errors import InputError, as_count, as_number, as_positive
from minmin.federated.protocol import Envelope


@dataclass(frozen=True)
class ClipAndNoise:
    """Changes the vector that a client sends: scales it down to the norm ``clip``, then adds noise.

    Guarantee: before the noise is added, the vector of a round has a norm of at most ``clip``. There is no other
    guarantee. The scalars of a reply are sent unchanged, replies are not counted, and no (ε, δ) of differential privacy
    follows. The server's bound is then an estimate and never certified; f_i is not sent at all.

    Parameters
    ----------
    clip : float, optional
        The largest Euclidean norm before noise; no limit by default.
    noise : float
        The standard deviation of the noise in each coordinate, in the units of ∇ₓf_i.
    seed : int, optional
        Makes the noise repeatable: it is then computed from the seed and the request. Anyone with the seed can subtract
        the noise. By default the noise comes from the operating system's random numbers.
    """

    clip: float | None = None
    noise: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.clip is not None:
            as_positive(self.clip, "clip")
        if not 0.0 <= as_number(self.noise, "noise") < math.inf:
            raise InputError(f"noise = {self.noise} must be >= 0 and finite")
        if self.seed is not None:
            as_count(self.seed, "seed")
        if self.clip is None and self.noise == 0.0:
            raise InputError("ClipAndNoise() does nothing; give clip=, noise= or both")

    def apply(self, vector: np.ndarray[Any, Any], request: Envelope) -> np.ndarray[Any, Any]:
        """The vector to send instead of ``vector``, in reply to a request."""
        norm = float(np.linalg.norm(vector))
        clipped = vector if self.clip is None or norm <= self.clip else vector * (self.clip / norm)
        if self.noise == 0.0:
            return np.asarray(clipped, vector.dtype)
        key = None if self.seed is None else [self.seed, *bytes.fromhex(request.digest)]
        noise = np.random.default_rng(key).normal(0.0, self.noise, vector.shape)
        return np.asarray(clipped + noise, vector.dtype)

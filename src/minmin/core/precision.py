"""Products of float32 matrices with all their digits, whatever the array library is set to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any

import numpy as np
from array_api_compat import is_jax_array, is_torch_array

from minmin.core.arrays import Array, dtype_name


def full_float32(array: Array) -> AbstractContextManager[Any]:
    """A context in which the library of this array multiplies float32 matrices with all their digits.

    PyTorch can be set to round the factors first, to TF32 with 10 bits or to bfloat16 with 7, and JAX does so on
    accelerators by default. Gradients are then wrong by 3e-4 and more, so that curvatures look larger than any constant
    allows. The user's setting comes back afterwards.
    """
    if type(array) is np.ndarray or dtype_name(array) != "float32":
        return nullcontext()
    if is_torch_array(array):
        return _TORCH
    if is_jax_array(array) and jax_may_round(array):
        precision: AbstractContextManager[Any] = sys.modules["jax"].default_matmul_precision("highest")
        return precision
    return nullcontext()


def jax_may_round(array: Array) -> bool:
    """Whether JAX may round factors: not on a CPU, unless told so. Another precision makes it compile again."""
    told = sys.modules["jax"].config.jax_default_matmul_precision is not None
    return told or any(place.platform != "cpu" for place in array.devices())


class _Torch:
    """The context for PyTorch, whose settings belong to the whole process.

    The first run to start changes them, and the last to end restores them, so that runs may overlap in threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._running = 0
        self._restore: Callable[[], None] = lambda: None

    def __enter__(self) -> None:
        with self._lock:
            if self._running == 0:
                self._restore = _set_torch_precision(sys.modules["torch"])
            self._running += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._running -= 1
            if self._running == 0:
                self._restore()


_TORCH = _Torch()


def _set_torch_precision(torch: Any) -> Callable[[], None]:
    """Switch to full precision; returns a function that switches back.

    PyTorch 2.9 has a setting for every backend beside the old one for all. Changing the old one changes the new ones,
    but not the other way round, and products fail while they contradict each other.
    """
    backends: list[Any] = [getattr(backend, "matmul", None) for backend in (torch.backends.cuda, torch.backends.mkldnn)]
    new = {backend: backend.fp32_precision for backend in backends if hasattr(backend, "fp32_precision")}
    try:
        old = torch.get_float32_matmul_precision()
    except RuntimeError:  # only the new ones were changed
        old = "highest"
    rounding = [backend for backend, precision in new.items() if precision not in ("none", "ieee")]
    if old != "highest":
        torch.set_float32_matmul_precision("highest")
    for backend in rounding:
        backend.fp32_precision = "ieee"

    def restore() -> None:
        if old != "highest":
            torch.set_float32_matmul_precision(old)
        for backend, precision in new.items():
            if backend.fp32_precision != precision:
                backend.fp32_precision = precision

    return restore

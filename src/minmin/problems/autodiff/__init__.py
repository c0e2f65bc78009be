"""from_jax() and from_torch(): problems from one function, by automatic differentiation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minmin.core.bound import Constants
from minmin.core.structure import make_structures
from minmin.errors import import_extra
from minmin.problems.autodiff.function import AutodiffFunction

__all__ = ["AutodiffFunction", "from_jax", "from_torch"]


def from_jax(
    fun: Callable[[Any, Any], Any],
    x0: Any,
    y0: Any,
    *,
    prepare: Callable[[Any], Any] | None = None,
    constants: Constants | None = None,
) -> AutodiffFunction:
    """A problem from a function of JAX, with gradients and Hessian products by automatic differentiation.

    Each derivative is compiled when it is first needed. A gradient is that of one block alone; f is computed on the way
    to ∇ₓf, and both are counted.

    Parameters
    ----------
    fun : callable
        ``fun(x, y)`` returns the number f(x, y), by operations that JAX can trace and differentiate.
    x0, y0 : nested dicts, lists, tuples and NamedTuples of arrays and numbers
        Examples of x and y, also of what else JAX calls a pytree: arrays of any shape, float32 or float64. They are the
        default start. ``r.x`` and ``r.y`` come back in their structure, library, dtype and device.
    prepare : callable, optional
        What depends on x alone, and is expensive: f is then ``fun(prepare(x), y)``. It is computed once for every x,
        and ∇ₓf is taken through it.
    constants : Constants, optional
        What is known of the curvature of f. With it the bound is proved; see :class:`minmin.Constants`.

    Returns
    -------
    AutodiffFunction
        For :func:`minmin.minimize`, :func:`minmin.check`, :class:`minmin.Sum`, a federated client, and so on.

    Examples
    --------
    >>> import jax.numpy as jnp, minmin
    >>> def f(x, y):
    ...     return jnp.sum((x["a"] - 1.0) ** 2) + jnp.sum((y - x["a"]) ** 2)
    >>> problem = minmin.problems.from_jax(f, {"a": jnp.zeros((2, 2))}, jnp.zeros((2, 2)))
    >>> minmin.minimize(problem).x["a"].shape
    (2, 2)
    """
    jax = import_extra("jax", "from_jax()", "jax", "jax")
    from minmin.problems.autodiff.jax_oracle import JaxOracle, expand_node

    structures = make_structures(x0, y0, jax.numpy.zeros(0), expand_node)
    return AutodiffFunction(JaxOracle(fun, prepare, structures), constants)


def from_torch(
    fun: Callable[[Any, Any], Any],
    x0: Any,
    y0: Any,
    *,
    prepare: Callable[[Any], Any] | None = None,
    constants: Constants | None = None,
) -> AutodiffFunction:
    """A problem from a function of PyTorch, with gradients and Hessian products by automatic differentiation.

    The function runs as it is, without compilation. A gradient is that of one block alone; f is computed on the way to
    ∇ₓf, and both are counted.

    Parameters
    ----------
    fun : callable
        ``fun(x, y)`` returns f(x, y) as a tensor of one number, with its graph.
    x0, y0 : nested dicts, lists, tuples and NamedTuples of tensors and numbers
        Examples of x and y: tensors of any shape, float32 or float64. They are the default start. ``r.x`` and ``r.y``
        come back in their structure, library, dtype and device.
    prepare : callable, optional
        What depends on x alone, and is expensive: f is then ``fun(prepare(x), y)``. It is computed once for every x,
        and ∇ₓf is taken through it.
    constants : Constants, optional
        What is known of the curvature of f. With it the bound is proved; see :class:`minmin.Constants`.

    Returns
    -------
    AutodiffFunction
        For :func:`minmin.minimize`, :func:`minmin.check`, :class:`minmin.Sum`, a federated client, and so on.

    Examples
    --------
    >>> import torch, minmin
    >>> def f(x, y):
    ...     return ((x["a"] - 1.0) ** 2).sum() + ((y - x["a"]) ** 2).sum()
    >>> problem = minmin.problems.from_torch(f, {"a": torch.zeros(2, 2)}, torch.zeros(2, 2))
    >>> minmin.minimize(problem).x["a"].shape
    torch.Size([2, 2])
    """
    torch = import_extra("torch", "from_torch()", "torch", "torch")
    from minmin.problems.autodiff.torch_oracle import TorchOracle

    structures = make_structures(x0, y0, torch.zeros(0))
    return AutodiffFunction(TorchOracle(fun, prepare, structures), constants)

"""Derivatives by JAX: every function of a problem is compiled once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from array_api_compat import device, is_jax_array

from minmin.core.arrays import Array, dtype_name, require_jax_float64
from minmin.core.structure import Structure
from minmin.errors import InputError, UserCodeError, name_type
from minmin.problems.autodiff.function import HessianProducts, Oracle

_CONTROL_FLOW = (
    jax.errors.ConcretizationTypeError,  # an if or a while that depends on a variable
    jax.errors.TracerArrayConversionError,  # a function of NumPy
    jax.errors.TracerIntegerConversionError,
)


def expand_node(node: Any) -> tuple[list[Any], Callable[[Any], Any]] | None:
    """The children of a container that JAX knows, such as a Flax module; None for a leaf."""
    if isinstance(node, jax.Array | np.ndarray | np.generic):
        return None
    children, treedef = jax.tree_util.tree_flatten(node, is_leaf=lambda n: n is not node)
    return None if jax.tree_util.treedef_is_leaf(treedef) else (children, treedef.unflatten)


class JaxOracle(Oracle):
    """f and its derivatives by JAX."""

    def _set_up(self) -> None:
        leaves = [leaf for structure in self.structures for leaf in structure.leaves]
        self._needs_float64 = any(dtype_name(leaf.prototype) == "float64" for leaf in leaves)
        self._require_float64()
        self.prototype = jnp.zeros(0, self.dtype)
        self.eps = self._check()

    def __getstate__(self) -> dict[str, Any]:
        """Compiled functions cannot be copied or pickled."""
        return {name: part for name, part in super().__getstate__().items() if name not in ("_compiled", "_device")}

    @cached_property
    def _compiled(self) -> _Compiled:
        return _Compiled(self)

    @cached_property
    def _device(self) -> Any:
        """The device of the user's arrays; None if JAX would take it anyway."""
        of_arrays = [device(s.prototype) for s in self.structures if is_jax_array(s.prototype)]
        return None if not of_arrays or of_arrays[0] == jax.devices()[0] else of_arrays[0]

    def _check(self) -> float:
        """Trace the function once, to find errors early; the precision of what it returns."""
        x, y = (jax.ShapeDtypeStruct((s.size,), self.dtype) for s in self.structures)
        jaxpr, returned = self._run(lambda: jax.make_jaxpr(self._compiled.joint, return_shape=True)(x, y))
        leaves = jax.tree_util.tree_leaves(returned)
        if len(leaves) != 1 or not hasattr(returned, "shape") or returned.shape != ():
            what = f"shape {returned.shape}" if hasattr(returned, "shape") else name_type(returned)
            raise InputError(f"{self.call} returned {what}; it must return one number")
        if not jnp.issubdtype(returned.dtype, jnp.floating):
            raise InputError(f"{self.call} returned {returned.dtype}; it must return one real floating-point number")
        for name, is_used in zip("xy", _find_used_inputs(jaxpr.jaxpr), strict=True):
            if not is_used:
                raise InputError(f"{self.call} does not depend on {name}; both blocks must change it")
        return float(jnp.finfo(returned.dtype).eps)

    def _require_float64(self) -> None:
        """JAX's setting may have changed, or is another one in another process."""
        if self._needs_float64:
            require_jax_float64("x and y are float64")

    def _fix(self, x: Array) -> Any:
        """x, prepare(x), and the function that takes a gradient back through prepare."""
        self._require_float64()
        x = self._place(x)
        return (x, x, None) if self.prepare is None else (x, *self._run(lambda: self._compiled.prepare(x)))

    def value(self, fixed: Any, y: Array) -> float:
        return float(self._run(lambda: self._compiled.value(fixed[1], self._place(y))))

    def value_and_grad_x(self, fixed: Any, y: Array) -> tuple[Any, Array]:
        value, gradient = self._run(lambda: self._compiled.value_and_grad_x(*fixed[1:], self._place(y)))
        return value, _like(gradient, y)

    def grad_y(self, fixed: Any, y: Array) -> Array:
        return _like(self._run(lambda: self._compiled.grad_y(fixed[1], self._place(y))), y)

    def hess_yy(self, fixed: Any, y: Array) -> Array:
        return _like(self._run(lambda: self._compiled.hess_yy(fixed[1], self._place(y))), y)

    def differentiate_twice(self, fixed: Any, y: Array) -> HessianProducts:
        compiled, place = self._compiled, self._place
        product = self._run(lambda: compiled.linearize(fixed[0], place(y)))
        return HessianProducts(
            in_x=lambda dx, dy: _like(compiled.product_in_x(product, place(dx), place(dy)), dx),
            in_y=lambda dx, dy: _like(compiled.product_in_y(product, place(dx), place(dy)), dy),
            diagonal_in_x=lambda: _like(compiled.diagonal_in_x(product), y),
        )

    def curvature_along(self, fixed: Any, y: Array, dx: Array, dy: Array) -> tuple[float, float]:
        arguments = (fixed[0], self._place(y), self._place(dx), self._place(dy))
        second, third = self._run(lambda: self._compiled.curvature_along(*arguments))
        return float(second), float(third)

    def _place(self, vector: Array) -> Any:
        """The vector where the function computes; JAX moves NumPy arrays to its default device itself."""
        return vector if self._device is None or is_jax_array(vector) else jax.device_put(vector, self._device)

    def _run(self, action: Callable[[], Any]) -> Any:
        """Call compiled code; on the first call it traces the user's functions, which may raise anything."""
        try:
            return action()
        except _CONTROL_FLOW as error:
            reason = str(error).strip().splitlines()[0].removesuffix(".")
            raise UserCodeError(
                f"JAX cannot trace {self.call}: {reason}. Python's if, while and float(), and functions of "
                "NumPy, cannot depend on variables; use jnp.where, jax.lax.cond, jax.lax.scan and jax.numpy"
            ) from error
        except Exception as error:
            raise UserCodeError(f"{self.call} raised {type(error).__name__}: {error}") from error


class _Compiled:
    """The compiled functions of a problem."""

    def __init__(self, oracle: JaxOracle):
        structure_x, structure_y = oracle.structures
        d_x, d_y = structure_x.size, structure_y.size
        fun, prepare = oracle.fun, oracle.prepare

        def prepared(x: Any) -> Any:
            return x if prepare is None else prepare(_arrange(structure_x, x))

        def after(p: Any, y: Any) -> Any:
            return fun(_arrange(structure_x, p) if prepare is None else p, _arrange(structure_y, y))

        def joint(x: Any, y: Any) -> Any:
            return after(prepared(x), y)

        def value_and_grad_x(p: Any, pull_back: Any, y: Any) -> Any:
            value, differentiate = jax.vjp(lambda p: after(p, y), p)  # unlike grad, it takes integers in p
            (of_p,) = differentiate(jnp.ones_like(value))
            return value, of_p if pull_back is None else pull_back(of_p)[0]

        def linearize(x: Any, y: Any) -> Any:
            return jax.linearize(jax.grad(joint, (0, 1)), x, y)[1]

        def curvature_along(x: Any, y: Any, dx: Any, dy: Any) -> Any:
            second = jax.jacfwd(jax.jacfwd(lambda t: joint(x + t * dx, y + t * dy)))
            return jax.jvp(second, (jnp.zeros((), x.dtype),), (jnp.ones((), x.dtype),))

        def diagonal_in_x(product: Any) -> Any:
            zero = jnp.zeros(d_y, oracle.dtype)
            return jax.vmap(lambda e: product(e, zero)[0] @ e)(jnp.eye(d_x, dtype=oracle.dtype))

        self.joint = joint
        self.prepare = jax.jit(lambda x: jax.vjp(prepared, x))
        self.value = jax.jit(after)
        self.value_and_grad_x = jax.jit(value_and_grad_x)
        self.grad_y = jax.jit(jax.grad(after, 1))
        self.hess_yy = jax.jit(jax.hessian(after, 1))
        self.linearize = jax.jit(linearize)
        self.product_in_x = jax.jit(lambda product, dx, dy: product(dx, dy)[0])
        self.product_in_y = jax.jit(lambda product, dx, dy: product(dx, dy)[1])
        self.diagonal_in_x = jax.jit(diagonal_in_x)
        self.curvature_along = jax.jit(curvature_along)


def _arrange(structure: Structure, vector: Any) -> Any:
    """The user's structure, of pieces of a vector that JAX traces."""
    pieces = zip(structure.leaves, structure.split(vector), strict=True)
    return structure.build([piece.astype(dtype_name(leaf.prototype)) for leaf, piece in pieces])


def _like(array: Any, prototype: Array) -> Array:
    """What JAX computed, as a NumPy array where vectors are NumPy's; a copy, since JAX's own memory is read-only."""
    return np.array(array, dtype=prototype.dtype) if type(prototype) is np.ndarray else array


def _find_used_inputs(jaxpr: Any) -> list[bool]:
    """Which inputs the result of a traced function depends on."""
    needed = {id(v) for v in jaxpr.outvars}
    for equation in reversed(jaxpr.eqns):
        if not any(id(v) in needed for v in equation.outvars):
            continue
        inner = equation.params.get("jaxpr") if equation.primitive.name in ("jit", "pjit") else None
        used = [True] * len(equation.invars) if inner is None else _find_used_inputs(inner.jaxpr)
        needed |= {id(v) for v, is_used in zip(equation.invars, used, strict=True) if is_used}
    return [id(v) in needed for v in jaxpr.invars]

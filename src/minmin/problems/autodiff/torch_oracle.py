"""Derivatives by PyTorch: the user's functions run as they are, and their graph is differentiated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from minmin.core.arrays import Array, dtype_name, reshape
from minmin.core.structure import Leaf, Structure, join_arrays
from minmin.core.tree import find_leaves
from minmin.errors import InputError, UserCodeError, name_type
from minmin.problems.autodiff.function import HessianProducts, Oracle

Tensors = list[torch.Tensor]


class _Fixed(NamedTuple):
    """What depends on x alone.

    Attributes
    ----------
    leaves : list of tensors
        The arrays of x.
    prepared : any
        prepare(x), with its graph; None without prepare.
    """

    leaves: Tensors
    prepared: Any


class _Graph(NamedTuple):
    """f at a point, with the tensors that it can be differentiated in."""

    value: torch.Tensor
    x: Tensors
    y: Tensors


class TorchOracle(Oracle):
    """f and its derivatives by PyTorch."""

    def _set_up(self) -> None:
        self.prototype = torch.zeros(0, **_kind_of(self.structures[0].leaves[0]))
        self.eps = self._check()

    def _check(self) -> float:
        """Call the functions once at the start, to find errors early; the precision of what they return."""
        graph = self._trace(self.fix(self.structures[0].start), self.structures[1].start, in_x=True, in_y=True)
        if not graph.value.requires_grad:
            raise InputError(
                f"{self.call} returned a tensor without a graph, so it cannot be differentiated; "
                "leave out .item(), .detach(), .numpy() and torch.no_grad()"
            )
        for name, leaves in (("x", graph.x), ("y", graph.y)):
            found = self._differentiate(graph.value, leaves)
            if all(gradient is None for gradient in found):
                raise InputError(f"{self.call} does not depend on {name}; both blocks must change it")
        return float(torch.finfo(graph.value.dtype).eps)

    def _fix(self, x: Array) -> _Fixed:
        leaves = _make_leaves(self.structures[0], x)
        if self.prepare is None:
            return _Fixed(leaves, None)
        with torch.enable_grad():
            for leaf in leaves:
                leaf.requires_grad_()
            return _Fixed(leaves, self._run("prepare(x)", self.prepare, (self.structures[0].build(leaves),), leaves))

    def value(self, fixed: _Fixed, y: Array) -> float:
        return float(self._trace(fixed, y).value)

    def value_and_grad_x(self, fixed: _Fixed, y: Array) -> tuple[Any, Array]:
        graph = self._trace(fixed, y, in_x=True)
        return graph.value.detach(), _join(self._differentiate(graph.value, graph.x), graph.x, y)

    def grad_y(self, fixed: _Fixed, y: Array) -> Array:
        graph = self._trace(fixed, y, in_y=True)
        return _join(self._differentiate(graph.value, graph.y), graph.y, y)

    def hess_yy(self, fixed: _Fixed, y: Array) -> Array:
        graph = self._trace(fixed, y, in_y=True)
        matrix = _jacobian(self._gradient(graph.value, graph.y), graph.y)
        return reshape(join_arrays([matrix], y), (len(matrix), len(matrix)))

    def differentiate_twice(self, fixed: _Fixed, y: Array) -> HessianProducts:
        graph = self._trace(fixed, y, in_x=True, in_y=True)
        gradients = self._gradient(graph.value, graph.x), self._gradient(graph.value, graph.y)
        return HessianProducts(
            in_x=lambda dx, dy: _multiply(gradients, (dx, dy), graph.x, y),
            in_y=lambda dx, dy: _multiply(gradients, (dx, dy), graph.y, y),
            diagonal_in_x=lambda: join_arrays([torch.diagonal(_jacobian(gradients[0], graph.x))], y),
        )

    def curvature_along(self, fixed: _Fixed, y: Array, dx: Array, dy: Array) -> tuple[float, float]:
        """Three derivatives in t, one after the other."""
        structure_x, structure_y = self.structures
        t = torch.zeros((), dtype=torch.float64, requires_grad=True)
        with torch.enable_grad():
            x_leaves = _move(fixed.leaves, t, _make_leaves(structure_x, dx))
            y_leaves = _move(_make_leaves(structure_y, y), t, _make_leaves(structure_y, dy))
            first = structure_x.build(x_leaves)
            if self.prepare is not None:
                first = self._run("prepare(x)", self.prepare, (first,), x_leaves)
            derivative = self._call_fun((first, structure_y.build(y_leaves)), y_leaves)
            found = []
            for _ in range(3):
                derivative = self._gradient(derivative, [t])[0]
                found.append(float(derivative.detach()))
        return found[1], found[2]

    def _trace(self, fixed: _Fixed, y: Array, *, in_x: bool = False, in_y: bool = False) -> _Graph:
        """f at a point; its graph has what is needed to differentiate in the blocks that are asked for."""
        structure_x, structure_y = self.structures
        y_leaves = [leaf.requires_grad_(in_y) for leaf in _make_leaves(structure_y, y)]
        with torch.set_grad_enabled(in_x or in_y):
            if self.prepare is None:
                x_leaves = [leaf.detach().requires_grad_(in_x) for leaf in fixed.leaves]
                arguments, inputs = (structure_x.build(x_leaves), structure_y.build(y_leaves)), [*x_leaves, *y_leaves]
            else:
                x_leaves, arguments = fixed.leaves, (fixed.prepared, structure_y.build(y_leaves))
                inputs = [*(p for p in find_leaves(fixed.prepared) if isinstance(p, torch.Tensor)), *y_leaves]
            value = self._call_fun(arguments, inputs)
        return _Graph(value, x_leaves, y_leaves)

    def _run(self, call: str, function: Callable[..., Any], arguments: tuple[Any, ...], inputs: Sequence[Any]) -> Any:
        """Call a user's function, and see that it does not change its arguments."""
        versions = [tensor._version for tensor in inputs]
        try:
            returned = function(*arguments)
        except Exception as error:
            raise UserCodeError(f"{call} raised {type(error).__name__}: {error}") from error
        if any(tensor._version != version for tensor, version in zip(inputs, versions, strict=True)):
            raise UserCodeError(f"{call} changes its arguments in place; let it compute new tensors instead")
        return returned

    def _call_fun(self, arguments: tuple[Any, ...], inputs: Sequence[Any]) -> torch.Tensor:
        returned = self._run(self.call, self.fun, arguments, inputs)
        if not isinstance(returned, torch.Tensor):
            raise InputError(f"{self.call} returned {name_type(returned)}; it must return a tensor of one number")
        if returned.ndim > 0:
            raise InputError(f"{self.call} returned shape {tuple(returned.shape)}; it must return one number")
        if not returned.is_floating_point():
            raise InputError(f"{self.call} returned {returned.dtype}; it must return one real floating-point number")
        return returned

    def _differentiate(self, value: torch.Tensor, leaves: Tensors, *, twice: bool = False) -> Sequence[Any]:
        """The gradients in some leaves; None for one that the value does not depend on."""
        if not value.requires_grad:
            return [None] * len(leaves)
        try:
            arguments = {"create_graph": twice, "retain_graph": True, "allow_unused": True}
            found: Sequence[Any] = torch.autograd.grad(value, leaves, **arguments)
            return found
        except Exception as error:
            raise UserCodeError(f"the gradient of {self.call} raised {type(error).__name__}: {error}") from error

    def _gradient(self, value: torch.Tensor, leaves: Tensors) -> torch.Tensor:
        """The gradient as one vector that can be differentiated again."""
        return _concatenate(self._differentiate(value, leaves, twice=True), leaves)


def _make_leaves(structure: Structure, vector: Array) -> Tensors:
    """New tensors of a structure, from a vector."""
    flat = torch.tensor(vector) if type(vector) is np.ndarray else vector.detach().clone()
    pieces = zip(structure.leaves, structure.split(flat), strict=True)
    return [piece.to(**_kind_of(leaf)) for leaf, piece in pieces]


def _kind_of(leaf: Leaf) -> dict[str, Any]:
    """The dtype and device of a leaf; arrays of another library are computed with on the processor."""
    own = leaf.prototype
    place = own.device if isinstance(own, torch.Tensor) else torch.device("cpu")
    return {"dtype": getattr(torch, dtype_name(own)), "device": place}


def _move(leaves: Tensors, t: torch.Tensor, directions: Tensors) -> Tensors:
    return [leaf.detach() + t.to(leaf) * d for leaf, d in zip(leaves, directions, strict=True)]


def _concatenate(gradients: Sequence[Any], leaves: Tensors) -> torch.Tensor:
    """One vector; zeros for a leaf without a gradient."""
    kind = {"dtype": max((leaf.dtype for leaf in leaves), key=lambda d: torch.finfo(d).eps), "device": leaves[0].device}
    pairs = zip(gradients, leaves, strict=True)
    return torch.cat([(torch.zeros_like(leaf) if g is None else g).reshape(-1).to(**kind) for g, leaf in pairs])


def _join(gradients: Sequence[Any], leaves: Tensors, prototype: Array) -> Array:
    return join_arrays([_concatenate(gradients, leaves).detach()], prototype)


def _multiply(gradients: tuple[torch.Tensor, ...], v: tuple[Array, ...], leaves: Tensors, prototype: Array) -> Array:
    """The derivative of both gradients in some leaves, times v, by a second pass through their graph."""
    pairs = [(g, torch.as_tensor(part).to(g)) for g, part in zip(gradients, v, strict=True) if g.requires_grad]
    found: Sequence[Any] = [None] * len(leaves)
    if pairs:
        with_graph, weights = zip(*pairs, strict=True)
        found = torch.autograd.grad(with_graph, leaves, weights, retain_graph=True, allow_unused=True)
    return _join(found, leaves, prototype)


def _jacobian(gradient: torch.Tensor, leaves: Tensors) -> torch.Tensor:
    """The derivative of a gradient in some leaves, as a matrix.

    Row by row: several rows at once, by vmap, take as long for 5 to 30 variables and three times as long for 100.
    """
    if not gradient.requires_grad:
        return torch.zeros((len(gradient), len(gradient)), dtype=gradient.dtype, device=gradient.device)
    rows = torch.eye(len(gradient), dtype=gradient.dtype, device=gradient.device)
    each = [torch.autograd.grad(gradient, leaves, row, retain_graph=True, allow_unused=True) for row in rows]
    return torch.stack([_concatenate(of_row, leaves) for of_row in each])

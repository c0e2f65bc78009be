"""Minimising y ↦ f(x, y) for a fixed x, inexactly: what the reduced methods do at every x."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from minmin.constants import Constants
from minmin.errors import NonFiniteError
from minmin.methods.curvature import Pairs, inverse_times, remember, softer
from minmin.methods.descent import advance
from minmin.methods.watch import fits_y_secant, report_y_secant
from minmin.oracle import Ability, Evaluation, Slice, Work
from minmin.space import Array, dot, norm, square

_MOST_STEPS = 1000
"""Gradients that one reconstruction may take; what is left is left to the next one."""


class YPoint(NamedTuple):
    """A point of the slice where ∇ᵧf is known."""

    v: Array
    gradient: Array
    evaluation: Evaluation


class YMemory(NamedTuple):
    """What is kept of one part of y.

    Where it is, curvature pairs of f(x, ·), the least curvature and the largest gradient seen, and how much lower y
    could still take f.
    """

    y: Array
    pairs: Pairs
    softest: float
    largest_gradient: float
    gain: float


class Reconstructor(ABC):
    """Lowers f in y until what is left to gain is small."""

    name: ClassVar[str]
    needs: ClassVar[Ability] = Ability.NONE
    needs_constants: ClassVar[bool] = False

    @abstractmethod
    def solve(
        self, slice_: Slice, memory: YMemory, allowed: float | None, constants: Constants | None
    ) -> tuple[YMemory, Evaluation]:
        """Go on until the gain left is at most ``allowed``, or a hundredth of the first one where that is None."""


class _Curved(Reconstructor):
    """Steps that know curvature.

    A proposed step s estimates what can be gained, -½<∇ᵧf, s>: for Newton's step that is the decrease of the
    quadratic model, whatever the units of y.
    """

    kept_pairs: ClassVar[int] = 30

    @abstractmethod
    def _step(self, point: YPoint, memory: YMemory) -> Array | None:
        """The step to take, or None where too little is known to estimate a gain by one."""

    def solve(
        self, slice_: Slice, memory: YMemory, allowed: float | None, constants: Constants | None
    ) -> tuple[YMemory, Evaluation]:
        spent = 0

        def at(y: Array) -> YPoint:
            nonlocal spent
            spent += 1
            evaluation = slice_.at(y)
            return YPoint(y, evaluation.grad_y, evaluation)

        def learn(new: YPoint, step: Array, change: Array, product: float) -> None:
            nonlocal memory
            size = dot(step, step)
            if constants is not None and not fits_y_secant(constants, product, size):
                _, noise = new.evaluation.gradient_noise(constants)
                report_y_secant(constants, product, size, memory.largest_gradient, new.evaluation.eps, noise)
            memory = memory._replace(
                pairs=remember(memory.pairs, step, change, product, self.kept_pairs),
                softest=softer(memory.softest, product, size),
            )

        point = at(memory.y)
        size = point.evaluation.grad_y_norm
        if not math.isfinite(size):  # x went too far; whoever moved it sees it too
            return memory._replace(gain=0.0), point.evaluation
        memory = memory._replace(largest_gradient=max(memory.largest_gradient, size))
        left, gain = allowed, 0.0
        while point.evaluation.grad_y_norm > 0.0:
            step = self._step(point, memory)
            if step is None:
                gain = math.inf
                step = first_step(point.gradient, point.v, None if constants is None else constants.L_y)
            else:
                gain = -0.5 * dot(point.gradient, step)
                left = 0.01 * gain if left is None else left
            if not gain > (0.0 if left is None else left) or spent > _MOST_STEPS:
                break
            moved = advance(point, step, at, learn, lambda _: spent > _MOST_STEPS, overshot=0.5)
            distance = norm(moved.v - point.v)
            if not math.isfinite(distance + moved.evaluation.grad_y_norm):
                raise NonFiniteError(
                    "y or ∇ᵧf became infinite or NaN; is f bounded below in y, and finite around the start?"
                )
            gain, stands = 0.0, distance <= 4.0 * point.evaluation.eps * norm(point.v)
            point = moved
            if stands:
                break
        return memory._replace(y=point.v, gain=max(gain, 0.0)), point.evaluation


def first_step(gradient: Array, at: Array, L: float | None) -> Array:
    """A step for want of better knowledge: down the gradient by 1/L, or a thousandth of the point's size."""
    if L is not None and math.isfinite(L):
        return gradient * (-1.0 / L)
    return gradient * (-1e-3 * max(norm(at), 1.0) / norm(gradient))


class LbfgsReconstructor(_Curved):
    """L-BFGS with the pairs of all reconstructions before: f(x, ·) changes little from x to x."""

    name = "lbfgs"

    def _step(self, point: YPoint, memory: YMemory) -> Array | None:
        return -inverse_times(memory.pairs, point.gradient) if memory.pairs.steps else None


class NewtonReconstructor(LbfgsReconstructor):
    """Newton's method with the y-Hessian of the problem; a step of L-BFGS where that is singular."""

    name = "newton"
    needs = Ability.HESS_YY

    def _step(self, point: YPoint, memory: YMemory) -> Array | None:
        try:
            hessian = point.evaluation.pinned(point.evaluation.hess_yy())
            step = -array_namespace(point.v).linalg.solve(hessian, point.gradient)
        except (np.linalg.LinAlgError, RuntimeError):
            return super()._step(point, memory)
        return step if dot(point.gradient, step) < 0.0 else super()._step(point, memory)


class NagReconstructor(Reconstructor):
    """Accelerated gradient; a gain is bounded by |∇ᵧf|²/(2 mu_y)."""

    name = "nag"
    needs_constants = True

    def solve(
        self, slice_: Slice, memory: YMemory, allowed: float | None, constants: Constants | None
    ) -> tuple[YMemory, Evaluation]:
        assert constants is not None
        root = math.sqrt(constants.kappa_y)
        momentum = (root - 1.0) / (root + 1.0)
        before = memory.y
        evaluation = slice_.at(before)
        gain = square(evaluation.grad_y_norm) / (2.0 * constants.mu_y)
        left = 0.01 * gain if allowed is None else allowed
        for _ in range(_MOST_STEPS):
            if not gain > left:
                break
            after = evaluation.y - evaluation.grad_y * (1.0 / constants.L_y)
            evaluation, before = slice_.at(after + momentum * (after - before)), after
            gain = square(evaluation.grad_y_norm) / (2.0 * constants.mu_y)
        return memory._replace(y=evaluation.y, softest=constants.mu_y, gain=gain), evaluation


RECONSTRUCTORS: dict[str, Reconstructor] = {
    solver.name: solver for solver in (LbfgsReconstructor(), NewtonReconstructor(), NagReconstructor())
}


@dataclass(frozen=True)
class Reconstruct(Work):
    """Lower one part of y at one x, from where it was, or from its start where nothing is kept between two xs."""

    inner: str
    allowed: float | None
    constants: Constants | None
    stateless: bool

    def begin(self, y: Array) -> YMemory:
        return YMemory(y, Pairs(), math.inf, 0.0, math.inf)

    def at(self, part: Slice, memory: YMemory) -> tuple[YMemory, Evaluation]:
        if self.stateless:
            memory = self.begin(0.0 * memory.y)
        return RECONSTRUCTORS[self.inner].solve(part, memory, self.allowed, self.constants)

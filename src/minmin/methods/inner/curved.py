"""Inner solvers "lbfgs" and "newton": steps that know curvature, with accelerated gradient to fall back on."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

from array_api_compat import array_namespace, device

from minmin.methods.curvature import Pairs, inverse_times, remember
from minmin.methods.descent import advance
from minmin.methods.inner.base import InnerSolver, Offset
from minmin.methods.inner.nag import descend
from minmin.methods.inner.subproblem import Subproblem, Trial, better
from minmin.oracle import Ability
from minmin.space import Array, dot


class _Curved(InnerSolver):
    """Steps from the last offset; past T_max gradients accelerated gradient from the centre takes over.

    So an outer step costs at most 2 T_max + 2 gradients, and the worst case stays the paper's. Gradients
    are enough: A is convex, so the slope at a step's end tells whether the step was too long.
    """

    @abstractmethod
    def _direction(self, problem: Subproblem, trial: Trial, memory: Any) -> Array:
        """A descent direction, of the length that the curvature suggests."""

    def _learn(self, memory: Any, step: Array, change: Array, product: float) -> Any:
        """The memory after a step, the change of ∇A over it, and their inner product."""
        return memory

    def solve(self, problem: Subproblem, memory: Any) -> tuple[Trial, Any]:
        trial = problem.at(problem.center + memory.offset)
        spent = 1

        def learn(new: Trial, step: Array, change: Array, product: float) -> None:
            nonlocal memory, spent
            spent += 1
            problem.watch(new, product, dot(step, step))
            memory = self._learn(memory, step, change, product)

        while not trial.accepted and spent <= problem.most_steps:
            step = self._direction(problem, trial, memory)
            if not dot(trial.gradient, step) < 0.0:
                break
            trial = advance(
                trial, step, problem.at, learn, lambda new: new.accepted or spent > problem.most_steps, overshot=0.9
            )
        if not trial.accepted:
            trial = better(trial, descend(problem, problem.center))
        return trial, memory._replace(offset=trial.v - problem.center)


class LbfgsMemory(NamedTuple):
    """The last offset and the curvature pairs of A."""

    offset: Array
    pairs: Pairs


class LbfgsInner(_Curved):
    """L-BFGS whose curvature pairs are kept across outer steps: λ never changes, and f(x, ·) changes little."""

    name = "lbfgs"
    kept_pairs = 30

    def init(self, y: Array) -> LbfgsMemory:
        return LbfgsMemory(0.0 * y, Pairs())

    def _direction(self, problem: Subproblem, trial: Trial, memory: LbfgsMemory) -> Array:
        if memory.pairs.steps:
            return -inverse_times(memory.pairs, trial.gradient)
        return trial.gradient * (-1.0 / problem.smoothness)

    def _learn(self, memory: LbfgsMemory, step: Array, change: Array, product: float) -> LbfgsMemory:
        return memory._replace(pairs=remember(memory.pairs, step, change, product, self.kept_pairs))


class NewtonInner(_Curved):
    """Newton's method with the y-Hessian of the problem."""

    name = "newton"
    needs = Ability.HESS_YY

    def init(self, y: Array) -> Offset:
        return Offset(0.0 * y)

    def _direction(self, problem: Subproblem, trial: Trial, memory: Offset) -> Array:
        xp = array_namespace(trial.v)
        identity = xp.eye(trial.v.shape[0], dtype=trial.v.dtype, device=device(trial.v))
        hessian = trial.evaluation.hess_yy() + (1.0 / problem.lam) * identity
        return -xp.linalg.solve(hessian, trial.gradient)

"""The search for a quadratic Lyapunov function, by bisection over the rate.

As in Taylor, Van Scoy and Lessard, "Lyapunov functions for first-order methods: tight automated convergence guarantees"
(2018).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import combinations_with_replacement, permutations
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from PEPit.expression import null_expression
from PEPit.pep import PEP
from PEPit.tools.expressions_to_matrices import expression_to_matrices

from minmin.core.bound import Constants
from minmin.errors import SolverError
from minmin.theory.function_class import Sample, TwoBlockFunction
from minmin.theory.models import State, StepModel, new_state
from minmin.theory.solving import SOLVER, find_largest

_PRECISION = 5e-5
"""The width of the interval at which the bisection ends."""
_LARGEST_WEIGHT = 1e3
"""Of any term of V, in units where L = 1 and V >= f - f*, and of any multiplier. Without a bound, the programs near the
best rate have solutions that run off to infinity. Measured: docs/benchmarks/tuning.md."""
_MOST_VIOLATION = 1e-7
"""Of the inequality of a factor that counts as proved; the recheck tells what is really proved.
Measured: docs/benchmarks/tuning.md."""


class Step(NamedTuple):
    """One step of a method, in the middle of a run. All but ``problem`` are PEPit.Expressions.

    Attributes
    ----------
    problem : PEPit.PEP
    before, after : lists
        The terms that V may have, at both ends of the step: all products of points in the same block, and f.
    gap : expression
        f - f* at the newest point before the step.
    known_before, known : lists
        What is <= 0 for all functions of the class: between points before the step, and between all points.
    """

    problem: PEP
    before: list[Any]
    after: list[Any]
    gap: Any
    known_before: list[Any]
    known: list[Any]


def find_lyapunov_rate(model: StepModel, constants: Constants) -> float:
    """The smallest factor per step that some V proves, rechecked with that V."""
    weights = _search(_take_step(model, constants))
    if weights is None:
        raise SolverError("no quadratic Lyapunov function was found that falls in every step")
    return _recheck(model, constants, weights)


def _take_step(model: StepModel, constants: Constants) -> Step:
    """Take two steps from an unknown state: V before the second one may use the gradients of the first."""
    problem = PEP()
    f = TwoBlockFunction(constants)
    state, sample = model.step(f, new_state(f))
    known_before = _find_known(f)
    state_after, sample_after = model.step(f, state)
    terms = _list_terms(state, sample), _list_terms(state_after, sample_after)
    return Step(problem, *terms, sample.value, known_before, _find_known(f))


def _find_known(f: TwoBlockFunction) -> list[Any]:
    conditions = [f.condition(a, b) for a, b in permutations(f.samples, 2)]
    return [constraint.expression for constraint in (*conditions, *f.list_of_constraints)]


def _list_terms(state: State, sample: Sample) -> list[Any]:
    products = [
        a * b
        for block, evaluated in ((state.x, sample.x), (state.y, sample.y))
        for a, b in combinations_with_replacement((*block, evaluated.slope), 2)
    ]
    return [*products, sample.value]


def _search(step: Step) -> list[float] | None:
    """The weights of the terms of the best V, by bisection; None if no V falls."""
    before, after, gap = _Forms(step.before), _Forms(step.after), _Forms([step.gap])
    known_before, known = _Forms(step.known_before), _Forms(step.known)
    factor, violation = cp.Parameter(nonneg=True), cp.Variable(nonneg=True)
    weights = cp.Variable(len(step.before))
    multipliers_before = cp.Variable(len(step.known_before), nonneg=True)
    multipliers = cp.Variable(len(step.known), nonneg=True)
    one = np.ones(1)
    # Both sums are <= 0 if they have no values of f, and their matrices have no positive eigenvalue:
    # V(after) - factor·V(before) - Σ multiplier·known, and f - f* - V(before) - Σ multiplier·known.
    falls = _add((after, weights), (before, -factor * weights), (known, -multipliers))
    above = _add((gap, one), (before, -weights), (known_before, -multipliers_before))
    program = cp.Problem(
        cp.Minimize(violation),
        [
            falls[0] << violation * np.eye(known.size),
            above[0] << 0,
            falls[1] == 0,
            above[1] == 0,
            cp.abs(weights) <= _LARGEST_WEIGHT,
            multipliers_before <= _LARGEST_WEIGHT,
            multipliers <= _LARGEST_WEIGHT,
        ],
    )
    low, high, best = 0.0, 1.0, None
    while high - low > _PRECISION:
        factor.value = 0.5 * (low + high)
        if _solve(program) and violation.value <= _MOST_VIOLATION:
            high, best = factor.value, [float(w) for w in weights.value]
        else:
            low = factor.value
    return best


class _Forms:
    """Expressions as matrices, which multiply inner products, and vectors, which multiply values of f."""

    def __init__(self, expressions: Sequence[Any]):
        matrices, vectors, _ = zip(*map(expression_to_matrices, expressions), strict=True)
        self.size = matrices[0].shape[0]
        self.matrices = np.stack([matrix.ravel() for matrix in matrices], axis=1)
        self.vectors = np.stack(vectors, axis=1)


def _add(*sums: tuple[_Forms, Any]) -> tuple[Any, Any]:
    """The matrix and the vector of a sum of expressions times weights."""
    size = sums[0][0].size
    matrix = cp.reshape(sum(forms.matrices @ weights for forms, weights in sums), (size, size), order="C")
    symmetric = 0.5 * (matrix + matrix.T)  # it is, but cvxpy does not see it
    return symmetric, sum(forms.vectors @ weights for forms, weights in sums)


def _solve(program: cp.Problem) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what comes out is rechecked
        try:
            program.solve(solver=SOLVER)
        except cp.SolverError:
            return False
    return program.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)


def _recheck(model: StepModel, constants: Constants, weights: list[float]) -> float:
    """The worst V(after)/V(before), after a proof that f - f* is at most a multiple of V."""
    step = _take_step(model, constants)
    if find_largest(step.problem, step.gap, first=_combine(weights, step.before)) == math.inf:
        raise SolverError("the Lyapunov function that was found may be negative; try smaller condition numbers")
    step = _take_step(model, constants)
    return find_largest(step.problem, _combine(weights, step.after), first=_combine(weights, step.before))


def _combine(weights: list[float], terms: list[Any]) -> Any:
    return sum((w * term for w, term in zip(weights, terms, strict=True)), null_expression)

"""Split: a sum of two problems over the same variables, one of them expensive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

from minmin.core.arrays import Array, describe_kind, same_kind
from minmin.core.bound import Constants, RoundingScale
from minmin.core.counting import UNCOUNTED, Tally
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, Slice, require_problem, require_two_blocks
from minmin.core.second_order import Direction, Gauge, SecondOrderEvaluation, SecondOrderSlice, SplitProblem, YStepModel
from minmin.core.structure import require_same_structure
from minmin.core.vectors import Vector
from minmin.core.wrapped import WrappedEvaluation, WrappedSlice
from minmin.errors import InputError
from minmin.problems.sum import AddedEvaluation, AddedProblem, AddedSlice, combine_constants

_COUNTED_BY_SPLIT: dict[str, tuple[str, ...]] = {"grad_x": (), "grad_y": (), "value": ()}
_COUNTED_BY_F: dict[str, tuple[str, ...]] = {"hess_product": (), "hess_yy": ()}


class Split(AddedProblem, SplitProblem):
    """f(x, y) + g(x, y): two problems over the same variables, f more expensive than g.

    Every method runs on it; ``sliding`` asks for ∇f less often than for ∇g. ``r.calls["grad_f"]`` and
    ``r.calls["grad_g"]`` say at how many points a gradient of f, and of g, was computed, in one block or in both.
    ``grad_x`` and ``grad_y`` count the gradients of f alone, so ``max_grad_x`` limits the expensive calls. Values of f
    and g at one point count as one.

    Parameters
    ----------
    f, g : Problem
        With the same d_x and d_y, and without terms; put :class:`minmin.problems.Composite` around the Split instead.

    Examples
    --------
    >>> import minmin
    >>> f = minmin.problems.Quadratic.random(d_x=8, d_y=4, L_x=5.0, L_y=5.0)
    >>> g = minmin.problems.Quadratic.random(d_x=8, d_y=4, L_x=500.0, L_y=500.0, seed=1)
    >>> r = minmin.minimize(minmin.problems.Split(f, g), method="sliding")
    >>> r.calls["grad_f"] < r.calls["grad_g"]
    True
    """

    def __init__(self, f: Problem, g: Problem):
        _check(f, "f")
        _check(g, "g")
        _check_fit(f, g)
        self._set_terms((f, g))
        self.d_y = f.d_y
        self.has_y_hessian = self.is_second_order and self.has_y_hessian
        self.has_constant_hessian = f.has_constant_hessian and g.has_constant_hessian
        structured = g if f.structure_x is None else f
        self.structure_x, self.structure_y = structured.structure_x, structured.structure_y
        self._combined = _CombinedConstants(f, g)

    @property
    def constants(self) -> Constants | None:
        """The sums of both constants."""
        both = self.constants_of_both
        in_x = None if both is None else combine_constants((1.0, 1.0), both)
        if both is None or in_x is None:
            return None
        return replace(in_x, L_y=both[0].L_y + both[1].L_y, mu_y=both[0].mu_y + both[1].mu_y)

    @property
    def constants_of_both(self) -> tuple[Constants, Constants] | None:
        both = self._combined.constants
        self._count_constants()
        return both

    def counted(self, tally: Tally) -> Self:
        twin = super().counted(tally)
        kinds = _COUNTED_BY_SPLIT, _COUNTED_BY_SPLIT | _COUNTED_BY_F
        twin.terms = tuple(term.counted(tally.rename_kinds(of)) for term, of in zip(self.terms, kinds, strict=True))
        return twin

    def identity(self) -> Iterable[Any]:
        return ["f", *self.f.identity(), "g", *self.g.identity()]

    def fix(self, x: Vector) -> SecondOrderSlice:
        return _SplitSlice(x, (self._fix_f(x), self._fix_g(x)), self)

    def evaluate_f(self, x: Vector, y: Vector) -> Evaluation:
        return self._fix_f(x).at(y)  # type: ignore[no-any-return]

    def evaluate_g(self, x: Vector, y: Vector) -> Evaluation:
        return self._fix_g(x).at(y)  # type: ignore[no-any-return]

    def _fix_f(self, x: Vector) -> _SliceOfOne:
        count_point = partial(self.tally.note, "grad_f", 1)  # no budget ends the run here: grad_x is counted already
        return _SliceOfOne(self.f.fix(x), self.tally, count_point)

    def _fix_g(self, x: Vector) -> _SliceOfOne:
        return _SliceOfOne(self.g.fix(x), UNCOUNTED, partial(self.tally.add, "grad_g"))


class _CombinedConstants:
    """The constants of f and of g, computed when first needed; copies of the Split share them."""

    def __init__(self, f: Problem, g: Problem):
        self._f, self._g = f, g

    @cached_property
    def constants(self) -> tuple[Constants, Constants] | None:
        of_f, of_g = self._f.constants, self._g.constants
        if of_f is None or of_g is None:
            return None
        return replace(of_f, blocks=("x of f", "y of f")), replace(of_g, blocks=("x of g", "y of g"))


def _check(problem: Any, name: str) -> None:
    require_problem(problem, name)
    if problem.y_is_remote or problem.part_sizes:
        raise InputError(
            f"{name} is a Sum or a federation, whose y has several parts; a Split needs one y, which f and g share"
        )
    require_two_blocks(problem, "Split")
    if problem.has_terms:
        raise InputError(f"{name} has a term; add it to the whole: Composite(Split(f, g), term_x=..., term_y=...)")
    if isinstance(problem, SplitProblem):
        raise InputError(f"{name} is a Split itself; a Split is a sum of two problems")


def _check_fit(f: Problem, g: Problem) -> None:
    if (f.d_x, f.d_y) != (g.d_x, g.d_y):
        raise InputError(
            f"f has d_x = {f.d_x} and d_y = {f.d_y}, and g has d_x = {g.d_x} and d_y = {g.d_y}; "
            "f and g must have the same variables"
        )
    if not same_kind(f.prototype, g.prototype):
        raise InputError(
            f"the data of f are {describe_kind(f.prototype)} and those of g are {describe_kind(g.prototype)}; "
            "give both in one library, dtype and device"
        )
    require_same_structure(f.structure_x, g.structure_x, "g")
    require_same_structure(f.structure_y, g.structure_y, "g", block="y")


class _EvaluationOfOne(WrappedEvaluation):
    """f or g alone, which counts its points, as "grad_f" or "grad_g"; only f counts as the whole does, too."""

    __slots__ = ("_count_point",)

    def __init__(self, original: Evaluation, slice_: _SliceOfOne):
        super().__init__(original, slice_)
        self._tally, self._count_point = slice_.tally, slice_.count_point

    def _compute_grad_x(self) -> Vector:
        if self._grad_y is None:
            self._count_point()
        return self.original.grad_x

    def _compute_grad_y(self) -> Vector:
        if self._grad_x is None:
            self._count_point()
        return self.original.grad_y

    def slope(self, direction: Direction, dy: Vector) -> float:
        """It may take gradients of the evaluation inside, which are counted here."""
        slope = self.original.slope(direction, dy)
        if self.original.knows_grad_x:
            self.grad_x  # noqa: B018
        self.grad_y  # noqa: B018
        return slope


class _SliceOfOne(WrappedSlice):
    """The slice of f or of g, with evaluations that count its points."""

    __slots__ = ("count_point", "tally")
    evaluations = _EvaluationOfOne

    def __init__(self, original: Slice, tally: Tally, count_point: Callable[[], None]):
        super().__init__(original)
        self.tally, self.count_point = tally, count_point


class _SplitSlice(AddedSlice):
    __slots__ = ()

    def at(self, y: Vector) -> _SplitEvaluation:
        return _SplitEvaluation(self, [one.at(y) for one in self.slices], y, UNCOUNTED)


class _SplitEvaluation(AddedEvaluation):
    """The sum of two evaluations, which do the counting."""

    __slots__ = ()
    evaluations: Sequence[SecondOrderEvaluation]

    def _add_up(self, of_each: Sequence[Any]) -> Any:
        of_f, of_g = of_each
        return of_f + of_g

    def _split(self, step: tuple[Direction, Vector]) -> Iterator[tuple[Any, Direction, Vector]]:
        return zip(self.evaluations, step[0].split(), (step[1], step[1]), strict=True)

    def locate(self, gradient: str, index: int) -> str:
        structure = self._problem.structure_x if gradient == "grad_x" else self._problem.structure_y
        return super().locate(gradient, index) if structure is None else structure.locate(index)

    @property
    def cause_of_infinity(self) -> str:  # type: ignore[override]
        return next(filter(None, (e.cause_of_infinity for e in self.evaluations)), "")

    @property
    def rounding(self) -> RoundingScale:
        """That of f, with the precision of the worse one and the fixed terms of both."""
        of_f, of_g = (e.rounding for e in self.evaluations)
        eps, value_eps = max(of_f.eps, of_g.eps), max(of_f.value_eps, of_g.value_eps)
        fixed, in_y = of_f.fixed_terms + of_g.fixed_terms, of_f.difference_terms + of_g.difference_terms
        return of_f._replace(eps=eps, fixed_terms=fixed, value_eps=value_eps, difference_terms=in_y)

    def _compute_grad_y(self) -> Vector:
        return self._add_up([e.grad_y for e in self.evaluations])

    def forget(self) -> None:
        for evaluation in self.evaluations:
            evaluation.forget()

    @property
    def gauge(self) -> Gauge | None:
        """That of both: f and g have the same y, so along the same directions."""
        of_f, of_g = (e.gauge for e in self.evaluations)
        return None if of_g is None else of_f

    def hess_yy(self) -> Array:
        return self._add_up([e.hess_yy() for e in self.evaluations])

    def hess_yy_product(self, dy: Array) -> Array:
        return self._add_up([e.hess_yy_product(dy) for e in self.evaluations])

    def hess_yy_diagonal(self) -> Array:
        return self._add_up([e.hess_yy_diagonal() for e in self.evaluations])

    def hess_yx(self, direction: Direction) -> Vector:
        pairs = zip(self.evaluations, direction.split(), strict=True)
        return self._add_up([e.hess_yx(of_one) for e, of_one in pairs])

    def model_after(self, dy: Vector) -> YStepModel:
        """Counted as one gradient of f and one of g, as at a point of its own."""
        self._problem.tally.add("grad_x")
        self._problem.tally.note("grad_f", 1)
        self._problem.tally.note("grad_g", 1)
        return YStepModel(dy, self._add_up([e.model_after(dy).grad_x for e in self.evaluations]))

    def is_unbounded_along(self, step: tuple[Direction, Vector] | None = None, *, in_y_alone: bool = False) -> bool:
        if step is None:
            return all(e.is_unbounded_along(in_y_alone=in_y_alone) for e in self.evaluations)
        return all(e.is_unbounded_along((dx, dy), in_y_alone=in_y_alone) for e, dx, dy in self._split(step))

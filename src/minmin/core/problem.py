"""Problem → Slice → Evaluation: how methods ask for f; what depends on x alone is computed once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from minmin.core.arrays import Array
from minmin.core.blocks import BlockLayout, join
from minmin.core.bound import UNKNOWN, Bound, Constants
from minmin.core.counting import UNCOUNTED, Tally
from minmin.core.evaluation import Evaluation, explain_nonfinite
from minmin.core.model_gap import Reached, find_gap
from minmin.core.term import Term
from minmin.core.traits import HasTraits, Traits
from minmin.core.tree import identify
from minmin.core.vectors import Parts, Vector, first_array, norm
from minmin.errors import InputError, NonFiniteError, as_count, name_type


class YTask(ABC):
    """What a method does with one part of y while x is fixed. It may run at a client.

    A task is a frozen dataclass of numbers and strings, since it is sent to clients. Its memory, a NamedTuple, stays
    with its part of y. A server sees only the numbers in the memory, such as counts and estimates: never y, nor any
    array. Every subclass with a ``name`` is found by that name once its module is imported.
    """

    name: ClassVar[str]
    memory_types: ClassVar[tuple[type, ...]] = ()
    """The NamedTuples that the memory is made of."""
    never_negative: ClassVar[tuple[str, ...]] = ()
    """The numbers in the memory that are never negative and that a server uses: it refuses replies where they are."""
    named: ClassVar[dict[str, type[YTask]]] = {}
    """All tasks by their names."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in cls.__dict__:
            return
        other = YTask.named.get(cls.name, cls)
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise InputError(
                f"a task called {cls.name!r} exists already: {other.__module__}.{other.__qualname__}; "
                f"give {cls.__qualname__} another name"
            )
        YTask.named[cls.name] = cls  # a reloaded module defines its classes again

    @abstractmethod
    def begin(self, y: Array) -> Any:
        """The memory of a part that starts at y."""

    @abstractmethod
    def run(self, part: Slice, memory: Any) -> tuple[Any, Evaluation]:
        """Move y. The new memory, and the evaluation at the new y, which holds ∇ₓf there."""


class Slice(ABC):
    """y ↦ f(x, y) for a fixed x. What depends on x alone is computed once.

    Attributes
    ----------
    term_y : Term or None
        A term that is added to f; see :class:`minmin.problems.Composite`.
    """

    __slots__ = ("x",)
    term_y: Term | None = None

    def __init__(self, x: Vector):
        self.x = x

    @abstractmethod
    def at(self, y: Vector) -> Evaluation:
        """The evaluation at (x, y)."""

    @property
    def units(self) -> Array | float:
        """Like :attr:`Problem.units`, for y."""
        return 1.0

    @property
    def units_y(self) -> Array | float:
        """Like :attr:`Problem.units_x`, for y."""
        return 1.0

    @property
    def nested(self) -> Problem | None:
        """y ↦ f(x, y) as a problem of two blocks, if y holds several blocks; see :class:`BlockLayout`."""
        return None

    @property
    def parts(self) -> Sequence[Slice]:
        """One slice per part of y: the terms of a :class:`~minmin.Sum`; otherwise only this slice."""
        return (self,)

    def join(self, evaluations: Sequence[Evaluation]) -> Evaluation:
        """The evaluation of this slice from the evaluations of its :attr:`parts`."""
        (evaluation,) = evaluations
        return evaluation

    def run_on_parts(self, task: YTask, memories: Sequence[Any]) -> tuple[tuple[Any, ...], Evaluation]:
        """Run a task on every part. Returns the new memories, and the evaluation of all parts together."""
        outcomes = [task.run(part, memory) for part, memory in zip(self.parts, memories, strict=True)]
        new_memories, evaluations = zip(*outcomes, strict=True)
        return new_memories, self.join(evaluations)


class Problem(HasTraits, ABC):
    """f(x, y) with an expensive block x and a cheap block y.

    A subclass sets ``d_x`` and ``d_y`` and says in :meth:`fix` how f is computed; everything else has a default.

    Attributes
    ----------
    d_x, d_y : int
        Length of x, and of y (all its parts together).
    tally : Tally
        Counts what evaluations compute.
    has_value : bool
        Whether f itself can be computed, not only its gradients.
    is_second_order : bool
        Whether slices and evaluations are those of a :class:`minmin.extend.SecondOrderProblem`, with Hessians.
    has_y_hessian : bool
        Whether every part of y has a Hessian.
    part_sizes, part_weights : tuples
        The lengths and weights of y's parts if y is a :class:`~minmin.Parts`; empty if y is one array. With parts,
        ∇ₓ needs all of them together (a round of communication), while each part has its own ∇ᵧ.
    has_noisy_gradients : bool
        Whether noise was added to the gradients, so that nothing about f can be concluded from how they change.
    grad_y_from_values : bool
        Whether ∇ᵧ is a difference of values, so that their errors are in it, too.
    y_is_remote : bool
        Whether y stays with the clients. Then only the newest y can be used, and only the norm of ∇ᵧ is known.
    term_x, term_y : Term or None
        Terms that are added to f; see :class:`minmin.problems.Composite`. Gradients are those of f alone.
    structure_x, structure_y : Structure or None
        How the user sees x and y, if not as flat arrays.
    part_structures : tuple of Structure or None
        The same for y's parts; empty if y is one array.
    blocks : BlockLayout or None
        Where the user's blocks are in x and y, if they gave a list of blocks.
    bounds_by_data : bool
        Whether the data can prove a bound, without constants.
    has_constant_hessian : bool
        Whether the Hessian is the same everywhere, so that H_yy is factorised once.
    flat_gradient_proves_unbounded : bool
        Whether f has no minimum if its gradient has a component along which there is no curvature. True for a
        quadratic; False for losses of data: with least squares such a component is rounding, and other losses are only
        nearly flat.
    """

    tally: Tally = UNCOUNTED
    _constants: Constants | None = None
    _prototype: Array = np.zeros(0)

    @property
    def traits(self) -> Traits:
        """What the problem is, as one record of the attributes above."""
        return Traits.of(self)

    @property
    def kind(self) -> str:
        """What users call such a problem, with its article, for messages."""
        return name_type(self)

    @property
    def has_terms(self) -> bool:
        """Whether there is a term in x or in y."""
        return self.term_x is not None or self.term_y is not None

    @property
    def why_no_rows(self) -> str:
        """Why a solver cannot draw rows of a sum in y, as a clause; empty if every part's slice is a ``RowSum``."""
        return f"{self.kind} is not known to be a sum over rows"

    @property
    def constants(self) -> Constants | None:
        """Smoothness and strong convexity, or None if they are not known."""
        return self._constants

    def constants_for(self, cost_ratio: float) -> Constants | None:
        """Valid constants, chosen for a ∇ₓ that costs ``cost_ratio`` times as much as ∇ᵧ."""
        return self.constants

    def passes_for_constants(self) -> tuple[int, int]:
        """How many products with X and with Y it takes to compute the constants, where the problem has X and Y."""
        return 0, 0

    def _count_constants(self) -> None:
        for kind, count in zip(("passes", "passes_y"), self.passes_for_constants(), strict=True):
            if count > 0:
                self.tally.add_setup(f"constants_{kind}", kind, count)

    @property
    def units(self) -> Array | float:
        """Positive numbers: as a function of units·x, f has curvatures of about the same size in all coordinates.

        1 if that holds for x itself, or if nothing is known.
        """
        return 1.0

    @property
    def units_x(self) -> Array | float:
        """The :attr:`units` of x if methods are to work in them: where terms take a step per coordinate. Else 1."""
        return 1.0

    @property
    def prototype(self) -> Array:
        """An array with the library, dtype and device of the problem's data."""
        return self._prototype

    def prototype_at(self, x: Vector) -> Array:
        """An array of the library, dtype and device in which f is computed at x; vectors may be kept elsewhere."""
        return first_array(x) if self.structure_x is None else self.structure_x.prototype

    @abstractmethod
    def fix(self, x: Vector) -> Slice:
        """The slice y ↦ f(x, y)."""

    def evaluate(self, x: Vector, y: Vector, cache: tuple[Array, ...] = ()) -> Evaluation:
        """The evaluation at (x, y); ``cache`` is that of an earlier evaluation there, or empty."""
        return self.fix(x).at(y)

    def make_metrics(self) -> Any:
        """Further columns of the history of a run (:class:`minmin.loop.recorder.ExtraMetrics`), or None."""
        return None

    def measure_gradients(self, x: Vector, y: Vector, cache: tuple[Array, ...] = ()) -> float:
        """The largest absolute entry of both gradients at (x, y); they are computed and counted."""
        return self.evaluate(x, y, cache).gradient_size

    def bound(self, evaluation: Evaluation) -> Bound:
        """How far f, with its terms, is above its minimum at an evaluation, by strong convexity from both gradients."""
        if self.has_terms:
            return self.bound_with_terms(evaluation)
        norms = evaluation.grad_x_norm, evaluation.grad_y_norm
        if not sum(norms) < float("inf"):
            raise NonFiniteError(explain_nonfinite(evaluation))
        constants = self.constants
        if constants is None:
            return UNKNOWN
        return constants.bound(norms, self.gradient_noise(evaluation), evaluation.rounding.eps)

    def certify(self, evaluation: Evaluation, enough: float) -> Bound:
        """The best bound at an evaluation; one above ``enough`` may be left out if it takes another gradient."""
        return self.bound(evaluation)

    def certify_by_data(
        self,
        evaluation: Evaluation,
        terms: tuple[Term | None, Term | None],
        enough: float,
        after: Any = None,
        y_root: Array | None = None,
    ) -> Bound:
        """The bound on f plus these terms that the data alone prove; unknown if ``bounds_by_data`` is False.

        ``after`` and ``y_root`` as in :meth:`minmin.extend.SecondOrderProblem.bound_after`, if they are known.
        """
        return UNKNOWN

    @property
    def constants_may_prove(self) -> bool:
        """Whether the constants may prove a bound where the data do not."""
        return True

    def bound_with_terms(
        self, evaluation: Evaluation, x_reached: Reached | None = None, y_reached: Reached | None = None
    ) -> Bound:
        """The same with terms; for the points that a step from the evaluation has reached, if they are given."""
        constants = self.constants
        if constants is None:
            return UNKNOWN
        if not evaluation.grad_x_norm + evaluation.grad_y_norm < float("inf"):
            raise NonFiniteError(explain_nonfinite(evaluation))
        eps = evaluation.rounding.eps
        mu_x, mu_y = constants.lower_mu(eps)
        noise_x, noise_y = self.gradient_noise(evaluation)
        in_x = find_gap(self.term_x, evaluation.x, evaluation.grad_x, mu_x, noise=noise_x, eps=eps, reached=x_reached)
        in_y = evaluation.gap_in_y(mu_y, noise=noise_y, eps=eps, reached=y_reached)
        return constants.to_bound(in_x.value + in_y.value, in_x.floor + in_y.floor)

    def gradient_noise(self, evaluation: Evaluation) -> tuple[float, float]:
        """The expected size of rounding errors in both gradients; zero if it is not known."""
        constants = self.constants
        return (0.0, 0.0) if constants is None else constants.gradient_noise(evaluation.rounding, norm(evaluation.x))

    def counted(self, tally: Tally) -> Self:
        """The same problem, which counts in ``tally`` what is actually computed."""
        twin = copy(self)
        twin.tally = tally
        return twin

    def with_layout(self, layout: BlockLayout) -> Problem:
        """The same function of several blocks with another layout of them."""
        raise InputError(f"{self.kind} takes no terms in several blocks")

    def without_terms(self) -> Problem:
        """f alone."""
        return self

    def to_user(self, x: Vector, y: Vector) -> tuple[Any, Any]:
        """A point as the user sees it: in the structure, library, dtype and device of their examples.

        With three or more blocks, the first is x, and y is the list of the others.
        """
        in_x = x if self.structure_x is None else self.structure_x.unflatten(x)
        if self.blocks is not None:
            in_y = y if self.structure_y is None else self.structure_y.unflatten(y)
            first, *others = self.blocks.split(in_x, in_y)
            return first, others if len(others) > 1 else others[0]
        if any(self.part_structures):
            pairs = zip(self.part_structures, y, strict=True)
            return in_x, Parts([part if s is None else s.unflatten(part) for s, part in pairs], y.weights)
        return in_x, y if self.structure_y is None else self.structure_y.unflatten(y)

    def swapped(self) -> Problem:
        """The same function with x and y exchanged; counts keep the original names."""
        from minmin.core.orientation import Swapped

        return Swapped(self)

    def to_like(self, prototype: Array) -> Problem:
        """The same problem with its data in the library, dtype and device of ``prototype``."""
        return self

    def project_start(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """Remove from a start its component along directions in which f never changes, if any are known."""
        return x, y

    def identity(self) -> Iterable[Any]:
        """Arrays, numbers and strings that distinguish this problem from others, for checkpoints.

        By default those in public attributes, also inside lists, tuples and dicts. Private attributes may be caches, so
        they are left out. Callables have no identity.
        """
        public = {name: value for name, value in vars(self).items() if not name.startswith("_") and name != "tally"}
        return [repr(self.constants), *identify(public)]


def evaluate_outside(slice_: Slice, nested: Evaluation) -> Evaluation:
    """The evaluation of a slice where its :attr:`Slice.nested` was evaluated, with the gradients from there."""
    outside = slice_.at(join([nested.x, nested.y]))
    gradient = join([nested.grad_x, nested.grad_y])
    outside.set_grad_y(gradient, nested.rounding.eps)
    return outside


def require_problem(value: Any, name: str) -> None:
    """Raise if a user gave something else, such as a function."""
    if not isinstance(value, Problem):
        raise InputError(
            f"{name} must be a minmin problem, got {type(value).__name__}; "
            "wrap your own functions in minmin.problems.Function"
        )


def require_two_blocks(problem: Problem, what: str) -> None:
    """Raise if a problem was given as a list of blocks."""
    if problem.blocks is not None:
        raise InputError(f"{what} takes no problem with sizes=[...]; give f as a function of x and y alone")


def require_size(value: Any, name: str) -> int:
    """A block's length, which must be a positive whole number."""
    if as_count(value, name) == 0:
        raise InputError(f"{name} = 0: both blocks need at least one variable")
    return int(value)


def require_constants_type(value: Any) -> Constants | None:
    """Constants given by a user, or an error if they have another type."""
    if value is not None and not isinstance(value, Constants):
        raise InputError(f"constants must be a minmin.Constants, got {value!r}")
    return value

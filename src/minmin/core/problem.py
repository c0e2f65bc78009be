"""Problem → Slice → Evaluation: how a method asks about f, and how every answer is counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from minmin.core.arrays import Array
from minmin.core.bound import UNKNOWN, Bound
from minmin.core.constants import Constants
from minmin.core.counting import UNCOUNTED, Tally
from minmin.core.rounding import RoundingScale
from minmin.core.vectors import Vector, machine_eps, norm
from minmin.errors import GRADIENT_MAY_BE_WRONG, InputError, NonFiniteError, as_count


class Evaluation(ABC):
    """f at one point (x, y): each quantity is computed on first use, counted then, and kept.

    A subclass computes; this class counts and keeps.

    Parameters
    ----------
    x, y : vectors
    tally : Tally
        The problem's, which hears of everything that is computed.
    """

    __slots__ = ("_grad_x", "_grad_x_norm", "_grad_y", "_grad_y_norm", "_rounding", "_tally", "_value", "x", "y")

    def __init__(self, x: Vector, y: Vector, tally: Tally):
        self.x = x
        self.y = y
        self._tally = tally
        self._value: float | None = None
        self._grad_x: Vector | None = None
        self._grad_y: Vector | None = None
        self._grad_x_norm: float | None = None
        self._grad_y_norm: float | None = None
        self._rounding: RoundingScale | None = None

    @property
    def value(self) -> float:
        """f(x, y)."""
        if self._value is None:
            self._tally.add("value")
            self._value = self._compute_value()
        return self._value

    @property
    def grad_x(self) -> Vector:
        """∇ₓf(x, y)."""
        if self._grad_x is None:
            self._tally.add("grad_x")
            self._grad_x = self._compute_grad_x()
        return self._grad_x

    @property
    def grad_y(self) -> Vector:
        """∇ᵧf(x, y), in the inner product of y's space."""
        if self._grad_y is None:
            self._tally.add("grad_y")
            self._grad_y = self._compute_grad_y()
        return self._grad_y

    @property
    def grad_x_norm(self) -> float:
        """|∇ₓf|."""
        if self._grad_x_norm is None:
            self._grad_x_norm = norm(self.grad_x)
        return self._grad_x_norm

    @property
    def grad_y_norm(self) -> float:
        """|∇ᵧf|; in a federation it is known although ∇ᵧf itself is not."""
        if self._grad_y_norm is None:
            self._grad_y_norm = norm(self.grad_y)
        return self._grad_y_norm

    @property
    def rounding(self) -> RoundingScale:
        """What rounding errors in the gradients depend on; ask for it after the gradients."""
        if self._rounding is None:
            self._rounding = self._compute_rounding()
        return self._rounding

    @abstractmethod
    def _compute_value(self) -> float: ...

    @abstractmethod
    def _compute_grad_x(self) -> Vector: ...

    @abstractmethod
    def _compute_grad_y(self) -> Vector: ...

    def _compute_rounding(self) -> RoundingScale:
        return RoundingScale(machine_eps(self.x), norm(self.y))


class YTask(ABC):
    """What a method does with one part of y while x is fixed: the half of a step that may run elsewhere.

    A task is a frozen dataclass of numbers and strings, since it is sent to clients. Its memory, a NamedTuple, stays
    with its part of y; a server hears only the memory's own numbers: counts and estimates, never y, nor anything of
    its size. Every subclass with a ``name`` can be asked for by that name, wherever its module was imported.
    """

    name: ClassVar[str]
    memory_types: ClassVar[tuple[type, ...]] = ()
    """The NamedTuples that the memory is made of."""
    named: ClassVar[dict[str, type[YTask]]] = {}
    """All tasks by their names."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in cls.__dict__:
            return
        known = YTask.named.get(cls.name, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise InputError(f"a task called {cls.name!r} exists already: {known.__module__}.{known.__qualname__}")
        YTask.named[cls.name] = cls  # a module that is loaded again has a new class

    @abstractmethod
    def begin(self, y: Array) -> Any:
        """The memory of a part that starts at y."""

    @abstractmethod
    def run(self, part: Slice, memory: Any) -> tuple[Any, Evaluation]:
        """Move y; the evaluation holds ∇ₓf at the new one."""


class Slice(ABC):
    """y ↦ f(x, y) for a fixed x, with everything that depends on x alone already computed."""

    __slots__ = ("x",)

    def __init__(self, x: Vector):
        self.x = x

    @abstractmethod
    def at(self, y: Vector) -> Evaluation:
        """The evaluation at (x, y)."""

    @property
    def parts(self) -> Sequence[Slice]:
        """The separable pieces, functions of a y of their own; one, unless the problem is a :class:`~minmin.Sum`."""
        return (self,)

    def join(self, evaluations: Sequence[Evaluation]) -> Evaluation:
        """The evaluation of the whole from evaluations of its :attr:`parts`."""
        (whole,) = evaluations
        return whole

    def run_on_parts(self, task: YTask, memories: Sequence[Any]) -> tuple[tuple[Any, ...], Evaluation]:
        """Run a task on every part: the parts' new memories, and the evaluation of the whole."""
        outcomes = [task.run(part, memory) for part, memory in zip(self.parts, memories, strict=True)]
        return tuple(memory for memory, _ in outcomes), self.join([evaluation for _, evaluation in outcomes])


class Problem(ABC):
    """f(x, y) with an expensive block x and a cheap block y.

    A subclass sets ``d_x`` and ``d_y`` and says in :meth:`fix` how f is computed; everything else has a default.

    Attributes
    ----------
    d_x, d_y : int
        Length of x, and of y (all its parts together).
    tally : Tally
        Where evaluations report what they compute.
    has_value : bool
        Whether f itself can be asked for, beside its gradients.
    has_y_hessian : bool
        Whether every part of y has a Hessian.
    part_sizes, part_weights : tuples
        The lengths and weights of y's parts where y is a :class:`~minmin.Blocks`. Then ∇ₓ takes all parts together (a
        round of communication), while each part has its own ∇ᵧ. Empty where y is one array.
    y_is_remote : bool
        Whether y stays with those who hold it, so that only its newest value, and of ∇ᵧ only the norm, can be had.
    """

    d_x: int
    d_y: int
    tally: Tally = UNCOUNTED
    has_value: bool = True
    has_y_hessian: bool = False
    part_sizes: tuple[int, ...] = ()
    part_weights: tuple[float, ...] = ()
    y_is_remote: bool = False

    @property
    def constants(self) -> Constants | None:
        """Smoothness and strong convexity, or None where nothing is known."""
        return None

    def constants_for(self, cost_ratio: float) -> Constants | None:
        """Valid constants that suit a ∇ₓ which costs ``cost_ratio`` times what ∇ᵧ costs."""
        return self.constants

    def passes_for_constants(self) -> tuple[int, int]:
        """How many products with X and with Y it takes to compute the constants, where the problem has X and Y."""
        return 0, 0

    def _count_constants(self) -> None:
        for kind, count in zip(("passes", "passes_y"), self.passes_for_constants(), strict=True):
            if count > 0:
                self.tally.add_setup(f"constants_{kind}", kind, count)

    @property
    def prototype(self) -> Array:
        """An array whose library, dtype and device the problem's own data have."""
        return np.zeros(0)

    @abstractmethod
    def fix(self, x: Vector) -> Slice:
        """The slice y ↦ f(x, y)."""

    def evaluate(self, x: Vector, y: Vector, cache: tuple[Array, ...] = ()) -> Evaluation:
        """The evaluation at (x, y), from what an earlier one there has cached, if anything."""
        return self.fix(x).at(y)

    def bound(self, evaluation: Evaluation) -> Bound:
        """How far above its minimum f is at an evaluation: by strong convexity, from both gradients."""
        norms = evaluation.grad_x_norm, evaluation.grad_y_norm
        if not sum(norms) < float("inf"):
            raise NonFiniteError(
                f"a gradient of f is NaN or infinite; f may not be finite around the start, or {GRADIENT_MAY_BE_WRONG}"
            )
        constants = self.constants
        if constants is None:
            return UNKNOWN
        return constants.bound(norms, self.gradient_noise(evaluation), evaluation.rounding.eps)

    def gradient_noise(self, evaluation: Evaluation) -> tuple[float, float]:
        """How large rounding errors in both gradients are expected to be; zero where that is unknown."""
        constants = self.constants
        return (0.0, 0.0) if constants is None else constants.gradient_noise(evaluation.rounding, norm(evaluation.x))

    def counted(self, tally: Tally) -> Self:
        """The same problem, reporting to ``tally`` what is really computed."""
        twin = copy(self)
        twin.tally = tally
        return twin

    def swapped(self) -> Problem:
        """The same function with the roles of x and y exchanged; counts keep their names."""
        from minmin.core.orientation import Swapped

        return Swapped(self)

    def to_like(self, prototype: Array) -> Problem:
        """The same problem with its data in the library, dtype and device of ``prototype``."""
        return self

    def project_start(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """A start without its part along directions in which f never changes, where the problem knows of any."""
        return x, y

    def identity(self) -> Iterable[Any]:
        """Arrays, numbers and strings that tell this problem from others, for checkpoints.

        By default all that are public attributes, also within lists, tuples and dicts; private ones may be caches.
        Callables have no identity.
        """
        public = {name: value for name, value in vars(self).items() if not name.startswith("_") and name != "tally"}
        return [repr(self.constants), *identify(public)]


def identify(value: Any) -> Iterator[Any]:
    """The arrays, numbers and strings that something is made of, in an order that does not depend on chance."""
    if isinstance(value, dict):
        value = [part for name in sorted(value, key=str) for part in (str(name), value[name])]
    if isinstance(value, list | tuple):
        for part in value:
            yield from identify(part)
    elif hasattr(value, "tocsr"):
        csr = value.tocsr()
        yield from (csr.data, csr.indices, csr.indptr)
    elif isinstance(value, str | int | float | None) or hasattr(value, "shape"):
        yield value


def require_size(value: Any, name: str) -> int:
    """A block's length, which must be a positive whole number."""
    if as_count(value, name) == 0:
        raise InputError(f"{name} = 0: both blocks need a variable")
    return int(value)


def require_constants_type(value: Any) -> Constants | None:
    """A user's constants, or an error where they are of another type."""
    if value is not None and not isinstance(value, Constants):
        raise InputError(f"constants must be a minmin.Constants, got {value!r}")
    return value

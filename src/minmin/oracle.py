"""Problem → Slice → Evaluation: how a method asks about f, and how every answer is counted."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from enum import Flag, auto
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from array_api_compat import array_namespace, device

from minmin.constants import Constants
from minmin.errors import InputError, NonFiniteError, as_count
from minmin.space import (
    Array,
    Vector,
    as_real,
    dtype_name,
    first_array,
    machine_eps,
    norm,
    parts_of,
    require_finite,
    same_kind,
)
from minmin.tally import UNCOUNTED, Tally


class Ability(Flag):
    """What a problem can answer beside its two gradients, which are always there.

    GAP is a certificate that the data alone prove.
    """

    NONE = 0
    VALUE = auto()
    HESS_YY = auto()
    HESS_PRODUCT = auto()
    GAP = auto()


class Direction:
    """A direction dx with what a slice has computed of it, all of it linear in dx (for a GLM the image X·dx)."""

    __slots__ = ("dx", "images")

    def __init__(self, dx: Array, images: Images):
        self.dx = dx
        self.images = images

    def times(self, t: float) -> Direction:
        """t times this direction."""
        return Direction(t * self.dx, _times(self.images, t))

    def add(self, t: float, other: Direction) -> Direction:
        """This direction, which becomes itself + t·``other``."""
        self.dx += t * other.dx
        self.images = _add(self.images, t, other.images)
        return self


Images = tuple[Any, ...]
"""Arrays, or tuples of them for the terms of a Sum."""


def _times(images: Images, t: float) -> Images:
    return tuple(_times(a, t) if isinstance(a, tuple) else t * a for a in images)


def _add(images: Images, t: float, others: Images) -> Images:
    pairs = zip(images, others, strict=True)
    return tuple(_add(a, t, b) if isinstance(a, tuple) else _added(a, t * b) for a, b in pairs)


def _added(a: Array, b: Array) -> Array:
    a += b
    return a


class Certificate(NamedTuple):
    """What is known of f - f* at an evaluation.

    Attributes
    ----------
    bound : float
        f - f* is at most this; infinite where nothing is known.
    floor : float
        What the bound would be if both gradients were as small as their rounding errors.
    by_data : bool
        The data alone prove it; else it rests on the problem's constants.
    noise : pair of float
        How large rounding errors in both gradients are expected to be; zero where that is unknown.
    """

    bound: float
    floor: float
    by_data: bool
    noise: tuple[float, float]


class Evaluation(ABC):
    """f at one point (x, y): each quantity is computed on first use, counted then, and kept."""

    __slots__ = ("_grad_x", "_grad_x_norm", "_grad_y", "_grad_y_norm", "_noise", "_tally", "_value", "x", "y")

    def __init__(self, x: Vector, y: Vector, tally: Tally):
        self.x = x
        self.y = y
        self._tally = tally
        self._value: float | None = None
        self._grad_x: Vector | None = None
        self._grad_y: Vector | None = None
        self._grad_x_norm: float | None = None
        self._grad_y_norm: float | None = None
        self._noise: tuple[float, float] | None = None

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
        """|∇ᵧf|."""
        if self._grad_y_norm is None:
            self._grad_y_norm = norm(self.grad_y)
        return self._grad_y_norm

    @property
    def y_norm(self) -> float:
        """|y|."""
        return norm(self.y)

    @property
    def shows_y(self) -> bool:
        """Whether y and ∇ᵧf are here; in a federation only their norms are."""
        return True

    @property
    def eps(self) -> float:
        """The precision in which the answers were computed."""
        return machine_eps(self.x)

    def gradient_noise(self, constants: Constants, x_norm: float | None = None) -> tuple[float, float]:
        """How large rounding errors in both gradients are expected to be; ``x_norm`` is |x|, where it is known."""
        if self._noise is None:
            norms = norm(self.x) if x_norm is None else x_norm, self.y_norm
            self._noise = constants.gradient_rounding(self.eps, *norms, self._other_terms())
        return self._noise

    def _other_terms(self) -> float:
        """See :meth:`Constants.gradient_rounding`."""
        return 0.0

    def hess_yy(self) -> Array:
        """The Hessian in y, where the problem declares ``Ability.HESS_YY``."""
        self._lacks(Ability.HESS_YY)

    @property
    def slice(self) -> Slice:
        """The slice that it belongs to; this and what follows need ``Ability.HESS_PRODUCT``."""
        self._lacks(Ability.HESS_PRODUCT)

    @property
    def parts(self) -> Sequence[Evaluation]:
        """The separable pieces, as those of the slice."""
        return (self,)

    def grad_x_ahead(self, dy: Vector) -> Vector:
        """∇ₓf + H_xy·dy: ∇ₓ of the quadratic model of f, after a step dy in y; counted as a ``grad_x``."""
        self._lacks(Ability.HESS_PRODUCT)

    def hess_yx(self, direction: Direction) -> Vector:
        """H_yx·dx."""
        self._lacks(Ability.HESS_PRODUCT)

    def hess_product(self, direction: Direction, dy: Vector) -> Vector:
        """The x-part of the Hessian's product with (dx, dy): H_xx·dx + H_xy·dy."""
        self._lacks(Ability.HESS_PRODUCT)

    def hess_yy_product(self, dy: Array) -> Array:
        """H_yy·dy, for a y too large for :meth:`hess_yy`; of one part, as the next."""
        self._lacks(Ability.HESS_PRODUCT)

    def hess_yy_diagonal(self) -> Array:
        """The diagonal of H_yy."""
        self._lacks(Ability.HESS_PRODUCT)

    def pinned(self, hess_yy: Array) -> Array:
        """H_yy, made invertible along directions in which f never changes, where the problem knows of any."""
        return hess_yy

    def without_flat(self, dy: Array) -> Array:
        """A step in y without its part, by rounding, along directions in which f never changes; of one part too."""
        return dy

    def hess_xx_diagonal(self) -> Vector:
        """The diagonal of H_xx."""
        self._lacks(Ability.HESS_PRODUCT)

    def slope(self, direction: Direction, dy: Vector) -> float:
        """The derivative of f along (dx, dy); where products are dear, without one."""
        self._lacks(Ability.HESS_PRODUCT)

    def largest_move(self, direction: Direction, dy: Vector) -> float:
        """How far the step (dx, dy) leaves the region where the quadratic model is f but for a constant factor.

        In units of that region's size; zero where the model is exact.
        """
        self._lacks(Ability.HESS_PRODUCT)

    def hidden_by_rounding(self) -> float:
        """How much of f rounding errors in its terms may hide; zero where that is unknown."""
        return 0.0

    def from_afar(self) -> Evaluation | None:
        """The same point with a Hessian that does not vanish far from a minimum; None where this one never does.

        It is that of a model for steps from far away, not of f.
        """
        return None

    def falls_for_ever(self, step: tuple[Direction, Vector] | None = None, *, in_y_alone: bool = False) -> bool:
        """Whether f has no minimum, as it never rises along (dx, dy) from anywhere, and falls from somewhere.

        The step is the way from zero to here where none is given; ``in_y_alone`` looks at its y-part only. False where
        that is not known.
        """
        return False

    @property
    def carried(self) -> tuple[Array, ...]:
        """What :meth:`Problem.resumed` needs to make this evaluation anew without a product."""
        return ()

    def _lacks(self, ability: Ability) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot answer; its problem must not declare {ability.name}")

    @abstractmethod
    def _compute_value(self) -> float: ...

    @abstractmethod
    def _compute_grad_x(self) -> Vector: ...

    @abstractmethod
    def _compute_grad_y(self) -> Vector: ...


class Work(ABC):
    """What a method does at one part of y for a fixed x: the half of a step that may run elsewhere.

    It is described by numbers and strings alone, and so is what it tells of its memory: failures, sizes, estimates;
    never y itself, nor anything of its size.
    """

    @abstractmethod
    def begin(self, y: Array) -> Any:
        """The memory of a part that starts at y: a NamedTuple."""

    @abstractmethod
    def at(self, part: Slice, memory: Any) -> tuple[Any, Evaluation]:
        """Move y; the evaluation holds ∇ₓf at the new one."""

    def done_by(self, problem: Problem, x: Vector, memory: Any) -> tuple[Any, Evaluation]:
        """The same by whoever holds the whole problem of that part."""
        return self.at(problem.fix(x), memory)


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

    def joint(self, evaluations: Sequence[Evaluation]) -> Evaluation:
        """The evaluation of the whole from evaluations of its :attr:`parts`."""
        (whole,) = evaluations
        return whole

    def done(self, work: Work, memories: Sequence[Any]) -> tuple[tuple[Any, ...], Evaluation]:
        """Have some work done at every part: the parts' new memories, and the joint evaluation."""
        outcomes = [work.at(part, memory) for part, memory in zip(self.parts, memories, strict=True)]
        return tuple(memory for memory, _ in outcomes), self.joint([evaluation for _, evaluation in outcomes])

    def along(self, dx: Vector) -> Direction:
        """dx with its image, for a problem that declares ``Ability.HESS_PRODUCT``, as :meth:`moved`."""
        raise TypeError(f"{type(self).__name__} has no directions; its problem must not declare HESS_PRODUCT")

    def moved(self, direction: Direction, t: float) -> Slice:
        """The slice at x + t·dx, from what the direction carries: it costs no product."""
        raise TypeError(f"{type(self).__name__} cannot move; its problem must not declare HESS_PRODUCT")


class Problem(ABC):
    """f(x, y) with an expensive block x and a cheap block y.

    Attributes
    ----------
    d_x, d_y : int
        Length of x, and of y (all its parts together).
    abilities : Ability
        What the problem can answer beside its gradients.
    """

    d_x: int
    d_y: int
    abilities: Ability
    takes_rounds: bool = False
    """Whether ∇ₓ needs all parts of y together, a round of communication, while each part has its own ∇ᵧ."""
    y_elsewhere: bool = False
    """Whether y stays with those who hold it, so that only its newest value can be had."""
    endless_where_flat: bool = False
    """Whether a gradient along which there is no curvature means that f has no minimum, as for a quadratic. Of data it
    never does: least squares have no such gradient but by rounding, and other losses are only nearly flat."""
    _tally: Tally = UNCOUNTED
    _twin: Problem | None = None
    _given: Constants | None = None
    """The constants that a user gave, where one did."""
    _origin: Problem | None = None
    """The problem whose constants these are, where this is the same one over other arrays."""
    _found: dict[str, Any]
    """What was computed of the data when first asked for; shared with all counted twins."""

    @property
    @abstractmethod
    def constants(self) -> Constants | None:
        """Smoothness and strong convexity, or None where nothing is known."""

    def constants_where(self, cost_ratio: float) -> Constants | None:
        """Valid constants that suit a ∇ₓ which costs so many times what ∇ᵧ costs; the usual ones where not computed."""
        return self.constants

    @abstractmethod
    def fix(self, x: Vector) -> Slice:
        """The slice y ↦ f(x, y)."""

    def resumed(self, x: Vector, y: Vector, carried: tuple[Array, ...]) -> Evaluation:
        """The evaluation at (x, y), from what an earlier one there carried."""
        return self.fix(x).at(y)

    def _start_y(self, y0: Any, model: Array) -> Vector:
        """Check a user's y0, or make the zero start where it is None."""
        return zeros(self.d_y, model) if y0 is None else start_array(y0, self.d_y, "y0", model)

    def swapped(self) -> Problem:
        """The same function with the roles of x and y exchanged; counts keep their names."""
        if self._twin is None:
            self._twin = self._exchanged()
        return self._twin

    def _exchanged(self) -> Problem:
        return Swapped(self)

    def counted(self, tally: Tally) -> Self:
        """The same problem, reporting to ``tally`` what is really computed."""
        twin = copy(self)
        twin._tally = tally
        twin._twin = None
        return twin

    def _once(self, name: str, compute: Callable[[], Any]) -> Any:
        """Something that depends on the data alone, computed when first asked for."""
        if name not in self._found:
            self._found[name] = compute()
        return self._found[name]

    def matching(self, model: Array) -> Problem:
        """The same problem with its data in the library, dtype and device of ``model``."""
        return self

    @property
    def model(self) -> Array:
        """An array whose library, dtype and device the problem's own data have."""
        return np.zeros(0)

    def gap_bound(self, evaluation: Evaluation) -> float:
        """An upper bound on f - f* at an evaluation; infinite where there is none."""
        return self.convexity_bound(evaluation)

    def certificate(self, evaluation: Evaluation, y_root: Array | None = None) -> Certificate:
        """The best bound at an evaluation whose :meth:`Evaluation.grad_x_ahead` is known, at no further ∇ₓ.

        ``y_root`` is a K with KᵀK = H_yy⁻¹, where one is known.
        """
        bound, constants = self.convexity_bound(evaluation), self.constants
        noise = (0.0, 0.0) if constants is None else evaluation.gradient_noise(constants)
        return Certificate(bound, self.gap_floor(evaluation), by_data=False, noise=noise)

    def convexity_bound(self, evaluation: Evaluation) -> float:
        """The bound by strong convexity, from both gradients.

        With an allowance for rounding in the gradients; infinite where the constants are unknown.
        """
        constants = self.constants
        if constants is None:
            return math.inf
        noise_x, noise_y = evaluation.gradient_noise(constants)
        norm_x, norm_y = evaluation.grad_x_norm, evaluation.grad_y_norm
        if not norm_x + norm_y < math.inf:
            raise NonFiniteError("a gradient of f is NaN or infinite; is f finite around the start?")
        return constants.gap_bound(norm_x + noise_x, norm_y + noise_y, evaluation.eps)

    def gap_floor(self, evaluation: Evaluation) -> float:
        """What :meth:`gap_bound` would be if both gradients were as small as their rounding errors."""
        constants = self.constants
        if constants is None or not (constants.mu_x > 0.0 and constants.mu_y > 0.0):
            return 0.0
        return constants.gap_bound(*evaluation.gradient_noise(constants), evaluation.eps)

    def identity(self) -> Iterable[Any]:
        """Arrays, numbers and strings that tell this problem from others, for checkpoints."""
        return [self.d_x, self.d_y, repr(self._given)]

    def meters(self, x: Vector | None = None) -> dict[str, Any]:
        """What the history shall show beside calls, values and time: numbers, or tuples of them, by name.

        Of the answer x; without one, the names are what matters.
        """
        return {}

    def start(self, x0: Any, y0: Any) -> tuple[Vector, Vector]:
        """Check a user's start and complete it with zeros; the answer shares no memory with it."""
        model = self.model
        x = None if x0 is None else start_array(x0, self.d_x, "x0", model)
        y = self._start_y(y0, model if x is None else x)
        if x is None:
            x = zeros(self.d_x, first_array(y))
        for part in parts_of(y):
            if not same_kind(x, part):
                raise InputError(
                    f"x0 is {dtype_name(x)} of {array_namespace(x).__name__} and y0 is {dtype_name(part)} of "
                    f"{array_namespace(part).__name__}; give both in one dtype and library"
                )
        return x, y


class KnownProblem(Problem):
    """A problem whose data are known, and with them its constants, which are computed when first asked for."""

    @property
    def constants(self) -> Constants:
        if self._given is not None:
            return self._given
        if isinstance(self._origin, KnownProblem):
            return self._origin.constants
        known: Constants = self._once("constants", self._proved_constants)
        return known

    @abstractmethod
    def _proved_constants(self) -> Constants: ...


def zeros(size: int, model: Array) -> Array:
    return array_namespace(model).zeros(size, dtype=model.dtype, device=device(model))


def start_array(value: Any, size: int, name: str, model: Array) -> Array:
    """A checked copy of one array of a user's start."""
    array = as_real(value, name, model)
    if array.shape != (size,):
        raise InputError(f"{name} has shape {tuple(array.shape)}; this problem needs ({size},)")
    require_finite(array, name)
    return array_namespace(array).asarray(array, copy=True)


def positive_size(value: Any, name: str) -> int:
    """A block's length, which must be a positive whole number."""
    if as_count(value, name) == 0:
        raise InputError(f"{name} = 0: both blocks need a variable")
    return int(value)


def checked_constants(value: Any) -> Constants | None:
    if value is not None and not isinstance(value, Constants):
        raise InputError(f"constants must be a minmin.Constants, got {value!r}")
    return value


class Swapped(Problem):
    """Any problem with its blocks exchanged; nothing is precomputed when x is fixed."""

    def __init__(self, original: Problem):
        self.original = original
        self.abilities = original.abilities & Ability.VALUE
        self.d_x, self.d_y = original.d_y, original.d_x

    @property
    def constants(self) -> Constants | None:
        constants = self.original.constants
        return None if constants is None else constants.swapped()

    @property
    def model(self) -> Array:
        return self.original.model

    def counted(self, tally: Tally) -> Swapped:
        return Swapped(self.original.counted(tally.swapped()))

    def swapped(self) -> Problem:
        return self.original

    def matching(self, model: Array) -> Swapped:
        return Swapped(self.original.matching(model))

    def identity(self) -> Iterable[Any]:
        return self.original.identity()

    def fix(self, x: Vector) -> Slice:
        return _SwappedSlice(self.original, x)

    def start(self, x0: Any, y0: Any) -> tuple[Vector, Vector]:
        y, x = self.original.start(y0, x0)
        return x, y


class _SwappedSlice(Slice):
    __slots__ = ("_original",)

    def __init__(self, original: Problem, x: Vector):
        super().__init__(x)
        self._original = original

    def at(self, y: Vector) -> Evaluation:
        return _SwappedEvaluation(self._original.fix(y).at(self.x))


class _SwappedEvaluation(Evaluation):
    """The original's evaluation, which counts for itself, read with the blocks exchanged."""

    __slots__ = ("_original",)

    def __init__(self, original: Evaluation):
        super().__init__(original.y, original.x, UNCOUNTED)
        self._original = original

    def _compute_value(self) -> float:
        return self._original.value

    def _compute_grad_x(self) -> Vector:
        return self._original.grad_y

    def _compute_grad_y(self) -> Vector:
        return self._original.grad_x

    @property
    def eps(self) -> float:
        return self._original.eps

    def _other_terms(self) -> float:
        return self._original._other_terms()

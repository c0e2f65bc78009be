"""A federation as a problem: a Sum whose terms are at the clients. Methods run on it as on any other problem."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from minmin.core.arrays import Array, dtype_name, largest
from minmin.core.bound import Constants, RoundingScale
from minmin.core.counting import UNCOUNTED
from minmin.core.evaluation import Evaluation
from minmin.core.model_gap import BlockGap, Reached, find_gap, find_residual
from minmin.core.problem import Problem, Slice, YTask
from minmin.core.vectors import Parts, Vector, square
from minmin.errors import InputError, UnsupportedError
from minmin.federated.protocol import Description, Reply
from minmin.federated.session import Session
from minmin.federated.tasks import public_part
from minmin.problems.sum import combine_constants
from minmin.terms.parts import PartsTerm

_NEEDS_TASKS = (
    "in a federation y and ∇ᵧf stay with the clients, and only a round yields ∇ₓf: a method must call "
    "problem.fix(x).run_on_parts(task, memories), as reduced-lbfgs and bam do"
)


class UnseenY(Parts):
    """y as the server sees it: one empty array per client, and whether y is still the starting point."""

    __slots__ = ("at_start",)

    def __init__(self, prototype: Array, weights: Sequence[float], *, at_start: bool = False):
        super().__init__([prototype] * len(weights), weights)
        self.at_start = at_start


class Federation(Problem):
    """f(x, y_1, …, y_M) = Σ p_i f_i(x, y_i), of which the server holds x alone; p_i is the share of client i's weight.

    A method uses it like a :class:`minmin.Sum` with the weights p_i. The parts of y are empty arrays, since y_i stays
    with its client, and tasks on them are sent to the clients. One ∇ₓf takes one round. All counted copies share the
    session. ``values``: whether rounds ask for f as well.

    A term in x belongs to the server, which sets ``term_x``. Terms in y stay with their clients, which tell what their
    y_i adds to a bound.
    """

    y_is_remote = True

    def __init__(self, session: Session, descriptions: Sequence[Description], *, values: bool):
        _check_descriptions(descriptions)
        self.session = session
        self.values = values
        self.d_x, self.d_y = descriptions[0].d_x, sum(description.d_y for description in descriptions)
        total = sum(description.weight for description in descriptions)
        self.part_weights = tuple(description.weight / total for description in descriptions)
        self.part_sizes = (0,) * len(descriptions)
        self.has_value = values and all(description.has_value for description in descriptions)
        self.has_noisy_gradients = any(description.noisy for description in descriptions)
        self.has_y_hessian = all(description.has_y_hessian for description in descriptions)
        self._constants = combine_constants(self.part_weights, [description.constants for description in descriptions])
        self._prototype = np.zeros(0, dtype=descriptions[0].dtype)
        self._fingerprints = [_fingerprint(description) for description in descriptions]
        if any(description.term_y for description in descriptions):
            self.term_y = PartsTerm([None] * len(descriptions))
            known = self._constants or Constants(math.inf, math.inf, 0.0, 0.0)
            session.constants = {name: getattr(known, name) for name in ("L_x", "L_y", "mu_x", "mu_y")}

    @property
    def kind(self) -> str:
        return "a federation"

    @property
    def why_no_rows(self) -> str:
        return "the rows are with the clients"

    @property
    def constants(self) -> Constants | None:
        return self._constants

    @property
    def prototype(self) -> Array:
        return self._prototype

    def identity(self) -> Iterable[Any]:
        of_term = [] if self.term_x is None else self.term_x.identity()
        return [self.d_x, self.d_y, *self.part_weights, str(self._prototype.dtype), *self._fingerprints, *of_term]

    def fix(self, x: Vector) -> RemoteSlice:
        return RemoteSlice(x, self)

    def project_start(self, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        """x as given, or the nearest point that its term allows; y is the clients' own starting point."""
        if not isinstance(x, np.ndarray) or x.dtype != self._prototype.dtype:
            raise InputError(
                f"x0 is {dtype_name(x)}, but the clients compute in {self._prototype.dtype}; "
                "give a NumPy array of that type"
            )
        x = x if self.term_x is None else self.term_x.project(x)
        return x, UnseenY(self._prototype, self.part_weights, at_start=True)

    def swapped(self) -> NoReturn:
        raise UnsupportedError(
            "y stays with the clients, so only x can be the outer block of a federation; take outer='x', or "
            "method='reduced-lbfgs'"
        )

    def ask(self, x: Array, *, gradient: bool = False, at_start: bool = False) -> Evaluation:
        """f, and its gradients if ``gradient`` is set, at x and the current y_i.

        Sends nothing if the last round was at x and asked for f.
        """
        replies = self.session.find_values(x) if self.values and not (gradient or at_start) else None
        if replies is None:
            replies = self.session.evaluate(x, gradient=gradient, at_start=at_start)
        return _RemoteEvaluation(x, self, replies)

    def measure_gradients(self, x: Vector, y: Vector, cache: tuple[Array, ...] = ()) -> float:
        """One more round, in which no client moves its y_i; see :meth:`_RemoteEvaluation.gradient_size`."""
        self.tally.add("grad_x")
        replies = self.session.evaluate(x, gradient=True, counts=True)
        self.count_work(replies)
        return _RemoteEvaluation(x, self, replies).gradient_size

    def count_work(self, replies: Sequence[Reply]) -> None:
        """Count what the clients have computed, except for what a round counts as one."""
        for reply in replies:
            for kind, count in reply.calls.items():
                if kind not in ("grad_x", "value"):
                    self.tally.note(kind, count)


def _check_descriptions(descriptions: Sequence[Description]) -> None:
    """Check that the clients can work together."""
    names = [description.name for description in descriptions]
    if shared := {name for name in names if name and names.count(name) > 1}:
        raise InputError(f"more than one client is called {min(shared)!r}; give each its own name, or none")
    first = descriptions[0]
    for number, description in enumerate(descriptions):
        for name in ("d_x", "dtype"):
            own, other = getattr(description, name), getattr(first, name)
            if own != other:
                raise InputError(
                    f"client {number} has {name} = {own}, but client 0 has {other}; x is shared, so all clients need "
                    f"the same {name}"
                )


def _fingerprint(description: Description) -> str:
    """What identifies a client: its name, its size, and its constants up to rounding."""
    c = description.constants
    constants = None if c is None else [f"{number:.6g}" for number in (c.L_x, c.L_y, c.mu_x, c.mu_y)]
    return f"{description.name} {description.d_y} {constants}" + "".join(f" {c}" for c in description.term_y.values())


class RemoteSlice(Slice):
    """y ↦ f(x, y) at the clients."""

    __slots__ = ("_federation",)

    def __init__(self, x: Vector, federation: Federation):
        super().__init__(x)
        self._federation = federation

    def run_on_parts(self, task: YTask, memories: Sequence[Any]) -> tuple[tuple[Any, ...], Evaluation]:
        """Run a round of a task that sends ∇ₓf_i. Return the public part of the clients' memories, and f."""
        memories, replies = self._run_round(task)
        return memories, _RemoteEvaluation(self.x, self._federation, replies)

    def average(self, task: YTask) -> tuple[Array, Parts]:
        """Run a round of a task that sends other vectors. Return their mean, and y as the server sees it."""
        _, replies = self._run_round(task)
        weights = self._federation.part_weights
        return _average(weights, replies), UnseenY(self._federation.prototype, weights)

    def at(self, y: Parts) -> Evaluation:
        self._federation.tally.add("value")
        return self._federation.ask(self.x, at_start=isinstance(y, UnseenY) and y.at_start)

    def _run_round(self, task: YTask) -> tuple[tuple[Any, ...], list[Reply]]:
        tally = self._federation.tally
        tally.add("grad_x")  # first, since it raises if the budget is spent: then nothing is sent
        first_memory = task.begin(self._federation.prototype)
        memory = frozenset(public_part(first_memory))
        replies = self._federation.session.run_task(self.x, task, memory, value=self._federation.values)
        self._federation.count_work(replies)
        return tuple(first_memory._replace(**reply.memory) for reply in replies), replies


class _RemoteEvaluation(Evaluation):
    """f at x and at the y_i of the clients, computed from their replies."""

    __slots__ = ("_federation", "_replies", "_weights", "term_x", "term_y")

    def __init__(self, x: Vector, federation: Federation, replies: Sequence[Reply]):
        super().__init__(x, UnseenY(federation.prototype, federation.part_weights), UNCOUNTED)
        self._federation = federation
        self._weights = federation.part_weights
        self._replies = replies
        self.term_x, self.term_y = federation.term_x, federation.term_y

    def _mean(self, numbers: Iterable[float]) -> float:
        """The weighted mean of numbers, one per client."""
        return sum(w * number for w, number in zip(self._weights, numbers, strict=True))

    @property
    def grad_y_norm(self) -> float:
        return math.sqrt(self._mean(r.grad_y_square for r in self._replies))

    def gap_in_y(
        self, curvature: float, *, noise: float = 0.0, eps: float = 0.0, reached: Reached | None = None
    ) -> BlockGap:
        """With terms, by what each client says of its own y_i, with the same curvature."""
        if self.term_y is None:
            return find_gap(None, self.y, np.array([self.grad_y_norm]), curvature, noise=noise)
        return BlockGap(
            self._mean(r.in_y["gap"] for r in self._replies), self._mean(r.in_y["floor"] for r in self._replies)
        )

    def estimate_in_y(self, curvature: float) -> float:
        """With terms, by the curvature that each client has seen itself."""
        if self.term_y is None:
            return super().estimate_in_y(curvature)
        return self._mean(r.in_y["estimate"] for r in self._replies)

    def residual_in_y(self, curvature: float) -> float:
        """With terms, for the curvature that each client has seen itself."""
        return math.sqrt(self._mean(r.in_y.get("residual_square", r.grad_y_square) for r in self._replies))

    @property
    def gradient_size(self) -> float:
        """With the largest norm of a client's ∇ᵧf_i, which no entry exceeds: clients send no entries of it."""
        in_x = largest(find_residual(self.term_x, self.x, self.grad_x, 1.0))
        return max(in_x, *(math.sqrt(r.in_y.get("step_square", r.grad_y_square)) for r in self._replies))

    def _compute_rounding(self) -> RoundingScale:
        y_norm = math.sqrt(self._mean(r.y_square for r in self._replies))
        fixed_terms = math.sqrt(self._mean(square(r.fixed_terms) for r in self._replies))
        return RoundingScale(max(r.eps for r in self._replies), y_norm, fixed_terms)

    def _compute_value(self) -> float:
        """The clients' values hold their own terms."""
        of_clients = self._mean(math.nan if r.value is None else r.value for r in self._replies)
        return of_clients if self.term_x is None else of_clients + self.term_x.value(self.x)

    @property
    def value_without_terms(self) -> float:
        of_terms = self._mean(r.in_y.get("term", 0.0) for r in self._replies)
        return self.value - of_terms - (0.0 if self.term_x is None else self.term_x.value(self.x))

    def _compute_grad_x(self) -> Vector:
        if self._replies[0].vector.size == 0:
            raise UnsupportedError(_NEEDS_TASKS)
        return _average(self._weights, self._replies)

    def _compute_grad_y(self) -> Vector:
        raise UnsupportedError(_NEEDS_TASKS)

    def known_gradients(self) -> dict[str, Vector]:
        """None: if a gradient is not finite, the client has not sent it."""
        return {}

    @property
    def nonfinite_place(self) -> str:
        outside = [number for number, reply in enumerate(self._replies) if reply.memory.get("outside_domain", False)]
        return f" at {self._federation.session.name_clients(outside)}" if outside else ""


def _average(weights: Sequence[float], replies: Sequence[Reply]) -> Array:
    """The weighted mean of the vectors, added in the same order as a Sum does, so that the result is bit-identical."""
    total = weights[0] * replies[0].vector
    term = np.empty_like(total)
    for w, reply in zip(weights[1:], replies[1:], strict=True):
        total += np.multiply(w, reply.vector, out=term)
    return total

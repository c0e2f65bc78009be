"""Evaluation: f and its gradients at one point, computed on first use, counted and kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from minmin.core.arrays import to_numpy
from minmin.core.bound import RoundingScale, half_square_over
from minmin.core.counting import Tally
from minmin.core.model_gap import BlockGap, Reached, find_gap, find_residual
from minmin.core.term import Term
from minmin.core.vectors import Vector, largest_entry, machine_eps, norm, parts_of
from minmin.errors import GRADIENT_MAY_BE_WRONG


class Evaluation(ABC):
    """f at one point (x, y): each quantity is computed on first use, counted then, and kept.

    Subclasses say how to compute; this class counts and caches.

    Parameters
    ----------
    x, y : vectors
    tally : Tally
        The problem's; everything that is computed is added to it.

    Attributes
    ----------
    cause_of_infinity : str
        Why f, or a gradient, may be infinite here, and what to do; empty if a user's own function may be the cause.
    """

    __slots__ = ("_grad_x", "_grad_x_norm", "_grad_y", "_grad_y_norm", "_rounding", "_tally", "_value", "x", "y")
    term_x: Term | None = None
    term_y: Term | None = None
    cause_of_infinity: str = ""

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
    def value_on_the_way(self) -> float | None:
        """f(x, y) if it was computed on the way to a gradient; otherwise None."""
        return None

    @property
    def value_without_terms(self) -> float:
        """f(x, y) alone."""
        return self.value

    @property
    def grad_x(self) -> Vector:
        """∇ₓf(x, y)."""
        if self._grad_x is None:
            self._tally.add("grad_x")
            self._grad_x = self._compute_grad_x()
        return self._grad_x

    @property
    def knows_grad_x(self) -> bool:
        """Whether ∇ₓf was computed."""
        return self._grad_x is not None

    @property
    def grad_y(self) -> Vector:
        """∇ᵧf(x, y), in the inner product of y's space."""
        if self._grad_y is None:
            self._tally.add("grad_y")
            self._grad_y = self._compute_grad_y()
        return self._grad_y

    def set_grad_y(self, gradient: Vector, eps: float) -> None:
        """Keep a ∇ᵧf that was computed, and counted, by other means; ``eps`` is the precision that it has."""
        self._grad_y = gradient
        self.note_precision(eps)

    def note_precision(self, eps: float) -> None:
        """Let :attr:`rounding` know that a gradient has only this precision, whatever the dtype of x and y."""
        return

    @property
    def grad_x_norm(self) -> float:
        """|∇ₓf|."""
        if self._grad_x_norm is None:
            self._grad_x_norm = norm(self.grad_x)
        return self._grad_x_norm

    @property
    def grad_y_norm(self) -> float:
        """|∇ᵧf|. A federated server knows only this norm, not ∇ᵧf itself."""
        if self._grad_y_norm is None:
            self._grad_y_norm = norm(self.grad_y)
        return self._grad_y_norm

    @property
    def gradient_size(self) -> float:
        """The largest absolute entry of both gradients; with a term, of v - prox(v - gradient), a step of length 1."""
        if self.term_x is None and self.term_y is None:  # as in most runs: without one call more at every point
            return self.find_largest_entry(self.grad_x, self.grad_y)
        return self.find_gradient_size(self.grad_x, self.grad_y)

    def find_gradient_size(self, grad_x: Vector, grad_y: Vector) -> float:
        """The :attr:`gradient_size` if the gradients here were these."""
        if self.term_x is None and self.term_y is None:
            return self.find_largest_entry(grad_x, grad_y)
        triples = (self.term_x, self.x, grad_x), (self.term_y, self.y, grad_y)
        return largest_entry(*(find_residual(*triple, 1.0) for triple in triples))

    def gap_in_y(
        self, curvature: float, *, noise: float = 0.0, eps: float = 0.0, reached: Reached | None = None
    ) -> BlockGap:
        """What y adds to a bound: see :func:`find_gap`."""
        return find_gap(self.term_y, self.y, self.grad_y, curvature, noise=noise, eps=eps, reached=reached)

    def estimate_in_y(self, curvature: float) -> float:
        """The same for an estimate, with a curvature that a run has seen."""
        if self.term_y is None:
            return half_square_over(self.grad_y_norm, curvature)
        return self.gap_in_y(curvature).value

    def residual_in_y(self, curvature: float) -> float:
        """The norm of :func:`find_residual` in y."""
        if self.term_y is None:
            return self.grad_y_norm
        return norm(find_residual(self.term_y, self.y, self.grad_y, curvature))

    def find_largest_entry(self, grad_x: Vector, grad_y: Vector) -> float:
        """The largest absolute entry of gradients here, in the units of the user's variables."""
        return largest_entry(grad_x, grad_y)

    @property
    def rounding(self) -> RoundingScale:
        """What determines the rounding errors in the gradients. Read it after the gradients."""
        if self._rounding is None:
            self._rounding = self._compute_rounding()
        return self._rounding

    def known_gradients(self) -> dict[str, Vector]:
        """Both gradients by the user's names, as far as they are known here."""
        return {"grad_x": self.grad_x, "grad_y": self.grad_y}

    def locate(self, gradient: str, index: int) -> str:
        """Where an entry of a gradient is, in the user's words; ``gradient`` is a name in :meth:`known_gradients`."""
        return f"index {index}"

    @property
    def nonfinite_place(self) -> str:
        """Where f is not finite, after "f is NaN or infinite", if no gradient tells it."""
        return ""

    @abstractmethod
    def _compute_value(self) -> float: ...

    @abstractmethod
    def _compute_grad_x(self) -> Vector: ...

    @abstractmethod
    def _compute_grad_y(self) -> Vector: ...

    def _compute_rounding(self) -> RoundingScale:
        return RoundingScale(machine_eps(self.x), norm(self.y))


def explain_nonfinite(evaluation: Evaluation) -> str:
    """Which number of an evaluation's gradients is not finite; if none is, f itself is not."""
    found = [
        f"{name}(x, y) returned {array[index]} at {evaluation.locate(name, int(index))}{place}"
        for name, gradient in evaluation.known_gradients().items()
        for place, array in _name_parts(gradient)
        for index in np.flatnonzero(~np.isfinite(array))[:1]
    ]
    what = " and ".join(found) or f"f is NaN or infinite{evaluation.nonfinite_place}"
    unknown = f"f may be infinite or undefined here, or {GRADIENT_MAY_BE_WRONG}"
    return f"{what}; {evaluation.cause_of_infinity or unknown}"


def _name_parts(vector: Vector) -> Iterator[tuple[str, Any]]:
    """The arrays in a vector, and which term of a Sum each belongs to, in words."""
    parts = parts_of(vector)
    for number, part in enumerate(parts):
        yield f" of term {number}" if len(parts) > 1 else "", to_numpy(part)

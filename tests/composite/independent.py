"""The minima of many small problems f + p + q at once, by a method and proximal maps that are not those of minmin."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import minmin
from minmin.problems import GLM, Composite, Quadratic
from minmin.terms import L1, Box, ElasticNet, GroupL2, L2Ball, Simplex, Term

WIDTH = 8
"""The most coordinates of a block."""


@dataclass
class Piece:
    """A term of one block, as arrays with one entry per coordinate."""

    size: int
    kind: str = "none"
    l1: np.ndarray = field(default=None)
    l2: np.ndarray = field(default=None)
    lower: np.ndarray = field(default=None)
    upper: np.ndarray = field(default=None)
    group: np.ndarray = field(default=None)
    radius: float = 1.0
    center: np.ndarray = field(default=None)

    def __post_init__(self):
        for name, default in (
            ("l1", 0),
            ("l2", 0),
            ("lower", -np.inf),
            ("upper", np.inf),
            ("group", -1),
            ("center", 0),
        ):
            if getattr(self, name) is None:
                setattr(self, name, np.full(self.size, default, dtype=np.int64 if name == "group" else np.float64))

    def to_term(self) -> Term | None:
        """The same as a term of minmin; ``l1`` holds a group's weight at its coordinates, ``radius`` the total."""
        labels = sorted(set(self.group.tolist()) - {-1})
        groups = [np.flatnonzero(self.group == label) for label in labels]
        return {
            "none": lambda: None,
            "L1": lambda: L1(self.l1),
            "ElasticNet": lambda: ElasticNet(self.l1, self.l2),
            "GroupL2": lambda: GroupL2([self.l1[group[0]] for group in groups], groups),
            "Box": lambda: Box(self.lower, self.upper),
            "Simplex": lambda: Simplex(self.radius),
            "L2Ball": lambda: L2Ball(self.radius, self.center),
        }[self.kind]()

    def rise(self, old: np.ndarray, new: np.ndarray) -> np.longdouble:
        """t(new) - t(old), where both are allowed."""
        if self.kind == "GroupL2":
            groups = [self.group == label for label in range(self.group.max() + 1)]
            return sum(self.l1[g][0] * (np.sqrt(np.sum(new[g] ** 2)) - np.sqrt(np.sum(old[g] ** 2))) for g in groups)
        return np.sum(self.l1 * (np.abs(new) - np.abs(old))) + np.sum(self.l2 * (new - old) * (new + old)) / 2

    def to_set(self, v: np.ndarray) -> np.ndarray:
        """A point next to the set that lies in it, in extended precision."""
        if self.kind == "Simplex":
            return v * (np.longdouble(self.radius) / np.sum(v))
        offset = v - self.center
        size = np.sqrt(np.sum(offset**2))
        return self.center + offset * (self.radius / size) if self.kind == "L2Ball" and size > self.radius else v


@dataclass
class Case:
    """f(z) + p(x) + q(y), z = (x, y), with f = ½zᵀHz + bᵀz, or the mean of log(1 + exp(-Az)) plus ½Σ alpha z²."""

    x: Piece
    y: Piece
    constants: minmin.Constants
    H: np.ndarray = None
    b: np.ndarray = None
    A: np.ndarray = None
    alpha: np.ndarray = None

    def f(self, dtype: str = "float64") -> minmin.Problem:
        """f as a problem of minmin."""
        if self.H is not None:
            return Quadratic(self.H.astype(dtype), self.b.astype(dtype), self.x.size, self.constants)
        X, Y = np.split(self.A.astype(dtype), [self.x.size], axis=1)
        alphas = {"alpha_x": float(self.alpha[0]), "alpha_y": float(self.alpha[-1])}
        return GLM(X, Y, np.ones(len(X), dtype=dtype), "logistic", **alphas)

    def problem(self, dtype: str = "float64") -> Composite:
        return Composite(self.f(dtype), self.x.to_term(), self.y.to_term())

    def rise(self, old: np.ndarray, new: np.ndarray) -> np.longdouble:
        """f + p + q at ``new`` minus that at ``old``, where the constraints hold; exact also where both are close."""
        d = self.x.size
        of_terms = self.x.rise(old[:d], new[:d]) + self.y.rise(old[d:], new[d:])
        move = new - old
        if self.H is not None:
            return move @ (self.gradient(old) + self.H @ move / 2) + of_terms
        before, after = self.A @ old, self.A @ new
        # log(1 + exp(-after)) - log(1 + exp(-before))
        losses = np.log1p(np.expm1(before - after) / (1 + np.exp(before)))
        return np.mean(losses) + np.sum(self.alpha * move * (old + new)) / 2 + of_terms

    def gradient(self, z: np.ndarray) -> np.ndarray:
        """∇f."""
        if self.H is not None:
            return self.H @ z + self.b
        slopes = -1 / (1 + np.exp(self.A @ z)) / len(self.A)
        return self.A.T @ slopes + self.alpha * z


@dataclass
class Minimum:
    """A minimiser and the minimum of a case."""

    case: Case
    x: np.ndarray
    y: np.ndarray

    def __post_init__(self):
        """``size`` is by how much f, which counts from f(0), and its terms differ from zero."""
        case = self.case
        pieces = zip((case.x, case.y), (self.x, self.y), strict=True)
        self._z = np.concatenate([piece.to_set(v.astype(np.longdouble)) for piece, v in pieces])
        self.size = abs(float(case.rise(0 * self._z, self._z)))

    def gap(self, x, y) -> float:
        """f + p + q above the minimum."""
        z = np.concatenate([np.asarray(x), np.asarray(y)]).astype(np.longdouble)
        return float(self.case.rise(self._z, z))


def find_minima(cases: list[Case], most_steps: int = 20000) -> list[Minimum]:
    """By accelerated proximal gradient with restarts, until no step moves any coordinate by more than rounding."""
    whole = _Batch(cases)
    found = np.zeros((len(cases), 2, WIDTH))
    rows = np.arange(len(cases))
    batch, z = whole, whole.prox(found)
    ahead, momentum = z, np.ones((len(rows), 1, 1))
    for step in range(most_steps):
        new = batch.prox(ahead - batch.steps * batch.gradient(ahead))
        back = ahead - new
        turns = np.sum(back * (new - z) / batch.steps, axis=(1, 2), keepdims=True) > 0
        momentum = np.where(turns, 1.0, momentum)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead, z, momentum = new + (momentum - 1) / following * (new - z), new, following
        if step % 50 == 49:
            found[rows] = z
            moving = batch.norm(back) > 4e-15 * (batch.norm(z) + batch.norm(batch.steps * batch.gradient(z)))
            if not moving.any():
                break
            rows, z, ahead, momentum = rows[moving], z[moving], ahead[moving], momentum[moving]
            batch = _Batch([cases[row] for row in rows])
    assert step < most_steps - 1, "the reference did not converge"
    return [Minimum(case, z[0, : case.x.size], z[1, : case.y.size]) for case, z in zip(cases, found, strict=True)]


class _Batch:
    """Cases side by side, with zeros for coordinates that a block does not have."""

    def __init__(self, cases: list[Case]):
        def stack(name, pad):
            rows = np.full((len(cases), 2, WIDTH), pad)
            for row, case in zip(rows, cases, strict=True):
                row[0, : case.x.size], row[1, : case.y.size] = getattr(case.x, name), getattr(case.y, name)
            return rows

        pieces = [piece for case in cases for piece in (case.x, case.y)]
        L = np.array([[[case.constants.L_x], [case.constants.L_y]] for case in cases])
        self.steps = 1 / L
        self.l1, self.l2 = stack("l1", 0.0), stack("l2", 0.0)
        self.lower, self.upper, self.center = stack("lower", 0.0), stack("upper", 0.0), stack("center", 0.0)
        self.lower_edge = np.array([[0.0] * p.size + [-np.inf] * (WIDTH - p.size) for p in pieces])
        self.radius = np.array([[piece.radius] for piece in pieces])
        self.rows = {
            kind: np.flatnonzero([piece.kind == kind for piece in pieces]) for kind in ("GroupL2", "Simplex", "L2Ball")
        }
        group = stack("group", -1).reshape(-1, WIDTH)[self.rows["GroupL2"]]
        self.members = (group[:, :, None] == np.arange(WIDTH)).astype(float)
        kinds = np.array([case.H is not None for case in cases], dtype=bool)
        self.quadratic, self.logistic = np.flatnonzero(kinds), np.flatnonzero(~kinds)
        columns = [np.r_[0 : c.x.size, WIDTH : WIDTH + c.y.size] for c in cases]
        self.H = np.zeros((len(self.quadratic), 2 * WIDTH, 2 * WIDTH))
        self.b = np.zeros((len(self.quadratic), 2 * WIDTH))
        for place, i in enumerate(self.quadratic):
            self.H[place][np.ix_(columns[i], columns[i])] = cases[i].H
            self.b[place, columns[i]] = cases[i].b
        samples = len(cases[self.logistic[0]].A) if len(self.logistic) else 0
        self.A = np.zeros((len(self.logistic), samples, 2 * WIDTH))
        self.alpha = np.zeros((len(self.logistic), 2 * WIDTH))
        for place, i in enumerate(self.logistic):
            self.A[place][:, columns[i]] = cases[i].A
            self.alpha[place, columns[i]] = cases[i].alpha

    def norm(self, z):
        """In units in which f has the same smoothness in both blocks."""
        return np.sqrt(np.sum(z * z / self.steps, axis=(1, 2)))

    def gradient(self, z):
        flat = z.reshape(len(z), -1)
        out = np.empty_like(flat)
        own = flat[self.quadratic]
        out[self.quadratic] = (self.H @ own[:, :, None])[:, :, 0] + self.b
        if len(self.logistic):
            own = flat[self.logistic]
            slopes = -1 / (1 + np.exp(self.A @ own[:, :, None])) / self.A.shape[1]
            out[self.logistic] = (slopes.transpose(0, 2, 1) @ self.A)[:, 0] + self.alpha * own
        return out.reshape(z.shape)

    def prox(self, v):
        steps = self.steps
        soft = np.sign(v) * np.maximum(np.abs(v) - steps * self.l1, 0)
        u = np.clip(soft / (1 + steps * self.l2), self.lower, self.upper)
        blocks, given = u.reshape(-1, WIDTH), v.reshape(-1, WIDTH)
        step_of = np.broadcast_to(steps, (len(v), 2, 1)).reshape(-1, 1)
        rows = self.rows["GroupL2"]
        if len(rows):
            norms = np.sqrt(self.members.transpose(0, 2, 1) @ (given[rows] ** 2)[:, :, None])
            norms = (self.members @ norms)[:, :, 0]
            weight = step_of[rows] * self.l1.reshape(-1, WIDTH)[rows]
            factor = 1 - np.minimum(weight / np.where(norms > 0, norms, 1), 1)
            blocks[rows] = given[rows] * np.where(weight > 0, factor, 1)
        rows = self.rows["Simplex"]
        if len(rows):
            w = given[rows] + self.lower_edge[rows]
            ordered = -np.sort(-w, axis=1)
            excess = np.cumsum(ordered, axis=1) - self.radius[rows]
            counts = np.arange(1, WIDTH + 1)
            last = np.sum(ordered * counts > excess, axis=1, keepdims=True)
            blocks[rows] = np.maximum(w - np.take_along_axis(excess, last - 1, axis=1) / last, 0)
        rows = self.rows["L2Ball"]
        if len(rows):
            offset = given[rows] - self.center.reshape(-1, WIDTH)[rows]
            size = np.linalg.norm(offset, axis=1, keepdims=True)
            short = np.minimum(1, self.radius[rows] / np.where(size > 0, size, 1))
            blocks[rows] = self.center.reshape(-1, WIDTH)[rows] + offset * short
        return u

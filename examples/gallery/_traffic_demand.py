"""Demand for the transport page: how trips respond to travel times, and a bracket of the optimum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from _traffic import Array, Links, TravelTimes

MOST_SCALINGS = 2_000
MOST_DUE_TO_GAMMA = 0.9
MOST_TRIES = 6


class UnbalancedError(ValueError):
    """No potentials were found that balance the trips."""


class Dual(NamedTuple):
    """What demand adds to f at given travel times and potentials y, with the trips and the gradient in y."""

    value: float
    trips: Array
    grad_y: Array


class Demand(Protocol):
    """How many trips there are between zones."""

    d_y: int

    def dual(self, times: Array, y: Array) -> Dual: ...

    def respond(self, times: Array) -> tuple[Array, float]:
        """The trips at these travel times, and the least of cost(trips) + Σ trips·times."""

    def cost(self, trips: Array) -> float: ...


class FixedTrips:
    """A trip table that does not change. There are no potentials: y is one number that only adds ½y²."""

    d_y = 1

    def __init__(self, table: Array):
        self.table = table

    def __str__(self) -> str:
        return "fixed trips"

    def dual(self, times: Array, y: Array) -> Dual:
        return Dual(0.5 * float(y @ y) - self.respond(times)[1], self.table, y)

    def respond(self, times: Array) -> tuple[Array, float]:
        return self.table, float(np.sum(self.table * np.where(self.table > 0.0, times, 0.0)))

    def cost(self, trips: Array) -> float:
        return 0.0


class BalancedTrips:
    """Trips q·e^{β(λ_i + μ_j - T_ij)} whose rows and columns add up to those of a table.

    q_ij is O_i·D_j over the number of trips, for the pairs that have trips in the table, and 0 for the others. So there
    are finite potentials that balance the trips: y = (λ, μ). A constant that is added to λ and taken from μ changes
    nothing. Gradients fix it: Σλ - Σμ stays what it was at the start.
    """

    def __init__(self, table: Array, beta: float):
        self.out, self.into, self.beta = table.sum(axis=1), table.sum(axis=0), beta
        self.q = np.where(table > 0.0, np.outer(self.out, self.into) / table.sum(), 0.0)
        self.d_y = sum(table.shape)

    def __str__(self) -> str:
        return f"β = {self.beta:g}"

    def dual(self, times: Array, y: Array) -> Dual:
        """(1/β)Σq(e^{β(λ_i + μ_j - T_ij)} - 1) - λO - μD."""
        lam, mu = y[: len(self.out)], y[len(self.out) :]
        with np.errstate(over="ignore"):
            trips = self.q * np.exp(self.beta * np.where(self.q > 0.0, lam[:, None] + mu - times, 0.0))
        value = (trips.sum() - self.q.sum()) / self.beta - lam @ self.out - mu @ self.into
        grad_y = np.concatenate([trips.sum(axis=1) - self.out, trips.sum(axis=0) - self.into])
        return Dual(float(value), trips, grad_y)

    def respond(self, times: Array) -> tuple[Array, float]:
        """By matrix scaling: rows and columns in turn, until both add up."""
        least = np.min(np.where(self.q > 0.0, times, np.inf), axis=1)
        kernel = self.q * np.exp(-self.beta * np.where(self.q > 0.0, times - least[:, None], np.inf))
        columns = np.ones(len(self.into))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for _ in range(MOST_SCALINGS):
                rows = self.out / (kernel @ columns)
                reached = rows @ kernel
                if np.max(np.abs(columns * reached / self.into - 1.0)) <= 1e-12:
                    break
                columns = self.into / reached
            else:
                raise UnbalancedError("matrix scaling did not balance the trips; try a smaller beta")
        trips = rows[:, None] * kernel * columns
        potentials = self.out @ (np.log(rows) / self.beta + least) + self.into @ np.log(columns) / self.beta
        return trips, float(potentials - (trips.sum() - self.q.sum()) / self.beta)

    def cost(self, trips: Array) -> float:
        """(1/β)Σ(d log(d/q) - d + q) for trips d: how far they are from q."""
        some = trips > 0.0
        entropy = np.sum(trips[some] * np.log(trips[some] / self.q[some]))
        return float(entropy - trips.sum() + self.q.sum()) / self.beta


class Bracket:
    """Two proved limits of the optimum of Σσ(v) + cost(trips): ``low`` by shortest paths, ``high`` by feasible flows.

    Any times of links give a lower limit, the dual value, and any flows that carry balanced trips an upper one. Every
    sweep gives both; the best are kept, with ``flows`` and ``trips``. ``history`` has the relative width after each.
    ``excess`` is how much longer trips took on soft paths than on shortest ones, in the newest sweep.
    """

    def __init__(self, travel: TravelTimes, links: Links, demand: Demand, goal: float):
        self.links, self.demand, self.goal = links, demand, goal
        self.low, self.high = -np.inf, np.inf
        self.flows: Array | None = None
        self.trips: Array | None = None
        self.excess = 0.0
        self.history: list[float] = []
        travel.watch = self.visit

    def visit(self, sweep: Any) -> None:
        """Take a sweep into account: its shortest times, and the flows on its soft paths."""
        self.history.append(self.width)
        try:
            value, trips = self.demand.respond(sweep.shortest)[1], self.demand.respond(sweep.soft)[0]
        except UnbalancedError:  # far from the optimum, such as in the search for a step
            return
        self.low = max(self.low, value - self.links.conjugate(self.links.delay(sweep.times)))
        flows = sweep.load(trips)
        self.excess = float(flows @ sweep.times - np.sum(trips * np.where(trips > 0.0, sweep.shortest, 0.0)))
        self.offer(flows, trips)

    def offer(self, flows: Array, trips: Array) -> None:
        """Take these flows into account; they must carry these trips."""
        value = self.links.cost(flows) + self.demand.cost(trips)
        if value < self.high:
            self.high, self.flows, self.trips = value, flows, trips
        self.history[-1] = self.width

    @property
    def width(self) -> float:
        return (self.high - self.low) / self.low if self.low > 0.0 else np.inf

    @property
    def sweeps(self) -> int | None:
        """How many sweeps it took until the bracket was narrow; None if it is not."""
        return next((i for i, width in enumerate(self.history, 1) if width <= self.goal), None)

    @property
    def is_narrow(self) -> bool:
        return self.width <= self.goal

    @property
    def ends_try(self) -> bool:
        """Whether it is narrow, or almost as narrow as γ allows: ``excess`` is what γ alone causes."""
        return self.is_narrow or self.excess > MOST_DUE_TO_GAMMA * (self.high - self.low)

    @property
    def outcome(self) -> str:
        """The sweeps it took; if it is not narrow, also how wide it is."""
        return str(self.sweeps or f"{len(self.history)} ({self.width:.1e} wide)")

    def __str__(self) -> str:
        return f"{self.low:.8g} <= optimum <= {self.high:.8g}, sweeps: {self.outcome}"


class Case:
    """What a method works on, with the bracket that watches it."""

    def __init__(self, travel: TravelTimes, links: Links, demand: Demand, goal: float):
        self.travel, self.links, self.demand = travel, links, demand
        self.bracket = Bracket(travel, links, demand, goal)

    def stops(self, record: Any) -> bool:
        """To be called after each step of minmin."""
        return self.bracket.ends_try

    def tries(self, most: int) -> Iterator[int]:
        """The sweeps that are left, while the bracket is not narrow. Before each new try γ falls to a quarter."""
        for _ in range(MOST_TRIES):
            yield most - self.travel.count
            if self.bracket.is_narrow or self.travel.count >= most:
                return
            self.travel.gamma /= 4.0

"""Other methods for the transport page: Evans' and Frank and Wolfe's, joint L-BFGS, and column generation.

Each runs until the bracket is narrow, or there were ``most`` sweeps.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
from _traffic import Array, Roads, Sweep, TravelTimes
from _traffic_demand import Case, UnbalancedError
from scipy.optimize import minimize, minimize_scalar
from scipy.sparse import csr_array

from minmin.problems import Function

_Path = tuple[int, int, tuple[int, ...]]
"""The row and the column of a pair of zones, and the links of a path between them."""


def partial_linearization(case: Case, most: int) -> None:
    """Evans' method; with fixed trips, the method of Frank and Wolfe.

    At the present link times, find the trips and load them on shortest paths. Then go towards these trips and flows, as
    far as is best. It ends early if times become so long that the trips cannot be balanced.
    """
    links, demand, bracket = case.links, case.demand, case.bracket

    def respond(times: Array) -> tuple[Array, Array]:
        sweep = case.travel.at(times)
        trips = demand.respond(sweep.shortest)[0]
        return trips, sweep.load_shortest(trips)

    def cost(step: float, trips: Array, flows: Array, to_trips: Array, to_flows: Array) -> float:
        return demand.cost(trips + step * to_trips) + links.cost(flows + step * to_flows)

    trips, flows = respond(links.free)
    bracket.offer(flows, trips)
    while not bracket.is_narrow and case.travel.count < most:
        try:
            new_trips, new_flows = respond(links.times(flows))
        except UnbalancedError:
            return
        now = (trips, flows, new_trips - trips, new_flows - flows)
        step = minimize_scalar(cost, args=now, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-8}).x
        trips, flows = trips + step * now[2], flows + step * now[3]
        bracket.offer(flows, trips)


class _FinishedError(Exception):
    """Ends a run of SciPy."""


def joint_lbfgs(
    case: Case, pose: Callable[[Case, Array], Function], weight: Array, least: Array, scale: float, most: int
) -> None:
    """SciPy's L-BFGS-B on x and y together; y counts in units of ``scale``. No delay is less than ``least``."""
    problem, x0 = pose(case, weight), weight * case.links.rise

    def evaluate(z: Array) -> tuple[float, Array]:
        x, y = z[: len(x0)], scale * z[len(x0) :]
        value, gradient = problem.value(x, y), np.concatenate([problem.grad_x(x, y), scale * problem.grad_y(x, y)])
        now[:] = z
        if case.bracket.ends_try or case.travel.count >= most:
            raise _FinishedError
        return value, gradient

    now = np.concatenate([x0, np.zeros(problem.d_y)])
    bounds = [(low, None) for low in weight * least] + [(None, None)] * problem.d_y
    options = {"maxiter": 10**6, "maxfun": 10**6, "maxcor": 30, "ftol": 0.0, "gtol": 0.0}
    for _ in case.tries(most):
        with suppress(_FinishedError):
            minimize(evaluate, now.copy(), jac=True, method="L-BFGS-B", bounds=bounds, options=options)


class Paths(TravelTimes):
    """Travel times over known paths alone: they take no sweep."""

    def __init__(self, roads: Roads, shape: tuple[int, int], known: set[_Path]):
        super().__init__(roads.gamma)
        self.shape = shape
        paths = sorted(known)
        self.pair = np.array([row * shape[1] + column for row, column, _ in paths])
        rows = np.repeat(np.arange(len(paths)), [len(links) for _, _, links in paths])
        columns = [link for _, _, links in paths for link in links]
        self.uses = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(paths), len(roads.head)))

    def sweep(self, times: Array) -> PathTimes:
        return PathTimes(self, times)


class PathTimes:
    """What a :class:`Sweep` says, over known paths."""

    def __init__(self, paths: Paths, times: Array):
        self.paths, self.times = paths, times
        shortest, walks = np.full(np.prod(paths.shape), np.inf), np.zeros(np.prod(paths.shape))
        of_path = paths.uses @ times
        np.minimum.at(shortest, paths.pair, of_path)
        share = np.exp((shortest[paths.pair] - of_path) / paths.gamma)
        np.add.at(walks, paths.pair, share)
        self.share = share / walks[paths.pair]
        self.shortest = shortest.reshape(paths.shape)
        self.soft = self.shortest - paths.gamma * np.log(np.maximum(walks, 1.0)).reshape(paths.shape)

    def load(self, trips: Array) -> Array:
        return (trips.reshape(-1)[self.paths.pair] * self.share) @ self.paths.uses


def column_generation(case: Case, solve: Callable[[Case], Array], most: int) -> None:
    """Find the optimum over known paths, then sweep at its link times to find more paths; repeat while there are any.

    ``solve(case)`` returns the link times of the optimum over known paths.
    """
    roads, bracket = case.travel, case.bracket
    sweep = roads.at(case.links.free)
    pairs = np.argwhere(case.demand.respond(sweep.shortest)[0] > 0.0).tolist()
    known, found = set(), _trace(sweep, pairs)
    while not bracket.is_narrow and roads.count < most and not found <= known:
        known |= found
        over_known = Case(Paths(roads, sweep.shortest.shape, known), case.links, case.demand, 0.8 * bracket.goal)
        times = solve(over_known)
        roads.gamma = over_known.travel.gamma
        sweep = roads.at(times)
        if over_known.bracket.flows is not None:
            bracket.offer(over_known.bracket.flows, over_known.bracket.trips)
        found = _trace(sweep, pairs)


def _trace(sweep: Sweep, pairs: list[list[int]]) -> set[_Path]:
    """The shortest paths of pairs; the links of each from its end."""
    roads, found = sweep.roads, set()
    row, link = np.nonzero(sweep.in_tree)
    last_link = np.full(sweep.distance.shape, -1)
    last_link[row, roads.head[link]] = link
    for i, j in pairs:
        path, node = [], roads.destinations[j]
        while node != roads.origins[i]:
            path.append(int(last_link[i, node]))
            node = roads.tail[path[-1]]
        found.add((i, j, tuple(path)))
    return found

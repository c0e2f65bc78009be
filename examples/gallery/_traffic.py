"""Roads for the transport page: data, the times of links, and sweeps of shortest paths between zones.

Times are in the network's units, flows and trips in one common unit. Arrays over pairs of zones have a row for each
zone where trips begin, and a column for each zone where trips end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from minmin.datasets import TntpNetwork, load_tntp_network, load_tntp_nodes, load_tntp_trips

Array = np.ndarray[Any, Any]
MOST_LINKS = 10_000
"""Of a walk; the sum over walks should end long before."""
MOST_HALVINGS = 12
SLOWER = 0.15
"""How much slower a link is at capacity than empty."""


class Traffic:
    """A network and its trips, from ``prefix_net.tntp`` and ``prefix_trips.tntp``. Trips are in units of ``unit``.

    ``trips`` has no empty rows and columns: those of ``origins`` and ``destinations`` are left. Trips within a zone use
    no roads; they are left out.
    """

    def __init__(self, prefix: Any, unit: float):
        self.network = load_tntp_network(f"{prefix}_net.tntp")
        table = load_tntp_trips(f"{prefix}_trips.tntp") / unit
        if len(table) != self.network.zones:
            raise ValueError(f"the network has {self.network.zones} zones, but the trip table has {len(table)}")
        np.fill_diagonal(table, 0.0)
        self.origins, self.destinations = np.flatnonzero(table.any(axis=1)), np.flatnonzero(table.any(axis=0))
        if not len(self.origins):
            raise ValueError("there are no trips between zones")
        self.trips = table[np.ix_(self.origins, self.destinations)]
        self.links = Links(self.network, unit)
        self.nodes = load_tntp_nodes(f"{prefix}_node.tntp") if Path(f"{prefix}_node.tntp").exists() else None
        if self.nodes is not None and len(self.nodes) < self.network.nodes:
            raise ValueError(f"{prefix}_node.tntp has {len(self.nodes)} nodes, but the network {self.network.nodes}")

    @cached_property
    def mean_time(self) -> float:
        """The mean time of a trip on empty roads."""
        times = Roads(self, np.nan).sweep(self.links.free).shortest
        cut_off = np.argwhere((self.trips > 0.0) & np.isinf(times))
        if len(cut_off):
            origin, destination = self.origins[cut_off[0, 0]] + 1, self.destinations[cut_off[0, 1]] + 1
            raise ValueError(
                f"there are trips from zone {origin} to zone {destination}, but no path; add links, or remove the trips"
            )
        mean = float(np.sum(self.trips * np.where(self.trips > 0.0, times, 0.0)) / self.trips.sum())
        if mean == 0.0:
            raise ValueError("every trip has a path of links with time 0, so there is nothing to find")
        return mean

    def choose_gamma(self) -> float:
        """About a thousandth of the mean time of a trip. It is less if the sum over walks would not converge fast."""
        gamma = float(f"{self.mean_time / 900.0:.1g}")
        for _ in range(MOST_HALVINGS):
            if self._has_fast_sum(gamma):
                return gamma
            gamma /= 2.0
        raise ValueError("links of time 0 form a circle; give them a small positive time")

    def _has_fast_sum(self, gamma: float) -> bool:
        """Whether the matrix A = exp(-t/γ) has a spectral radius below 1/2 on empty roads, where it is largest.

        That is so if for some number of links k, (2A)ᵏ maps the vector of ones to a vector below it.
        """
        roads = Roads(self, gamma)
        onward, weight = np.ones(roads.size), 2.0 * np.exp(-self.links.free / gamma)
        for _ in range(roads.size):
            onward = roads.to_tail.T @ (weight * onward[roads.head])
            if not 1.0 <= onward.max() < 1e100:
                break
        return bool(onward.max() < 1.0)


class Links:
    """Times t = free + rise·(v/capacity)^power of links at a flow v, their integrals over v, and the conjugates.

    Some files have a capacity of 1 for every link, and a tiny b. So ours is not that of the file, but the flow at which
    a link is 15 % slower than empty: rise = 0.15·free. That is the same if b = 0.15, as in most files.

    ``varies`` marks the links whose time depends on the flow. The others keep ``free``, their only time.
    """

    def __init__(self, network: TntpNetwork, unit: float = 1.0):
        time, b, power = network.free_flow_time, network.b, network.power
        self.varies = (time > 0.0) & (b > 0.0) & (power > 0.0)
        if not self.varies.any():
            raise ValueError("no link's time depends on its flow, so there is nothing to find")
        if not (network.capacity[self.varies] > 0.0).all():
            raise ValueError("a link with b > 0 and power > 0 has the capacity 0; give it a positive one, or b = 0")
        self.free = np.where(power > 0.0, time, time * (1.0 + b))
        self.rise, self.power = SLOWER * time[self.varies], power[self.varies]
        self.capacity = network.capacity[self.varies] / unit * (SLOWER / b[self.varies]) ** (1.0 / self.power)

    def times(self, flows: Array) -> Array:
        return self.fill(self.rise * (flows[self.varies] / self.capacity) ** self.power)

    def fill(self, delay: Array) -> Array:
        """The times of all links, if those that vary take longer than ``free`` by ``delay``."""
        times = self.free.copy()
        times[self.varies] += delay
        return times

    def delay(self, times: Array) -> Array:
        """The inverse of ``fill``."""
        return np.maximum(times - self.free, 0.0)[self.varies]

    def least_delay(self, cost: float) -> Array:
        """Delays at flows so small that they add no more than ``cost`` to Σσ* in all."""
        share = cost / (len(self.rise) * self.capacity * self.rise)
        return self.rise * np.minimum(share, 1.0) ** (self.power / (self.power + 1.0))

    def cost(self, flows: Array) -> float:
        """Σσ(v), where σ(v) is the integral of the time from flow 0 to v."""
        v = flows[self.varies]
        return float(self.free @ flows + np.sum(self.rise * v * (v / self.capacity) ** self.power / (self.power + 1.0)))

    def conjugate(self, delay: Array) -> float:
        """Σσ*(free + delay): the largest Σ(v·t - σ(v)) over flows v >= 0."""
        return float(np.sum(self.flows_at(delay) * delay * self.power / (self.power + 1.0)))

    def flows_at(self, delay: Array) -> Array:
        """The flows that cause these delays; also the derivative of σ*."""
        return self.capacity * (delay / self.rise) ** (1.0 / self.power)


class TravelTimes:
    """``at(times)`` says how long trips take at given times of links; ``count``, how many different times there were.

    ``gamma`` is the temperature; you may change it. The newest few answers are kept. ``watch`` is called with each new
    one.
    """

    def __init__(self, gamma: float) -> None:
        self.gamma = gamma
        self.watch: Callable[[Any], None] | None = None
        self._cached = lru_cache(maxsize=8)(lambda key, gamma: self._compute(np.frombuffer(key)))

    def at(self, times: Array) -> Any:
        return self._cached(times.tobytes(), self.gamma)

    @property
    def count(self) -> int:
        return self._cached.cache_info().misses

    def _compute(self, times: Array) -> Any:
        answer = self.sweep(times)
        if self.watch is not None:
            self.watch(answer)
        return answer

    def sweep(self, times: Array) -> Any:
        raise NotImplementedError


class Roads(TravelTimes):
    """Travel times between zones over all paths: each takes a sweep, with shortest paths from every origin."""

    def __init__(self, traffic: Traffic, gamma: float):
        super().__init__(gamma)
        network = traffic.network
        # A node that paths may not pass through is two: one where paths end, and one, further back, where they begin.
        nodes, first = network.nodes, network.first_thru_node
        self.tail = np.where(network.init_node < first, network.init_node + nodes, network.init_node)
        self.head = network.term_node
        self.origins = np.where(traffic.origins < first, traffic.origins + nodes, traffic.origins)
        self.destinations, self.size = traffic.destinations, 2 * nodes
        links = np.arange(len(self.head))
        self.to_head = csr_array((np.ones(len(links)), (links, self.head)), shape=(len(links), self.size))
        self.to_tail = csr_array((np.ones(len(links)), (links, self.tail)), shape=(len(links), self.size))

    def sweep(self, times: Array) -> Sweep:
        return Sweep(self, times)


class Sweep:
    """Shortest travel times between zones at given times of links, and soft ones, which are smooth in these.

    The soft time of a pair is -γ log Σ exp(-c/γ), summed over all walks from origin to destination, where c is the time
    of the walk. Like the shortest time it is concave in the times of links, and it is never above it. The sums run over
    reduced costs, t + d(tail) - d(head) for a link, d the shortest times from the origin. All are >= 0, and 0 along
    shortest paths, so nothing overflows.
    """

    def __init__(self, roads: Roads, times: Array):
        self.roads, self.times, self.gamma = roads, times, roads.gamma
        tail, head = roads.tail, roads.head
        order = np.lexsort((times, head, tail))  # of several links between the same nodes, the fastest comes first
        fastest = order[np.diff(tail[order] * roads.size + head[order], prepend=-1) != 0]
        graph = csr_array((times[fastest], (tail[fastest], head[fastest])), shape=(roads.size, roads.size))
        self.distance, previous = dijkstra(graph, indices=roads.origins, return_predecessors=True)
        self.shortest = self.distance[:, roads.destinations]
        self.in_tree = np.zeros((len(roads.origins), len(times)))
        self.in_tree[:, fastest] = previous[:, head[fastest]] == tail[fastest]

    @cached_property
    def weight(self) -> Array:
        """exp(-reduced cost/γ) for each origin and link; 0 for links that cannot be reached."""
        d, tail, head = self.distance, self.roads.tail, self.roads.head
        reachable = np.isfinite(d[:, tail])
        reduced = self.times + np.where(reachable, d[:, tail], 0.0) - np.where(reachable, d[:, head], 0.0)
        return np.where(reachable, np.exp(-np.maximum(reduced, 0.0) / self.gamma), 0.0)

    @cached_property
    def walks(self) -> Array:
        """Σ exp(-reduced cost/γ) over the walks from each origin to each node; at least 1 where there are any."""
        start = np.zeros_like(self.distance)
        start[np.arange(len(start)), self.roads.origins] = 1.0
        return sum_walks(start, self.weight, self.roads.tail, self.roads.to_head)

    @cached_property
    def soft(self) -> Array:
        return self.shortest - self.gamma * np.log(np.maximum(self.walks[:, self.roads.destinations], 1.0))

    def load(self, trips: Array) -> Array:
        """The flows on links if trips use walks in proportion to exp(-c/γ): the derivative of Σ trips·soft."""
        begun = self.walks[:, self.roads.tail] * self.weight
        share = trips / np.maximum(self.walks[:, self.roads.destinations], 1.0)
        return self._carry(share, self.weight, begun)

    def load_shortest(self, trips: Array) -> Array:
        """The flows on links if every trip takes a shortest path."""
        return self._carry(trips, self.in_tree, self.in_tree)

    def _carry(self, arriving: Array, weight: Array, begun: Array) -> Array:
        start = np.zeros_like(self.walks)
        start[:, self.roads.destinations] = arriving
        onward = sum_walks(start, weight, self.roads.head, self.roads.to_tail)
        return np.sum(begun * onward[:, self.roads.head], axis=0)


def sum_walks(start: Array, weight: Array, entry: Array, to_exit: csr_array) -> Array:
    """Sums over all walks from ``start``, by their number of links; a row per origin, a column per node."""
    total, term, largest = start.copy(), start, start.max()
    with np.errstate(invalid="ignore"):  # trips may be infinite far from the optimum; the sums are NaN then
        for _ in range(MOST_LINKS):
            term = (term[:, entry] * weight) @ to_exit
            total += term
            if not term.max() > 1e-17 * largest:
                return total
            if not total.max() < 1e100 * largest:
                break
    raise ValueError("the sum over walks diverges: take a smaller --gamma, unless links of time 0 form a circle")

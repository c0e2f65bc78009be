r"""
Transport: trips and travel times together
==========================================

Where do people go, and which way? In the model of Evans (1976) both depend on travel times, and travel times depend on
how many take the same roads. Its dual is jointly convex in two blocks:

.. math::

   f(t, \lambda, \mu) = \sum_a \sigma_a^*(t_a)
   + \frac1\beta \sum_{ij} q_{ij} \left(e^{\beta(\lambda_i + \mu_j - T_{ij}(t))} - 1\right)
   - \sum_i \lambda_i O_i - \sum_j \mu_j D_j

- x is the time :math:`t_a` of every link. It is **expensive**: each new t takes a *sweep*, which finds the shortest
  times :math:`T_{ij}(t)` from all origins to all destinations.
- y holds the potentials λ and μ, which balance the trips :math:`q_{ij} e^{\beta(\lambda_i + \mu_j - T_{ij})}`: those
  from zone i must add up to :math:`O_i`, those to zone j to :math:`D_j`. It is **cheap**: it needs no new sweep.

:math:`\sigma_a` is the integral of a link's time over its flow, :math:`\sigma_a^*` its conjugate. The larger β, the
more people avoid long trips. The network is Sioux Falls in South Dakota: 76 links, 24 zones. For others in the TNTP
format, ``python transport.py folder/Anaheim --beta 0.1`` reads ``folder/Anaheim_net.tntp``, ``..._trips.tntp`` and,
for the map, ``..._node.tntp``.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from _traffic import Roads, Traffic
from _traffic_demand import BalancedTrips, Case, FixedTrips
from _traffic_methods import column_generation, joint_lbfgs, partial_linearization
from _traffic_pictures import draw_brackets, draw_map, print_table, show

import minmin

DATA = Path(os.environ.get("MINMIN_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
parser = argparse.ArgumentParser()
parser.add_argument("prefix", nargs="?", default=DATA / "transport" / "SiouxFalls")
parser.add_argument("--beta", type=float, nargs="+", default=[0.029, 0.2])
parser.add_argument("--gamma", type=float, help="the temperature at first; default: about 1/1000 of the time of a trip")
parser.add_argument("--most", type=int, default=2500, help="the most sweeps of a method")
options = parser.parse_args()
traffic = Traffic(options.prefix, unit=1000.0)
links = traffic.links

# %%
# A smooth f, and a bracket
# -------------------------
# Shortest times have kinks. We replace them by soft ones with a small temperature γ, about a thousandth of the time of
# a trip. That moves the minimum a little, but no proof rests on it. At every sweep we compute two limits of the
# optimum: from below the dual value at the true shortest times, from above the cost of flows that carry balanced trips.
# A method is done when this *bracket* is narrower than 1e-4 of the optimum. Where γ alone makes it wider, γ falls.
# The modules beside this script do that: :download:`_traffic.py <../../examples/gallery/_traffic.py>`,
# :download:`_traffic_demand.py <../../examples/gallery/_traffic_demand.py>`,
# :download:`_traffic_methods.py <../../examples/gallery/_traffic_methods.py>` and
# :download:`_traffic_pictures.py <../../examples/gallery/_traffic_pictures.py>`.
goal = 1e-4
gamma = options.gamma or traffic.choose_gamma()
least = links.least_delay(0.1 * goal * traffic.trips.sum() * traffic.mean_time)  # see "solve"
print(f"{len(links.free)} links, mean time of a trip on empty roads {traffic.mean_time:.2f}, γ = {gamma:g}")

# %%
# The function
# ------------
# ∇ₓf is the flow that causes the times t, minus the flow of the trips. x is measured in a unit of its own for each
# link, 1 / ``weight``: ``by_curvature`` gives σ* the curvature 1 at capacity, ``as_it_is`` leaves the file's unit.
by_curvature, as_it_is = np.sqrt(links.capacity / (links.power * links.rise)), np.ones(len(links.rise))


def pose(case, weight):
    def look(x, y):
        sweep = case.travel.at(links.fill(x / weight))  # computed once for each x
        return sweep, case.demand.dual(sweep.soft, y)

    def grad_x(x, y):
        sweep, dual = look(x, y)
        return (links.flows_at(x / weight) - sweep.load(dual.trips)[links.varies]) / weight

    return minmin.problems.Function(
        lambda x, y: links.conjugate(x / weight) + look(x, y)[1].value,
        grad_x,
        lambda x, y: look(x, y)[1].grad_y,
        d_x=len(weight),
        d_y=case.demand.d_y,
    )


# %%
# minmin takes ``reduced-lbfgs``, which minimises over y at every x. It starts with all links at capacity. Times stay a
# little above those of empty roads, where σ* has infinite curvature. That widens the bracket by 0.1 ``goal`` at most.
def solve(case, weight=by_curvature):
    x, y, bounds = weight * links.rise, np.zeros(case.demand.d_y), [(low, None) for low in weight * least]
    for left in case.tries(options.most):  # the next one has a smaller γ
        r = minmin.minimize(pose(case, weight), x, y, bounds_x=bounds, tol=0.0, max_grad_x=left, callback=case.stops)
        x, y = r.x, r.y
    return links.fill(x / weight)


# %%
# Other methods
# -------------
# - Evans' method goes from the present trips and flows towards those of shortest paths. With fixed trips it is the
#   method of Frank and Wolfe.
# - SciPy's L-BFGS-B minimises the same f over x and y together. It depends on the unit of y, which must suit that of x.
# - Column generation is not of our form: it remembers paths, and finds the optimum over these without a sweep (here by
#   minmin). It needs memory for all paths, but by far the fewest sweeps. If you can, use it.
def compete(demand, units):
    brackets = {}

    def run(name, method, *settings):
        case = Case(Roads(traffic, gamma), links, demand, goal)
        method(case, *settings)
        brackets[name] = case.bracket
        print(f"{demand!s:12} {name:26} {case.bracket}", flush=True)

    run("minmin", solve)
    run("minmin, unscaled", solve, as_it_is)
    for name, (weight, unit_of_y) in units.items():
        run(f"joint L-BFGS, {name}", joint_lbfgs, pose, weight, least, unit_of_y, options.most)
    run("Evans, Frank–Wolfe", partial_linearization, options.most)
    run("column generation", column_generation, solve, options.most)
    return brackets


units = {"well scaled": (by_curvature, 3.0), "badly scaled": (by_curvature, 0.1), "unscaled": (as_it_is, 1.0)}
panels = {f"β = {beta:g}": compete(BalancedTrips(traffic.trips, beta), units) for beta in options.beta}

# %%
# With fixed trips there is no y. minmin then gets one number that adds only ½y², and a joint run is L-BFGS in x. The
# published optimum of Sioux Falls, 4231.335287 in units of 1000 trips, lies in every bracket.
del units["badly scaled"]
panels["fixed trips"] = compete(FixedTrips(traffic.trips), units)

# %%
# What it takes
# -------------
# Sweeps until the bracket is narrow. To eliminate y saves much where the unit of y is wrong, and some where nothing is
# scaled. It saves nothing against a joint run in good units, but nobody has to find these, and they differ with β. On
# networks with little traffic Evans' method takes a few sweeps, fewer than minmin.
print_table(panels)
draw_brackets(panels)

# %%
# The flows at the first β, by minmin:
first = panels[f"β = {options.beta[0]:g}"]
draw_map(traffic, first["minmin"].flows)
show()
counts = {name: bracket.sweeps for name, bracket in first.items()}

"""The page on transport: few sweeps on Sioux Falls, and right travel times, gradients and brackets on any network."""

import os
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

import minmin
from gallery.conftest import check_front

ROOT = Path(__file__).parents[2]
SIOUX_FALLS = Path(os.environ.get("MINMIN_DATA") or ROOT.parent / "shared" / "data") / "transport" / "SiouxFalls"
PUBLISHED = 42.31335287
MOST = 200
"""The most sweeps of a method in the tests; one that would need more has None for its sweeps."""

# Zones 1 to 3 lie between the thru nodes 4 to 6. The short way from 1 to 3 leads through zone 2, which is not allowed.
# Two links join 4 and 5; some times do not depend on the flow; powers differ.
TINY_LINKS = """
1 2 9 1 1 0.15 4 0 0 1 ;
2 3 9 1 1 0.15 4 0 0 1 ;
1 4 9 1 0 0.15 4 0 0 1 ;
4 5 4 1 3 0.15 4 0 0 1 ;
4 5 5 1 4 1.00 1 0 0 1 ;
5 4 6 1 2 0.50 2 0 0 1 ;
4 6 5 1 2 0.15 0 0 0 1 ;
6 5 4 1 2 0.15 2.5 0 0 1 ;
5 3 9 1 1 0.00 4 0 0 1 ;
5 2 9 1 2 0.15 4 0 0 1 ;
2 4 9 1 1 0.15 4 0 0 1 ;
"""
TINY_TRIPS = "Origin 1\n1 : 5; 2 : 8; 3 : 6;\nOrigin 2\n3 : 7;\nOrigin 3\n1 : 0;\n"


def write_network(prefix, zones, nodes, first_thru_node, links, trips):
    lines = links.strip().splitlines()
    head = f"<NUMBER OF ZONES> {zones}\n<NUMBER OF NODES> {nodes}\n<FIRST THRU NODE> {first_thru_node}\n"
    head += f"<NUMBER OF LINKS> {len(lines)}\n<END OF METADATA>\n\n"
    Path(f"{prefix}_net.tntp").write_text(head + "\n".join(lines))
    Path(f"{prefix}_trips.tntp").write_text(f"<NUMBER OF ZONES> {zones}\n<END OF METADATA>\n{trips}")
    return prefix


@pytest.fixture(scope="module")
def run_page():
    """A function that runs the script with arguments and returns its names."""
    script = ROOT / "examples" / "gallery" / "transport.py"
    backend = mpl.get_backend()
    mpl.use("agg")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(script.parent)

        def run(*arguments):
            patch.setattr(sys, "argv", [str(script), *map(str, arguments)])
            return SimpleNamespace(**runpy.run_path(str(script), run_name="__main__"))

        yield run
    mpl.pyplot.close("all")
    mpl.use(backend)


@pytest.fixture(scope="module")
def sioux_falls(run_page):
    if not Path(f"{SIOUX_FALLS}_net.tntp").exists():
        pytest.skip("Sioux Falls is not beside the project (../shared/data/transport)")
    return run_page("--most", MOST)


@pytest.fixture(scope="module", params=[4, 1], ids=["zones closed", "zones open"])
def tiny(run_page, tmp_path_factory, request):
    prefix = tmp_path_factory.mktemp("tiny") / "Tiny"
    return run_page(
        write_network(prefix, 3, 6, request.param, TINY_LINKS, TINY_TRIPS),
        "--beta",
        0.3,
        "--gamma",
        1e-4,
        "--most",
        100,
    )


@pytest.mark.slow
def test_minmin_takes_few_sweeps_on_sioux_falls(sioux_falls):
    calibrated, steep, fixed = sioux_falls.panels.values()
    assert calibrated["minmin"].sweeps <= 150
    assert calibrated["minmin"].sweeps <= 0.75 * (calibrated["joint L-BFGS, unscaled"].sweeps or MOST)
    assert steep["minmin"].sweeps <= 50
    assert fixed["minmin"].sweeps <= 170
    for brackets in sioux_falls.panels.values():
        assert brackets["column generation"].sweeps <= 6
        assert brackets["minmin"].width <= 1e-4
    assert sioux_falls.counts["minmin"] == calibrated["minmin"].sweeps
    check_front("transport", sioux_falls.counts)


@pytest.mark.slow
@pytest.mark.parametrize(("title", "times"), [("β = 0.029", 5), ("fixed trips", 10)])
def test_older_methods_take_many_times_the_sweeps(sioux_falls, title, times):
    bracket = sioux_falls.panels[title]["minmin"]
    roads = sioux_falls.Roads(sioux_falls.traffic, sioux_falls.gamma)
    case = sioux_falls.Case(roads, sioux_falls.links, bracket.demand, bracket.goal)
    sioux_falls.partial_linearization(case, times * bracket.sweeps - 1)
    assert case.bracket.sweeps is None
    assert case.bracket.width < 1e-3


@pytest.mark.slow
def test_every_bracket_holds_the_published_optimum(sioux_falls):
    for bracket in sioux_falls.panels["fixed trips"].values():
        assert bracket.low / 100.0 <= PUBLISHED <= bracket.high / 100.0


def assert_overlap(brackets):
    """One optimum lies in all of them, up to rounding."""
    assert max(bracket.low for bracket in brackets) <= (1.0 + 1e-10) * min(bracket.high for bracket in brackets)


def test_every_method_brackets_the_same_optimum(tiny):
    for brackets in tiny.panels.values():
        for name in ("minmin", "Evans, Frank–Wolfe", "column generation"):
            assert brackets[name].sweeps is not None
        assert_overlap(brackets.values())


def around(problem, x0):
    """The same function of u, x = x0·(1 + u/100): check() tries u of size 1 and more, and x must stay positive."""

    def move(u):
        return x0 * (1.0 + 0.01 * u)

    return minmin.problems.Function(
        lambda u, y: problem.value(move(u), y),
        lambda u, y: 0.01 * x0 * problem.grad_x(move(u), y),
        lambda u, y: problem.grad_y(move(u), y),
        d_x=problem.d_x,
        d_y=problem.d_y,
    )


def test_gradients_of_the_page_are_right(tiny):
    for demand in (tiny.BalancedTrips(tiny.traffic.trips, 0.3), tiny.FixedTrips(tiny.traffic.trips)):
        case = tiny.Case(tiny.Roads(tiny.traffic, 0.2), tiny.links, demand, 1e-4)
        problem = tiny.pose(case, tiny.by_curvature)
        report = minmin.check(around(problem, 2.0 * tiny.by_curvature * tiny.links.rise))
        assert report.ok, report


def list_walks(network, node, destination, links_left):
    """Every walk from a node to a destination with so many links at most; its links."""
    for a in np.flatnonzero(network.init_node == node) if links_left else ():
        after = network.term_node[a]
        if after == destination:
            yield (int(a),)
        if after >= network.first_thru_node:
            for rest in list_walks(network, after, destination, links_left - 1):
                yield int(a), *rest


def test_travel_times_are_those_of_all_walks(tiny):
    network, gamma = tiny.traffic.network, 0.2
    times = tiny.links.times(np.linspace(1.0, 9.0, 11) / 1000.0)
    sweep = tiny.Roads(tiny.traffic, gamma).at(times)
    for (i, j), trips in np.ndenumerate(tiny.traffic.trips):
        if trips == 0.0:
            continue
        ends = tiny.traffic.origins[i], tiny.traffic.destinations[j]
        costs = np.array([times[list(walk)].sum() for walk in list_walks(network, *ends, 12)])
        assert sweep.shortest[i, j] == pytest.approx(costs.min(), rel=1e-12)
        soft = costs.min() - gamma * np.log(np.sum(np.exp((costs.min() - costs) / gamma)))
        assert sweep.soft[i, j] == pytest.approx(soft, rel=1e-9)
        assert sweep.soft[i, j] <= sweep.shortest[i, j]


def test_loads_carry_all_trips(tiny):
    network, trips = tiny.traffic.network, tiny.traffic.trips
    sweep = tiny.Roads(tiny.traffic, 0.2).at(tiny.links.times(np.full(11, 0.004)))
    for flows in (sweep.load(trips), sweep.load_shortest(trips)):
        balance = np.zeros(network.nodes)
        np.add.at(balance, network.init_node, flows)
        np.subtract.at(balance, network.term_node, flows)
        balance[tiny.traffic.origins] -= trips.sum(axis=1)
        balance[tiny.traffic.destinations] += trips.sum(axis=0)
        np.testing.assert_allclose(balance, 0.0, atol=1e-15)
    assert sweep.load_shortest(trips) @ sweep.times == pytest.approx(tiny.FixedTrips(trips).respond(sweep.shortest)[1])


def test_trips_are_balanced_and_their_dual_value_is_their_cost(tiny):
    demand = tiny.BalancedTrips(tiny.traffic.trips, 0.3)
    times = np.array([[3.0, 5.0], [np.inf, 2.0]])
    trips, value = demand.respond(times)
    np.testing.assert_allclose(trips.sum(axis=1), tiny.traffic.trips.sum(axis=1), rtol=1e-11)
    np.testing.assert_allclose(trips.sum(axis=0), tiny.traffic.trips.sum(axis=0), rtol=1e-11)
    spent = demand.cost(trips) + np.sum(trips[trips > 0.0] * times[trips > 0.0])
    assert value == pytest.approx(spent, rel=1e-10)


def grid(rng, side, zones):
    """A grid of two-way streets, with zones at its corners and edges that hang on links of time 0."""
    ends = [(i, i + 1) for i in range(side * side) if (i + 1) % side] + [
        (i, i + side) for i in range(side * (side - 1))
    ]
    lines = []
    for a, b in [*ends, *[(b, a) for a, b in ends]]:
        lines.append(f"{zones + 1 + a} {zones + 1 + b} {rng.uniform(3, 9):.3f} 1 {rng.integers(2, 9)} 0.15 4 0 0 1 ;")
    for zone, node in enumerate(rng.choice(side * side, zones, replace=False)):
        lines.append(f"{zone + 1} {zones + 1 + node} 99 1 0 0.15 4 0 0 1 ;")
        lines.append(f"{zones + 1 + node} {zone + 1} 99 1 0 0.15 4 0 0 1 ;")
    table = rng.integers(0, 5, (zones, zones))
    table[1] = 0  # nobody leaves zone 2
    trips = [
        f"Origin {i + 1}\n" + " ".join(f"{j + 1} : {n};" for j, n in enumerate(row)) for i, row in enumerate(table)
    ]
    return "\n".join(lines), "\n".join(trips)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_grids_with_closed_zones_are_solved(run_page, tmp_path, seed):
    links, trips = grid(np.random.default_rng(seed), side=4, zones=5)
    page = run_page(write_network(tmp_path / "Grid", 5, 21, 6, links, trips), "--beta", 0.1, "--most", 300)
    for brackets in page.panels.values():
        assert brackets["minmin"].width <= 1e-4
        assert brackets["column generation"].width <= 1e-4
        assert_overlap(brackets.values())


def with_capacity_1(links):
    """The same network as some files write it: every capacity is 1, and b is tiny."""
    lines = [line.split() for line in links.splitlines()]
    for line in lines:
        line[5], line[2] = f"{float(line[5]) / float(line[2]) ** float(line[6]):.17g}", "1"
    return "\n".join(map(" ".join, lines))


@pytest.mark.slow
def test_capacities_of_1_change_nothing(run_page, tmp_path):
    links, trips = grid(np.random.default_rng(2), side=3, zones=4)
    pages = [
        run_page(write_network(tmp_path / name, 4, 13, 5, text, trips), "--beta", 0.1, "--most", 200)
        for name, text in (("File", links), ("One", with_capacity_1(links)))
    ]
    for title, brackets in pages[0].panels.items():
        sweeps = [page.panels[title]["minmin"].sweeps for page in pages]
        assert abs(sweeps[0] - sweeps[1]) <= 2 + 0.2 * sweeps[0]
        assert_overlap([brackets["minmin"], pages[1].panels[title]["minmin"]])


@pytest.mark.slow
def test_gamma_is_less_if_short_links_form_circles(run_page, tmp_path):
    links, trips = grid(np.random.default_rng(2), side=3, zones=4)
    nodes = (9, 14, 15, 16)  # a crossing in the middle, whose lanes are nodes
    links += "".join(f"\n{a} {b} 1 1 0.01 0 0 0 0 1 ;" for a in nodes for b in nodes if a != b)
    page = run_page(write_network(tmp_path / "Crossing", 4, 16, 5, links, trips), "--beta", 0.1, "--most", 200)
    assert page.gamma < 0.5 * page.traffic.mean_time / 900.0
    for brackets in page.panels.values():
        assert brackets["minmin"].width <= 1e-4
    with pytest.raises(ValueError, match="take a smaller --gamma"):
        page.Roads(page.traffic, 0.1).sweep(page.links.free).walks  # noqa: B018


@pytest.mark.slow
def test_nearly_empty_roads_take_few_sweeps(run_page, tmp_path):
    links, trips = grid(np.random.default_rng(2), side=3, zones=4)
    trips = trips.replace(";", "e-3;")
    page = run_page(write_network(tmp_path / "Empty", 4, 13, 5, links, trips), "--beta", 0.1, "--most", 100)
    for brackets in page.panels.values():
        assert max(bracket.sweeps or 100 for bracket in brackets.values()) <= 50
        assert brackets["minmin"].sweeps <= 10


def test_gamma_falls_until_the_bracket_is_narrow(tiny):
    for demand in (tiny.BalancedTrips(tiny.traffic.trips, 0.3), tiny.FixedTrips(tiny.traffic.trips)):
        case = tiny.Case(tiny.Roads(tiny.traffic, 1.0), tiny.links, demand, 1e-4)
        tiny.solve(case)
        assert case.travel.gamma < 1.0
        assert case.bracket.is_narrow
        assert case.bracket.sweeps <= case.travel.count <= 100


def test_a_file_of_nodes_is_checked_first(run_page, tmp_path):
    prefix = write_network(tmp_path / "Bad", 2, 2, 1, "1 2 9 1 1 0.15 4 0 0 1 ;", "Origin 1\n2 : 5;")
    Path(f"{prefix}_node.tntp").write_text("Node X Y\n1 0 0\n")
    with pytest.raises(ValueError, match="has 1 nodes, but the network 2"):
        run_page(prefix)


@pytest.mark.parametrize(
    ("links", "trips", "message"),
    [
        ("1 2 9 1 0 0.15 4 0 0 1 ;\n2 1 9 1 2 0.15 4 0 0 1 ;", "Origin 1\n2 : 5;", "every trip has a path of links"),
        (
            "1 2 9 1 0 0.15 4 0 0 1 ;\n2 1 9 1 0 0.15 4 0 0 1 ;\n2 3 9 1 2 0.15 4 0 0 1 ;",
            "Origin 1\n3 : 5;",
            "links of time 0 form a circle; give them",
        ),
        ("1 2 9 1 1 0.15 4 0 0 1 ;", "Origin 2\n1 : 5;", "trips from zone 2 to zone 1, but no path; add links"),
        ("1 2 9 1 1 0.00 4 0 0 1 ;", "Origin 1\n2 : 5;", "no link's time depends on its flow"),
        ("1 2 0 1 1 0.15 4 0 0 1 ;", "Origin 1\n2 : 5;", "has the capacity 0; give it a positive one, or b = 0"),
        ("1 2 9 1 1 0.15 4 0 0 1 ;", "Origin 1\n1 : 5;", "there are no trips between zones"),
    ],
)
def test_networks_without_an_answer_are_refused(run_page, tmp_path, links, trips, message):
    with pytest.raises(ValueError, match=message):
        run_page(write_network(tmp_path / "Bad", 3, 3, 1, links, trips))

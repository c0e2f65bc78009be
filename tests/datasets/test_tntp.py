"""Files of the TNTP format: what is read from them, and what errors say."""

from pathlib import Path

import numpy as np
import pytest

from minmin.datasets import load_tntp_flows, load_tntp_network, load_tntp_nodes, load_tntp_trips
from minmin.errors import InputError

SIOUX_FALLS = Path(__file__).parents[3] / "shared" / "data" / "transport"

NETWORK = """~ A comment first, then metadata in any order and case.
<Number of Links> 3
<FIRST  THRU NODE>3 ~ zones may not be passed through

<NUMBER OF NODES>\t4
<ORIGINAL HEADER>~ \tInit node \tTerm node \t;
<NUMBER OF ZONES> 2
<END OF METADATA>

~ init term capacity length time b power speed toll type ;
1 3 10.5 1 6 0.15 4 0 0 1 ;
\t3\t4\t20\t2\t5e-1\t0\t0\t30\t1.5\t2\t;
4 2 30 3 4 0.15 4 0 0 3 ~ without a semicolon
"""

TRIPS = """<NUMBER OF ZONES> 3
<TOTAL OD FLOW> 60
<END OF METADATA>

Origin \t1
    1 :    0.0;    2 :   10.0;
    3 :   20.0; ~ a comment

origin 3
1:30;
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        file = tmp_path / "file.tntp"
        file.write_text(text, encoding="utf-8")
        return file

    return write


def test_a_network_is_read_with_nodes_from_0(write):
    network = load_tntp_network(write(NETWORK))
    assert (network.zones, network.nodes, network.first_thru_node) == (2, 4, 2)
    assert network.init_node.tolist() == [0, 2, 3]
    assert network.term_node.tolist() == [2, 3, 1]
    assert network.capacity.tolist() == [10.5, 20.0, 30.0]
    assert network.length.tolist() == [1.0, 2.0, 3.0]
    assert network.free_flow_time.tolist() == [6.0, 0.5, 4.0]
    assert network.b.tolist() == [0.15, 0.0, 0.15]
    assert network.power.tolist() == [4.0, 0.0, 4.0]
    assert network.speed.tolist() == [0.0, 30.0, 0.0]
    assert network.toll.tolist() == [0.0, 1.5, 0.0]
    assert network.link_type.tolist() == [1, 2, 3]


def test_trips_that_are_not_in_the_file_are_none(write):
    assert load_tntp_trips(write(TRIPS)).tolist() == [[0.0, 10.0, 20.0], [0.0, 0.0, 0.0], [30.0, 0.0, 0.0]]


@pytest.mark.parametrize("end", ["", ";", " ; ;", ";;"])
def test_lines_may_end_with_semicolons_or_without(write, end):
    network = NETWORK.replace("0.15 4 0 0 1 ;", f"0.15 4 0 0 1{end}")
    assert load_tntp_network(write(network)).power.tolist() == [4.0, 0.0, 4.0]
    assert load_tntp_trips(write(TRIPS.replace("Origin \t1", f"Origin 1 {end}")))[0, 1] == 10.0


def test_files_may_begin_with_a_byte_order_mark(write):
    assert load_tntp_network(write("\ufeff" + NETWORK.partition("\n")[2])).zones == 2
    assert load_tntp_trips(write("\ufeff" + TRIPS)).shape == (3, 3)


def test_a_network_may_have_titles_without_a_tilde(write):
    text = NETWORK.replace("~ init term capacity", "init term capacity")
    assert load_tntp_network(write(text)).init_node.tolist() == [0, 2, 3]


def test_large_node_numbers_keep_their_digits(write):
    text = NETWORK.replace("<NUMBER OF NODES>\t4", "<NUMBER OF NODES> 1234567").replace("4 2 30", "1234567 2 30")
    assert load_tntp_network(write(text)).init_node[2] == 1234566


@pytest.mark.parametrize("titles", ["", "Node\tX\tY\t;\n", "Node ID, X, Y\n"])
def test_nodes_may_be_in_any_order(write, titles):
    nodes = load_tntp_nodes(write(titles + "2\t-96.5\t43.25\t;\n\n1 1 2\n"))
    assert nodes.tolist() == [[1.0, 2.0], [-96.5, 43.25]]


@pytest.mark.parametrize(
    "text",
    [
        "From \tTo \tVolume \tCost \n1 2 10 6.5\n",
        "<X> 1\n<END OF METADATA>\n1 2 : 10 6.5 ;",
        "Tail Head : Cost Volume ;\n1 2 : 6.5 10 ;\n",
    ],
)
def test_flows_are_read_with_nodes_from_0(write, text):
    assert [column.tolist() for column in load_tntp_flows(write(text))] == [[0], [1], [10.0], [6.5]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<END OF METADATA>", "~", "line 11: '1 3 10.5 1 6 0.15 4 0 0 1 ;' is not '<NAME> value'; end the metadata by"),
        ("<FIRST  THRU NODE>3", "~", "has no <FIRST THRU NODE>; add '<FIRST THRU NODE> 1' if paths may pass through"),
        ("<NUMBER OF ZONES>", "<ZONES>", "has no <NUMBER OF ZONES>; add a line"),
        ("<NUMBER OF ZONES> 2", "<NUMBER OF ZONES> two", "line 7: <NUMBER OF ZONES> is 'two'; it must be a number"),
        ("<NUMBER OF ZONES> 2", "<NUMBER OF ZONES> 0", "is 0; it must be a whole number >= 1"),
        ("<NUMBER OF ZONES> 2", "<NUMBER OF ZONES> 9", "has 9 zones but only 4 nodes"),
        ("<NUMBER OF ZONES> 2", "<NUMBER OF NODES> 2", "line 7: <NUMBER OF NODES> is given twice"),
        ("Links> 3", "Links> 4", "has 3 links, but its <NUMBER OF LINKS> is 4; complete the file, or correct"),
        ("1 3 10.5 1 6", "1 3 10.5 6", "line 11: 9 numbers, but a line has 10: init_node, term_node, capacity"),
        ("1 3 10.5", "1 3 many", "line 11: capacity is 'many'; it must be a finite number"),
        ("1 3 10.5", "1 3 nan", "line 11: capacity is 'nan'; it must be a finite number"),
        ("1 3 10.5", "1 5 10.5", "line 11: 5 is not a node; nodes are whole numbers from 1 to 4"),
        ("1 3 10.5", "1 1.5 10.5", "line 11: 1.5 is not a node"),
        ("1 3 10.5", "0 3 10.5", "line 11: 0 is not a node"),
        ("1 3 10.5", "3 3 10.5", "line 11: a link from node 3 to itself; remove it"),
        ("NODE>3", "NODE>6", "has 4 nodes, so its <FIRST THRU NODE> is 5 at most, not 6"),
        ("0.15 4 0 0 1 ;", "0.15 4 0 0 1.5 ;", "line 11: link_type is 1.5; it must be a whole number"),
        ("1 3 10.5", "1 3 -1", "line 11: capacity is -1; it must not be negative"),
    ],
)
def test_a_malformed_network_is_refused(write, old, new, message):
    file = write(NETWORK.replace(old, new))
    with pytest.raises(InputError) as error:
        load_tntp_network(file)
    assert message in str(error.value)
    assert str(file) in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "<NUMBER OF ZONES> 3",
            "<NUMBER OF ZONES> 2",
            "line 7: '3' is not a zone; zones are whole numbers from 1 to 2",
        ),
        ("<TOTAL OD FLOW> 60", "<TOTAL OD FLOW> 61", "add up to 60, but its <TOTAL OD FLOW> is 61; complete the file"),
        ("Origin \t1", "", "line 6: trips before the first origin; put a line such as 'Origin 1' before them"),
        ("Origin \t1", "Origin one", "line 5: 'one' is not a zone"),
        ("Origin \t1", "Origin", "line 5: 'Origin' is not 'Origin' and a zone"),
        ("1:30;", "1 30;", "line 10: '1 30' is not 'zone : trips'"),
        ("1:30;", "1:-30;", "line 10: '1:-30' is not 'zone : trips', with a number of trips >= 0"),
        ("1:30;", "1:15; 1:15;", "line 10: trips from 3 to 1 are given twice"),
    ],
)
def test_a_malformed_trip_table_is_refused(write, old, new, message):
    file = write(TRIPS.replace(old, new))
    with pytest.raises(InputError) as error:
        load_tntp_trips(file)
    assert message in str(error.value)
    assert str(file) in str(error.value)


def test_files_without_content_are_refused(write, tmp_path):
    with pytest.raises(InputError, match=r"has no trips; they follow lines such as 'Origin 1'"):
        load_tntp_trips(write("<NUMBER OF ZONES> 3\n<END OF METADATA>\n"))
    with pytest.raises(InputError, match=r"has no <END OF METADATA>; put that line between"):
        load_tntp_trips(write("<NUMBER OF ZONES> 3\n"))
    with pytest.raises(InputError, match=r"has no <NUMBER OF ZONES>"):
        load_tntp_network(write(""))
    with pytest.raises(InputError, match=r"has no flows"):
        load_tntp_flows(write("From To Volume Cost\n"))
    with pytest.raises(InputError, match=r"has no coordinates of node 1"):
        load_tntp_nodes(write("Node X Y\n2 0 0\n"))
    with pytest.raises(InputError, match=r"line 2: node 1 is given twice"):
        load_tntp_nodes(write("1 0 0\n1 0 0\n"))
    with pytest.raises(InputError, match=r"cannot read .*: No such file"):
        load_tntp_network(tmp_path / "missing.tntp")


def test_sioux_falls_has_its_published_optimum():
    if not SIOUX_FALLS.exists():
        pytest.skip("Sioux Falls is not beside the project (../shared/data/transport)")
    network = load_tntp_network(SIOUX_FALLS / "SiouxFalls_net.tntp")
    trips = load_tntp_trips(SIOUX_FALLS / "SiouxFalls_trips.tntp")
    init_node, term_node, volume, _ = load_tntp_flows(SIOUX_FALLS / "SiouxFalls_flow.tntp")
    assert (network.zones, network.nodes, network.first_thru_node, len(network.capacity)) == (24, 24, 0, 76)
    assert trips.shape == (24, 24)
    assert trips.sum() == 360600.0
    assert load_tntp_nodes(SIOUX_FALLS / "SiouxFalls_node.tntp").shape == (24, 2)
    np.testing.assert_array_equal([init_node, term_node], [network.init_node, network.term_node])
    rise = network.b / (network.power + 1.0) * (volume / network.capacity) ** network.power
    assert np.sum(network.free_flow_time * volume * (1.0 + rise)) == pytest.approx(42.31335287107441e5, rel=1e-12)

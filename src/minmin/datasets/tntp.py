"""Reads road networks, trip tables, coordinates and flows in the TNTP format of transport research."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minmin.datasets.plain_numbers import parse_number
from minmin.errors import InputError, near_names

Array = np.ndarray[Any, Any]

_LINK_COLUMNS = (
    "init_node", "term_node", "capacity", "length", "free_flow_time", "b", "power", "speed", "toll", "link_type",
)  # fmt: skip
_NOT_NEGATIVE = ("capacity", "free_flow_time", "b", "power")
_LARGEST_ERROR_OF_TOTAL = 1e-3
"""How far the trips' sum may be from the total that the file states, which is often rounded; relative."""


@dataclass(frozen=True)
class TntpNetwork:
    """A road network. Nodes count from 0 here, and from 1 in files; the first ones are the zones.

    At a flow v, link a takes the time ``free_flow_time[a] * (1 + b[a] * (v / capacity[a]) ** power[a])``. Units of
    length, time and flow are those of the file.

    Attributes
    ----------
    zones, nodes : int
        Trips begin and end in the nodes 0, ..., zones - 1.
    first_thru_node : int
        Nodes before this one may begin and end a path, but a path may not pass through them.
    init_node, term_node : integer arrays of shape (links,)
        Where each link begins and ends. Two links may join the same nodes.
    capacity, length, free_flow_time, b, power, speed, toll : arrays of shape (links,)
    link_type : integer array of shape (links,)
    """

    zones: int
    nodes: int
    first_thru_node: int
    init_node: Array
    term_node: Array
    capacity: Array
    length: Array
    free_flow_time: Array
    b: Array
    power: Array
    speed: Array
    toll: Array
    link_type: Array


class _Line(NamedTuple):
    """A line that is neither blank nor a comment, and where it is: the file and the line number."""

    where: str
    text: str


def load_tntp_network(path: Any) -> TntpNetwork:
    """Read a network file, such as ``SiouxFalls_net.tntp``.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    TntpNetwork

    Raises
    ------
    InputError
        If the file is malformed; the error names the line, or what is missing.
    """
    metadata, lines = _read(path)
    zones = metadata.count("NUMBER OF ZONES")
    nodes = metadata.count("NUMBER OF NODES")
    first = metadata.count("FIRST THRU NODE", "add '<FIRST THRU NODE> 1' if paths may pass through every node")
    if zones > nodes:
        raise InputError(f"{path} has {zones} zones but only {nodes} nodes; the zones are the first nodes")
    if first > nodes + 1:
        raise InputError(f"{path} has {nodes} nodes, so its <FIRST THRU NODE> is {nodes + 1} at most, not {first}")
    rows = [_read_link(line, nodes) for line in _split_titles(lines)[1]]
    if len(rows) != (stated := metadata.count("NUMBER OF LINKS")):
        raise InputError(
            f"{path} has {len(rows)} links, but its <NUMBER OF LINKS> is {stated}; complete the file, or correct the "
            "number"
        )
    columns = dict(zip(_LINK_COLUMNS, np.array(rows, dtype=np.float64).T, strict=True))
    ends = {name: columns.pop(name).astype(np.int64) - 1 for name in ("init_node", "term_node")}
    kinds = columns.pop("link_type").astype(np.int64)
    return TntpNetwork(zones, nodes, first - 1, **ends, **columns, link_type=kinds)


def load_tntp_trips(path: Any) -> Array:
    """Read a trip table, such as ``SiouxFalls_trips.tntp``.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    array of shape (zones, zones)
        ``trips[i, j]`` go from zone i to zone j. Pairs that are not in the file have no trips. Zones count from 0.

    Raises
    ------
    InputError
        If the file is malformed, or its trips do not add up to its ``<TOTAL OD FLOW>``.
    """
    metadata, lines = _read(path)
    zones = metadata.count("NUMBER OF ZONES")
    trips = np.full((zones, zones), math.nan)
    origin = None
    for line in lines:
        words = line.text.split()
        if words[0].lower() == "origin":
            words = line.text.rstrip("; \t").split()
            if len(words) != 2:
                raise InputError(f"{line.where}: {line.text[:40]!r} is not 'Origin' and a zone")
            origin = _as_node(words[1], zones, "zone", line.where)
        elif origin is None:
            raise InputError(f"{line.where}: trips before the first origin; put a line such as 'Origin 1' before them")
        else:
            for destination, number in _read_trips(line, zones):
                if not math.isnan(trips[origin - 1, destination - 1]):
                    raise InputError(f"{line.where}: trips from {origin} to {destination} are given twice")
                trips[origin - 1, destination - 1] = number
    if origin is None:
        raise InputError(f"{path} has no trips; they follow lines such as 'Origin 1', as '2 : 100.0;'")
    trips[np.isnan(trips)] = 0.0
    total = metadata.find_number("TOTAL OD FLOW")
    if total is not None and not math.isclose(total, trips.sum(), rel_tol=_LARGEST_ERROR_OF_TOTAL):
        raise InputError(
            f"the trips in {path} add up to {trips.sum():.8g}, but its <TOTAL OD FLOW> is {total:.8g}; "
            "complete the file, or correct the total"
        )
    return trips


def load_tntp_nodes(path: Any) -> Array:
    """Read the coordinates of nodes, such as ``SiouxFalls_node.tntp``.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    array of shape (nodes, 2)
        x and y of each node. Nodes count from 0.

    Raises
    ------
    InputError
        If the file is malformed, or a node from 1 to the largest is missing.
    """
    found: dict[int, tuple[float, float]] = {}
    for line in _split_titles(_read(path)[1])[1]:
        node, x, y = _parse_numbers(line, ("node", "x", "y"))
        number = _as_node(node, None, "node", line.where)
        if number in found:
            raise InputError(f"{line.where}: node {number} is given twice")
        found[number] = (x, y)
    missing = sorted(set(range(1, max(found, default=1) + 1)) - found.keys())
    if missing:
        raise InputError(f"{path} has no coordinates of node {missing[0]}; give all nodes from 1 to the largest")
    return np.array([found[number] for number in sorted(found)])


def load_tntp_flows(path: Any) -> tuple[Array, Array, Array, Array]:
    """Read flows on links, such as ``SiouxFalls_flow.tntp``.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    init_node, term_node : integer arrays of shape (links,)
        In the order of the file, which may differ from the network's. Nodes count from 0.
    volume, cost : arrays of shape (links,)
        The flow on each link, and its travel time or cost at this flow. The cost comes first in the file only if the
        titles of its columns say so.

    Raises
    ------
    InputError
        If a line is malformed; the error names its number.
    """
    titles, lines = _split_titles(_read(path)[1])
    last_two = ("cost", "volume") if titles[2:3] == ["cost"] else ("volume", "cost")
    rows = []
    for line in lines:
        init, term, *others = _parse_numbers(line, ("init_node", "term_node", *last_two))
        ends = [_as_node(end, None, "node", line.where) - 1 for end in (init, term)]
        rows.append((*ends, others[last_two.index("volume")], others[last_two.index("cost")]))
    if not rows:
        raise InputError(f"{path} has no flows; a line is 'init_node term_node volume cost'")
    columns = np.array(rows).T
    return columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2], columns[3]


class _Metadata:
    """The lines '<NAME> value' before '<END OF METADATA>', in any order."""

    def __init__(self, path: Any) -> None:
        self._path = path
        self._lines: dict[str, _Line] = {}

    def add(self, line: _Line) -> None:
        match = re.fullmatch(r"<([^<>]*)>(.*)", line.text)
        if match is None:
            raise InputError(
                f"{line.where}: {line.text[:40]!r} is not '<NAME> value'; end the metadata by '<END OF METADATA>'"
            )
        name = " ".join(match[1].upper().split())
        if name in self._lines:
            raise InputError(f"{line.where}: <{name}> is given twice")
        self._lines[name] = _Line(line.where, match[2].partition("~")[0].strip())

    def find_number(self, name: str) -> float | None:
        """The number with this name; None where the file has none."""
        if name not in self._lines:
            return None
        where, text = self._lines[name]
        number = parse_number(text)
        if number is None:
            raise InputError(f"{where}: <{name}> is {text[:40]!r}; it must be a number")
        return number

    def count(self, name: str, remedy: str = "") -> int:
        """The whole number >= 1 with this name."""
        number = self.find_number(name)
        if number is None:
            raise InputError(
                f"{self._path} has no <{name}>; {remedy or f'add a line <{name}> and the number'}. "
                f"{near_names(name, self._lines)}"
            )
        if number < 1 or number != int(number):
            raise InputError(f"{self._lines[name].where}: <{name}> is {number:g}; it must be a whole number >= 1")
        return int(number)


def _read(path: Any) -> tuple[_Metadata, list[_Line]]:
    """The metadata, and the lines after them; a file may have none."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from error
    metadata, lines = _Metadata(file), []
    numbered = (_Line(f"{file}, line {i}", line.strip()) for i, line in enumerate(text.splitlines(), 1))
    written = [line for line in numbered if line.text and not line.text.startswith("~")]
    in_metadata = bool(written) and written[0].text.startswith("<")
    for line in written:
        if not in_metadata:
            data = line.text.partition("~")[0].strip()
            if data.strip("; \t"):
                lines.append(_Line(line.where, data))
        elif re.match(r"<\s*END\s+OF\s+METADATA\s*>", line.text, re.IGNORECASE):
            in_metadata = False
        else:
            metadata.add(line)
    if in_metadata:
        raise InputError(f"{file} has no <END OF METADATA>; put that line between the metadata and the data")
    return metadata, lines


def _split_titles(lines: list[_Line]) -> tuple[list[str], list[_Line]]:
    """The titles of the columns, in lower case, and the lines below. A first line with a number has no titles."""
    words = re.sub("[;:]", " ", lines[0].text.lower()).split() if lines else []
    has_titles = bool(words) and all(parse_number(word) is None for word in words)
    return (words, lines[1:]) if has_titles else ([], lines)


def _read_link(line: _Line, nodes: int) -> tuple[float, ...]:
    numbers = _parse_numbers(line, _LINK_COLUMNS)
    init, term = (_as_node(end, nodes, "node", line.where) for end in numbers[:2])
    if init == term:
        raise InputError(f"{line.where}: a link from node {init} to itself; remove it")
    for name, number in zip(_LINK_COLUMNS, numbers, strict=True):
        if name in _NOT_NEGATIVE and number < 0.0:
            raise InputError(f"{line.where}: {name} is {number:g}; it must not be negative")
        if name == "link_type" and number != int(number):
            raise InputError(f"{line.where}: {name} is {number:g}; it must be a whole number")
    return numbers


def _read_trips(line: _Line, zones: int) -> Iterator[tuple[int, float]]:
    """Pairs of a destination and a number of trips, from text such as '1 : 0.0;  2 : 100.0;'."""
    for pair in line.text.split(";"):
        if not pair.strip():
            continue
        destination, colon, text = (part.strip() for part in pair.partition(":"))
        number = parse_number(text)
        if not colon or number is None or number < 0.0:
            raise InputError(
                f"{line.where}: {pair.strip()[:40]!r} is not 'zone : trips', with a number of trips >= 0 and ';' after"
            )
        yield _as_node(destination, zones, "zone", line.where), number


def _parse_numbers(line: _Line, names: tuple[str, ...]) -> tuple[float, ...]:
    """The numbers of a line, one for each name; a ';' may end it, or several."""
    words = line.text.rstrip("; \t").replace(":", " ").split()
    if len(words) != len(names):
        raise InputError(f"{line.where}: {len(words)} numbers, but a line has {len(names)}: {', '.join(names)}")
    numbers = [parse_number(word) for word in words]
    for name, word, number in zip(names, words, numbers, strict=True):
        if number is None:
            raise InputError(f"{line.where}: {name} is {word[:40]!r}; it must be a finite number")
    return tuple(number for number in numbers if number is not None)


def _as_node(given: float | str, largest: int | None, kind: str, where: str) -> int:
    """A node's or a zone's number in the file."""
    number = parse_number(given) if isinstance(given, str) else given
    if number is None or number < 1 or number != int(number) or (largest is not None and number > largest):
        shown = repr(given[:40]) if isinstance(given, str) else f"{given:.15g}"
        upto = "" if largest is None else f" to {largest}"
        raise InputError(f"{where}: {shown} is not a {kind}; {kind}s are whole numbers from 1{upto}")
    return int(number)

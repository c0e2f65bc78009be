"""The table, and what it says in few lines."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from term_benchmark.contestants import JOINT_LBFGS, PANOC_ON_F, PEERS
from term_benchmark.race import Count
from term_benchmark.row import Row


def print_table(rows: Sequence[Row]) -> None:
    """One line per kind of function and pair of terms: medians of the calls."""
    print("| f | term in x | term in y | instances | ours | ours, proved |", *(f"{peer} |" for peer in PEERS))
    print("|---" * (6 + len(PEERS)) + "|")
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.instance.kind, row.instance.in_x, row.instance.in_y), []).append(row)
    for key, members in groups.items():
        counts = [[row.ours for row in members], [row.certified for row in members]]
        counts += [[row.peers[peer] for row in members if peer in row.peers] for peer in PEERS]
        print("|", " | ".join([*key, str(len(members)), *map(_median, counts)]), "|")


def _median(counts: Sequence[Count]) -> str:
    if not counts:
        return "–"
    middle = statistics.median_high([(count.calls, count.reached) for count in counts])
    return str(Count(*middle))


def print_wins(rows: Sequence[Row]) -> None:
    """One line per peer: how often we take fewer calls, and the ratios."""
    print("| ours against | fewer | same | more | median ratio | largest ratio | on |")
    print("|---" * 7 + "|")
    for peer in PEERS:
        pairs = [(_ratio(row.ours, row.peers[peer]), row.instance.name) for row in rows if peer in row.peers]
        ratios = [ratio for ratio, _ in pairs]
        largest, name = max(pairs)
        wins = [sum(test(ratio) for ratio in ratios) for test in (lambda r: r < 1, lambda r: r == 1, lambda r: r > 1)]
        print("|", " | ".join([peer, *map(str, wins), f"{statistics.median(ratios):.2f}", f"{largest:.2f}", name]), "|")


def print_summary(rows: Sequence[Row]) -> None:
    """The ratios that minmin aims at."""
    _print_ratios("ours / PANOC on F", rows, lambda row: _ratio(row.ours, row.peers[PANOC_ON_F]))
    free = [row for row in rows if (row.instance.in_x, row.instance.in_y) == ("L1", "free")]
    simplex = [row for row in rows if row.instance.in_y == "simplex"]

    def to_joint(row: Row) -> float:
        return _ratio(row.ours, row.peers[JOINT_LBFGS])

    _print_ratios("ours / joint proximal L-BFGS, L1 on x, y free", free, to_joint)
    _print_ratios("ours / joint proximal L-BFGS, simplex on y", simplex, to_joint)
    _print_ratios("calls until proved / calls until reached", rows, lambda row: _ratio(row.certified, row.ours))
    missed = [row.instance.name for row in rows if not (row.ours.reached and row.certified.reached)]
    print(f"- not reached or not proved by us: {', '.join(missed) or 'none'}")


def _print_ratios(title: str, rows: Sequence[Row], ratio: Callable[[Row], float]) -> None:
    pairs = [(ratio(row), row.instance.name) for row in rows]
    largest, name = max(pairs)
    print(f"- {title}: median {statistics.median(r for r, _ in pairs):.2f}, largest {largest:.2f} ({name})")


def _ratio(ours: Count, theirs: Count) -> float:
    """Where a peer has given up, the ratio is smaller than this."""
    return ours.calls / theirs.calls

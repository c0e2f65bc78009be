"""Prints rows of the benchmark as a Markdown table, and a summary."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from estimator_benchmark.timing import PeerTime, Row

_SHORTEST = 0.02
"""Rows in which the best peer takes at least these seconds count for the shares."""
_COLUMNS = ["data", "loss", "size, non-zeros", "steps", "passes", "ours, ms"]
_PEER_COLUMNS = ["best peer, ms (tol)", "best peer / ours", "other peers / ours"]


def print_header(with_peers: bool) -> None:
    columns = [*_COLUMNS, *(_PEER_COLUMNS if with_peers else [])]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)


def print_row(row: Row, with_peers: bool) -> None:
    ours = _milliseconds(row.seconds)
    if row.why_not_certified:
        ours += f" **not certified: {row.why_not_certified}**"
    cells = [row.name, row.loss, _size(row), str(row.steps), str(row.passes), ours]
    if with_peers:
        cells += _peer_cells(row)
    print(f"| {' | '.join(cells)} |", flush=True)


def print_summary(rows: Sequence[Row]) -> None:
    """The median of the ratios, and how many are at least 1.0 and 1.2 where the best peer is not very fast."""
    proved = [row for row in rows if row.why_not_certified is None]
    ratios = [row.ratio for row in rows if row.ratio is not None]
    long = [row.ratio for row in rows if row.ratio is not None and row.best and row.best.seconds >= _SHORTEST]
    print(f"\n{len(proved)} of {len(rows)} fits are certified.")
    if ratios:
        print(f"Median of best peer / ours: {statistics.median(ratios):.2f} over {len(ratios)} rows.")
    if long:
        shares = ", ".join(f"{sum(r >= least for r in long)} are >= {least}" for least in (1.0, 1.2))
        print(
            f"Of the {len(long)} rows in which the best peer takes at least {_SHORTEST * 1e3:.0f} ms, {shares} "
            f"({sum(r >= 1.0 for r in long) / len(long):.0%} and {sum(r >= 1.2 for r in long) / len(long):.0%}); "
            f"their median is {statistics.median(long):.2f}."
        )


def _size(row: Row) -> str:
    columns = " + ".join(f"{size:,}" for size in row.blocks)
    classes = f", {row.classes} classes" if row.classes > 1 else ""
    return f"{row.rows:,} × {columns}{classes}, {row.nnz:,}"


def _peer_cells(row: Row) -> tuple[str, str, str]:
    best = row.best
    if best is None:
        return "none", "–", ", ".join(_ratio(peer, row) for peer in row.peers)
    others = ", ".join(_ratio(peer, row) for peer in row.peers if peer is not best)
    return f"{best.name} [{best.form}] {_milliseconds(best.seconds)} ({best.tol:.2g})", f"**{row.ratio:.2f}**", others


def _ratio(peer: PeerTime, row: Row) -> str:
    """Peers that did not reach the gap have a lower limit, and those that ran only once an estimate."""
    sign = "> " if not peer.reached else "" if peer.runs else "~"
    return f"{peer.name} {sign}{peer.seconds / row.seconds:.2g}"


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g}" if seconds < 1.0 else f"{1e3 * seconds:.0f}"

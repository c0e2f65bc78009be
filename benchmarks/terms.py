"""Counts gradients until f(x, y) + p(x) + q(y) is near its minimum: minmin against PANOC, FISTA and L-BFGS-B.

A call is one gradient in x; values and gradients in y are free. The gap to reach is 1e-8 times that at the start. Peers
run on F(x) = min_y f(x, y) + q(y), where every call includes an accurate minimum over y, or on all variables together.
They know the largest curvature of F or f, and count as done as soon as a point that they have is good enough. "Proved"
is when minmin's own bound is at most the gap.

    python benchmarks/terms.py
    python benchmarks/terms.py --quick
"""

from __future__ import annotations

import argparse
import sys

from report import print_machine
from term_benchmark.instances import make_instances
from term_benchmark.row import measure
from term_benchmark.table import print_summary, print_table, print_wins


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only small instances, in seconds")
    parser.add_argument("--verbose", action="store_true", help="also print every instance, to standard error")
    arguments = parser.parse_args()
    print_machine()
    rows = []
    for instance in make_instances(arguments.quick):
        row = measure(instance)
        rows.append(row)
        if arguments.verbose:
            peers = ", ".join(f"{name} {count}" for name, count in row.peers.items())
            print(f"{instance.name}: ours {row.ours}, proved {row.certified}, {peers}", file=sys.stderr)
    for print_part in (print_table, print_wins, print_summary):
        print()
        print_part(rows)


if __name__ == "__main__":
    main()

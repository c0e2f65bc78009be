"""Prints the seconds of each package to a relative gap of 1e-9 on generated clicks, with one thread.

python seconds_to_gap.py [--kinds ...] [--peers ...] [--seed 0] [--scale 1]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from benchmark_utils import clicks
from benchmark_utils.model import Model, minimum
from benchmark_utils.peers import PEERS
from benchmark_utils.timing import time_to_gap

KINDS: dict[str, Callable[[int, float], Model]] = {
    **{
        f"first {name}": lambda seed, scale, penalties=penalties: Model(*clicks.first_kind(seed, scale), *penalties)
        for name, penalties in clicks.FIRST_KIND_PENALTIES.items()
    },
    "second": lambda seed, scale: Model(*clicks.second_kind(seed, scale), *clicks.SECOND_KIND_PENALTIES),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--max-seconds", type=float, default=100.0)
    arguments = parser.parse_args()
    print("| data | package | seconds | seconds to prepare | tol | gap |")
    print("|---|---|---|---|---|---|")
    for kind in arguments.kinds:
        model = KINDS[kind](arguments.seed, arguments.scale)
        best = minimum(model)
        for name in arguments.peers:
            reason = PEERS[name].why_not(model.X.shape[1] + model.Y.shape[1])
            if reason is not None:
                print(f"| {kind} | {name} | {reason} | | | |")
                continue
            t = time_to_gap(PEERS[name], model, best, max_seconds=arguments.max_seconds)
            seconds = f"{t.seconds:.3g}" if t.reached else f"> {t.seconds:.3g}"
            print(f"| {kind} | {name} | {seconds} | {t.prepare_seconds:.2g} | {t.tol:.0e} | {t.gap:.0e} |", flush=True)


if __name__ == "__main__":
    main()

"""Times fit() of minmin's estimators against other packages, on many data sets or on a file of yours.

All minimise the same function until (f - f*)/(f(0) - f*) <= 1e-9, on one thread, and processor time counts. f* is
computed apart, with a proof. fit() must prove the gap; each peer gets the loosest tolerance with which it reaches the
gap, and the data in the form that suits it best, converted before the clock starts. fit() gets one matrix of all
columns, and everything that it does is timed. The fits run in turns.

    python benchmarks/estimators.py --sets a9a 'ijcnn1*' --cache cache
    python benchmarks/estimators.py --ours --cache cache
    python benchmarks/estimators.py --file claims.csv --target n --loss poisson --blocks 'x=town*' --alphas 1e-4 1e-6
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "two_block_glm"))
from estimator_benchmark.file import read_objective
from estimator_benchmark.first_fits import print_first_fits
from estimator_benchmark.losses import LOSSES
from estimator_benchmark.objective import Objective
from estimator_benchmark.sets import choose_sets
from estimator_benchmark.table import print_header, print_row, print_summary
from estimator_benchmark.timing import time_fits
from estimator_benchmark.tolerance import GAP
from minmin.errors import InputError
from report import print_machine


def main() -> None:
    arguments = _parser().parse_args()
    if arguments.first_fits:
        print_machine("scikit-learn")
        print_first_fits()
        return
    try:
        chosen = list(_choose(arguments))
    except InputError as error:
        sys.exit(str(error))
    print_machine("scikit-learn", "liblinear-official", "cyanure", "glum")
    print(
        f"Processor time until (f - f*)/(f(0) - f*) <= {GAP:g}, one thread, medians of {arguments.repeats} runs in "
        "turns. > means given up, ~ one run.\n"
    )
    print_header(not arguments.ours)
    rows = []
    for name, load in chosen:
        row = time_fits(
            name,
            load(),
            repeats=arguments.repeats,
            max_seconds=arguments.max_seconds,
            cache_folder=arguments.cache,
            with_peers=not arguments.ours,
        )
        print_row(row, not arguments.ours)
        rows.append(row)
        if arguments.json:
            arguments.json.write_text(json.dumps([row.as_dict() for row in rows], indent=1))
    print_summary(rows)


def _choose(arguments: argparse.Namespace) -> Iterable[tuple[str, Callable[[], Objective]]]:
    if arguments.file is None:
        return choose_sets(arguments.sets, arguments.losses)
    if arguments.loss is None:
        raise InputError(f"--file needs --loss: {', '.join(LOSSES)}")
    objective = read_objective(
        arguments.file, arguments.loss, arguments.target, arguments.weight, arguments.blocks, arguments.alphas
    )
    return [(arguments.file.name, lambda: objective)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=[], help="names or patterns: a9a, 'ijcnn1*', a9a:0.001,1e-05")
    parser.add_argument("--losses", nargs="*", default=list(LOSSES), choices=LOSSES)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--max-seconds", type=float, default=8.0, help="limit for all tolerances of one peer")
    parser.add_argument("--cache", type=Path, help="folder that keeps f* and the tolerances of the peers between runs")
    parser.add_argument("--json", type=Path, help="file to write all figures to")
    parser.add_argument("--ours", action="store_true", help="only minmin")
    parser.add_argument("--first-fits", action="store_true", help="only the first fit in a process against the second")
    own = parser.add_argument_group("your own data")
    own.add_argument("--file", type=Path, help="LIBSVM, CSV or Parquet; .gz and .bz2, too; text becomes categories")
    own.add_argument("--target", help="the column to predict; not for LIBSVM")
    own.add_argument("--weight", help="the column of weights")
    own.add_argument("--loss", choices=LOSSES)
    own.add_argument("--blocks", nargs="*", default=[], help="NAME=COLUMNS: names and patterns, or 0:100 for LIBSVM")
    own.add_argument("--alphas", nargs="+", type=float, default=[1e-4], help="one for all, or one per block")
    return parser


if __name__ == "__main__":
    main()

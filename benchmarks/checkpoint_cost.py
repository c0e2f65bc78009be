"""What share of a run's time its checkpoints take; the promise is 2 %, the one at the end not counted."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from minmin.checkpoint import Checkpoint

import minmin
from report import print_machine


def main() -> None:
    print_machine()
    for d_x in (100, 3000):
        problem = minmin.problems.Quadratic.random(d_x=d_x, d_y=50, L_x=5000.0, L_y=50000.0, coupling=1.0)
        spent: list[float] = []
        write = Checkpoint.write

        def timed(self: Checkpoint, tree: object, write=write, spent=spent) -> None:
            start = time.perf_counter()
            write(self, tree)
            spent.append(time.perf_counter() - start)

        Checkpoint.write = timed  # type: ignore[method-assign]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "run.minmin"
            start = time.perf_counter()
            minmin.minimize(problem, method="nag", tol=0, max_seconds=15, checkpoint=file)
            seconds, size = time.perf_counter() - start, file.stat().st_size
        Checkpoint.write = write  # type: ignore[method-assign]
        print(
            f"d_x = {d_x:>5}: {seconds:.1f} s, {len(spent) - 1} checkpoints of {size / 1e3:.0f} kB on the way, "
            f"{100 * sum(spent[:-1]) / seconds:.2f} % of the time; the last one {1e3 * spent[-1]:.1f} ms"
        )


if __name__ == "__main__":
    main()

"""The share of a run's time that its checkpoints take. The promise is at most 2 %, without the last checkpoint."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import minmin
from minmin.loop.checkpoint import Checkpoint
from report import print_machine


def main() -> None:
    print_machine()
    for d_x in (100, 3000):
        problem = minmin.problems.Quadratic.random(d_x=d_x, d_y=50, L_x=5000.0, L_y=50000.0, coupling=1.0)
        write_seconds: list[float] = []
        write = Checkpoint.write

        def timed_write(self: Checkpoint, tree: object, write=write, write_seconds=write_seconds) -> None:
            start = time.perf_counter()
            write(self, tree)
            write_seconds.append(time.perf_counter() - start)

        Checkpoint.write = timed_write  # type: ignore[method-assign]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "run.minmin"
            start = time.perf_counter()
            minmin.minimize(problem, method="nag", tol=0, max_seconds=15, checkpoint=file)
            seconds, size = time.perf_counter() - start, file.stat().st_size
        Checkpoint.write = write  # type: ignore[method-assign]
        print(
            f"d_x = {d_x:>5}: {seconds:.1f} s, {len(write_seconds) - 1} checkpoints of {size / 1e3:.0f} kB during the "
            f"run, {100 * sum(write_seconds[:-1]) / seconds:.2f} % of the time; the last one "
            f"{1e3 * write_seconds[-1]:.1f} ms"
        )


if __name__ == "__main__":
    main()

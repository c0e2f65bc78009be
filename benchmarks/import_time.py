"""How long `import minmin` takes beside `import scipy.optimize`.

Each is imported in fresh processes, in turns. Times are medians and include the start of Python.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from report import print_machine

MODULES = ("scipy.optimize", "minmin")
REPEATS = 21


def measure(module: str) -> tuple[float, float]:
    """Wall and processor seconds of a process that imports this alone."""
    program = f"import {module}, time; print(time.process_time())"
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return time.perf_counter() - begun, float(done.stdout)


def main() -> None:
    print_machine()
    for module in MODULES:
        measure(module)  # their files are read, and compiled, once
    times: dict[str, list[tuple[float, float]]] = {module: [] for module in MODULES}
    for _ in range(REPEATS):
        for module in MODULES:
            times[module].append(measure(module))
    for number, kind in enumerate(("wall", "processor")):
        peer, ours = (statistics.median(pair[number] for pair in times[module]) for module in MODULES)
        print(f"{kind} time: minmin {ours:.3f} s, scipy.optimize {peer:.3f} s, ratio {ours / peer:.2f}")


if __name__ == "__main__":
    main()

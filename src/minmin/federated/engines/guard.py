"""Run a command until it ends or standard input does, and leave nothing of it: python guard.py MARK COMMAND...

A program of its own that needs the standard library alone. Whoever starts it holds the other end of its standard
input, so a command does not outlive that process, however it ends. What the command started is found by MARK, which all
of it has in its environment: Flower's processes detach themselves from their parents.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

_LOOK_SECONDS = 0.2
VARIABLE = "MINMIN_PROCESSES"


def marked(mark: str) -> list[int]:
    """The processes that have the mark in their environment."""
    wanted = f"{VARIABLE}={mark}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
    return found


def main() -> None:
    mark, command = sys.argv[1], sys.argv[2:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process = subprocess.Popen(
        command, env={**os.environ, VARIABLE: mark}, stdin=subprocess.DEVNULL, start_new_session=True
    )
    while process.poll() is None and not select.select([sys.stdin], [], [], _LOOK_SECONDS)[0]:
        pass
    process.kill()
    while others := marked(mark):
        for other in others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(other, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.01)
    sys.exit(process.wait() != 0)


if __name__ == "__main__":
    main()

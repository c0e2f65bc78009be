"""Run a command until it ends or standard input does, and leave nothing of it: python guard.py COMMAND...

A program of its own that needs the standard library alone. Whoever starts it holds the other end of its standard
input, so a command does not outlive that process, however that one ends. Flower's processes detach themselves; Linux
hands those that lost their parent to this one, elsewhere they look themselves whether their parent is there.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

_LOOK_SECONDS = 0.2
"""Between two looks whether the command has ended; the end of standard input is seen at once."""
_PR_SET_CHILD_SUBREAPER = 36
"""From Linux's prctl.h."""


def descendants(ancestor: int) -> set[int]:
    """Its children, theirs, and so on, as /proc tells."""
    children: dict[int, set[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, set()).add(int(path.parent.name))
    found, new = set[int](), {ancestor}
    while new:
        new = {child for process in new for child in children.get(process, ())} - found
        found |= new
    return found


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None and not select.select([sys.stdin], [], [], _LOOK_SECONDS)[0]:
        pass
    process.kill()
    process.wait()
    if sys.platform == "linux":
        while others := descendants(os.getpid()):
            for other in others:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(other, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-1, 0)


if __name__ == "__main__":
    main()

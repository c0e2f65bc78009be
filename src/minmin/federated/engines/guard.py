"""Run a command until it ends or standard input closes, then kill everything that it started.

Usage: python guard.py COMMAND...

This is a separate program that needs only the standard library. The process that starts it holds the other end of its
standard input, so the command ends with that process, even if it is killed. Flower's processes detach themselves. On
Linux, those that lose their parent become children of this process; elsewhere they check their parent themselves.
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

_POLL_SECONDS = 0.2
"""Between two checks whether the command has ended; the end of standard input is seen at once."""
_PR_SET_CHILD_SUBREAPER = 36
"""From Linux's prctl.h."""


def descendants(ancestor: int) -> set[int]:
    """The children of a process, their children, and so on, read from /proc."""
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
    for name in ("SIGTERM", "SIGHUP"):  # may reach a whole process group; a handler is not inherited by the command
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: None)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None and not select.select([sys.stdin], [], [], _POLL_SECONDS)[0]:
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

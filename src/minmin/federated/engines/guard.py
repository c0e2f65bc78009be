"""Run a command until it ends or standard input closes, then kill everything that it started.

Usage: python guard.py COMMAND...

This is a separate program that needs only the standard library. The process that starts it holds the other end of its
standard input, so the command ends with that process, even if it is killed. Flower's processes detach themselves. On
Linux, those that lose their parent become children of this program; elsewhere they check their parent themselves.

The program is two processes, so that it may be killed as well: the first starts the second, which starts the command.
Each sees the end of the other, and then kills what is left. Only if both are killed at once, the command survives.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

_POLL_SECONDS = 0.2
"""Between two checks whether a process has ended; the end of a pipe is seen at once."""
_PR_SET_CHILD_SUBREAPER = 36
"""From Linux's prctl.h."""


def read_children() -> dict[int, set[int]]:
    """The children of every process that has some, read from /proc."""
    children: dict[int, set[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, set()).add(int(path.parent.name))
    return children


def descendants(*ancestors: int) -> set[int]:
    """The children of these processes, their children, and so on."""
    children = read_children()
    found, new = set[int](), set(ancestors)
    while new:
        new = {child for process in new for child in children.get(process, ())} - found
        found |= new
    return found


def _wait(pipe: int, has_ended: Callable[[], bool]) -> None:
    """Wait until the other end of a pipe is closed, or a process has ended."""
    while not has_ended() and not select.select([pipe], [], [], _POLL_SECONDS)[0]:
        pass


if sys.platform != "win32":  # which has no engine "flower"

    def main() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGHUP):  # reach whole groups; a handler is not inherited by the command
            signal.signal(number, lambda *_: None)
        ours, theirs = os.pipe()
        second = os.fork()
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if second == 0:
            os.close(theirs)
            os.setsid()  # a group of processes, to be killed together
            command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
            _wait(ours, lambda: command.poll() is not None)
            _kill_all(os.getpid())
        else:
            os.close(ours)
            _wait(sys.stdin.fileno(), lambda: os.waitpid(second, os.WNOHANG)[0] == second)
            _kill_all(second)

    def _kill_all(group: int) -> None:
        """Kill all that this process and its children have started; where that is not known, the second's group."""
        if sys.platform == "linux":
            while others := descendants(os.getpid()):
                for other in others:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(other, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(-1, 0)
        else:
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)

    if __name__ == "__main__":
        main()

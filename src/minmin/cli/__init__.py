"""The command ``minmin``."""

from __future__ import annotations

import io
import signal
import sys

from minmin.errors import needs_extra

__all__ = ["main"]


def main() -> None:
    """Run the command, or say what it lacks."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended from outside, clean up as on Ctrl-C
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a file on Windows can't hold every letter of ours
    try:
        from minmin.cli.app import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        sys.exit(f"minmin: {needs_extra('the command line', str(error.name).partition('.')[0], 'cli')}")

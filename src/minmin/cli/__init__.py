"""The command ``minmin``."""

from __future__ import annotations

import io
import signal
import sys

from minmin.errors import needs_extra

__all__ = ["main"]


def main() -> None:
    """Run the command, or say which package is missing."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up after a kill as after Ctrl-C
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # on Windows, files often cannot hold Greek letters
    try:
        from minmin.cli.app import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        sys.exit(f"minmin: {needs_extra('the command line', str(error.name).partition('.')[0], 'cli')}")

"""The command ``minmin``."""

from __future__ import annotations

import io
import signal
import sys
from types import FrameType

__all__ = ["main"]


def main() -> None:
    """Run the command, or say which package is missing."""
    try:
        signal.signal(signal.SIGTERM, _terminate)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # on Windows, files often cannot hold Greek letters
        from minmin.cli.app import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        print("minmin: interrupted", file=sys.stderr)
        sys.exit(130)
    except ModuleNotFoundError as error:
        from minmin.errors import needs_extra

        sys.exit(f"minmin: {needs_extra('the command line', str(error.name).partition('.')[0], 'cli')}")


def _terminate(number: int, frame: FrameType | None) -> None:
    """Clean up after a kill as after Ctrl-C."""
    raise KeyboardInterrupt("by SIGTERM")

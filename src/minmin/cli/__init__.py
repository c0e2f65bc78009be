"""The command ``minmin``."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command, or say what it lacks."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended from outside, clean up as on Ctrl-C
    try:
        from minmin.cli.app import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        sys.exit(f"minmin: the command line needs {error.name}: pip install 'minmin[cli]'")

"""The command ``minmin``."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command, or say which package is missing."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up after a kill as after Ctrl-C
    try:
        from minmin.cli.app import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        sys.exit(f"minmin: the command line needs {error.name}: pip install 'minmin[cli]'")

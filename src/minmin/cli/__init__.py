"""The command ``minmin``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command, or say what it lacks."""
    try:
        from minmin.cli.app import run

        sys.exit(run(sys.argv[1:]))
    except ModuleNotFoundError as error:
        sys.exit(f"minmin: the command line needs {error.name}: pip install 'minmin[cli]'")

"""A description of the machine on which times were measured."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path


def machine() -> dict[str, str]:
    """The processor, the system, and the versions of Python and of the packages."""
    packages = {name: version(name) for name in ("minmin", "numpy", "scipy")}
    return {
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "system": platform.system(),
        "python": platform.python_version(),
        **packages,
    }


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text().splitlines() if listing.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())

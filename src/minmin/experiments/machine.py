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
        "processor": f"{_processor()}, {usable_cores()} cores",
        "system": platform.system(),
        "python": platform.python_version(),
        **packages,
    }


def usable_cores() -> int:
    """How many cores this process may use. Linux can limit a process to some of them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    """The processor's model where the system tells it, otherwise its family or architecture."""
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text("utf-8", "replace").splitlines() if listing.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())

"""The kinds of work that a message may ask for, by name."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from minmin.constants import Constants
from minmin.federated.baselines import FedAvgWork, GradientWork, ProxSkipWork, ReconstructionWork, ScaffoldWork
from minmin.methods.bam import YHalf
from minmin.methods.reconstruct import Reconstruct
from minmin.oracle import Work

_WORKS: dict[str, type[Work]] = {
    "bam": YHalf,
    "reconstruct": Reconstruct,
    "gradient": GradientWork,
    "fedavg": FedAvgWork,
    "fedrecon": ReconstructionWork,
    "scaffold": ScaffoldWork,
    "proxskip": ProxSkipWork,
}


def described(work: Work) -> tuple[str, dict[str, Any]]:
    """A work's name and settings, as they travel."""
    (name,) = (name for name, kind in _WORKS.items() if kind is type(work))
    return name, asdict(work)  # type: ignore[call-overload]


def rebuilt(name: str, settings: dict[str, Any]) -> Work:
    """The work; KeyError, TypeError or ValueError where there is none like that."""
    kind = _WORKS[name]
    if set(settings) != {field.name for field in fields(kind)}:  # type: ignore[arg-type]
        raise ValueError(f"{name} has other settings")
    constants = settings.get("constants")
    return kind(**{**settings, **({} if constants is None else {"constants": Constants(**constants)})})


def public_part(memory: Any) -> dict[str, float]:
    """The numbers of a memory: what may be told of it. Arrays, and whatever holds some, stay."""
    return {name: value for name, value in memory._asdict().items() if isinstance(value, int | float)}

"""The data sets of the benchmark, by loss. Files are read from ../shared/data; sets whose file is missing are left out.

The loss is that of the module. Generated sets have fixed seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from benchmark_utils.real import SHARED
from estimator_benchmark.objective import Data, Objective
from minmin.errors import InputError, near_names


@dataclass(frozen=True)
class DataSet:
    """Data with several choices of penalties.

    Attributes
    ----------
    name, loss : str
    load : callable
        Returns the data.
    penalties : mapping
        The alphas of the blocks, by the words that describe them.
    file : str, optional
        A file under ../shared/data that it needs.
    """

    name: str
    loss: str
    load: Callable[[], Data]
    penalties: Mapping[str, tuple[float, ...]]
    file: str | None = None

    @property
    def missing(self) -> bool:
        return self.file is not None and not (SHARED / self.file).exists()


def pairs(*alphas: tuple[float, float]) -> dict[str, tuple[float, ...]]:
    """Penalties of two blocks, described by their numbers."""
    return {f"{x:g},{y:g}": (x, y) for x, y in alphas}


def choose_sets(patterns: Sequence[str], losses: Sequence[str]) -> Iterator[tuple[str, Callable[[], Objective]]]:
    """The names of the chosen sets, each with a function that loads it; the data of a set are loaded once.

    A pattern is compared with the name of the data, as in "a9a", and with the whole name, as in "a9a:1e-3,1e-5".
    """
    known = [data_set for data_set in _all_sets() if data_set.loss in losses]
    for pattern in patterns:
        if not any(_matches(data_set, label, [pattern]) for data_set in known for label in data_set.penalties):
            names = [data_set.name for data_set in known]
            raise InputError(f"--sets {pattern}: there is no such set; {near_names(pattern, names)}")
    for data_set in known:
        labels = [label for label in data_set.penalties if _matches(data_set, label, patterns)]
        if labels and data_set.missing:
            print(f"{data_set.name}: left out, {data_set.file} is not in ../shared/data")
            continue
        loaded: list[Data] = []
        for label in labels:

            def load(data_set: DataSet = data_set, label: str = label, loaded: list[Data] = loaded) -> Objective:
                if not loaded:
                    loaded.append(data_set.load())
                return Objective(loaded[0], data_set.loss, data_set.penalties[label])

            yield f"{data_set.name}:{label}", load


def _matches(data_set: DataSet, label: str, patterns: Sequence[str]) -> bool:
    names = (data_set.name, f"{data_set.name}:{label}")
    return not patterns or any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _all_sets() -> list[DataSet]:
    from estimator_benchmark.sets import logistic, poisson, softmax, squared

    return [*logistic.SETS, *poisson.SETS, *squared.SETS, *softmax.SETS]

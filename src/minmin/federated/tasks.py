"""What a client does in a round: tasks, which messages ask for by name."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import asdict, fields
from functools import lru_cache
from typing import Any, NamedTuple

from minmin.core.arrays import Array
from minmin.core.constants import Constants
from minmin.core.problem import Evaluation, Problem, Slice, YTask
from minmin.errors import InputError
from minmin.methods.bam import YHalf
from minmin.methods.inner.partial_minimum import LowerY


class Outcome(NamedTuple):
    """What a task leaves: its memory for the next round, f_i at x and the new y_i, and the vector to send.

    The evaluation gives the reply's scalars. For a method that follows gradients the vector is its ∇ₓf_i.
    """

    memory: Any
    evaluation: Evaluation
    vector: Array


class ClientTask(YTask):
    """A task that needs a client's whole problem, and may send something else than ∇ₓf_i.

    Subclasses are frozen dataclasses of numbers and strings with a ``name``, by which messages ask for them. Import
    their module where the server is and where the clients are.
    """

    @abstractmethod
    def run_at_client(self, problem: Problem, x: Array, memory: Any) -> Outcome:
        """Do the work of one round."""

    def run(self, part: Slice, memory: Any) -> tuple[Any, Evaluation]:
        raise TypeError(f"{type(self).__name__} needs the whole problem of a client")


CORE_TASKS = (YHalf, LowerY)
"""The tasks of our own methods: importing them makes them known to clients."""


def memory_types() -> tuple[type, ...]:
    """What the memories of all known tasks are made of."""
    return tuple(dict.fromkeys(kind for task in YTask.named.values() for kind in task.memory_types))


def describe_task(task: YTask) -> tuple[str, str]:
    """A task's name and its settings as JSON, as they travel."""
    if YTask.named.get(task.name) is not type(task):
        raise InputError(f"{type(task).__name__} is not the task called {task.name!r}; give it a name of its own")
    return task.name, json.dumps(asdict(task), sort_keys=True)  # type: ignore[call-overload]


@lru_cache(maxsize=16)
def build_task(kind: type[YTask], settings: str) -> YTask:
    """The task; TypeError or ValueError where the settings are not its own."""
    given = json.loads(settings)
    if not isinstance(given, dict) or set(given) != {field.name for field in fields(kind)}:  # type: ignore[arg-type]
        raise ValueError(f"{kind.name} has other settings")
    if given.get("constants") is not None:
        given["constants"] = Constants(**given["constants"])
    return kind(**given)


def run_task(task: YTask, problem: Problem, x: Array, memory: Any) -> Outcome:
    """Run a task at a client; one of the core's methods sends ∇ₓf_i."""
    if isinstance(task, ClientTask):
        return task.run_at_client(problem, x, memory)
    memory, evaluation = task.run(problem.fix(x), memory)
    return Outcome(memory, evaluation, evaluation.grad_x)


def public_part(memory: Any) -> dict[str, float]:
    """The numbers in a memory: all that may be sent of it. Arrays, and whatever holds some, stay."""
    return {name: value for name, value in memory._asdict().items() if isinstance(value, int | float)}

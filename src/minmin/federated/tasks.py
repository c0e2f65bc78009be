"""Tasks: what a client does in a round. Messages name the task to run."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import asdict, fields
from functools import lru_cache
from typing import Any, NamedTuple

from minmin.core.arrays import Array
from minmin.core.bound import Constants
from minmin.core.evaluation import Evaluation
from minmin.core.problem import Problem, Slice, YTask
from minmin.errors import InputError
from minmin.methods.bam_steps import YHalf
from minmin.methods.inner.partial_minimum import DescendInY


class Outcome(NamedTuple):
    """The result of a task: its memory for the next round, f_i at x and the new y_i, and the vector to send.

    The scalars of the reply come from the evaluation. For a gradient method the vector is ``evaluation.grad_x``.
    """

    memory: Any
    evaluation: Evaluation
    vector: Array


class ClientTask(YTask):
    """A task that needs the client's whole problem, and may send another vector than ∇ₓf_i.

    Subclasses are frozen dataclasses of numbers and strings, with a ``name`` that messages use. Import their module on
    the server and at the clients.
    """

    @abstractmethod
    def run_at_client(self, problem: Problem, x: Array, memory: Any) -> Outcome:
        """Do the work of one round."""

    def run(self, part: Slice, memory: Any) -> tuple[Any, Evaluation]:
        raise TypeError(f"{type(self).__name__} needs the whole problem of a client; call run_at_client()")


CORE_TASKS = (YHalf, DescendInY)
"""The tasks of reduced-lbfgs and bam. Importing them registers them, so that clients can run them."""


def memory_types() -> tuple[type, ...]:
    """The types that the memories of all registered tasks consist of."""
    return tuple(dict.fromkeys(kind for task in YTask.named.values() for kind in task.memory_types))


def describe_task(task: YTask) -> tuple[str, str]:
    """The name of a task, and its settings as JSON, for a message."""
    if YTask.named.get(task.name) is not type(task):
        raise InputError(f"{task.name!r} is the name of another task; give {type(task).__name__} a different one")
    return task.name, json.dumps(asdict(task), sort_keys=True)  # type: ignore[call-overload]


@lru_cache(maxsize=16)
def build_task(kind: type[YTask], settings: str) -> YTask:
    """Build a task from its settings; TypeError or ValueError if they do not fit."""
    given = json.loads(settings)
    if not isinstance(given, dict) or set(given) != {field.name for field in fields(kind)}:  # type: ignore[arg-type]
        raise ValueError(f"these are not the settings of the task {kind.name!r}")
    if given.get("constants") is not None:
        given["constants"] = Constants(**given["constants"])
    return kind(**given)


def run_task(task: YTask, problem: Problem, x: Array, memory: Any) -> Outcome:
    """Run a task at a client. A task that is not a ClientTask sends ∇ₓf_i."""
    if isinstance(task, ClientTask):
        return task.run_at_client(problem, x, memory)
    memory, evaluation = task.run(problem.fix(x), memory)
    return Outcome(memory, evaluation, evaluation.grad_x)


def public_part(memory: Any) -> dict[str, float]:
    """The scalars in a memory, which may be sent. Everything else in it, such as arrays, stays at the client."""
    return {name: value for name, value in memory._asdict().items() if isinstance(value, int | float)}

"""RowSession: the driver's side of rows in several groups. It queues work, sends it, and survives lost groups."""

from __future__ import annotations

import operator
import pickle
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

import numpy as np

from minmin.core.arrays import Array
from minmin.core.rows import Combine, Recipe, Reduction, Rows, RowValue, RowVector, request
from minmin.errors import DataLostError
from minmin.log import LOG
from minmin.problems.linear.rows.group import Batch, PerGroup, Ref, Reply, RowCount

_MOST_LOSSES = 20
"""A run is given up after this many lost groups in one exchange, as if the cluster were gone."""

_COMBINE: dict[Combine, Callable[[list[Any]], Any]] = {
    "sum": lambda results: reduce(operator.add, results),
    "max": max,
    "min": min,
    "any": any,
    "all": all,
    "union": lambda results: np.unique(np.concatenate(results)),
    "list": list,
}

_Step = tuple[int | str, Callable[..., Any] | None, tuple[Any, ...]]


class Engine(Protocol):
    """Reaches the groups of rows."""

    @property
    def numbers(self) -> range:
        """The numbers of the groups."""

    def pickle(self, batch: Batch) -> bytes:
        """A batch as bytes."""

    def call(self, numbers: Collection[int], payload: bytes) -> dict[int, bytes]:
        """The pickled replies of these groups to a pickled batch; a lost group has none."""

    def restore(self, number: int) -> None:
        """Make a lost group anew from its rows, without further values; a DataLostError if that is impossible."""


class RowTraffic(NamedTuple):
    """What travelled, and the time it took.

    Attributes
    ----------
    exchanges : int
    bytes_sent, bytes_received : int
        To and from all groups.
    seconds : float
        Spent on exchanges.
    busy_seconds : float
        The work of the group that took longest, summed over exchanges.
    """

    exchanges: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    seconds: float = 0.0
    busy_seconds: float = 0.0

    def plus(self, **more: float) -> RowTraffic:
        """With some of the numbers raised."""
        return self._replace(**{name: getattr(self, name) + number for name, number in more.items()})


class RowMetrics:
    """What travelled since the start of a run, and the time that it took.

    ``worker_seconds`` is the work of the worker that took longest, summed over exchanges; ``waiting`` is the share of
    the run in which the driver waited for messages, not for that work.
    """

    def __init__(self, session: RowSession):
        self._session = session
        self._before = session.traffic
        self._start = time.perf_counter()

    def update(self, x: Any) -> None:
        """Nothing has to be measured."""

    def read(self) -> dict[str, float]:
        since = (now - before for now, before in zip(self._session.traffic, self._before, strict=True))
        exchanges, bytes_sent, bytes_received, seconds, busy_seconds = since
        passed = time.perf_counter() - self._start
        return {
            "exchanges": exchanges,
            "bytes_sent": bytes_sent,
            "bytes_received": bytes_received,
            "exchange_seconds": seconds,
            "worker_seconds": busy_seconds,
            "waiting": max(seconds - busy_seconds, 0.0) / passed if passed > 0.0 else 0.0,
        }


class RowSession(Rows):
    """Rows in several groups.

    Values are computed when a result is needed: what was queued is sent with the request. A value that nothing refers
    to any more is forgotten by the groups, too. A lost group is made anew, its values are computed again from their
    recipes, and the batch is repeated for that group alone.

    Parameters
    ----------
    engine : Engine
    sizes : sequence of sequences of int
        For every group, the number of rows of each of its partitions.
    order : sequence of int
        The place of every partition among all partitions; first those of the first group, and so on.
    """

    def __init__(self, engine: Engine, sizes: Sequence[Sequence[int]], order: Sequence[int]):
        self.engine = engine
        self.traffic = RowTraffic()
        self.sizes, self.order = [list(group) for group in sizes], list(order)
        self.count = sum(map(sum, self.sizes))
        self._next_token = 0
        self._steps_done = 0
        self._queue: list[_Step] = []
        self._recipes: dict[int | str, Recipe] = {}  # of what is held, or queued
        self._held: set[int | str] = set()
        self._known: WeakValueDictionary[Any, RowValue] = WeakValueDictionary()
        self._results: dict[tuple[Any, ...], Any] = {}

    @property
    def partition_sizes(self) -> RowValue:
        """The numbers of rows of the partitions of every group."""
        return self.load("sizes", None)

    def load(self, name: str, example: Any) -> RowValue:
        """What every group has loaded under this name."""
        return _name_value(self, Recipe(name), example)

    def load_column(self, name: str) -> RowVector:
        """A column that every group has loaded."""
        first_rows = self.fetch(request(self.load(name, None), "__getitem__", slice(1), combine="list"))
        return RowVector(self, Recipe(name), first_rows[0])

    def apply(self, function: Callable[..., Any], *args: Any, example: Any = None) -> Any:
        key = _make_key(function, args)
        known = None if key is None else self._known.get(key)
        if known is not None:
            return known
        if example is None:
            with np.errstate(all="ignore"):
                example = function(*(arg.example if isinstance(arg, RowValue) else arg for arg in args))
        recipe = Recipe(self._next_token, function, _find_recipes(args))
        self._next_token += 1
        self._recipes[recipe.token] = recipe
        self._queue.append((recipe.token, function, _refer(recipe.args)))
        value = _name_value(self, recipe, example)
        if key is not None:
            self._known[key] = value
        return value

    def release(self, token: int | str) -> None:
        if token not in self._recipes:
            return  # it was loaded with the rows
        self._queue.append((token, None, ()))
        for key in [key for key in self._results if Ref(token) in key]:
            del self._results[key]

    def note_sum(self, result: RowVector, terms: Sequence[tuple[float, RowVector]]) -> None:
        images: dict[Recipe, Array] = {}
        loaded: dict[Recipe, float] = {}
        for factor, vector in terms:
            recipe = vector.recipe
            if recipe.function is None:
                loaded[recipe] = loaded.get(recipe, 0.0) + factor
            elif recipe.function is add_images:
                of_designs, of_loaded = recipe.args[3:]
                for design, v in of_designs:
                    images[design] = factor * v + images.get(design, 0.0)
                for other, times in of_loaded:
                    loaded[other] = loaded.get(other, 0.0) + factor * times
            else:
                return
        self.note_images(result, images, loaded)

    def note_images(self, result: RowVector, images: Mapping[Recipe, Array], loaded: Mapping[Recipe, float]) -> None:
        """Note that a vector is the sum of these images of designs, and of multiples of what groups have loaded."""
        terms = tuple(images.items()), tuple(loaded.items())
        result.recipe.function = add_images
        result.recipe.args = (RowCount, result.example.shape[1:], result.dtype, *terms)

    def zeros(self, tail: tuple[int, ...], dtype: Any) -> Array:
        """Zeros for every row; ``tail`` is the shape of a row."""
        return self.apply(add_images, RowCount, tail, dtype, (), (), example=np.zeros((1, *tail), dtype))

    def fetch(self, reduction: Reduction) -> Any:
        key = _make_key(*reduction)
        if key is None or key not in self._results:
            return self._exchange([reduction])[0]
        result = self._results[key]
        if isinstance(result, np.ndarray):
            del self._results[key]  # it may be long, and nobody asks twice
        return result

    def prefetch(self, reductions: Sequence[Reduction]) -> None:
        wanted = {key: one for one in reductions if (key := _make_key(*one)) is not None and key not in self._results}
        if wanted:
            self._results.update(zip(wanted, self._exchange(list(wanted.values())), strict=True))

    def order_by_partition(self, per_group: Sequence[Sequence[Array]]) -> tuple[Array, ...]:
        """What every group says of each of its partitions, in the order of the rows.

        If some group says something else, its answers stay in the order of the groups.
        """
        pieces = [piece for group in per_group for piece in group]
        if len(pieces) != len(self.order):
            return tuple(pieces)
        return tuple(pieces[place] for place in np.argsort(self.order))

    def gather(self, vector: RowVector) -> np.ndarray[Any, Any]:
        per_group = self.fetch(Reduction(keep, (vector,), "list"))
        pieces = [np.split(group, np.cumsum(sizes)[:-1]) for group, sizes in zip(per_group, self.sizes, strict=True)]
        return np.concatenate(self.order_by_partition(pieces))

    def scatter(self, array: np.ndarray[Any, Any]) -> Array:
        """The reverse of :meth:`gather`."""
        lengths = np.empty(len(self.order), dtype=int)
        lengths[self.order] = [size for group in self.sizes for size in group]
        pieces = np.split(array, np.cumsum(lengths)[:-1])
        places = iter(self.order)
        per_group = PerGroup([np.concatenate([pieces[next(places)] for _ in group]) for group in self.sizes])
        return self.apply(keep, per_group, example=array[:1])

    def _exchange(self, reductions: Sequence[Reduction]) -> list[Any]:
        wanted = [(one.function, _refer(_find_recipes(one.args))) for one in reductions]
        steps = list(self._queue)  # values may be released while they are sent
        start = time.perf_counter()
        replies = self._call_all(Batch(steps, self._steps_done, wanted))
        seconds = time.perf_counter() - start
        error = next((reply.error for reply in replies if reply.error is not None), None)
        if error is not None:
            raise error
        self._note_done(steps)
        busy = max(reply.seconds for reply in replies)
        self.traffic = self.traffic.plus(exchanges=1, seconds=seconds, busy_seconds=busy)
        per_reduction = zip(*(reply.results for reply in replies), strict=True)
        return [_COMBINE[one.combine](list(results)) for one, results in zip(reductions, per_reduction, strict=True)]

    def _note_done(self, steps: Sequence[_Step]) -> None:
        del self._queue[: len(steps)]
        self._steps_done += len(steps)
        for token, function, _ in steps:
            if function is not None:
                self._held.add(token)
            else:
                self._held.remove(token)
                del self._recipes[token]

    def _call_all(self, batch: Batch) -> list[Reply]:
        """The replies of all groups, in their order; lost groups are made anew and asked again."""
        payload = self.engine.pickle(batch)
        replies: dict[int, Reply] = {}
        for _ in range(_MOST_LOSSES):
            missing = [number for number in self.engine.numbers if number not in replies]
            replies.update(self._call(missing, payload))
            lost = [number for number in missing if number not in replies]
            if not lost:
                return [replies[number] for number in self.engine.numbers]
            for number in lost:
                self._restore(number)
        raise _lost_too_often()

    def _restore(self, number: int) -> None:
        """Make a lost group anew, with all values that it had before the batch."""
        LOG.warning("the worker with group %d of the rows was lost; the group is made anew", number)
        catch_up = self.engine.pickle(Batch(self._list_held(), self._steps_done, is_catch_up=True))
        for _ in range(_MOST_LOSSES):
            self.engine.restore(number)
            reply = self._call([number], catch_up).get(number)
            if reply is not None and reply.error is not None:
                raise reply.error
            if reply is not None:
                return
        raise _lost_too_often()

    def _call(self, numbers: Collection[int], payload: bytes) -> dict[int, Reply]:
        replies = self.engine.call(numbers, payload)
        sent, received = len(numbers) * len(payload), sum(map(len, replies.values()))
        self.traffic = self.traffic.plus(bytes_sent=sent, bytes_received=received)
        return {number: pickle.loads(reply) for number, reply in replies.items()}

    def _list_held(self) -> list[_Step]:
        """The steps that give a new group all values that the others hold."""
        steps: dict[int | str, _Step] = {}
        for token in self._held:
            _add_steps(self._recipes[token], steps)
        forgotten: list[_Step] = [(token, None, ()) for token in steps if token not in self._held]
        return [*steps.values(), *forgotten]


def _lost_too_often() -> DataLostError:
    return DataLostError(f"groups of rows were lost {_MOST_LOSSES} times while one request was answered")


def add_images(rows: int, tail: tuple[int, ...], dtype: Any, images: Any, loaded: Any) -> Array:
    """The sum of A·v over pairs of a design A and v, and of multiples of vectors."""
    total = np.zeros((rows, *tail), dtype)
    for design, v in images:
        total += design.image(v)
    for vector, factor in loaded:
        total += factor * vector
    return total


def keep(value: Any) -> Any:
    """The value itself, to have a name for it where the rows are."""
    return value


def _name_value(rows: RowSession, recipe: Recipe, example: Any) -> RowValue:
    return (RowVector if isinstance(example, np.ndarray) else RowValue)(rows, recipe, example)


def _find_recipes(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(arg.recipe if isinstance(arg, RowValue) else arg for arg in args)


def _refer(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments as they travel: values by their names."""
    return tuple(
        Ref(arg.token) if isinstance(arg, Recipe) else _refer(arg) if type(arg) is tuple else arg for arg in args
    )


def _add_steps(arg: Any, steps: dict[int | str, _Step]) -> None:
    """Add the step of a recipe, after those of all that it needs; what is loaded with the rows needs none."""
    if type(arg) is tuple:
        for one in arg:
            _add_steps(one, steps)
    elif isinstance(arg, Recipe) and arg.function is not None and arg.token not in steps:
        _add_steps(arg.args, steps)
        steps[arg.token] = arg.token, arg.function, _refer(arg.args)


def _make_key(function: Callable[..., Any], args: Sequence[Any], *rest: str) -> tuple[Any, ...] | None:
    """Equal for equal requests; None if an argument is not a number, a text or a value that has a name."""
    parts = [Ref(arg.recipe.token) if isinstance(arg, RowValue) else arg for arg in args]
    if not all(isinstance(part, Ref | str | int | float | None) for part in parts):
        return None
    return function, *parts, *rest

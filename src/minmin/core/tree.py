"""Trees: nested dicts, lists, tuples and NamedTuples, taken apart and put together again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from minmin.errors import InputError, name_type

Expand = Callable[[Any], tuple[Sequence[Any], Callable[[Sequence[Any]], Any]] | None]
"""The children of a container of another library, and a function that puts new children into such a container; None if
the object is no container."""


class Container(NamedTuple):
    """A dict, list or tuple without its children.

    Attributes
    ----------
    keys : tuple or None
        The keys of a dict; None for a sequence.
    places : tuple of str
        How each child is written in Python: "['layer']", "[0]", ".field".
    build : callable
        Makes such a container of a sequence of children.
    expand : callable or None
        Knows a container of another library.
    """

    keys: tuple[Any, ...] | None
    places: tuple[str, ...]
    build: Callable[[Sequence[Any]], Any]
    expand: Expand | None


class Tree:
    """The shape of a tree.

    Parameters
    ----------
    example : nested containers
        None counts as an empty container.
    expand : callable, optional
        Tells about containers of another library.
    """

    def __init__(self, example: Any, expand: Expand | None = None):
        container, children = _open(example, expand) or (None, ())
        self._container: Container | None = container
        self._children = tuple(Tree(child, expand) for child in children)

    def places(self, place: str = "") -> Iterator[str]:
        """Where every leaf is, as one would write it in Python."""
        if self._container is None:
            yield place
            return
        for child, inside in zip(self._children, self._container.places, strict=True):
            yield from child.places(place + inside)

    def build(self, leaves: Iterator[Any]) -> Any:
        """A tree of this shape, of other leaves."""
        if self._container is None:
            return next(leaves)
        return self._container.build([child.build(leaves) for child in self._children])

    def read(self, tree: Any, name: str) -> Iterator[Any]:
        """The leaves of a tree that must have this shape; ``name`` is what the user calls it."""
        if self._container is None:
            yield tree
            return
        children = self._read_children(self._container, tree, name)
        for child, place, subtree in zip(self._children, self._container.places, children, strict=True):
            yield from child.read(subtree, name + place)

    def _read_children(self, container: Container, tree: Any, name: str) -> Sequence[Any]:
        opened = _open(tree, container.expand)
        if opened is None:
            raise InputError(f"{name} is {name_type(tree)}; {self._explain(container)}")
        keys, children = opened[0].keys, opened[1]
        if (keys is None) != (container.keys is None) or len(children) != len(self._children):
            raise InputError(f"{name} is {name_type(tree)} of {len(children)}; {self._explain(container)}")
        if not container.keys:
            return children
        for key in container.keys:
            if key not in tree:
                raise InputError(f"{name} has no {key!r}; {self._explain(container)}")
        return [tree[key] for key in container.keys]

    def _explain(self, container: Container) -> str:
        if container.keys is None:
            return f"give a sequence of {len(self._children)}, as in the example"
        if not container.keys:
            return "give None, or an empty dict"
        return f"give a dict with the keys {', '.join(map(repr, container.keys))}"


def find_leaves(tree: Any, expand: Expand | None = None) -> Iterator[Any]:
    """What is in nested containers."""
    opened = _open(tree, expand)
    if opened is None:
        yield tree
        return
    for child in opened[1]:
        yield from find_leaves(child, expand)


def _open(node: Any, expand: Expand | None) -> tuple[Container, Sequence[Any]] | None:
    """A container and its children; None for a leaf."""
    if node is None:
        return Container((), (), _build_none, None), ()
    if isinstance(node, Mapping):
        kind: Any = partial(defaultdict, node.default_factory) if isinstance(node, defaultdict) else type(node)
        keys = tuple(node)
        places = tuple(f"[{key!r}]" for key in keys)
        return Container(keys, places, partial(_build_dict, kind, keys), None), list(node.values())
    if isinstance(node, tuple) and hasattr(node, "_fields") and hasattr(node, "_make"):
        places = tuple(f".{field}" for field in node._fields)
        return Container(None, places, node._make, None), node
    if isinstance(node, list | tuple):
        return Container(None, _number(node), type(node), None), node
    expanded = None if expand is None else expand(node)
    if expanded is None:
        return None
    children, build = expanded
    return Container(None, _number(children), build, expand), children


def _number(children: Sequence[Any]) -> tuple[str, ...]:
    return tuple(f"[{i}]" for i in range(len(children)))


# Functions of the module, not closures, since those cannot be pickled for other processes.


def _build_none(children: Sequence[Any]) -> None:
    return None


def _build_dict(kind: Callable[..., Any], keys: tuple[Any, ...], children: Sequence[Any]) -> Any:
    return kind(zip(keys, children, strict=True))


def identify(value: Any) -> Iterator[Any]:
    """The arrays, numbers and strings inside a value, always in the same order."""
    if isinstance(value, dict):
        value = [part for name in sorted(value, key=str) for part in (str(name), value[name])]
    if isinstance(value, list | tuple):
        for part in value:
            yield from identify(part)
    elif hasattr(value, "tocsr"):
        csr = value.tocsr()
        yield from (csr.data, csr.indices, csr.indptr)
    elif isinstance(value, str | int | float | None) or hasattr(value, "shape"):
        yield value

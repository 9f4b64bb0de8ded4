"""Functions of sequences and graphs that the traces use; `util` offers them to programs.

Must not know tapes or arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any


def subvals(x: Sequence[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """A sequence as a tuple, with other items at some positions.

    Parameters
    ----------
    x : sequence
        The sequence.
    ivs : iterable of tuple
        Pairs (position, item).

    Returns
    -------
    tuple
        The items.

    Examples
    --------
    >>> subvals([1, 2, 3], [(0, 10), (2, 30)])
    (10, 2, 30)
    """
    items = list(x)
    for position, item in ivs:
        items[position] = item
    return tuple(items)


def subval(x: Sequence[Any], i: int, v: Any) -> tuple[Any, ...]:
    """A sequence as a tuple, with another item at one position.

    Parameters
    ----------
    x : sequence
        The sequence.
    i : int
        The position.
    v : object
        The item.

    Returns
    -------
    tuple
        The items.

    Examples
    --------
    >>> subval([1, 2, 3], 1, 20)
    (1, 20, 3)
    """
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    """The function behind a method of a class, which today is the function itself.

    Parameters
    ----------
    f : callable
        The function.

    Returns
    -------
    callable
        The function.

    Examples
    --------
    >>> func(len) is len
    True
    """
    return f


def toposort(
    end_node: Any, parents: Callable[[Any], Iterable[Any]] = operator.attrgetter("parents")
) -> Iterator[Any]:
    """The nodes from which a node is made: each after all nodes that are made from it.

    Parameters
    ----------
    end_node : object
        Where to start.
    parents : callable, optional
        `parents(node)` returns the nodes that a node is made from; by default its attribute
        `parents`.

    Yields
    ------
    object
        A node.

    Examples
    --------
    >>> list(toposort("c", {"a": "", "b": "a", "c": "ab"}.get))
    ['c', 'b', 'a']
    """
    waiting: dict[Any, int] = {}  # by how many of the nodes not yet given a node is used
    found = [end_node]
    while found:
        node = found.pop()
        if node in waiting:
            waiting[node] += 1
        else:
            waiting[node] = 1
            found.extend(parents(node))
    ready = [end_node]
    while ready:
        node = ready.pop()
        yield node
        for parent in parents(node):
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)


__all__ = ["func", "subval", "subvals", "toposort"]

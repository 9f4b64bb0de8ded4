"""Small functions of HIPS autograd's `util` that packages import.

Must not know tapes or arrays.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tapegrad._warning import warn


def subvals(x: Sequence[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """A sequence as a tuple, with other items at the positions of the pairs (position, item)."""
    items = list(x)
    for position, item in ivs:
        items[position] = item
    return tuple(items)


def subval(x: Sequence[Any], i: int, v: Any) -> tuple[Any, ...]:
    """The same with one other item."""
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    """The function behind a method of a class, which today is the function itself."""
    return f


def toposort(
    end_node: Any, parents: Callable[[Any], Iterable[Any]] = operator.attrgetter("parents")
) -> Iterator[Any]:
    """The nodes from which `end_node` is made: each after all nodes that are made from it."""
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


def quick_grad_check(
    fun: Callable[..., Any],
    arg0: Any,
    extra_args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    **_settings: Any,
) -> None:
    """Deprecated: `test_util.check_grads`, by the first argument and in reverse mode."""
    warn("quick_grad_check is deprecated. Use tapegrad.autograd.test_util.check_grads.")
    test_util = importlib.import_module("tapegrad.autograd.test_util")
    test_util.check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(
        arg0
    )


__all__ = ["func", "quick_grad_check", "subval", "subvals", "toposort"]

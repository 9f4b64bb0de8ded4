"""Objects that hold one array, as tensors do: how a compiled call opens them and makes others.

Knows a table that other packages fill. Must not know these packages, nor how calls are recorded.

A tensor among the arguments counts as its array; what else there is to it (whether it requires
grad) belongs to the signature. A tensor among the results is made anew in each call.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from tapegrad._tree import Structure, flatten, register, unflatten


class Container(NamedTuple):
    """How the objects of one class are opened and made."""

    open: Callable[[Any], tuple[Any, Any] | None]  # the array and the rest, which has a hash
    make: Callable[[Any, Any], Any]  # an object of an array and the rest
    refusal: Callable[[Any], str | None]  # why a result cannot be made anew, or None
    written: Callable[[Any], None]  # says that a program has written into the array
    array: Callable[[Any], Any]  # the array, of any object


CONTAINERS: dict[type, Container] = {}

# The state that the functions of objects depend on besides their arguments: has a hash, or is
# None where calls cannot be programs. There is none until a package brings it.
STATES: list[Callable[[], Any]] = []


class Followed(NamedTuple):
    """How what a function may read of an object of a library is read, and put back."""

    read: Callable[[Any], list[Any]]
    write: Callable[[Any, list[Any]], None]
    name: Callable[[Any, int], str | None]  # the attribute at a position that can be set alone
    version: Callable[[Any], int]  # how often its array was written into, as far as that counts
    written: Callable[[Any], None]  # says that a program has written into that
    # The values that were read, each with an expression that is true if it is there still.
    terms: Callable[[Any, list[Any], Callable[[Any], str]], list[tuple[Any, str]]]
    # The same without what few functions read: a recorded run that does raises `reads_all`.
    lean: Followed | None = None


FOLLOWED: dict[type, Followed] = {}

# Context managers in which such reads raise, one for each class that has them.
NOTING: list[Callable[[], AbstractContextManager[None]]] = []


def state() -> Any:
    """The state of all packages; None where calls cannot be programs."""
    found = tuple([ask() for ask in STATES])
    return None if None in found else found


class _Held:
    """Stands in a structure for an object that is made of the leaf below it."""

    def __init__(self, rest: Any) -> None:
        self.rest = rest


_LEAF = object()

register(
    _Held,
    lambda held: ((_LEAF,), held.rest),
    lambda made, children: CONTAINERS[made[0]].make(made[1], *children),
)


def opened(leaf: Any) -> tuple[Any, Any] | None:
    """The array of an object and `(its class, the rest)`; None for what cannot be opened."""
    holder = CONTAINERS.get(type(leaf))
    found = None if holder is None else holder.open(leaf)
    return None if found is None else (found[0], (type(leaf), found[1]))


def closed(array: Any, rest: Any) -> Any:
    """An object of an array, from what `opened` returned of another."""
    return CONTAINERS[rest[0]].make(rest[1], array)


def maker_of(structure: Structure) -> Callable[[Any, Any], Any] | None:
    """What makes the object of a structure of one, of the rest (its second part) and an array."""
    return CONTAINERS[structure.aux[0]].make if structure.kind is _Held else None


def with_held(structure: Structure, rests: list[Any]) -> Structure:
    """A structure whose leaves are objects where there is a rest for them, else arrays."""
    if all(rest is None for rest in rests):
        return structure
    leaves = [_LEAF if rest is None else _Held(rest) for rest in rests]
    return flatten(unflatten(structure, leaves))[1]


__all__ = [
    "CONTAINERS",
    "FOLLOWED",
    "NOTING",
    "STATES",
    "Container",
    "Followed",
    "closed",
    "maker_of",
    "opened",
    "state",
    "with_held",
]

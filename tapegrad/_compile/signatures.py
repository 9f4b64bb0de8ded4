"""The signature of a call: what of its arguments tells the programs of a function apart.

Knows shapes, dtypes, the order of elements in memory, and the objects that hold an array. Must not
know programs.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad._program.containers import CONTAINERS, opened

_ARRAY = np.ndarray
NUMBERS = frozenset((float, complex, *[np.dtype(letter).type for letter in "bhilqBHILQefdgFDG"]))
STATIC = frozenset(
    (
        bool,
        int,
        str,
        bytes,
        type(None),
        type(Ellipsis),
        np.ufunc,
        *{type(np.dtype(letter)) for letter in "?bhilqBHILQefdgFDG"},
    )
)


class Changing:
    """A whole number that is another one in each call, as of a counter: an input, like floats."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def signature_of(leaves: list[Any], inputs: list[Any]) -> tuple[Any, bool]:
    """Key of a program in its leaves, and whether some are objects that hold an array.

    The leaves that the program takes are appended to `inputs`. The signature is None for leaves
    with which there can be no program.
    """
    signature: list[Any] = []
    first: dict[int, int] = {}  # where each object is first among the inputs
    holds_objects = False
    for leaf in leaves:
        kind = type(leaf)
        if kind is np.ndarray:
            same = first.setdefault(id(leaf), len(inputs)) - len(inputs)
            signature.append((leaf.shape, leaf.dtype, layout(leaf), same))
            inputs.append(leaf)
            if leaf.dtype.hasobject:
                return None, holds_objects
        elif kind is float or kind is complex or (issubclass(kind, np.number)):
            signature.append(kind)
            inputs.append(leaf)
        elif kind in STATIC or isinstance(leaf, enum.Enum):
            signature.append((kind, leaf))
        elif kind is Changing:
            signature.append(kind)
            inputs.append(leaf.number)
        elif kind in CONTAINERS:
            found = opened(leaf)
            if found is None:
                return None, holds_objects
            holds_objects = True
            array, rest = found
            same = first.setdefault(id(leaf), len(inputs)) - len(inputs)
            signature.append((array.shape, array.dtype, layout(array), rest, same))
            inputs.append(array)
        else:
            return None, holds_objects  # traced, batched, of another library, or unknown
    return tuple(signature), holds_objects


def layout(array: Any) -> Any:
    """The order of an array's elements in memory, and whether it can be written to."""
    flags = array.flags
    if flags.carray:  # writeable, and aligned
        return "C"
    order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else array.strides
    return order, flags.writeable


def key_of(args: Any, kwargs: dict[str, Any], given: list[Any]) -> Any:
    """The short key of a call; None where it has none."""
    key = short_key(args, given)
    if kwargs and key is not None:
        named = short_key(kwargs.values(), given)
        key = None if named is None else (key, tuple(kwargs), named)
    if key is None or len(set(map(id, given))) == len(given):
        return key
    return _with_twins(key, given)


def _with_twins(key: Any, given: list[Any]) -> Any:
    """A key that also says which arrays are one object: what is written there is seen by all."""
    first: dict[int, int] = {}
    twins = [
        (first[id(x)], at)
        for at, x in enumerate(given)
        if type(x) is _ARRAY and first.setdefault(id(x), at) != at
    ]
    return (key, *twins) if twins else key


DEEP = 50  # containers within containers, from which on a signature says more of them


def short_key(values: Iterable[Any], given: list[Any], depth: int = 0) -> Any:
    """Key of a program in arguments of everyday kinds, in half a signature's time; else None.

    They are arrays, numbers and what counts by value, in lists, tuples and dicts. Two calls of one
    key have one signature. The arrays and numbers are appended to `given`, as inputs.
    """
    if depth > DEEP:
        return None
    key: list[Any] = []
    for x in values:
        kind = type(x)
        if kind is _ARRAY:
            key.append(x.shape)
            key.append(x.dtype)
            if not x.flags.carray:
                key.append(layout(x))
            given.append(x)
        elif kind in NUMBERS:
            key.append(kind)
            given.append(x)
        elif kind is list or kind is tuple:
            inner = short_key(x, given, depth + 1)
            if inner is None:
                return None
            key.append((kind, inner))
        elif kind is dict:
            inner = short_key(x.values(), given, depth + 1)
            if inner is None:
                return None
            key.append((kind, tuple(x), inner))
        elif kind in STATIC:
            key.append((kind, x))
        elif kind is Changing:
            key.append(kind)
            given.append(x.number)
        elif kind in CONTAINERS:
            found = opened(x)
            if found is None or id(found[0]) in set(map(id, given)):
                return None  # an object twice is told by the signature
            array, rest = found
            order = "C" if array.flags.carray else layout(array)
            key.append((array.shape, array.dtype, order, rest))
            given.append(array)
        else:
            return None
    return tuple(key)


__all__ = ["NUMBERS", "STATIC", "Changing", "key_of", "layout", "short_key", "signature_of"]

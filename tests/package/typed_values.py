"""Whether values are of the types that programs say by `assert_type`.

At run time `typing.assert_type` checks nothing. In a typed program the types are what type
checkers take the calls to return; here they are held against what the calls do return.
"""

from __future__ import annotations

import types
import typing
from typing import Any, Union, get_args, get_origin

import numpy as np

# A number of NumPy stands for one of Python's.
NUMBERS = {
    bool: (bool, np.bool),
    int: (int, np.integer),
    float: (float, int, np.floating),
    complex: (complex, float, np.complexfloating),
}


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type, with what is in tuples; what dicts and lists hold is free."""
    origin, parts = get_origin(kind), get_args(kind)
    if hasattr(origin, "__value__"):  # `type NDArray[...] = ndarray[...]`, in newer NumPy
        origin = get_origin(origin.__value__)
    if kind is Any or typing.is_typeddict(kind):
        return kind is Any or isinstance(value, dict)
    if origin in (Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is tuple and isinstance(value, tuple):
        if parts[1:] == (...,):
            return all(fits(one, parts[0]) for one in value)
        return len(parts) == len(value) and all(map(fits, value, parts))
    return isinstance(value, NUMBERS.get(kind, origin or kind))


def asserted(value: Any, kind: Any) -> Any:
    """`assert_type` that looks."""
    assert fits(value, kind), f"{type(value)} is no {kind}: {value!r}"
    return value


__all__ = ["asserted", "fits"]

"""Functions and classes of 1, 2 and 3 dimensions, of which each family is written once.

Knows the docstrings of families. Must not know what they compute.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tapegrad._core.types import Function
from tapegrad.torch._docstrings.sections import of_member
from tapegrad.torch._types import Sizes


def members(family: Callable[[int], Function], *own: str) -> Any:
    """The functions that a family has: for all numbers of dimensions, or for the greatest.

    family: makes that of a number; `_conv_nd` makes `conv2d`. It has the docstring that all share,
    with words of `_docstrings.parameters`. own: for each, what only its docstring has.
    """
    return tuple(_member(family, 4 - len(own) + place, text) for place, text in enumerate(own))


def _member(family: Callable[[int], Function], dims: int, own: str) -> Function:
    function: Any = family(dims)
    name = family.__name__.removeprefix("_").replace("_nd", f"{dims}d")
    inner = inspect.unwrap(function)
    inner.__code__ = inner.__code__.replace(co_name=name, co_qualname=name)
    for each in (inner, function):
        each.__name__ = each.__qualname__ = name
        each.__doc__ = of_member(own, family.__doc__, name)
    return function


def classes(
    base: Any, *own: str, also: tuple[type, ...] = (), **attributes: tuple[Any, ...]
) -> Any:
    """The classes that a family has, as `_Conv` makes Conv1d, with `_dims`.

    base: has the docstring that all share. own: for each, what only its docstring has. also: for
    each a second base. attributes: for each a value, or a function that is no method.
    """
    stem = base.__name__.removeprefix("_").removesuffix("Nd")
    made = []
    for place, text in enumerate(own):
        dims = 4 - len(own) + place
        given = {name: _own_attribute(values[place]) for name, values in attributes.items()}
        given |= {"__module__": base.__module__, "__doc__": text or None, "_dims": dims}
        made.append(type(f"{stem}{dims}d", (base, *also[place : place + 1]), given))
    return tuple(made)


def _own_attribute(value: Any) -> Any:
    return staticmethod(value) if isinstance(value, FunctionType) else value


def repeated(given: Sizes, dims: int) -> tuple[int, ...]:
    """A setting for each dimension: one for all, or as many as there are."""
    return tuple(given) if isinstance(given, (tuple, list)) else (given,) * dims


__all__ = ["classes", "members", "repeated"]

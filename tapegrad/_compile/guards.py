"""The guards of a program as generated code: whether what is outside is what it was.

Knows places and arrays. Must not know what a change means.

One straight-line expression asks each place for the very objects that it held, and compares the
bytes of arrays. It takes a tenth of the time of reading the places into lists. Where it says no,
other objects may still be equal: that is a slower question, see `surroundings.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad._compile.places import Place, Variable


class Kept:
    """An array, and a copy of what was in it.

    Of memory that Python's bytes own nothing is kept: nobody can write to it. A lock
    (`flags.writeable = False`) does not say so, as views from before may write past it.
    """

    __slots__ = ("array", "bytes", "copy", "is_fixed", "is_transposed")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.bytes: bytearray | None = None  # which is compared with an array as one block
        self.is_transposed = False  # whether its elements lie in Fortran's order
        self.is_fixed = _is_of_bytes(array)
        if self.is_fixed:
            self.copy = array[...]  # a view: the array itself may get another shape, or dtype
            return
        self.is_transposed = array.flags.f_contiguous and not array.flags.c_contiguous
        block = array.T if self.is_transposed else array
        if block.flags.c_contiguous and block.nbytes and not block.dtype.hasobject:
            try:
                self.bytes = bytearray(block.data)
            except ValueError:  # of a dtype that no buffer has, as dates
                pass
            else:
                copy: Any = np.ndarray(block.shape, block.dtype, self.bytes)
                self.copy = copy.T if self.is_transposed else copy
                return
        self.copy = array.copy("K")

    def is_in(self, now: Any) -> bool:
        """Whether an array holds the same bits."""
        copy = self.copy
        if now.shape != copy.shape or now.dtype != copy.dtype:
            return False
        if self.is_fixed and now is self.array:
            return bool(now.strides == copy.strides)
        if self.bytes is not None:
            # For an array that is no block there is no such answer.
            same = self.bytes.__eq__(now.T if self.is_transposed else now)
            if same is not NotImplemented:
                return same
        return _equal_arrays(now, copy)

    def terms(self, named: Callable[[Any], str]) -> list[str]:
        """Expressions that are all true if the array is as it was."""
        array, copy = named(self.array), self.copy
        if self.bytes is None and not self.is_fixed:
            return [f"{named(self.is_in)}({array})"]
        terms = [
            f"{array}.shape == {named(copy.shape)}",
            f"{array}.dtype is {named(copy.dtype)}",
        ]
        if self.bytes is None:
            return [*terms, f"{array}.strides == {named(copy.strides)}"]
        block = f"{array}.T" if self.is_transposed else array
        return [*terms, f"({named(self.bytes)} == {block}) is True"]


def guard_of(
    places: Iterable[tuple[Place, list[Any]]], arrays: Iterable[Kept], same: Any
) -> Callable[[], bool]:
    """A function that tells whether places hold what they held, and arrays what was in them.

    It may say no, or raise, where equal objects are there instead.
    same: whether two lists of values are, of which some are made anew each time.
    """
    names, named = _namespace()
    terms = [term for place, held in places for term in place.terms(held, named, same)]
    terms += [term for kept in arrays for term in kept.terms(named)]
    lines = ["def guard():", "    return (", "        True"]
    lines += [f"        and {term}" for term in terms]
    exec("\n".join([*lines, "    )"]), names)  # noqa: S102
    guard: Callable[[], bool] = names["guard"]
    return guard


def reader_of(variables: Sequence[Variable]) -> Callable[[], list[Any]]:
    """A function that reads variables; it raises where one is not bound."""
    names, named = _namespace()
    parts = [f"{named(x.read)}()" if x.source is None else x.source(named) for x in variables]
    exec(f"def read():\n    return [{', '.join(parts)}]", names)  # noqa: S102
    read: Callable[[], list[Any]] = names["read"]
    return read


def _namespace() -> tuple[dict[str, Any], Callable[[Any], str]]:
    """Names of values for generated code, and a function that gives a value its name."""
    names: dict[str, Any] = {}
    known: dict[int, str] = {}

    def named(value: Any) -> str:
        name = known.get(id(value))
        if name is None:
            name = known[id(value)] = f"v{len(known)}"
            names[name] = value  # which keeps the id its own
        return name

    return names, named


def _is_of_bytes(array: Any) -> bool:
    """Whether an array's memory is a `bytes`: nobody can write to it."""
    owner: Any = array
    while type(owner) in (np.ndarray, memoryview):
        owner = owner.obj if hasattr(owner, "obj") else owner.base
    return type(owner) is bytes


_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _equal_arrays(a: Any, b: Any) -> bool:
    """Whether two arrays of one shape and dtype have the same bits."""
    if a.dtype.hasobject:
        return False
    word = _WORDS.get(a.dtype.itemsize)
    if word is None:
        return bool(a.tobytes() == b.tobytes())
    return bool((a.view(word) == b.view(word)).all())


__all__ = ["Kept", "guard_of"]

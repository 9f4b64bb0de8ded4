"""The rows of a tape: what its entries say, in words and numbers.

Knows the layouts of entries, and which arrays they keep. Must not know how rows are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from sys import getsizeof
from typing import Any

import numpy as np

from tapegrad._core.entry import (
    PROJECT,
    READ,
    Entry,
    Outputs,
    kind_of_result,
    parents_of,
    spec_of,
)
from tapegrad._core.values import Mapped, Traced
from tapegrad._errors import describe
from tapegrad._look.lines import Site


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of a tape: an operation that was called, or an input.

    Attributes
    ----------
    slot : int
        Where the result lives; rows are in order of their slots, which is the order of time.
    operation : str
        As users write it, `np.sin`; `x[...]` for a part, `x[...] =` for a write, `output 1` for
        one of several results; `input`, and `inner input` for that of a transform within.
    reads : tuple of int
        The slots of the arguments, without constants.
    shape : tuple of int or None
        Of the result; None if there are several.
    dtype : numpy.dtype or None
        Of the result; None if there are several.
    results : int
        How many results there are.
    name : str
        Of an input, its path in the arguments: `parameters['hidden'][0]`; of an output, its path
        in the result: `output['loss']`, the first of several.
    site : tuple
        The user's frames, innermost first; empty for what a transform does after the program.
    of : int or None
        The slot of the entry that a replay was at, if the operation is part of a replay.
    bytes : int
        Of the arrays that the replay keeps and that this operation made (or, for a constant, was
        the first to keep).
    forward, backward : float or None
        Seconds, None where they were not measured; an operation without a cotangent takes no time
        backward.
    norm : float or None
        Of the cotangent of the result (the root of the sum of squares), None where the replay had
        none or was not recorded.
    """

    slot: int
    operation: str
    reads: tuple[int, ...] = ()
    shape: tuple[int, ...] | None = None
    dtype: np.dtype[Any] | None = None
    results: int = 1
    name: str = ""
    site: Site = ()
    of: int | None = None
    bytes: int = 0
    forward: float | None = None
    backward: float | None = None
    norm: float | None = None

    @property
    def kind(self) -> str:
        """Shape and dtype in words: `float64[3, 4]`, `float64 scalar`."""
        if self.shape is None or self.dtype is None:
            return f"{self.results} results" if self.results > 1 else ""
        return describe(spec_of(self))

    @property
    def line(self) -> str:
        """The user's line, `model.py:12`; empty for an input."""
        return str(self.site[0]) if self.site else ""

    @property
    def function(self) -> str:
        """The user's function that has the line."""
        return self.site[0].function if self.site else ""


def operation_of(entry: Entry) -> str:
    """The name of an entry's operation as users write it."""
    rule = entry[1]
    if rule is PROJECT:
        return f"output {entry[3]}"
    name = str(rule.name)
    return "inner input" if name == "input" else name


def kinds_of(entries: Sequence[Entry], kinds: dict[Any, Any]) -> None:
    """Add something with the shape and dtype of each result to `kinds`, which has the inputs'."""
    for entry in entries:
        kinds[entry[0]] = kind_of_result(entry, kinds)


def slots_read(entry: Entry) -> tuple[int, ...]:
    """The slots of an entry's arguments that are not constants."""
    slots = parents_of(entry)
    return tuple([slot for slot in slots if slot >= 0]) if -1 in slots else slots


def row_of(
    slot: int,
    operation: str,
    reads: tuple[int, ...],
    kind: Any,
    name: str,
    site: Site,
    of: int | None,
    kept: int,
    times: tuple[int | None, int | None],
    norm: float | None,
) -> Row:
    """A row of a result of a kind: something with shape and dtype, a tuple of them, or None.

    times: forward and backward, in nanoseconds.
    """
    shape, dtype, results = None, None, 1
    if isinstance(kind, tuple):
        results = len(kind)
    elif kind is not None:
        shape, dtype = tuple(kind.shape), kind.dtype
    forward, backward = times
    return Row(
        slot,
        operation,
        reads,
        shape,
        dtype,
        results,
        name,
        site,
        of,
        kept,
        None if forward is None else forward * 1e-9,
        None if backward is None else backward * 1e-9,
        norm,
    )


class Memory:
    """The arrays that entries keep, each as the array that owns the memory.

    owners: by identity, with the slot whose operation made the memory. values: what is at a slot,
    where an entry keeps it. views: slots of views, and of results of a tuple, and of what they are
    parts.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.owners: dict[int, tuple[Any, int]] = {}
        self.values: dict[int, Any] = {}
        self.views: dict[int, int] = {}
        for entry in entries:
            slot, rule = entry[:2]
            if rule is PROJECT or rule is READ or getattr(rule, "view", False):
                self.views[slot] = parents_of(entry)[0]
        for entry in entries:
            for value, slot in _parts_kept(entry):
                if type(value) is np.ndarray:  # the frequent case
                    self._add(value, slot)
                    continue
                for array in _arrays_in(value):
                    self._add(array, slot)

    def _add(self, array: np.ndarray[Any, Any], slot: int) -> None:
        owner = owner_of(array)
        self.values.setdefault(slot, owner)
        if id(owner) not in self.owners:
            self.owners[id(owner)] = owner, slot if owner is array else self.root(slot)

    def root(self, slot: int) -> int:
        """The slot of which the one at a slot is a part."""
        while self.views.get(slot, -1) >= 0:
            slot = self.views[slot]
        return slot

    def bytes(self) -> dict[int, int]:
        """By slot. Memory that several entries keep, or views of it, counts once."""
        found: dict[int, int] = {}
        for owner, slot in self.owners.values():
            found[slot] = found.get(slot, 0) + owner.nbytes
        return found


def owner_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that has the memory of a view."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array


def bytes_kept(entries: Sequence[Entry]) -> dict[int, int]:
    """The bytes that a replay of entries keeps, by the slot whose operation made the memory.

    Memory that several entries keep, or views of it, counts once.
    """
    return Memory(entries).bytes()


def bytes_alone(
    entries: Sequence[Entry], inputs: Sequence[int], kept: dict[int, int]
) -> list[int]:
    """By input, the bytes of what depends on this one and on no other; `kept` by slot."""
    depends = {slot: 1 << place for place, slot in enumerate(inputs)}
    for entry in entries:
        mask = 0
        for slot in slots_read(entry):
            mask |= depends.get(slot, 0)
        depends[entry[0]] = mask
    found = dict.fromkeys((1 << place for place in range(len(inputs))), 0)
    for slot, count in kept.items():
        mask = depends.get(slot, 0)
        if mask in found:
            found[mask] += count
    return list(found.values())


def objects_kept(entries: Sequence[Entry]) -> dict[int, int]:
    """The bytes of what entries are made of, without the arrays' elements, by slot.

    Tuples, numbers, and the heads of arrays. What is there once and for all counts nothing.
    """
    seen: set[int] = set()
    found: dict[int, int] = {}
    for entry in entries:
        size = 8  # the place in the list
        stack: list[Any] = [entry]
        while stack:
            part = stack.pop()
            kind = type(part)
            if id(part) in seen or kind not in _COUNTED and not isinstance(part, np.generic):
                continue
            seen.add(id(part))
            if kind is int and -6 < part < 257 or kind is tuple and not part:
                continue
            size += getsizeof(part)
            if kind is np.ndarray:
                size -= part.nbytes if part.flags.owndata else 0
                stack.append(part.base)
            elif kind is dict:
                stack += part.values()
            elif isinstance(part, (tuple, list)):
                stack += part
        found[entry[0]] = size
    return found


_COUNTED = (tuple, list, dict, int, float, complex, slice, np.ndarray, Outputs)


def _parts_kept(entry: Entry) -> list[tuple[Any, int]]:
    """Values that an entry keeps, each with its slot; a constant with the entry's own."""
    slot, rule, out, x, y, x_slot, y_slot = entry
    if rule is PROJECT:
        return []
    if y_slot is not None:  # the frequent layout
        parts = [] if x is None else [(x, x_slot if x_slot >= 0 else slot)]
        if y is not None:
            parts.append((y, y_slot if y_slot >= 0 else slot))
        if out is not None:
            parts.append((out, slot))
        return parts
    values: Sequence[Any] = (*x, y) if type(x_slot) is tuple else (x, y)
    slots = x_slot if type(x_slot) is tuple else (x_slot,)
    at = [place if place >= 0 else slot for place in slots]
    at += [slot] * (len(values) - len(at))
    return [*zip(values, at, strict=False), (out, slot)]


def _arrays_in(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays of a part of an entry: itself, or in its containers."""
    kind = type(value)
    if kind is np.ndarray:
        yield value
    elif kind is dict:
        for part in value.values():
            yield from _arrays_in(part)
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _arrays_in(part)
    elif isinstance(value, (Traced, Mapped)):  # of a transform around
        yield from _arrays_in(value._value)


__all__ = [
    "Memory",
    "Row",
    "bytes_alone",
    "bytes_kept",
    "kinds_of",
    "objects_kept",
    "operation_of",
    "owner_of",
    "row_of",
    "slots_read",
]

"""Tensors over one memory in a trace: a tensor, those that `detach()` and `data` gave of it.

Knows values and the paths of views. Must not know the operations that write, or of tensors more
than their value and views.

Plain arrays share memory. A traced value has memory of its own, so that a write to one of these
tensors is repeated in the others here: they get the new elements, and keep their derivatives.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from tapegrad._core.recorded import entering, refuse_program
from tapegrad._core.tape import RUNNING
from tapegrad._core.types import Value
from tapegrad._core.values import Mapped, in_place, lift_to_level_of, recorded_in, without_traces

Path = Callable[[Value], Value]
REPEATED = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)
LIVE = [0]  # how many memories are shared so


class Sharing(Protocol):
    """Interface of a tensor for this module."""

    _value: Any
    _base: Any
    _views: Any
    _view_fn: Path | None
    _memory: Memory | None


class Memory:
    """Elements without derivatives that several tensors are over, or over parts of.

    open: whether there may be others, which are not known, from before the transform.
    """

    __slots__ = ("members", "open", "value")

    def __init__(self, value: Value, is_open: bool) -> None:
        self.value = value
        self.open = is_open
        self.members: list[tuple[weakref.ref[Any], tuple[Path, ...]]] = []  # no views of others
        LIVE[0] += 1

    def __del__(self, live: list[int] = LIVE) -> None:  # Python may have ended by then
        live[0] -= 1

    def living(self) -> Iterator[tuple[Any, tuple[Path, ...]]]:
        """The tensors that are left, each with the path to it; the others are forgotten."""
        self.members = [member for member in self.members if member[0]() is not None]
        for reference, path in self.members:
            yield reference(), path


# Where nothing is in a trace, that of tensors that may share theirs with others.
OUTSIDE = Memory(None, is_open=True)
LIVE[0] = 0


def share(tensor: Sharing, made: Sharing) -> None:
    """Note in a trace that a tensor is over the memory of another one, which is no view of it."""
    if not RUNNING:
        return
    base = tensor if tensor._base is None else tensor._base
    memory = base._memory
    if memory is None or memory is OUTSIDE:
        memory = base._memory = Memory(without_traces(base._value), memory is OUTSIDE)
        memory.members.append((weakref.ref(base), ()))
    path = path_of(memory, base) or ()
    if tensor._view_fn is not None:
        path = (*path, tensor._view_fn)
    made._memory = memory
    memory.members.append((weakref.ref(made), path))


def share_always(tensor: Sharing, made: Sharing) -> None:
    """The same; outside of traces, note that there may be others for those to come."""
    if RUNNING:
        share(tensor, made)
        return
    made._memory = OUTSIDE
    base = tensor if tensor._base is None else tensor._base
    if base._memory is not OUTSIDE:
        base._memory = OUTSIDE


def path_of(memory: Memory, base: Sharing) -> tuple[Path, ...] | None:
    """The path from a memory to one of the tensors over it; None if it is not known."""
    return next((path for reference, path in memory.members if reference() is base), None)


def spread(tensor: Sharing) -> None:
    """After a write to a tensor, give its elements to the others over the same memory."""
    base = tensor if tensor._base is None else tensor._base
    memory = base._memory
    if memory is None or memory is OUTSIDE:
        return
    members = list(memory.living())
    if not RUNNING or len(members) == 1:  # plain arrays, or nobody else's
        base._memory = OUTSIDE if memory.open else None
        return
    new = without_traces(base._value)
    path = path_of(memory, base)
    if not path:
        memory.value = new
    elif not in_one_memory(new, memory.value):
        memory.value = lift_to_level_of(memory.value.copy(), new)
        put_along(path, memory.value, new)
    for member, path in members:
        if member is not base:
            _become(member, along(path, memory.value))


def _become(tensor: Sharing, elements: Value) -> None:
    before = tensor._value
    if in_one_memory(without_traces(before), elements):
        return
    if type(before) is np.ndarray:
        require_known(tensor, elements)
        entering(tensor, "_value", elements)
    tensor._value = in_place(before, elements)
    for reference in tensor._views or ():
        view = reference()
        if view is not None and view._view_fn is not None:
            view._value = view._view_fn(tensor._value)


def require_known(base: Sharing, value: Value) -> None:
    """Refuse to give a tensor a traced value whose memory others have from before the transform.

    These would not show it. RuntimeError, but where calls are recorded: it is no program.
    """
    memory = base._memory
    if memory is None or not memory.open:
        return
    why = (
        "it writes into a tensor that is no argument, and others share its memory by detach() or "
        "data: pass it"
    )
    if recorded_in(value) is None or not refuse_program(why):
        raise RuntimeError(
            "within a functional transform, a tensor from outside of it cannot be written to: "
            "others share its memory, by detach() or data, and would not show what is written. "
            "Pass it to the function as an argument, or write into a clone."
        )


def in_one_memory(value: Value, whole: Value) -> bool:
    """Whether values without derivatives share memory."""
    while isinstance(value, Mapped) and isinstance(whole, Mapped):
        if value is whole or (
            value.records and whole.records and _memory_of(value) is _memory_of(whole)
        ):
            return True
        value, whole = value._value, whole._value
    return type(value) is type(whole) is np.ndarray and owner_of(value) is owner_of(whole)


def _memory_of(recorded: Any) -> Any:
    return recorded.memory


def owner_of(value: Value) -> Value:
    """The array that owns the memory of an array."""
    while type(value.base) is np.ndarray:
        value = value.base
    return value


def along(path: Sequence[Path], value: Value) -> Value:
    """The value at the end of a path, step by step."""
    for step in path:
        value = step(value)
    return value


def steps_of(path: Path) -> Sequence[Any]:
    """The steps of a path that may be one of several."""
    parts = getattr(path, "parts", None)
    return (path,) if parts is None else parts()


def is_computed(path: Any) -> bool:
    """Whether a path leads to a view, but of a traced value to elements of their own."""
    return path is not None and getattr(path, "computed", False)


def put_along(path: Sequence[Path], whole: Value, part: Value) -> None:
    """Write elements into the part of an array at the end of a path."""
    steps = [step for several in path for step in steps_of(several)]
    turned = any(hasattr(step, "inverse") for step in steps)  # complex numbers and pairs
    if any(map(is_computed, steps)) and not turned:
        places = along(steps, np.arange(whole.size).reshape(whole.shape))
        if np.unique(places).size < places.size:
            raise RuntimeError(REPEATED)
        whole[np.unravel_index(places, whole.shape)] = part
        return
    wholes = [whole]
    for step in steps[:-1]:
        wholes.append(step(wholes[-1]))
    for step, value in zip(reversed(steps), reversed(wholes), strict=True):
        inverse = getattr(step, "inverse", None)
        if inverse is None:
            step(value)[...] = part
        else:
            value[...] = inverse(part)
        part = value


__all__ = [
    "LIVE",
    "OUTSIDE",
    "REPEATED",
    "Memory",
    "along",
    "is_computed",
    "path_of",
    "put_along",
    "require_known",
    "share",
    "share_always",
    "spread",
]

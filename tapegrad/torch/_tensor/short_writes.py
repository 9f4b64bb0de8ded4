"""The short paths of writes: what is frequent, without the core's dispatch.

Knows what the nodes of a write are, as `writes` makes them, and the usual case: untraced arrays of
real floats, and no modes but `no_grad`. Must not know which operations exist, or what the unusual
cases are: they are left to `writes`.

An operation in place is the operation itself, whose result is then stored: a program pays for the
frequent call and for the write, which is a copy and a new place for the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.entry import WRITE, Spec, spec_of
from tapegrad._core.types import Index, Value
from tapegrad.torch._graph.modes import MODE, UNLOGGED
from tapegrad.torch._graph.node import Node, new
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.versions import count_write, owner_of
from tapegrad.torch._tensor.overlaps import check_part
from tapegrad.torch._tensor.tensor import LEAF, Tensor, ndarray, node_of
from tapegrad.torch._tensor.writes import keep_apart, outdate_views, rebase, replacement

GREATEST = float(np.finfo(np.float32).max)
MOST = 2**63 - 1  # greater integers are errors, or not


def _is_usual(tensor: Tensor, logs: bool) -> bool:
    """Whether a write to a tensor is allowed, and nothing beside its node and views changes."""
    value = tensor._value
    if type(value) is not ndarray or value.dtype.kind != "f" or tensor._inference:
        return False
    if 0 in value.strides or not value.flags.writeable:
        return False
    base = tensor._base
    if base is None:
        return not logs or tensor.node is not LEAF
    if not logs:
        return True
    if tensor._creation_meta is not None or base.node is LEAF:
        return False
    node = tensor.node
    if node is None:
        return True
    return base.node is not None and not node._watched


def _is_apart(value: Value, source: Tensor) -> bool:
    """Whether a source is an untraced array, and in memory of its own or the same tensor's."""
    other = source._value
    if type(other) is not ndarray:
        return False
    if value is other or (value.base is None and other.base is None):
        return True
    return owner_of(value) is not owner_of(other)


def store_result(
    tensor: Tensor,
    operation: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    label: type[Node],
) -> bool:
    """Write `operation(tensor, *args, **kwargs)` into a tensor; False where that is not usual."""
    mode = MODE.get()
    logs = mode is None
    if not (logs or mode is UNLOGGED) or not _is_usual(tensor, logs):
        return False
    memory = tensor._value
    tracked = logs and tensor.node is not None
    for arg in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(arg, Tensor):
            if not _is_apart(memory, arg):
                return False
            tracked = tracked or (logs and arg.node is not None)
    start = next_number()
    made = operation(tensor, *args, **kwargs)
    if type(made) is not Tensor or made._base is not None:
        return False
    value, node = made._value, made.node
    if type(value) is not ndarray or value is memory:
        return False
    if value.dtype is not memory.dtype or value.shape != memory.shape:
        return False
    if node is not None:
        if node is LEAF or node._number < start:
            return False
        keep_apart(node, value, memory, start)
    memory[...] = value
    count_write(tensor)
    if not tracked:
        outdate_views(tensor)
        return True
    if node is None:
        node = replacement(tensor, ..., -1, spec_of(memory), label.__name__)
    else:
        node.__class__ = label
        node._number = next_number()  # it keeps the memory after the write
    rebase(tensor, node)
    return True


def store_number(tensor: Tensor, number: float, rule: Any, label: type[Node]) -> bool:
    """Fill a tensor with a number, by a rule of the old values and it; False if not usual."""
    mode = MODE.get()
    logs = mode is None
    if not (logs or mode is UNLOGGED) or not _is_usual(tensor, logs):
        return False
    tensor._value.fill(number)
    count_write(tensor)
    if not logs or tensor.node is None:
        outdate_views(tensor)
        return True
    spec = spec_of(tensor._value)
    node: Any = new(label)
    node._number = next_number()
    node._entry = rule, spec, (spec, spec.family[()]), {}, (node_of(tensor), -1), None
    rebase(tensor, node)
    return True


def _is_part(view: Tensor, base: Tensor, index: Index) -> bool:
    """Whether a view is the part of its base at an index, also in the graph."""
    if getattr(view._view_fn, "index", None) != index or view._creation_meta is not None:
        return False
    node = view.node
    if node is None or node is LEAF:
        return node is base.node
    return base.node is not None and not node._watched


def store_part(tensor: Tensor, index: Index, source: Tensor | float, label: type[Node]) -> bool:
    """`tensor[index] = source` for a part of a tensor that is no view; False if not usual."""
    mode = MODE.get()
    logs = mode is None
    memory = tensor._value
    if tensor._base is not None or not _is_usual(tensor, logs):
        return False
    origin = None
    spec: Spec | None
    if isinstance(source, Tensor):
        given = source._value
        if type(given) is not ndarray or given.dtype is not memory.dtype:
            return False
        if source._base is tensor and _is_part(source, tensor, index):
            count_write(tensor)  # as after `tensor[index] += 1`: no value and no node changes
            return True
        if given.ndim > memory[index].ndim:
            return False
        if given.base is not None or memory.base is not None:
            check_part(tensor, index, source)
        if logs and source.node is not None:
            origin = node_of(source)
        spec = spec_of(given)
    else:
        given = source
        spec = spec_of(memory).family[()]
    try:
        memory[index] = given
    except ValueError:
        return False
    count_write(tensor)
    old = tensor.node
    if not logs or (old is None and origin is None):
        outdate_views(tensor)
        return True
    node: Any = new(label)
    node._number = next_number()
    slots = (-1 if old is None else old, -1 if origin is None else origin)
    node._entry = WRITE, None, (spec_of(memory), spec), index, slots, None
    rebase(tensor, node)
    return True


def is_held(number: object, tensor: Tensor) -> bool:
    """Whether something is a Python number that the tensor's dtype, of floats, can hold."""
    if type(number) is float:
        return tensor._value.dtype.char in "fd" and -GREATEST <= number <= GREATEST
    return type(number) is int and tensor._value.dtype.char in "fd" and -MOST <= number <= MOST


__all__ = ["is_held", "store_number", "store_part", "store_result"]

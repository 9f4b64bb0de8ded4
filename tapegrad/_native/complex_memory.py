"""Complex values in memory: each number as its two parts, side by side.

Knows how parts are regions of a memory of real numbers, and how they are joined there. Must not
know which values are taken by parts (`complex_runs.py`), nor formulas.

So neither joining parts nor taking a value apart is a call: the first are two strided writes, the
others strided reads of what a call of NumPy's has written there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._native.native_ops import TYPES, Cast
from tapegrad._native.regions import Array, Call, Memory, Statements, dense
from tapegrad._program.functions import attribute
from tapegrad._program.program import Node, Ref

REAL_OF: dict[Any, Any] = {np.dtype("c16"): np.dtype("f8"), np.dtype("c8"): np.dtype("f4")}
_COMPLEX_OF: dict[Any, Any] = {real: whole for whole, real in REAL_OF.items()}
REAL, IMAG = attribute("real"), attribute("imag")
PARTS: dict[Any, int] = {REAL: 0, IMAG: 1, np.real: 0, np.imag: 1}


@functools.cache
def joint(dtype: Any, is_array: bool) -> Callable[..., Any]:
    """The function that joins two parts."""

    def join(real: Any, imag: Any) -> Any:
        if not is_array:
            return dtype.type(complex(real, imag))
        whole = np.empty_like(real, dtype)
        whole.real, whole.imag = real, imag
        return whole

    join.__qualname__ = f"joined to {dtype}"
    _JOINTS.add(join)
    return join


_JOINTS: set[Any] = set()


def lower(path: Statements, at: int, node: Node) -> bool:
    """Have a joint, or a part of a complex value, in memory; whether the call is one of these."""
    if 0 in node.shape:
        return False
    if node.function in _JOINTS:
        return _join(path, at, node)
    if node.function not in PARTS or node.dtype not in TYPES or len(node.args) != 1:
        return False
    whole = whole_of(path, node.args[0])
    if whole is None:
        return False
    path.values[at] = part(whole, PARTS[node.function])
    path.alias(whole.memory)
    return True


def _join(path: Statements, at: int, node: Node) -> bool:
    operands = [path.operand(arg) for arg in node.args]
    if any(x is None for x in operands):
        return False
    whole = path.wholes[at] = _memory(path, node).whole()
    for position, x in enumerate(operands):
        path.stated(Cast, [x], whole.dtype, part(whole, position))
    return True


def _memory(path: Statements, node: Node) -> Memory:
    """A memory for the numbers of a complex value, in the order in which they lie."""
    return memory_of(path, node.shape, node.strides, node.dtype)


def memory_of(path: Statements, shape: Any, strides: Any, dtype: Any) -> Memory:
    strides = tuple([2 * s for s in dense(shape, strides)])
    memory = path.new((*shape, 2), (*strides, 1), REAL_OF[dtype])
    memory.kept = True
    return memory


def part(whole: Array, position: int) -> Array:
    return Array(whole.memory, position, whole.strides[:-1], whole.shape[:-1])


def whole_of(path: Statements, arg: Any) -> Array | None:
    """The numbers of a complex value: those that were joined, or that a call of Python's wrote."""
    if type(arg) is not Ref:
        return None
    node = path.nodes.get(arg.at)
    if arg.at in path.wholes or node is None or node.dtype not in REAL_OF or 0 in node.shape:
        return path.wholes.get(arg.at)
    call: Call = next(call for call in path.calls if call.at == arg.at and call.node is not None)
    memory = _memory(path, node)
    memory.writers.append(call)
    call.out = path.wholes[arg.at] = memory.whole()
    return call.out


def as_complex(numbers: Any) -> Any:
    """The complex array whose numbers lie side by side along the last axis of another."""
    return numbers.view(_COMPLEX_OF[numbers.dtype])[..., 0]


__all__ = [
    "IMAG",
    "PARTS",
    "REAL",
    "REAL_OF",
    "as_complex",
    "joint",
    "lower",
    "memory_of",
    "part",
    "whole_of",
]

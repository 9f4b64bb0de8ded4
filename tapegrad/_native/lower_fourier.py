"""Lowering of Fourier transforms along one axis: calls of our own code, and what lies around them.

Knows what `np.fft` means by its functions. Must not know the algorithm (`fourier.py`).

Those from real numbers, or to them, are complex ones too: of one half of the frequencies the other
is made, or left.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tapegrad._native.complex_memory import memory_of, part, whole_of
from tapegrad._native.fourier import LONGEST, Shape, radices
from tapegrad._native.native_ops import Cast, NotFinite
from tapegrad._native.regions import Array, Call, Number, Statements, dense
from tapegrad._native.semantics import unbound
from tapegrad._program.program import Node

COMPLEX, REAL = np.dtype("c16"), np.dtype("f8")


class _Kind(NamedTuple):
    """The direction of a transform; whether it has half of the frequencies, or gives that."""

    inverse: bool
    from_half: bool = False
    to_half: bool = False


_KINDS: dict[Any, _Kind] = {
    np.fft.fft: _Kind(False),
    np.fft.ifft: _Kind(True),
    np.fft.rfft: _Kind(False, to_half=True),
    np.fft.ihfft: _Kind(True, to_half=True),
    np.fft.irfft: _Kind(True, from_half=True),
    np.fft.hfft: _Kind(False, from_half=True),
}


def lower(path: Statements, at: int, node: Node) -> bool:
    """Have a transform made by our own code; whether it is."""
    node = unbound(node)
    kind, names = _KINDS.get(node.function), ("a", "n", "axis", "norm")
    if kind is None or len(node.args) > len(names) or not set(node.kwargs) <= set(names):
        return False
    bound = dict(zip(names, node.args, strict=False)) | node.kwargs
    axis, norm = bound.get("axis", -1), bound.get("norm")
    if type(axis) is not int or (norm is not None and type(norm) is not str):
        return False
    axis %= len(node.shape)
    if node.dtype != (REAL if kind.from_half else COMPLEX) or 0 in node.shape:
        return False
    x = whole_of(path, bound["a"]) or path.operand(bound["a"])
    if type(x) is not Array or x.dtype != REAL:
        return False
    is_real = whole_of(path, bound["a"]) is None
    given = x.shape if is_real else x.shape[:-1]
    n = node.shape[axis] if kind.from_half else given[axis]
    if bound.get("n") not in (None, n) or not 1 < n <= LONGEST or not radices(n):
        return False
    if kind.from_half and given[axis] != n // 2 + 1:
        return False
    shape = (*node.shape[:axis], n, *node.shape[axis + 1 :])
    parts = (x, Number(0.0, REAL)) if is_real else (part(x, 0), part(x, 1))
    whole = x if _is_dense(x, shape) else _laid_out(path, parts, shape, axis, kind)
    out = _called(path, at, node, whole, Shape(*_around(shape, axis), kind.inverse, 1.0), norm)
    if kind.from_half:
        path.values[at] = _as_numpys(path, node, [part(out, 0)], path.memory(node).whole())
    else:
        out = out._replace(shape=(*node.shape, 2))
        like = memory_of(path, node.shape, node.strides, COMPLEX).whole()
        path.wholes[at] = _as_numpys(path, node, [part(out, 0), part(out, 1)], like)
    return True


def _as_numpys(path: Statements, node: Node, parts: list[Array], like: Array) -> Array:
    """A result with its axes in the order in which NumPy has them."""
    if dense(node.shape, node.strides) == dense(node.shape, ()):
        whole = parts[0]
        return (
            whole
            if len(parts) == 1
            else whole._replace(strides=(*whole.strides, 1), shape=(*whole.shape, 2))
        )
    for position, x in enumerate(parts):
        path.stated(Cast, [x], REAL, part(like, position) if len(parts) == 2 else like)
    return like


def _is_dense(x: Array, shape: tuple[int, ...]) -> bool:
    """Whether an array is all that a transform reads, as it reads it."""
    return x.shape == (*shape, 2) and x.strides == dense(x.shape, ()) and not x.offset


def _around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def _laid_out(
    path: Statements, parts: tuple[Any, Any], shape: tuple[int, ...], axis: int, kind: _Kind
) -> Array:
    """Complex numbers without gaps; of half of the frequencies the others are conjugates."""
    whole = memory_of(path, shape, (), COMPLEX).whole()
    n = shape[axis]
    there = n // 2 + 1 if kind.from_half else n
    for position, x in enumerate(parts):
        target = part(whole, position)
        path.stated(Cast, [x], REAL, _cut(target, axis, 0, there, 1))
        if there < n:
            op = np.negative if position else Cast
            others = _cut(x, axis, n - there, n - there, -1) if type(x) is Array else x
            path.stated(op, [others], REAL, _cut(target, axis, there, n - there, 1))
    return whole


def _cut(x: Array, axis: int, start: int, count: int, step: int) -> Array:
    """Some elements along an axis."""
    shape, strides = list(x.shape), list(x.strides)
    shape[axis], strides[axis] = count, step * x.strides[axis]
    return Array(x.memory, x.offset + start * x.strides[axis], tuple(strides), tuple(shape))


def _called(
    path: Statements, at: int, node: Node, whole: Array, shape: Shape, norm: str | None
) -> Array:
    n = shape.length
    scales = {"ortho": n**-0.5, "forward": 1.0 if shape.inverse else 1 / n}
    scale = scales.get(norm or "backward", 1 / n if shape.inverse else 1.0)
    call = Call("fourier", at, node, [whole, shape._replace(scale=scale)])
    call.out = memory_of(path, whole.shape[:-1], (), COMPLEX).whole()
    path.place(call, [whole])
    call.out.memory.writers.append(call)
    path.asked(NotFinite, call.out, expected=False)  # NumPy's has its own infinities and NaNs
    path.alias(call.out.memory)
    return call.out


__all__ = ["lower"]

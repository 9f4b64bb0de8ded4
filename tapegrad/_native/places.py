"""Lowering of indexing by arrays of integers: reads and writes at places.

Knows NumPy's rules for an index with arrays in it, `take`, `take_along_axis`, `ufunc.at`. Must not
know loops (`kernels.py`). `None` stands for a call that is to be made by Python.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._native.native_ops import Cast, can_cast, is_known, loop_dtype
from tapegrad._native.regions import (
    Array,
    Gathered,
    Number,
    Place,
    Statements,
    dense,
    is_uniform,
    view_of,
)
from tapegrad._native.sums import flattened
from tapegrad._program.functions import METHODS
from tapegrad._program.program import Node, Ref, references, taken

INDEX = np.dtype("i8")


def is_by_data(index: Any) -> bool:
    """Whether an index has an array in it, or what a program computes."""
    parts = index if type(index) is tuple else (index,)
    return any(type(part) in (Ref, np.ndarray, list) for part in parts)


def bincount(path: Statements, node: Node) -> Array | None:
    """`np.bincount` with weights, of no more places than it is told to have."""
    bound = _bound(node, ("x", "weights", "minlength"))
    if bound is None or (bound.get("minlength"),) != node.shape:
        return None
    return _sums(path, node, bound["x"], bound.get("weights"), 0)


def added(path: Statements, node: Node) -> Array | None:
    """The transpose of a look-up in `np.interp`: zeros, to which is added at places."""
    bound = _bound(node, ("places", "picked", "size"))
    if bound is None or (bound.get("size"),) != node.shape:
        return None
    return _sums(path, node, bound["places"], bound["picked"], -node.shape[0])


def _sums(path: Statements, node: Node, places: Any, numbers: Any, least: int) -> Array | None:
    """The sums of the numbers at each place, of which none is below the least."""
    index, given = _widened(path, path.operand(places)), path.operand(numbers)
    if index is None or type(given) is not Array or given.dtype != node.dtype:
        return None
    if index.shape != given.shape:
        return None
    (n,) = node.shape
    path.require_within(index, n, least)
    memory = path.memory(node)
    path.stated(Cast, [Number(0, node.dtype)], node.dtype, memory.whole())
    out = Array(memory, 0, (0,) * len(index.shape), index.shape)
    path.stated(Cast, [given], node.dtype, out, np.add, (Place(index, n, 1),))
    return memory.whole()


def _widened(path: Statements, x: Any) -> Array | None:
    """Whole numbers in a dtype that has all places of an axis; None for others."""
    if type(x) is not Array or x.dtype.kind not in "iu" or x.dtype == np.dtype("u8"):
        return None
    if x.dtype in (INDEX, np.dtype("i4")) or 0 in x.shape:
        return x
    return path.stated(Cast, [x], INDEX, path.new(x.shape, dense(x.shape, ()), INDEX).whole())


class _Parts:
    """An index taken apart: what is affine, and the places that are data."""

    def __init__(self, path: Statements, base: Array, index: Any) -> None:
        self.path = path
        self.fits = True
        parts = list(index) if type(index) is tuple else [index]
        used = sum(part is not None and part is not Ellipsis for part in parts)
        if not any(part is Ellipsis for part in parts):
            parts.append(Ellipsis)
        at = next(i for i, part in enumerate(parts) if part is Ellipsis)
        parts[at : at + 1] = [slice(None)] * (len(base.shape) - used)
        given = [self._part(part) for part in parts]
        if (
            0 in base.shape
            or not self.fits
            or len(parts) - sum(part is None for part in parts) != len(base.shape)
        ):
            self.fits = False
            return
        self._lay_out(base, parts, given)

    def _part(self, part: Any) -> Any:
        """An index of integers as an array or number; None for what is affine."""
        if part is None or type(part) is slice:
            return None
        if type(part) in (int, np.int64):
            return Number(int(part), int)
        if type(part) is list:
            part = np.array(part)
        x = self.path.operand(part)
        found = _widened(self.path, x)
        if found is None:
            self.fits = False
        return found

    def _lay_out(self, base: Array, parts: list[Any], given: list[Any]) -> None:
        positions = [i for i, x in enumerate(given) if x is not None]
        shapes = [given[i].shape for i in positions if type(given[i]) is Array]
        among = np.broadcast_shapes(*shapes)
        apart = positions[-1] - positions[0] >= len(positions)
        first = 0 if apart else positions[0]
        before = sum(given[i] is None for i in range(positions[0])) if not apart else 0
        rank = sum(x is None for x in given) + len(among)
        shape: list[int] = []
        strides: list[int] = []
        offset, axis, places = base.offset, 0, []
        for i, (part, x) in enumerate(zip(parts, given, strict=True)):
            if i == first and not apart or apart and i == 0:
                shape += among
                strides += [0] * len(among)
            if part is None:
                shape.append(1)
                strides.append(0)
                continue
            n, s = base.shape[axis], base.strides[axis]
            axis += 1
            if x is None:
                start, stop, step = part.indices(n)
                length = len(range(start, stop, step))
                offset += start * s if length else 0
                shape.append(length)
                strides.append(step * s)
            elif type(x) is Number:
                offset += (x.value % n) * s
            else:
                places.append(self._place(x, among, before, rank, n, s))
        self.array = Array(base.memory, offset, tuple(strides), tuple(shape))
        self.places = tuple(places)

    def _place(
        self, x: Array, among: tuple[int, ...], before: int, rank: int, n: int, s: int
    ) -> Place:
        """An index array over the axes of the result."""
        lead = len(among) - len(x.shape)
        strides = [0] * rank
        shape = [1] * rank
        for i, (m, step) in enumerate(zip(x.shape, x.strides, strict=True)):
            strides[before + lead + i] = step if m > 1 else 0
            shape[before + lead + i] = m
        x = Array(x.memory, x.offset, tuple(strides), tuple(shape))
        self.path.require_within(x, n)
        return Place(x, n, s)


def gather(path: Statements, node: Node, base: Any, index: Any) -> Array | None:
    """`base[index]`, with arrays of integers in the index."""
    parts = _parts(path, base, index)
    if parts is None or parts.array.shape != node.shape:
        return None
    return read(path, node, parts)


def _parts(path: Statements, base: Any, index: Any) -> _Parts | None:
    if type(base) is not Array:
        return None
    if is_uniform(base):
        base = path.spread(base)
    parts = _Parts(path, base, index)
    return parts if parts.fits else None


def read(path: Statements, node: Node, parts: Any) -> Array:
    out = path.memory(node).whole()
    return path.stated(Cast, [Gathered(parts.array, parts.places)], node.dtype, out)


def take(path: Statements, node: Node) -> Array | None:
    """`np.take`."""
    bound = _bound(node, ("a", "indices", "axis", "out", "mode"))
    if bound is None or bound.get("out") is not None:
        return None
    base, index, axis = path.operand(bound["a"]), bound["indices"], bound.get("axis")
    mode = bound.get("mode", "raise")
    if type(base) is not Array:
        return None
    if axis is None:
        base, axis = flattened(path, base), 0
        if base is None:
            return None
    if type(axis) is not int or not base.shape:
        return None
    if mode != "raise":
        if any(True for _ in references(index)):
            return None
        n = base.shape[axis]
        index = np.asarray(index)
        index = index % n if mode == "wrap" else np.clip(index, 0, n - 1)
    elif type(index) is not Ref:
        index = np.asarray(index)
        if index.dtype.kind not in "iu":
            return None
    return gather(path, node, base, (*[slice(None)] * (axis % len(base.shape)), index))


def take_along(path: Statements, node: Node) -> Array | None:
    """`np.take_along_axis`."""
    bound = _bound(node, ("arr", "indices", "axis"))
    if bound is None or type(bound.get("axis", -1)) is not int:
        return None
    base, index = path.operand(bound["arr"]), path.operand(bound["indices"])
    axis = bound.get("axis", -1)
    index = _widened(path, index)
    if type(base) is not Array or index is None:
        return None
    if is_uniform(base) or len(index.shape) != len(base.shape):
        return None
    axis %= len(base.shape)
    for i, (m, n) in enumerate(zip(index.shape, base.shape, strict=True)):
        if i != axis and m != n and 1 not in (m, n):
            return None
    strides = [
        0 if i == axis or n == 1 else s
        for i, (n, s) in enumerate(zip(base.shape, base.strides, strict=True))
    ]
    array = Array(base.memory, base.offset, tuple(strides), node.shape)
    path.require_within(index, base.shape[axis])
    places = (Place(index, base.shape[axis], base.strides[axis]),)
    out = path.memory(node).whole()
    return path.stated(Cast, [Gathered(array, places)], node.dtype, out)


def write(path: Statements, node: Node) -> Array | None:
    """A copy of an array, with values stored at, or added to, places that are data."""
    found = _written(node)
    if found is None:
        return None
    whole, index, value, ufunc, is_at = found
    base, given = path.operand(whole), path.operand(value)
    if type(base) is not Array or given is None or base.dtype != node.dtype:
        return None
    kind = given.kind if isinstance(given, Number) else given.dtype
    if type(given) is Array and not can_cast(given.dtype, node.dtype):
        return None
    if ufunc is not None and (
        not is_known(ufunc, node.dtype)
        or loop_dtype(ufunc, (node.dtype, kind)) != (node.dtype, node.dtype)
    ):
        return None
    copy = path.new(node.shape, dense(node.shape, node.strides), node.dtype)
    region: Array | None = copy.whole()
    if node.steps:
        region = _stepped(copy.whole(), node)
    if _is_put(node.function) and region is not None:
        region = _flat(region) if type(given) is Array and given.shape == index.shape else None
    if region is None:
        return None
    parts = _Parts(path, region, index)
    if not parts.fits or not _broadcasts(given, parts.array.shape):
        return None
    path.stated(Cast, [base], node.dtype, copy.whole())
    if ufunc is not None and not is_at:  # x[i] += v stores the last sum of each place
        sums = path.new(parts.array.shape, dense(parts.array.shape, ()), node.dtype)
        before = Gathered(parts.array, parts.places)
        given = path.stated(ufunc, [before, given], node.dtype, sums.whole())
        ufunc = None
    if 0 not in parts.array.shape:
        path.stated(Cast, [given], node.dtype, parts.array, ufunc, parts.places)
    return copy.whole()


def _flat(region: Array) -> Array | None:
    """All elements of an array that lies in C order, in a row."""
    size = math.prod(region.shape)
    return view_of(region, lambda x: x.reshape(size) if x.flags.c_contiguous else None)


def _stepped(region: Array, node: Node) -> Array | None:
    """The view of an array that a write's steps lead to."""
    if any(True for _ in references(node.steps)):
        return None
    return view_of(region, lambda x: taken(x, node.steps or (), ()))


def _broadcasts(given: Any, shape: tuple[int, ...]) -> bool:
    """Whether values can be laid over a region."""
    if type(given) is not Array:
        return True
    try:
        return np.broadcast_shapes(given.shape, shape) == tuple(shape)
    except ValueError:
        return False


# Rules' functions: what `ufunc.at` makes of a copy.
AT = {"_added_at": np.add, "_subtracted_at": np.subtract}


def _written(node: Node) -> tuple[Any, Any, Any, Any, bool] | None:
    """The array, the index, the values, the ufunc that combines, and whether it is `ufunc.at`."""
    function, args = node.function, node.args
    if node.kwargs:
        return None
    name = getattr(function, "__qualname__", "")
    if node.steps is None:
        ufunc = AT.get(name)
        if ufunc is None or len(args) != 3:
            return None
        index, whole, value = args
        return whole, index, value, ufunc, True
    owner: Any = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc) and function.__name__ == "at" and len(args) == 3:
        return args[0], args[1], args[2], owner, True
    if function is operator.setitem and len(args) == 3 and is_by_data(args[1]):
        return args[0], args[1], args[2], None, False
    if _is_put(function) and len(args) == 3 and node.steps == ():
        index, size = args[1], math.prod(node.shape)
        if type(index) is np.ndarray and index.size and 0 <= index.min() <= index.max() < size:
            return args[0], index, args[2], None, False
    return None


def _is_put(function: Any) -> bool:
    return function is np.put or METHODS.get(function) == "put"


def is_write(node: Node) -> bool:
    return _written(node) is not None


def _bound(node: Node, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Arguments by name."""
    if len(node.args) > len(names) or not set(node.kwargs) <= set(names):
        return None
    return dict(zip(names, node.args, strict=False)) | node.kwargs


READS: dict[Any, Callable[[Statements, Node], Array | None]] = {
    np.take: take,
    np.bincount: bincount,
    np.take_along_axis: take_along,
}


def reader(function: Any) -> Callable[[Statements, Node], Array | None] | None:
    """Lowering of a read by a function, or by a method."""
    return take if METHODS.get(function) == "take" else READS.get(function)


__all__ = ["added", "gather", "is_by_data", "is_write", "reader", "write"]

"""Semantics of calls for the native back end: as statements about regions of memories.

Knows NumPy's elementwise functions, views, writes, reductions, joins and products. Must not know
in which order statements are computed (`lowering.py`), nor how (`kernels.py`). `native` gives None
for a call that is to be made by Python.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapegrad._native import places, sums, triangular
from tapegrad._native.lower_elementwise import bits, cast_of, chosen, clip, mapped, where
from tapegrad._native.lower_products import product, product_of
from tapegrad._native.lower_writes import is_basic, write
from tapegrad._native.native_ops import (
    BOOL,
    REDUCERS,
    UFUNC_OF,
    Cast,
    NotFinite,
    can_cast,
    is_known,
)
from tapegrad._native.regions import Array, Memory, Number, Statements, dense, is_uniform, view_of
from tapegrad._program.functions import METHODS, function_of, method
from tapegrad._program.passes import COPIES
from tapegrad._program.program import Node, Ref, references, references_of, value_of

_VIEWS = frozenset((operator.getitem, np.expand_dims, np.transpose, np.squeeze))


_BROADCAST = method("broadcast_to")


RESHAPES = frozenset(("reshape", "ravel", "flatten", "copy_like"))


def native(path: Statements, at: int, node: Node) -> Array | None:
    if places.is_write(node):
        return places.write(path, node)
    if node.steps is not None:
        choice = chosen(node)
        return write(path, node) if choice is None else where(path, choice)
    uniform = _uniform(path, node)
    if uniform is not None:
        return uniform
    for known in (_at_places, _of_arrays, _of_products):
        found = known(path, at, node)
        if found is not NotImplemented:
            assert found is None or type(found) is Array
            return found
    return _of_elements(path, node)


def _at_places(path: Statements, at: int, node: Node) -> Any:
    """Calls that look up elements, or search and sum; NotImplemented for others."""
    function, args = node.function, node.args
    if function is operator.getitem and not node.kwargs and places.is_by_data(args[1]):
        return places.gather(path, node, path.operand(args[0]), args[1])
    if getattr(function, "__qualname__", "") == "_take_positions":
        return places.take(path, _turned(node))
    if getattr(function, "__qualname__", "") == "_add_at_positions":
        return places.added(path, node)
    stated = places.reader(function) or sums.meaning(function)
    if stated is not None:
        return stated(path, node)
    return sums.einsum(path, at, node) if function is np.einsum else NotImplemented


def _of_arrays(path: Statements, _at: int, node: Node) -> Any:
    """Views, copies, other bits: NotImplemented for other calls."""
    function, args = node.function, node.args
    if METHODS.get(function) == "view" and len(args) == 2 and not node.kwargs:
        return bits(path, node)
    if function in (np.broadcast_to, _BROADCAST) and node.shares < 0:
        return _broadcast(path, node)
    if node.shares >= 0 or function in _VIEWS:
        found = _view(path, node)
        if found is not None or getattr(function, "__name__", "") not in RESHAPES:
            return found  # else it was a view of the copy that lay without gaps
    if function in COPIES or getattr(function, "__name__", "") in RESHAPES:
        return _copy(path, node)
    return NotImplemented


def _of_products(path: Statements, at: int, node: Node) -> Any:
    """Products of matrices and vectors; NotImplemented for other calls."""
    function = node.function
    if function in (operator.matmul, np.matmul, np.dot) or METHODS.get(function) == "dot":
        return product(path, at, node)
    if function in (np.inner, np.vdot):
        factors = sums.inner(path, node)
        return None if factors is None else product_of(path, at, node, *factors)
    known = triangular.BY_FUNCTION.get(function)
    return NotImplemented if known is None else known(path, at, node)


def _of_elements(path: Statements, node: Node) -> Array | None:
    """Elementwise functions, joins, casts and reductions."""
    function, args = node.function, node.args
    ufunc = UFUNC_OF.get(function, function)
    if isinstance(ufunc, np.ufunc) and not node.kwargs and len(args) == ufunc.nin:
        return mapped(path, ufunc, node)
    if function in _BY_FUNCTION:
        return _BY_FUNCTION[function](path, node)
    if METHODS.get(function) == "item" and len(args) == 1 and not node.kwargs:
        return cast_of(path, node)
    is_cast = getattr(function, "__name__", "") == "astype" and len(args) == 2
    if is_cast and node.kwargs.keys() <= {"copy"}:
        return cast_of(path, node)
    return _reduction(path, node)


_OF_PYTHON = {float: np.dtype("f8"), int: np.dtype("i8"), bool: BOOL}


_EXACT = frozenset((operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne))


_PLAIN = frozenset((operator.add, operator.sub, operator.mul, operator.neg))


def unbound(node: Node) -> Node:
    """A call of a rule's function as one of NumPy's function."""
    function = function_of(node.function)
    if function is node.function:
        return node
    kwargs = {
        k: v
        for k, v in node.kwargs.items()
        if v is not np._NoValue and (v is not None or k == "axis")  # None is no default of all
    }
    made = Node(function, node.args, kwargs, steps=node.steps, silent=node.silent)
    for name in ("kind", "shape", "dtype", "strides", "shares"):
        setattr(made, name, getattr(node, name))
    return made


def _turned(node: Node) -> Node:
    """A call with its two arguments in the other order."""
    made = Node(node.function, node.args[::-1], node.kwargs)
    for name in ("kind", "shape", "dtype", "strides", "shares"):
        setattr(made, name, getattr(node, name))
    return made


def as_numpys(node: Node) -> Node:
    """A call whose value is a number of Python's as one of a NumPy number, if that is the same.

    Python's integers have no bounds, and its division raises.
    """
    if node.kind not in _OF_PYTHON or node.dtype is not None or node.steps is not None:
        return node
    function, kind = node.function, node.kind
    known = function is np.count_nonzero or METHODS.get(function) == "item"
    known = known or kind is bool and function in _EXACT
    known = known or kind is float and function in _PLAIN
    if not known:
        return node
    made = Node(function, node.args, node.kwargs, silent=node.silent)
    made.describe(_OF_PYTHON[kind].type(0), node.shares)
    return made


def of_python(path: Statements, node: Node) -> Array | None:
    """A quotient or a power of Python's floats, where the path expects that it raises nothing.

    It raises for a divisor, or a base, that is zero, and where a power is too large; a power of a
    negative number is complex.
    """
    function = node.function
    if node.kind is not float or node.dtype is not None or node.steps is not None:
        return None
    if function not in (operator.truediv, operator.pow) or len(node.args) != 2:
        return None
    operands = [path.operand(arg) for arg in node.args]
    if any(x is None for x in operands) or all(type(x) is Number for x in operands):
        return None
    is_power = function is operator.pow
    which = operands[0 if is_power else 1]
    bad = np.less_equal if is_power else np.equal
    if type(which) is Number and bad(which.value, 0):
        return None
    made = Node(function, node.args, {}, silent=node.silent)
    made.describe(np.float64(0), node.shares)
    found = mapped(path, UFUNC_OF[function], made)
    if found is None:
        return None
    if type(which) is Array:
        path.asked(bad, which, expected=False, others=[Number(0, which.dtype)])
    if is_power:
        path.asked(NotFinite, found, expected=False)
    return found


def _broadcast(path: Statements, node: Node) -> Array | None:
    x = path.operand(node.args[0])
    if type(x) is not Array or len(x.shape) > len(node.shape):
        return None
    lead = len(node.shape) - len(x.shape)
    strides = [0 if n == 1 else s for n, s in zip(x.shape, x.strides, strict=True)]
    path.alias(x.memory)
    return Array(x.memory, x.offset, (*[0] * lead, *strides), node.shape)


_CONSTANT = {np.zeros_like: 0, np.ones_like: 1, np.zeros: 0, np.ones: 1, np.empty: 0}


def _uniform(path: Statements, node: Node) -> Array | None:
    """An array whose elements are one constant."""
    value = _CONSTANT.get(node.function)
    if value is None or 0 in node.shape:
        return None
    memory = Memory((), (), node.dtype)
    memory.constant = node.dtype.type(value)
    return Array(memory, 0, (0,) * len(node.shape), node.shape)


def _view(path: Statements, node: Node) -> Array | None:
    """A view, found out by taking it of an array without elements of account."""
    used = set(references_of(node))
    if len(used) != 1 or not node.args or type(node.args[0]) is not Ref:
        return None
    base = path.operand(node.args[0])
    if type(base) is not Array:
        return None
    if is_uniform(base) and node.shares >= 0:
        return Array(base.memory, 0, (0,) * len(node.shape), node.shape)
    if base.memory.constant is not None:
        return None
    found = view_of(base, lambda x: _called(node, used.pop(), x))
    if found is None or found.shape != node.shape:
        return None
    path.alias(base.memory)
    return found


def _copy(path: Statements, node: Node) -> Array | None:
    """A copy; also a reshape that no view can be."""
    if not node.args or set(references_of(node)) != set(references(node.args[0])):
        return None
    x = path.operand(node.args[0])
    if type(x) is not Array or x.dtype != node.dtype:
        return None
    if x.shape == node.shape:
        return path.stated(Cast, [x], x.dtype, path.memory(node).whole())
    if x.memory.constant is not None:
        return None
    orders = [node.kwargs.get("order", "C"), *[x for x in node.args[1:] if isinstance(x, str)]]
    if any(order not in ("C", "c") for order in orders) or len(node.args) > 3:
        return None
    rows = path.new(x.shape, dense(x.shape, ()), x.dtype)
    path.stated(Cast, [x], x.dtype, rows.whole())
    path.alias(rows)
    return Array(rows, 0, dense(node.shape, ()), node.shape)


def _joined(path: Statements, node: Node) -> Array | None:
    """`np.concatenate` and `np.stack`."""
    parts, *rest = node.args
    kwargs = dict(node.kwargs)
    axis = rest[0] if rest else kwargs.pop("axis", 0)
    if kwargs or len(rest) > 1 or type(axis) is not int or type(parts) not in (list, tuple):
        return None
    axis %= len(node.shape)
    found = [path.operand(part) for part in parts]
    given = [x for x in found if type(x) is Array]
    stacked = node.function is np.stack
    if len(given) < len(found) or not all(can_cast(x.dtype, node.dtype) for x in given):
        return None
    memory, start = path.memory(node), 0
    for x in given:
        n = 1 if stacked else x.shape[axis]
        shape = (*node.shape[:axis], n, *node.shape[axis + 1 :])
        if stacked:
            strides = (*x.strides[:axis], 0, *x.strides[axis:])
            x = Array(x.memory, x.offset, strides, shape)
        region = Array(memory, start * memory.strides[axis], memory.strides, shape)
        start += n
        if n:
            path.stated(Cast, [x], node.dtype, region)
    return memory.whole()


def _reduction(path: Statements, node: Node) -> Array | None:
    found = _reduction_of(node)
    x = path.operand(node.args[0]) if found is not None else None
    if found is None or type(x) is not Array:
        return None
    ufunc, name, given = found
    rank = len(x.shape)
    axes = set(range(rank)) if given is None else {axis % rank for axis in given}
    mean = name == "mean"
    dtype = node.dtype
    if ufunc in (np.logical_or, np.logical_and):
        dtype = BOOL
    if name == "count_nonzero" and x.dtype != BOOL:
        x = path.stated(Cast, [x], BOOL, path.new(x.shape, dense(x.shape, ()), BOOL).whole())
    castable = can_cast(x.dtype, dtype) or dtype == BOOL
    castable = castable and is_known(ufunc, dtype)
    if not castable or dtype != node.dtype or mean and dtype.kind != "f":
        return None
    memory = path.memory(node)
    kept = iter(memory.strides)
    if len(node.shape) == len(x.shape):
        strides = tuple([0 if i in axes else s for i, s in enumerate(memory.strides)])
    else:
        strides = tuple([0 if i in axes else next(kept) for i in range(len(x.shape))])
    path.stated(Cast, [x], dtype, Array(memory, 0, strides, x.shape), ufunc)
    if not mean:
        return memory.whole()
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    total = memory.whole()
    return path.stated(np.divide, [total, Number(count, int)], dtype, path.memory(node).whole())


_BY_FUNCTION: dict[Any, Any] = {
    np.where: where,
    np.clip: clip,
    np.concatenate: _joined,
    np.stack: _joined,
}


def _called(node: Node, at: int, x: Any) -> Any:
    """The value of a view's node for an array."""
    if node.function is operator.getitem and not node.kwargs:
        index = node.args[1]
        if not is_basic(index):
            return None
        index = index if type(index) is tuple else (index,)
        return x[index if any(part is Ellipsis for part in index) else (*index, ...)]
    values: Any = {at: x}
    return value_of(node, values)


_REDUCERS_BY_NAME = {
    "sum": np.add,
    "mean": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "amax": np.maximum,
    "amin": np.minimum,
    "count_nonzero": np.add,
    "any": np.logical_or,
    "all": np.logical_and,
}


_OF_NUMPY = {getattr(np, name): name for name in _REDUCERS_BY_NAME}


def _reduction_of(node: Node) -> tuple[Any, str, set[int] | None] | None:
    """The ufunc that a reduction combines by, its name, and its axes, None for all of them."""
    function = node.function
    owner: Any = getattr(function, "__self__", None)
    ufunc: Any
    default: int | None
    if isinstance(owner, np.ufunc) and getattr(function, "__name__", "") == "reduce":
        ufunc, name, default = owner, "reduce", 0
    else:
        name = _OF_NUMPY.get(function) or METHODS.get(function, "")
        ufunc, default = _REDUCERS_BY_NAME.get(name), None
    if ufunc not in REDUCERS or not node.args or type(node.args[0]) is not Ref:
        return None
    _, *rest = node.args
    kwargs = dict(node.kwargs)
    kwargs.pop("keepdims", None)
    if kwargs.get("dtype", 0) is None:
        del kwargs["dtype"]
    if node.dtype.kind == "f" and kwargs.get("initial", 0) == REDUCERS[ufunc](node.dtype):
        kwargs.pop("initial", None)
    axis = rest[0] if rest else kwargs.pop("axis", default)
    if kwargs or any(option is not None for option in rest[1:3]):  # a dtype, or where it goes
        return None
    axes = axis if type(axis) is tuple else (axis,)
    if axis is not None and any(type(part) is not int for part in axes):
        return None
    return ufunc, name, None if axis is None else set(axes)


__all__ = ["native"]

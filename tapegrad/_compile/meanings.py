"""What calls mean to the native back end: as statements about regions of memories.

Knows NumPy's elementwise functions, views, writes, reductions, joins and products. Must not know
in which order statements are computed (`lowering.py`), nor how (`kernels.py`). `native` gives None
for a call that is to be made by Python.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapegrad._compile.functions import METHODS, add_part
from tapegrad._compile.native_ops import (
    BOOL,
    LOGICAL,
    REDUCERS,
    UFUNC_OF,
    Cast,
    Where,
    can_cast,
    is_known,
    loop_dtype,
)
from tapegrad._compile.passes import COPIES
from tapegrad._compile.program import Node, Ref, references, references_of, taken, value_of
from tapegrad._compile.regions import (
    Array,
    Call,
    Memory,
    Number,
    Statements,
    around,
    base_number,
    box_of,
    cut,
    dense,
    is_uniform,
    view_of,
)

FEW_PRODUCTS = 1 << 11  # multiplications, below which a product is a loop nest of its own
RESHAPES = frozenset(("reshape", "ravel", "flatten", "copy_like"))


def native(path: Statements, at: int, node: Node) -> Array | None:
    if node.steps is not None:
        return _write(path, node)
    function, args = node.function, node.args
    uniform = _uniform(path, node)
    if uniform is not None:
        return uniform
    if node.shares >= 0 or function is operator.getitem:
        return _view(path, node)
    if function in COPIES or getattr(function, "__name__", "") in RESHAPES:
        return _copy(path, node)
    ufunc = UFUNC_OF.get(function, function)
    if isinstance(ufunc, np.ufunc) and not node.kwargs and len(args) == ufunc.nin:
        if ufunc is np.matmul:
            return _product(path, at, node)
        return _map(path, ufunc, node)
    if function in _BY_FUNCTION:
        return _BY_FUNCTION[function](path, node)
    if function in (operator.matmul, np.matmul, np.dot):
        return _product(path, at, node)
    if getattr(function, "__name__", "") == "astype" and len(args) == 2 and not node.kwargs:
        return _cast(path, node)
    return _reduction(path, node)


def _uniform(path: Statements, node: Node) -> Array | None:
    """An array whose elements are one constant."""
    value = {np.zeros_like: 0, np.ones_like: 1}.get(node.function)
    if value is None:
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
    path.aliased.add(id(base.memory))
    return found


def _copy(path: Statements, node: Node) -> Array | None:
    """A copy; also a reshape that no view can be."""
    if not node.args or set(references_of(node)) != set(references(node.args[0])):
        return None
    x = path.operand(node.args[0])
    if type(x) is not Array or x.memory.constant is not None or x.dtype != node.dtype:
        return None
    if x.shape == node.shape:
        return path.stated(Cast, [x], x.dtype, path.memory(node).whole())
    if node.kwargs.get("order", "C") != "C" or len(node.args) > 3:
        return None
    rows = path.new(x.shape, dense(x.shape, ()), x.dtype)
    path.stated(Cast, [x], x.dtype, rows.whole())
    path.aliased.add(id(rows))
    return Array(rows, 0, dense(node.shape, ()), node.shape)


def _map(path: Statements, ufunc: Any, node: Node) -> Array | None:
    operands = [path.operand(arg) for arg in node.args]
    if any(x is None for x in operands):
        return None
    kinds = tuple([_kind(path, x, arg) for x, arg in zip(operands, node.args, strict=True)])
    if ufunc is np.power and node.function is operator.pow and type(operands[1]) is Number:
        simple = _power(operands[1].value)
        if simple is not None:
            ufunc, operands, kinds = simple, operands[:1], kinds[:1]
    found = loop_dtype(ufunc, kinds)
    if found is None or found[1] != node.dtype or not is_known(ufunc, found[0]):
        return None
    if not all(_castable(x, found[0], logical=ufunc in LOGICAL) for x in operands):
        return None
    return path.stated(ufunc, operands, found[0], path.memory(node).whole())


def _kind(path: Statements, x: Any, arg: Any) -> Any:
    """A dtype, or the class of a number of Python's."""
    if type(x) is Number:
        return x.kind
    kind = path.kinds.get(arg.at) if type(arg) is Ref else None
    return kind if kind in (int, float, bool) else x.dtype


def _castable(x: Any, dtype: Any, *, logical: bool = False) -> bool:
    if type(x) is Number:
        return True
    return can_cast(x.dtype, dtype) or logical


def _where(path: Statements, node: Node) -> Array | None:
    operands = [path.operand(arg) for arg in node.args]
    if any(x is None for x in operands) or node.kwargs or len(operands) != 3:
        return None
    condition, *rest = operands
    if type(condition) is Array and condition.dtype != BOOL:
        return None
    if not all(_castable(x, node.dtype) for x in rest):
        return None
    return path.stated(Where, operands, node.dtype, path.memory(node).whole())


def _clip(path: Statements, node: Node) -> Array | None:
    """`np.clip(x, least, most)`, of which one may be None."""
    names = ("a", "a_min", "a_max", "min", "max")
    bound = dict(zip(names[:3], node.args, strict=False)) | node.kwargs
    least, most = [bound.pop(f"a_{k}", None) for k in ("min", "max")]
    least, most = bound.pop("min", least), bound.pop("max", most)
    x = path.operand(bound.pop("a", None))
    if bound or type(x) is not Array or x.dtype != node.dtype or x.shape != node.shape:
        return None
    for ufunc, limit in ((np.maximum, least), (np.minimum, most)):
        if limit is None:
            continue
        y = path.operand(limit)
        if y is None or not is_known(ufunc, x.dtype):
            return None
        if type(y) is Number:
            if y.kind is not int and not (y.kind is float and x.dtype.kind == "f"):
                return None
        elif type(y) is Array and y.dtype != x.dtype:
            return None
        x = path.stated(ufunc, [x, y], x.dtype, path.memory(node).whole())
    return x


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


def _cast(path: Statements, node: Node) -> Array | None:
    x = path.operand(node.args[0])
    if type(x) is not Array or not can_cast(x.dtype, node.dtype):
        return None
    return path.stated(Cast, [x], node.dtype, path.memory(node).whole())


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


def _product(path: Statements, at: int, node: Node) -> Array | None:
    if node.kwargs or len(node.args) != 2:
        return None
    a, b = [path.operand(arg) for arg in node.args]
    if type(a) is not Array or type(b) is not Array:
        return None
    if not (a.dtype == b.dtype == node.dtype and node.dtype.kind == "f"):
        return None
    deep = len(a.shape) > 2 or len(b.shape) > 2
    if not a.shape or not b.shape or deep and node.function is np.dot:
        return None
    memory = path.memory(node)
    small = _small_product(path, node, a, b, memory)
    if small is not None:
        return small
    if a.memory.constant is not None or b.memory.constant is not None or not node.shape:
        return None
    if memory.strides != dense(node.shape, ()):
        memory = path.new(node.shape, dense(node.shape, ()), node.dtype)
    call = Call("into", at, node, [a, b])
    call.out = memory.whole()
    memory.kept = True
    path.place(call, [a, b])
    memory.writers.append(call)
    return call.out


def _small_product(
    path: Statements, node: Node, a: Array, b: Array, memory: Memory
) -> Array | None:
    """A small product of matrices or vectors as a sum over the middle index."""
    if len(a.shape) > 2 or len(b.shape) > 2:
        return None
    n = a.shape[-1]
    rows = a.shape[:-1]
    columns = b.shape[1:]
    domain = (*rows, n, *columns)
    if np.prod(domain) > FEW_PRODUCTS:
        return None
    left = Array(a.memory, a.offset, a.strides + (0,) * len(columns), domain)
    right = Array(b.memory, b.offset, (0,) * len(rows) + b.strides, domain)
    strides = memory.strides
    out = (*strides[: len(rows)], 0, *strides[len(rows) :])
    path.stated(np.multiply, [left, right], node.dtype, Array(memory, 0, out, domain), np.add)
    return memory.whole()


def _write(path: Statements, node: Node) -> Array | None:
    """A copy of an array, a region of which is written or added to."""
    found = _written(node)
    if found is None:
        return None
    whole, index, value, ufunc = found
    base, given = path.operand(whole), path.operand(value)
    if type(base) is not Array or given is None or base.dtype != node.dtype:
        return None
    if not _castable(given, node.dtype):
        return None
    if ufunc is not None:
        kinds = (node.dtype, given.dtype if isinstance(given, Array) else given.kind)
        known = is_known(ufunc, node.dtype)
        if not known or loop_dtype(ufunc, kinds) != (node.dtype, node.dtype):
            return None

    def take(x: Any) -> Any:
        return taken(x, node.steps or (), ())[index]

    in_place = _is_dying(path, whole, base)
    memory = base.memory if in_place else path.memory(node)
    region = view_of(memory.whole(), take)
    before: Any = base_number(base) if is_uniform(base) else view_of(base, take)
    if region is None or before is None:
        return None
    if type(given) is Array and len(given.shape) > len(region.shape):  # axes of length one
        lead = len(given.shape) - len(region.shape)
        given = Array(given.memory, given.offset, given.strides[lead:], given.shape[lead:])
    if not in_place:
        box = box_of(region)
        for piece in [None] if box is None or 0 in region.shape else around(box, node.shape):
            path.stated(Cast, [cut(base, piece)], node.dtype, cut(memory.whole(), piece))
    if 0 not in region.shape:
        op, operands = (Cast, [given]) if ufunc is None else (ufunc, [before, given])
        path.stated(op, operands, node.dtype, region)
    return memory.whole()


def _written(node: Node) -> tuple[Any, Any, Any, Any] | None:
    """What is written to, at which index, what, and the ufunc that combines; None for others."""
    function, (whole, *rest) = node.function, node.args
    if function in _IN_PLACE and len(rest) == 1:
        rest = [..., *rest]
    elif function not in (operator.setitem, add_part):
        return None
    if len(rest) != 2 or node.kwargs:
        return None
    index, value = rest
    if any(True for _ in references((index, node.steps))) or not _is_basic(index):
        return None
    index = index if type(index) is tuple else (index,)
    index = index if any(part is Ellipsis for part in index) else (*index, ...)
    return whole, index, value, _IN_PLACE.get(function)


def _is_dying(path: Statements, whole: Any, base: Array) -> bool:
    """Whether nothing but a write uses an array, so that it is done in place."""
    kept = base.memory
    return (
        type(whole) is Ref
        and path.uses.get(whole.at) == 1
        and kept.constant is None
        and kept.input is None
        and id(kept) not in path.aliased
        and base == kept.whole()
        and not isinstance(kept.writers[-1], Call)
    )


_BY_FUNCTION: dict[Any, Any] = {
    np.where: _where,
    np.clip: _clip,
    np.concatenate: _joined,
    np.stack: _joined,
}


def _called(node: Node, at: int, x: Any) -> Any:
    """The value of a view's node for an array."""
    if node.function is operator.getitem and not node.kwargs:
        index = node.args[1]
        if not _is_basic(index):
            return None
        index = index if type(index) is tuple else (index,)
        return x[index if any(part is Ellipsis for part in index) else (*index, ...)]
    values: Any = {at: x}
    return value_of(node, values)


def _is_basic(index: Any) -> bool:
    parts = index if type(index) is tuple else (index,)
    return all(
        part is None or part is Ellipsis or type(part) in (int, slice) or type(part) is np.int64
        for part in parts
    )


def _power(exponent: Any) -> Any:
    """The ufunc that NumPy's `**` calls in place of `power`, for some exponents."""
    if type(exponent) not in (int, float):
        return None
    return {2: np.square, 1: np.positive, 0.5: np.sqrt, -1: np.reciprocal}.get(exponent)


_IN_PLACE: dict[Any, np.ufunc] = {
    add_part: np.add,
    operator.iadd: np.add,
    operator.isub: np.subtract,
    operator.imul: np.multiply,
    operator.itruediv: np.divide,
}

_REDUCERS_BY_NAME = {
    "sum": np.add,
    "mean": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "amax": np.maximum,
    "amin": np.minimum,
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
    axis = rest[0] if rest else kwargs.pop("axis", default)
    if kwargs or any(option is not None for option in rest[1:3]):  # a dtype, or where it goes
        return None
    axes = axis if type(axis) is tuple else (axis,)
    if axis is not None and any(type(part) is not int for part in axes):
        return None
    return ufunc, name, None if axis is None else set(axes)


__all__ = ["native"]

"""What calls mean to the native back end: as statements about regions of memories.

Knows NumPy's elementwise functions, views, writes, reductions, joins and products. Must not know
in which order statements are computed (`lowering.py`), nor how (`kernels.py`). `native` gives None
for a call that is to be made by Python.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapegrad._compile import places, sums, triangular
from tapegrad._compile.functions import BOUND, METHODS, OUT_OF, add_part, method
from tapegrad._compile.native_ops import (
    BOOL,
    LOGICAL,
    REDUCERS,
    TYPES,
    UFUNC_OF,
    Bits,
    Cast,
    Where,
    can_cast,
    holds,
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
MOST_OF_VECTOR = 1 << 22  # the same, of a vector by a matrix: loops are as fast as BLAS
MOST_IN_STACKS = 1 << 15  # of all the matrices of a stack
_VIEWS = frozenset((operator.getitem, np.expand_dims, np.transpose, np.squeeze))
_BROADCAST = method("broadcast_to")
RESHAPES = frozenset(("reshape", "ravel", "flatten", "copy_like"))


def native(path: Statements, at: int, node: Node) -> Array | None:
    if places.is_write(node):
        return places.write(path, node)
    if node.steps is not None:
        chosen = _chosen(node)
        return _write(path, node) if chosen is None else _where(path, chosen)
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
    stated = places.reader(function) or sums.meaning(function)
    if stated is not None:
        return stated(path, node)
    return sums.einsum(path, at, node) if function is np.einsum else NotImplemented


def _of_arrays(path: Statements, _at: int, node: Node) -> Any:
    """Views, copies, other bits: NotImplemented for other calls."""
    function, args = node.function, node.args
    if METHODS.get(function) == "view" and len(args) == 2 and not node.kwargs:
        return _bits(path, node)
    if function in (np.broadcast_to, _BROADCAST) and node.shares < 0:
        return _broadcast(path, node)
    if node.shares >= 0 or function in _VIEWS:
        return _view(path, node)
    if function in COPIES or getattr(function, "__name__", "") in RESHAPES:
        return _copy(path, node)
    return NotImplemented


def _of_products(path: Statements, at: int, node: Node) -> Any:
    """Products of matrices and vectors; NotImplemented for other calls."""
    function = node.function
    if function in (operator.matmul, np.matmul, np.dot) or METHODS.get(function) == "dot":
        return _product(path, at, node)
    if function in (np.inner, np.vdot):
        factors = sums.inner(path, node)
        return None if factors is None else _product_of(path, at, node, *factors)
    known = triangular.BY_FUNCTION.get(function)
    return NotImplemented if known is None else known(path, at, node)


def _of_elements(path: Statements, node: Node) -> Array | None:
    """Elementwise functions, joins, casts and reductions."""
    function, args = node.function, node.args
    ufunc = UFUNC_OF.get(function, function)
    if isinstance(ufunc, np.ufunc) and not node.kwargs and len(args) == ufunc.nin:
        return _map(path, ufunc, node)
    if function in _BY_FUNCTION:
        return _BY_FUNCTION[function](path, node)
    if METHODS.get(function) == "item" and len(args) == 1 and not node.kwargs:
        return _cast(path, node)
    if getattr(function, "__name__", "") == "astype" and len(args) == 2 and not node.kwargs:
        return _cast(path, node)
    return _reduction(path, node)


_OF_PYTHON = {float: np.dtype("f8"), int: np.dtype("i8"), bool: BOOL}
_EXACT = frozenset((operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne))
_PLAIN = frozenset((operator.add, operator.sub, operator.mul, operator.neg))


def unbound(node: Node) -> Node:
    """A call of a rule's function as one of NumPy's function."""
    function = BOUND.get(node.function)
    if function is None:
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


def _bits(path: Statements, node: Node) -> Array | None:
    """The bits of numbers, as numbers of another dtype."""
    x = path.operand(node.args[0])
    if type(x) is not Array or x.dtype.itemsize != node.dtype.itemsize or x.shape != node.shape:
        return None
    if BOOL in (x.dtype, node.dtype):
        return None
    return path.stated(Bits(node.dtype), [x], x.dtype, path.memory(node).whole())


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
    if node.kwargs.get("order", "C") != "C" or len(node.args) > 3:
        return None
    rows = path.new(x.shape, dense(x.shape, ()), x.dtype)
    path.stated(Cast, [x], x.dtype, rows.whole())
    path.alias(rows)
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
        return holds(dtype, x.value)
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


def _chosen(node: Node) -> Node | None:
    """A write of a whole array by a mask as a choice; None for others."""
    if node.function is not np.copyto or node.steps or set(node.kwargs) != {"where"}:
        return None
    before, value = node.args
    made = Node(np.where, (node.kwargs["where"], value, before), {}, silent=node.silent)
    for name in ("kind", "shape", "dtype", "strides", "shares"):
        setattr(made, name, getattr(node, name))
    return made


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
            if not holds(x.dtype, y.value):
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
    if x.shape != node.shape:
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


def _product(path: Statements, at: int, node: Node) -> Array | None:
    if node.kwargs or len(node.args) != 2:
        return None
    a, b = [path.operand(arg) for arg in node.args]
    if type(a) is not Array or type(b) is not Array:
        return None
    if not (a.dtype == b.dtype == node.dtype and node.dtype.kind == "f"):
        return None
    deep = len(a.shape) > 2 or len(b.shape) > 2
    by_dot = node.function is np.dot or METHODS.get(node.function) == "dot"
    if not a.shape or not b.shape or deep and by_dot:
        return None
    return _product_of(path, at, node, a, b)


def _product_of(path: Statements, at: int, node: Node, a: Array, b: Array) -> Array | None:
    """The product of matrices or vectors that are there."""
    if not (a.dtype == b.dtype == node.dtype and node.dtype.kind == "f"):
        return None
    memory = path.memory(node)
    small = _small_product(path, node, a, b, memory)
    if small is not None:
        return small
    if not node.shape:
        return None
    a, b = [path.laid_out(x) if is_uniform(x) else x for x in (a, b)]
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
        return _small_stack(path, node, a, b, memory)
    n = a.shape[-1]
    rows = a.shape[:-1]
    columns = b.shape[1:]
    domain = (*rows, n, *columns)
    if np.prod(domain) > (FEW_PRODUCTS if rows and columns else MOST_OF_VECTOR):
        return None
    left = Array(a.memory, a.offset, a.strides + (0,) * len(columns), domain)
    right = Array(b.memory, b.offset, (0,) * len(rows) + b.strides, domain)
    strides = memory.strides
    out = (*strides[: len(rows)], 0, *strides[len(rows) :])
    path.stated(np.multiply, [left, right], node.dtype, Array(memory, 0, out, domain), np.add)
    return memory.whole()


def _small_stack(path: Statements, node: Node, a: Array, b: Array, memory: Memory) -> Array | None:
    """Small products of matrices, one for each index of the axes before."""
    if len(a.shape) < 2 or len(b.shape) < 2:
        return None
    *_, rows, n = a.shape
    columns = b.shape[-1]
    before = node.shape[:-2]
    domain = (*before, rows, n, columns)
    if rows * n * columns > FEW_PRODUCTS or np.prod(domain) > MOST_IN_STACKS:
        return None

    def stacked(x: Array, inner: tuple[int, ...]) -> Array:
        lead = len(before) - (len(x.shape) - 2)
        steps = [0 if m == 1 else s for m, s in zip(x.shape, x.strides, strict=True)]
        return Array(x.memory, x.offset, (*[0] * lead, *steps[:-2], *inner), domain)

    left = stacked(a, (a.strides[-2], a.strides[-1], 0))
    right = stacked(b, (0, b.strides[-2], b.strides[-1]))
    out = (*memory.strides[:-2], memory.strides[-2], 0, memory.strides[-1])
    path.stated(np.multiply, [left, right], node.dtype, Array(memory, 0, out, domain), np.add)
    return memory.whole()


def _write(path: Statements, node: Node) -> Array | None:
    """A copy of an array, a region of which is written or added to."""
    found = _written(node)
    if found is None:
        return None
    whole, index, value, ufunc = found
    base = path.operand(whole)
    given = _delivered(path, node) if value is _DELIVERED else path.operand(value)
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

    if ufunc is None and given == view_of(base, take) and type(whole) is Ref:
        _forget_name(path, whole, value, base)
        return base  # x[i] += v ends by x[i] = x[i]
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


_DELIVERED = object()


def _delivered(path: Statements, node: Node) -> Array | None:
    """What a ufunc with `out=` computes, before it is written."""
    ufunc = UFUNC_OF.get(OUT_OF[node.function], OUT_OF[node.function])
    operands = [path.operand(arg) for arg in node.args[1:]]
    if not isinstance(ufunc, np.ufunc) or ufunc.nin != len(operands) or None in operands:
        return None
    if ufunc.signature is not None:
        return None
    kinds = tuple([_kind(path, x, a) for x, a in zip(operands, node.args[1:], strict=True)])
    found = loop_dtype(ufunc, kinds)
    if found is None or not is_known(ufunc, found[0]) or found[1] not in TYPES:
        return None
    if not all(_castable(x, found[0], logical=ufunc in LOGICAL) for x in operands):
        return None
    shape = np.broadcast_shapes(*[x.shape for x in operands if type(x) is Array])
    made = path.new(shape, dense(shape, ()), found[1])
    return path.stated(ufunc, operands, found[0], made.whole()) if 0 not in shape else None


def _written(node: Node) -> tuple[Any, Any, Any, Any] | None:
    """What is written to, at which index, what, and the ufunc that combines; None for others."""
    function, (whole, *rest) = node.function, node.args
    if function in OUT_OF:
        return (whole, (...,), _DELIVERED, None) if set(node.kwargs) <= {"casting"} else None
    if (function in _IN_PLACE or function is np.copyto) and len(rest) == 1:
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


def _forget_name(path: Statements, whole: Ref, value: Any, base: Array) -> None:
    """A memory has one name less, if nothing else uses the view, nor what it is a view of."""
    view = path.nodes.get(value.at) if type(value) is Ref else None
    if view is None or not view.args or view.args[0] != whole:
        path.alias(base.memory)
    elif path.uses.get(value.at) == 1 and path.uses.get(whole.at) == 2:
        path.aliased[id(base.memory)] -= 1
    else:
        path.alias(base.memory)


def _is_dying(path: Statements, whole: Any, base: Array) -> bool:
    """Whether nothing but a write uses an array, so that it is done in place."""
    kept = base.memory
    return (
        type(whole) is Ref
        and path.uses.get(whole.at) == 1
        and kept.constant is None
        and kept.input is None
        and not path.aliased.get(id(kept))
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
    axis = rest[0] if rest else kwargs.pop("axis", default)
    if kwargs or any(option is not None for option in rest[1:3]):  # a dtype, or where it goes
        return None
    axes = axis if type(axis) is tuple else (axis,)
    if axis is not None and any(type(part) is not int for part in axes):
        return None
    return ufunc, name, None if axis is None else set(axes)


__all__ = ["native"]

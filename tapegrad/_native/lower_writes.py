"""Writes into regions of arrays, as statements: in place where nobody else sees the array.

Knows which regions are written, and what is left as it was. Must not know writes at places
that are data (`places.py`). `None` stands for a call that is to be made by Python.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapegrad._native.lower_elementwise import castable, kind_of
from tapegrad._native.native_ops import LOGICAL, TYPES, UFUNC_OF, Cast, is_known, loop_dtype
from tapegrad._native.regions import (
    Array,
    Call,
    Statements,
    around,
    base_number,
    box_of,
    cut,
    dense,
    is_uniform,
    view_of,
)
from tapegrad._program.functions import OUT_OF
from tapegrad._program.program import Node, Ref, references, taken

_DELIVERED = object()


_IN_PLACE: dict[Any, np.ufunc] = {
    operator.iadd: np.add,
    operator.isub: np.subtract,
    operator.imul: np.multiply,
    operator.itruediv: np.divide,
}


def write(path: Statements, node: Node) -> Array | None:
    """A copy of an array, a region of which is written or added to."""
    found = _written(node)
    if found is None:
        return None
    whole, index, value, ufunc = found
    base = path.operand(whole)
    given = _delivered(path, node) if value is _DELIVERED else path.operand(value)
    if type(base) is not Array or given is None or base.dtype != node.dtype:
        return None
    if not castable(given, node.dtype):
        return None
    if ufunc is not None:
        kinds = (node.dtype, kind_of(path, given, value))
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


def _delivered(path: Statements, node: Node) -> Array | None:
    """Value of a ufunc with `out=`, before it is written."""
    ufunc = UFUNC_OF.get(OUT_OF[node.function], OUT_OF[node.function])
    operands = [path.operand(arg) for arg in node.args[1:]]
    if not isinstance(ufunc, np.ufunc) or ufunc.nin != len(operands) or None in operands:
        return None
    if ufunc.signature is not None:
        return None
    kinds = tuple([kind_of(path, x, a) for x, a in zip(operands, node.args[1:], strict=True)])
    found = loop_dtype(ufunc, kinds)
    if found is None or not is_known(ufunc, found[0]) or found[1] not in TYPES:
        return None
    if not all(castable(x, found[0], logical=ufunc in LOGICAL) for x in operands):
        return None
    shape = np.broadcast_shapes(*[x.shape for x in operands if type(x) is Array])
    made = path.new(shape, dense(shape, ()), found[1])
    return path.stated(ufunc, operands, found[0], made.whole()) if 0 not in shape else None


def _written(node: Node) -> tuple[Any, Any, Any, Any] | None:
    """Target, index and value of a write, and the ufunc that combines; None for others."""
    function, (whole, *rest) = node.function, node.args
    if function in OUT_OF:
        return (whole, (...,), _DELIVERED, None) if set(node.kwargs) <= {"casting"} else None
    if (function in _IN_PLACE or function is np.copyto) and len(rest) == 1:
        rest = [..., *rest]
    elif function is not operator.setitem:
        return None
    if len(rest) != 2 or node.kwargs:
        return None
    index, value = rest
    if any(True for _ in references((index, node.steps))) or not is_basic(index):
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


def is_basic(index: Any) -> bool:
    parts = index if type(index) is tuple else (index,)
    return all(
        part is None or part is Ellipsis or type(part) in (int, slice) or type(part) is np.int64
        for part in parts
    )


__all__ = ["is_basic", "write"]

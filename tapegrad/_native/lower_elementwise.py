"""Elementwise functions, choices and casts, as statements about regions of memories.

Knows in which dtypes NumPy computes them. Must not know which calls they are (`semantics.py`).
`None` stands for a call that is to be made by Python.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._native.native_ops import (
    BOOL,
    LOGICAL,
    TYPES,
    Bits,
    Cast,
    Where,
    can_cast,
    holds,
    is_known,
    loop_dtype,
)
from tapegrad._native.regions import Array, Number, Statements
from tapegrad._native.vector_math import WHOLE_POWERS
from tapegrad._program.program import Node, Ref


def bits(path: Statements, node: Node) -> Array | None:
    """The bits of numbers, as numbers of another dtype."""
    x = path.operand(node.args[0])
    if type(x) is not Array or x.dtype.itemsize != node.dtype.itemsize or x.shape != node.shape:
        return None
    if node.dtype == BOOL:  # which may have other bits than those of 0 and 1
        return x if x.dtype == BOOL else None
    if x.dtype == BOOL:
        return path.stated(Cast, [x], node.dtype, path.memory(node).whole())
    return path.stated(Bits(node.dtype), [x], x.dtype, path.memory(node).whole())


def mapped(path: Statements, ufunc: Any, node: Node) -> Array | None:
    operands = [path.operand(arg) for arg in node.args]
    if any(x is None for x in operands):
        return None
    kinds = tuple([kind_of(path, x, arg) for x, arg in zip(operands, node.args, strict=True)])
    if ufunc is np.power:
        simple = _power(node.args[1], looks=node.function is operator.pow or _POWER_LOOKS)
        known = None if simple is None else loop_dtype(simple, kinds[:1])
        if known is not None and known[1] == node.dtype:
            ufunc, operands, kinds = simple, operands[:1], kinds[:1]
    found = loop_dtype(ufunc, kinds)
    if found is None or found[1] != node.dtype or not is_known(ufunc, found[0]):
        return None
    if not all(castable(x, found[0], logical=ufunc in LOGICAL) for x in operands):
        return None
    return path.stated(ufunc, operands, found[0], path.memory(node).whole())


def kind_of(path: Statements, x: Any, arg: Any) -> Any:
    """A dtype, or the class of a number of Python's."""
    if type(x) is Number:
        return x.kind
    kind = path.kinds.get(arg.at) if type(arg) is Ref else None
    return kind if kind in (int, float, bool) else x.dtype


def castable(x: Any, dtype: Any, *, logical: bool = False) -> bool:
    if type(x) is Number:
        return holds(dtype, x.value)
    return can_cast(x.dtype, dtype) or logical


def where(path: Statements, node: Node) -> Array | None:
    operands = [path.operand(arg) for arg in node.args]
    if any(x is None for x in operands) or node.kwargs or len(operands) != 3:
        return None
    condition, *rest = operands
    if type(condition) is Array and condition.dtype != BOOL:
        return None
    if not all(castable(x, node.dtype) for x in rest):
        return None
    return path.stated(Where, operands, node.dtype, path.memory(node).whole())


def chosen(node: Node) -> Node | None:
    """A write of a whole array by a mask as a choice; None for others."""
    if node.function is not np.copyto or node.steps or set(node.kwargs) != {"where"}:
        return None
    before, value = node.args
    made = Node(np.where, (node.kwargs["where"], value, before), {}, silent=node.silent)
    for name in ("kind", "shape", "dtype", "strides", "shares"):
        setattr(made, name, getattr(node, name))
    return made


def clip(path: Statements, node: Node) -> Array | None:
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


def cast_of(path: Statements, node: Node) -> Array | None:
    x = path.operand(node.args[0])
    if type(x) is not Array or x.shape != node.shape:
        return None
    if x.dtype.kind == "f" and node.dtype.kind == "i" and node.dtype in TYPES:
        least = float(np.iinfo(node.dtype).min)
        # Numbers beyond the integers, and NaN, become what the processor makes of them.
        path.asked(np.less, x, expected=False, others=[Number(least, x.dtype)])
        path.asked(np.greater_equal, x, expected=False, others=[Number(-least, x.dtype)])
        path.asked(np.isnan, x, expected=False)
    elif not can_cast(x.dtype, node.dtype):
        return None
    return path.stated(Cast, [x], node.dtype, path.memory(node).whole())


def _power(exponent: Any, *, looks: bool) -> Any:
    """The function of one argument that takes the place of `power` for some known exponents.

    looks: whether NumPy has one for that, too.
    """
    if isinstance(exponent, (np.generic, np.ndarray)) and exponent.ndim == 0:
        exponent = exponent.item()
    if type(exponent) not in (int, float):
        return None
    if exponent in WHOLE_POWERS:
        return WHOLE_POWERS[int(exponent)]
    known = {2: np.square, 1: np.positive, 0.5: np.sqrt, -1: np.reciprocal}
    return known.get(exponent) if looks else None


# Whether `np.power` looks for such an exponent itself, or `**` alone does.
with silence():
    _POWER_LOOKS = bool(np.isnan(np.power(np.full(2, -np.inf), 0.5)[0]))


__all__ = ["bits", "cast_of", "castable", "chosen", "clip", "kind_of", "mapped", "where"]

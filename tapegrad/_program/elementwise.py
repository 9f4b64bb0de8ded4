"""Calls that are of one ufunc: which one, and of what numbers.

Knows the operators that call a ufunc for arrays, and arrays whose elements are all the same. Must
not know programs as a whole, nor how code is generated.
"""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any

import numpy as np

from tapegrad._program.program import Node, Ref

# Operators by the ufunc that they call for arrays.
UFUNC_OF: dict[Any, np.ufunc] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.divide,
    operator.floordiv: np.floor_divide,
    operator.mod: np.remainder,
    operator.matmul: np.matmul,
    operator.neg: np.negative,
    operator.abs: np.absolute,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    operator.iadd: np.add,
    operator.isub: np.subtract,
    operator.imul: np.multiply,
    operator.itruediv: np.divide,
}
COMMUTATIVE = frozenset((np.add, np.multiply))
# Rounded correctly, or not at all: each element is the same however the arrays lie in memory.
EXACT = frozenset(
    (
        np.add,
        np.subtract,
        np.multiply,
        np.divide,
        np.sqrt,
        np.square,
        np.negative,
        np.absolute,
        np.maximum,
        np.minimum,
        np.reciprocal,
        np.less,
        np.less_equal,
        np.greater,
        np.greater_equal,
        np.equal,
        np.not_equal,
        np.logical_not,
        np.isfinite,
        np.isnan,
        np.sign,
        np.copysign,
        np.floor,
        np.ceil,
        np.rint,
    )
)
REAL = "fd"  # the dtypes of which much is known


def ufunc_of(node: Node) -> np.ufunc | None:
    """The ufunc by which a call can write into an array that is there already."""
    function = node.function
    if node.kwargs or not node.shape or 0 in node.shape:
        return None
    if isinstance(function, np.ufunc):
        return function if function.nout == 1 and len(node.args) == function.nin else None
    return UFUNC_OF.get(function)


def real_ufunc_of(node: Node) -> np.ufunc | None:
    """The ufunc of a call that makes an array of real floating-point numbers, and is no write."""
    if node.steps is not None or node.kind is not np.ndarray or node.dtype.char not in REAL:
        return None
    return ufunc_of(node)


def is_number(value: Any) -> bool:
    """Whether an argument is a number of Python's, which takes an array's dtype."""
    return type(value) is float or type(value) is int


def are_same(x: Any, y: Any) -> bool:
    """Whether two arguments are one value of the program."""
    return type(x) is Ref and type(y) is Ref and x.at == y.at


def common_element(array: np.ndarray) -> float | None:
    """The number that all elements of an array of real numbers are, to the bit; or None."""
    if not array.size or array.dtype.char not in REAL:
        return None
    if not any(array.strides):
        return float(array.flat[0])
    bits = array.ravel("K").view(f"i{array.itemsize}")
    if bits[0] != bits[-1] or not (bits == bits[0]).all():
        return None
    return float(array.flat[0])


def is_contiguous(node: Node) -> bool:
    """Whether a value has its elements in C order, without gaps."""
    width = node.dtype.itemsize
    for n, stride in zip(reversed(node.shape), reversed(node.strides), strict=True):
        if n != 1 and stride != width:
            return False
        width *= n
    return True


def leads_to(operand: Node, node: Node) -> bool:
    """Whether an elementwise call of one array alone gives the strides that a node's value has."""
    if operand.kind is not np.ndarray or operand.shape != node.shape:
        return False
    if operand.strides == node.strides:
        return True
    wide = [
        (a, b) for n, a, b in zip(node.shape, operand.strides, node.strides, strict=True) if n != 1
    ]
    falling = all(x[0] > y[0] and x[1] > y[1] for x, y in pairwise(wide))
    return falling and all(a > 0 for a, _ in wide)


__all__ = [
    "COMMUTATIVE",
    "EXACT",
    "REAL",
    "UFUNC_OF",
    "are_same",
    "common_element",
    "is_contiguous",
    "is_number",
    "leads_to",
    "real_ufunc_of",
    "ufunc_of",
]

"""Elementwise functions of large arrays, part by part.

Knows NumPy arrays. Must not know rules.

A function of many steps makes an array a step. Those of a part stay in the cache, and in memory
that was used a moment ago. Calls that come again go by kernels that write in place (`generated`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.quiet import errstate
from tapegrad._core.types import Function, Value
from tapegrad.torch._rules.symbols import is_own
from tapegrad.torch._types import Number

PART = 1 << 15  # elements of a part
LARGE = 1 << 12  # elements from which what is done with each costs more than a call of NumPy


def in_parts(function: Function) -> Function:
    """An elementwise function of arrays of one shape and dtype, and of numbers.

    It gets parts of large contiguous arrays of NumPy, flattened; anything else as it is. Its
    result has the dtype of the arrays.
    """

    @functools.wraps(function)
    def call(x: Value, *others: Value) -> Value:
        if type(x) is not np.ndarray or x.size <= 2 * PART or not x.flags.c_contiguous:
            return function(x, *others)
        for other in others:
            if isinstance(other, np.ndarray) and not is_like(other, x):
                return function(x, *others)
            if not isinstance(other, (np.ndarray, int, float)):
                return function(x, *others)
        out = np.empty_like(x)
        given: list[Any] = [x.reshape(-1)]
        given += [y.reshape(-1) if isinstance(y, np.ndarray) else y for y in others]
        made = out.reshape(-1)
        for start in range(0, x.size, PART):
            part = slice(start, start + PART)
            made[part] = function(*[y[part] if isinstance(y, np.ndarray) else y for y in given])
        return out

    return call


def is_like(x: Value, y: Value) -> bool:
    """Whether x is contiguous, and of the shape and dtype of y."""
    return is_own(x) and (x.shape == y.shape and x.dtype == y.dtype and bool(x.flags.c_contiguous))


def clipped(x: Value, low: Number, high: Number) -> Value:
    """The smaller one of `high` and the larger one of x and `low`.

    NumPy's own function takes a third of their price, of large arrays.
    """
    if is_own(x) and x.size >= LARGE and x.dtype.char in "fd" and low <= high:
        return np.clip(x, low, high)
    made = x if low == -np.inf else np.maximum(x, low)
    return made if high == np.inf else np.minimum(made, high)


# --- Functions of several steps -----------------------------------------------------------------


def softplus_of(x: Value) -> Value:
    """log(1 + exp(x)), without overflow: `np.logaddexp(x, 0)` by functions that are faster."""
    if not is_own(x):
        return np.logaddexp(x, 0)
    return np.log1p(np.exp(-np.absolute(x))) + clipped(x, 0, np.inf)


def logistic_of(x: Value) -> Value:
    """1 / (1 + exp(-x)): where exp(-x) overflows to infinity, 0 is right."""
    with errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


# --- Small arrays -------------------------------------------------------------------------------

Constant = Callable[[Number], Value]


def constant_of(dtype: np.dtype[Any]) -> Constant:
    """Makes numbers 0-d arrays of a dtype: as operands the cheapest ones."""

    def constant(number: Number) -> Value:
        with errstate(over="ignore"):
            return np.array(number, dtype)

    return constant


# --- Sums of rows -------------------------------------------------------------------------------


def sums_along(x: Value, axis: int) -> Value:
    """The sums along an axis, kept as one of size 1: of the last one as a product of matrices.

    NumPy's own sums of short rows cost a call for each row.
    """
    if axis not in (-1, x.ndim - 1) or not _has_products(x):
        return np.add.reduce(x, axis, keepdims=True)
    return np.matmul(x, np.ones((x.shape[-1], 1), x.dtype))


def sums_of_products(x: Value, y: Value, axis: int) -> Value:
    """`sums_along` of x * y."""
    if axis not in (-1, x.ndim - 1) or not _has_products(x) or not is_like(y, x):
        return sums_along(x * y, axis)
    return np.vecdot(x, y)[..., None]


def sums_over(x: Value, axes: tuple[int, ...]) -> Value:
    """The sums over negative axes, kept as axes of size 1: over neighbours as products."""
    if not axes:
        return x
    last = _trailing(x.ndim, axes)
    if not _has_products(x):
        return np.add.reduce(x, axes, keepdims=True)
    if not last:
        if axes == (-2,) and x.ndim == 2:  # a batch of examples
            return np.dot(np.ones((1, x.shape[0]), x.dtype), x)
        return np.add.reduce(x, axes, keepdims=True)
    lead = x.shape[: x.ndim - last]
    size = math.prod(x.shape[len(lead) :])
    sums = np.dot(np.reshape(x, (-1, size)), np.ones(size, x.dtype))
    return _rest_of(np.reshape(sums, (*lead, *(1,) * last)), axes, last)


def sums_of_products_over(x: Value, y: Value, axes: tuple[int, ...]) -> Value:
    """`sums_over` of x * y, of arrays of one shape, or of a y for all rows of x."""
    last = _trailing(x.ndim, axes)
    lead = x.shape[: x.ndim - last]
    size = math.prod(x.shape[len(lead) :])
    if last and _has_products(x) and is_own(y) and y.dtype == x.dtype:
        if last == len(axes) and y.shape == x.shape[len(lead) :] and lead:
            sums = np.dot(np.reshape(x, (-1, size)), np.reshape(y, (size,)))
            return np.reshape(sums, (*lead, *(1,) * last))
        if x.size >= LARGE and is_like(y, x):
            sums = np.vecdot(np.reshape(x, (-1, size)), np.reshape(y, (-1, size)))
            return _rest_of(np.reshape(sums, (*lead, *(1,) * last)), axes, last)
    return sums_over(x * y, axes)


def scaled_sums(x: Value, scale: Value, shape: tuple[int, ...], axes: tuple[int, ...]) -> Value:
    """x * scale, a number for each row; summed if the shape is that of a row's elements."""
    last = x.ndim - len(shape)
    if shape != x.shape[last:] or len(shape) != len(axes) or not last:
        return x * scale
    if not _has_products(x):
        return np.add.reduce(x * scale, tuple(range(last)))
    rows = np.reshape(x, (-1, math.prod(shape)))
    return np.reshape(np.dot(np.reshape(scale, (-1,)), rows), shape)


def _rest_of(sums: Value, axes: tuple[int, ...], last: int) -> Value:
    rest = tuple(axis for axis in axes if axis < -last)
    return np.add.reduce(sums, rest, keepdims=True) if rest else sums


def _trailing(ndim: int, axes: tuple[int, ...]) -> int:
    """How many of the last axes are among these."""
    count = 0
    while count < ndim and -1 - count in axes:
        count += 1
    return count


def _has_products(x: Value) -> bool:
    """Whether an array is NumPy's own, and of a dtype that has fast products."""
    return is_own(x) and (
        x.dtype.char in "fd" and x.size > 0 and (x.size < LARGE or bool(x.flags.c_contiguous))
    )

"""Elementwise functions of large arrays, part by part.

Knows NumPy arrays. Must not know rules.

A function of many steps makes an array a step. Those of a part stay in the cache, and in memory
that was used a moment ago.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value

PART = 1 << 15  # elements


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
            if isinstance(other, np.ndarray) and not _is_like(other, x):
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


def _is_like(x: Value, y: Value) -> bool:
    return type(x) is np.ndarray and (
        x.shape == y.shape and x.dtype == y.dtype and bool(x.flags.c_contiguous)
    )


# --- Functions of several steps -----------------------------------------------------------------


@in_parts
def softplus_of(x: Value) -> Value:
    """log(1 + exp(x)), without overflow: `np.logaddexp(x, 0)` by functions that are faster."""
    if type(x) is not np.ndarray:
        return np.logaddexp(x, 0)
    return np.maximum(x, 0) + np.log1p(np.exp(-np.absolute(x)))


@in_parts
def logistic_of(x: Value) -> Value:
    """1 / (1 + exp(-x)): where exp(-x) overflows to infinity, 0 is right."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


# --- Sums of rows -------------------------------------------------------------------------------


def sums_along(x: Value, axis: int) -> Value:
    """The sums along an axis, kept as one of size 1: of the last one as a product of matrices.

    NumPy's own sums of short rows cost a call for each row.
    """
    if axis not in (-1, x.ndim - 1) or not _has_products(x):
        return np.sum(x, axis, keepdims=True)
    return np.matmul(x, np.ones((x.shape[-1], 1), x.dtype))


def sums_of_products(x: Value, y: Value, axis: int) -> Value:
    """`sums_along` of x * y."""
    if axis not in (-1, x.ndim - 1) or not _has_products(x) or not _is_like(y, x):
        return np.sum(x * y, axis, keepdims=True)
    return np.vecdot(x, y)[..., None]


def _has_products(x: Value) -> bool:
    """Whether an array is NumPy's own, and of a dtype that has fast products."""
    return type(x) is np.ndarray and (
        x.dtype.char in "fd" and bool(x.flags.c_contiguous) and x.size > 0
    )


__all__ = ["in_parts", "logistic_of", "softplus_of", "sums_along", "sums_of_products"]

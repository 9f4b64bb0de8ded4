"""Elementwise functions of large arrays, part by part.

Knows NumPy arrays. Must not know rules.

A function of many steps makes an array a step. Those of a part stay in the cache, and in memory
that was used a moment ago. Such a function is written as a formula, which traced arrays and small
ones go through; where the steps can write over each other, it has passes beside the formula.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad._core.quiet import errstate
from tapegrad._core.types import Function, Value
from tapegrad.torch._types import Number

# Elements of a part: in which each step makes an array; whose steps are in place, so that shorter
# parts would cost more in calls than they gain in the cache.
PART, ROOM = 1 << 15, 1 << 18
LARGE = 1 << 12  # elements from which passes in place cost less than a formula


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


def by_passes(passes: Function, *, work: int = 0) -> Callable[[Function], Function]:
    """Decorate an elementwise formula with passes in place, for large arrays of NumPy.

    `passes(made, *work, x, ...)` writes the result of a part into `made`, and may overwrite `work`
    arrays like it. If it returns True, it does not know the part, and the formula computes it. The
    arguments are as those of `in_parts`.
    """

    def decorate(formula: Function) -> Function:
        @functools.wraps(formula)
        def call(x: Value, *others: Value) -> Value:
            if type(x) is not np.ndarray or x.size < LARGE or not _is_plain(x, others):
                return formula(x, *others)
            out = np.empty_like(x)
            rooms = [np.empty(min(x.size, ROOM), x.dtype) for _ in range(work)]
            for made, *rest in slices_of(out, *rooms, x, *others):
                if passes(made, *rest):
                    made[...] = formula(*rest[work:])
            return out

        return call

    return decorate


def kept_by_passes(passes: Function, x: Value, *numbers: Number, work: int) -> tuple[Value, Value]:
    """A result and its slopes, by `passes(made, slopes, *work, x, *numbers)` in place."""
    if not x.flags.c_contiguous:
        x = np.ascontiguousarray(x)
    made, slopes = np.empty_like(x), np.empty_like(x)
    rooms = [np.empty(min(x.size, ROOM), x.dtype) for _ in range(work)]
    for parts in slices_of(made, slopes, *rooms, x, *numbers):
        passes(*parts)
    return made, slopes


def is_plain(x: Value, *others: Value) -> bool:
    """Whether arrays are as passes take them: contiguous, of one shape and of floats."""
    return type(x) is np.ndarray and _is_plain(x, others)


def _is_plain(x: Value, others: tuple[Value, ...]) -> bool:
    if x.dtype.char not in "fd" or not x.flags.c_contiguous:
        return False
    for other in others:
        if type(other) is np.ndarray:
            if not is_like(other, x):
                return False
        elif type(other) is not float and type(other) is not int:
            return False
    return True


def slices_of(x: Value, *others: Value) -> Iterator[list[Any]]:
    """The same part of flattened arrays, from first to last; shorter ones are for each part."""
    size = x.size
    given = [y.reshape(-1) if type(y) is np.ndarray else y for y in (x, *others)]
    if size <= ROOM:
        yield given
        return
    for start in range(0, size, ROOM):
        count = min(ROOM, size - start)
        yield [
            (y[start : start + count] if y.size == size else y[:count])
            if type(y) is np.ndarray
            else y
            for y in given
        ]


def is_like(x: Value, y: Value) -> bool:
    """Whether x is contiguous, and of the shape and dtype of y."""
    return type(x) is np.ndarray and (
        x.shape == y.shape and x.dtype == y.dtype and bool(x.flags.c_contiguous)
    )


def clipped(x: Value, low: Number, high: Number) -> Value:
    """The smaller one of `high` and the larger one of x and `low`: a third of their price."""
    if type(x) is np.ndarray and x.size >= LARGE and x.dtype.char in "fd" and low <= high:
        return np.clip(x, low, high)
    return np.minimum(np.maximum(x, low), high)


# --- Functions of several steps -----------------------------------------------------------------


def softplus_into(made: Value, room: Value, x: Value) -> None:
    """The passes of `softplus_of`."""
    np.absolute(x, made)
    np.negative(made, made)
    np.exp(made, made)
    np.log1p(made, made)
    np.clip(x, 0, np.inf, out=room)  # several times as fast as the maximum with a number
    np.add(room, made, made)


@by_passes(softplus_into, work=1)
def softplus_of(x: Value) -> Value:
    """log(1 + exp(x)), without overflow: `np.logaddexp(x, 0)` by functions that are faster."""
    if type(x) is not np.ndarray:
        return np.logaddexp(x, 0)
    return np.maximum(x, 0) + np.log1p(np.exp(-np.absolute(x)))


def logistic_into(made: Value, x: Value) -> None:
    """The passes of `logistic_of`."""
    np.negative(x, made)
    np.exp(made, made)
    np.add(made, 1, made)
    np.divide(1, made, made)


@by_passes(logistic_into)
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


# NumPy's functions whose arguments are given by position, which takes a third of the time.
add_up: Any = np.add.reduce
highest: Any = np.maximum.reduce

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
    if axis not in (-1, x.ndim - 1) or not _has_products(x) or not is_like(y, x):
        return np.sum(x * y, axis, keepdims=True)
    return np.vecdot(x, y)[..., None]


def _has_products(x: Value) -> bool:
    """Whether an array is NumPy's own, and of a dtype that has fast products."""
    return type(x) is np.ndarray and (
        x.dtype.char in "fd" and bool(x.flags.c_contiguous) and x.size > 0
    )


__all__ = [
    "LARGE",
    "ROOM",
    "Constant",
    "add_up",
    "by_passes",
    "clipped",
    "constant_of",
    "highest",
    "in_parts",
    "is_like",
    "is_plain",
    "kept_by_passes",
    "logistic_into",
    "logistic_of",
    "slices_of",
    "softplus_into",
    "softplus_of",
    "sums_along",
    "sums_of_products",
]

"""Normalization of untraced arrays, in place and part by part: the passes of `normalizing`.

Knows NumPy arrays and how their sums are fast. Must not know rules.

The formulas stand in `normalizing`. Sums of neighbouring elements are products of matrices,
which are the fastest sums, and no pass makes an array that the next one can overwrite. Where the
examples are normalized apart, a part of them that fits into the cache goes through all passes
before the next part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._rules import row_passes
from tapegrad.torch._rules.blockwise import LARGE

BLOCK = 1 << 20  # bytes of what goes through all passes at once

Axes = tuple[int, ...]
add_up = np.add.reduce


def are_plain(*arrays: Value) -> bool:
    """Whether arrays (or None) are NumPy's, of one dtype that products of matrices have."""
    kinds = {part.dtype for part in arrays if type(part) is np.ndarray}
    return (
        len(kinds) == 1
        and kinds.pop() in (np.float32, np.float64)
        and all(part is None or type(part) is np.ndarray for part in arrays)
        and arrays[0].size > 0
        and arrays[0].flags.c_contiguous
    )


def _trailing(ndim: int, axes: Axes) -> int:
    """How many of the last axes are normalized together."""
    count = 0
    while count < ndim and -1 - count in axes:
        count += 1
    return count


def _blocks(x: Value, axes: Axes) -> Iterator[slice]:
    step = len(x)
    if -x.ndim not in axes:
        step = max(1, BLOCK // (x[0].size * x.itemsize))
    for start in range(0, len(x), step):
        yield slice(start, start + step)


def _within(x: Value, last: int) -> Value:
    """The sums over the last axes, kept as axes of size 1."""
    lead = x.shape[: x.ndim - last]
    size = math.prod(x.shape[len(lead) :])
    sums = np.dot(x.reshape(-1, size), np.ones(size, x.dtype))
    return sums.reshape(*lead, *(1,) * last)


def _products_within(x: Value, y: Value, last: int) -> Value:
    """`_within` of x * y; of small ones a product costs less than NumPy's sums of products."""
    if x.size < LARGE:
        return _within(x * y, last)
    lead = x.shape[: x.ndim - last]
    size = math.prod(x.shape[len(lead) :])
    sums = np.vecdot(x.reshape(-1, size), y.reshape(-1, size))
    return sums.reshape(*lead, *(1,) * last)


def _sums(x: Value, axes: Axes, last: int) -> Value:
    """The sums over axes, the `last` ones of which are the last of x."""
    if not last and is_column(x.shape, axes):
        return np.dot(np.ones((1, len(x)), x.dtype), x)
    rest = tuple(axis for axis in axes if axis < -last)
    sums = _within(x, last) if last else x
    return add_up(sums, rest, keepdims=True) if rest else sums


def _sums_of_products(x: Value, y: Value, axes: Axes, last: int) -> Value:
    """`_sums` of x * y."""
    if not last:
        return _sums(x * y, axes, 0)
    rest = tuple(axis for axis in axes if axis < -last)
    sums = _products_within(x, y, last)
    return add_up(sums, rest, keepdims=True) if rest else sums


def forward(
    x: Value, weight: Value, bias: Value, axes: Axes, eps: float, centred: bool
) -> tuple[Value, Value, Value, Value]:
    """The normalized array, and the means (None without centring), variances and scales."""
    count = math.prod(x.shape[axis] for axis in axes)
    last = _trailing(x.ndim, axes)
    even = weight is None or is_even(weight, axes)
    out = np.empty_like(x)
    shape = [1 if axis - x.ndim in axes else side for axis, side in enumerate(x.shape)]
    means: Any = np.empty(shape, x.dtype) if centred else None
    variances, scales = np.empty(shape, x.dtype), np.empty(shape, x.dtype)
    in_rows = not even and centred and are_rows(x, weight, axes, last)
    for block in _blocks(x, axes):
        apart, made = x[block], out[block]
        if in_rows:
            found = means[block], variances[block], scales[block]
            if row_passes.forward(made, apart, weight, bias, eps, found):
                continue
        if centred:
            mean = np.divide(_sums(apart, axes, last), count, out=means[block])
            apart = np.subtract(apart, mean, out=made)
        variance = variances[block]
        np.divide(_sums_of_products(apart, apart, axes, last), count, out=variance)
        scale = scales[block]
        np.divide(1, np.sqrt(variance + eps), out=scale)
        factor = scale if weight is None or not even else scale * weight
        np.multiply(apart, factor, out=made)
        if not even:
            made *= weight
        if bias is not None:
            made += bias
    return out, means, variances, scales


def are_rows(x: Value, weight: Value, axes: Axes, last: int) -> bool:
    """Whether the last axes alone are normalized, with a weight for each of their elements."""
    return last == len(axes) and weight.shape == x.shape[x.ndim - last :] and x.size >= LARGE


def is_column(shape: tuple[int, ...], axes: Axes) -> bool:
    """Whether the columns of a matrix are normalized, as a batch of examples is: by products."""
    return axes == (-2,) and len(shape) == 2


def is_even(weight: Value, axes: Axes) -> bool:
    """Whether a weight is the same for all elements that are normalized together."""
    shape = weight.shape
    return all(len(shape) < -axis or shape[axis] == 1 for axis in axes)


def backward(
    g: Value,
    x: Value,
    weight: Value,
    mean: Value,
    scale: Value,
    axes: Axes,
    shape: tuple[int, ...],
) -> tuple[Value, Value, Value] | None:
    """The cotangents of x, the weight and the bias, which sum up to theirs when broadcast.

    shape: of the cotangent of x, which thereby has memory of its own, and is not a view.
    None for weights that vary in ways that no norm has.
    """
    count = math.prod(x.shape[axis] for axis in axes)
    last = _trailing(x.ndim, axes)
    even = weight is None or is_even(weight, axes)
    each = even
    if not even:
        if weight.shape == x.shape[x.ndim - last :] and last == len(axes):
            each = False
        elif last == len(axes):  # groups of channels: the same within each channel
            last = _trailing(x.ndim, tuple(a for a in axes if weight.shape[a] == 1))
            each = last > 0
        if not each and weight.shape != x.shape[x.ndim - last :]:
            return None
    whole = np.empty(shape, x.dtype)
    out = whole.reshape(x.shape)
    in_rows = not each and mean is not None and are_rows(x, weight, axes, last)
    of_weight: list[Any] = []
    of_bias: list[Any] = []
    for block in _blocks(x, axes):
        given, r, made = g[block], scale[block], out[block]
        if in_rows:
            pair = row_passes.backward(made, given, x[block], weight, mean[block], r)
            if pair is not None:
                of_weight.append(pair[0])
                of_bias.append(pair[1])
                continue
        apart = x[block] if mean is None else x[block] - mean[block]
        if each:
            if even:
                total = _sums(given, axes, last)
                along = _sums_of_products(given, apart, axes, last)
                of_bias.append(total)
                of_weight.append(along * r)
                if weight is not None:
                    total, along = total * weight, along * weight
            else:
                total, along = _within(given, last), _products_within(given, apart, last)
                of_bias.append(total)
                of_weight.append(along * r)
                rest = tuple(axis for axis in axes if axis < -last)
                total = add_up(total * weight, rest, keepdims=True)
                along = add_up(along * weight, rest, keepdims=True)
            np.multiply(given, r if weight is None else r * weight, out=made)
        else:
            rows, size = math.prod(r.shape), weight.size
            np.multiply(given, apart, out=made)
            of_weight.append(np.matmul(r.reshape(rows), made.reshape(rows, size)))
            of_bias.append(np.matmul(np.ones(rows, x.dtype), given.reshape(rows, size)))
            np.multiply(given, weight, out=made)
            total, along = _within(made, last), _products_within(made, apart, last)
            made *= r
        apart = np.multiply(
            apart, along * (r * r * r / count), out=None if mean is None else apart
        )
        made -= apart
        if mean is not None:
            made -= total * (r / count)
    if not each:
        sums = [sum(parts[1:], parts[0]).reshape(weight.shape) for parts in (of_weight, of_bias)]
        return whole, sums[0], sums[1]
    return whole, np.concatenate(of_weight), np.concatenate(of_bias)


__all__ = ["are_plain", "backward", "forward", "is_column", "is_even"]

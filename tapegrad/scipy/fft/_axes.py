"""Common code of the transforms: lengths, axes, and values that are not overwritten."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value

Sides = Sequence[int] | int | None


def keeping(function: Function) -> Function:
    """The function without `overwrite_x`: a tape may hold the array that it would destroy."""

    @functools.wraps(function)
    def kept(*args: Any, **params: Any) -> Any:
        params.pop("overwrite_x", None)
        return function(*args, **params)

    return kept


def of_length(x: Value, count: int, axis: int) -> Value:
    """The array cut, or padded with zeros, to `count` elements along an axis."""
    size = x.shape[axis]
    if size == count:
        return x
    if size > count:
        return x[(slice(None),) * (axis % len(x.shape)) + (slice(count),)]
    shape = list(x.shape)
    shape[axis] = count - size
    return np.concatenate([x, np.zeros(shape, x.dtype)], axis=axis)


def along(values: Any, ndim: int, axis: int) -> Any:
    """A vector so shaped that it lies along an axis of an array with `ndim` axes."""
    return np.reshape(values, (-1,) + (1,) * (ndim - 1 - axis % ndim))


def sides_and_axes(
    name: str, x: Value, s: Sides, axes: Sides, *, to_real: bool = False
) -> tuple[list[int], list[int]]:
    """The length of the transform along each axis, and the axes, as SciPy reads `s` and `axes`."""
    given = [int(axes)] if isinstance(axes, (int, np.integer)) else axes
    lengths = [int(s)] if isinstance(s, (int, np.integer)) else s
    if given is None:
        count = x.ndim if lengths is None else len(lengths)
        if count > x.ndim:
            raise ValueError(f"{name}: expected at most {x.ndim} lengths in s, got {count}.")
        given = range(x.ndim - count, x.ndim)
    chosen = [range(x.ndim)[axis] for axis in given]
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"{name}: expected axes that differ, got {axes}.")
    if lengths is None:
        sides = [x.shape[axis] for axis in chosen]
        if to_real:
            sides[-1] = 2 * (sides[-1] - 1)
        return sides, chosen
    if len(lengths) != len(chosen):
        raise ValueError(
            f"{name}: expected a length for each axis, got s={lengths} and axes={axes}."
        )
    pairs = zip(lengths, chosen, strict=True)
    return [x.shape[axis] if n == -1 else int(n) for n, axis in pairs], chosen


def as_array(x: Any) -> Any:
    """A traced value as it is, a list as an array."""
    return x if hasattr(x, "ndim") else np.asarray(x)


__all__ = ["Sides", "along", "as_array", "keeping", "of_length", "sides_and_axes"]

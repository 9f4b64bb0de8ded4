"""Normalization of small arrays whose shapes are known: the kernels of calls that come again.

Knows NumPy arrays and the passes. Must not know rules, or what is normalized.

The steps are those of `norm_passes`, and give the same results; but all that shapes decide is
decided before, and the backward pass gets what is normalized from the forward one, instead of
computing it again. Numbers are arrays without dimensions, the cheapest operands. Large arrays take
the passes themselves: there memory counts, and not calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.fast.sums import summing
from tapegrad._core.types import Value
from tapegrad.torch._rules import norm_passes
from tapegrad.torch._rules.blockwise import LARGE, add_up, constant_of
from tapegrad.torch._rules.norm_passes import Axes, is_column, is_even

Shape = tuple[int, ...]


class Norm(NamedTuple):
    """Constants of all such calls."""

    shape: Shape  # in which the axes are counted
    dtype: np.dtype[Any]
    axes: Axes
    eps: float
    centred: bool
    weight: Shape | None  # the shape of the weight and the bias, which broadcasts to `shape`
    wanted: tuple[bool, ...]  # of x, the weight and the bias: which cotangents


def kernels_of(norm: Norm) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """`keep(x, weight, bias)`, which returns the result and what `pull(g, weight, kept)` needs.

    All arrays have the shapes of the norm, are contiguous, and weight and bias may be None. None
    for large arrays.
    """
    size = math.prod(norm.shape)
    if not size or size >= LARGE:
        return None
    last = norm_passes._trailing(len(norm.shape), norm.axes)
    if norm.weight is None or is_even(np.empty(norm.weight, bool), norm.axes):
        return _even(norm, last)
    if last == len(norm.axes) and norm.weight == norm.shape[len(norm.shape) - last :]:
        return _rows(norm)
    return _any(norm, last)


def _sums_of(norm: Norm, last: int) -> Callable[[Value], Value]:
    """The sums over the axes, kept as axes of size 1, as `norm_passes` computes them."""
    rest = tuple(axis for axis in norm.axes if axis < -last)
    if not last:
        if is_column(norm.shape, norm.axes):
            row = np.ones((1, norm.shape[0]), norm.dtype)
            return row.dot
        return lambda x: add_up(x, rest, None, None, True)
    lead = norm.shape[: len(norm.shape) - last]
    size = math.prod(norm.shape[len(lead) :])
    if len(norm.shape) == 2 and last == 1:
        column = np.ones((size, 1), norm.dtype)
        return lambda x: x.dot(column)
    ones, flat, kept = np.ones(size, norm.dtype), (-1, size), (*lead, *(1,) * last)
    if not rest:
        return lambda x: x.reshape(flat).dot(ones).reshape(kept)
    return lambda x: add_up(x.reshape(flat).dot(ones).reshape(kept), rest, None, None, True)


def _squares_of(norm: Norm, last: int) -> Callable[[Value], Value]:
    """The same of squares."""
    sums = _sums_of(norm, last)
    return lambda x: sums(np.multiply(x, x))


def _scaled(norm: Norm, last: int) -> Callable[[Value], tuple[Value, Value, Value, Value]]:
    """A function that returns x less its mean, 1 / sqrt(variance + eps), mean and variance."""
    sums, squares = _sums_of(norm, last), _squares_of(norm, last)
    count = math.prod(norm.shape[axis] for axis in norm.axes)
    constant, centred = constant_of(norm.dtype), norm.centred
    divisor, eps, one = constant(count), constant(norm.eps), constant(1)

    def scaled(x: Value) -> tuple[Value, Value, Value, Value]:
        mean = None
        if centred:
            mean = sums(x)
            np.divide(mean, divisor, mean)
            x = np.subtract(x, mean)
        variance = squares(x)
        np.divide(variance, divisor, variance)
        scale = np.add(variance, eps)
        np.sqrt(scale, scale)
        return x, np.divide(one, scale, scale), mean, variance

    return scaled


def _even(norm: Norm, last: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Of a weight that is the same for all elements that are normalized together."""
    scaled, sums = _scaled(norm, last), _sums_of(norm, last)
    inverse, centred = _inverse_of(norm), norm.centred
    by_x, by_weight, by_bias = norm.wanted
    kept = tuple(1 if a - len(norm.shape) in norm.axes else s for a, s in enumerate(norm.shape))
    to_weight = None if norm.weight is None else _narrowing(kept, norm.weight)

    def keep(x: Value, weight: Value, bias: Value) -> Any:
        apart, scale, mean, variance = scaled(x)
        factor = scale if weight is None else scale * weight
        out = np.multiply(apart, factor)
        if bias is not None:
            np.add(out, bias, out)
        return out, (apart, scale, factor, mean, variance)

    def pull(g: Value, _weight: Value, kept: Any) -> Any:
        apart, scale, factor, _, _ = kept
        total: Any = sums(g) if centred or by_bias else None
        made = np.multiply(g, apart)
        along = sums(made)
        np.multiply(along, scale, along)
        of_weight = to_weight(along) if by_weight and to_weight is not None else None
        of_bias = to_weight(total) if by_bias and to_weight is not None else None
        if not by_x:
            return None, of_weight, of_bias
        slope = np.multiply(along, scale)
        np.multiply(slope, inverse, slope)
        np.multiply(apart, slope, made)
        np.subtract(g, made, made)
        if centred:
            np.subtract(made, np.multiply(total, inverse), made)
        return np.multiply(made, factor, made), of_weight, of_bias

    return keep, pull


def _rows(norm: Norm) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Of a weight for each of the elements that are normalized together, which come last."""
    assert norm.weight is not None
    size = math.prod(norm.weight)
    rows = math.prod(norm.shape) // size
    flat = norm._replace(shape=(rows, size), axes=(-1,))
    scaled, shape, given = _scaled(flat, 1), norm.shape, norm.weight
    ones, inverse = np.ones(rows, norm.dtype), _inverse_of(flat)
    centred, (by_x, by_weight, by_bias) = norm.centred, norm.wanted
    are_rows, is_row = shape == (rows, size), given == (size,)

    def keep(x: Value, weight: Value, bias: Value) -> Any:
        y, scale, _, _ = scaled(x if are_rows else x.reshape(rows, size))
        y = np.multiply(y, scale, y if centred else None)
        out = np.multiply(y, weight if is_row else weight.reshape(size))
        if bias is not None:
            np.add(out, bias if is_row else bias.reshape(size), out)
        return (out if are_rows else out.reshape(shape)), (y, scale)

    def pull(g: Value, weight: Value, kept: Any) -> Any:
        y, scale = kept
        of_weight = of_bias = None
        if not are_rows:
            g = g.reshape(rows, size)
        made = np.multiply(g, y)
        if by_weight:
            of_weight = ones.dot(made)
            of_weight = of_weight if is_row else of_weight.reshape(given)
        if by_bias:
            of_bias = ones.dot(g)
            of_bias = of_bias if is_row else of_bias.reshape(given)
        if not by_x:
            return None, of_weight, of_bias
        shares = np.multiply(weight, inverse).reshape(size, 1)
        np.multiply(y, made.dot(shares), made)
        bar = np.multiply(g, weight if is_row else weight.reshape(size))
        np.subtract(bar, made, bar)
        if centred:
            np.subtract(bar, g.dot(shares), bar)
        np.multiply(bar, scale, bar)
        return (bar if are_rows else bar.reshape(shape)), of_weight, of_bias

    return keep, pull


def _inverse_of(norm: Norm) -> Value:
    """1 over the count of what is normalized together."""
    return constant_of(norm.dtype)(1 / math.prod(norm.shape[axis] for axis in norm.axes))


def _any(norm: Norm, last: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Of any weight, such as that of channels which are normalized in groups."""
    assert norm.weight is not None
    scaled, sums = _scaled(norm, last), _sums_of(norm, last)
    inverse, centred = _inverse_of(norm), norm.centred
    to_weight = _narrowing(norm.shape, norm.weight)
    by_x, by_weight, by_bias = norm.wanted

    def keep(x: Value, weight: Value, bias: Value) -> Any:
        y, scale, _, _ = scaled(x)
        y = np.multiply(y, scale, y if centred else None)
        out = np.multiply(y, weight)
        if bias is not None:
            np.add(out, bias, out)
        return out, (y, scale)

    def pull(g: Value, weight: Value, kept: Any) -> Any:
        y, scale = kept
        made = np.multiply(g, y)
        of_weight = to_weight(made) if by_weight else None
        of_bias = to_weight(g) if by_bias else None
        if not by_x:
            return None, of_weight, of_bias
        bar = np.multiply(g, weight)
        np.multiply(made, weight, made)
        np.multiply(y, np.multiply(sums(made), inverse), made)
        if centred:
            np.add(made, np.multiply(sums(bar), inverse), made)
        np.subtract(bar, made, bar)
        return np.multiply(bar, scale, bar), of_weight, of_bias

    return keep, pull


def _narrowing(shape: Shape, to: Shape) -> Callable[[Value], Value]:
    """A sum of arrays of a shape to one that broadcasts to it."""
    return summing(shape, to) or (lambda g: g)


__all__ = ["Norm", "kernels_of"]

"""Normalization of small arrays whose shapes are known: the ways of calls that come again.

Knows NumPy arrays and the passes. Must not know rules, or what is normalized.

The steps are those of `norm_passes`, and give the same results; but all that shapes decide is
decided before, and the backward pass gets what is normalized from the forward one, instead of
computing it again. Large arrays take the passes themselves: there memory counts, and not calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.sums import summing
from tapegrad._core.types import Value
from tapegrad.torch._rules import norm_passes
from tapegrad.torch._rules.norm_passes import Axes, is_even
from tapegrad.torch._rules.parts import LARGE, add_up

Shape = tuple[int, ...]


class Norm(NamedTuple):
    """What is the same for all such calls."""

    shape: Shape  # in which the axes are counted
    dtype: np.dtype[Any]
    axes: Axes
    eps: float
    centred: bool
    weight: Shape | None  # the shape of the weight and the bias, which broadcasts to `shape`
    wanted: tuple[bool, ...]  # of x, the weight and the bias: which cotangents


def ways_of(norm: Norm) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
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
        return lambda x: add_up(x, rest, None, None, True)
    lead = norm.shape[: len(norm.shape) - last]
    size = math.prod(norm.shape[len(lead) :])
    ones, flat, kept = np.ones(size, norm.dtype), (-1, size), (*lead, *(1,) * last)
    if not rest:
        return lambda x: np.dot(x.reshape(flat), ones).reshape(kept)
    return lambda x: add_up(np.dot(x.reshape(flat), ones).reshape(kept), rest, None, None, True)


def _squares_of(norm: Norm, last: int) -> Callable[[Value], Value]:
    """The same of squares."""
    rest = tuple(axis for axis in norm.axes if axis < -last)
    if not last:
        return lambda x: add_up(x * x, rest, None, None, True)
    lead = norm.shape[: len(norm.shape) - last]
    flat, kept = (-1, math.prod(norm.shape[len(lead) :])), (*lead, *(1,) * last)

    def squares(x: Value) -> Value:
        rows = x.reshape(flat)
        found = np.vecdot(rows, rows).reshape(kept)
        return add_up(found, rest, None, None, True) if rest else found

    return squares


def _scaled(norm: Norm, last: int) -> Callable[[Value], tuple[Value, Value, Value, Value]]:
    """A function that returns x less its mean, 1 / sqrt(variance + eps), mean and variance."""
    sums, squares = _sums_of(norm, last), _squares_of(norm, last)
    count = math.prod(norm.shape[axis] for axis in norm.axes)
    eps, centred = norm.eps, norm.centred

    def scaled(x: Value) -> tuple[Value, Value, Value, Value]:
        mean = None
        if centred:
            mean = sums(x)
            mean /= count
            x = np.subtract(x, mean)
        variance = squares(x)
        variance /= count
        scale = variance + eps
        np.sqrt(scale, scale)
        return x, np.divide(1, scale, scale), mean, variance

    return scaled


def _even(norm: Norm, last: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Of a weight that is the same for all elements that are normalized together."""
    scaled, sums = _scaled(norm, last), _sums_of(norm, last)
    centred, inverse = norm.centred, 1 / math.prod(norm.shape[axis] for axis in norm.axes)
    by_x, by_weight, by_bias = norm.wanted
    kept = tuple(1 if a - len(norm.shape) in norm.axes else s for a, s in enumerate(norm.shape))
    to_weight = None if norm.weight is None else _narrowing(kept, norm.weight)

    def keep(x: Value, weight: Value, bias: Value) -> Any:
        apart, scale, mean, variance = scaled(x)
        factor = scale if weight is None else scale * weight
        out = np.multiply(apart, factor)
        if bias is not None:
            out += bias
        return out, (apart, scale, factor, mean, variance)

    def pull(g: Value, _weight: Value, kept: Any) -> Any:
        apart, scale, factor, _, _ = kept
        total: Any = sums(g) if centred or by_bias else None
        made = np.multiply(g, apart)
        along = sums(made)
        along *= scale
        of_weight = to_weight(along) if by_weight and to_weight is not None else None
        of_bias = to_weight(total) if by_bias and to_weight is not None else None
        if not by_x:
            return None, of_weight, of_bias
        slope = along * scale
        slope *= inverse
        np.multiply(apart, slope, made)
        np.subtract(g, made, made)
        if centred:
            made -= total * inverse
        made *= factor
        return made, of_weight, of_bias

    return keep, pull


def _rows(norm: Norm) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Of a weight for each of the elements that are normalized together, which come last."""
    assert norm.weight is not None
    size = math.prod(norm.weight)
    rows = math.prod(norm.shape) // size
    flat = norm._replace(shape=(rows, size), axes=(-1,))
    scaled, shape, given = _scaled(flat, 1), norm.shape, norm.weight
    ones, inverse = np.ones(rows, norm.dtype), norm.dtype.type(1 / size)
    centred, (by_x, by_weight, by_bias) = norm.centred, norm.wanted

    def keep(x: Value, weight: Value, bias: Value) -> Any:
        y, scale, _, _ = scaled(x.reshape(rows, size))
        y = np.multiply(y, scale, y if centred else None)
        out = np.multiply(y, weight.reshape(size))
        if bias is not None:
            out += bias.reshape(size)
        return out.reshape(shape), (y, scale)

    def pull(g: Value, weight: Value, kept: Any) -> Any:
        y, scale = kept
        g = g.reshape(rows, size)
        of_weight = of_bias = None
        made = np.multiply(g, y)
        if by_weight:
            of_weight = np.dot(ones, made).reshape(given)
        if by_bias:
            of_bias = np.dot(ones, g).reshape(given)
        if not by_x:
            return None, of_weight, of_bias
        column = weight.reshape(size, 1)
        shares = column * inverse
        np.multiply(y, np.dot(made, shares), made)
        bar = np.multiply(g, weight.reshape(size))
        bar -= made
        if centred:
            bar -= np.dot(g, shares)
        bar *= scale
        return bar.reshape(shape), of_weight, of_bias

    return keep, pull


def _any(norm: Norm, last: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Of any weight, such as that of channels which are normalized in groups."""
    assert norm.weight is not None
    scaled, sums = _scaled(norm, last), _sums_of(norm, last)
    centred, inverse = norm.centred, 1 / math.prod(norm.shape[axis] for axis in norm.axes)
    to_weight = _narrowing(norm.shape, norm.weight)
    by_x, by_weight, by_bias = norm.wanted

    def keep(x: Value, weight: Value, bias: Value) -> Any:
        y, scale, _, _ = scaled(x)
        y = np.multiply(y, scale, y if centred else None)
        out = np.multiply(y, weight)
        if bias is not None:
            out += bias
        return out, (y, scale)

    def pull(g: Value, weight: Value, kept: Any) -> Any:
        y, scale = kept
        made = np.multiply(g, y)
        of_weight = to_weight(made) if by_weight else None
        of_bias = to_weight(g) if by_bias else None
        if not by_x:
            return None, of_weight, of_bias
        bar = np.multiply(g, weight)
        made *= weight
        np.multiply(y, sums(made) * inverse, made)
        if centred:
            made += sums(bar) * inverse
        bar -= made
        bar *= scale
        return bar, of_weight, of_bias

    return keep, pull


def _narrowing(shape: Shape, to: Shape) -> Callable[[Value], Value]:
    """A sum of arrays of a shape to one that broadcasts to it."""
    return summing(shape, to) or (lambda g: g)


__all__ = ["Norm", "ways_of"]

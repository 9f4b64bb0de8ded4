"""Convolution and correlation in any number of dimensions.

A convolution is linear in each factor. The cotangent of one is the cotangent of the result, put
back to its place in the full convolution, times the other factor reversed, as far as the two
overlap whole. It is computed by SciPy's function with the method of the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite, constant, multilinear
from tapegrad._core.types import Cotangent, Function, Value
from tapegrad._core.values import in_trace
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.signal._arrays import HERE, as_array, part

convolve, fftconvolve = mirror(ss.convolve, HERE), mirror(ss.fftconvolve, HERE)
oaconvolve, correlate = mirror(ss.oaconvolve, HERE), mirror(ss.correlate, HERE)
convolve2d, correlate2d = mirror(ss.convolve2d, HERE), mirror(ss.correlate2d, HERE)
choose_conv_method = mirror(ss.choose_conv_method, HERE)
constant(choose_conv_method, batch="example")


def _cotangent(
    convolved: Function, g: Cotangent, shape: Sequence[int], other: Value, axes: Sequence[int]
) -> Cotangent:
    """Of the factor of a shape; `convolved(a, b, mode)` is the convolution along the axes."""
    if not g.ndim:
        return g * other
    if not g.size:
        return np.zeros(shape, g.dtype)
    flipped = np.flip(other, tuple(axes))
    sides = [(shape[axis], other.shape[axis], g.shape[axis]) for axis in axes]
    if all(made == size - count + 1 for size, count, made in sides):
        return convolved(g, flipped, "full")
    widths = [(0, 0)] * g.ndim
    for axis, (size, count, made) in zip(axes, sides, strict=True):
        missing = size + count - 1 - made
        widths[axis] = (missing // 2, missing - missing // 2)
    if any(map(any, widths)):
        g = np.pad(g, widths)
    return convolved(g, flipped, "valid")


def _by_first(function: Function) -> Function:
    """The transpose by the first factor of convolve(in1, in2, mode, method)."""

    def transpose(
        g: Cotangent, _out: Value, _in1: Value, in2: Value, mode: str = "full", **params: Any
    ) -> Cotangent:
        return _transposed(function, g, _in1, in2, mode, params)

    return transpose


def _by_second(function: Function) -> Function:
    def transpose(
        g: Cotangent, _out: Value, in1: Value, _in2: Value, mode: str = "full", **params: Any
    ) -> Cotangent:
        if mode == "same":  # as large as in1, from the middle of the full one
            g = _put_back(g, _in2.shape, params.get("axes"))
        return _transposed(function, g, _in2, in1, mode, params)

    return transpose


def _put_back(g: Cotangent, count: Sequence[int], axes: Any) -> Cotangent:
    """The full convolution from its middle part; `count`: the shape of the second factor."""
    widths = [(0, 0)] * g.ndim
    for axis in _axes(axes, g.ndim):
        missing = count[axis] - 1
        widths[axis] = (missing // 2, missing - missing // 2)
    return np.pad(g, widths) if g.ndim and g.size else g


def _axes(axes: Any, ndim: int) -> Sequence[int]:
    if axes is None:
        return range(ndim)
    return [int(axis) % ndim for axis in np.atleast_1d(axes)]


def _transposed(
    function: Function, g: Cotangent, like: Value, other: Value, mode: str, params: dict[str, Any]
) -> Cotangent:
    axes, other = _axes(params.get("axes"), g.ndim), as_array(other)
    shape = list(g.shape)
    for axis in axes:
        shape[axis] = like.shape[axis]

    def convolved(a: Value, b: Value, mode: str) -> Value:
        if not all(a.shape[axis] and b.shape[axis] for axis in axes):
            return np.zeros(shape, g.dtype)
        return function(a, b, mode, **params)

    return _cotangent(convolved, g, shape, other, axes)


def _examples_along_axes(function: Function) -> Function:
    """The convolution of arrays with examples along axis 0."""

    def batched(in1: Value, in2: Value, mode: str = "full", axes: Any = None) -> Value:
        chosen = [axis + 1 for axis in _axes(axes, in1.ndim - 1)]
        return function(in1, in2, mode, axes=chosen) if chosen else in1 * in2

    return batched


multilinear(convolve, _by_first(convolve), _by_second(convolve))
for _function in (fftconvolve, oaconvolve):
    multilinear(
        _function,
        _by_first(_function),
        _by_second(_function),
        batch=_examples_along_axes(_function),
    )


def _correlate(in1: Value, in2: Value, mode: str = "full", method: str = "auto") -> Value:
    in2 = as_array(in2)
    return convolve(as_array(in1), np.conjugate(np.flip(in2)), mode, method)


composite(correlate, _correlate)

# --- in two dimensions, with a boundary


def _convolve2d(
    in1: Value, in2: Value, mode: str = "full", boundary: str = "fill", fillvalue: Value = 0
) -> Value:
    in1, in2 = as_array(in1), as_array(in2)
    if in1.ndim != 2 or in2.ndim != 2:
        raise ValueError(
            f"{HERE[9:]}.convolve2d: expected matrices, got {in1.shape}, {in2.shape}."
        )
    if mode not in ("full", "same", "valid"):
        raise ValueError(
            f"{HERE[9:]}.convolve2d: expected mode='full', 'same' or 'valid', got {mode!r}."
        )
    if mode == "valid":
        return convolve(in1, in2, "valid", "direct")
    name = {
        "fill": "constant",
        "pad": "constant",
        "wrap": "wrap",
        "circular": "wrap",
        "symm": "symmetric",
        "symmetric": "symmetric",
    }.get(boundary)
    if name is None:
        raise ValueError(
            f"{HERE[9:]}.convolve2d: expected boundary='fill', 'wrap' or 'symm', got {boundary!r}."
        )
    counts = in2.shape
    if name == "constant" and not in_trace(fillvalue) and np.all(fillvalue == 0):
        full = convolve(in1, in2, "full", "direct")
        return full if mode == "full" else _middle(full, in1.shape, counts)
    widths = [(count - 1, count - 1) for count in counts]
    word: Any = name
    if name != "constant":
        extended = np.pad(in1, widths, word)
    elif in_trace(fillvalue):
        extended = np.pad(in1 - fillvalue, widths) + fillvalue
    else:
        extended = np.pad(in1, widths, word, constant_values=fillvalue)
    full = convolve(extended, in2, "valid", "direct")
    return full if mode == "full" else _middle(full, in1.shape, counts)


def _middle(full: Value, shape: Sequence[int], counts: Sequence[int]) -> Value:
    for axis in range(2):
        start = (counts[axis] - 1) // 2
        full = part(full, start, start + shape[axis], axis)
    return full


def _correlate2d(
    in1: Value, in2: Value, mode: str = "full", boundary: str = "fill", fillvalue: Value = 0
) -> Value:
    in1, in2 = as_array(in1), as_array(in2)
    if mode == "valid" and any(n < k for n, k in zip(in1.shape, in2.shape, strict=True)):
        in1 = np.conjugate(in1)  # SciPy exchanges the two, and then takes that of the second
    else:
        in2 = np.conjugate(in2)
    flipped = np.flip(in2)
    if mode != "same":
        return _convolve2d(in1, flipped, mode, boundary, fillvalue)
    full = _convolve2d(in1, flipped, "full", boundary, fillvalue)
    return _middle(full, in1.shape, [count + 1 - count % 2 for count in in2.shape])


composite(convolve2d, _convolve2d)
composite(correlate2d, _correlate2d)

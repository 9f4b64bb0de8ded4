"""Sums over windows: what convolutions, correlations and running means are made of.

An extended image meets a kernel wherever the two overlap whole. This is linear in both, and both
transposes are sums over windows again: of the cotangent with zeros around it by the reversed
kernel, and of the image by the cotangent as the kernel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.ndimage as ni

from tapegrad._core.forms import linear, multilinear
from tapegrad._core.types import Cotangent, Value
from tapegrad._transforms.primitives import primitive
from tapegrad.scipy.ndimage._images import PADDED, window_widths


@primitive
def window_sums(image: Value, kernel: Value) -> Value:
    """sum over j of image[i + j] * kernel[j], for each i where the kernel lies within."""
    made = [size - count + 1 for size, count in zip(image.shape, kernel.shape, strict=True)]
    if min(made, default=1) < 1:
        return np.zeros([max(side, 0) for side in made], image.dtype)
    if math.prod(made) <= kernel.size:
        return _dots(image, kernel, made)
    if kernel.dtype.kind == "c":
        kernel = np.conjugate(kernel)  # which SciPy takes back
    sides = [axis for axis, count in enumerate(kernel.shape) if count > 1]
    if len(sides) > 1:
        full = ni.correlate(image, kernel, mode="constant")
    else:
        axis = sides[0] if sides else 0
        full = ni.correlate1d(image, kernel.reshape(-1), axis, mode="constant")
    return full[
        tuple(
            slice(count // 2, count // 2 + side)
            for count, side in zip(kernel.shape, made, strict=True)
        )
    ]


def _dots(image: Any, kernel: Any, made: list[int]) -> Any:
    """The same where the kernel is the larger: a product of arrays for each result."""
    result = np.empty(made, image.dtype)  # as SciPy's
    flat = np.ascontiguousarray(kernel).reshape(-1)
    for index in np.ndindex(*made):
        window = tuple(slice(i, i + n) for i, n in zip(index, kernel.shape, strict=True))
        result[index] = np.dot(image[window].reshape(-1), flat)
    return result


def _by_image(g: Cotangent, _out: Value, _image: Value, kernel: Value) -> Cotangent:
    widths = [(count - 1, count - 1) for count in kernel.shape]
    return window_sums(np.pad(g, widths) if g.size else g, np.flip(kernel))


def _of_examples(image: Value, kernel: Value) -> Value:
    if isinstance(kernel, np.ndarray) and not kernel.strides[0]:  # the same kernel for all
        return window_sums(image, kernel[:1])
    return np.stack([window_sums(image[i], kernel[i]) for i in range(image.shape[0])])


multilinear(
    window_sums,
    _by_image,
    lambda g, _out, image, _kernel: window_sums(image, g),
    batch=_of_examples,
)


@primitive
def running_mean(x: Value, size: int = 1, axis: int = -1) -> Value:
    """The mean of each `size` neighbours along an axis."""
    if x.dtype.kind == "c":
        return running_mean(x.real, size, axis) + 1j * running_mean(x.imag, size, axis)
    full = ni.uniform_filter1d(x, size, axis, mode="constant")
    window = [slice(None)] * x.ndim
    window[axis] = slice(size // 2, size // 2 + x.shape[axis] - size + 1)
    return full[tuple(window)]


def _running_transpose(
    g: Cotangent, _out: Value, _x: Value, size: int = 1, axis: int = -1
) -> Cotangent:
    widths = [(0, 0)] * g.ndim
    widths[axis] = (size - 1, size - 1)
    return running_mean(np.pad(g, widths), size=size, axis=axis)


linear(running_mean, _running_transpose, batch="axis")


def _placed(part: Value, start: int, like: Value, axis: int) -> Value:
    """A part of an axis among zeros."""
    widths = [(0, 0)] * like.ndim
    widths[axis] = (start, like.shape[axis] - start - part.shape[axis])
    return np.pad(part, widths)


def _folded(bar: Value, before: int, size: int, axis: int, name: str) -> Value:
    """The transpose of np.pad of this mode, of sides that are shorter than the array."""

    def part(start: int, stop: int) -> Value:
        return bar[(slice(None),) * axis + (slice(start, stop),)]

    after = bar.shape[axis] - before - size
    middle, left, right = (
        part(before, before + size),
        part(0, before),
        part(before + size, before + size + after),
    )
    if name == "wrap":
        places = [(left, size - before), (right, 0)]
    elif name == "edge":
        places = [
            (np.sum(left, axis, keepdims=True), 0),
            (np.sum(right, axis, keepdims=True), size - 1),
        ]
    elif name == "constant":
        places = []
    else:
        apart = int(name == "reflect")  # whether the outermost element is not repeated
        places = [(np.flip(left, axis), apart), (np.flip(right, axis), size - after - apart)]
    for side, start in places:
        if side.shape[axis]:
            middle = middle + _placed(side, start, middle, axis)
    return middle


@primitive
def mean_along(
    x: Value, size: int = 1, axis: int = -1, mode: str = "reflect", origin: int = 0
) -> Value:
    """SciPy's uniform_filter1d, of a window less than twice as wide as the array."""
    return ni.uniform_filter1d(x, size, axis, mode=mode, origin=origin)


def _mean_transpose(
    g: Cotangent,
    _out: Value,
    _x: Value,
    size: int = 1,
    axis: int = -1,
    mode: str = "reflect",
    origin: int = 0,
) -> Cotangent:
    axis = range(g.ndim)[axis]
    before, _ = window_widths(size, origin)
    bar = _running_transpose(g, None, None, size=size, axis=axis)
    return _folded(bar, before, g.shape[axis], axis, PADDED[mode])


linear(mean_along, _mean_transpose, batch="axis")

__all__ = ["mean_along", "running_mean", "window_sums"]

"""Sums over sliding windows of NumPy arrays as products of matrices: what convolutions compute.

Knows NumPy's own arrays. Must not know rules, tensors or modules.

The elements under a kernel, for some of its places, are copied from a strided view into a matrix:
a row for each element of the kernel, a column for each place. One product with the weights then
gives the results at these places. A matrix is limited to `ROOM` bytes, so that it is still in the
cache when the product reads it, and memory stays bounded: parts of a large image are taken one
after another, and several small images at once. Measured on one core with a 3x3 kernel, 64 to 64
channels and images of 32x32, the copies take about an eighth of the time of the products.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tapegrad._core.types import Value

ROOM = 5 << 19  # bytes of a matrix of windows: two thirds of what a core usually has of cache
ENOUGH = 512  # columns with which a product of matrices is efficient

FEW = 4  # images of which it does not pay to be computed at once: elements of them lie apart

Sizes = tuple[int, ...]


class Kernel(NamedTuple):
    """How a kernel moves over arrays (n, channels, *sizes): a number for each spatial axis."""

    stride: Sizes
    before: Sizes  # zeros before each axis; negative: elements that are left out
    after: Sizes
    dilation: Sizes
    groups: int = 1

    def places(self, sizes: Sizes, kernel: Sizes) -> Sizes:
        """How many places a kernel of these sizes has along each axis."""
        return tuple(
            (size + before + after - apart * (width - 1) - 1) // step + 1
            for size, width, step, before, after, apart in zip(
                sizes, kernel, self.stride, self.before, self.after, self.dilation, strict=True
            )
        )

    def is_pointwise(self, kernel: Sizes) -> bool:
        """Whether each place covers one element, and all elements in order."""
        return (
            math.prod(kernel) == 1
            and math.prod(self.stride) == 1
            and not any(self.before)
            and not any(self.after)
        )

    def is_apart(self, kernel: Sizes) -> bool:
        """Whether no two places cover the same element."""
        return all(
            apart == 1 and step >= width
            for width, step, apart in zip(kernel, self.stride, self.dilation, strict=True)
        )


# --- Windows ------------------------------------------------------------------------------------


class Part(NamedTuple):
    """Some of the places of a kernel: consecutive images, and rows of their first spatial axis."""

    first: int
    images: int
    row: int
    rows: int


def _parts(count: int, places: Sizes, bytes_of_place: int) -> Iterator[Part]:
    """The parts that are computed one after another."""
    area = math.prod(places)
    if not area:
        return
    fit = max(1, ROOM // max(1, bytes_of_place))
    if area <= fit:
        images = min(fit // area, -(-ENOUGH // area))
        images = images if images >= FEW else 1
        for first in range(0, count, images):
            yield Part(first, min(images, count - first), 0, places[0])
        return
    rows = max(1, fit * places[0] // area)
    for first in range(count):
        for row in range(0, places[0], rows):
            yield Part(first, 1, row, min(rows, places[0] - row))


def _inner(sizes: Sizes, kernel: Kernel) -> tuple[Any, Any]:
    """Where an array lies within the padded one, and which of its elements do."""
    inside: list[slice] = []
    kept: list[slice] = []
    for size, before, after in zip(sizes, kernel.before, kernel.after, strict=True):
        start, stop = max(0, -before), size - max(0, -after)
        kept.append(slice(start, max(start, stop)))
        inside.append(slice(max(0, before), max(0, before) + max(0, stop - start)))
    return (..., *inside), (..., *kept)


def _whole(sizes: Sizes, kernel: Kernel) -> Sizes:
    """The sizes of the padded array."""
    return tuple(
        size + before + after
        for size, before, after in zip(sizes, kernel.before, kernel.after, strict=True)
    )


def windows(x: Value, sizes: Sizes, places: Sizes, kernel: Kernel) -> Value:
    """A view (channels, *sizes of the kernel, *places, n) of a padded array (n, channels, ...)."""
    spatial = x.strides[2:]
    within = [s * d for s, d in zip(spatial, kernel.dilation, strict=True)]
    between = [s * d for s, d in zip(spatial, kernel.stride, strict=True)]
    return as_strided(
        x,
        (x.shape[1], *sizes, *places, x.shape[0]),
        (x.strides[1], *within, *between, x.strides[0]),
    )


def _room(count: int, channels: int, sizes: Sizes, dtype: Any) -> Value:
    """Zeros (count, channels, *sizes) in which one element of all images lies together.

    So what is copied lies together in long runs where the images are small.
    """
    return np.moveaxis(np.zeros((channels, *sizes, count), dtype), -1, 0)


def _columns(x: Value, sizes: Sizes, kernel: Kernel) -> Iterator[tuple[Part, Value]]:
    """Parts of the places, and the matrices (groups, elements of a window, places) of each.

    A matrix is valid until the next one is asked for.
    """
    count, channels = x.shape[:2]
    groups = kernel.groups
    given = x.shape[2:]
    places = kernel.places(given, sizes)
    if kernel.is_pointwise(sizes) and (math.prod(places) * FEW > ENOUGH or count == 1):
        for first, image in enumerate(x):
            matrix = image.reshape(groups, channels // groups, -1)
            yield Part(first, 1, 0, places[0]), matrix
        return
    inside, kept = _inner(given, kernel)
    elements = channels * math.prod(sizes)
    is_padded = any(kernel.before) or any(kernel.after)
    padded = room = None
    images, done = x, -1
    for part in _parts(count, places, elements * x.itemsize):
        if part.first != done:
            images = x[part.first : part.first + part.images][kept]
            if is_padded or part.images > 1:
                if padded is None:
                    padded = _room(part.images, channels, _whole(given, kernel), x.dtype)
                whole = padded[: part.images]
                whole[inside] = images
                images = whole
            done = part.first
        rows = images[:, :, part.row * kernel.stride[0] :]
        view = windows(rows, sizes, (part.rows, *places[1:]), kernel)
        if room is None:
            room = np.empty(view.size, x.dtype)
        matrix = room[: view.size].reshape(view.shape)
        np.copyto(matrix, view)
        yield part, matrix.reshape(groups, elements // groups, -1)


def _slices(part: Part, places: Sizes) -> tuple[slice, slice]:
    """The images of a part, and its places on the flattened spatial axes."""
    inner = math.prod(places[1:])
    return (
        slice(part.first, part.first + part.images),
        slice(part.row * inner, (part.row + part.rows) * inner),
    )


def _matrix_of(g: Value, part: Part, places: Sizes) -> Value:
    """The columns (groups, channels, places) of a part of g (n, groups, channels, places)."""
    images, rows = _slices(part, places)
    found = g[images, ..., rows]
    if part.images == 1:
        return found[0]
    return found.transpose(1, 2, 3, 0).reshape(*g.shape[1:3], -1)


# --- The three maps -----------------------------------------------------------------------------


def correlate(x: Value, weight: Value, kernel: Kernel) -> Value:
    """Sums over windows: x (n, c, *sizes), weight (o, c / groups, *kernel) -> (n, o, *places)."""
    sizes = weight.shape[2:]
    places = kernel.places(x.shape[2:], sizes)
    count, outputs, groups = x.shape[0], weight.shape[0], kernel.groups
    dtype = np.result_type(x, weight)
    if _is_low(dtype):
        made = correlate(x.astype(np.float32), weight.astype(np.float32), kernel)
        return made.astype(dtype)
    if weight.size == 0:
        return np.zeros((count, outputs, *places), dtype)
    out = np.empty((count, groups, outputs // groups, math.prod(places)), dtype)
    rows = weight.reshape(groups, outputs // groups, -1)
    for part, matrix in _columns(x, sizes, kernel):
        images, columns = _slices(part, places)
        if part.images == 1:
            np.matmul(rows, matrix, out=out[part.first, ..., columns])
        else:
            made = np.matmul(rows, matrix).reshape(groups, outputs // groups, -1, part.images)
            out[images] = made.transpose(3, 0, 1, 2)
    return out.reshape(count, outputs, *places)


def correlate_weight(x: Value, g: Value, kernel: Kernel, sizes: Sizes) -> Value:
    """The transpose of `correlate` by the weight, whose kernel has these sizes."""
    groups = kernel.groups
    channels, outputs = x.shape[1] // groups, g.shape[1]
    dtype = np.result_type(x, g)
    if _is_low(dtype):
        x, g = x.astype(np.float32), g.astype(np.float32)
        return correlate_weight(x, g, kernel, sizes).astype(dtype)
    total = np.zeros((groups, outputs // groups, channels * math.prod(sizes)), dtype)
    if total.size and g.size:
        places = g.shape[2:]
        rows = g.reshape(g.shape[0], groups, outputs // groups, -1)
        for part, matrix in _columns(x, sizes, kernel):
            total += np.matmul(_matrix_of(rows, part, places), matrix.swapaxes(1, 2))
    return total.reshape(outputs, channels, *sizes)


def correlate_input(g: Value, weight: Value, kernel: Kernel, sizes: Sizes) -> Value:
    """The transpose of `correlate` by x, which has these spatial sizes."""
    dtype = np.result_type(g, weight)
    count, groups = g.shape[0], kernel.groups
    outputs, channels, *widths = weight.shape
    if _is_low(dtype):
        g, weight = g.astype(np.float32), weight.astype(np.float32)
        return correlate_input(g, weight, kernel, sizes).astype(dtype)
    if not g.size or not weight.size:
        return np.zeros((count, channels * groups, *sizes), dtype)
    if math.prod(kernel.stride) == 1:
        split = weight.reshape(groups, outputs // groups, channels, *widths)
        turned = np.flip(split, tuple(range(3, split.ndim))).swapaxes(1, 2)
        turned = np.ascontiguousarray(turned)  # a view with negative strides is slow
        turned = turned.reshape(groups * channels, outputs // groups, *widths)
        return correlate(g, turned, _turned(kernel, tuple(widths), sizes, g.shape[2:]))
    rows = weight.reshape(groups, outputs // groups, -1).swapaxes(1, 2)
    places = g.shape[2:]
    flat = g.reshape(count, groups, outputs // groups, -1)
    bytes_of_place = rows.shape[1] * groups * dtype.itemsize
    product = np.multiply if rows.shape[2] == 1 else np.matmul  # of a column and a row

    def matrices() -> Iterator[tuple[Part, Value]]:
        for part in _parts(count, places, bytes_of_place):
            yield part, product(rows, _matrix_of(flat, part, places))

    x_shape = (count, channels * groups, *sizes)
    return _add_windows(matrices(), x_shape, dtype, tuple(widths), places, kernel)


def _turned(kernel: Kernel, widths: Sizes, sizes: Sizes, places: Sizes) -> Kernel:
    """How the turned kernel moves over the result, where the stride is 1."""
    reach = [d * (width - 1) for d, width in zip(kernel.dilation, widths, strict=True)]
    before = tuple(most - b for most, b in zip(reach, kernel.before, strict=True))
    after = tuple(
        size - place + most - b
        for size, place, most, b in zip(sizes, places, reach, before, strict=True)
    )
    return kernel._replace(before=before, after=after)


def _add_windows(
    matrices: Iterator[tuple[Part, Value]],
    shape: Sizes,
    dtype: Any,
    widths: Sizes,
    places: Sizes,
    kernel: Kernel,
) -> Value:
    """An array of a shape, to which the columns of matrices are added as windows."""
    count, channels, *rest = shape
    sizes = tuple(rest)
    inside, kept = _inner(sizes, kernel)
    out = np.zeros(shape, dtype)
    is_padded = any(kernel.before) or any(kernel.after)
    room = None
    once = kernel.is_apart(widths)
    for part, matrix in matrices:
        images = slice(part.first, part.first + part.images)
        is_direct = part.images == 1 and not is_padded
        if is_direct:
            whole = out[images]
        else:
            if room is None:
                room = _room(part.images, channels, _whole(sizes, kernel), dtype)
            elif part.row == 0:
                room[...] = 0
            whole = room[: part.images]
        place = (part.rows, *places[1:])
        view = windows(whole[:, :, part.row * kernel.stride[0] :], widths, place, kernel)
        given = matrix.reshape(view.shape)
        if once:
            np.copyto(view, given)
        else:
            for at in itertools.product(*map(range, widths)):
                view[:, *at] += given[:, *at]
        if not is_direct and part.row + part.rows == places[0]:
            out[images][kept] = whole[inside]
    return out


def _is_low(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy's products of a dtype are neither fast nor accurate."""
    return dtype.kind == "f" and dtype.itemsize < 4


# --- Windows as arrays --------------------------------------------------------------------------


def unfolded(x: Value, sizes: Sizes, kernel: Kernel) -> Value:
    """All windows: (n, channels, *sizes) -> (n, channels * elements of the kernel, places)."""
    places = kernel.places(x.shape[2:], sizes)
    if any(kernel.before) or any(kernel.after):
        inside, kept = _inner(x.shape[2:], kernel)
        whole = np.zeros((*x.shape[:2], *_whole(x.shape[2:], kernel)), x.dtype)
        whole[inside] = x[kept]
        x = whole
    view = np.moveaxis(windows(x, sizes, places, kernel), -1, 0)
    return view.reshape(x.shape[0], x.shape[1] * math.prod(sizes), math.prod(places))


def folded(g: Value, shape: Sizes, widths: Sizes, kernel: Kernel) -> Value:
    """The transpose of `unfolded`: an array (channels, *sizes) of each of n, as `shape` says."""
    places = kernel.places(shape[1:], widths)

    def matrices() -> Iterator[tuple[Part, Value]]:
        for first, image in enumerate(g):
            yield Part(first, 1, 0, places[0]), image

    return _add_windows(matrices(), (g.shape[0], *shape), g.dtype, widths, places, kernel)

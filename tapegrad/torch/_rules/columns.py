"""Windows of arrays as the columns of matrices, and the sums of such columns.

Knows NumPy's own arrays. Must not know products, rules, tensors or modules.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tapegrad._core.types import Value
from tapegrad.torch._rules.im2col import Part
from tapegrad.torch._rules.kernels import Kernel, Sizes


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


def add_windows(
    matrices: Iterator[tuple[Part, Value]],
    shape: Sizes,
    dtype: Any,
    widths: Sizes,
    places: Sizes,
    kernel: Kernel,
) -> Value:
    """An array of a shape, to which the columns of matrices are added as windows.

    A part has a matrix for each of its images.
    """
    count, channels, *rest = shape
    sizes = tuple(rest)
    inside, kept = _inner(sizes, kernel)
    out = np.zeros(shape, dtype)
    is_padded = any(kernel.before) or any(kernel.after)
    room = None
    once = kernel.is_apart(widths, places)
    for part, matrix in matrices:
        if not is_padded:
            whole = out[part.images]
        else:
            if room is None:
                room = np.zeros((len(matrix), channels, *_whole(sizes, kernel)), dtype)
            elif part.row == 0:
                room[...] = 0
            whole = room[: len(matrix)]
        rows = whole[:, :, part.row * kernel.stride[0] :]
        view = windows(rows, widths, (part.rows, *places[1:]), kernel)
        view = np.moveaxis(view, -1, 0)
        given = matrix.reshape(view.shape)
        if once:
            np.copyto(view, given)
        else:
            for at in itertools.product(*map(range, widths)):
                view[:, :, *at] += given[:, :, *at]
        if is_padded and part.row + part.rows == places[0]:
            out[part.images][kept] = whole[inside]
    return out


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
            yield Part(slice(first, first + 1), slice(0, 1), 0, places[0]), image[np.newaxis]

    return add_windows(matrices(), (g.shape[0], *shape), g.dtype, widths, places, kernel)

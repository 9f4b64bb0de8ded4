"""The parts under a sliding kernel as matrices, and the sums of their columns.

Knows NumPy's own arrays. Must not know products, rules, tensors or modules.

Patches are what lies under the last axes of a kernel: for a 3x3 one, each image three times, moved
by one column each. The elements are the rows of a matrix, whose columns are the places, one row of
the images after another. What lies under the first axis of the kernel needs no copies: under its
second row there are the same columns of the matrix, from the second row of the images on. So a
convolution is a sum of products, one for each row of the kernel. Where the results have more
channels than the patches have rows, to add them up costs more than to copy all that lies under the
kernel, as in the first layer of a net: then there is one matrix.

A matrix is limited to `ROOM` bytes, so that it is still in the cache when the product reads it,
and memory stays bounded: parts of a large image are taken one after another, and several groups
of channels or small images at once.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tapegrad._core.types import Value
from tapegrad.torch._rules.kernels import Kernel, Sizes, once, span

ROOM = 5 << 19  # bytes of a matrix: two thirds of what a core usually has of cache
LITTLE = 1 << 20  # bytes of a matrix of all that lies under a kernel, if they suffice
ENOUGH = 256  # columns with which a product of matrices is efficient
TINY = 1 << 15  # elements of a matrix that costs less than the calls which make it
TOGETHER = 16  # images, whose elements lie together where they are few
FEW = 128  # columns with which it still pays not to copy what need not be copied


class Part(NamedTuple):
    """Work done at once: rows of the places of some images, in some groups of channels.

    runs: 0 where there is a matrix for each image. Where an image has few columns, one matrix has
    those of all these images: into so many runs the columns of an image are cut, and the first run
    of each image comes before the second ones.
    """

    images: slice
    groups: slice
    row: int
    rows: int
    runs: int = 0

    def of(self, columns: Value, places: Sizes) -> Value:
        """Its part of arrays (n, groups, channels, places)."""
        inner = math.prod(places[1:])
        own = slice(self.row * inner, (self.row + self.rows) * inner)
        return columns[self.images, self.groups, :, own]

    def gathered(self, columns: Value, places: Sizes) -> Value:
        """The same (images or 1, groups, channels, columns) as the matrices have them."""
        found = self.of(columns, places)
        if not self.runs:
            return found
        apart = found.reshape(*found.shape[:3], self.runs, -1)
        return apart.transpose(1, 2, 3, 0, 4).reshape(1, *found.shape[1:3], -1)

    def scatter(self, out: Value, made: Value) -> None:
        """Put what is as the matrices have it into arrays (n, groups * channels, *places)."""
        each = made.shape[2]
        channels = slice(self.groups.start * each, self.groups.stop * each)
        target = out[self.images, channels, self.row : self.row + self.rows]
        if self.runs > 1:  # the images are last
            target = np.moveaxis(target, 0, -1)
        elif self.runs:
            target = target.swapaxes(0, 1)
        target[...] = made.reshape(target.shape)


def _pieces(whole: int, most: int) -> list[slice]:
    """Slices of at most so many elements, about equally long."""
    each = -(-whole // max(1, -(-whole // most)))
    return [slice(first, min(whole, first + each)) for first in range(0, whole, each)]


def parts_of(
    count: int,
    groups: int,
    places: Sizes,
    bytes_of_row: int,
    beyond: int = 0,
    most: int | None = None,
    room: int | None = None,
) -> Iterator[Part]:
    """The parts that are computed one after another, none of more than `room` bytes, or `ROOM`.

    bytes_of_row: what one row of one image and group takes; beyond: rows a part has more; most:
    how many images it has at most.
    """
    if not math.prod(places) or not count:
        return
    fit = (room or ROOM) // max(1, bytes_of_row)
    images, shared, rows = 1, 1, places[0]
    if fit >= rows + beyond:
        fit //= rows + beyond
        images = min(count, most or count)
        shared = min(groups, max(1, fit // images))
        images = min(count, most or count, fit // shared)
    else:
        rows = max(1, fit - beyond, min(fit, beyond))
    for few, channels, piece in itertools.product(
        _pieces(count, images), _pieces(groups, shared), _pieces(places[0], rows)
    ):
        yield Part(few, channels, piece.start, piece.stop - piece.start)


class _Plan(NamedTuple):
    """Decisions by the shapes of a convolution, before any part is copied."""

    channels: int  # in a group
    places: Sizes
    is_whole: bool  # whether one matrix has all that lies under the kernel
    remainders: list[int]  # of rows that a tap of the kernel's first axis sees, by its stride
    taps: list[tuple[int, int]]  # for each such tap, which remainder it has, and its row


@once
def _plan(shape: Sizes, outputs: int, kernel: Kernel, widths: Sizes) -> _Plan:
    channels = shape[1] // kernel.groups
    places = kernel.places(shape[2:], widths)
    columns = shape[0] * math.prod(places)
    is_whole = (
        widths[0] == 1
        or channels * math.prod(widths[1:]) <= outputs
        or columns <= 4 * outputs  # it does not pay to copy parts of the weights
        or shape[1] * math.prod(widths) * columns <= TINY  # the fewest calls are best
    )
    ahead = [tap * kernel.dilation[0] for tap in range(widths[0])]
    step = kernel.stride[0]
    remainders = sorted({row % step for row in ahead})
    taps = [(remainders.index(row % step), row // step) for row in ahead]
    return _Plan(channels, places, is_whole, remainders, taps)


@once
def _whole_parts(count: int, groups: int, places: Sizes, row: int) -> tuple[Part, ...]:
    """The parts of images of which all that lies under a kernel is copied; row: its bytes."""
    are_few = math.prod(places) < ENOUGH and count > 1
    has_enough = LITTLE * math.prod(places[1:]) >= row * ENOUGH
    found = parts_of(count, groups, places, row, room=LITTLE if has_enough else ROOM)
    return tuple(part._replace(runs=int(are_few)) for part in found)


class _Window(NamedTuple):
    """The elements of images that lie under a kernel at some rows of its places."""

    seen: tuple[slice, ...]  # those that the images have
    inside: tuple[slice, ...]  # where these are among all
    held: Sizes  # the sizes of all
    is_padded: bool


@once
def _window(sizes: Sizes, kernel: Kernel, widths: Sizes, row: int, places: Sizes) -> _Window:
    """places: of the rows from `row` on, and of the other axes."""
    held = tuple(
        (count - 1) * stride + (width - 1) * dilation + 1
        for count, stride, width, dilation in zip(
            places, kernel.stride, widths, kernel.dilation, strict=True
        )
    )
    starts = [-before for before in kernel.before]
    starts[0] += row * kernel.stride[0]
    spans = [span(*of) for of in zip(sizes, (1,) * len(sizes), starts, held, strict=True)]
    every = (slice(None), slice(None))
    lengths = tuple(inside.stop - inside.start for inside, _ in spans)
    seen = (*every, *(elements for _, elements in spans))
    return _Window(seen, (*every, *(inside for inside, _ in spans)), held, lengths != held)


@once
def _images_first(channels: int, ndim: int) -> Sizes:
    """The axes of arrays whose images come after so many axes of channels, images first."""
    return (channels, *range(channels), *range(channels + 1, ndim))


class Im2col:
    """Parts, and the matrices (n or 1, groups, elements, columns) that the weights multiply.

    A matrix is valid until the next part is asked for.
    """

    def __init__(self, x: Value, outputs: int, kernel: Kernel, widths: Sizes) -> None:
        """outputs: the channels of the results in a group; widths: the sizes of the kernel."""
        self.x, self.kernel, self.widths = x, kernel, widths
        plan = _plan(x.shape, outputs, kernel, widths)
        self.channels, self.places, self.is_whole, self.remainders, self.taps = plan
        self.room = np.empty(0, x.dtype)

    def parts_of_weight(self, weight: Value) -> list[Value]:
        """Views (groups, outputs, *elements) of a weight: what belongs to each of the matrices."""
        groups = self.kernel.groups
        split = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
        if self.is_whole:
            return [split.reshape(*split.shape[:2], -1)]
        return [split[:, :, :, tap] for tap in range(self.widths[0])]

    def rows_of(self, weight: Value) -> list[Value]:
        """The weights (groups, outputs, elements) by which the matrices are multiplied."""
        return [part.reshape(*part.shape[:2], -1) for part in self.parts_of_weight(weight)]

    def __iter__(self) -> Iterator[tuple[Part, list[Value]]]:
        x, groups, places = self.x, self.kernel.groups, self.places
        if self.kernel.is_pointwise(self.widths) and (math.prod(places) > FEW or len(x) == 1):
            whole = Part(slice(0, len(x)), slice(0, groups), 0, places[0])
            yield whole, [x.reshape(len(x), groups, self.channels, -1)]
            return
        row = self.channels * math.prod(self.widths[1:]) * math.prod(places[1:]) * x.itemsize
        if self.is_whole:
            for part in _whole_parts(len(x), groups, places, row * self.widths[0]):
                yield part, [self._whole(part)]
            return
        are_few = math.prod(places) < ENOUGH and len(x) > 1
        beyond = max(row for _, row in self.taps)
        row *= len(self.remainders)
        are_few = are_few and len(places) > 1 and math.prod(places) > 1 and len(x) >= TOGETHER // 2
        most = TOGETHER if are_few else len(x)
        for part in parts_of(len(x), groups, places, row, beyond, most):
            if are_few:
                part = part._replace(runs=part.rows * math.prod(places[1:]))
            yield part, self._patches(part, part.rows + beyond)

    def _memory(self, part: Part, channels: Sizes, rows: int, inner: Sizes) -> tuple[Value, Value]:
        """An array (n or 1, *channels, columns), and the same as (n, *channels, rows, *inner)."""
        count = part.images.stop - part.images.start
        size = count * math.prod(channels) * rows * math.prod(inner)
        if self.room.size < size:
            self.room = np.empty(size, self.room.dtype)
        room = self.room[:size]
        if part.runs:
            if part.runs == 1:
                made = room.reshape(*channels, count, rows, *inner)
                made = made.transpose(_images_first(len(channels), made.ndim))
            else:
                made = np.moveaxis(room.reshape(*channels, rows, *inner, count), -1, 0)
            return room.reshape(1, *channels, -1), made
        made = room.reshape(count, *channels, rows, *inner)
        return room.reshape(count, *channels, -1), made

    def _given(self, part: Part) -> Value:
        groups = part.groups
        return self.x[part.images, groups.start * self.channels : groups.stop * self.channels]

    def _patches(self, part: Part, held: int) -> list[Value]:
        """For each element of the kernel's first axis, what lies under the others."""
        kernel, sizes, inner = self.kernel, self.x.shape[2:], self.places[1:]
        groups = part.groups.stop - part.groups.start
        flat, patches = self._memory(
            part, (groups * self.channels, *self.widths[1:], len(self.remainders)), held, inner
        )
        given = self._given(part)
        if part.runs:
            given = np.moveaxis(np.ascontiguousarray(np.moveaxis(given, 0, -1)), -1, 0)
        first = part.row * kernel.stride[0] - kernel.before[0]
        rows = [span(sizes[0], kernel.stride[0], first + row, held) for row in self.remainders]
        every = (slice(None), slice(None))
        for taps in itertools.product(*map(range, self.widths[1:])):
            spans = [
                span(size, stride, tap * dilation - before, count)
                for size, stride, tap, dilation, before, count in zip(
                    *(sizes[1:], kernel.stride[1:], taps, kernel.dilation[1:]),
                    *(kernel.before[1:], inner),
                    strict=True,
                )
            ]
            for which, (place, element) in enumerate(rows):
                block = patches[:, :, *taps, which]
                own = block[*every, place, *(inside for inside, _ in spans)]
                own[...] = given[*every, element, *(seen for _, seen in spans)]
                _clear_around(block, (place, *(inside for inside, _ in spans)))
        flat = flat.reshape(len(flat), groups, -1, len(self.remainders), flat.shape[-1])
        length = flat.shape[-1] // held
        return [
            flat[:, :, :, which, row * length : (row + part.rows) * length]
            for which, row in self.taps
        ]

    def _whole(self, part: Part) -> Value:
        """All that lies under the kernel."""
        kernel, widths = self.kernel, self.widths
        groups = part.groups.stop - part.groups.start
        inner = self.places[1:]
        flat, whole = self._memory(part, (groups * self.channels, *widths), part.rows, inner)
        window = _window(self.x.shape[2:], kernel, widths, part.row, (part.rows, *inner))
        given = self._given(part)
        seen = given[window.seen]
        if window.is_padded:
            padded = np.zeros((*given.shape[:2], *window.held), given.dtype)
            padded[window.inside] = seen
            seen = padded
        strides = seen.strides
        steps = (
            *strides[:2],
            *map(operator.mul, strides[2:], kernel.dilation),
            *map(operator.mul, strides[2:], kernel.stride),
        )
        if seen.flags.c_contiguous:  # as_strided, which costs several times as much
            whole[...] = np.ndarray(whole.shape, seen.dtype, seen, 0, steps)
        else:
            whole[...] = as_strided(seen, whole.shape, steps)
        return flat.reshape(len(flat), groups, -1, flat.shape[-1])


def _clear_around(block: Value, inside: tuple[slice, ...]) -> None:
    """Zeros into an array (n, channels, *sizes), but for its elements inside of slices."""
    for axis, (size, part) in enumerate(zip(block.shape[2:], inside, strict=True), 2):
        whole = (slice(None),) * axis
        if part.start > 0:
            block[*whole, : part.start] = 0
        if part.stop < size:
            block[*whole, part.stop :] = 0


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

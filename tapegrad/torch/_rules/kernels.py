"""How the kernel of a convolution moves over an array.

Knows numbers alone. Must not know arrays, rules, tensors or modules.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

Sizes = tuple[int, ...]
# The geometry of a convolution comes again with each call of a layer: it is found once.
once = functools.lru_cache(maxsize=1 << 10)


class Phase(NamedTuple):
    """Every so manieth element of an axis, as far apart as a stride, and what reaches them."""

    elements: slice
    taps: slice  # the elements of the kernel that these elements lie under
    before: int  # zeros before the results, over which the turned kernel moves
    after: int
    dilation: int

    @property
    def is_reached(self) -> bool:
        """Whether any element of the kernel lies over these elements."""
        return bool(self.taps.start < self.taps.stop)


class Kernel(NamedTuple):
    """How a kernel moves over arrays (n, channels, *sizes): a number for each spatial axis."""

    stride: Sizes
    before: Sizes  # zeros before each axis; negative: elements that are left out
    after: Sizes
    dilation: Sizes
    groups: int = 1

    @once
    def places(self, sizes: Sizes, kernel: Sizes) -> Sizes:
        """How many places a kernel of these sizes has along each axis."""
        return tuple(
            (size + before + after - dilation * (width - 1) - 1) // stride + 1
            for size, width, stride, before, after, dilation in zip(
                sizes, kernel, self.stride, self.before, self.after, self.dilation, strict=True
            )
        )

    @once
    def is_pointwise(self, kernel: Sizes) -> bool:
        """Whether each place covers one element, and all elements in order."""
        return (
            math.prod(kernel) == 1
            and math.prod(self.stride) == 1
            and not any(self.before)
            and not any(self.after)
        )

    @once
    def is_apart(self, kernel: Sizes, places: Sizes) -> bool:
        """Whether no two of these places cover the same element."""
        return all(
            place == 1 or (dilation == 1 and stride >= width)
            for place, width, stride, dilation in zip(
                places, kernel, self.stride, self.dilation, strict=True
            )
        )

    @once
    def phases(self, axis: int, width: int, size: int, places: int) -> tuple[Phase, ...]:
        """How the transpose of a convolution along an axis consists of convolutions of stride 1.

        Element u of `size` lies under tap t of `width` at place p where u + before = p * stride +
        t * dilation. So elements that differ by a stride have the same taps, at places that differ
        by one. The first element of a phase has its first tap at place `last`.
        """
        stride, dilation = self.stride[axis], self.dilation[axis]
        common = math.gcd(stride, dilation)
        found = []
        for first in range(min(stride, size)):
            lag = first + self.before[axis]
            tap = next(
                (t for t in range(min(width, stride)) if (lag - t * dilation) % stride == 0), width
            )
            taps = slice(tap, width, stride // common)
            reach = (len(range(width)[taps]) - 1) * (dilation // common)
            last = (lag - tap * dilation) // stride
            elements = slice(first, size, stride)
            more = len(range(size)[elements]) - places + last
            found.append(Phase(elements, taps, reach - last, more, dilation // common))
        return tuple(found)


def span(size: int, step: int, start: int, count: int) -> tuple[slice, slice]:
    """Which of `count` elements, from `start` on and a step apart, an axis has, and where.

    The axis has the elements 0 to `size`; around them are zeros.
    """
    first = max(0, -(start // step))
    stop = min(count, (size - 1 - start) // step + 1)
    if stop <= first:
        return slice(0, 0), slice(0, 0)
    end = start + (stop - 1) * step + 1
    return slice(first, stop), slice(start + first * step, end, step)

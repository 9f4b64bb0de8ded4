"""Filters that choose an element of each window: minima, maxima, medians, ranks, morphology.

The derivative is 1 by the element that was chosen, and shared evenly among equal ones. The choice
is kept as truth values, one for each place in the window.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.ndimage as ni

from tapegrad._core.forms import composite, constant, general, linear
from tapegrad._core.types import Cotangent, Function, Value
from tapegrad._transforms.primitives import primitive
from tapegrad.scipy._mirror import expressed_by, mirror
from tapegrad.scipy.ndimage._images import (
    HERE,
    as_image,
    axes_of,
    axes_of_window,
    extended,
    finished,
    for_each,
    window_widths,
)

minimum_filter1d, maximum_filter1d = (
    mirror(f, HERE) for f in (ni.minimum_filter1d, ni.maximum_filter1d)
)
minimum_filter, maximum_filter = (mirror(f, HERE) for f in (ni.minimum_filter, ni.maximum_filter))
rank_filter, median_filter, percentile_filter = (
    mirror(f, HERE) for f in (ni.rank_filter, ni.median_filter, ni.percentile_filter)
)
grey_erosion, grey_dilation = mirror(ni.grey_erosion, HERE), mirror(ni.grey_dilation, HERE)
grey_opening, grey_closing = mirror(ni.grey_opening, HERE), mirror(ni.grey_closing, HERE)
morphological_gradient, morphological_laplace = (
    mirror(f, HERE) for f in (ni.morphological_gradient, ni.morphological_laplace)
)
white_tophat, black_tophat = mirror(ni.white_tophat, HERE), mirror(ni.black_tophat, HERE)

# --- chosen elements of windows


def _places(footprint: Any, made: Any) -> Iterator[tuple[slice, ...]]:
    """Where each element of a window comes from, for all windows at once."""
    for index in np.argwhere(footprint):
        yield tuple(slice(i, i + side) for i, side in zip(index, made, strict=True))


@primitive
def choice(image: Value, out: Value, footprint: Any = None, structure: Any = None) -> Value:
    """Shares of the elements of each window in the result: what is nearest to it."""
    gaps = np.empty((int(np.sum(footprint)), *out.shape), image.dtype)
    heights = [0.0] * len(gaps) if structure is None else structure[footprint]
    for gap, place, height in zip(gaps, _places(footprint, out.shape), heights, strict=True):
        np.subtract(image[place] - height, out, out=gap)
    np.absolute(gaps, out=gaps)
    chosen = gaps == np.min(gaps, axis=0, initial=np.inf)
    chosen |= np.all(np.isnan(gaps), axis=0)
    return chosen / np.sum(chosen, axis=0).astype(image.dtype)


constant(choice, arrays=2, batch="loop")


@primitive
def gathered(shares: Value, image: Value, footprint: Any = None) -> Value:
    """The sum of each window's elements by their shares."""
    total = np.zeros(shares.shape[1:], image.dtype)
    for share, place in zip(shares, _places(footprint, total.shape), strict=True):
        total += share * image[place]
    return total


@primitive
def scattered(shares: Value, g: Value, footprint: Any = None) -> Value:
    """Each window's cotangent by its shares, added to the elements: the transpose of that."""
    sides = [n + k - 1 for n, k in zip(g.shape, footprint.shape, strict=True)]
    total = np.zeros(sides, g.dtype)
    for share, place in zip(shares, _places(footprint, g.shape), strict=True):
        total[place] += share * g
    return total


linear(
    gathered,
    lambda g, _out, shares, _image, footprint=None: scattered(shares, g, footprint=footprint),
    fixed=1,
)
linear(
    scattered,
    lambda g, _out, shares, _g, footprint=None: gathered(shares, g, footprint=footprint),
    fixed=1,
)


@primitive
def ranked(image: Value, footprint: Any = None, rank: int = 0, structure: Any = None) -> Value:
    """The element of a rank in each window that lies within the image.

    structure: what is taken away from the elements before; with it the rank is 0.
    """
    if structure is not None:
        full = ni.grey_erosion(image, footprint=footprint, structure=structure, mode="constant")
    else:
        full = ni.rank_filter(image, rank, footprint=footprint, mode="constant")
    return full[
        tuple(
            slice(count // 2, count // 2 + side - count + 1)
            for count, side in zip(footprint.shape, image.shape, strict=True)
        )
    ]


def _ranked_vjp(
    g: Cotangent,
    out: Value,
    image: Value,
    footprint: Any = None,
    rank: int = 0,
    structure: Any = None,
) -> Cotangent:
    shares = choice(image, out, footprint=footprint, structure=structure)
    return scattered(shares, g, footprint=footprint)


def _ranked_jvp(
    dots: Any,
    out: Value,
    image: Value,
    footprint: Any = None,
    rank: int = 0,
    structure: Any = None,
) -> Any:
    shares = choice(image, out, footprint=footprint, structure=structure)
    return gathered(shares, dots[0], footprint=footprint)


def _ranked_examples(
    image: Value, footprint: Any = None, rank: int = 0, structure: Any = None
) -> Value:
    expanded = None if structure is None else structure[None]
    return ranked(image, footprint=footprint[None], rank=rank, structure=expanded)


general(ranked, vjp=[_ranked_vjp], jvp=_ranked_jvp, batch=_ranked_examples)

# --- by ranks


def _real_image(x: Value) -> Value:
    x = as_image(x)
    if x.dtype.kind == "c":
        raise TypeError("scipy.ndimage: expected real numbers, which have an order.")
    return x


def _by_rank(
    x: Value, footprint: Any, rank: int, modes: Any, cval: Any, origins: Any, structure: Any = None
) -> Value:
    """The filter with a footprint of as many axes as the image."""
    count = int(np.sum(footprint))
    rank = rank + count if rank < 0 else rank
    if not 0 <= rank < count:
        raise RuntimeError(f"scipy.ndimage: expected a rank below {count}, got {rank}.")
    widths = [
        window_widths(size, origin) for size, origin in zip(footprint.shape, origins, strict=True)
    ]
    x = extended(x, widths, modes, cval)
    return ranked(x, footprint=footprint, rank=rank, structure=structure)


def _window(
    x: Value, size: Any, footprint: Any, mode: Any, origin: Any, axes: Any, separable: bool = False
) -> tuple[Any, list[Any], list[Any]]:
    """The footprint, modes and origins for each axis of the image.

    separable: SciPy filters along one axis of a box after another, so its sides are those of
    `axes` in their order. All else has its sides in the order of the image, whatever `axes` has.
    """
    chosen = axes_of_window(axes, x.ndim)
    if footprint is None:
        if size is None:
            raise RuntimeError("scipy.ndimage: expected size or footprint.")
        sizes = [operator.index(side) for side in for_each(size, len(chosen), "size")]
        inner = np.ones(sizes, bool)
    else:
        inner = np.asarray(footprint, bool)
        if inner.ndim != len(chosen):
            raise RuntimeError(
                f"scipy.ndimage: expected a footprint of {len(chosen)} axes, got {inner.ndim}."
            )
        if not inner.any():
            raise ValueError("scipy.ndimage: expected a footprint with an element, got none.")
    if separable and inner.all():
        chosen = axes_of(axes, x.ndim)
        inner = np.transpose(inner, np.argsort(chosen))
    full = np.expand_dims(inner, [axis for axis in range(x.ndim) if axis not in chosen])
    modes, origins = ["constant"] * x.ndim, [0] * x.ndim
    given = zip(
        chosen,
        for_each(mode, len(chosen), "mode"),
        for_each(origin, len(chosen), "origin"),
        strict=True,
    )
    for axis, way, start in given:
        modes[axis], origins[axis] = way, start
    return full, modes, origins


def _extreme1d(rank: int) -> Function:
    def definition(
        input: Value,
        size: int,
        axis: int = -1,
        output: Any = None,
        mode: str = "reflect",
        cval: Any = 0.0,
        origin: int = 0,
    ) -> Value:
        x = _real_image(input)
        footprint, modes, origins = _window(x, [size], None, mode, origin, [axis])
        return finished(_by_rank(x, footprint, rank, modes, cval, origins), output)

    return definition


def _extreme(rank: int) -> Function:
    def definition(
        input: Value,
        size: Any = None,
        footprint: Any = None,
        output: Any = None,
        mode: Any = "reflect",
        cval: Any = 0.0,
        origin: Any = 0,
        *,
        axes: Any = None,
    ) -> Value:
        x = _real_image(input)
        whole, modes, origins = _window(x, size, footprint, mode, origin, axes, separable=True)
        return finished(_extreme_of(x, whole, rank, modes, cval, origins), output, input)

    return definition


def _extreme_of(x: Value, footprint: Any, rank: int, modes: Any, cval: Any, origins: Any) -> Value:
    """A box is one axis after another."""
    if not footprint.all():
        return _by_rank(x, footprint, rank, modes, cval, origins)
    for axis, side in enumerate(footprint.shape):
        if side > 1:
            line = [1] * x.ndim
            line[axis] = side
            own = [origin if i == axis else 0 for i, origin in enumerate(origins)]
            x = _by_rank(x, np.ones(line, bool), rank, modes, cval, own)
    return x


composite(minimum_filter1d, _extreme1d(0))
composite(maximum_filter1d, _extreme1d(-1))
composite(minimum_filter, _extreme(0))
composite(maximum_filter, _extreme(-1))


def _with_rank(
    input: Value,
    rank: Function,
    size: Any,
    footprint: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
) -> Value:
    """`rank(count)`: the rank in a footprint of so many elements."""
    x = _real_image(input)
    whole, modes, origins = _window(x, size, footprint, mode, origin, axes)
    count = int(np.sum(whole))
    place = rank(count)
    if place in (0, count - 1, -1, -count):
        place = 0 if place in (0, -count) else -1
        return finished(_extreme_of(x, whole, place, modes, cval, origins), output, input)
    return finished(_by_rank(x, whole, place, modes, cval, origins), output)


def _rank_filter(
    input: Value,
    rank: int,
    size: Any,
    footprint: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    *,
    axes: Any,
) -> Value:
    place = operator.index(rank)
    return _with_rank(
        input, lambda _count: place, size, footprint, output, mode, cval, origin, axes
    )


def _median_filter(
    input: Value,
    size: Any,
    footprint: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    *,
    axes: Any,
) -> Value:
    return _with_rank(
        input, lambda count: count // 2, size, footprint, output, mode, cval, origin, axes
    )


def _percentile_filter(
    input: Value,
    percentile: float,
    size: Any,
    footprint: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    *,
    axes: Any,
) -> Value:
    share = percentile + 100 if percentile < 0 else percentile
    if not 0 <= share <= 100:
        raise RuntimeError(
            f"scipy.ndimage: expected a percentile from -100 to 100, got {percentile}."
        )

    def rank(count: int) -> int:
        return count - 1 if share == 100 else int(float(count) * share / 100.0)

    return _with_rank(input, rank, size, footprint, output, mode, cval, origin, axes)


expressed_by(rank_filter, _rank_filter)
expressed_by(median_filter, _median_filter)
expressed_by(percentile_filter, _percentile_filter)

# --- morphology of grey values


def _eroded(
    x: Value,
    size: Any,
    footprint: Any,
    structure: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
) -> Value:
    """The minimum of each window, of elements from which a structure is taken away."""
    if structure is None:
        whole, modes, origins = _window(x, size, footprint, mode, origin, axes, separable=True)
        return _extreme_of(x, whole, 0, modes, cval, origins)
    heights = np.asarray(structure, np.float64)
    if footprint is None:
        footprint = np.ones(heights.shape, bool)
    whole, modes, origins = _window(x, size, footprint, mode, origin, axes)
    return _by_rank(x, whole, 0, modes, cval, origins, np.reshape(heights, whole.shape))


def _dilated(
    x: Value,
    size: Any,
    footprint: Any,
    structure: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
) -> Value:
    """The erosion of the negative image by the reversed structure."""
    chosen = axes_of(axes, x.ndim)
    if size is None and footprint is None and structure is None:
        raise ValueError("scipy.ndimage: expected size, footprint or structure.")
    sides = () if size is None else tuple(for_each(size, len(chosen), "size"))
    if structure is not None:
        structure = np.flip(np.asarray(structure))
        sides = structure.shape
    if footprint is not None:
        footprint = np.flip(np.asarray(footprint, bool))
        sides = footprint.shape
    origins = [
        -own - (side % 2 == 0)
        for own, side in zip(for_each(origin, len(chosen), "origin"), sides, strict=True)
    ]
    return -_eroded(-x, size, footprint, structure, mode, -cval, origins, axes)


def _morphology(combine: Function) -> Function:
    """A function of the image, and of erosion and dilation as functions of an image."""

    def definition(
        input: Value,
        size: Any = None,
        footprint: Any = None,
        structure: Any = None,
        output: Any = None,
        mode: Any = "reflect",
        cval: Any = 0.0,
        origin: Any = 0,
        *,
        axes: Any = None,
    ) -> Value:
        given = (size, footprint, structure, mode, cval, origin, axes)
        result = combine(
            _real_image(input), lambda x: _eroded(x, *given), lambda x: _dilated(x, *given)
        )
        return finished(result, output, input)

    return definition


composite(grey_erosion, _morphology(lambda x, erode, dilate: erode(x)))
composite(grey_dilation, _morphology(lambda x, erode, dilate: dilate(x)))
composite(grey_opening, _morphology(lambda x, erode, dilate: dilate(erode(x))))
composite(grey_closing, _morphology(lambda x, erode, dilate: erode(dilate(x))))
composite(morphological_gradient, _morphology(lambda x, erode, dilate: dilate(x) - erode(x)))
composite(
    morphological_laplace, _morphology(lambda x, erode, dilate: dilate(x) + erode(x) - 2 * x)
)
composite(white_tophat, _morphology(lambda x, erode, dilate: x - dilate(erode(x))))
composite(black_tophat, _morphology(lambda x, erode, dilate: erode(dilate(x)) - x))

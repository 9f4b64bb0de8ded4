"""Images and volumes read at places of a grid: affine_grid and grid_sample.

Knows PyTorch's coordinates, in which the corners are -1 and 1. Must not know modules.

Elements are picked at whole places and summed with weights that depend on the grid, in NumPy; so
derivatives of any order follow. What is piecewise constant in the grid, such as where a
reflection turns, is taken from untraced values.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import getitem, untraced
from tapegrad._warning import warn
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.declare import private, register
from tapegrad.torch._rules.resampling import cubic_weights
from tapegrad.torch._tensor.tensor import Tensor

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


# --- Affine grids -------------------------------------------------------------------------------


def _coordinates(size: int, align_corners: bool, like: Value) -> Value:
    if size == 1:
        return np.zeros(1, like.dtype)
    ends = np.linspace(-1, 1, size, dtype=like.dtype)
    return ends if align_corners else ends * ((size - 1) / size)


@private("AffineGridGeneratorBackward0", name="affine_grid_generator")
def _affine_grid(theta: Value, size: Sequence[int], align_corners: bool) -> Value:
    spatial = tuple(size[2:])
    if theta.shape[0] != size[0]:
        wanted = [size[0], len(spatial) + 1]
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {wanted} but got: "
            f"[{theta.shape[0]}, {len(spatial) + 1}]."
        )
    axes = [_coordinates(side, align_corners, theta) for side in spatial]
    meshes = np.meshgrid(*axes, indexing="ij")[::-1]
    base = np.stack([*meshes, np.ones(spatial, theta.dtype)], -1).reshape(-1, len(spatial) + 1)
    made = np.matmul(base, np.swapaxes(theta, 1, 2))
    return np.reshape(made, (size[0], *spatial, len(spatial)))


register("affine_grid_generator", method=False)(_affine_grid)

_CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
    "Please specify align_corners=True if the old behavior is desired. See the documentation of "
    "grid_sample for details."
)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Any:
    """A grid of the places that an affine map takes from: (n, height, width, 2), or of volumes.

    theta: (n, 2, 3), or (n, 3, 4) for volumes. size: that of the result of `grid_sample`, (n,
    channels, height, width) or (n, channels, depth, height, width). ValueError for theta of other
    shapes or dtypes, NotImplementedError for other sizes.
    """
    if align_corners is None:
        warn(_CHANGED)
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    n = len(size) - 2
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. "
            f"Got {theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details."
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return _affine_grid(theta, size, align_corners)


# --- Places -------------------------------------------------------------------------------------


def _unnormalized(x: Value, size: int, align_corners: bool) -> Value:
    """Coordinates between -1 and 1 as positions among elements."""
    if align_corners:
        return (x + 1) * ((size - 1) / 2)
    return ((x + 1) * size - 1) / 2


def _reflected(x: Value, low: float, high: float) -> Value:
    """Positions mirrored at both ends until they lie between them; the map is piecewise affine."""
    if high == low:
        return x * 0
    width, start = (high - low) / 2, low / 2  # the ends are given doubled, as whole numbers
    apart = untraced(x) - start
    size = np.absolute(apart)
    turns = np.floor(size / width)
    odd = turns % 2 == 1
    # Within a stretch: |x - start| - turns * width, or width minus it after an odd number.
    slope = np.where(apart < 0, -1.0, 1.0) * np.where(odd, -1.0, 1.0)
    shift = np.where(odd, (turns + 1) * width, -turns * width) + start
    slope, shift = slope.astype(x.dtype), shift.astype(x.dtype)
    return (x - x.dtype.type(start)) * slope + shift


def _clipped(x: Value, size: int) -> Value:
    """Positions moved to the nearest element; beyond the ends, and at them, with derivative 0."""
    value = untraced(x)
    inside = (value > 0) & (value < size - 1)
    return np.where(inside, x, np.clip(value, 0, size - 1))


def _padded(x: Value, size: int, padding: str, align_corners: bool) -> Value:
    if padding == "border":
        return _clipped(x, size)
    if padding == "reflection":
        ends = (0, 2 * (size - 1)) if align_corners else (-1, 2 * size - 1)
        return _clipped(_reflected(x, *ends), size)
    return x


# --- Samples ------------------------------------------------------------------------------------


def _picked(x: Value, places: Sequence[Value]) -> Value:
    """Elements at whole places, 0 beyond the ends: (n, places..., channels).

    x: (n, channels, sides...). places: (n, ...) one array a side.
    """
    inside: Value = True
    index: list[Value] = []
    for place, side in zip(places, x.shape[2:], strict=True):
        inside = inside & (place >= 0) & (place < side)
        index.append(np.clip(place, 0, side - 1))
    examples = np.arange(x.shape[0]).reshape(-1, *(1,) * (len(places[0].shape) - 1))
    found = getitem(np.moveaxis(x, 1, -1), (examples, *index))
    return found * np.expand_dims(inside, -1).astype(x.dtype)


def _nearest(x: Value, where: Sequence[Value]) -> Value:
    return _picked(x, [np.rint(untraced(at)).astype(np.int64) for at in where])


def _bilinear(x: Value, where: Sequence[Value]) -> Value:
    lows = [np.floor(untraced(at)) for at in where]
    parts = [at - low for at, low in zip(where, lows, strict=True)]
    weights = [(1 - part, part) for part in parts]
    total: Value = 0
    for corner in itertools.product((0, 1), repeat=len(where)):
        weight: Value = 1
        for pair, end in zip(weights, corner, strict=True):
            weight = weight * pair[end]
        places = [low.astype(np.int64) + end for low, end in zip(lows, corner, strict=True)]
        total = total + _picked(x, places) * np.expand_dims(weight, -1)
    return total


def _bicubic(x: Value, where: Sequence[Value], padding: str, align_corners: bool) -> Value:
    lows = [np.floor(untraced(at)) for at in where]
    weights = [cubic_weights(at - low) for at, low in zip(where, lows, strict=True)]
    total: Value = 0
    for row, column in itertools.product(range(4), repeat=2):
        places = []
        for low, offset, side in zip(lows, (row, column), x.shape[2:], strict=True):
            place = _padded(low + (offset - 1), side, padding, align_corners)
            places.append(place.astype(np.int64))
        weight = weights[0][row] * weights[1][column]
        total = total + _picked(x, places) * np.expand_dims(weight, -1)
    return total


@private(lambda input, *_: f"GridSampler{input.ndim - 2}DBackward0", name="grid_sampler")
def _grid_sample(
    input: Value, grid: Value, mode: str, padding_mode: str, align_corners: bool
) -> Value:
    _check_grid(input, grid, mode)
    sides = input.shape[2:]
    where = [
        _unnormalized(grid[..., len(sides) - 1 - place], side, align_corners)
        for place, side in enumerate(sides)
    ]
    if mode == "bicubic":
        made = _bicubic(input, where, padding_mode, align_corners)
    else:
        where = [
            _padded(at, side, padding_mode, align_corners)
            for at, side in zip(where, sides, strict=True)
        ]
        made = (_bilinear if mode == "bilinear" else _nearest)(input, where)
    return np.moveaxis(made, -1, 1)


def _check_grid(x: Value, grid: Value, mode: str) -> None:
    spatial = len(x.shape) - 2
    if x.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {list(x.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != spatial:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {spatial} in last dimension, but got "
            f"grid with sizes {list(grid.shape)}"
        )
    for place in range(2, len(x.shape)):
        if x.shape[place] <= 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(x.shape)} with dimension {place} being empty"
            )
    if spatial not in (2, 3) or len(grid.shape) != len(x.shape):
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            f"got input with sizes {list(x.shape)} and grid with sizes {list(grid.shape)}"
        )
    if spatial == 3 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if x.dtype != grid.dtype:
        raise RuntimeError(
            f"expected scalar type {word_of(x.dtype)} but found {word_of(grid.dtype)}"
        )


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:
    """Images, or volumes, read at the places of a grid.

    input: (n, channels, height, width); grid: (n, rows, columns, 2) with x and y, which are -1 and
    1 at the corners. Returns (n, channels, rows, columns). Volumes have a depth before the height,
    and z after x and y. mode: "bilinear" (of volumes too), "nearest" or "bicubic". padding_mode:
    what lies beyond the border, "zeros", "border" or "reflection". align_corners: -1 and 1 are the
    centres of the outermost elements, not their outer edges. ValueError for other words.
    """
    if mode not in _MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warn(_CHANGED)
        align_corners = False
    return _grid_sample(input, grid, mode, padding_mode, align_corners)


@register("grid_sampler", "grid_sampler_2d", "grid_sampler_3d", method=False)
def _grid_sampler(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Any:
    """`nn.functional.grid_sample` with numbers for the mode and the padding, as listed there."""
    return _grid_sample(
        input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners
    )

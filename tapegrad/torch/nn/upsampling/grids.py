"""Images and volumes read at places of a grid: affine_grid and grid_sample.

Knows PyTorch's parameters and checks. Must not know where samples are taken from
(`_rules.sampling`), or modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._warning import warn
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.declare import private, register
from tapegrad.torch._rules.sampling import sampled
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
    """A grid of the places that an affine map takes from, without checks of the map.

    theta: The maps, (n, 2, 3), or of volumes (n, 3, 4).
    size (sequence of int): The size of the result of `grid_sampler`.
    align_corners: Whether -1 and 1 are the centres of the outermost elements, not their outer
        edges.
    -> Tensor: Places: of shape (n, height, width, 2), or (n, depth, height, width, 3).
    RuntimeError: For another number of maps.
    See also tapegrad.torch.nn.functional.affine_grid: The same with checks.

    >>> torch.affine_grid_generator(torch.eye(2, 3).unsqueeze(0), (1, 1, 1, 2), False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
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
    """A grid of the places that an affine map takes from, for `grid_sample`.

    theta: The maps of (x, y, 1), of shape (n, 2, 3), or of volumes, (n, 3, 4); floating-point
        numbers.
    size (sequence of int): The size of the result of `grid_sample`: (n, channels, height, width)
        or, of volumes, (n, channels, depth, height, width).
    align_corners: Whether -1 and 1 are the centres of the outermost elements, not their outer
        edges. It warns, and is False, unless given.
    -> Tensor: Places: of shape (n, height, width, 2), or (n, depth, height, width, 3).
    ValueError: For `theta` of other shapes or dtypes, and sizes of 0.
    NotImplementedError: For a `size` of another length.

    >>> shifted = torch.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]])
    >>> F.affine_grid(shifted, (1, 1, 1, 2), align_corners=False)
    tensor([[[[0., 0.],
              [1., 0.]]]])
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


# --- Samples ------------------------------------------------------------------------------------


@private(
    lambda input, *_: f"GridSampler{input.ndim - 2}DBackward0",
    name="grid_sampler",
    order="contiguous",
)
def _grid_sample(
    input: Value, grid: Value, mode: str, padding_mode: str, align_corners: bool
) -> Value:
    _check_grid(input, grid, mode)
    return sampled(input, grid, mode, padding_mode, align_corners)


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

    input: Images, (n, channels, height, width), or volumes, (n, channels, depth, height, width).
    grid: Of shape (n, rows, columns, 2), with x and y, which are -1 and 1 at the corners; of
        volumes (n, slices, rows, columns, 3), with x, y and z. Of the dtype of `input`.
    mode ({"bilinear", "nearest", "bicubic"}): How elements are joined; "bilinear" of volumes too,
        "bicubic" of images alone.
    padding_mode ({"zeros", "border", "reflection"}): What lies beyond the border.
    align_corners: Whether -1 and 1 are the centres of the outermost elements, not their outer
        edges. It warns, and is False, unless given.
    -> Tensor: Of shape (n, channels, rows, columns), of volumes (n, channels, slices, rows,
        columns).
    ValueError: For other words.
    RuntimeError: For shapes and dtypes that do not fit.

    >>> middle = torch.zeros(1, 1, 1, 2)
    >>> F.grid_sample(torch.arange(4.0).reshape(1, 1, 2, 2), middle, align_corners=False)
    tensor([[[[1.5000]]]])
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
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    """As `nn.functional.grid_sample`, with numbers for the mode and the padding.

    input: Images, (n, channels, height, width), or volumes, (n, channels, depth, height, width).
    grid: Places, (n, rows, columns, 2), or of volumes (n, slices, rows, columns, 3).
    interpolation_mode: The place in "bilinear", "nearest", "bicubic".
    padding_mode: The place in "zeros", "border", "reflection".
    align_corners: Whether -1 and 1 are the centres of the outermost elements, not their outer
        edges.
    -> Tensor: Of shape (n, channels, rows, columns), of volumes (n, channels, slices, rows,
        columns).
    RuntimeError: For shapes and dtypes that do not fit.

    >>> middle = torch.zeros(1, 1, 1, 2)
    >>> torch.grid_sampler(torch.arange(4.0).reshape(1, 1, 2, 2), middle, 0, 0, False)
    tensor([[[[1.5000]]]])
    """
    return _grid_sample(
        input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners
    )


__all__ = ["affine_grid", "grid_sample"]

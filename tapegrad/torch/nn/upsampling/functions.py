"""Images, lines and volumes in another size: interpolate and its older names.

Knows PyTorch's parameters, checks and errors. Must not know where elements are taken from
(`_rules.resampling`), or modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._warning import warn
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.declare import private
from tapegrad.torch._rules import resampling
from tapegrad.torch._rules.resampling import Scaling, Taps
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.memory_format import keeps_channels_last

Lengths = Any  # an int, one a dimension, or None
Factors = Any  # a float, one a dimension, or None
# The words that any of 1, 2, 3 spatial dimensions may have, and the one for each of the others.
_ANY = ("nearest", "nearest-exact", "area")
_DIMENSIONS = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2, "lanczos": 2}
_WORDS = {
    "nearest": "UpsampleNearest",
    "nearest-exact": "UpsampleNearestExact",
    "linear": "UpsampleLinear",
    "bilinear": "UpsampleBilinear",
    "trilinear": "UpsampleTrilinear",
    "bicubic": "UpsampleBicubic",
    "lanczos": "UpsampleLanczos",
}


def _label(_input: Tensor, sizes: Sequence[int], _factors: Any, mode: str, *rest: bool) -> str:
    if mode == "area":
        if len(sizes) == 1:
            return "SqueezeBackward1"
        if all(size == 1 for size in sizes):
            return "MeanBackward1"
        return f"AdaptiveAvgPool{len(sizes)}DBackward0"
    return f"{_WORDS[mode]}{len(sizes)}D{'Aa' if rest[-1] else ''}Backward0"


@private(_label, name="interpolate")
def _interpolate(
    input: Value,
    sizes: Sequence[int],
    factors: Sequence[float] | None,
    mode: str,
    align_corners: bool,
    antialias: bool,
) -> Value:
    spatial = input.shape[2:]
    if mode != "area":
        _check_sizes(input.shape, sizes)
    if input.dtype.kind not in "fc" and (mode not in _ANY[:2] or input.dtype != np.uint8):
        word = "nearest" if mode in _ANY[:2] else "linear"
        raise NotImplementedError(
            f"\"compute_indices_weights_{word}\" not implemented for '{word_of(input.dtype)}'"
        )
    kind = np.float64 if input.dtype.itemsize == 8 else np.float32
    ways = [
        Scaling(size, count, factor, align_corners)
        for size, count, factor in zip(
            spatial, sizes, factors or (None,) * len(sizes), strict=True
        )
    ]
    return resampling.resampled(
        input, tables=tuple(_taps(way, mode, antialias, kind, len(sizes) == 2) for way in ways)
    )


def _taps(way: Scaling, mode: str, antialias: bool, kind: Any, images: bool) -> Taps:
    if antialias:
        return resampling.filtered(way, mode)
    if mode == "nearest":
        return resampling.nearest(way, kind, images)
    if mode == "nearest-exact":
        return resampling.nearest_exact(way, kind)
    if mode == "area":
        return resampling.area(way)
    return resampling.cubic(way) if mode == "bicubic" else resampling.linear(way)


def _check_sizes(shape: Sequence[int], sizes: Sequence[int]) -> None:
    spatial = shape[2:]
    if min(*spatial, *sizes) <= 0:
        names = "DHW"[-len(sizes) :]
        given = ", ".join(f"{name}: {side}" for name, side in zip(names, spatial, strict=True))
        wanted = ", ".join(f"{name}: {side}" for name, side in zip(names, sizes, strict=True))
        between = " and output " if len(sizes) == 1 else " output "
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"({given}){between}({wanted})"
        )
    if not shape[1]:
        raise RuntimeError(
            f"Non-empty {len(shape)}D data tensor expected but got a tensor with sizes "
            f"{list(shape)}"
        )


@keeps_channels_last
def interpolate(
    input: Tensor,
    size: Lengths = None,
    scale_factor: Factors = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """The spatial dimensions of a tensor in another size.

    mode: How elements are joined: "nearest", "nearest-exact" or "area"; of lines "linear", of
        images "bilinear", "bicubic" or (with `antialias`) "lanczos", of volumes "trilinear".
    antialias: Let all elements of images that are made smaller count.
    ValueError: For parameters that contradict each other.
    NotImplementedError: For a mode that the dimensions do not have, and for most integers.

    >>> F.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    >>> F.interpolate(torch.tensor([[[1.0, 2.0]]]), size=4, mode="linear")
    tensor([[[1.0000, 1.2500, 1.7500, 2.0000]]])
    """
    if mode in _ANY and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    sizes, factors = _sizes(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if recompute_scale_factor or mode == "area":
        factors = None
    if antialias and not (mode in resampling.FILTERS and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )
    _check_mode(input.ndim, mode)
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    return _interpolate(input, sizes, factors, mode, bool(align_corners), antialias)


def _sizes(
    input: Tensor, size: Lengths, scale_factor: Factors
) -> tuple[list[int], list[float] | None]:
    """The sizes of the result, and the factors where they are given."""
    spatial = list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if not isinstance(size, (list, tuple)):
            return [int(size)] * len(spatial), None
        if len(size) != len(spatial):
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input "
                f"with spatial dimensions of {spatial} and output size of {size}. Please provide "
                "input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, "
                "...,oK) format."
            )
        if not all(isinstance(part, (int, np.integer)) for part in size):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, "
                f"int, int], but got size with types {[type(part) for part in size]}"
            )
        return [int(part) for part in size], None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(scale_factor, (list, tuple)):
        if len(scale_factor) != len(spatial):
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got "
                f"input with spatial dimensions of {spatial} and scale_factor of shape "
                f"{scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format "
                "and scale_factor in (s1, s2, ...,sK) format."
            )
        factors = [float(part) for part in scale_factor]
    else:
        factors = [float(scale_factor)] * len(spatial)
    return [int(side * factor) for side, factor in zip(spatial, factors, strict=True)], factors


def _check_mode(ndim: int, mode: str) -> None:
    spatial = ndim - 2
    if spatial in (1, 2, 3):
        wanted = _DIMENSIONS.get(mode, 0)
        if mode in _ANY or wanted == spatial:
            return
        if mode in ("linear", "bilinear", "trilinear"):
            raise NotImplementedError(
                f"Got {ndim}D input, but {mode} mode needs {wanted + 2}D input"
            )
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: "
        "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got "
        f"{mode})"
    )


# --- Older names --------------------------------------------------------------------------------


def _warn_of(name: str) -> None:
    warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")


def upsample(
    input: Tensor,
    size: Lengths = None,
    scale_factor: Factors = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    """The older name of `interpolate`, with a warning.

    mode: How elements are joined: "nearest", "nearest-exact" or "area"; of lines "linear", of
        images "bilinear", "bicubic" or (with `antialias`) "lanczos", of volumes "trilinear".
    See also tapegrad.torch.nn.functional.interpolate: The same under its present name.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     F.upsample(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    _warn_of("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Lengths = None, scale_factor: Factors = None) -> Any:
    """As `interpolate` with the nearest element, with a warning.

    See also tapegrad.torch.nn.functional.interpolate: The same under its present name.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     F.upsample_nearest(torch.tensor([[[1.0, 2.0]]]), size=4)
    tensor([[[1., 1., 2., 2.]]])
    """
    _warn_of("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Lengths = None, scale_factor: Factors = None) -> Any:
    """Bilinear `interpolate` with aligned corners, with a warning.

    input: Images, (n, channels, height, width).
    See also tapegrad.torch.nn.functional.interpolate: The same under its present name.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     F.upsample_bilinear(torch.tensor([[[[1.0, 2.0]]]]), size=(1, 3))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """
    _warn_of("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

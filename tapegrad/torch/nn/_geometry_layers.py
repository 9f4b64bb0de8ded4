"""Modules that move, resize and compare: shuffles, Upsample, Unflatten, Bilinear, distances.

Knows `Module` and the functions of `nn.functional`. Must not know how these are computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.torch._dtypes import as_numpy, default_float, device, dtype, require_cpu
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.nn import functional, init
from tapegrad.torch.nn._module import Module
from tapegrad.torch.nn._parameter import Parameter

# --- Moved --------------------------------------------------------------------------------------


class PixelShuffle(Module):
    """Groups of r * r channels become pixels.

    Parameters
    ----------
    upscale_factor : int
        The factor r.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.PixelShuffle(2)(torch.ones(4, 2, 2)).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return functional.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Pixels become groups of r * r channels.

    Parameters
    ----------
    downscale_factor : int
        The factor r.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.PixelUnshuffle(2)(torch.ones(1, 4, 4)).shape
    torch.Size([4, 2, 2])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return functional.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Channels of all groups alternate.

    Parameters
    ----------
    groups : int
        Into how many groups the channels are split.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.ChannelShuffle(2)(torch.arange(4).reshape(1, 4, 1)).flatten()
    tensor([0, 2, 1, 3])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return functional.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class Unflatten(Module):
    """One dimension as several.

    Parameters
    ----------
    dim : int
        The dimension.
    unflattened_size : tuple or list of int
        The sizes.

    Raises
    ------
    TypeError
        For anything else than ints in a tuple or a list.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.Unflatten(1, (2, 3))(torch.ones(4, 6)).shape
    torch.Size([4, 2, 3])
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                "unflattened_size must be a tuple of ints, but found type "
                f"{type(unflattened_size).__name__}"
            )
        for place, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {place}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


# --- Resized ------------------------------------------------------------------------------------


class Upsample(Module):
    """Lines, images and volumes in another size.

    Parameters
    ----------
    size : int or tuple of int, optional
        The size of the result, one number or one for each spatial dimension.
    scale_factor : float or tuple of float, optional
        In place of `size`: what the present one is multiplied by.
    mode : str, default "nearest"
        How elements are joined: see `nn.functional.interpolate`.
    align_corners : bool, optional
        Let the corners stay where they are, in the modes that are no neighbours or means.
    recompute_scale_factor : bool, optional
        Place elements by the size that results, not by the factor given.

    See Also
    --------
    tapegrad.torch.nn.functional.interpolate : The same as a function.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name: str = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return functional.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        given = (
            f"scale_factor={self.scale_factor!r}"
            if self.scale_factor is not None
            else f"size={self.size!r}"
        )
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """As `Upsample` of images, by the nearest elements.

    Parameters
    ----------
    size : int or tuple of int, optional
        The size of the result, one number or one for each spatial dimension.
    scale_factor : float or tuple of float, optional
        In place of `size`: what the present one is multiplied by.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.UpsamplingNearest2d(size=(1, 4))(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1., 1., 2., 2.]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Bilinear `Upsample` of images, with aligned corners.

    Parameters
    ----------
    size : int or tuple of int, optional
        The size of the result, one number or one for each spatial dimension.
    scale_factor : float or tuple of float, optional
        In place of `size`: what the present one is multiplied by.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.UpsamplingBilinear2d(size=(1, 3))(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


# --- Compared and multiplied --------------------------------------------------------------------


class PairwiseDistance(Module):
    """The norms of differences along the last dimension.

    Parameters
    ----------
    p : float, default 2.0
        The power of the norm.
    eps : float, default 1e-06
        Added to each difference, so that the norm has a derivative.
    keepdim : bool, default False
        Let the last dimension stay, with the size 1.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.PairwiseDistance()(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class Bilinear(Module):
    """Products `input1 @ weight[k] @ input2` for every k, plus a bias.

    The weight is (out_features, in1_features, in2_features). It and the bias are drawn uniformly
    between -k and k, where k = 1 / sqrt(in1_features).

    Parameters
    ----------
    in1_features : int
        The size of the last dimension of first inputs, above 0.
    in2_features : int
        The size of the last dimension of second inputs.
    out_features : int
        The size of the last dimension of outputs.
    bias : bool, default True
        Whether there is a bias.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.

    Raises
    ------
    ValueError
        For no first features.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 3)).shape
    torch.Size([5, 4])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        require_cpu(device)
        given = default_float() if dtype is None else as_numpy(dtype)
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight: Parameter = Parameter(of_value(np.empty(shape, given)))
        if bias:
            self.bias: Parameter = Parameter(of_value(np.empty(out_features, given)))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        if self.in1_features <= 0:
            raise ValueError(
                f"in1_features must be > 0, but got (in1_features={self.in1_features})"
            )
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )

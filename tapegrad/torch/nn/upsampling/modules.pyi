"""The layers of `tapegrad.torch.nn.upsampling`.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

from builtins import bool as _bool, bytes as _bytes, complex as _complex, float as _float
from builtins import int as _int, str as _str, type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Literal, NamedTuple, NoReturn, Self, TypeAlias, overload
import os

import numpy as np

from tapegrad.torch import return_types
from tapegrad.torch._dtypes import Size
from tapegrad.torch._dtypes import device as _device, dtype as _dtype
from tapegrad.torch._ops.create.generator import Generator
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.parameter import Parameter

# A number of Python, what stands for a tensor beside one, and integers one a dimension.
_Number: TypeAlias = _int | _float | _bool | _complex
_Operand: TypeAlias = Tensor | _Number | np.ndarray[Any, Any] | np.generic
_Sizes: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int


class PixelShuffle(Module):
    """Groups of r * r channels become pixels."""

    upscale_factor: _int
    def __init__(self, upscale_factor: _int) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class PixelUnshuffle(Module):
    """Pixels become groups of r * r channels."""

    downscale_factor: _int
    def __init__(self, downscale_factor: _int) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class ChannelShuffle(Module):
    """Channels of all groups alternate."""

    groups: _int
    def __init__(self, groups: _int) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Upsample(Module):
    """Lines, images and volumes in another size."""

    size: Any
    scale_factor: Any
    mode: _str
    align_corners: _bool | None
    recompute_scale_factor: _bool | None
    def extra_repr(self) -> _str: ...
    def __init__(
        self,
        size: _Sizes | None = None,
        scale_factor: _float | Sequence[_float] | None = None,
        mode: _str = 'nearest',
        align_corners: _bool | None = None,
        recompute_scale_factor: _bool | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class UpsamplingNearest2d(Upsample):
    """As `Upsample` of images, by the nearest elements."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None: ...

class UpsamplingBilinear2d(Upsample):
    """Bilinear `Upsample` of images, with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None: ...

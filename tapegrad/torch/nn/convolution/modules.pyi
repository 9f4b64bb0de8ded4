"""The layers of `tapegrad.torch.nn.convolution`.

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
from tapegrad.torch.nn.module.lazy import LazyModuleMixin
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.parameter import Parameter

# A number of Python, what stands for a tensor beside one, and integers one a dimension.
_Number: TypeAlias = _int | _float | _bool | _complex
_Operand: TypeAlias = Tensor | _Number | np.ndarray[Any, Any] | np.generic
_Sizes: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int


class _ConvNd(Module):
    in_channels: _int
    out_channels: _int
    kernel_size: tuple[_int, ...]
    stride: tuple[_int, ...]
    padding: tuple[_int, ...] | _str
    dilation: tuple[_int, ...]
    transposed: _bool
    output_padding: tuple[_int, ...]
    groups: _int
    padding_mode: _str
    _dims: _int
    _function: Callable[..., Any]
    weight: Parameter
    bias: Tensor | None
    def __init__(
        self,
        in_channels: _int,
        out_channels: _int,
        kernel_size: tuple[_int, ...],
        stride: tuple[_int, ...],
        padding: tuple[_int, ...] | _str,
        dilation: tuple[_int, ...],
        transposed: _bool,
        output_padding: tuple[_int, ...],
        groups: _int,
        bias: _bool,
        padding_mode: _str,
        device: _Device | None = None,
        dtype: _dtype | None = None,
    ) -> None: ...
    def reset_parameters(self) -> None: ...

class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: _int,
        out_channels: _int,
        kernel_size: _Sizes,
        stride: _Sizes = 1,
        padding: _Sizes | _str = 0,
        dilation: _Sizes = 1,
        groups: _int = 1,
        bias: _bool = True,
        padding_mode: _str = 'zeros',
        device: _Device | None = None,
        dtype: _dtype | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Conv1d(_Conv):
    """Convolution of signals, (n, channels, length) or (channels, length)."""

class Conv2d(_Conv):
    """Convolution of images, (n, channels, height, width) or (channels, height, width)."""

class Conv3d(_Conv):
    """Convolution of volumes, (n, channels, depth, height, width) or without n."""

class _ConvTransposeNd(_ConvNd):
    padding: tuple[_int, ...]
    def __init__(
        self,
        in_channels: _int,
        out_channels: _int,
        kernel_size: _Sizes,
        stride: _Sizes = 1,
        padding: _Sizes | _str = 0,
        output_padding: _Sizes = 0,
        groups: _int = 1,
        bias: _bool = True,
        dilation: _Sizes = 1,
        padding_mode: _str = 'zeros',
        device: _Device | None = None,
        dtype: _dtype | None = None,
    ) -> None: ...
    def forward(self, input: Tensor, output_size: Sequence[_int] | None = None) -> Tensor: ...

class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution of signals, (n, channels, length) or (channels, length)."""

class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of images, (n, channels, height, width) or without n."""

class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution of volumes, (n, channels, depth, height, width) or without n."""

class Unfold(Module):
    """Windows of images as columns."""

    kernel_size: _Sizes
    dilation: _Sizes
    padding: _Sizes
    stride: _Sizes
    def __init__(
        self,
        kernel_size: _Sizes,
        dilation: _Sizes = 1,
        padding: _Sizes | _str = 0,
        stride: _Sizes = 1,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Fold(Module):
    """Images of the sums of windows given as columns."""

    output_size: _Sizes
    kernel_size: _Sizes
    dilation: _Sizes
    padding: _Sizes
    stride: _Sizes
    def __init__(
        self,
        output_size: _Sizes,
        kernel_size: _Sizes,
        dilation: _Sizes = 1,
        padding: _Sizes | _str = 0,
        stride: _Sizes = 1,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class _Lazy(LazyModuleMixin):
    def reset_parameters(self) -> None: ...
    def initialize_parameters(self, input: Tensor, *_: Any, **__: Any) -> None: ...

class _LazyConv(_Lazy):
    def __init__(
        self,
        out_channels: _int,
        kernel_size: _Sizes,
        stride: _Sizes = 1,
        padding: _Sizes | _str = 0,
        dilation: _Sizes = 1,
        groups: _int = 1,
        bias: _bool = True,
        padding_mode: _str = 'zeros',
        device: _Device | None = None,
        dtype: _dtype | None = None,
    ) -> None: ...

class _LazyConvTranspose(_Lazy):
    def __init__(
        self,
        out_channels: _int,
        kernel_size: _Sizes,
        stride: _Sizes = 1,
        padding: _Sizes | _str = 0,
        output_padding: _Sizes = 0,
        groups: _int = 1,
        bias: _bool = True,
        dilation: _Sizes = 1,
        padding_mode: _str = 'zeros',
        device: _Device | None = None,
        dtype: _dtype | None = None,
    ) -> None: ...

class LazyConv1d(_LazyConv, Conv1d):
    """As `Conv1d`, with the in_channels of its first input."""

class LazyConv2d(_LazyConv, Conv2d):
    """As `Conv2d`, with the in_channels of its first input."""

class LazyConv3d(_LazyConv, Conv3d):
    """As `Conv3d`, with the in_channels of its first input."""

class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """As `ConvTranspose1d`, with the in_channels of its first input."""

class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """As `ConvTranspose2d`, with the in_channels of its first input."""

class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """As `ConvTranspose3d`, with the in_channels of its first input."""

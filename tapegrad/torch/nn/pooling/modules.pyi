"""The layers of `tapegrad.torch.nn.pooling`.

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


class _Windows(Module):
    _dims: _int
    kernel_size: _Sizes
    stride: _Sizes
    padding: _Sizes

class _MaxPool(_Windows):
    ...

class MaxPool1d(_MaxPool):
    """Maxima over windows of signals, (n, channels, length) or (channels, length)."""

    dilation: _Sizes
    return_indices: _bool
    ceil_mode: _bool
    def __init__(
        self,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        padding: _Sizes | _str = 0,
        dilation: _Sizes = 1,
        return_indices: _bool = False,
        ceil_mode: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class MaxPool2d(_MaxPool):
    """Maxima over windows of images, (n, channels, height, width) or (channels, height, width)."""

    dilation: _Sizes
    return_indices: _bool
    ceil_mode: _bool
    def __init__(
        self,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        padding: _Sizes | _str = 0,
        dilation: _Sizes = 1,
        return_indices: _bool = False,
        ceil_mode: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class MaxPool3d(_MaxPool):
    """Maxima over windows of volumes, (n, channels, depth, height, width) or without n."""

    dilation: _Sizes
    return_indices: _bool
    ceil_mode: _bool
    def __init__(
        self,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        padding: _Sizes | _str = 0,
        dilation: _Sizes = 1,
        return_indices: _bool = False,
        ceil_mode: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class _MaxUnpool(_Windows):
    ...

class MaxUnpool1d(_MaxUnpool):
    """Zeros but for the maxima that `MaxPool1d` found, which stand where they were."""

    def __init__(
        self, kernel_size: _Sizes, stride: _Sizes | None = None, padding: _Sizes | _str = 0
    ) -> None: ...
    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[_int] | None = None
    ) -> Tensor: ...

class MaxUnpool2d(_MaxUnpool):
    """Zeros but for the maxima that `MaxPool2d` found, which stand where they were."""

    def __init__(
        self, kernel_size: _Sizes, stride: _Sizes | None = None, padding: _Sizes | _str = 0
    ) -> None: ...
    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[_int] | None = None
    ) -> Tensor: ...

class MaxUnpool3d(_MaxUnpool):
    """Zeros but for the maxima that `MaxPool3d` found, which stand where they were."""

    def __init__(
        self, kernel_size: _Sizes, stride: _Sizes | None = None, padding: _Sizes | _str = 0
    ) -> None: ...
    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[_int] | None = None
    ) -> Tensor: ...

class _FractionalMaxPool(Module):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima over windows of images drawn at random, which are not implemented."""

class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima over windows of volumes drawn at random, which are not implemented."""

class _AvgPool(_Windows):
    ...

class AvgPool1d(_AvgPool):
    """Means over windows of signals, (n, channels, length) or (channels, length)."""

    ceil_mode: _bool
    count_include_pad: _bool
    def __init__(
        self,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        padding: _Sizes | _str = 0,
        ceil_mode: _bool = False,
        count_include_pad: _bool = True,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class AvgPool2d(_AvgPool):
    """Means over windows of images, (n, channels, height, width) or (channels, height, width)."""

    ceil_mode: _bool
    count_include_pad: _bool
    divisor_override: _int | None
    def __init__(
        self,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        padding: _Sizes | _str = 0,
        ceil_mode: _bool = False,
        count_include_pad: _bool = True,
        divisor_override: _int | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class AvgPool3d(_AvgPool):
    """Means over windows of volumes, (n, channels, depth, height, width) or without n."""

    ceil_mode: _bool
    count_include_pad: _bool
    divisor_override: _int | None
    def __init__(
        self,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        padding: _Sizes | _str = 0,
        ceil_mode: _bool = False,
        count_include_pad: _bool = True,
        divisor_override: _int | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class _LPPool(Module):
    _dims: _int
    norm_type: _float
    kernel_size: _Sizes
    stride: _Sizes
    ceil_mode: _bool
    def forward(self, input: Tensor) -> Tensor: ...

class LPPool1d(_LPPool):
    """Norms of windows of signals: the sums of x**p to the power 1 / p."""

    def __init__(
        self,
        norm_type: _float,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        ceil_mode: _bool = False,
    ) -> None: ...

class LPPool2d(_LPPool):
    """Norms of windows of images: the sums of x**p to the power 1 / p."""

    def __init__(
        self,
        norm_type: _float,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        ceil_mode: _bool = False,
    ) -> None: ...

class LPPool3d(_LPPool):
    """Norms of windows of volumes: the sums of x**p to the power 1 / p."""

    def __init__(
        self,
        norm_type: _float,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        ceil_mode: _bool = False,
    ) -> None: ...

class _AdaptiveAvgPool(Module):
    ...

class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means over as many windows of signals as wanted."""

    output_size: _Sizes
    def __init__(self, output_size: _Sizes) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means over as many windows of images as wanted."""

    output_size: _Sizes
    def __init__(self, output_size: _Sizes) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means over as many windows of volumes as wanted."""

    output_size: _Sizes
    def __init__(self, output_size: _Sizes) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class _AdaptiveMaxPool(Module):
    ...

class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima over as many windows of signals as wanted."""

    output_size: _Sizes
    return_indices: _bool
    def __init__(self, output_size: _Sizes, return_indices: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maxima over as many windows of images as wanted."""

    output_size: _Sizes
    return_indices: _bool
    def __init__(self, output_size: _Sizes, return_indices: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maxima over as many windows of volumes as wanted."""

    output_size: _Sizes
    return_indices: _bool
    def __init__(self, output_size: _Sizes, return_indices: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

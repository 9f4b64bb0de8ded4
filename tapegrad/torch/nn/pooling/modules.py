"""Poolings as modules.

Knows `Module` and the functions. Must not know how these are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._core.types import Function
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import Sizes
from tapegrad.torch.nn.dimensions import repeated
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.pooling import functions as _pooling
from tapegrad.torch.nn.pooling import maxima as _max_pooling

# --- Maxima -------------------------------------------------------------------------------------


class _MaxPool(Module):
    """Maxima over windows of {inputs}, {shape}."""

    _in_repr = "kernel_size stride padding dilation ceil_mode"
    _pool: Function

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride: Sizes = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return self._pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool1d(_MaxPool):
    _pool = staticmethod(_max_pooling.max_pool1d)


class MaxPool2d(_MaxPool):
    _pool = staticmethod(_max_pooling.max_pool2d)


class MaxPool3d(_MaxPool):
    _pool = staticmethod(_max_pooling.max_pool3d)


class _MaxUnpool(Module):
    """Zeros but for the maxima that `MaxPool{nd}` found, which stand where they were.

    padding (int or tuple of int): The padding of the pooling.
    """

    _in_repr = "kernel_size stride padding"
    _dims: int
    _unpool: Function

    def __init__(self, kernel_size: Sizes, stride: Sizes = None, padding: Sizes = 0) -> None:
        super().__init__()
        self.kernel_size: tuple[int, ...] = repeated(kernel_size, self._dims)
        self.stride: tuple[int, ...] = repeated(
            kernel_size if stride is None else stride, self._dims
        )
        self.padding: tuple[int, ...] = repeated(padding, self._dims)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return self._unpool(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool1d(_MaxUnpool):
    _dims = 1
    _unpool = staticmethod(_max_pooling.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    _dims = 2
    _unpool = staticmethod(_max_pooling.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    _dims = 3
    _unpool = staticmethod(_max_pooling.max_unpool3d)


class _Fractional(Module):
    """Maxima over windows drawn at random, which are not implemented.

    *args: Those of PyTorch's class.
    **kwargs: Those of PyTorch's class.
    NotImplementedError: Always: its windows are drawn by a generator that NumPy has not.

    >>> try:
    ...     torch.nn.FractionalMaxPool{nd}(2, output_size=1)
    ... except NotImplementedError:
    ...     print("not implemented")
    not implemented
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        _max_pooling.refuse_fractional(type(self).__name__)


class FractionalMaxPool2d(_Fractional):
    """Maxima over windows of images drawn at random, which are not implemented."""


class FractionalMaxPool3d(_Fractional):
    """Maxima over windows of volumes drawn at random, which are not implemented."""


# --- Averages -----------------------------------------------------------------------------------


class _AvgPool(Module):
    """Means over windows of {inputs}, {shape}.

    padding (int or tuple of int): How many zeros are put before and after each axis, at most half
        of a window.
    """

    _in_repr = "kernel_size stride padding"


class AvgPool1d(_AvgPool):
    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size: tuple[int, ...] = repeated(kernel_size, 1)
        self.stride: tuple[int, ...] = repeated(kernel_size if stride is None else stride, 1)
        self.padding: tuple[int, ...] = repeated(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return _pooling.avg_pool1d(
            *(input, self.kernel_size, self.stride, self.padding),
            *(self.ceil_mode, self.count_include_pad),
        )


class _AvgPoolNd(_AvgPool):
    _pool: Function

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride: Sizes = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(
            *(input, self.kernel_size, self.stride, self.padding),
            *(self.ceil_mode, self.count_include_pad, self.divisor_override),
        )


class AvgPool2d(_AvgPoolNd):
    _pool = staticmethod(_pooling.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    _pool = staticmethod(_pooling.avg_pool3d)


class _LPPool(Module):
    """Norms of windows of {inputs}: the sums of x**p to the power 1 / p.

    norm_type: The power p of the norm. It is not infinity.
    """

    _in_repr = "norm_type kernel_size stride ceil_mode"
    _pool: Function

    def __init__(
        self, norm_type: float, kernel_size: Sizes, stride: Sizes = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool1d(_LPPool):
    _pool = staticmethod(_pooling.lp_pool1d)


class LPPool2d(_LPPool):
    _pool = staticmethod(_pooling.lp_pool2d)


class LPPool3d(_LPPool):
    _pool = staticmethod(_pooling.lp_pool3d)


# --- Adaptive windows ---------------------------------------------------------------------------


class _AdaptiveAvgPool(Module):
    """Means over as many windows of {inputs} as wanted."""

    _in_repr = "output_size"
    _pool: Function

    def __init__(self, output_size: Sizes) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means over as many windows of signals as wanted.

    output_size (int): The length of the result.
    """

    _pool = staticmethod(_pooling.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    _pool = staticmethod(_pooling.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    _pool = staticmethod(_pooling.adaptive_avg_pool3d)


class _AdaptiveMaxPool(Module):
    """Maxima over as many windows of {inputs} as wanted."""

    _in_repr = "output_size"
    _pool: Function

    def __init__(self, output_size: Sizes, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return self._pool(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima over as many windows of signals as wanted.

    output_size (int): The length of the result.
    """

    _pool = staticmethod(_max_pooling.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    _pool = staticmethod(_max_pooling.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    _pool = staticmethod(_max_pooling.adaptive_max_pool3d)


__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]

"""Poolings as modules.

Knows `Module` and the functions. Must not know how these are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._core.types import Function
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import Sizes
from tapegrad.torch.nn import _max_pooling, _pooling
from tapegrad.torch.nn._module import Module

# --- Maxima -------------------------------------------------------------------------------------


class _MaxPool(Module):
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
        self.stride = kernel_size if stride is None else stride
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

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """Maxima over windows of signals (n, channels, length): `nn.functional.max_pool1d`."""

    _pool = staticmethod(_max_pooling.max_pool1d)


class MaxPool2d(_MaxPool):
    """Maxima over windows of images: `nn.functional.max_pool2d`.

    >>> import tapegrad.torch as torch
    >>> torch.nn.MaxPool2d(2)
    MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
    """

    _pool = staticmethod(_max_pooling.max_pool2d)


class MaxPool3d(_MaxPool):
    """Maxima over windows of volumes: `nn.functional.max_pool3d`."""

    _pool = staticmethod(_max_pooling.max_pool3d)


class _MaxUnpool(Module):
    _dims: int
    _unpool: Function

    def __init__(self, kernel_size: Sizes, stride: Sizes = None, padding: Sizes = 0) -> None:
        super().__init__()
        self.kernel_size = _repeated(kernel_size, self._dims)
        self.stride = _repeated(kernel_size if stride is None else stride, self._dims)
        self.padding = _repeated(padding, self._dims)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return self._unpool(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


def _repeated(given: Sizes, dims: int) -> tuple[int, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,) * dims


class MaxUnpool1d(_MaxUnpool):
    """Zeros but for the maxima that MaxPool1d found: `nn.functional.max_unpool1d`."""

    _dims = 1
    _unpool = staticmethod(_max_pooling.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """Zeros but for the maxima that MaxPool2d found: `nn.functional.max_unpool2d`."""

    _dims = 2
    _unpool = staticmethod(_max_pooling.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """Zeros but for the maxima that MaxPool3d found: `nn.functional.max_unpool3d`."""

    _dims = 3
    _unpool = staticmethod(_max_pooling.max_unpool3d)


class _Fractional(Module):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        _max_pooling.refuse_fractional(type(self).__name__)


class FractionalMaxPool2d(_Fractional):
    """Not implemented: NotImplementedError."""


class FractionalMaxPool3d(_Fractional):
    """Not implemented: NotImplementedError."""


# --- Averages -----------------------------------------------------------------------------------


class AvgPool1d(Module):
    """Means over windows of signals (n, channels, length): `nn.functional.avg_pool1d`."""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _repeated(kernel_size, 1)
        self.stride = _repeated(kernel_size if stride is None else stride, 1)
        self.padding = _repeated(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return _pooling.avg_pool1d(
            *(input, self.kernel_size, self.stride, self.padding),
            *(self.ceil_mode, self.count_include_pad),
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
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
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(
            *(input, self.kernel_size, self.stride, self.padding),
            *(self.ceil_mode, self.count_include_pad, self.divisor_override),
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """Means over windows of images: `nn.functional.avg_pool2d`."""

    _pool = staticmethod(_pooling.avg_pool2d)


class AvgPool3d(_AvgPool):
    """Means over windows of volumes: `nn.functional.avg_pool3d`."""

    _pool = staticmethod(_pooling.avg_pool3d)


class _LPPool(Module):
    _pool: Function

    def __init__(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes = None,
        ceil_mode: bool = False,
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

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """Norms of windows of signals: `nn.functional.lp_pool1d`."""

    _pool = staticmethod(_pooling.lp_pool1d)


class LPPool2d(_LPPool):
    """Norms of windows of images: `nn.functional.lp_pool2d`."""

    _pool = staticmethod(_pooling.lp_pool2d)


class LPPool3d(_LPPool):
    """Norms of windows of volumes: `nn.functional.lp_pool3d`."""

    _pool = staticmethod(_pooling.lp_pool3d)


# --- Adaptive windows ---------------------------------------------------------------------------


class _AdaptiveAvgPool(Module):
    _pool: Function

    def __init__(self, output_size: Sizes) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means over as many windows of signals as wanted: `nn.functional.adaptive_avg_pool1d`."""

    _pool = staticmethod(_pooling.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means over windows of images: `nn.functional.adaptive_avg_pool2d`."""

    _pool = staticmethod(_pooling.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means over windows of volumes: `nn.functional.adaptive_avg_pool3d`."""

    _pool = staticmethod(_pooling.adaptive_avg_pool3d)


class _AdaptiveMaxPool(Module):
    _pool: Function

    def __init__(self, output_size: Sizes, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return self._pool(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima over as many windows of signals as wanted: `nn.functional.adaptive_max_pool1d`."""

    _pool = staticmethod(_max_pooling.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maxima over windows of images: `nn.functional.adaptive_max_pool2d`."""

    _pool = staticmethod(_max_pooling.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maxima over windows of volumes: `nn.functional.adaptive_max_pool3d`."""

    _pool = staticmethod(_max_pooling.adaptive_max_pool3d)

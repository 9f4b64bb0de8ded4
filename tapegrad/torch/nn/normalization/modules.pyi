"""The layers of `tapegrad.torch.nn.normalization`.

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


class _Affine(Module):
    def reset_parameters(self) -> None: ...

class _NormBase(_Affine):
    num_features: _int
    eps: _float
    momentum: _float | None
    affine: _bool
    track_running_stats: _bool
    _ranks: tuple[_int, ...]
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any
    def __init__(
        self,
        num_features: _int,
        eps: _float = 1e-05,
        momentum: _float | None = 0.1,
        affine: _bool = True,
        track_running_stats: _bool = True,
        device: _Device | None = None,
        dtype: _dtype | None = None,
        *,
        bias: _bool = True,
    ) -> None: ...
    def reset_running_stats(self) -> None: ...
    def reset_parameters(self) -> None: ...

class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor: ...

class BatchNorm1d(_BatchNorm):
    """Channels with mean 0 and variance 1 over the batch, of (n, channels) or with a length."""

class BatchNorm2d(_BatchNorm):
    """Channels with mean 0 and variance 1 over the batch, of (n, channels, height, width)."""

class BatchNorm3d(_BatchNorm):
    """Channels with mean 0 and variance 1 over the batch, of volumes with n."""

class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: _int,
        eps: _float = 1e-05,
        momentum: _float = 0.1,
        affine: _bool = False,
        track_running_stats: _bool = False,
        device: _Device | None = None,
        dtype: _dtype | None = None,
        *,
        bias: _bool = True,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class InstanceNorm1d(_InstanceNorm):
    """Channels of each example with mean 0 and variance 1, of (n, channels, length) or without n."""

class InstanceNorm2d(_InstanceNorm):
    """Channels of each example with mean 0 and variance 1, of images with or without n."""

class InstanceNorm3d(_InstanceNorm):
    """Channels of each example with mean 0 and variance 1, of volumes with or without n."""

class LayerNorm(_Affine):
    """The last dimensions with mean 0 and variance 1 together."""

    normalized_shape: _Sizes
    eps: _float
    elementwise_affine: _bool
    def __init__(
        self,
        normalized_shape: _Sizes,
        eps: _float = 1e-05,
        elementwise_affine: _bool = True,
        bias: _bool = True,
        device: _Device | None = None,
        dtype: _dtype | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class RMSNorm(_Affine):
    """The last dimensions divided by the root of their mean square."""

    normalized_shape: _Sizes
    eps: _float | None
    elementwise_affine: _bool
    def __init__(
        self,
        normalized_shape: _Sizes,
        eps: _float | None = None,
        elementwise_affine: _bool = True,
        device: _Device | None = None,
        dtype: _dtype | None = None,
    ) -> None: ...
    def reset_parameters(self) -> None: ...
    def forward(self, x: Tensor) -> Tensor: ...

class GroupNorm(_Affine):
    """Groups of channels of each example with mean 0 and variance 1."""

    num_groups: _int
    num_channels: _int
    eps: _float
    affine: _bool
    def __init__(
        self,
        num_groups: _int,
        num_channels: _int,
        eps: _float = 1e-05,
        affine: _bool = True,
        device: _Device | None = None,
        dtype: _dtype | None = None,
        *,
        bias: _bool = True,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class LocalResponseNorm(Module):
    """Each element divided by a power of its neighbours' mean square over channels."""

    size: _int
    alpha: _float
    beta: _float
    k: _float
    def __init__(
        self, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class _LazyNormBase(LazyModuleMixin):
    def __init__(
        self,
        eps: _float = 1e-05,
        momentum: _float | None = 0.1,
        affine: _bool = True,
        track_running_stats: _bool = True,
        device: _Device | None = None,
        dtype: _dtype | None = None,
        *,
        bias: _bool = True,
    ) -> None: ...
    def reset_parameters(self) -> None: ...
    def initialize_parameters(self, input: Tensor) -> None: ...

class _LazyBatchNorm(_LazyNormBase):
    ...

class _LazyInstanceNorm(_LazyNormBase):
    ...

class LazyBatchNorm1d(_LazyBatchNorm, BatchNorm1d):
    """As `BatchNorm1d`, with the channels of its first input for num_features."""

class LazyBatchNorm2d(_LazyBatchNorm, BatchNorm2d):
    """As `BatchNorm2d`, with the channels of its first input for num_features."""

class LazyBatchNorm3d(_LazyBatchNorm, BatchNorm3d):
    """As `BatchNorm3d`, with the channels of its first input for num_features."""

class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """As `InstanceNorm1d`, with the channels of its first input for num_features."""

class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """As `InstanceNorm2d`, with the channels of its first input for num_features."""

class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """As `InstanceNorm3d`, with the channels of its first input for num_features."""

class CrossMapLRN2d(LocalResponseNorm):
    """The older `LocalResponseNorm`, of images (n, channels, height, width)."""

    def forward(self, input: Tensor) -> Any: ...
    def __init__(
        self, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1
    ) -> None: ...

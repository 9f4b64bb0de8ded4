"""Layers that learn the number of their inputs from their first one.

Knows the layers, and which of their sizes an input tells. Must not know what they compute.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch._dtypes import device, dtype
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch._types import Sizes
from tapegrad.torch.nn._convolution_layers import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from tapegrad.torch.nn._layers import Linear
from tapegrad.torch.nn._lazy import LazyModuleMixin
from tapegrad.torch.nn._norm_layers import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from tapegrad.torch.nn._uninitialized import UninitializedBuffer, UninitializedParameter

Device = device | str | None


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` whose in_features are the last size of its first input.

    Parameters
    ----------
    out_features : int
        The size of the last dimension of outputs.
    bias : bool, default True
        Whether there is a bias.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.LazyLinear(2)
    >>> layer
    LazyLinear(in_features=0, out_features=2, bias=True)
    >>> layer(torch.ones(4, 3)).shape, layer
    (torch.Size([4, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become = Linear
    weight: Any
    bias: Any

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they have shapes."""
        if self.in_features and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take in_features from an input.

        Parameters
        ----------
        input : Tensor
            The input.

        Raises
        ------
        AssertionError
            Where a loaded weight has others.
        """
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to "
                    f"in_features from self.weight: {self.weight.shape[-1]}"
                )
            self.in_features: int = input.shape[-1]


class _LazyConv(LazyModuleMixin):
    """Base of lazy convolutions: the channels of the first input."""

    in_channels: int
    out_channels: int
    groups: int
    kernel_size: tuple[int, ...]
    transposed: bool
    weight: Any
    bias: Any
    _dims: int

    def _forget_sizes(self, out_channels: int, bias: bool, dtype: dtype | None) -> None:
        """Make what was made for no channels a layer of these, without shapes."""
        self.weight = UninitializedParameter(dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they have shapes."""
        if self.in_channels and not self.has_uninitialized_params():
            layer: Any = super()
            layer.reset_parameters()

    def initialize_parameters(self, input: Tensor, *_: Any, **__: Any) -> None:
        """Take in_channels from an input, with a batch of examples or one alone.

        Parameters
        ----------
        input : Tensor
            The input.
        *_ : object
            Without effect.
        **__ : object
            Without effect.

        Raises
        ------
        ValueError
            For channels that the groups do not divide.
        RuntimeError
            For an input of other dimensions.
        """
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._channels_of(input)
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        first, second = self.in_channels, self.out_channels
        if not self.transposed:
            first, second = second, first
        self.weight.materialize((first, second // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _channels_of(self, input: Tensor) -> int:
        alone = self._dims + 1
        if input.dim() not in (alone, alone + 1):
            raise RuntimeError(
                f"Expected {alone}D (unbatched) or {alone + 1}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return int(input.shape[input.dim() - alone])


class _LazyPlainConv(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        how = kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        super().__init__(0, 0, *how)
        self._forget_sizes(out_channels, bias, dtype)


class _LazyTransposedConv(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        how = kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode
        super().__init__(0, 0, *how, device, dtype)
        self._forget_sizes(out_channels, bias, dtype)


class LazyConv1d(_LazyPlainConv, Conv1d):
    """A `Conv1d` whose in_channels are those of its first input.

    Parameters
    ----------
    out_channels : int
        The channels of outputs.
    kernel_size : int or tuple of int
        The sides of the kernel, for all axes or for each.
    stride : int or tuple of int, default 1
        The steps between windows.
    padding : int, tuple of int, or {"valid", "same"}, default 0
        How many elements are put before and after each axis; "valid" for none, "same" for as many
        as keep the sizes.
    dilation : int or tuple of int, default 1
        The steps between the elements of a window.
    groups : int, default 1
        Into how many parts the channels are split, which do not see each other.
    bias : bool, default True
        Whether there is a bias.
    padding_mode : {"zeros", "reflect", "replicate", "circular"}, default "zeros"
        What is put there.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.LazyConv1d(8, 3)
    >>> layer(torch.ones(2, 3, 5)).shape
    torch.Size([2, 8, 3])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyPlainConv, Conv2d):
    """A `Conv2d` whose in_channels are those of its first input.

    Parameters
    ----------
    out_channels : int
        The channels of outputs.
    kernel_size : int or tuple of int
        The sides of the kernel, for all axes or for each.
    stride : int or tuple of int, default 1
        The steps between windows.
    padding : int, tuple of int, or {"valid", "same"}, default 0
        How many elements are put before and after each axis; "valid" for none, "same" for as many
        as keep the sizes.
    dilation : int or tuple of int, default 1
        The steps between the elements of a window.
    groups : int, default 1
        Into how many parts the channels are split, which do not see each other.
    bias : bool, default True
        Whether there is a bias.
    padding_mode : {"zeros", "reflect", "replicate", "circular"}, default "zeros"
        What is put there.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.LazyConv2d(8, 3)
    >>> layer(torch.ones(2, 3, 5, 5)).shape, layer
    (torch.Size([2, 8, 3, 3]), Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1)))
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyPlainConv, Conv3d):
    """A `Conv3d` whose in_channels are those of its first input.

    Parameters
    ----------
    out_channels : int
        The channels of outputs.
    kernel_size : int or tuple of int
        The sides of the kernel, for all axes or for each.
    stride : int or tuple of int, default 1
        The steps between windows.
    padding : int, tuple of int, or {"valid", "same"}, default 0
        How many elements are put before and after each axis; "valid" for none, "same" for as many
        as keep the sizes.
    dilation : int or tuple of int, default 1
        The steps between the elements of a window.
    groups : int, default 1
        Into how many parts the channels are split, which do not see each other.
    bias : bool, default True
        Whether there is a bias.
    padding_mode : {"zeros", "reflect", "replicate", "circular"}, default "zeros"
        What is put there.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.LazyConv3d(8, 3)
    >>> layer(torch.ones(3, 3, 3, 3)).shape
    torch.Size([8, 1, 1, 1])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposedConv, ConvTranspose1d):
    """A `ConvTranspose1d` whose in_channels are those of its first input.

    Parameters
    ----------
    out_channels : int
        The channels of outputs.
    kernel_size : int or tuple of int
        The sides of the kernel, for all axes or for each.
    stride : int or tuple of int, default 1
        The steps between windows.
    padding : int or tuple of int, default 0
        That of the convolution: so much is cut off at both ends of each axis.
    output_padding : int or tuple of int, default 0
        Elements more at the end of each axis of the output.
    groups : int, default 1
        Into how many parts the channels are split, which do not see each other.
    bias : bool, default True
        Whether there is a bias.
    dilation : int or tuple of int, default 1
        The steps between the elements of a window.
    padding_mode : {"zeros"}, default "zeros"
        There is no other.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.LazyConvTranspose1d(8, 3)
    >>> layer(torch.ones(2, 3, 5)).shape
    torch.Size([2, 8, 7])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposedConv, ConvTranspose2d):
    """A `ConvTranspose2d` whose in_channels are those of its first input.

    Parameters
    ----------
    out_channels : int
        The channels of outputs.
    kernel_size : int or tuple of int
        The sides of the kernel, for all axes or for each.
    stride : int or tuple of int, default 1
        The steps between windows.
    padding : int or tuple of int, default 0
        That of the convolution: so much is cut off at both ends of each axis.
    output_padding : int or tuple of int, default 0
        Elements more at the end of each axis of the output.
    groups : int, default 1
        Into how many parts the channels are split, which do not see each other.
    bias : bool, default True
        Whether there is a bias.
    dilation : int or tuple of int, default 1
        The steps between the elements of a window.
    padding_mode : {"zeros"}, default "zeros"
        There is no other.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.LazyConvTranspose2d(8, 3)
    >>> layer(torch.ones(2, 3, 5, 5)).shape
    torch.Size([2, 8, 7, 7])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposedConv, ConvTranspose3d):
    """A `ConvTranspose3d` whose in_channels are those of its first input.

    Parameters
    ----------
    out_channels : int
        The channels of outputs.
    kernel_size : int or tuple of int
        The sides of the kernel, for all axes or for each.
    stride : int or tuple of int, default 1
        The steps between windows.
    padding : int or tuple of int, default 0
        That of the convolution: so much is cut off at both ends of each axis.
    output_padding : int or tuple of int, default 0
        Elements more at the end of each axis of the output.
    groups : int, default 1
        Into how many parts the channels are split, which do not see each other.
    bias : bool, default True
        Whether there is a bias.
    dilation : int or tuple of int, default 1
        The steps between the elements of a window.
    padding_mode : {"zeros"}, default "zeros"
        There is no other.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.LazyConvTranspose3d(8, 3)
    >>> layer(torch.ones(3, 3, 3, 3)).shape
    torch.Size([8, 5, 5, 5])
    """

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin):
    """Base of lazy norms: the channels of the first input."""

    num_features: int
    affine: bool
    track_running_stats: bool
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = of_value(np.zeros((), np.int64))

    def reset_parameters(self) -> None:
        """Start everything anew, once it has shapes."""
        if self.num_features and not self.has_uninitialized_params():
            layer: Any = super()
            layer.reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take num_features from an input.

        Parameters
        ----------
        input : Tensor
            The input.
        """
        known = not self.has_uninitialized_params()
        self.num_features = int(input.shape[1])
        if known:  # from a state
            return
        for value in (self.weight, self.bias, self.running_mean, self.running_var):
            if value is not None:
                value.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A `BatchNorm1d` whose num_features are the channels of its first input.

    Parameters
    ----------
    eps : float, default 1e-05
        Added to the variance before the root is taken.
    momentum : float or None, default 0.1
        How far the running statistics move towards those of an input.
    affine : bool, default True
        Whether there is a weight and a bias, a number for each channel.
    track_running_stats : bool, default True
        Keep running statistics, by which inputs are normalized in evaluation.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.
    bias : bool, default True
        Whether there is a bias, if `affine`.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.LazyBatchNorm1d()
    >>> layer(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A `BatchNorm2d` whose num_features are the channels of its first input.

    Parameters
    ----------
    eps : float, default 1e-05
        Added to the variance before the root is taken.
    momentum : float or None, default 0.1
        How far the running statistics move towards those of an input.
    affine : bool, default True
        Whether there is a weight and a bias, a number for each channel.
    track_running_stats : bool, default True
        Keep running statistics, by which inputs are normalized in evaluation.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.
    bias : bool, default True
        Whether there is a bias, if `affine`.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.LazyBatchNorm2d()
    >>> layer(torch.ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A `BatchNorm3d` whose num_features are the channels of its first input.

    Parameters
    ----------
    eps : float, default 1e-05
        Added to the variance before the root is taken.
    momentum : float or None, default 0.1
        How far the running statistics move towards those of an input.
    affine : bool, default True
        Whether there is a weight and a bias, a number for each channel.
    track_running_stats : bool, default True
        Keep running statistics, by which inputs are normalized in evaluation.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.
    bias : bool, default True
        Whether there is a bias, if `affine`.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.LazyBatchNorm3d()
    >>> layer(torch.ones(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An `InstanceNorm1d` whose num_features are the channels of its first input.

    Parameters
    ----------
    eps : float, default 1e-05
        Added to the variance before the root is taken.
    momentum : float or None, default 0.1
        How far the running statistics move towards those of an input.
    affine : bool, default True
        Whether there is a weight and a bias, a number for each channel.
    track_running_stats : bool, default True
        Keep running statistics, by which inputs are normalized in evaluation.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.
    bias : bool, default True
        Whether there is a bias, if `affine`.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.LazyInstanceNorm1d()
    >>> layer(torch.ones(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An `InstanceNorm2d` whose num_features are the channels of its first input.

    Parameters
    ----------
    eps : float, default 1e-05
        Added to the variance before the root is taken.
    momentum : float or None, default 0.1
        How far the running statistics move towards those of an input.
    affine : bool, default True
        Whether there is a weight and a bias, a number for each channel.
    track_running_stats : bool, default True
        Keep running statistics, by which inputs are normalized in evaluation.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.
    bias : bool, default True
        Whether there is a bias, if `affine`.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.LazyInstanceNorm2d()
    >>> layer(torch.ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An `InstanceNorm3d` whose num_features are the channels of its first input.

    Parameters
    ----------
    eps : float, default 1e-05
        Added to the variance before the root is taken.
    momentum : float or None, default 0.1
        How far the running statistics move towards those of an input.
    affine : bool, default True
        Whether there is a weight and a bias, a number for each channel.
    track_running_stats : bool, default True
        Keep running statistics, by which inputs are normalized in evaluation.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.
    bias : bool, default True
        Whether there is a bias, if `affine`.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.LazyInstanceNorm3d()
    >>> layer(torch.ones(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    cls_to_become = InstanceNorm3d


__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]

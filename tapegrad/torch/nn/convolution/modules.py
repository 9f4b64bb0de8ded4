"""Convolutions as modules, also such as learn their channels from the first input; folding.

Knows `Module` and the functions. Must not know how these are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.torch._dtypes import device, dtype
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import Sizes
from tapegrad.torch.nn import init
from tapegrad.torch.nn.contents import own_names
from tapegrad.torch.nn.convolution.functions import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from tapegrad.torch.nn.dimensions import classes, repeated
from tapegrad.torch.nn.module.factory import add_parameters
from tapegrad.torch.nn.module.layers import layer
from tapegrad.torch.nn.module.lazy import LazyModuleMixin
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.padding.functions import pad
from tapegrad.torch.nn.parameter import Parameter, UninitializedParameter

_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Base of all convolutions: weight, bias, and how the kernel moves."""

    _in_repr = (
        "=in_channels =out_channels kernel_size stride padding? dilation? groups? bias? "
        "padding_mode?"
    )
    _dims: int
    _function: Callable[..., Any]
    weight: Parameter
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...] | str,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        _check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._widths_of_padding()
        first, second = in_channels, out_channels
        if not transposed:
            first, second = second, first
        shape = (first, second // groups, *kernel_size)
        row = (out_channels,) if bias else None
        add_parameters(self, dtype, device, weight=shape, bias=row)
        self.reset_parameters()

    def _widths_of_padding(self) -> tuple[int, ...]:
        """Widths for `pad`, which begin with the last axis."""
        widths: list[int] = []
        for axis in reversed(range(len(self.kernel_size))):
            if isinstance(self.padding, str):
                total = self.dilation[axis] * (self.kernel_size[axis] - 1)
                total = total if self.padding == "same" else 0
                widths += [total // 2, total - total // 2]
            else:
                widths += [self.padding[axis]] * 2
        return tuple(widths)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew: uniform between -k and k, 1 / k**2 the inputs of a sum."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            inputs = math.prod(self.weight.shape[1:])
            if inputs:
                bound = 1 / math.sqrt(inputs)
                init.uniform_(self.bias, -bound, bound)


def _check(
    in_channels: int,
    out_channels: int,
    stride: Sequence[int],
    padding: Sequence[int] | str,
    groups: int,
    padding_mode: str,
) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("valid", "same"):
            words = "{'valid', 'same'}"
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {words}")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _MODES:
        words = "{" + ", ".join(map(repr, _MODES)) + "}"
        raise ValueError(
            f"padding_mode must be one of {words}, but got padding_mode={padding_mode!r}"
        )


# --- Convolutions -------------------------------------------------------------------------------


class _Conv(_ConvNd):
    """Convolution of {inputs}, {shape}.

    The weight is `(out_channels, in_channels / groups, *kernel_size)`, the bias (out_channels,).
    Both are drawn uniformly between -k and k, where 1 / k**2 is the number of elements of
    weight[0].

    padding (int, tuple of int, or {"valid", "same"}): How many elements are put before and after
        each axis; "valid" for none, "same" for as many as keep the sizes.
    padding_mode ({"zeros", "reflect", "replicate", "circular"}): The elements that are put there.
    ValueError: For channels that the groups do not divide, other words, and "same" with steps.

    >>> torch.nn.{name}(3, 8, 3, padding=1)(torch.ones(2, 3, {sides})).shape
    torch.Size([2, 8, {sides}])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        dims = self._dims
        super().__init__(
            in_channels,
            out_channels,
            repeated(kernel_size, dims),
            repeated(stride, dims),
            padding if isinstance(padding, str) else repeated(padding, dims),
            repeated(dilation, dims),
            False,
            (0,) * dims,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        x, padding = self._padded(input)
        return self._function(x, weight, bias, self.stride, padding, self.dilation, self.groups)

    def _padded(self, input: Tensor) -> tuple[Tensor, Any]:
        """The input padded by the padding mode, and the zeros that the convolution adds."""
        if self.padding_mode == "zeros":
            return input, self.padding
        padded = pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return padded, (0,) * self._dims


Conv1d, Conv2d, Conv3d = classes(_Conv, "", "", "", _function=(conv1d, conv2d, conv3d))


# --- Transposed convolutions --------------------------------------------------------------------


class _ConvTransposeNd(_ConvNd):
    """Transposed convolution of {inputs}, {shape}.

    The weight is `(in_channels, out_channels / groups, *kernel_size)`, the bias (out_channels,). A
    call takes `output_size`, one of the sizes whose convolution has the size of the input.

    padding_mode ({"zeros"}): There is no other.
    ValueError: For channels that the groups do not divide, and another `padding_mode`.

    >>> torch.nn.{name}(3, 8, 3, padding=1)(torch.ones(2, 3, {sides})).shape
    torch.Size([2, 8, {sides}])
    """

    _in_repr = _ConvNd._in_repr.replace("groups", "output_padding? groups")
    padding: tuple[int, ...]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        dims = self._dims
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            repeated(kernel_size, dims),
            repeated(stride, dims),
            repeated(padding, dims),
            repeated(dilation, dims),
            True,
            repeated(output_padding, dims),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        more = self._output_padding(input, output_size)
        way = (self.stride, self.padding, more, self.groups, self.dilation)
        made: Tensor = self._function(input, self.weight, self.bias, *way)
        return made

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """The output padding that gives an output of this size."""
        if output_size is None:
            return self.output_padding
        dims = self._dims
        wanted = list(output_size)
        if len(wanted) == input.ndim:
            wanted = wanted[input.ndim - dims :]
        if len(wanted) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.ndim}D input, output_size must have {dims} or "
                f"{input.ndim} elements (got {len(wanted)})"
            )
        given = input.shape[input.ndim - dims :]
        least = [
            (size - 1) * step - 2 * pad + dilation * (width - 1) + 1
            for size, step, pad, dilation, width in zip(
                given, self.stride, self.padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        most = [size + step - 1 for size, step in zip(least, self.stride, strict=True)]
        if any(not a <= size <= b for a, size, b in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} "
                f"to {most} (for an input of {given})"
            )
        return tuple(size - a for size, a in zip(wanted, least, strict=True))


ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = classes(
    _ConvTransposeNd,
    "",
    """Transposed convolution of images, (n, channels, height, width) or without n.

    >>> layer = torch.nn.ConvTranspose2d(3, 8, 3, stride=2)
    >>> layer(torch.ones(3, 2, 2)).shape
    torch.Size([8, 5, 5])
    >>> layer(torch.ones(3, 2, 2), output_size=(6, 6)).shape
    torch.Size([8, 6, 6])
    """,
    "",
    _function=(conv_transpose1d, conv_transpose2d, conv_transpose3d),
)


# --- Windows ------------------------------------------------------------------------------------


@layer("unfold", shows="kernel_size dilation padding stride")
class Unfold(Module):
    """Windows of images as columns."""


@layer("fold", shows="output_size kernel_size dilation padding stride")
class Fold(Module):
    """Images of the sums of windows given as columns."""


class _Lazy(LazyModuleMixin):
    """As `{plain}`, with the in_channels of its first input.

    >>> torch.nn.{name}(8, 3, padding=1)(torch.ones(2, 3, {sides})).shape
    torch.Size([2, 8, {sides}])
    """

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

        input: The input.
        *_: Without effect.
        **__: Without effect.
        ValueError: For channels that the groups do not divide.
        RuntimeError: For an input of other dimensions.
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


class _LazyConv(_Lazy):
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
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        how = kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        super().__init__(0, 0, *how)
        self._forget_sizes(out_channels, bias, dtype)


class _LazyConvTranspose(_Lazy):
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
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        how = kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode
        super().__init__(0, 0, *how, device, dtype)
        self._forget_sizes(out_channels, bias, dtype)


_PLAIN = Conv1d, Conv2d, Conv3d
LazyConv1d, LazyConv2d, LazyConv3d = classes(
    _LazyConv, "", "", "", also=_PLAIN, cls_to_become=_PLAIN
)
_TRANSPOSED = ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = classes(
    _LazyConvTranspose, "", "", "", also=_TRANSPOSED, cls_to_become=_TRANSPOSED
)


__all__ = list(own_names(__name__))

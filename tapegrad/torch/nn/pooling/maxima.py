"""Maximum pooling, adaptive too, and its partial inverse: maxima over windows, and where they are.

Knows PyTorch's parameters and checks. Must not know how maxima are found (`_rules.pooling`), nor
modules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import shown_value
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.declare import private, register
from tapegrad.torch._rules import adaptive, pooling, windows
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import Sizes, TensorLike
from tapegrad.torch.nn.dimensions import members
from tapegrad.torch.nn.memory_format import keeps_channels_last
from tapegrad.torch.nn.pooling.functions import (
    adaptive_sizes,
    check_filled,
    check_rank,
    check_steps,
    numbers_of,
    raise_too_small,
)


def _label_of(dims: int, name: str) -> str:
    return "SqueezeBackward1" if dims == 1 else name.format(dims)


def _label(_input: TensorLike, dims: int, *_rest: Any) -> str:
    return _label_of(dims, "MaxPool{}DWithIndicesBackward0")


# --- Fixed windows ------------------------------------------------------------------------------


def _check_signal(
    input: Value,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> None:
    """PyTorch's checks of max_pool1d, which have texts of their own."""
    if len(input.shape) not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got:{list(input.shape)}"
        )
    for name, given in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if given[0] <= 0:
            raise RuntimeError(
                f"max_pool1d() {name} must be greater than zero, but got {given[0]}"
            )
    if padding[0] < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding[0]}")
    if padding[0] > kernel[0] // 2:
        raise RuntimeError(
            "max_pool1d() padding should be at most half of kernel size, but got "
            f"padding={padding[0]} and kernel_size={kernel[0]}"
        )


def _ways(
    input: Value,
    dims: int,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    *,
    with_indices: bool = False,
) -> windows.Ways:
    """The windows along each axis; RuntimeError where there are none."""
    name = f"max_pool{dims}d"
    kernel = numbers_of(kernel_size, dims, name, "kernel_size")
    stride = numbers_of(stride, dims, name, "stride") or kernel
    padding = numbers_of(padding, dims, name, "padding")
    dilation = numbers_of(dilation, dims, name, "dilation")
    is_signal = dims == 1 and not with_indices
    if is_signal:
        _check_signal(input, kernel, stride, padding, dilation)
    else:
        check_rank(input, dims, name)
        if min(dilation) <= 0:
            sides = " ".join(
                f"dilation{axis}: {d}" for axis, d in zip("THW"[-dims:], dilation, strict=True)
            )
            raise RuntimeError(f"dilation should be greater than zero, but got {sides}")
        check_steps(kernel, stride, padding, dilation)
        check_filled(input, dims, f"{name}_with_indices_out_cpu_template" if dims == 3 else name)
    ways = tuple(
        windows.windows_of(size, side, step, pad, ceil_mode, d)
        for size, side, step, pad, d in zip(
            input.shape[-dims:], kernel, stride, padding, dilation, strict=True
        )
    )
    if min(way.number for way in ways) < 1:
        if is_signal:
            raise RuntimeError(f"max_pool1d() Invalid computed output size: {ways[0].number}")
        raise_too_small(input, ways)
    if input.dtype.kind not in "fiu" or (dims == 1 and input.dtype.kind != "f"):
        word = "max_pool1d_impl" if dims == 1 else name
        raise NotImplementedError(f"\"{word}\" not implemented for '{word_of(input.dtype)}'")
    return ways


@private(_label, name="max_pool", planned=True)
def _max_pool(input: Value, dims: int, *way: Any) -> Value:
    return pooling.peaks(input, ways=_ways(input, dims, *way))


@private(_label, name="max_pool_with_indices")
def _max_pool_with_indices(input: Value, dims: int, *way: Any) -> tuple[Value, Value]:
    ways = _ways(input, dims, *way, with_indices=True)
    found = pooling.winners(input, ways=ways)
    return pooling.peaks(input, ways=ways), pooling.positions(found, ways)


def _max_pool_of(dims: int, *, always: bool) -> Function:
    """The function of so many dimensions; always: with indices, whatever is asked for."""

    def max_pool(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = always,
    ) -> Any:
        call = _max_pool_with_indices if always or return_indices else _max_pool
        return call(input, dims, kernel_size, stride, padding, dilation, ceil_mode)

    return max_pool


def _max_pool_nd(dims: int) -> Function:
    """Maxima over windows of {inputs}.

    input (Tensor): {Inputs}, {shape}.
    -> Tensor or tuple of Tensor: The maxima; with `return_indices` a tuple of them and of their
        places in the {flat}, int64: the first of equal ones.
    RuntimeError: For an input of other dimensions, windows that do not fit, and steps of 0.
    """
    max_pool = _max_pool_of(dims, always=False)
    return keeps_channels_last(max_pool) if dims > 1 else max_pool


max_pool1d, max_pool2d, max_pool3d = map(
    register(method=False),
    members(
        _max_pool_nd,
        """
        >>> F.max_pool1d(torch.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
        tensor([[3., 7.]])
        """,
        """
        >>> F.max_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
        """,
        """
        >>> F.max_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[7.]]]])
        """,
    ),
)


def _max_pool_nd_with_indices(dims: int) -> Function:
    """Maxima over windows of {inputs}, and where they are.

    input (Tensor): {Inputs}, {shape}.
    return_indices (bool): Without effect: places are returned.
    -> tuple of Tensor: The maxima, and their places in the {flat}, int64.
    RuntimeError: For an input of other dimensions, windows that do not fit, and steps of 0.
    """
    return _max_pool_of(dims, always=True)


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = members(
    _max_pool_nd_with_indices,
    """
    >>> F.max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 7.0, 5.0]]), 2)
    (tensor([[3., 7.]]), tensor([[1, 2]]))
    """,
    """
    >>> F.max_pool2d_with_indices(torch.arange(4.0).reshape(1, 2, 2), 2)
    (tensor([[[3.]]]), tensor([[[3]]]))
    """,
    """
    >>> F.max_pool3d_with_indices(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
    (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """,
)
register(method=False)(max_pool1d_with_indices)


# --- Adaptive windows ---------------------------------------------------------------------------


def _label_of_adaptive(_input: TensorLike, dims: int, *_rest: Any) -> str:
    return _label_of(dims, "AdaptiveMaxPool{}DBackward0")


@private(_label_of_adaptive, name="adaptive_max_pool")
def _adaptive_max_pool(input: Value, dims: int, output_size: Sizes, return_indices: bool) -> Any:
    name = f"adaptive_max_pool{dims}d"
    sizes = adaptive_sizes(input, output_size, dims, name, ":")
    found = adaptive.winners(input, numbers=sizes)
    out = adaptive.chosen(found, input, dims=dims)
    return (out, found) if return_indices else out


def _adaptive_max_pool_nd(dims: int) -> Function:
    """Maxima over windows of {inputs}, such that the result has the size `output_size`.

    input (Tensor): {Inputs}, {shape}.
    output_size ({ints}): The {extent}.
    -> Tensor or tuple of Tensor: The maxima; with `return_indices` a tuple of them and of their
        places in the {flat}, int64.
    RuntimeError: For an input of other dimensions.
    """

    def adaptive_max_pool(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
        return _adaptive_max_pool(input, dims, output_size, return_indices)

    return keeps_channels_last(adaptive_max_pool) if dims > 1 else adaptive_max_pool


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = members(
    _adaptive_max_pool_nd,
    """
    >>> F.adaptive_max_pool1d(torch.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
    tensor([[3., 7.]])
    """,
    """
    >>> F.adaptive_max_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """,
    """
    >>> F.adaptive_max_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """,
)


def _adaptive_max_pool_nd_with_indices(dims: int) -> Function:
    """Maxima over windows of {inputs}, such that there are `output_size`, and where they are.

    input (Tensor): {Inputs}, {shape}.
    output_size ({ints}): The {extent}.
    return_indices (bool): Without effect: places are returned.
    -> tuple of Tensor: The maxima, and their places in the {flat}, int64.
    RuntimeError: For an input of other dimensions.
    """

    def adaptive_max_pool(input: Tensor, output_size: Sizes, return_indices: bool = True) -> Any:
        return _adaptive_max_pool(input, dims, output_size, True)

    return adaptive_max_pool


(
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d_with_indices,
) = members(
    _adaptive_max_pool_nd_with_indices,
    """
    >>> F.adaptive_max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 7.0, 5.0]]), 2)
    (tensor([[3., 7.]]), tensor([[1, 2]]))
    """,
    """
    >>> F.adaptive_max_pool2d_with_indices(torch.arange(4.0).reshape(1, 2, 2), 1)
    (tensor([[[3.]]]), tensor([[[3]]]))
    """,
    """
    >>> F.adaptive_max_pool3d_with_indices(torch.arange(8.0).reshape(1, 2, 2, 2), 1)
    (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """,
)


# `torch.adaptive_max_pool1d` returns the indices always.
register("adaptive_max_pool1d", method=False)(adaptive_max_pool1d_with_indices)


# --- Unpooling ----------------------------------------------------------------------------------


def _label_of_unpooling(_input: TensorLike, _indices: TensorLike, sizes: Sizes) -> str:
    return _label_of(len(sizes), "MaxUnpool{}DBackward0")


@private(_label_of_unpooling, name="max_unpool")
def _max_unpool(input: Value, indices: Value, sizes: Sizes) -> Value:
    dims = len(sizes)
    if indices.dtype != np.int64:
        but = f" but got: {word_of(indices.dtype)}" if dims < 3 else ""
        raise RuntimeError(f"elements in indices should be type int64{but}")
    if len(input.shape) not in (dims + 1, dims + 2):
        shown, rank = ("2", "3d or 4d") if dims < 3 else ("3", "4d or 5d")
        raise RuntimeError(
            f"Input to max_unpooling{shown}d should be a {rank} Tensor, but got a tensor with "
            f"{len(input.shape)} dimensions."
        )
    more = (1,) if dims == 1 else ()
    if input.shape != indices.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({[*input.shape, *more]}) but got indices tensor with shape: "
            f"{[*indices.shape, *more]}"
        )
    size = math.prod(sizes)
    plain = shown_value(indices)
    wrong = (plain < 0) | (plain >= size)
    if wrong.any():
        raise RuntimeError(
            f"Found an invalid max index: {plain[wrong][0]} (output volumes are of size "
            f"{'x'.join(map(str, (*sizes, *more)))})"
        )
    lead = input.shape[: len(input.shape) - dims]
    flat = (*lead, math.prod(input.shape[len(lead) :]))
    out = pooling.scattered(np.reshape(indices, flat), np.reshape(input, flat), size=size)
    return np.reshape(out, (*lead, *sizes))


def unpooled_sizes(
    input: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    output_size: Sequence[int] | None,
) -> tuple[int, ...]:
    """The sizes of an unpooled tensor; ValueError for `output_size` that pooling cannot have."""
    dims = len(kernel)
    usual = tuple(
        (size - 1) * step + side - 2 * pad
        for size, step, side, pad in zip(input.shape[-dims:], stride, kernel, padding, strict=True)
    )
    if output_size is None:
        return usual
    given = tuple(output_size)
    if len(given) == dims + 2:
        given = given[2:]
    if len(given) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it "
            f"has a length of '{len(given)}'"
        )
    for axis, (size, normal, step) in enumerate(zip(given, usual, stride, strict=True)):
        if not normal - step < size < normal + step:
            raise ValueError(
                f'invalid output_size "{tuple(given)}" (dim {axis} must be between '
                f"{normal - step} and {normal + step})"
            )
    return tuple(map(int, given))


def _unpooled(
    input: Tensor,
    indices: Tensor,
    dims: int,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    output_size: Sequence[int] | None,
) -> Any:
    name = f"max_unpool{dims}d"
    kernel = numbers_of(kernel_size, dims, name, "kernel_size")
    stride = numbers_of(stride, dims, name, "stride") or kernel
    padding = numbers_of(padding, dims, name, "padding")
    return _max_unpool(input, indices, unpooled_sizes(input, kernel, stride, padding, output_size))


def _max_unpool_nd(dims: int) -> Function:
    """Zeros but for the maxima that `max_pool{nd}` found, which stand where they were.

    input (Tensor): Maxima, {shape}.
    kernel_size (int or tuple of int): The sides of a window in the pooling.
    stride (int or tuple of int): The steps between windows in the pooling; `kernel_size` unless
        given.
    padding (int or tuple of int): The padding of the pooling.
    output_size (sequence of int): The size of what was pooled, where several sizes have that
        result.
    -> Tensor: {Inputs} of the {size} that was pooled.
    ValueError: For an `output_size` that the pooling cannot have had.
    """

    def max_unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: Sizes,
        stride: Sizes = None,
        padding: Sizes = 0,
        output_size: Sequence[int] | None = None,
    ) -> Any:
        return _unpooled(input, indices, dims, kernel_size, stride, padding, output_size)

    return max_unpool


max_unpool1d, max_unpool2d, max_unpool3d = members(
    _max_unpool_nd,
    """
    >>> x, places = F.max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 7.0, 5.0]]), 2)
    >>> F.max_unpool1d(x, places, 2)
    tensor([[0., 3., 7., 0.]])
    """,
    """
    >>> x, places = F.max_pool2d_with_indices(torch.arange(4.0).reshape(1, 2, 2), 2)
    >>> F.max_unpool2d(x, places, 2)
    tensor([[[0., 0.],
             [0., 3.]]])
    """,
    """
    >>> x, places = F.max_pool3d_with_indices(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
    >>> F.max_unpool3d(x, places, 2)
    tensor([[[[0., 0.],
              [0., 0.]],
    <BLANKLINE>
             [[0., 0.],
              [0., 7.]]]])
    """,
)


# --- Refusals -----------------------------------------------------------------------------------


def refuse_fractional(name: str) -> NoReturn:
    """NotImplementedError: the windows of PyTorch's fractional pooling cannot be reproduced."""
    raise NotImplementedError(
        f"{name}: fractional pooling is not implemented, because its windows are drawn at random "
        "by a generator whose numbers NumPy does not have, so that no result could be compared. "
        "Use max_pool2d or adaptive_max_pool2d (or those of three dimensions)."
    )


def _fractional_max_pool_nd(dims: int) -> Function:
    """Maxima over windows drawn at random, which are not implemented.

    NotImplementedError: Always: its windows are drawn by a generator that NumPy has not.
    """

    def fractional_max_pool(*args: Any, **kwargs: Any) -> NoReturn:
        refuse_fractional(f"fractional_max_pool{dims}d")

    return fractional_max_pool


fractional_max_pool2d, fractional_max_pool3d = members(
    _fractional_max_pool_nd,
    """
    >>> try:
    ...     F.fractional_max_pool2d(torch.ones(1, 1, 4, 4, 4), 2, 2)
    ... except NotImplementedError:
    ...     print("not implemented")
    not implemented
    """,
    """
    >>> try:
    ...     F.fractional_max_pool3d(torch.ones(1, 1, 4, 4, 4), 2, 2)
    ... except NotImplementedError:
    ...     print("not implemented")
    not implemented
    """,
)


__all__ = [
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

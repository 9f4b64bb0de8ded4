"""Average pooling, adaptive and with norms too: means over windows of signals, images, volumes.

Knows PyTorch's parameters and checks. Must not know how windows are summed (`_rules.windows`,
`_rules.adaptive`), nor modules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.declare import OPERATIONS, private, register
from tapegrad.torch._rules import adaptive, windows
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import Sizes, TensorLike
from tapegrad.torch.nn.dimensions import members
from tapegrad.torch.nn.memory_format import keeps_channels_last

# --- Checks that all poolings share -------------------------------------------------------------

_COUNTS = {1: "one int", 2: "two ints", 3: "three ints"}


def numbers_of(given: Sizes, dims: int, name: str, parameter: str) -> tuple[int, ...]:
    """A parameter of a pooling as one number for each axis; None as an empty tuple."""
    if given is None:
        return ()
    if not isinstance(given, (tuple, list)):
        return (int(given),) * dims
    if len(given) == dims or not given:
        return tuple(map(int, given))
    if len(given) == 1:
        return (int(given[0]),) * dims
    if dims == 1:
        raise RuntimeError(
            f"{name}() argument '{parameter}' should contain one int (got {len(given)})"
        )
    either = "be omitted, a" if parameter == "stride" else "be a"
    raise RuntimeError(
        f"{name}: {parameter} must either {either} single int, or a tuple of {_COUNTS[dims]}"
    )


def check_rank(input: Value, dims: int, name: str) -> None:
    """RuntimeError unless the input has channels, and perhaps examples, before the windows."""
    rank = len(input.shape)
    if rank in (dims + 1, dims + 2):
        return
    if dims == 1:
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {rank}-dimensional tensor for argument #1 "
            f"'self' (while checking arguments for {name})"
        )
    raise RuntimeError(
        f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input"
    )


def check_filled(input: Value, dims: int, name: str) -> None:
    """RuntimeError for an input in which anything but the number of examples is 0."""
    shape = list(input.shape)
    if 0 not in shape[-dims - 1 :]:
        return
    if dims == 3:
        raise RuntimeError(
            f"{name}(): Expected input's non-batch dimensions to have positive length, but input "
            f"has a shape of {shape} and non-batch dimension 0 has length zero!"
        )
    if dims == 1 and name.startswith("avg"):  # PyTorch's are averages of images of one row
        shape.insert(-1, 1)
    rank = 2 if name == "max_pool1d" else 3
    raise RuntimeError(
        f"Expected {rank}D or {rank + 1}D (batch mode) tensor with optional 0 dim batch size for "
        f"input, but got:{shape}"
    )


def check_steps(
    kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> None:
    """RuntimeError unless windows move, and begin within the elements."""
    if 0 in stride or 0 in kernel:
        raise RuntimeError("stride should not be zero")
    if min(padding) < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {min(padding)}")
    for pad, side, d in zip(padding, kernel, dilation, strict=True):
        if pad > ((side - 1) * d + 1) // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={pad}, kernel_size={side} and dilation={d}"
            )


def raise_too_small(input: Value, ways: windows.Ways) -> None:
    """RuntimeError for an input that has no window."""
    dims = len(ways)
    given, made = input.shape[-dims - 1 :], tuple(way.number for way in ways)
    if dims == 1:
        given, made = (given[0], 1, given[1]), (1, *made)
    raise RuntimeError(
        f"Given input size: ({'x'.join(map(str, given))}). Calculated output size: "
        f"({'x'.join(map(str, (given[0], *made)))}). Output size is too small"
    )


# --- Averages -----------------------------------------------------------------------------------


def _label_of_averages(_input: TensorLike, dims: int, *_rest: Any) -> str:
    return "SqueezeBackward1" if dims == 1 else f"AvgPool{dims}DBackward0"


@private(_label_of_averages, name="avg_pool", planned=True)
def _avg_pool(
    input: Value,
    dims: int,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Value:
    name = f"avg_pool{dims}d"
    check_rank(input, dims, name)
    kernel = numbers_of(kernel_size, dims, name, "kernel_size")
    stride = numbers_of(stride, dims, name, "stride") or kernel
    padding = numbers_of(padding, dims, name, "padding")
    if 0 in kernel and 0 not in stride:
        sides = (1, *kernel)[-max(dims, 2) :]
        given = " ".join(
            f"k{axis}: {n}" for axis, n in zip("THW"[-len(sides) :], sides, strict=True)
        )
        raise RuntimeError(f"kernel size should be greater than zero, but got {given}")
    check_steps(kernel, stride, padding, (1,) * dims)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    check_filled(input, dims, name)
    ways = tuple(
        windows.windows_of(*along, ceil_mode)
        for along in zip(input.shape[-dims:], kernel, stride, padding, strict=True)
    )
    if dims == 3 and any(way.size < way.kernel for way in ways):
        _raise_smaller(ways)
    if min(way.number for way in ways) < 1:
        raise_too_small(input, ways)
    if input.dtype.kind in "bc":
        word = "avg_pool3d_out_frame" if dims == 3 else "avg_pool2d"
        raise NotImplementedError(f"\"{word}\" not implemented for '{word_of(input.dtype)}'")
    total = windows.sums(input, ways=ways)
    if divisor_override is not None:
        return _divided(total, divisor_override)
    extents = [way.extents(padded=count_include_pad) for way in ways]
    if all(np.ptp(extent) == 0 for extent in extents):
        return _divided(total, math.prod(int(extent[0]) for extent in extents))
    counts = extents[0]
    for extent in extents[1:]:
        counts = np.multiply.outer(counts, extent)
    if input.dtype.kind in "iu":
        return _divided(total, counts)
    return total / counts.astype(input.dtype)


def _divided(total: Value, count: Any) -> Value:
    if total.dtype.kind in "iu":
        return np.trunc(total / count).astype(total.dtype)
    return total * (1 / float(count))


def _raise_smaller(ways: windows.Ways) -> None:
    sizes = " ".join(f"{axis}: {way.size}" for axis, way in zip("THW", ways, strict=True))
    kernel = " ".join(f"k{axis}: {way.kernel}" for axis, way in zip("THW", ways, strict=True))
    raise RuntimeError(f"input image ({sizes}) smaller than kernel size ({kernel})")


def _avg_pool_nd(dims: int) -> Function:
    """Means over windows of {inputs}.

    input (Tensor): {Inputs}, {shape}.
    padding (int or tuple of int): How many zeros are put before and after each axis, at most half
        of a window.
    -> Tensor: The means, of the same number of dimensions.
    RuntimeError: For an input of other dimensions, windows that do not fit, and steps of 0.
    """

    def avg_pool(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        return _avg_pool(
            *(input, dims, kernel_size, stride, padding, ceil_mode, count_include_pad),
            divisor_override,
        )

    def avg_pool_of_signals(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Any:
        return _avg_pool(
            input, 1, kernel_size, stride, padding, ceil_mode, count_include_pad, None
        )

    return keeps_channels_last(avg_pool) if dims > 1 else avg_pool_of_signals


avg_pool1d, avg_pool2d, avg_pool3d = members(
    _avg_pool_nd,
    """
    >>> F.avg_pool1d(torch.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
    tensor([[2., 6.]])
    """,
    """
    >>> F.avg_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """,
    """
    >>> F.avg_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[3.5000]]]])
    """,
)
register(method=False)(avg_pool1d)


# --- Adaptive averages --------------------------------------------------------------------------


def adaptive_sizes(
    input: Value, output_size: Sizes, dims: int, name: str, colon: str = ""
) -> tuple[int, ...]:
    """The sizes of the output of an adaptive pooling; None stands for that of the input."""
    shape, rank = tuple(input.shape), len(input.shape)
    if rank not in (dims + 1, dims + 2):
        if dims == 1:
            check_rank(input, dims, name)
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{colon} {list(shape)}"
        )
    first = rank - dims if dims < 3 and not colon else 1
    for axis in range(first, rank):
        if shape[axis] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {list(shape)} with dimension {axis} being empty"
            )
    given = _asked_sizes(output_size, dims, name, colon)
    sizes = tuple(
        own if size is None else int(size) for own, size in zip(shape[-dims:], given, strict=True)
    )
    if min(sizes) < 0:
        if colon:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {min(sizes)}: "
                f"{[*shape[:-dims], *sizes]}"
            )
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{', '.join(map(str, sizes))}}}"
        )
    if input.dtype.kind != "f":
        kernel = f"{name[:-2]}3d_cpu" if dims == 3 else f"{name[:-2]}2d"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{word_of(input.dtype)}'")
    return sizes


def _asked_sizes(output_size: Sizes, dims: int, name: str, colon: str) -> tuple[int | None, ...]:
    """A size, or None, for each dimension of an adaptive pooling, as it was asked for."""
    if isinstance(output_size, (tuple, list)):
        given = tuple(output_size)
        if len(given) == 1:
            given *= dims
    else:
        given = (output_size,) * dims
    if len(given) != dims:
        if dims == 1:
            raise RuntimeError(
                f"{name}() argument 'output_size' should contain one int (got {len(given)})"
            )
        raise RuntimeError(
            f"{name}(): internal error: output_size.size() must be {dims}"
            if colon
            else f"{name}: output_size must be {dims}"
        )
    if dims == 1 and given[0] is None:
        raise TypeError(
            f"{name}(): argument 'output_size' (position 2) must be tuple of ints, but found "
            "element of type NoneType at pos 0"
        )
    return given


def _label_of_means(_input: TensorLike, dims: int, output_size: Sizes) -> str:
    if dims == 1:
        return "SqueezeBackward1"
    given = output_size if isinstance(output_size, (tuple, list)) else (output_size,)
    is_mean = all(size == 1 for size in given)
    return "MeanBackward1" if is_mean else f"AdaptiveAvgPool{dims}DBackward0"


@private(_label_of_means, name="adaptive_avg_pool")
def _adaptive_avg_pool(input: Value, dims: int, output_size: Sizes) -> Value:
    sizes = adaptive_sizes(input, output_size, dims, f"adaptive_avg_pool{dims}d")
    return adaptive.means(input, sizes)


def _adaptive_avg_pool_nd(dims: int) -> Function:
    """Means over windows of {inputs}, such that the result has the size `output_size`.

    input (Tensor): {Inputs}, {shape}.
    output_size ({ints}): The {extent}.
    -> Tensor: The means, with `output_size` as the last {last}.
    RuntimeError: For an input of other dimensions.
    """

    def adaptive_avg_pool(input: Tensor, output_size: Sizes) -> Any:
        return _adaptive_avg_pool(input, dims, output_size)

    return keeps_channels_last(adaptive_avg_pool) if dims > 1 else adaptive_avg_pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = members(
    _adaptive_avg_pool_nd,
    """
    >>> F.adaptive_avg_pool1d(torch.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
    tensor([[2., 6.]])
    """,
    """
    >>> F.adaptive_avg_pool2d(torch.arange(16.0).reshape(1, 4, 4), 1)
    tensor([[[7.5000]]])
    """,
    """
    >>> F.adaptive_avg_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[3.5000]]]])
    """,
)
register(method=False)(adaptive_avg_pool1d)


# --- Norms --------------------------------------------------------------------------------------


def _norms(means: Any, count: int, norm_type: float) -> Any:
    relu = OPERATIONS["relu"]
    return (means.sign() * relu(means.abs())).mul(count).pow(1.0 / norm_type)


def _lp_pool(
    input: Tensor, dims: int, norm_type: float, kernel_size: Sizes, stride: Sizes, ceil_mode: bool
) -> Any:
    powers = input.pow(norm_type)
    means = _avg_pool(powers, dims, kernel_size, stride, 0, ceil_mode, True, None)
    count = math.prod(numbers_of(kernel_size, dims, f"lp_pool{dims}d", "kernel_size"))
    return _norms(means, count, norm_type)


def _lp_pool_nd(dims: int) -> Function:
    """Norms of windows of {inputs}: the sums of x**p to the power 1 / p.

    input (Tensor): {Inputs}, {shape}.
    -> Tensor: The norms, of the same number of dimensions.
    RuntimeError: For an input of other dimensions, and windows that do not fit.
    """

    def lp_pool(
        input: Tensor,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes = None,
        ceil_mode: bool = False,
    ) -> Any:
        return _lp_pool(input, dims, norm_type, kernel_size, stride, ceil_mode)

    return lp_pool


lp_pool1d, lp_pool2d, lp_pool3d = members(
    _lp_pool_nd,
    """
    >>> F.lp_pool1d(torch.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
    tensor([[ 5., 10.]])
    """,
    """
    >>> F.lp_pool2d(torch.ones(1, 4, 4), 2, 2)
    tensor([[[2., 2.],
             [2., 2.]]])
    """,
    """
    >>> F.lp_pool3d(torch.ones(1, 2, 2, 2), 2, 2)
    tensor([[[[2.8284]]]])
    """,
)


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
]

"""Which dtypes convolutions take, and PyTorch's errors for the others.

Knows which of PyTorch's kernels an array would go to. Must not know shapes or parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad.torch._dtypes import Size, of_numpy, type_word, word_of
from tapegrad.torch._ops.declare import private, register
from tapegrad.torch._rules.convolution import Kernel, convolve, gather, spread
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import Sizes, TensorLike
from tapegrad.torch.nn.dimensions import members
from tapegrad.torch.nn.memory_format import keeps_channels_last

_WORDS_OF_C = {
    "float64": "double",
    "float32": "float",
    "float16": "c10::Half",
    "int64": "long int",
    "int32": "int",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
_IN_C = "Input type ({}) and {} type ({}) should be the same"


def _in_c(given: np.dtype[Any]) -> str:
    name = of_numpy(given).name
    return _WORDS_OF_C.get(name, name)


def _differ(input: Value, other: Value, name: str) -> RuntimeError:
    """The error of a tensor and another one whose kernels are for one dtype."""
    text = _IN_C.format(type_word(input.dtype), name, type_word(other.dtype))
    if input.dtype == np.float32:
        text += f" or input should be a MKLDNN tensor and {name} is a dense tensor"
    return RuntimeError(text)


def _has_kernel_of_one_dtype(input: Value) -> bool:
    return input.dtype.kind == "c" or bool(input.dtype == np.float32)


def _check_dtypes(input: Value, weight: Value, bias: Value, dims: int) -> None:
    """RuntimeError for dtypes that differ, NotImplementedError for those without a kernel."""
    if bias is not None and bias.dtype != input.dtype:
        raise RuntimeError(_IN_C.format(_in_c(input.dtype), "bias", _in_c(bias.dtype)))
    if input.dtype.kind == "b":
        kernel = "compute_columns3d" if dims == 3 else "slow_conv2d_cpu"
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
    _check_weight(input, weight)


def _check_dtypes_transposed(input: Value, weight: Value, bias: Value, dims: int) -> None:
    """The same for a transposed convolution, whose integers are those of 64 bits."""
    if input.dtype.kind in "biu" and input.dtype != np.int64:
        kernel = f"slow_conv_transpose{max(dims, 2)}d_out_cpu"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{word_of(input.dtype)}'")
    _check_weight(input, weight)
    if bias is None or bias.dtype == input.dtype:
        return
    if _has_kernel_of_one_dtype(input):
        raise _differ(input, bias, "bias")
    if input.dtype.kind == "i" and dims < 3:
        raise RuntimeError(
            f"result type {word_of(bias.dtype)} can't be cast to the desired output type Long"
        )
    raise RuntimeError(
        f"expected scalar type {word_of(input.dtype)} but found {word_of(bias.dtype)}"
    )


def _check_weight(input: Value, weight: Value) -> None:
    if input.dtype == weight.dtype:
        return
    if _has_kernel_of_one_dtype(input):
        raise _differ(input, weight, "weight")
    raise RuntimeError(
        f"expected scalar type {word_of(input.dtype)} but found {word_of(weight.dtype)}"
    )


Moves = tuple[int, ...]


# --- Checks -------------------------------------------------------------------------------------


def _numbers(given: Sizes, count: int, name: str, dims: int) -> tuple[int, ...]:
    """A parameter as one number for each of the spatial axes of the weight.

    dims: of the function that was called, for which a number stands.
    """
    if isinstance(given, (tuple, list)):
        found = [int(number) for number in given]
        if len(found) == 1:
            found *= count
    else:
        found = [int(given)] * dims
    if len(found) != count:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {count} values to match "
            f"the convolution dimensions, but got {name}={found}"
        )
    return tuple(found)


def _check_moves(
    stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int
) -> None:
    if min(padding, default=0) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def _check_groups(weight: Value, groups: int) -> None:
    shape = list(weight.shape)
    if shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {shape} instead"
        )
    if shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{shape}] instead"
        )


def _check_bias(weight: Value, bias: Value, channels: int) -> None:
    if bias is not None and tuple(bias.shape) != (channels,):
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with "
            f"{channels} elements, but got bias of size {list(bias.shape)} instead"
        )


def _check_channels(given: str, weight: Value, input: Value, channels: int) -> None:
    if input.shape[1] != channels:
        raise RuntimeError(
            f"Given {given}, weight of size {list(weight.shape)}, expected input"
            f"{list(input.shape)} to have {channels} channels, but got {input.shape[1]} channels "
            "instead"
        )


def _sides(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def _check_fits(input: Value, weight: Value, kernel: Kernel) -> None:
    padded = [
        size + before + after
        for size, before, after in zip(input.shape[2:], kernel.before, kernel.after, strict=True)
    ]
    covered = [
        dilation * (width - 1) + 1
        for width, dilation in zip(weight.shape[2:], kernel.dilation, strict=True)
    ]
    if any(size < width for size, width in zip(padded, covered, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_sides(padded)}). Kernel size: "
            f"({_sides(covered)}). Kernel size can't be greater than actual input size"
        )


def _as_batch(input: Value, dims: int, name: str) -> Value:
    """The input with an axis of examples."""
    rank = len(input.shape)
    if rank not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got "
            f"input of size: {list(input.shape)}"
        )
    return input if rank == dims + 2 else np.expand_dims(input, 0)


# --- Operations ---------------------------------------------------------------------------------


def _label(input: TensorLike, *_rest: Any) -> str:
    dims = _rest[-1]
    return "SqueezeBackward1" if input.ndim == dims + 1 else "ConvolutionBackward0"


@private(_label, name="convolution", planned=True)
def _convolution(
    input: Value,
    weight: Value,
    bias: Value,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    dims: int,
) -> Value:
    x = _as_batch(input, dims, f"conv{dims}d")
    kernel = _kernel_of(x, weight, bias, (stride, padding, dilation, groups), dims)
    out = convolve(x, weight, bias, kernel=kernel)
    return out if x is input else np.squeeze(out, 0)


def _kernel_of(x: Value, weight: Value, bias: Value, settings: Any, dims: int) -> Kernel:
    """How the kernel of a convolution moves; the errors of all that does not fit."""
    stride, padding, dilation, groups = settings
    count = len(weight.shape) - 2
    stride = _numbers(stride, count, "stride", dims)
    dilation = _numbers(dilation, count, "dilation", dims)
    before = after = (0,) * count
    if not isinstance(padding, str):
        before = after = _numbers(padding, count, "padding", dims)
    elif padding == "same":
        if any(step != 1 for step in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        total = [d * (width - 1) for d, width in zip(dilation, weight.shape[2:], strict=True)]
        before = tuple(width // 2 for width in total)
        after = tuple(width - width // 2 for width in total)
    elif padding != "valid":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    _check_moves(stride, before, dilation, groups)
    _check_groups(weight, groups)
    _check_channels(f"groups={groups}", weight, x, weight.shape[1] * groups)
    _check_bias(weight, bias, weight.shape[0])
    kernel = Kernel(stride, before, after, dilation, groups)
    _check_fits(x, weight, kernel)
    _check_dtypes(x, weight, bias, dims)
    return kernel


def _check_cotangent(g: Value, x: Value, weight: Value, kernel: Kernel) -> None:
    """RuntimeError for a gradient of another shape or dtype than the convolution has."""
    places = kernel.places(x.shape[2:], weight.shape[2:])
    shape = (x.shape[0], weight.shape[0], *places)
    if g.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {Size(g.shape)} and output[0] has "
            f"a shape of {Size(shape)}."
        )
    if g.dtype != x.dtype:
        raise RuntimeError(f"expected scalar type {word_of(g.dtype)} but found {word_of(x.dtype)}")


@private("ConvolutionBackwardBackward0", name="convolution_input", planned=True)
def gradient_of_input(
    weight: Value, grad_output: Value, size: Sizes, settings: Any, dims: int
) -> Value:
    """The gradient of a convolution by its input, which has a size."""
    x = np.empty(tuple(size), weight.dtype)
    batch = _as_batch(x, dims, f"conv{dims}d")
    g = grad_output if batch is x else np.expand_dims(grad_output, 0)
    kernel = _kernel_of(batch, weight, None, settings, dims)
    _check_cotangent(g, batch, weight, kernel)
    out = spread(g, weight, None, kernel=kernel, sizes=batch.shape[2:])
    return out if batch is x else np.squeeze(out, 0)


@private("ConvolutionBackwardBackward0", name="convolution_weight", planned=True)
def gradient_of_weight(
    input: Value, grad_output: Value, size: Sizes, settings: Any, dims: int
) -> Value:
    """The gradient of a convolution by its weight, which has a size."""
    x = _as_batch(input, dims, f"conv{dims}d")
    g = grad_output if x is input else np.expand_dims(grad_output, 0)
    weight = np.empty(tuple(size), x.dtype)
    kernel = _kernel_of(x, weight, None, settings, dims)
    _check_cotangent(g, x, weight, kernel)
    return gather(x, g, kernel=kernel, widths=weight.shape[2:])


def _check_output_padding(more: Moves, stride: Moves, dilation: Moves) -> None:
    """RuntimeError unless it is below the stride or the dilation, told of images."""
    if all(e < step or e < d for e, step, d in zip(more, stride, dilation, strict=True)):
        return
    parts = {"output_padding": (0, *more), "stride": (1, *stride), "dilation": (1, *dilation)}
    if len(more) > 1:
        parts = {name: values[1:] for name, values in parts.items()}
    axes = ("depth", "height", "width")[-max(len(more), 2) :]
    raise RuntimeError(
        "output padding must be smaller than either stride or dilation, but got "
        + " ".join(
            f"{name}_{axis}: {value}"
            for name, values in parts.items()
            for axis, value in zip(axes, values, strict=True)
        )
    )


@private(_label, name="conv_transpose", planned=True)
def _transposed_convolution(
    input: Value,
    weight: Value,
    bias: Value,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
    dims: int,
) -> Value:
    x = _as_batch(input, dims, f"conv_transpose{dims}d")
    count = len(weight.shape) - 2
    if isinstance(padding, str):
        raise TypeError(
            f"conv_transpose{dims}d(): argument 'padding' must be tuple of ints, not str"
        )
    stride = _numbers(stride, count, "stride", dims)
    padding = _numbers(padding, count, "padding", dims)
    more = _numbers(output_padding, count, "output_padding", dims)
    dilation = _numbers(dilation, count, "dilation", dims)
    if min(more) < 0:
        raise RuntimeError("negative output_padding is not supported")
    _check_moves(stride, padding, dilation, groups)
    _check_groups(weight, groups)
    _check_channels("transposed=1", weight, x, weight.shape[0])
    _check_bias(weight, bias, weight.shape[1] * groups)
    sizes = tuple(
        (size - 1) * step - 2 * pad + d * (width - 1) + extra + 1
        for size, step, pad, d, width, extra in zip(
            x.shape[2:], stride, padding, dilation, weight.shape[2:], more, strict=True
        )
    )
    if min(sizes) < 1:
        raise RuntimeError(
            f"Given input size per channel: ({_sides(x.shape[2:])}). Calculated output size per "
            f"channel: ({_sides(sizes)}). Output size is too small"
        )
    if x.size:
        _check_output_padding(more, stride, dilation)
    _check_dtypes_transposed(x, weight, bias, dims)
    after = tuple(pad - extra for pad, extra in zip(padding, more, strict=True))
    kernel = Kernel(stride, padding, after, dilation, groups)
    out = spread(x, weight, bias, kernel=kernel, sizes=sizes)
    return out if x is input else np.squeeze(out, 0)


# --- Functions ----------------------------------------------------------------------------------


def _conv_nd(dims: int) -> Function:
    """Convolution of {inputs} (cross-correlation): weighted sums over windows.

    input (Tensor): {Inputs}, {shape}.
    weight (Tensor): Of shape (out channels, channels / groups, {kernel}), and of the dtype of
        `input`.
    bias (Tensor): A number for each of the output channels, which is added.
    stride (int or tuple of int): The steps between windows, for all axes or for each.
    padding (int, tuple of int, or {"valid", "same"}): How many zeros are put before and after each
        axis; "valid" for none, "same" for as many as keep the sizes.
    -> Tensor: {Inputs} with the out channels.
    RuntimeError: For shapes, dtypes and numbers that do not fit.
    """

    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Any:
        return _convolution(input, weight, bias, stride, padding, dilation, groups, dims)

    return keeps_channels_last(conv) if dims > 1 else conv


conv1d, conv2d, conv3d = map(
    register(method=False),
    members(
        _conv_nd,
        """
        >>> F.conv1d(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[[1.0, 10.0]]]))
        tensor([[21., 32.]])
        """,
        """
        >>> F.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2))
        tensor([[[[4., 4.],
                  [4., 4.]]]])
        """,
        """
        >>> F.conv3d(torch.ones(1, 1, 2, 2, 3), torch.ones(1, 1, 2, 2, 2))
        tensor([[[[[8., 8.]]]]])
        """,
    ),
)


def _conv_transpose_nd(dims: int) -> Function:
    """Transposed convolution of {inputs}: the derivative of `conv{nd}` by its input.

    input (Tensor): {Inputs}, {shape}.
    weight (Tensor): Of shape (channels, out channels / groups, {kernel}), and of the dtype of
        `input`.
    bias (Tensor): A number for each of the output channels, which is added.
    stride (int or tuple of int): The steps of the convolution, for all axes or for each.
    output_padding (int or tuple of int): Elements more at the end of each axis, since several
        sizes have convolutions of one size.
    -> Tensor: {Inputs} with the out channels.
    RuntimeError: For shapes, dtypes and numbers that do not fit.
    """

    def conv_transpose(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        dilation: Sizes = 1,
    ) -> Any:
        return _transposed_convolution(
            input, weight, bias, stride, padding, output_padding, groups, dilation, dims
        )

    return keeps_channels_last(conv_transpose) if dims > 1 else conv_transpose


conv_transpose1d, conv_transpose2d, conv_transpose3d = map(
    register(method=False),
    members(
        _conv_transpose_nd,
        """
        >>> F.conv_transpose1d(torch.tensor([[1.0, 2.0]]), torch.tensor([[[1.0, 10.0]]]), stride=2)
        tensor([[ 1., 10.,  2., 20.]])
        """,
        """
        >>> F.conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2))
        tensor([[[[1., 2., 1.],
                  [2., 4., 2.],
                  [1., 2., 1.]]]])
        """,
        """
        >>> F.conv_transpose3d(torch.ones(1, 1, 1, 1, 2), torch.ones(1, 1, 1, 1, 2))
        tensor([[[[[1., 2., 1.]]]]])
        """,
    ),
)


@register(method=False)
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Any:
    """The convolution, or transposed one, of as many dimensions as the weight has.

    input: Of shape (n, channels, ...) or (channels, ...).
    weight: As in `nn.functional.conv2d`, or, transposed, as in `nn.functional.conv_transpose2d`.
    bias (Tensor or None): A number for each of the output channels, which is added.
    stride (int or tuple of int): The steps of the convolution, for all axes or for each.
    padding (int, tuple of int, or {"valid", "same"}): As in these functions.
    transposed: Whether it is a transposed convolution.
    output_padding (int or tuple of int): As in `nn.functional.conv_transpose2d`; else without
        effect.
    -> Tensor: Of the same number of dimensions, with the out channels.
    RuntimeError: For shapes, dtypes and numbers that do not fit.

    >>> x, kernel = torch.ones(1, 1, 3), torch.ones(1, 1, 2)
    >>> torch.convolution(x, kernel, None, 1, 0, 1, False, 0, 1)
    tensor([[[2., 2.]]])
    """
    dims = weight.ndim - 2
    if transposed:
        return _transposed_convolution(
            input, weight, bias, stride, padding, output_padding, groups, dilation, dims
        )
    return _convolution(input, weight, bias, stride, padding, dilation, groups, dims)


__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
]

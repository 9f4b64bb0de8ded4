"""Windows of images as columns: unfold, and its transpose, fold.

Knows PyTorch's parameters and checks. Must not know how windows are copied, nor modules.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.declare import private
from tapegrad.torch._rules.convolution import Kernel
from tapegrad.torch._rules.convolution import fold as _fold_windows
from tapegrad.torch._rules.convolution import unfold as _unfold_windows
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import Sizes


def _two(given: Sizes, name: str) -> tuple[int, int]:
    if not isinstance(given, (tuple, list)):
        return (int(given), int(given))
    if len(given) not in (1, 2):
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(given)}")
    return (int(given[0]), int(given[-1]))


def _kernel_of(
    kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> tuple[tuple[int, int], Kernel]:
    widths, dilation = _two(kernel_size, "kernel_size"), _two(dilation, "dilation")
    padding, stride = _two(padding, "padding"), _two(stride, "stride")
    for name, word, values in (
        ("kernel size", "kernel", widths),
        ("stride", "stride", stride),
        ("dilation", "dilation", dilation),
    ):
        if min(values) <= 0:
            raise RuntimeError(
                f"{name} should be greater than zero, but got {word}_height: {values[0]} "
                f"{word}_width: {values[1]}"
            )
    if min(padding) < 0:
        raise RuntimeError(
            f"padding should be non-negative, but got pad_height: {padding[0]} "
            f"pad_width: {padding[1]}"
        )
    return widths, Kernel(stride, padding, padding, dilation)


def _refuse_integers(input: Value, name: str) -> None:
    if input.dtype.kind not in "fc":
        raise NotImplementedError(f"\"{name}\" not implemented for '{word_of(input.dtype)}'")


@private("Im2ColBackward0", name="unfold")
def _unfold(
    input: Value, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Value:
    widths, kernel = _kernel_of(kernel_size, dilation, padding, stride)
    shape = input.shape
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )
    places = kernel.places(shape[-2:], widths)
    if min(places) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={widths}, "
            f"dilation={kernel.dilation}, padding={kernel.before}, calculated shape of the array "
            f"of sliding blocks as {places}, but its components must be at least one."
        )
    _refuse_integers(input, "im2col_out_cpu")
    if len(shape) == 3:
        out = _unfold_windows(np.expand_dims(input, 0), widths=widths, kernel=kernel)
        return np.squeeze(out, 0)
    return _unfold_windows(input, widths=widths, kernel=kernel)


@private("Col2ImBackward0", name="fold")
def _fold(
    input: Value,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes,
    padding: Sizes,
    stride: Sizes,
) -> Value:
    sizes = _two(output_size, "output_size")
    widths, kernel = _kernel_of(kernel_size, dilation, padding, stride)
    shape = input.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(shape)}"
        )
    elements, given = shape[-2:]
    if elements % math.prod(widths):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={elements} and kernel_size={widths}."
        )
    places = kernel.places(sizes, widths)
    said = (
        f"Given output_size={sizes}, kernel_size={widths}, dilation={kernel.dilation}, "
        f"padding={kernel.before}, stride={kernel.stride},"
    )
    if math.prod(places) != given:
        raise RuntimeError(
            f"{said} expected size of input's dimension 2 to match the calculated number of "
            f"sliding blocks {places[0]} * {places[1]} = {math.prod(places)}, but got "
            f"input.size(2)={given}."
        )
    if min(places) < 1:
        raise RuntimeError(
            f"{said} calculated shape of the array of sliding blocks as {places}, which is too "
            "small (non-positive)"
        )
    _refuse_integers(input, "col2im_out_cpu")
    way: Any = {
        "shape": (elements // math.prod(widths), *sizes),
        "widths": widths,
        "kernel": kernel,
    }
    if len(shape) == 2:
        return np.squeeze(_fold_windows(np.expand_dims(input, 0), **way), 0)
    return _fold_windows(input, **way)


def unfold(
    input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Any:
    """Windows of images as columns.

    kernel_size (int or tuple of int): The height and width of a window.
    padding (int or tuple of int): How many zeros are put before and after each axis.
    -> Tensor: Of shape (n, channels * elements of a window, number of windows), or without n.
    RuntimeError: For an input of other dimensions, and images that have no window.

    >>> F.unfold(torch.arange(9.0).reshape(1, 3, 3), 2)
    tensor([[0., 1., 3., 4.],
            [1., 2., 4., 5.],
            [3., 4., 6., 7.],
            [4., 5., 7., 8.]])
    """
    return _unfold(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Any:
    """Images of the sums of windows given as columns: the transpose of `unfold`.

    input: Of shape (n, channels * elements of a window, number of windows), or without n.
    kernel_size (int or tuple of int): The height and width of a window.
    padding (int or tuple of int): How many zeros are put before and after each axis.
    -> Tensor: Of shape (n, channels, height, width), or without n.
    RuntimeError: For an input of other dimensions, and unless there are as many windows as fit.

    >>> F.fold(torch.ones(4, 4), 3, 2)
    tensor([[[1., 2., 1.],
             [2., 4., 2.],
             [1., 2., 1.]]])
    """
    return _fold(input, output_size, kernel_size, dilation, padding, stride)


__all__ = ["fold", "unfold"]

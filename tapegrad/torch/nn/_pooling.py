"""Average pooling: means over windows of images.

Knows PyTorch's parameters and checks. Must not know how windows are summed (`_rules.windows`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._ops.declare import private
from tapegrad.torch._rules import windows
from tapegrad.torch._tensor.tensor import Tensor


def _two(value: int | tuple[int, ...] | list[int]) -> tuple[int, int]:
    if isinstance(value, (tuple, list)):
        return (int(value[0]), int(value[-1]))
    return (int(value), int(value))


@private("AvgPool2DBackward0")
def _avg_pool2d(
    input: Value,
    kernel_size: int | tuple[int, ...] | list[int],
    stride: int | tuple[int, ...] | list[int] | None,
    padding: int | tuple[int, ...] | list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Value:
    if len(input.shape) not in (3, 4):
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    kernel, pads = _two(kernel_size), _two(padding)
    steps = kernel if stride is None or stride in ((), []) else _two(stride)
    if 0 in steps:
        raise RuntimeError("stride should not be zero")
    if any(2 * pad > side for pad, side in zip(pads, kernel, strict=True)):
        raise RuntimeError("pad should be at most half of effective kernel size")
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    rows, columns = (
        windows.windows_of(*along, ceil_mode)
        for along in zip(input.shape[-2:], kernel, steps, pads, strict=True)
    )
    if rows.number < 1 or columns.number < 1:
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, input.shape[-3:]))}). Calculated output size: "
            f"({input.shape[-3]}x{rows.number}x{columns.number}). Output size is too small"
        )
    total = windows.sums(input, rows=rows, columns=columns)
    if divisor_override is not None:
        return total / divisor_override
    down = rows.extents(padded=count_include_pad)
    along = columns.extents(padded=count_include_pad)
    if np.ptp(down) == 0 == np.ptp(along):
        return total * (1 / float(down[0] * along[0]))
    return total / np.multiply.outer(down, along).astype(input.dtype)


def avg_pool2d(
    input: Tensor,
    kernel_size: int | tuple[int, ...] | list[int],
    stride: int | tuple[int, ...] | list[int] | None = None,
    padding: int | tuple[int, ...] | list[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """Means over windows of images (n, channels, height, width), or (channels, height, width).

    kernel_size, stride (as kernel_size unless given) and padding: an int or two. ceil_mode: also
    the windows that reach beyond the edge. count_include_pad: the zeros of the padding count as
    elements.
    """
    return _avg_pool2d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )

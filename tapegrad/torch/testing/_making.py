"""`make_tensor`: tensors drawn at random, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch._dtypes import as_numpy, device, sizes_of
from tapegrad.torch._ops.create.generator import source
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch._types import Device, DType, MemoryFormat


def make_tensor(
    *shape: Any,
    dtype: DType,
    device: Device = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: MemoryFormat = None,
) -> Tensor:
    """A tensor of uniform numbers from low to before high.

    Unless given, they are -9 and 9 for floats, whole numbers from -9 to 9 (from 0 without a sign),
    and both truth values for bool; of complex numbers each part is drawn so.

    *shape (int or sequence of ints): The sizes.
    dtype: The dtype.
    device (device or str, default 'cpu'): The CPU.
    low: The lower bound, included.
    high: The upper bound, not included.
    requires_grad: Whether the tensor requires grad.
    noncontiguous: Whether it is every second element of memory.
    exclude_zero: Whether zeros become the least positive number, or 1 for whole numbers.
    memory_format: The order of the elements in memory.
    -> Tensor: The tensor.
    ValueError: If `low` is not below `high`, or `noncontiguous` and `memory_format` are given
        both.

    >>> torch.testing.make_tensor(2, 3, dtype=torch.float32).shape
    torch.Size([2, 3])
    """
    _only_cpu(device)
    sides, kind = sizes_of(shape), as_numpy(dtype)
    least, most = _bounds(kind, low, high)
    if not least < most:
        raise ValueError(
            f"make_tensor: low must be weakly less than high, got low={least} and high={most}"
        )
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    drawn = source(None)
    drawn_sides = (*sides[:-1], 2 * sides[-1]) if noncontiguous and sides else sides
    made: Any
    if kind.kind in "biu":
        made = drawn.integers(int(np.ceil(least)), int(np.ceil(most)), drawn_sides)
    elif kind.kind == "c":
        made = drawn.uniform(least, most, drawn_sides) + 1j * drawn.uniform(
            least, most, drawn_sides
        )
    else:
        made = drawn.uniform(least, most, drawn_sides)
    made = np.asarray(made).astype(kind)
    if exclude_zero:
        made[made == 0] = 1 if kind.kind in "biu" else np.finfo(kind).tiny
    if noncontiguous and sides:
        made = made[..., ::2]
    return of_value(made).requires_grad_(requires_grad)


def _only_cpu(given: Device) -> None:
    device(given)


def _bounds(kind: np.dtype[Any], low: float | None, high: float | None) -> tuple[float, float]:
    """The range of numbers: those given, within what the dtype can hold."""
    least, most = (0.0, 2.0) if kind.kind == "b" else (-9.0, 10.0 if kind.kind in "iu" else 9.0)
    if kind.kind == "u":
        least = 0.0
    least, most = (least if low is None else low), (most if high is None else high)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return max(least, float(limits.min)), min(most, float(limits.max) + 1)
    if kind.kind == "b":
        return max(least, 0.0), min(most, 2.0)
    return least, most

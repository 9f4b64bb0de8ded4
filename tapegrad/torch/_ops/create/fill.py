"""Writes into all elements: `zero_`, `fill_`, and `replaced`, by which random writes are logged.

Knows how a write is logged. Must not know where the numbers come from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.forms import General
from tapegrad._core.quiet import silence
from tapegrad._core.types import Value
from tapegrad._core.values import innermost, untraced
from tapegrad.torch._graph.node import node_class
from tapegrad.torch._ops.declare import register
from tapegrad.torch._tensor.short_writes import is_held, store_number
from tapegrad.torch._tensor.tensor import Tensor, array_of
from tapegrad.torch._tensor.writes import write
from tapegrad.torch._types import Number, TensorLike


def replaced(old: Value, new: Value) -> Value:
    """`new` in the shape of `old`. It stays on the graph of `old`, with a derivative of zero."""
    if innermost([old, new]) is None:
        return np.broadcast_to(new, old.shape)
    return _REPLACED.apply_bound([old, new], {})


def _replaced(old: Value, new: Value) -> Value:
    return np.broadcast_to(new, old.shape).copy()


# The old values get zeros without a history, as from PyTorch's fill.
_REPLACED = General(
    _replaced,
    vjp=[
        lambda _g, _out, old, _new: np.zeros(old.shape, old.dtype),
        lambda g, _out, _old, _new: g,
    ],
    batch="align",
    name="fill",
)
ZERO, FILL = node_class("ZeroBackward0"), node_class("FillBackward2")


@register()
def zero_(self: Tensor) -> Tensor:
    """Write zeros into this tensor.

    >>> torch.zero_(torch.ones(2))
    tensor([0., 0.])
    """
    if store_number(self, 0, _REPLACED, ZERO):
        return self
    return write(self, lambda old: replaced(old, np.zeros((), old.dtype)), "ZeroBackward0")


@register()
def fill_(self: Tensor, value: TensorLike) -> Tensor:
    """Write a number, or a tensor of no dimensions, into all elements of this tensor.

    value (number or Tensor): The number, or a tensor of no dimensions.

    >>> torch.fill_(torch.zeros(2), 3.0)
    tensor([3., 3.])
    """
    if not isinstance(value, Tensor):
        if is_held(value, self) and store_number(self, value, _REPLACED, FILL):
            return self
        given = filled_as(value, self._value.dtype)
        return write(self, lambda old: replaced(old, given), "FillBackward2")
    if value._value.shape:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value._value.ndim} dimensions."
        )
    array = array_of(value)

    def compute(old: Value) -> Value:
        new = np.real(array) if array.dtype.kind == "c" and old.dtype.kind != "c" else array
        return replaced(old, new.astype(old.dtype))

    return write(self, compute, "FillBackward3", [value])


# The names of dtypes in PyTorch's message, where they are others than NumPy's.
C_NAMES = {
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "int32": "int",
    "bfloat16": "c10::BFloat16",
    "float16": "c10::Half",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


BRAIN_MAX = 2.0**127 * (2 - 2.0**-7)  # the greatest bfloat16


def _holds(given: np.dtype[Any], number: Any) -> bool:
    """Whether a number lies in the range of a dtype. Negative ones may wrap in unsigned dtypes."""
    kind = given.kind
    if kind == "V":  # bfloat16 reaches as far as float32, nearly
        return bool(not np.isfinite(number) or abs(number) <= BRAIN_MAX)
    if kind == "b":
        return True
    if issubclass(type(number), (complex, np.complexfloating)):
        part = np.zeros(0, given).real.dtype
        real, imag = number.real, number.imag
        return _holds(part, real) and (_holds(part, imag) if kind == "c" else not imag)
    if kind in "iu":
        most, least = np.iinfo(given).max, np.iinfo(given).min
        if kind == "u" and isinstance(number, (int, np.integer)):
            least = -most
        return bool(least <= number <= most)
    if kind not in "fc":
        return True
    largest = float(np.finfo(given).max)
    if isinstance(number, (int, np.integer)):
        return bool(-largest <= int(number) <= largest)
    return bool(not np.isfinite(number) or abs(number) <= largest)


def filled_as(value: Number, given: np.dtype[Any]) -> Value:
    """A Python number as an array of no dimensions; RuntimeError if the dtype cannot hold it."""
    number = untraced(value)
    if type(number) is int and not -(2**63) <= number < 2**64:
        raise OverflowError("int too big to convert")
    if not _holds(given, number):
        word = C_NAMES.get(given.name, given.name)
        raise RuntimeError(f"value cannot be converted to type {word} without overflow")
    if issubclass(type(number), complex) and given.kind not in "bc":
        number = number.real
    with silence():
        return np.asarray(number).astype(given)


__all__ = ["filled_as", "replaced"]

"""Windows for spectra: Hann, Hamming, Blackman, Bartlett, Kaiser. They are constants.

Knows PyTorch's parameters. Must not know transforms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch import _dtypes
from tapegrad.torch._ops.create.creation import finish
from tapegrad.torch._ops.create.data import numpy_dtype
from tapegrad.torch._ops.declare import register
from tapegrad.torch._tensor.tensor import Tensor

Shape = Callable[..., Value]


def _cosines(a: float, b: float, c: float = 0.0) -> Shape:
    """a - b cos t + c cos 2t, for t from 0 to 2 pi."""

    def shape(places: Value, last: int) -> Value:
        turns = places * (2 * math.pi / last)
        return a - b * np.cos(turns) + c * np.cos(2 * turns)

    return shape


def _made(
    word: str, length: int, periodic: bool, shape: Shape, dtype: Any, options: dict[str, Any]
) -> Tensor:
    given = numpy_dtype(word, dtype) or _dtypes.default_float()
    if not _dtypes.of_numpy(given).is_floating_point:
        raise RuntimeError(f"{word} expects floating point dtypes, got: {_dtypes.of_numpy(given)}")
    if length < 0:
        raise RuntimeError(
            f"{word} requires non-negative window_length, got window_length={length}"
        )
    if length <= 1:
        value = np.ones(length)
    else:
        last = length if periodic else length - 1
        value = np.asarray(shape(np.arange(length, dtype=np.float64), last))
    for word_of_layout in ("layout", "pin_memory"):
        options.pop(word_of_layout, None)
    return finish(value.astype(given), word, **options)


@register(method=False)
def hann_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, **options: Any
) -> Tensor:
    """`sin(pi k / n) ** 2`."""
    return _made("hann_window", window_length, periodic, _cosines(0.5, 0.5), dtype, options)


@register(method=False)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    **options: Any,
) -> Tensor:
    """`alpha - beta cos(2 pi k / n)`.

    alpha: The mean.
    beta: The height of the cosine.
    """
    shape = _cosines(alpha, beta)
    return _made("hamming_window", window_length, periodic, shape, dtype, options)


@register(method=False)
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, **options: Any
) -> Tensor:
    """`0.42 - 0.5 cos(2 pi k / n) + 0.08 cos(4 pi k / n)`."""
    shape = _cosines(0.42, 0.5, 0.08)
    return _made("blackman_window", window_length, periodic, shape, dtype, options)


@register(method=False)
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, **options: Any
) -> Tensor:
    """A triangle from 0 to 1 and back."""

    def shape(places: Value, last: int) -> Value:
        return 1 - np.abs(2 * places / last - 1)

    return _made("bartlett_window", window_length, periodic, shape, dtype, options)


@register(method=False)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    **options: Any,
) -> Tensor:
    """`i0(beta sqrt(1 - (2 k / n - 1) ** 2)) / i0(beta)`.

    beta: How narrow it is.
    """

    def shape(places: Value, last: int) -> Value:
        middle = np.maximum(0, 1 - (2 * places / last - 1) ** 2)
        return np.i0(beta * np.sqrt(middle)) / np.i0(beta)

    return _made("kaiser_window", window_length, periodic, shape, dtype, options)

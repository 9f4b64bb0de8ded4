"""Parameters and buffers of a shape and dtype, whose values a layer sets afterwards.

Knows the default dtype. Must not know layers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch._dtypes import as_numpy, default_float, dtype
from tapegrad.torch._tensor.tensor import of_value
from tapegrad.torch.nn._parameter import Parameter


def given_dtype(dtype: dtype | None) -> np.dtype[Any]:
    """The dtype of a layer's parameters: the default one unless it is given."""
    return np.dtype(default_float() if dtype is None else as_numpy(dtype))


def empty_parameter(shape: tuple[int, ...], dtype: dtype | None) -> Any:
    """A parameter without values."""
    return Parameter(of_value(np.empty(shape, given_dtype(dtype))))


def filled(shape: tuple[int, ...], value: float, dtype: dtype | None) -> Any:
    """A tensor with one value everywhere."""
    return of_value(np.full(shape, value, given_dtype(dtype)))


__all__ = ["empty_parameter", "filled", "given_dtype"]

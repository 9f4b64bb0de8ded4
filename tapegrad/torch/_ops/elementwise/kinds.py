"""Which kinds of numbers a function takes: PyTorch has kernels of floats alone for many.

Knows the words of PyTorch's errors. Must not know what is computed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tapegrad._core.types import Value
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._types import Number

FLOATS = "fV"  # those of NumPy, and bfloat16


def require_kind(input: Value, kernel: str, kinds: str = FLOATS) -> None:
    """NotImplementedError, in PyTorch's words, for an array of another kind of numbers."""
    if input.dtype.kind not in kinds:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{word_of(input.dtype)}'")


def of_kind(kernel: str, kinds: str = FLOATS) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function of arrays whose first one has to be of these kinds."""

    def decorate(compute: Callable[..., Any]) -> Any:
        @functools.wraps(compute)
        def checked(input: Value, *args: Any, **kwargs: Any) -> Any:
            require_kind(input, kernel, kinds)
            return compute(input, *args, **kwargs)

        return checked

    return decorate


def require_order(input: Value, word: str) -> None:
    """The errors of functions that clamp: RuntimeError(word) for bool; complex has no order."""
    if input.dtype.kind == "b":
        raise RuntimeError(word)
    if input.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")


def bounds_of(input: Value, low: Number, high: Number) -> tuple[Number, Number]:
    """Bounds as hardtanh has them: whole numbers for integers, so that these stay integers."""
    require_order(input, "Bool inputs not supported for hardtanh")
    return (int(low), int(high)) if input.dtype.kind in "iu" else (low, high)


def require_one_dtype(input: Value, other: Value, word: str) -> None:
    """RuntimeError for two dtypes; NotImplementedError for one that is not of floats."""
    if input.dtype != other.dtype:
        given = f"{word_of(input.dtype)} and {word_of(other.dtype)}"
        raise RuntimeError(f"{word}: Type promoting not supported. Got {given}")
    require_kind(input, f"{word}_cpu")

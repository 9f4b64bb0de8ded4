"""Inputs that activations refuse: dtypes that PyTorch has no kernel for, and non-numbers.

Knows the names of PyTorch's kernels, which its errors give. Must not know what is computed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import Traced
from tapegrad.torch._dims import mistyped
from tapegrad.torch._dtypes import require_kind, word_of

# The kernel of each, and the kinds of dtypes that it takes.
KERNELS = {
    **dict.fromkeys(("elu", "celu", "selu"), ("elu_cpu", "f")),
    **{
        name: (f"{name}_cpu", "f")
        for name in ("glu", "hardshrink", "hardsigmoid", "hardswish", "leaky_relu", "mish")
    },
    "gelu": ("GeluKernelImpl", "f"),
    "logsigmoid": ("log_sigmoid_cpu", "f"),
    "silu": ("silu_cpu", "fc"),
    "softplus": ("softplus_cpu", "f"),
    "softshrink": ("softshrink_check", "f"),
    "softsign": ("abs_cpu", "fciu"),
    "threshold": ("threshold_cpu", "fiu"),
}


def check_dtype(word: str, input: Value) -> None:
    """NotImplementedError or RuntimeError for a dtype that the activation is not made for."""
    kind = input.dtype.kind
    if kind == "f":
        return
    if word in ("hardtanh", "relu6", "relu"):
        _check_clamped("relu" if word == "relu" else "hardtanh", kind)
    kernel, kinds = KERNELS.get(word, ("", "fciub"))
    require_kind(input.dtype, kernel, kinds)


def _check_clamped(word: str, kind: str) -> None:
    if kind == "b":
        boolean = "Boolean" if word == "relu" else "Bool"
        raise RuntimeError(f"{boolean} inputs not supported for {word}")
    if kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")


def bounds_for(input: Value, low: Any, high: Any) -> tuple[Any, Any]:
    """The bounds of hardtanh in the dtype of its argument, as far as integers go."""
    if low > high:
        raise ValueError("min_val cannot be greater than max_val")
    kind = input.dtype.kind
    if kind not in "iu":
        return low, high
    if kind == "u" and low < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return int(low), int(high)


def require_one_dtype(input: Value, other: Value, word: str) -> None:
    """RuntimeError for two dtypes; NotImplementedError for one that is not of floats."""
    if input.dtype != other.dtype:
        given = f"{word_of(input.dtype)} and {word_of(other.dtype)}"
        raise RuntimeError(f"{word}: Type promoting not supported. Got {given}")
    require_kind(input.dtype, f"{word}_cpu")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex, np.generic, np.ndarray, Traced))


def refusing(compute: Callable[..., Value]) -> Callable[..., Value]:
    """A function of an array and numbers that refuses other dtypes and what is no number."""
    word = compute.__name__
    names = list(inspect.signature(compute).parameters.values())
    places = {p.name: place for place, p in enumerate(names, 1) if p.annotation == "float"}
    ordered = [p.name for p in names]

    @functools.wraps(compute)
    def checked(input: Value, *args: Any, **kwargs: Any) -> Value:
        check_dtype(word, input)
        if args or kwargs:
            for name, value in (*zip(ordered[1:], args, strict=False), *kwargs.items()):
                if name in places and not _is_number(value):
                    raise mistyped(word, name, places[name], "Number", value)
        return compute(input, *args, **kwargs)

    return checked

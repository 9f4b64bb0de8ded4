"""Which dtypes convolutions take, and PyTorch's errors for the others.

Knows which of PyTorch's kernels an array would go to. Must not know shapes or parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._dtypes import of_numpy, type_word, word_of

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


def check_dtypes(input: Value, weight: Value, bias: Value, dims: int) -> None:
    """RuntimeError for dtypes that differ, NotImplementedError for those without a kernel."""
    if bias is not None and bias.dtype != input.dtype:
        raise RuntimeError(_IN_C.format(_in_c(input.dtype), "bias", _in_c(bias.dtype)))
    if input.dtype.kind == "b":
        kernel = "compute_columns3d" if dims == 3 else "slow_conv2d_cpu"
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
    _check_weight(input, weight)


def check_dtypes_transposed(input: Value, weight: Value, bias: Value, dims: int) -> None:
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


__all__ = ["check_dtypes", "check_dtypes_transposed"]

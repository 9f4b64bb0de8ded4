"""Lengths and directions of vectors along a dimension, and their bilinear products.

Knows which vectors are too short to have a direction. Must not know losses or modules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.torch._ops.declare import OPERATIONS, operation, private
from tapegrad.torch._ops.elementwise.arithmetic import promoted
from tapegrad.torch._tensor.tensor import Tensor


def _bounded_norm(x: Value, p: float, axis: int, eps: float) -> Value:
    length = np.linalg.norm(x, p, axis, keepdims=True)
    return np.where(untraced(length) >= eps, length, np.asarray(eps, length.dtype))


@private("DivBackward0")
def _normalize(input: Value, p: float, dim: int, eps: float) -> Value:
    return input / _bounded_norm(input, p, dim, eps)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Any:
    """The tensor divided by its p-norm along a dimension, or by eps if that is larger."""
    made = _normalize(input, p, dim, eps)
    return made if out is None else out.copy_(made)


@operation("SumBackward1", method=False)
def cosine_similarity(x1: Value, x2: Value, dim: int = 1, eps: float = 1e-8) -> Value:
    """The cosines of the angles between vectors along a dimension."""
    x, y = promoted(x1, x2)
    return np.sum(
        (x / _bounded_norm(x, 2, dim, eps)) * (y / _bounded_norm(y, 2, dim, eps)), axis=dim
    )


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """`input1 @ weight[k] @ input2` for every k, plus bias."""
    made = OPERATIONS["einsum"]("...i,kij,...j->...k", input1, weight, input2)
    return made if bias is None else made + bias

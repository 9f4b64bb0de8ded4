"""Lengths and directions of vectors along a dimension, and their bilinear products.

Knows which vectors are too short to have a direction. Must not know losses or modules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.torch._dims import wrapped
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.declare import operation, private, register
from tapegrad.torch._ops.elementwise.arithmetic import promoted
from tapegrad.torch._ops.reduce.sums import vector_norm
from tapegrad.torch._rules.pairs import distances_of_pairs
from tapegrad.torch._tensor.tensor import Tensor


def _bounded_norm(x: Value, p: float, axis: int, eps: float) -> Value:
    if not x.ndim:
        wrapped(axis, 0)
        length = np.absolute(x)
    else:
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
    dim = wrapped(dim, max(len(x.shape), len(y.shape)))
    products = (x / _bounded_norm(x, 2, dim, eps)) * (y / _bounded_norm(y, 2, dim, eps))
    return np.sum(products, axis=dim) if products.ndim else products


@private("NormBackward1", name="norm")
def _norm(input: Value, p: float, keepdim: bool) -> Value:
    return vector_norm(input, p, -1, keepdim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The p-norms of `x1 - x2 + eps` along the last dimension."""
    return _norm(x1 - x2 + eps, p, keepdim)


register("pairwise_distance", method=False)(pairwise_distance)


@operation("PdistBackward0", method=False)
def pdist(input: Value, p: float = 2.0) -> Value:
    """The p-norms of the differences of all pairs of rows: (n, d) to (n * (n - 1) / 2).

    RuntimeError for other than two dimensions, integers, and p below 0.
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if input.dtype.kind != "f":
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return distances_of_pairs(input, p=float(p))


@private("ViewBackward0", name="bilinear")
def _trilinear(input1: Value, input2: Value, weight: Value) -> Value:
    if len(input1.shape) != len(input2.shape):
        raise RuntimeError(
            "bilinear(): input dimensions do not match: got "
            f"{len(input1.shape)} and {len(input2.shape)}"
        )
    for place, (x, y) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if x != y:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {place}: got {x} and {y}"
            )
    for number, given, size in ((1, input1, weight.shape[1]), (2, input2, weight.shape[2])):
        if given.shape[-1] != size:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got "
                f"{given.shape[-1]} but expected {size}"
            )
    if not input1.dtype == input2.dtype == weight.dtype:
        kinds = [word_of(part.dtype).lower() for part in (input1, input2, weight)]
        raise RuntimeError(
            f"All tensors must have the same dtype, got input1: {kinds[0]}, input2: {kinds[1]}, "
            f"weight: {kinds[2]}"
        )
    count, first, second = weight.shape
    columns = np.reshape(np.transpose(weight, (1, 0, 2)), (first, count * second))
    half = np.reshape(np.matmul(input1, columns), (*input1.shape[:-1], count, second))
    return np.matmul(half, input2[..., None])[..., 0]


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """`input1 @ weight[k] @ input2` for every k, plus bias."""
    made = _trilinear(input1, input2, weight)
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            "bilinear(): bias size does not match weight size: got "
            f"{bias.shape[0]} but expected {weight.shape[0]}"
        )
    return made if bias is None else made + bias


register("bilinear", method=False)(bilinear)

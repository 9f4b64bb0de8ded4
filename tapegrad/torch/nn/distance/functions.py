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
from tapegrad.torch._ops.declare import deliver, operation, private, register
from tapegrad.torch._ops.elementwise.arithmetic import promoted, quotient
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
    return quotient(input, _bounded_norm(input, p, dim, eps))


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Any:
    """The tensor divided by its norms along a dimension, or by `eps` if that is larger.

    input: Vectors along `dim`.
    out: Where the result is written to.
    -> Tensor: Of the shape of `input`.

    >>> F.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    made = _normalize(input, p, dim, eps)
    return made if out is None else deliver(out, made)


@operation("SumBackward1", method=False)
def cosine_similarity(x1: Value, x2: Value, dim: int = 1, eps: float = 1e-8) -> Value:
    """The cosines of the angles between vectors along a dimension.

    x1: Vectors along `dim`.
    -> Tensor: The cosines, in the shape to which the two broadcast, without `dim`.

    >>> F.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    x, y = promoted(x1, x2)
    if x.shape != y.shape:  # norms are those of the vectors as they meet
        x, y = np.broadcast_arrays(x, y)
    dim = wrapped(dim, len(x.shape))
    products = (x / _bounded_norm(x, 2, dim, eps)) * (y / _bounded_norm(y, 2, dim, eps))
    return np.sum(products, axis=dim) if products.ndim else products


@private("NormBackward1", name="norm")
def _norm(input: Value, p: float, keepdim: bool) -> Value:
    return vector_norm(input, p, -1, keepdim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The p-norms of `x1 - x2 + eps` along the last dimension.

    x1: Vectors along the last dimension.
    eps: Added to each difference, so that the norm has a derivative.
    -> Tensor: The distances, in the shape to which the two broadcast, without the last dimension.

    >>> F.pairwise_distance(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    return _norm(x1 - x2 + eps, p, keepdim)


register("pairwise_distance", method=False)(pairwise_distance)


@operation("PdistBackward0", method=False)
def pdist(input: Value, p: float = 2.0) -> Value:
    """The norms of the differences of all pairs of rows.

    input: Floating-point rows, (n, d).
    p: The power of the norm, at least 0.
    -> Tensor: Of shape (n * (n - 1) / 2,): first the pairs of the first row.
    RuntimeError: For other than two dimensions, for integers, and for a `p` below 0.

    >>> F.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
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
    """Products `input1 @ weight[k] @ input2` for every k, plus `bias`.

    input1: Of shape (..., first).
    input2: Of shape (..., second), with the other dimensions of `input1`.
    weight: Of shape (k, first, second).
    bias: Of shape (k,).
    -> Tensor: Of shape (..., k).
    RuntimeError: For shapes that do not fit, and for different dtypes.

    >>> F.bilinear(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.ones(1, 2, 2))
    tensor([21.])
    """
    made = _trilinear(input1, input2, weight)
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            "bilinear(): bias size does not match weight size: got "
            f"{bias.shape[0]} but expected {weight.shape[0]}"
        )
    return made if bias is None else made + bias


register("bilinear", method=False)(bilinear)


__all__ = ["bilinear", "cosine_similarity", "normalize", "pairwise_distance", "pdist"]

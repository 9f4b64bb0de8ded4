"""Products of vectors and matrices: matmul and its operator, and those of fixed dimensions.

Knows when a product of matrices takes its short path. Must not know affine maps
(`affine`), sums over any dimensions (`contractions`) or decompositions (`torch.linalg`).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._dims import mistyped
from tapegrad.torch._graph.modes import MODE
from tapegrad.torch._ops.call_plans import planning
from tapegrad.torch._ops.declare import operation, private, register
from tapegrad.torch._ops.elementwise.arithmetic import promoted
from tapegrad.torch._ops.fast import logged_product
from tapegrad.torch._ops.linalg.checks import (
    check_batches,
    check_dtypes,
    check_matrices,
    check_product,
    check_vector,
    check_vectors,
)
from tapegrad.torch._tensor.tensor import Tensor, ndarray
from tapegrad.torch._types import TensorLike

mode_of = MODE.get

# The node of a product by the numbers of dimensions of its factors.
_LABELS = {
    (1, 1): "DotBackward0",
    (2, 1): "MvBackward0",
    (1, 2): "SqueezeBackward4",
    (2, 2): "MmBackward0",
}


def product_label(input: TensorLike, other: TensorLike) -> str:
    """The name of the node of a product of two tensors."""
    return _LABELS.get((input.ndim, other.ndim), "UnsafeViewBackward0")


@private(product_label, name="matmul", planned=True)
def _matmul(input: Value, other: Value) -> Value:
    """`input @ other`: of vectors, matrices, and stacks of matrices that broadcast."""
    if not hasattr(other, "dtype"):
        raise mistyped("matmul", "other", 2, "Tensor", other)
    check_product(input, other)
    return np.matmul(input, other)


@register()
@functools.partial(planning, trace=_matmul.trace)  # type: ignore[attr-defined]
def matmul(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """`input @ other`: of vectors, matrices, and stacks of matrices that broadcast.

    input (Tensor): (..., n, k) or (k).
    other (Tensor): (..., k, m) or (k), of the same dtype.
    -> Tensor: (..., n, m), without the dimensions that a vector lacks.
    RuntimeError: If shapes or dtypes do not fit.

    >>> torch.ones(2, 3) @ torch.ones(3)
    tensor([3., 3.])
    """
    x = input._value if type(input) is Tensor else None
    y = other._value if isinstance(other, Tensor) else None
    if (
        out is None
        and type(x) is ndarray
        and type(y) is ndarray
        and x.ndim == 2 == y.ndim
        and x.dtype is y.dtype
        and x.dtype.kind == "f"
        and x.shape[1] == y.shape[0]
    ):
        mode = mode_of()
        if mode is None or not (mode.grad or mode.inference or mode.watchers):
            return logged_product(input, other, x, y, mode is None)
    return _matmul(input, other) if out is None else _matmul(input, other, out=out)


@register("__matmul__", function=False)
def _matmul_operator(self: Tensor, other: TensorLike) -> Any:
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


# --- Products of fixed dimensions ---------------------------------------------------------------


@operation("MmBackward0", planned=True)
def mm(input: Value, mat2: Value) -> Value:
    """The product of two matrices.

    input: A matrix (n, m).
    -> Tensor: A matrix (n, p).
    RuntimeError: If the shapes or dtypes do not fit.
    """
    check_matrices(input, mat2)
    check_dtypes(input, mat2)
    return np.matmul(input, mat2)


@operation("MvBackward0", planned=True)
def mv(input: Value, vec: Value) -> Value:
    """The product of a matrix and a vector.

    input: A matrix (n, m).
    -> Tensor: A vector (n).
    RuntimeError: If the shapes or dtypes do not fit.
    """
    if len(input.shape) != 2 or len(vec.shape) != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {len(vec.shape)}, {len(input.shape)}, "
            f"{len(vec.shape)}"
        )
    check_vector(input, vec)
    return np.matmul(input, vec)


@operation("BmmBackward0", planned=True)
def bmm(input: Value, mat2: Value) -> Value:
    """The products of two stacks of matrices, pair by pair.

    input: Matrices (b, n, m).
    mat2: Matrices (b, m, p).
    -> Tensor: Matrices (b, n, p).
    RuntimeError: If the shapes or dtypes do not fit.
    """
    check_batches(input, mat2)
    return np.matmul(input, mat2)


@operation("DotBackward0", planned=True)
def dot(input: Value, tensor: Value) -> Value:
    """The sum of the products of two vectors' elements, without a conjugate.

    input: A vector (n).
    tensor: A vector (n) of the same dtype.
    -> Tensor: One number.
    RuntimeError: If the shapes or dtypes do not fit.
    """
    check_vectors(input, tensor)
    return np.dot(input, tensor)


@operation("VdotBackward0")
def vdot(input: Value, other: Value) -> Value:
    """`dot` of the conjugate of `input` and `other`.

    input: A vector (n).
    other: A vector (n) of the same dtype.
    -> Tensor: One number.
    """
    check_vectors(input, other)
    return np.vdot(input, other)


@operation("ViewBackward0", planned=True)
def inner(input: Value, other: Value) -> Value:
    """Sums of products over the last dimensions of both; of a number, the product.

    input: A tensor (..., n).
    other: A tensor (..., n).
    -> Tensor: The sums, of the other dimensions of both.
    """
    if not input.shape or not other.shape:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return np.inner(input, other)


def _outer(input: Value, vec2: Value) -> Value:
    """The products of every element of one vector with every element of another.

    input: A vector (n).
    -> Tensor: A matrix (n, m).
    """
    for name, given in (("self", input), ("vec2", vec2)):
        if len(given.shape) != 1:
            raise RuntimeError(
                f"outer: Expected 1-D argument {name}, but got {len(given.shape)}-D"
            )
    x, y = promoted(input, vec2)
    return np.reshape(x, (-1, 1)) * y


outer = operation("MulBackward0", name="outer", planned=True)(_outer)
ger = operation("MulBackward0", name="ger")(_outer)

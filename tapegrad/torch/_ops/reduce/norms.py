"""Norms of vectors and matrices, condition numbers and ranks; weights that have given norms.

Knows PyTorch's orders and errors. Must not know decompositions (`linalg`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.torch._dims import axes_of, wrapped
from tapegrad.torch._dtypes import as_numpy, word_of
from tapegrad.torch._ops.declare import private, register
from tapegrad.torch._ops.elementwise.arithmetic import cast
from tapegrad.torch._ops.linalg.checks import (
    require_inexact,
    require_matrices,
    require_two_dimensions,
)
from tapegrad.torch._ops.reduce.sums import vector_norm as reduced_norm
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import Dim, DType, Number, TensorLike


def _typed(word: str, x: Value, dtype: DType) -> Value:
    require_inexact(word, x)
    if dtype is None:
        return x
    given = as_numpy(dtype)
    if given.kind != x.dtype.kind:
        kind = "complex" if x.dtype.kind == "c" else "real"
        raise RuntimeError(
            f"{word}: dtype should be {kind} for {kind} inputs, but got {word_of(given)}"
        )
    return cast(x, given)


def _vector_norm(x: Value, ord: Number, dim: Dim, keepdim: bool) -> Value:
    return reduced_norm(x, ord, axes_of(dim, len(x.shape)), keepdim)


@private("LinalgVectorNormBackward0", name="linalg_vector_norm", planned=True)
def vector_norm(
    x: Value, ord: Number = 2, dim: Dim = None, keepdim: bool = False, *, dtype: DType = None
) -> Value:
    """The norm of all elements, or along dimensions: (sum of abs(x)**ord) ** (1/ord).

    x: The elements, of a floating or complex dtype.
    ord: The order; inf and -inf give the largest and smallest absolute value, 0 counts what is not
        zero.
    -> Tensor: The norms, real, without the dimensions that are reduced.
    """
    return _vector_norm(_typed("linalg.vector_norm", x, dtype), ord, dim, keepdim)


_SPECTRAL = {"nuc": "SumBackward1", 2: "AmaxBackward0", -2: "AminBackward0"}


def _matrix_label(A: TensorLike, ord: Any = "fro", *_: Any, **__: Any) -> str:
    if ord == "fro":
        return "LinalgVectorNormBackward0"
    return _SPECTRAL.get(ord, "AmaxBackward0" if str(ord)[:1] != "-" else "AminBackward0")


def _matrix_norm(A: Value, ord: Any, dim: Dim, keepdim: bool) -> Value:
    if isinstance(ord, str) and ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if not isinstance(ord, str) and abs(ord) not in (1, 2, np.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if len(A.shape) < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
        )
    return np.linalg.norm(A, ord, axes_of(dim, len(A.shape)), keepdims=keepdim)


@private(_matrix_label, name="linalg_matrix_norm", planned=True)
def matrix_norm(
    A: Value, ord: Any = "fro", dim: Dim = (-2, -1), keepdim: bool = False, *, dtype: DType = None
) -> Value:
    """The norm of matrices: ord "fro", "nuc", inf, -inf, 1, -1, 2 or -2.

    A: Matrices, of a floating or complex dtype.
    ord (number or str): The norm: of all elements, of singular values, of sums of
        columns or rows.
    dim (sequence of ints): The two dimensions of the matrices.
    """
    return _matrix_norm(_typed("linalg.matrix_norm", A, dtype), ord, dim, keepdim)


def _is_of_matrices(x: Value, ord: Any, dim: Dim) -> bool:
    if isinstance(ord, str):
        return True
    if dim is None:
        return ord is not None and len(x.shape) == 2
    return ord is not None and isinstance(dim, (tuple, list)) and len(dim) == 2


def _norm_label(A: TensorLike, ord: Any = None, dim: Dim = None, *_: Any, **__: Any) -> str:
    if _is_of_matrices(A, ord, dim):
        return _matrix_label(A, ord)
    return "LinalgVectorNormBackward0"


def _any_norm(x: Value, ord: Any, dim: Dim, keepdim: bool) -> Value:
    if ord is not None and dim is None and len(x.shape) not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{len(x.shape)}D."
        )
    if _is_of_matrices(x, ord, dim):
        return _matrix_norm(x, ord, (-2, -1) if dim is None else dim, keepdim)
    return _vector_norm(x, 2 if ord is None else ord, dim, keepdim)


@private(_norm_label, name="linalg_norm", planned=True)
def norm(
    A: Value, ord: Any = None, dim: Dim = None, keepdim: bool = False, *, dtype: DType = None
) -> Value:
    """The norm of matrices where ord is given for two dimensions, else of vectors.

    A: The elements, of a floating or complex dtype.
    ord (number or str): The order; the root of the sum of squares of all elements unless
        given.
    """
    return _any_norm(_typed("linalg.vector_norm", A, dtype), ord, dim, keepdim)


@private("SqueezeBackward1", name="linalg_cond")
def cond(A: Value, p: Number = None) -> Value:
    """The condition number: a norm of a matrix times that of its inverse.

    p (number or str): The order of the norm, as of `matrix_norm`; 2 unless given.
    -> Tensor: A number for each matrix.
    """
    require_two_dimensions(A, "linalg.cond: The input tensor must have at least 2 dimensions.")
    require_inexact("linalg.svd", A)
    return np.linalg.cond(A, p)


@private("NotDifferentiable", name="linalg_matrix_rank")
def matrix_rank(
    A: Value, tol: Value = None, hermitian: bool = False, *, atol: Value = None, rtol: Value = None
) -> Value:
    """How many singular values are above max(atol, rtol times the largest).

    A: Matrices (..., n, m).
    tol (float or Tensor): The older name of `atol`.
    atol (float or Tensor): The absolute threshold; 0 unless given.
    rtol (float or Tensor): The relative threshold; without `atol` max(n, m) times the
        machine epsilon unless given.
    -> Tensor: Whole numbers (...).
    """
    require_two_dimensions(
        A, "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions."
    )
    require_matrices("linalg.matrix_rank", A)
    value, atol = untraced(A), untraced(tol if atol is None else atol)
    if rtol is None:
        rtol = max(A.shape[-2:]) * np.finfo(A.dtype).eps if atol is None else 0.0
    if hermitian:
        s = np.absolute(np.linalg.eigvalsh(value))
    else:
        s = np.linalg.svd(value, compute_uv=False)
    largest = np.max(s, axis=-1, keepdims=True, initial=0)
    least = np.maximum(np.expand_dims(0.0 if atol is None else atol, -1), largest * untraced(rtol))
    return np.sum(s > least, axis=-1)


@register(method=False)
def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Any:
    """The norms along all dimensions but `dim`, which stay as 1; of everything where it is -1.

    v: The tensor.
    pow: The order of the norm.
    dim: The dimension that stays; -1 for none.
    -> Tensor: The norms.
    """
    if dim == -1:
        return v.norm(pow)
    place = wrapped(dim, v.dim())
    others = tuple(axis for axis in range(v.dim()) if axis != place)
    return v.norm(pow, others, keepdim=True) if others else v.abs()


@register("_weight_norm", method=False)
def weight_of(v: Tensor, g: Tensor, dim: int = 0) -> Any:
    """The vectors along all dimensions but `dim` in the direction of those of v, of length g."""
    return v * (g / norm_except_dim(v, 2, dim))

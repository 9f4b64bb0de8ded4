"""Affine maps, each of them one node: addmm and its relatives, and linear.

Knows their checks and labels. Must not know modules.
"""

from __future__ import annotations

import functools

import numpy as np

from tapegrad._core.types import Params, Value
from tapegrad.torch._graph.modes import MODE
from tapegrad.torch._ops.call_plans import planning
from tapegrad.torch._ops.declare import operation, private
from tapegrad.torch._ops.fast import logged_affine
from tapegrad.torch._ops.linalg.checks import (
    check_batches,
    check_dtypes,
    check_expands,
    check_factors,
    check_matrices,
    check_product,
    check_terms,
    check_vector,
    raise_product,
)
from tapegrad.torch._ops.linalg.products import product_label
from tapegrad.torch._rules.affine import ADDED_PRODUCT, AFFINE, flipped
from tapegrad.torch._tensor.tensor import Tensor, ndarray
from tapegrad.torch._types import Number, TensorLike

mode_of = MODE.get


def _added(input: Value, x: Value, y: Value, beta: Number, alpha: Number) -> Value:
    """An affine map of arrays whose product fits."""
    rows = (x.shape[-2], y.shape[-1])
    shape = x.shape[:1] if len(y.shape) == 1 else (*x.shape[:-2], *rows)
    check_expands(input, shape)
    check_terms(input, x, y)
    if input.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    return ADDED_PRODUCT.apply(input, x, y, **_scales(beta, alpha))


def _scales(beta: Number, alpha: Number) -> Params:
    given = {"beta": beta, "alpha": alpha}
    return {name: value for name, value in given.items() if type(value) is not int or value != 1}


@operation("AddmmBackward0", inplace=True, planned=True, first="beta alpha")
def addmm(input: Value, mat1: Value, mat2: Value, *, beta: Number = 1, alpha: Number = 1) -> Value:
    """`beta * input + alpha * (mat1 @ mat2)` of matrices; input broadcasts.

    input: What is added to (n, p); its shape broadcasts.
    -> Tensor: A matrix (n, p).
    """
    if len(mat1.shape) == len(mat2.shape) == 2 and mat1.shape[1] != mat2.shape[0]:
        check_factors(mat1, mat2)
    check_matrices(mat1, mat2)
    return _added(input, mat1, mat2, beta, alpha)


@operation("AddmvBackward0", inplace=True, planned=True, first="beta alpha")
def addmv(input: Value, mat: Value, vec: Value, *, beta: Number = 1, alpha: Number = 1) -> Value:
    """`beta * input + alpha * (mat @ vec)`.

    input: What is added to (n); its shape broadcasts.
    -> Tensor: A vector (n).
    """
    check_vector(mat, vec)
    return _added(input, mat, vec, beta, alpha)


@operation("AddrBackward0", inplace=True, planned=True, first="beta alpha")
def addr(input: Value, vec1: Value, vec2: Value, *, beta: Number = 1, alpha: Number = 1) -> Value:
    """`beta * input + alpha * outer(vec1, vec2)`.

    input: What is added to (n, m); its shape broadcasts.
    -> Tensor: A matrix (n, m).
    """
    column, row = np.reshape(vec1, (-1, 1)), np.reshape(vec2, (1, -1))
    return _added(input, column, row, beta, alpha)


@operation("BaddbmmBackward0", inplace=True, planned=True, first="beta alpha")
def baddbmm(
    input: Value, batch1: Value, batch2: Value, *, beta: Number = 1, alpha: Number = 1
) -> Value:
    """`beta * input + alpha * bmm(batch1, batch2)`.

    input: What is added to (b, n, p); its shape broadcasts.
    -> Tensor: Matrices (b, n, p).
    """
    check_batches(batch1, batch2)
    return _added(input, batch1, batch2, beta, alpha)


@operation("AddbmmBackward0", inplace=True, planned=True, first="beta alpha")
def addbmm(
    input: Value, batch1: Value, batch2: Value, *, beta: Number = 1, alpha: Number = 1
) -> Value:
    """`beta * input + alpha *` the sum of the products of two stacks of matrices.

    input: What is added to (n, p); its shape broadcasts.
    -> Tensor: A matrix (n, p).
    """
    check_batches(batch1, batch2)
    count, rows, inner = batch1.shape
    left = np.reshape(np.swapaxes(batch1, 0, 1), (rows, count * inner))
    right = np.reshape(batch2, (count * inner, batch2.shape[2]))
    return _added(input, left, right, beta, alpha)


# --- linear -------------------------------------------------------------------------------------


def _linear_label(input: TensorLike, weight: TensorLike, bias: TensorLike = None) -> str:
    if bias is None:
        return product_label(input, weight)
    return "AddmmBackward0" if input.ndim == 2 else "ViewBackward0"


@private(_linear_label, name="linear", planned=True)
def _linear(input: Value, weight: Value, bias: Value = None) -> Value:
    if len(weight.shape) == 1:
        if len(input.shape) == 1:
            product = np.dot(input, weight)
        else:
            check_product(input, weight)
            product = np.matmul(input, weight)
        return product if bias is None else product + bias
    if len(weight.shape) != 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {len(weight.shape)}D"
        )
    if not input.shape:
        raise RuntimeError(
            "both arguments to linear need to be at least 1D, but they are 0D and "
            f"{len(weight.shape)}D"
        )
    lead, count = input.shape[:-1], weight.shape[0]
    rows = input if len(input.shape) == 2 else np.reshape(input, (-1, input.shape[-1]))
    if rows.shape[1] != weight.shape[1]:
        if bias is not None:
            check_factors(input, weight)
        raise_product(rows.shape, weight.shape[::-1])
    if bias is None:
        check_dtypes(input, weight)
        made = np.matmul(rows, flipped(weight))
    else:
        check_expands(bias, (rows.shape[0], count))
        check_factors(input, weight)
        check_terms(bias, input, weight)
        made = AFFINE.apply(bias, rows, weight)
    return made if len(input.shape) == 2 else np.reshape(made, (*lead, count))


@functools.partial(planning, trace=_linear.trace)  # type: ignore[attr-defined]
def linear(input: TensorLike, weight: TensorLike, bias: TensorLike = None) -> Tensor:
    """`input @ weight.T + bias`, as one node of the graph.

    input (Tensor): (..., n).
    weight (Tensor): A matrix (m, n), or a vector (n).
    bias (Tensor): What is added (m).
    -> Tensor: (..., m).
    RuntimeError: If shapes or dtypes do not fit.

    >>> torch.nn.functional.linear(torch.tensor([1.0, 2.0]), torch.tensor([[3.0, 4.0]]))
    tensor([11.])
    """
    if type(input) is Tensor and isinstance(bias, Tensor) and isinstance(weight, Tensor):
        x, w, b = input._value, weight._value, bias._value
        if (
            type(x) is ndarray
            and type(w) is ndarray
            and type(b) is ndarray
            and x.ndim == 2 == w.ndim
            and x.dtype is w.dtype is b.dtype
            and x.dtype.kind == "f"
            and b.shape == w.shape[:1]
            and x.shape[1] == w.shape[1]
        ):
            mode = mode_of()
            if mode is None or not (mode.grad or mode.inference or mode.watchers):
                out = np.matmul(x, w.T)
                out += b
                return logged_affine(input, weight, bias, out, mode is None)
    return _linear(input, weight, bias)

"""Affine maps, each of them one node: addmm and its relatives, and linear, the layer of nets.

Knows their rules, and the layout of entries, in which linear logs itself. Must not know modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._forms import General
from tapegrad._tape import spec_of
from tapegrad.rules.products import _matmul_x, _matmul_y
from tapegrad.torch._call import operation, private
from tapegrad.torch._factors import (
    check_batches,
    check_dtypes,
    check_expands,
    check_matrices,
    check_product,
    check_terms,
    check_vector,
    raise_product,
)
from tapegrad.torch._graph import name_nodes, new, next_number, node_class
from tapegrad.torch._modes import MODE
from tapegrad.torch._products import product_label
from tapegrad.torch._tensor import LEAF, Tensor, accumulator_of, ndarray

mode_of = MODE.get
ADDMM = node_class("AddmmBackward0")


# --- Affine maps: one node each -----------------------------------------------------------------


def _added_product(input: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)`; what is multiplied by beta = 0 does not count."""
    product = np.matmul(mat1, mat2)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (input if beta == 1 else input * beta)


def _pull_added(g: Any, _out: Any, _input: Any, *_: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return g if beta == 1 else g * beta


def _pull_left(
    g: Any, _out: Any, _input: Any, _mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1
) -> Any:
    return _matmul_x(g if alpha == 1 else g * alpha, None, _mat1, mat2)


def _pull_right(
    g: Any, _out: Any, _input: Any, mat1: Any, _mat2: Any, beta: Any = 1, alpha: Any = 1
) -> Any:
    return _matmul_y(g if alpha == 1 else g * alpha, None, mat1, _mat2)


def _push_added(
    dots: Any, _out: Any, _input: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1
) -> Any:
    input_dot, left_dot, right_dot = dots
    total: Any = 0 if input_dot is None else input_dot * beta
    if left_dot is not None:
        total = total + np.matmul(left_dot, mat2) * alpha
    return total if right_dot is None else total + np.matmul(mat1, right_dot) * alpha


def _added_examples(input: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    vectors = mat2.ndim == 2
    product = np.matmul(mat1, mat2[..., None])[..., 0] if vectors else np.matmul(mat1, mat2)
    missing = product.ndim - input.ndim
    aligned = np.reshape(input, (input.shape[0], *(1,) * missing, *input.shape[1:]))
    return aligned * beta + product * alpha


ADDED_PRODUCT = General(
    _added_product,
    vjp=[_pull_added, _pull_left, _pull_right],
    jvp=_push_added,
    arrays=3,
    name="addmm",
    batch=_added_examples,
)
name_nodes(ADDED_PRODUCT, "AddmmBackward0")


def _added(input: Any, x: Any, y: Any, beta: Any, alpha: Any) -> Any:
    """An affine map of arrays whose product fits."""
    rows = (x.shape[-2], y.shape[-1])
    shape = x.shape[:1] if len(y.shape) == 1 else (*x.shape[:-2], *rows)
    check_expands(input, shape)
    check_terms(input, x, y)
    if input.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    return ADDED_PRODUCT.apply(input, x, y, **_scales(beta, alpha))


def _scales(beta: Any, alpha: Any) -> dict[str, Any]:
    given = {"beta": beta, "alpha": alpha}
    return {name: value for name, value in given.items() if type(value) is not int or value != 1}


@operation("AddmmBackward0", inplace=True)
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)` of matrices; input broadcasts."""
    check_matrices(mat1, mat2)
    return _added(input, mat1, mat2, beta, alpha)


@operation("AddmvBackward0", inplace=True)
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat @ vec)`."""
    check_vector(mat, vec)
    return _added(input, mat, vec, beta, alpha)


@operation("AddrBackward0", inplace=True)
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * outer(vec1, vec2)`."""
    column, row = np.reshape(vec1, (-1, 1)), np.reshape(vec2, (1, -1))
    return _added(input, column, row, beta, alpha)


@operation("BaddbmmBackward0", inplace=True)
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * bmm(batch1, batch2)`."""
    check_batches(batch1, batch2)
    return _added(input, batch1, batch2, beta, alpha)


@operation("AddbmmBackward0", inplace=True)
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha *` the sum of the products of two stacks of matrices."""
    check_batches(batch1, batch2)
    count, rows, inner = batch1.shape
    left = np.reshape(np.swapaxes(batch1, 0, 1), (rows, count * inner))
    right = np.reshape(batch2, (count * inner, batch2.shape[2]))
    return _added(input, left, right, beta, alpha)


# --- linear: the layer of nets ------------------------------------------------------------------


def _flipped(x: Any) -> Any:
    return x.swapaxes(-1, -2)


def _affine(bias: Any, x: Any, weight: Any) -> Any:
    return np.matmul(x, _flipped(weight)) + bias


def _affine_examples(bias: Any, x: Any, weight: Any) -> Any:
    return np.matmul(x, _flipped(weight)) + np.expand_dims(bias, 1)


def _push_affine(dots: Any, _out: Any, _bias: Any, x: Any, weight: Any) -> Any:
    bias_dot, x_dot, weight_dot = dots
    total: Any = 0 if bias_dot is None else bias_dot
    if x_dot is not None:
        total = total + np.matmul(x_dot, _flipped(weight))
    return total if weight_dot is None else total + np.matmul(x, _flipped(weight_dot))


class _Affine(General):
    """`x @ weight.T + bias` for matrices x and weight."""

    def pull(
        self, g: Any, out: Any, args: Sequence[Any], params: dict[str, Any], wanted: Sequence[bool]
    ) -> Sequence[Any]:
        return (
            np.add.reduce(g, 0) if wanted[0] else None,
            np.matmul(g, args[2]) if wanted[1] else None,
            np.matmul(_flipped(g), args[1]) if wanted[2] else None,
        )


AFFINE = _Affine(
    _affine,
    vjp=[
        lambda g, _out, _bias, _x, _weight: g,
        lambda g, _out, _bias, _x, weight: np.matmul(g, weight),
        lambda g, _out, _bias, x, _weight: np.matmul(_flipped(g), x),
    ],
    jvp=_push_affine,
    name="linear",
    batch=_affine_examples,
)
name_nodes(AFFINE, "AddmmBackward0")


def _linear_label(input: Any, weight: Any, bias: Any = None) -> str:
    if bias is None:
        return product_label(input, weight)
    return "AddmmBackward0" if input.ndim == 2 else "ViewBackward0"


@private(_linear_label, name="linear")
def _linear(input: Any, weight: Any, bias: Any = None) -> Any:
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
    lead, count = input.shape[:-1], weight.shape[0]
    rows = input if len(input.shape) == 2 else np.reshape(input, (-1, input.shape[-1]))
    if rows.shape[1] != weight.shape[1]:
        raise_product(rows.shape, weight.shape[::-1])
    if bias is None:
        check_dtypes(input, weight)
        made = np.matmul(rows, _flipped(weight))
    else:
        check_expands(bias, (rows.shape[0], count))
        check_terms(bias, input, weight)
        made = AFFINE.apply(bias, rows, weight)
    return made if len(input.shape) == 2 else np.reshape(made, (*lead, count))


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias`, as one node of the graph.

    input: (..., n). weight: (m, n), or (n). bias: (m), or None. Returns (..., m). RuntimeError
    where shapes or dtypes do not fit.

    >>> import tapegrad.torch as torch
    >>> torch.nn.functional.linear(torch.ones(2, 3), torch.ones(1, 3), torch.ones(1))
    tensor([[4.],
            [4.]])
    """
    if type(input) is Tensor and isinstance(bias, Tensor) and isinstance(weight, Tensor):
        x, w, b = input.value, weight.value, bias.value
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
                return _logged_affine(input, weight, bias, out, mode is None)
    return _linear(input, weight, bias)


def _logged_affine(input: Any, weight: Any, bias: Any, out: Any, logs: bool) -> Tensor:
    result: Tensor = new(Tensor)
    result.value = out
    x_node, w_node, b_node = input.node, weight.node, bias.node
    if not logs or (x_node is None and w_node is None and b_node is None):
        result.node = None
        return result
    x, w = input.value, weight.value
    if x_node is LEAF:
        x_node = accumulator_of(input)
    elif x_node is None:
        x_node, w = -1, spec_of(w)
    if w_node is LEAF:
        w_node = accumulator_of(weight)
    elif w_node is None:
        w_node, x = -1, spec_of(x)
    if b_node is LEAF:
        b_node = accumulator_of(bias)
    elif b_node is None:
        b_node = -1
    result.node = node = new(ADDMM)
    node._number = next_number()
    kept = spec_of(bias.value), x, w
    node._entry = AFFINE, spec_of(out), kept, {}, (b_node, x_node, w_node), None
    return result

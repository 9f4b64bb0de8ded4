"""Affine maps of arrays: one rule for addmm and its relatives, one for linear layers.

Knows the forms of rules. Must not know tensors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from tapegrad._core.forms import General
from tapegrad._core.types import Cotangent, Params, Tangent, Value, Values, Wanted
from tapegrad.rules.products import _matmul_x, _matmul_y
from tapegrad.torch._graph.names import name_nodes
from tapegrad.torch._rules.declare import Fused
from tapegrad.torch._types import Number


def _added_product(
    input: Value, mat1: Value, mat2: Value, beta: Number = 1, alpha: Number = 1
) -> Value:
    """`beta * input + alpha * (mat1 @ mat2)`; with beta = 0 NaN in input is ignored."""
    product = _times(np.matmul(mat1, mat2), alpha)
    return product if beta == 0 else product + _times(input, beta)


def _times(x: Value, factor: Number) -> Value:
    return x if factor == 1 else x * factor


def _push_added(
    dots: Tangent,
    _out: Value,
    _input: Value,
    mat1: Value,
    mat2: Value,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> Tangent:
    input_dot, left_dot, right_dot = dots
    total: Tangent = 0 if input_dot is None else input_dot * beta
    if left_dot is not None:
        total = total + np.matmul(left_dot, mat2) * alpha
    return total if right_dot is None else total + np.matmul(mat1, right_dot) * alpha


def _added_examples(
    input: Value, mat1: Value, mat2: Value, beta: Number = 1, alpha: Number = 1
) -> Value:
    vectors = mat2.ndim == 2
    product = np.matmul(mat1, mat2[..., None])[..., 0] if vectors else np.matmul(mat1, mat2)
    missing = product.ndim - input.ndim
    aligned = np.reshape(input, (input.shape[0], *(1,) * missing, *input.shape[1:]))
    return aligned * beta + product * alpha


class _AddedProduct(General, Fused):
    """`beta * input + alpha * (mat1 @ mat2)`."""

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [False, wanted[2], wanted[1]], False


ADDED_PRODUCT = _AddedProduct(
    _added_product,
    vjp=[
        lambda g, _out, *_, beta=1, alpha=1: _times(g, beta),
        lambda g, _out, _input, x, y, beta=1, alpha=1: _matmul_x(_times(g, alpha), None, x, y),
        lambda g, _out, _input, x, y, beta=1, alpha=1: _matmul_y(_times(g, alpha), None, x, y),
    ],
    jvp=_push_added,
    arrays=3,
    name="addmm",
    batch=_added_examples,
)
name_nodes(ADDED_PRODUCT, "AddmmBackward0")


def flipped(x: Value) -> Value:
    return x.swapaxes(-1, -2)


def _affine(bias: Value, x: Value, weight: Value) -> Value:
    out = np.matmul(x, flipped(weight))
    if type(out) is ndarray and type(bias) is ndarray and out.dtype is bias.dtype:
        out += bias  # NumPy itself adds in place from 256 KiB on
        return out
    return out + bias


def _push_affine(dots: Tangent, _out: Value, _bias: Value, x: Value, weight: Value) -> Tangent:
    bias_dot, x_dot, weight_dot = dots
    total: Tangent = 0 if bias_dot is None else bias_dot
    if x_dot is not None:
        total = total + np.matmul(x_dot, flipped(weight))
    return total if weight_dot is None else total + np.matmul(x, flipped(weight_dot))


class _Affine(General, Fused):
    """`x @ weight.T + bias` for matrices x and weight."""

    transposed = 2  # hooks of its nodes see the gradient of weight.T

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [False, wanted[2], wanted[1]], False

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        return (
            np.add.reduce(g, 0) if wanted[0] else None,
            np.matmul(g, args[2]) if wanted[1] else None,
            np.matmul(flipped(g), args[1]) if wanted[2] else None,
        )


AFFINE = _Affine(
    _affine,
    vjp=[
        lambda g, _out, _bias, _x, _weight: g,
        lambda g, _out, _bias, _x, weight: np.matmul(g, weight),
        lambda g, _out, _bias, x, _weight: np.matmul(flipped(g), x),
    ],
    jvp=_push_affine,
    name="linear",
    batch=lambda bias, x, weight: np.matmul(x, flipped(weight)) + np.expand_dims(bias, 1),
)
name_nodes(AFFINE, "AddmmBackward0")

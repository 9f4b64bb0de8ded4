"""HIPS autograd's operators over tapegrad, with the types of what they return."""

import typing
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tapegrad.autograd as autograd

Array = NDArray[np.float64]
x: Array = np.array([0.5, -1.0, 2.0])


def loss(w: Array, scale: float = 2.0) -> np.float64:
    return np.sum(w**2) * scale


def layer(w: Array, scale: float = 2.0) -> Array:
    return np.tanh(w) * scale


def with_count(w: Array) -> tuple[np.float64, int]:
    return np.sum(w**2), 3


def square(v: float) -> float:
    return v * v


def doubled(n: int) -> float:
    return 2.0 * n


typing.assert_type(autograd.grad(loss)(x), Array)
typing.assert_type(autograd.grad(loss)(x, scale=3.0), Array)
typing.assert_type(autograd.grad(loss, 1)(x, 1.0), float)
typing.assert_type(autograd.grad(loss, argnum=(0, 1))(x, 1.0), tuple[Array, float])
typing.assert_type(autograd.grad(square)(1.5), float)
typing.assert_type(autograd.grad(doubled)(3), np.float64)
typing.assert_type(autograd.grad(autograd.grad(square))(1.5), float)
typing.assert_type(autograd.value_and_grad(loss)(x), tuple[np.float64, Array])
typing.assert_type(autograd.value_and_grad(square)(1.5), tuple[float, float])
typing.assert_type(autograd.value_and_grad(doubled)(3), tuple[float, np.float64])
typing.assert_type(autograd.grad_and_aux(with_count)(x), tuple[Array, int])
typing.assert_type(autograd.elementwise_grad(layer)(x), Array)
typing.assert_type(autograd.elementwise_grad(np.tanh)(x), Array)
typing.assert_type(autograd.egrad(square)(1.5), float)
typing.assert_type(autograd.deriv(layer)(x), Array)
typing.assert_type(autograd.jacobian(layer)(x), Array)
typing.assert_type(autograd.jacobian(square)(1.5), Array)
typing.assert_type(autograd.hessian(loss)(x), Array)
typing.assert_type(autograd.hessian(square)(1.5), Array)
typing.assert_type(autograd.hessian_vector_product(loss)(x, x), Array)
typing.assert_type(autograd.tensor_jacobian_product(layer)(x, x), NDArray[Any])
typing.assert_type(autograd.make_hvp(loss)(x)[0](x), Array)
typing.assert_type(autograd.make_ggnvp(layer)(x)(x), Array)
typing.assert_type(autograd.make_jvp(layer)(x)(x), tuple[Array, Array])
typing.assert_type(autograd.make_jvp_reversemode(layer)(x)(x), Array)
typing.assert_type(autograd.holomorphic_grad(np.sin)(1j), complex)
typing.assert_type(autograd.multigrad_dict(loss)(x), OrderedDict[str, Any])
typing.assert_type(autograd.checkpoint(layer)(x), Array)

vjp, value = autograd.make_vjp(layer)(x)
typing.assert_type(value, Array)
typing.assert_type(vjp(x), Array)

"""Random matrices for tests of linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad

RNG = np.random.default_rng(5)
BEGINNING = RNG.bit_generator.state  # of each test: conftest.py


def real(*shape):
    return RNG.standard_normal(shape)


def complex_(*shape):
    return real(*shape) + 1j * real(*shape)


MAKERS = pytest.mark.parametrize("make", [real, complex_])


def adjoint(x):
    return np.conjugate(np.swapaxes(x, -1, -2))


def hermitian(x):
    return (x + adjoint(x)) / 2


def positive(x):
    return np.matmul(x, adjoint(x)) + 2 * np.eye(x.shape[-1])


def nth_derivative(function, order):
    for _ in range(order):
        function = tapegrad.grad(function)
    return function

"""The programs that the benchmark differentiates, each written once for every library.

Knows: a program's text, as a function of the namespace ``xp`` that it calls (``numpy``,
``autograd.numpy``, ``torch``, ``jax.numpy``), and the NumPy argument it starts from.
Must not know: which library differentiates it, and how anything is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

Function = Callable[[Any], Any]


def chain(xp: Any, steps: int = 200) -> Function:
    """Three small operations a step, reduced to a scalar; x has any shape."""

    def program(x: Any) -> Any:
        y = x
        for _ in range(steps):
            y = xp.sin(y) * 1.01 + x
        return xp.sum(y)

    return program


def failing_chain(xp: Any, steps: int = 200) -> Function:
    """The chain, raising ``ArithmeticError`` halfway."""

    def program(x: Any) -> Any:
        y = x
        for step in range(steps):
            if step == steps // 2:
                raise ArithmeticError("stopped in the middle, as the benchmark wants")
            y = xp.sin(y) * 1.01 + x
        return xp.sum(y)

    return program


def rosenbrock(xp: Any) -> Function:
    """Rosenbrock's function of a vector: eight operations on slices of x."""

    def program(x: Any) -> Any:
        return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return program


def perceptron(xp: Any) -> Function:
    """Mean squared error of a tanh network whose argument lists weight, bias, weight, bias, ..."""
    inputs, targets = (xp.asarray(array) for array in perceptron_data())

    def program(parameters: list[Any]) -> Any:
        *hidden_layers, (last_weight, last_bias) = zip(
            parameters[0::2], parameters[1::2], strict=True
        )
        hidden = inputs
        for weight, bias in hidden_layers:
            hidden = xp.tanh(hidden @ weight + bias)
        return xp.mean((hidden @ last_weight + last_bias - targets) ** 2)

    return program


def long_chain(xp: Any, operations: int) -> Function:
    """A chain of this many small operations."""

    def program(x: Any) -> Any:
        y = x
        for _ in range(operations // 2):
            y = xp.sin(y) + x
        return xp.sum(y)

    return program


def read_elements(xp: Any, n: int) -> Function:
    """Reads x[i] for every i: a replay that builds an array for each read is quadratic."""
    del xp

    def program(x: Any) -> Any:
        total = 0.0
        for i in range(n):
            total = total + x[i] * x[i]
        return total

    return program


def fill_elements(xp: Any, n: int) -> Function:
    """Fills an array element by element: a tape that copies at each write is quadratic."""

    def program(x: Any) -> Any:
        buffer = xp.zeros_like(x)
        for i in range(n):
            buffer[i] = xp.sin(x[i])
        return xp.sum(buffer**2)

    return program


def polynomial_loop(xp: Any, steps: int) -> Function:
    """A loop of cheap operations on a large array, for the memory that a jvp holds."""
    del xp

    def program(x: Any) -> Any:
        y = x
        for _ in range(steps):
            y = y * y * 0.1 + x
        return y

    return program


def vector(n: int) -> np.ndarray:
    """The point that every vector program starts from: float64[n] in [0.1, 0.9]."""
    return np.linspace(0.1, 0.9, n)


WIDTHS = (10, 64, 64, 10)
BATCH = 32


def perceptron_data() -> tuple[np.ndarray, np.ndarray]:
    """Inputs float64[32, 10] and targets float64[32, 10] for the network."""
    random = np.random.default_rng(0)
    return random.normal(size=(BATCH, WIDTHS[0])), random.normal(size=(BATCH, WIDTHS[-1]))


def perceptron_parameters() -> list[np.ndarray]:
    """Weight and bias of each layer of the network 10-64-64-10, in one list."""
    random = np.random.default_rng(1)
    parameters: list[np.ndarray] = []
    for rows, columns in pairwise(WIDTHS):
        parameters += [random.normal(size=(rows, columns)) / np.sqrt(rows), np.zeros(columns)]
    return parameters

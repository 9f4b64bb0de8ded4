"""Whole programs of everyday kinds, for `whole_programs.py`: each written once for every library.

Knows: a program's text as a function of the namespace ``xp`` (``numpy``, ``autograd.numpy``,
``torch``), and the arrays that it starts from. Where PyTorch spells a function differently, a
helper at the end has both words. Must not know: how anything is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Program = Callable[[Any], Any]


class Row(NamedTuple):
    """A program by its name, how a library's namespace makes it, and its argument."""

    name: str
    build: Callable[[Any], Program]
    start: Callable[[], Any]  # an array, or a list of them
    goal: bool  # whether the gradient shall take at most five times as long as the forward


def _random(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    return np.random.default_rng(seed).normal(size=shape) * scale


# --- Networks -----------------------------------------------------------------------------------


def attention(xp: Any) -> Program:
    """Scaled dot products of 32 places with 32 features, a residual, and a layer norm."""

    def program(parameters: list[Any]) -> Any:
        x, query, key, value, last, gain, bias = parameters
        q, k, v = x @ query, x @ key, x @ value
        y = x + softmax(xp, q @ k.T / 32**0.5) @ v @ last
        return xp.sum((layer_norm(xp, y) * gain + bias) ** 2)

    return program


def attention_start() -> list[Any]:
    """The places, four matrices, gain and bias."""
    matrices = [_random(32, 32, seed=i, scale=32**-0.5) for i in range(4)]
    return [_random(32, 32, seed=9), *matrices, np.ones(32), np.zeros(32)]


def layer_norms(xp: Any) -> Program:
    """Four layers of a norm with gain and bias, and a tanh, on 32 x 64."""

    def program(parameters: list[Any]) -> Any:
        y, *layers = parameters
        for gain, bias in zip(layers[0::2], layers[1::2], strict=True):
            y = xp.tanh(layer_norm(xp, y) * gain + bias)
        return xp.sum(y**2)

    return program


def layer_norms_start() -> list[Any]:
    """Input of the first layer, and gains and biases."""
    return [_random(32, 64), *[np.ones(64), np.zeros(64)] * 4]


def lstm(xp: Any) -> Program:
    """20 steps of an LSTM with 32 units on a batch of 16, its gates cut from one product."""
    inputs = xp.asarray(_random(20, 16, 8, seed=1))

    def program(parameters: list[Any]) -> Any:
        by_input, by_state, bias = parameters
        h = c = xp.asarray(np.zeros((16, 32)))
        for x in inputs:
            gates = x @ by_input + h @ by_state + bias
            let_in, forget, let_out = (
                1 / (1 + xp.exp(-gates[:, 32 * i : 32 * i + 32])) for i in range(3)
            )
            c = forget * c + let_in * xp.tanh(gates[:, 96:])
            h = let_out * xp.tanh(c)
        return xp.sum(h**2)

    return program


def lstm_start() -> list[Any]:
    """The weights of input and state, and the bias."""
    return [_random(8, 128, scale=0.3), _random(32, 128, seed=2, scale=0.2), np.zeros(128)]


def convolutions(xp: Any) -> Program:
    """Two convolutions of 8 images of 16 x 16 by shifted products, a mean, and scores."""
    images = xp.asarray(_random(8, 16, 16, 1, seed=3))

    def convolved(y: Any, kernel: Any) -> Any:
        rows, columns = y.shape[1] - 2, y.shape[2] - 2
        shifted = [y[:, i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
        return xp.concatenate(shifted, -1) @ kernel

    def program(parameters: list[Any]) -> Any:
        first, second, last = parameters
        y = xp.tanh(convolved(images, first))
        y = xp.tanh(convolved(y, second))
        scores = xp.mean(y, (1, 2)) @ last
        return xp.sum(softmax(xp, scores)[:, 0])

    return program


def convolutions_start() -> list[Any]:
    """Two kernels and the matrix of the scores."""
    return [_random(9, 4, scale=0.3), _random(36, 8, scale=0.2), _random(8, 10)]


# --- Probabilities ------------------------------------------------------------------------------


def hidden_markov(xp: Any) -> Program:
    """The forward algorithm over 60 observations with 8 states, each a logsumexp of 8 x 8."""
    seen = np.random.default_rng(4).integers(0, 8, 60).tolist()

    def program(parameters: list[Any]) -> Any:
        moves, emits = parameters
        alpha = emits[seen[0]]
        for at in seen[1:]:
            alpha = logsumexp(xp, alpha[:, None] + moves, 0) + emits[at]
        return logsumexp(xp, alpha, 0)

    return program


def hidden_markov_library(xp: Any) -> Program:
    """The same by the libraries' own functions: `np.logaddexp.reduce`, `torch.logsumexp`."""
    seen = np.random.default_rng(4).integers(0, 8, 60).tolist()

    def program(parameters: list[Any]) -> Any:
        moves, emits = parameters
        alpha = emits[seen[0]]
        for at in seen[1:]:
            alpha = own_logsumexp(xp, alpha[:, None] + moves, 0) + emits[at]
        return own_logsumexp(xp, alpha, 0)

    return program


def hidden_markov_start() -> list[Any]:
    """Logarithms of the chances to move, and to emit."""
    return [_random(8, 8), _random(8, 8, seed=5)]


def mixture(xp: Any) -> Program:
    """Minus the log likelihood of 200 points in a mixture of 5 Gaussians with own widths."""
    points = xp.asarray(_random(200, 2, seed=6))

    def program(parameters: list[Any]) -> Any:
        weights, means, widths = parameters
        away = (points[:, None] - means) / xp.exp(widths)
        chances = -0.5 * xp.sum(away**2, -1) - xp.sum(widths, -1)
        chances = chances + weights - logsumexp(xp, weights, 0)
        return -xp.sum(logsumexp(xp, chances, 1))

    return program


def mixture_start() -> list[Any]:
    """Weights, means and logarithms of widths."""
    return [_random(5), _random(5, 2, seed=7), _random(5, 2, seed=8, scale=0.1)]


def kalman(xp: Any) -> Program:
    """Minus the log likelihood of 30 observations by a Kalman filter with 4 states."""
    seen = xp.asarray(_random(30, 2, seed=9))
    eye = xp.asarray(np.eye(4))
    noise = xp.asarray(0.1 * np.eye(2))

    def program(parameters: list[Any]) -> Any:
        step, look = parameters
        mean, spread, total = step[0], eye, 0.0
        for y in seen:
            mean = step @ mean
            spread = step @ spread @ step.T + 0.1 * eye
            expected = look @ spread @ look.T + noise
            gain = xp.linalg.solve(expected, look @ spread).T
            off = y - look @ mean
            total = total + off @ xp.linalg.solve(expected, off)
            total = total + xp.log(xp.linalg.det(expected))
            mean = mean + gain @ off
            spread = (eye - gain @ look) @ spread
        return 0.5 * total

    return program


def kalman_start() -> list[Any]:
    """The matrices of a step and of what is seen of a state."""
    return [0.9 * np.eye(4) + _random(4, 4, scale=0.05), _random(2, 4, seed=2)]


def gaussian_process(xp: Any) -> Program:
    """Minus the log likelihood of 40 values in a Gaussian process, by its Cholesky factor."""
    points = xp.asarray(_random(40, 3, seed=1))
    values = xp.asarray(_random(40, seed=2))
    eye = xp.asarray(np.eye(40))

    def program(parameters: Any) -> Any:
        height, noise, widths = parameters[0], parameters[1], parameters[2:]
        scaled = points * xp.exp(widths)
        away = scaled[:, None] - scaled[None]
        kernel = xp.exp(height - 0.5 * xp.sum(away**2, -1)) + (0.1 + xp.exp(noise)) * eye
        root = xp.linalg.cholesky(kernel)
        half = xp.linalg.solve(root, values)
        return 0.5 * xp.sum(half**2) + xp.sum(xp.log(xp.diagonal(root)))

    return program


# --- Simulations --------------------------------------------------------------------------------


def bodies(xp: Any) -> Program:
    """10 steps of 24 bodies in three dimensions that attract each other."""

    def program(state: list[Any]) -> Any:
        x, v = state
        for _ in range(10):
            away = x[:, None] - x[None]
            squares = xp.sum(away**2, -1) + 0.1
            v = v - 0.01 * xp.sum(away / squares[..., None] ** 1.5, 1)
            x = x + 0.1 * v
        return xp.sum(x**2) + xp.sum(v**2)

    return program


def bodies_start() -> list[Any]:
    """Places and speeds."""
    return [_random(24, 3), _random(24, 3, seed=1)]


def _laplace(u: Any) -> Any:
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return u[1:-1, 1:-1] + 0.1 * (around - 4 * u[1:-1, 1:-1])


def stencil(xp: Any) -> Program:
    """15 steps of heat on 64 x 64, whose borders are put back by concatenation."""

    def program(u: Any) -> Any:
        for _ in range(15):
            rows = xp.concatenate([u[1:-1, :1], _laplace(u), u[1:-1, -1:]], 1)
            u = xp.concatenate([u[:1], rows, u[-1:]], 0)
        return xp.sum(u**2)

    return program


def stencil_written(xp: Any) -> Program:
    """The same, written into the middle of a copy."""

    def program(u: Any) -> Any:
        for _ in range(15):
            v = copied(xp, u)
            v[1:-1, 1:-1] = _laplace(u)
            u = v
        return xp.sum(u**2)

    return program


def stencil_padded(xp: Any) -> Program:
    """The same with borders of zeros."""

    def program(u: Any) -> Any:
        for _ in range(15):
            u = padded(xp, _laplace(u))
        return xp.sum(u**2)

    return program


def stencil_rolled(xp: Any) -> Program:
    """The same on a torus."""

    def program(u: Any) -> Any:
        for _ in range(15):
            around = xp.roll(u, 1, 0) + xp.roll(u, -1, 0) + xp.roll(u, 1, 1) + xp.roll(u, -1, 1)
            u = u + 0.1 * (around - 4 * u)
        return xp.sum(u**2)

    return program


def runge_kutta(xp: Any) -> Program:
    """40 steps of a pendulum chain with 6 links by Runge and Kutta's method of order 4."""

    def slope(state: Any) -> Any:
        angle, speed = state[:6], state[6:]
        pulled = xp.roll(angle, 1, 0) - 2 * angle + xp.roll(angle, -1, 0)
        return xp.concatenate([speed, pulled - xp.sin(angle)])

    def program(state: Any) -> Any:
        for _ in range(40):
            first = slope(state)
            second = slope(state + 0.05 * first)
            third = slope(state + 0.05 * second)
            fourth = slope(state + 0.1 * third)
            state = state + (first + 2 * second + 2 * third + fourth) / 60
        return xp.sum(state**2)

    return program


# --- Matrices -----------------------------------------------------------------------------------


def distances(xp: Any) -> Program:
    """The sum of all distances of 60 points in 4 dimensions."""
    eye = xp.asarray(np.eye(60))

    def program(x: Any) -> Any:
        away = x[:, None] - x[None]
        return xp.sum(xp.sqrt(xp.sum(away**2, -1) + eye))

    return program


def householder(xp: Any) -> Program:
    """The triangle of a 12 x 12 matrix by 11 reflections, and a sum of its squared logarithms."""

    def program(a: Any) -> Any:
        diagonal = []
        for _ in range(11):
            column = a[:, 0]
            length = xp.sqrt(xp.sum(column**2))
            normal = xp.concatenate([column[:1] - length, column[1:]])
            normal = normal / xp.sqrt(xp.sum(normal**2))
            a = a - 2 * normal[:, None] * (normal @ a)
            diagonal.append(a[0, 0])
            a = a[1:, 1:]
        return sum(xp.log(xp.abs(entry)) ** 2 for entry in diagonal)

    return program


ROWS = [
    Row("attention", attention, attention_start, True),
    Row("hidden Markov", hidden_markov, hidden_markov_start, True),
    Row("N-body", bodies, bodies_start, True),
    Row("layer norm", layer_norms, layer_norms_start, True),
    Row("LSTM", lstm, lstm_start, True),
    Row("stencil", stencil, lambda: _random(64, 64), True),
    Row("stencil, written", stencil_written, lambda: _random(64, 64), False),
    Row("stencil, padded", stencil_padded, lambda: _random(64, 64), False),
    Row("stencil, rolled", stencil_rolled, lambda: _random(64, 64), False),
    Row("Markov, library", hidden_markov_library, hidden_markov_start, False),
    Row("mixture", mixture, mixture_start, False),
    Row("Kalman", kalman, kalman_start, False),
    Row("Gaussian process", gaussian_process, lambda: _random(5, scale=0.1), False),
    Row("convolutions", convolutions, convolutions_start, False),
    Row("Runge-Kutta", runge_kutta, lambda: _random(12), False),
    Row("distances", distances, lambda: _random(60, 4), False),
    Row("Householder", householder, lambda: _random(12, 12), False),
]


# --- Spellings that differ between the libraries ------------------------------------------------


def _is_torch(xp: Any) -> bool:
    return bool(xp.__name__ == "torch")


def softmax(xp: Any, y: Any) -> Any:
    """Of rows, by hand."""
    e = xp.exp(y - largest(xp, y, -1))
    return e / total(xp, e, -1)


def logsumexp(xp: Any, y: Any, axis: int) -> Any:
    """By hand."""
    top = largest(xp, y, axis)
    return xp.log(xp.sum(xp.exp(y - top), axis)) + top.squeeze(axis)


def own_logsumexp(xp: Any, y: Any, axis: int) -> Any:
    """By the library's function."""
    return xp.logsumexp(y, axis) if _is_torch(xp) else xp.logaddexp.reduce(y, axis)


def layer_norm(xp: Any, y: Any) -> Any:
    """Rows of mean 0 and variance 1, by hand."""
    if _is_torch(xp):
        variance = xp.var(y, -1, correction=0, keepdim=True)
        return (y - xp.mean(y, -1, keepdim=True)) / xp.sqrt(variance + 1e-5)
    variance = xp.var(y, axis=-1, keepdims=True)
    return (y - xp.mean(y, axis=-1, keepdims=True)) / xp.sqrt(variance + 1e-5)


def largest(xp: Any, y: Any, axis: int) -> Any:
    """The maximum along an axis, which stays."""
    if _is_torch(xp):
        return xp.amax(y, axis, keepdim=True)
    return xp.max(y, axis=axis, keepdims=True)


def total(xp: Any, y: Any, axis: int) -> Any:
    """The sum along an axis, which stays."""
    if _is_torch(xp):
        return xp.sum(y, axis, keepdim=True)
    return xp.sum(y, axis=axis, keepdims=True)


def copied(xp: Any, u: Any) -> Any:
    """A copy."""
    return u.clone() if _is_torch(xp) else u.copy()


def padded(xp: Any, u: Any) -> Any:
    """With a border of zeros."""
    if _is_torch(xp):
        return xp.nn.functional.pad(u, (1, 1, 1, 1))
    return xp.pad(u, 1)

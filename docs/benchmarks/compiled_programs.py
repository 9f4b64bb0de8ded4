"""Programs that `compile.py` compiles: functions of a namespace, `numpy` or `jax.numpy`.

Knows: programs and their arguments. Must not know: libraries, and how time is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

DRAW = np.random.default_rng(0)


def draw(*shape: int, scale: float = 1.0) -> np.ndarray:
    return scale * DRAW.standard_normal(shape)


def chain(steps: int) -> Callable[[Any, Any], Any]:
    def f(xp: Any, x: Any) -> Any:
        y = x
        for _ in range(steps):
            y = xp.sin(y) * 1.01 + x
        return xp.sum(y)

    return f


def rosenbrock(xp: Any, x: Any) -> Any:
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def mlp(xp: Any, p: Any) -> Any:
    x, y, *weights = p
    for w in weights[:-1]:
        x = xp.tanh(x @ w)
    return xp.sum((x @ weights[-1] - y) ** 2) / y.size


def mixture(xp: Any, p: Any) -> Any:
    """The negative log likelihood of a mixture of Gaussians with diagonal covariances."""
    x, means, logs, weights = p
    d = (x[:, None, :] - means) * xp.exp(-logs)
    q = -0.5 * xp.sum(d * d, axis=2) - xp.sum(logs, axis=1) + weights
    m = xp.max(q, axis=1, keepdims=True)
    return -xp.sum(m[:, 0] + xp.log(xp.sum(xp.exp(q - m), axis=1)))


def lstm(xp: Any, p: Any) -> Any:
    """20 steps of a cell of 32 units, 16 sequences."""
    x, w, u, b = p
    h = c = xp.zeros((16, 32))
    for t in range(20):
        z = x[t] @ w + h @ u + b
        i, f, o = [1 / (1 + xp.exp(-z[:, k * 32 : (k + 1) * 32])) for k in range(3)]
        c = f * c + i * xp.tanh(z[:, 96:])
        h = o * xp.tanh(c)
    return xp.sum(h * h)


def heat(xp: Any, u: Any) -> Any:
    """15 explicit steps of a heat equation on a square."""
    for _ in range(15):
        c = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * c
        new = c + 0.1 * around * (1 + 0.01 * c * c)
        rows = xp.concatenate([u[1:-1, :1], new, u[1:-1, -1:]], axis=1)
        u = xp.concatenate([u[:1], rows, u[-1:]], axis=0)
    return xp.sum(u * u)


def attention(xp: Any, p: Any) -> Any:
    x, wq, wk, wv = p
    q, k, v = x @ wq, x @ wk, x @ wv
    s = q @ xp.swapaxes(k, -1, -2) / 4.0
    e = xp.exp(s - xp.max(s, axis=-1, keepdims=True))
    return xp.mean(((e / xp.sum(e, axis=-1, keepdims=True)) @ v) ** 2)


def bodies(xp: Any, x: Any) -> Any:
    """The energy of particles that repel each other, softened."""
    d = x[:, None, :] - x[None, :, :]
    return xp.sum(1 / xp.sqrt(xp.sum(d * d, axis=-1) + 0.1)) + xp.sum(x * x)


def kalman(xp: Any, p: Any) -> Any:
    """The squared innovations of a Kalman filter with four states and a scalar observation."""
    y, a, q = p
    m, c = xp.zeros(4), xp.eye(4)
    loss = 0.0
    for t in range(20):
        m = a @ m
        c = a @ c @ a.T + q @ q.T
        s = c[0, 0] + 1.0
        e = y[t] - m[0]
        k = c[:, 0] / s
        m = m + k * e
        c = c - k[:, None] * c[0][None, :]
        loss = loss + e * e / s + xp.log(s)
    return loss


def process(xp: Any, p: Any) -> Any:
    """The evidence of a Gaussian process on 60 points."""
    x, y, logs = p
    d = x[:, None] - x[None, :]
    k = xp.exp(logs[0]) * xp.exp(-0.5 * d * d * xp.exp(logs[1]))
    k = k + (0.1 + xp.exp(logs[2])) * xp.eye(60)
    chol = xp.linalg.cholesky(k)
    z = xp.linalg.solve(chol, y)
    return 0.5 * xp.sum(z * z) + xp.sum(xp.log(xp.diagonal(chol)))


def orbit(xp: Any, p: Any) -> Any:
    """Five Runge-Kutta steps of predators and prey, for 100 starts: XLA compiles no 40 in 90 s."""
    x, y, r = p

    def rate(x: Any, y: Any) -> Any:
        return r[0] * x - r[1] * x * y, r[2] * x * y - r[3] * y

    h = 0.05
    for _ in range(5):
        a, b = rate(x, y)
        c, d = rate(x + 0.5 * h * a, y + 0.5 * h * b)
        e, f = rate(x + 0.5 * h * c, y + 0.5 * h * d)
        k, m = rate(x + h * e, y + h * f)
        x = x + h / 6 * (a + 2 * c + 2 * e + k)
        y = y + h / 6 * (b + 2 * d + 2 * f + m)
    return xp.sum(x * x + y)


def image(xp: Any, p: Any) -> Any:
    """Two 3 x 3 filters with a rectifier, over an image of 64 x 64, as sums of slices."""
    x, a, b = p
    for w in (a, b):
        n, m = x.shape
        x = sum(w[i, j] * x[i : n - 2 + i, j : m - 2 + j] for i in range(3) for j in range(3))
        x = xp.maximum(x, 0.1 * x)
    return xp.mean(x * x)


def language(xp: Any, p: Any) -> Any:
    """A bigram model with a hidden layer: embedding, normalisation, cross entropy."""
    table, w, v = p
    words = np.arange(96) * 7 % 50
    h = table[words]
    h = (h - xp.mean(h, axis=-1, keepdims=True)) / xp.sqrt(
        xp.var(h, axis=-1, keepdims=True) + 1e-5
    )
    z = xp.tanh(h @ w) @ v
    m = xp.max(z, axis=-1, keepdims=True)
    logs = z - m - xp.log(xp.sum(xp.exp(z - m), axis=-1, keepdims=True))
    return -xp.mean(logs[np.arange(96), (words * 3 + 1) % 50])


def logistic(xp: Any, p: Any) -> Any:
    x, w, b = p
    z = x @ w + b
    return xp.mean(xp.log1p(xp.exp(-z))) + 0.01 * xp.sum(w * w)


def option(xp: Any, p: Any) -> Any:
    """Prices of calls, with a logistic curve in place of the normal distribution's."""
    s, k, t, v = p
    root = v * xp.sqrt(t)
    d = (xp.log(s / k) + 0.5 * v * v * t) / root
    a, b = [1 / (1 + xp.exp(-1.702 * x)) for x in (d, d - root)]
    return xp.sum(s * a - k * xp.exp(-0.01 * t) * b)


def factors(xp: Any, p: Any) -> Any:
    a, u, v = p
    return xp.sum((a - u @ v.T) ** 2) + 0.1 * (xp.sum(u * u) + xp.sum(v * v))


def walk(xp: Any, x: Any) -> Any:
    """A log density of many scalars, as in a sampler."""
    y = xp.tanh(x[1:] - 0.9 * x[:-1])
    return -0.5 * xp.sum(y * y) - xp.sum(xp.log1p(x * x)) + xp.sum(xp.arctan(x))


def norms(xp: Any, p: Any) -> Any:
    """Ten layers of normalisation and a gate."""
    x, g = p
    for _ in range(10):
        m = xp.mean(x, axis=-1, keepdims=True)
        d = x - m
        x = d / xp.sqrt(xp.mean(d * d, axis=-1, keepdims=True) + 1e-5) * g
        x = x / (1 + xp.exp(-x)) + 0.1
    return xp.sum(x * x)


def stiff(xp: Any, x: Any) -> Any:
    """50 Newton steps of one scalar."""
    y = x
    for _ in range(50):
        y = y - 0.3 * (y - xp.cos(y) * x)
    return y


FREQUENCIES = np.linspace(0.1, 10, 500)


def ladder(xp: Any, p: Any) -> Any:
    """The power that a ladder of coils and capacitors lets through, by frequency."""
    s = 1j * FREQUENCIES
    z = 1 / (s * p[0] + 1)
    for k in range(1, 6):
        z = 1 / (s * p[k] + 1 / (1 + z))
    return xp.sum(xp.abs(z) ** 2)


ENERGIES = draw(1024)


def qubits(xp: Any, angles: Any) -> Any:
    """The mean energy of ten qubits, each turned by an angle."""
    state = xp.ones(1024) / 32.0 + 0j
    for k in range(10):
        c, s = xp.cos(angles[k]), 1j * xp.sin(angles[k])
        half = state.reshape(2**k, 2, -1)
        a, b = half[:, 0], half[:, 1]
        state = xp.stack([c * a - s * b, c * b - s * a], 1).reshape(-1)
    return xp.sum(xp.abs(state) ** 2 * ENERGIES)


MEASURED = np.abs(draw(64, 64)) * 50


def phases(xp: Any, x: Any) -> Any:
    """How far the diffraction pattern of a phase mask is from one that was measured."""
    pattern = xp.abs(xp.fft.fft2(xp.exp(1j * x))) ** 2
    return xp.sum((pattern - MEASURED) ** 2) * 1e-6


def integrals(xp: Any, p: Any) -> Any:
    """Two-electron integrals, turned into the orbitals."""
    atomic, c = p
    return xp.sum(xp.einsum("pqrs,pi,qj,rk,sl->ijkl", atomic, c, c, c, c) ** 2)


def bilinear(xp: Any, p: Any) -> Any:
    """A bilinear layer."""
    return xp.sum(xp.tanh(xp.einsum("bi,bj,ijk->bk", *p)))


def memory(xp: Any, p: Any) -> Any:
    """Attention without a softmax: queries, keys and values in one sum."""
    return xp.sum(xp.einsum("bhid,bhjd,bhje->bhie", *p) ** 2) / 1000


LAYERS = {n: draw(n, n) / n**0.5 for n in (100, 400)}


def layer(xp: Any, x: Any) -> Any:
    return xp.sum(xp.tanh(LAYERS[len(x)] @ x))


def band(xp: Any, x: Any) -> Any:
    return xp.sin(x[2:]) * x[1:-1] - x[:-2] ** 2


def rows(xp: Any, x: Any) -> Any:
    """The logarithms of sums of exponentials of rows, and their norms."""
    return xp.sum(xp.log(xp.sum(xp.exp(x), -1)) - xp.sqrt(xp.sum(x * x, -1)))


def _weights(*sizes: int) -> list[np.ndarray]:
    return [draw(a, b, scale=a**-0.5) for a, b in pairwise(sizes)]


# name, program, argument, order (1: value and gradient, 2: Hessian-vector product), or transform
PROGRAMS: list[tuple[str, Callable[[Any, Any], Any], Any, int | str]] = [
    ("chain 200, n=1", chain(200), draw(1), 1),
    ("chain 200, n=16", chain(200), draw(16), 1),
    ("chain 200, n=1000", chain(200), draw(1000), 1),
    ("chain 50, n=1e5", chain(50), draw(100_000), 1),
    ("newton, scalar", stiff, np.array(0.7), 1),
    ("rosenbrock n=10", rosenbrock, draw(10), 1),
    ("rosenbrock n=1000", rosenbrock, draw(1000), 1),
    ("rosenbrock n=1e6", rosenbrock, draw(1_000_000), 1),
    ("mlp small", mlp, [draw(32, 10), draw(32, 10), *_weights(10, 64, 64, 10)], 1),
    ("mlp medium", mlp, [draw(256, 784), draw(256, 10), *_weights(784, 512, 512, 10)], 1),
    ("mixture", mixture, [draw(1000, 10), draw(5, 10), draw(5, 10) / 3, draw(5)], 1),
    ("lstm", lstm, [draw(20, 16, 32), *[draw(32, 128) / 6 for _ in range(2)], draw(128)], 1),
    ("heat", heat, draw(64, 64), 1),
    ("attention", attention, [draw(4, 16, 32), *[draw(32, 32) / 6 for _ in range(3)]], 1),
    ("bodies n=50", bodies, draw(50, 3), 1),
    ("kalman", kalman, [draw(20), draw(4, 4) / 3, draw(4, 4) / 3], 1),
    ("gaussian process", process, [draw(60), draw(60), draw(3) / 3], 1),
    ("orbit", orbit, [np.full(100, 1.0), np.full(100, 0.5), np.array([1.0, 1.0, 1.0, 1.0])], 1),
    ("image", image, [draw(64, 64), draw(3, 3), draw(3, 3)], 1),
    ("language", language, [draw(50, 32), draw(32, 32) / 6, draw(32, 50) / 6], 1),
    ("logistic", logistic, [draw(500, 20), draw(20), draw(1)], 1),
    ("options n=1e4", option, [np.exp(draw(10_000) / 5) for _ in range(4)], 1),
    ("factors", factors, [draw(80, 60), draw(80, 5), draw(60, 5)], 1),
    ("walk n=300", walk, draw(300), 1),
    ("norms", norms, [draw(64, 64), draw(64)], 1),
    ("ladder filter", ladder, np.abs(draw(6)) + 0.5, 1),
    ("qubits", qubits, draw(10), 1),
    ("phases, FFT", phases, draw(64, 64), 1),
    ("integrals, 10 orbitals", integrals, [draw(10, 10, 10, 10) / 10, draw(10, 10) / 3], 1),
    ("bilinear layer", bilinear, [draw(128, 20), draw(128, 20), draw(20, 20, 20) / 20], 1),
    ("linear attention", memory, [draw(4, 4, 32, 16) for _ in range(3)], 1),
    ("rows of 3", rows, draw(1000, 3), 1),
    ("rows of 128", rows, draw(1000, 128), 1),
    ("hessian, layer n=100", layer, draw(100), "hessian"),
    ("hessian, layer n=400", layer, draw(400), "hessian"),
    ("hessian, rosenbrock n=400", rosenbrock, draw(400), "hessian"),
    ("jacobian, band n=400", band, draw(400), "jacobian"),
    ("hvp chain 200, n=16", chain(200), draw(16), 2),
    ("hvp rosenbrock n=1000", rosenbrock, draw(1000), 2),
    ("hvp mlp small", mlp, [draw(32, 10), draw(32, 10), *_weights(10, 64, 64, 10)], 2),
    ("hvp bodies n=50", bodies, draw(50, 3), 2),
]

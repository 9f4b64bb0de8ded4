"""Values and gradients of programs of `compiled_programs.py` and more, written by hand in NumPy.

Run ``python docs/benchmarks/compiled_by_hand.py``, best with one thread for BLAS: the time of the
NumPy back end over that of these, medians of ratios of times taken in turn, and eager beside it.

Knows: the derivatives of these programs. Must not know: how functions are compiled.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

Pair = tuple[Any, Any]


def chain(steps: int) -> Any:
    def gradient(x: Any) -> Pair:
        y, kept = x, []
        for _ in range(steps):
            kept.append(y)
            y = np.sin(y) * 1.01 + x
        total = np.add.reduce(y)
        g, x_bar = np.ones_like(x), np.zeros_like(x)
        for y in reversed(kept):
            x_bar += g
            g = g * 1.01 * np.cos(y)
        return total, x_bar + g

    return gradient


def rosenbrock(x: Any) -> Pair:
    head, tail = x[:-1], x[1:]
    a = tail - head * head
    b = 1 - head
    value = np.add.reduce(100.0 * a * a + b * b)
    slope = 200.0 * a
    grad = np.zeros_like(x)
    grad[1:] = slope
    grad[:-1] -= 2 * (slope * head + b)
    return value, grad


def mlp(p: Any) -> Pair:
    x, y, *weights = p
    layers = [x]
    for w in weights[:-1]:
        layers.append(np.tanh(layers[-1] @ w))
    d = layers[-1] @ weights[-1] - y
    value = np.add.reduce(d * d, axis=None) / y.size
    g = d * (2 / y.size)
    y_bar = -g
    bars = []
    for layer, w in zip(reversed(layers), reversed(weights), strict=True):
        bars.append(layer.T @ g)
        g = g @ w.T
        if layer is not x:
            g *= 1 - layer * layer
    return value, [g, y_bar, *reversed(bars)]


def logistic(p: Any) -> Pair:
    x, w, b = p
    z = x @ w + b
    e = np.exp(-z)
    value = np.add.reduce(np.log1p(e)) / len(z) + 0.01 * np.dot(w, w)
    g = -e / ((1 + e) * len(z))
    return value, [np.outer(g, w), g @ x + 0.02 * w, np.array([np.add.reduce(g)])]


def factors(p: Any) -> Pair:
    a, u, v = p
    d = a - u @ v.T
    value = np.add.reduce(d * d, axis=None) + 0.1 * (np.sum(u * u) + np.sum(v * v))
    g = 2 * d
    return value, [g, 0.2 * u - g @ v, 0.2 * v - g.T @ u]


def walk(x: Any) -> Pair:
    y = np.tanh(x[1:] - 0.9 * x[:-1])
    square = x * x
    value = -0.5 * (y @ y) - np.add.reduce(np.log1p(square)) + np.add.reduce(np.arctan(x))
    grad = (1 - 2 * x) / (1 + square)
    g = y * (1 - y * y)
    grad[1:] -= g
    grad[:-1] += 0.9 * g
    return value, grad


def attention(p: Any) -> Pair:
    x, wq, wk, wv = p
    q, k, v = x @ wq, x @ wk, x @ wv
    s = q @ np.swapaxes(k, -1, -2) / 4.0
    e = np.exp(s - s.max(-1, keepdims=True))
    a = e / e.sum(-1, keepdims=True)
    out = a @ v
    value = np.add.reduce(out * out, axis=None) / out.size
    g = out * (2 / out.size)
    v_bar = np.swapaxes(a, -1, -2) @ g
    a_bar = g @ np.swapaxes(v, -1, -2)
    s_bar = a * (a_bar - np.add.reduce(a_bar * a, -1, keepdims=True)) / 4.0
    bars = s_bar @ k, np.swapaxes(s_bar, -1, -2) @ q, v_bar
    width = x.shape[-1]
    rows = x.reshape(-1, width).T
    x_bar = sum(bar @ w.T for bar, w in zip(bars, (wq, wk, wv), strict=True))
    return value, [x_bar, *[rows @ bar.reshape(-1, width) for bar in bars]]


def heat(u: Any) -> Pair:
    kept = []
    for _ in range(15):
        c = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * c
        weight = 1 + 0.01 * c * c
        kept.append((c, around, weight))
        u = u.copy()
        u[1:-1, 1:-1] = c + 0.1 * around * weight
    value = np.add.reduce(u * u, axis=None)
    g = 2 * u
    for c, around, weight in reversed(kept):
        inner = g[1:-1, 1:-1].copy()
        spread = 0.1 * inner * weight
        g[1:-1, 1:-1] += 0.002 * inner * around * c - 4 * spread
        g[2:, 1:-1] += spread
        g[:-2, 1:-1] += spread
        g[1:-1, 2:] += spread
        g[1:-1, :-2] += spread
    return value, g


def options(p: Any) -> Pair:
    s, k, t, v = p
    sqrt = np.sqrt(t)
    root = v * sqrt
    d = (np.log(s / k) + 0.5 * v * v * t) / root
    a, b = [1 / (1 + np.exp(-1.702 * x)) for x in (d, d - root)]
    paid = k * np.exp(-0.01 * t)
    value = np.add.reduce(s * a - paid * b)
    da = 1.702 * s * a * (1 - a)
    db = -1.702 * paid * b * (1 - b)
    dd = (da + db) / root
    dr = -db - dd * d
    s_bar = a + dd / s
    k_bar = -paid / k * b - dd / k
    t_bar = 0.01 * paid * b + dd * 0.5 * v * v + dr * v * 0.5 / sqrt
    return value, [s_bar, k_bar, t_bar, dd * v * t + dr * sqrt]


BY_HAND = {
    "chain 200, n=1": chain(200),
    "chain 200, n=16": chain(200),
    "chain 200, n=1000": chain(200),
    "chain 50, n=1e5": chain(50),
    "rosenbrock n=10": rosenbrock,
    "rosenbrock n=1000": rosenbrock,
    "rosenbrock n=1e6": rosenbrock,
    "mlp small": mlp,
    "mlp medium": mlp,
    "logistic": logistic,
    "factors": factors,
    "walk n=300": walk,
    "attention": attention,
    "heat": heat,
    "options n=1e4": options,
}


# -- Programs of other kinds, with their gradients ----------------------------------------------


def recurrent(xp: Any, p: Any) -> Any:
    """12 steps of a recurrent layer, and the squared distance to targets."""
    x, y, w, u, b = p
    h = xp.zeros((8, 24))
    loss = 0.0
    for t in range(12):
        h = xp.tanh(x[t] @ w + h @ u + b)
        d = h - y[t]
        loss = loss + xp.sum(d * d)
    return loss


def recurrent_by_hand(p: Any) -> Pair:
    x, y, w, u, b = p
    h, kept, value = np.zeros((8, 24)), [], 0.0
    for t in range(12):
        before, h = h, np.tanh(x[t] @ w + h @ u + b)
        d = h - y[t]
        kept.append((before, h, d))
        value += np.add.reduce(d * d, axis=None)
    x_bar, y_bar = np.empty_like(x), np.empty_like(y)
    w_bar, u_bar, b_bar = np.zeros_like(w), np.zeros_like(u), np.zeros_like(b)
    h_bar: Any = 0.0
    for t in reversed(range(12)):
        before, h, d = kept[t]
        g = 2 * d
        y_bar[t] = -g
        z = (h_bar + g) * (1 - h * h)
        x_bar[t] = z @ w.T
        w_bar += x[t].T @ z
        u_bar += before.T @ z
        b_bar += np.add.reduce(z)
        h_bar = z @ u.T
    return value, [x_bar, y_bar, w_bar, u_bar, b_bar]


def normal(xp: Any, p: Any) -> Any:
    """The log likelihood of normal distributions, one a column."""
    x, mean, log = p
    z = (x - mean) * xp.exp(-log)
    return -0.5 * xp.sum(z * z) - x.shape[0] * xp.sum(log)


def normal_by_hand(p: Any) -> Pair:
    x, mean, log = p
    scale = np.exp(-log)
    z = (x - mean) * scale
    square = z * z
    value = -0.5 * np.add.reduce(square, axis=None) - len(x) * np.add.reduce(log)
    g = z * -scale
    return value, [g, -np.add.reduce(g), np.add.reduce(square) - len(x)]


def stencil(xp: Any, x: Any) -> Any:
    """The energy of a string, with a force that is not linear."""
    bend = x[2:] - 2 * x[1:-1] + x[:-2]
    return xp.sum(bend * bend) + 0.1 * xp.sum(xp.cos(x[1:-1] * x[2:]))


def stencil_by_hand(x: Any) -> Pair:
    left, middle, right = x[:-2], x[1:-1], x[2:]
    bend = right - 2 * middle + left
    product = middle * right
    value = np.add.reduce(bend * bend) + 0.1 * np.add.reduce(np.cos(product))
    g = 2 * bend
    h = -0.1 * np.sin(product)
    grad = np.zeros_like(x)
    grad[2:] = g + h * middle
    grad[1:-1] += h * right - 2 * g
    grad[:-2] += g
    return value, grad


def softmax(xp: Any, p: Any) -> Any:
    """A regression with the softmax function, with targets as weights of the classes."""
    x, y, w, b = p
    z = x @ w + b
    z = z - xp.max(z, axis=1, keepdims=True)
    return xp.mean(xp.log(xp.sum(xp.exp(z), axis=1)) - xp.sum(y * z, axis=1))


def softmax_by_hand(p: Any) -> Pair:
    x, y, w, b = p
    z = x @ w + b
    z -= z.max(axis=1, keepdims=True)
    e = np.exp(z)
    total = e.sum(axis=1)
    n = len(x)
    value = np.add.reduce(np.log(total) - np.add.reduce(y * z, axis=1)) / n
    g = e / (total[:, None] * n) - y / n
    peaks = z == 0  # the largest of a row: what the others lose, it gains
    g -= peaks * (g.sum(axis=1) / peaks.sum(axis=1))[:, None]
    return value, [g @ w.T, z * (-1 / n), x.T @ g, np.add.reduce(g)]


def distances(xp: Any, p: Any) -> Any:
    """The sum of a kernel of the distances between two sets of points."""
    x, y = p
    d = x[:, None, :] - y[None, :, :]
    return xp.sum(xp.exp(-0.5 * xp.sum(d * d, axis=-1)))


def distances_by_hand(p: Any) -> Pair:
    x, y = p
    d = x[:, None, :] - y[None, :, :]
    k = np.exp(-0.5 * np.add.reduce(d * d, axis=-1))
    g = d * -k[:, :, None]
    return np.add.reduce(k, axis=None), [np.add.reduce(g, axis=1), -np.add.reduce(g, axis=0)]


def more() -> list[tuple[str, Any, Any, Any]]:
    """Names, programs, arguments and gradients by hand."""
    from compiled_programs import draw

    weights = draw(30, 20), draw(20, 7) / 5, draw(7)
    classes = np.eye(7)[np.arange(30) % 7]
    layer = draw(6, 24) / 3, draw(24, 24) / 6, draw(24)
    return [
        ("recurrent", recurrent, [draw(12, 8, 6), draw(12, 8, 24), *layer], recurrent_by_hand),
        ("normal", normal, [draw(200, 6), draw(6), draw(6) / 3], normal_by_hand),
        ("stencil n=50", stencil, draw(50), stencil_by_hand),
        ("stencil n=1e5", stencil, draw(100_000), stencil_by_hand),
        ("softmax", softmax, [weights[0], classes, *weights[1:]], softmax_by_hand),
        ("distances", distances, [draw(40, 3), draw(30, 3)], distances_by_hand),
    ]


def main() -> None:
    from compile import derivative, leaves, measured
    from compiled_programs import PROGRAMS

    import tapegrad

    print(f"{'program':24}{'by hand':>10}{'numpy':>8}{'eager':>8}")
    rows = [(name, f, x, BY_HAND[name]) for name, f, x, _ in PROGRAMS if name in BY_HAND]
    for name, f, x, by_hand in rows + more():
        eager = derivative(tapegrad, lambda x, f=f: f(np, x), 1)
        fast = tapegrad.compile(eager, backend="numpy")
        for _ in range(5):
            found = fast(x)
        for a, b in zip(leaves(found), leaves(by_hand(x)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        named = {"forward": by_hand, "numpy": fast, "eager": eager}
        calls = {key: functools.partial(call, x) for key, call in named.items()}
        took, ratios = measured(calls, 0.5)
        print(
            f"{name:24}{took * 1e6:8.1f}us{ratios['numpy']:8.2f}{ratios['eager']:8.2f}", flush=True
        )


if __name__ == "__main__":
    main()

"""The steps that `operations.py` times: NumPy's most used functions, and PyTorch's for them.

A step maps y to the next y, of the same shape; x is the input, and `k` has constants of its shape.
Knows the two spellings of each step. Must not know how they are timed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Step = Callable[[Any, Any, Any, Any], Any]


class Constants(NamedTuple):
    """Arrays that a program does not differentiate, for one size n, in a library's own class."""

    c: Any  # (n, n), about 1
    row: Any  # (n,)
    column: Any  # (n, 1)
    matrix: Any  # (n, n), well conditioned
    order: Any  # (n,), a permutation
    mask: Any  # (n, n), of booleans


class Row(NamedTuple):
    """A step in NumPy's words and in PyTorch's; the first argument is the namespace."""

    name: str
    numpy: Step
    torch: Step


def _both(name: str, step: Step) -> Row:
    return Row(name, step, step)


ROWS = [
    # elementwise
    _both("y + c", lambda np, y, x, k: y + k.c),
    _both("y * x", lambda np, y, x, k: y * x),
    _both("y - 0.1", lambda np, y, x, k: y - 0.1),
    _both("y / c", lambda np, y, x, k: y / k.c),
    _both("c / y", lambda np, y, x, k: k.c / y),
    _both("y ** 2", lambda np, y, x, k: y**2 * 0.5),
    _both("y ** 0.5", lambda np, y, x, k: y**0.5),
    _both("-y", lambda np, y, x, k: -y),
    _both("abs(y)", lambda np, y, x, k: np.abs(y)),
    _both("exp", lambda np, y, x, k: np.exp(y * -1.0)),
    _both("log", lambda np, y, x, k: np.log(y + 1.5)),
    _both("sqrt", lambda np, y, x, k: np.sqrt(y)),
    _both("sin", lambda np, y, x, k: np.sin(y)),
    _both("cos", lambda np, y, x, k: np.cos(y)),
    _both("tanh", lambda np, y, x, k: np.tanh(y)),
    _both("arctan", lambda np, y, x, k: np.arctan(y)),
    _both("square", lambda np, y, x, k: np.square(y) * 0.5),
    _both("log1p", lambda np, y, x, k: np.log1p(y)),
    _both("expm1", lambda np, y, x, k: np.expm1(y * -0.5)),
    _both("maximum", lambda np, y, x, k: np.maximum(y, k.c)),
    _both("minimum", lambda np, y, x, k: np.minimum(y, x)),
    _both("logaddexp", lambda np, y, x, k: np.logaddexp(y, x) - 1.0),
    _both("hypot", lambda np, y, x, k: np.hypot(y, x) * 0.7),
    _both("arctan2", lambda np, y, x, k: np.arctan2(y, x)),
    Row(
        "clip",
        lambda np, y, x, k: np.clip(y, 0.2, 1.2),
        lambda np, y, x, k: np.clamp(y, 0.2, 1.2),
    ),
    _both("where", lambda np, y, x, k: np.where(k.mask, y, x)),
    _both("where(x > 1)", lambda np, y, x, k: np.where(x > 1.0, y, x)),
    # broadcasting
    _both("y * row", lambda np, y, x, k: y * k.row),
    _both("y + column", lambda np, y, x, k: y + k.column),
    _both("y + x[0]", lambda np, y, x, k: y + x[0]),
    _both("y - x[:, :1]", lambda np, y, x, k: y - x[:, :1]),
    # reductions
    Row(
        "sum, rows",
        lambda np, y, x, k: y + 0.01 * np.sum(y, -1)[:, None],
        lambda np, y, x, k: y + 0.01 * np.sum(y, -1)[:, None],
    ),
    _both("sum, all", lambda np, y, x, k: y + 0.001 * np.sum(y)),
    Row(
        "mean",
        lambda np, y, x, k: y - np.mean(y, 0),
        lambda np, y, x, k: y - np.mean(y, 0),
    ),
    Row(
        "max",
        lambda np, y, x, k: y - np.max(y, axis=-1, keepdims=True),
        lambda np, y, x, k: y - np.amax(y, -1, keepdim=True),
    ),
    Row(
        "min",
        lambda np, y, x, k: y - np.min(y, axis=0),
        lambda np, y, x, k: y - np.amin(y, 0),
    ),
    Row(
        "var",
        lambda np, y, x, k: y / (np.var(y, axis=-1, keepdims=True) + 1.0),
        lambda np, y, x, k: y / (np.var(y, -1, correction=0, keepdim=True) + 1.0),
    ),
    Row(
        "std",
        lambda np, y, x, k: y / (np.std(y, axis=0) + 1.0),
        lambda np, y, x, k: y / (np.std(y, 0, correction=0) + 1.0),
    ),
    Row(
        "prod",
        lambda np, y, x, k: y + 0.001 * np.prod(x, axis=0),
        lambda np, y, x, k: y + 0.001 * np.prod(x, 0),
    ),
    Row(
        "norm",
        lambda np, y, x, k: y / np.linalg.norm(y),
        lambda np, y, x, k: y / np.linalg.norm(y),
    ),
    _both("cumsum", lambda np, y, x, k: np.cumsum(y, 0) * 0.1),
    Row(
        "logsumexp by hand",
        lambda np, y, x, k: y - np.log(np.sum(np.exp(y), axis=1, keepdims=True)),
        lambda np, y, x, k: y - np.log(np.sum(np.exp(y), 1, keepdim=True)),
    ),
    # views
    _both("y.T", lambda np, y, x, k: y.T),
    _both("reshape twice", lambda np, y, x, k: y.reshape(-1).reshape(y.shape)),
    _both("y[None][0]", lambda np, y, x, k: y[None, :][0]),
    Row(
        "expand, squeeze",
        lambda np, y, x, k: np.squeeze(np.expand_dims(y, 1), 1),
        lambda np, y, x, k: np.squeeze(np.unsqueeze(y, 1), 1),
    ),
    _both("swapaxes", lambda np, y, x, k: np.swapaxes(y, 0, 1)),
    _both("moveaxis", lambda np, y, x, k: np.moveaxis(y, 0, 1)),
    _both("ravel", lambda np, y, x, k: np.ravel(y).reshape(y.shape)),
    Row(
        "broadcast_to",
        lambda np, y, x, k: np.broadcast_to(y[0], y.shape) + x,
        lambda np, y, x, k: np.broadcast_to(y[0], y.shape) + x,
    ),
    Row("flip", lambda np, y, x, k: y[::-1], lambda np, y, x, k: np.flip(y, (0,))),
    _both("roll", lambda np, y, x, k: np.roll(y, 1, 0)),
    # reads
    _both("y[0]", lambda np, y, x, k: y + y[0]),
    _both("y[1:], y[:-1]", lambda np, y, x, k: np.concatenate([y[1:] - y[:-1], x[:1]])),
    _both("y[:, 1:3]", lambda np, y, x, k: y + np.sum(y[:, 1:3])),
    _both("y[2, 3]", lambda np, y, x, k: y + y[2, 3]),
    _both("y[order]", lambda np, y, x, k: y[k.order]),
    _both("y[:, order]", lambda np, y, x, k: y[:, k.order]),
    _both("y[mask]", lambda np, y, x, k: y + np.sum(y[k.mask])),
    Row(
        "take",
        lambda np, y, x, k: np.take(y, k.order, axis=0),
        lambda np, y, x, k: np.index_select(y, 0, k.order),
    ),
    _both("diagonal", lambda np, y, x, k: y + np.diagonal(y)),
    # joining
    Row(
        "concatenate",
        lambda np, y, x, k: np.concatenate([y[:4], x[4:]]),
        lambda np, y, x, k: np.cat([y[:4], x[4:]]),
    ),
    _both("stack", lambda np, y, x, k: np.sum(np.stack([y, x]), 0) * 0.5),
    _both("vstack", lambda np, y, x, k: np.vstack([y[:4], x[4:]])),
    _both("tile", lambda np, y, x, k: np.tile(y[:1], (y.shape[0], 1))),
    # products
    _both("y @ x", lambda np, y, x, k: y @ x * 0.1),
    _both("dot", lambda np, y, x, k: y + 0.01 * np.dot(y[0], x[0])),
    _both("outer", lambda np, y, x, k: np.outer(y[0], x[0])),
    _both("einsum", lambda np, y, x, k: np.einsum("ij,kj->ik", y, x) * 0.1),
    _both("tensordot", lambda np, y, x, k: np.tensordot(y, x, ([1], [0])) * 0.1),
    _both("trace", lambda np, y, x, k: y + 0.01 * np.trace(y)),
    _both("solve", lambda np, y, x, k: np.linalg.solve(k.matrix, y)),
    _both("inv", lambda np, y, x, k: np.linalg.inv(k.matrix + 0.01 * y)),
    _both("det", lambda np, y, x, k: y + 1e-3 * np.linalg.det(0.1 * y + k.matrix)),
    # order
    Row(
        "sort",
        lambda np, y, x, k: np.sort(y, axis=0),
        lambda np, y, x, k: np.sort(y, 0)[0],
    ),
    _both("diff", lambda np, y, x, k: y + np.sum(np.diff(y))),
    # several at once
    Row(
        "layer norm",
        lambda np, y, x, k: (
            (y - np.mean(y, axis=-1, keepdims=True))
            / np.sqrt(np.var(y, axis=-1, keepdims=True) + 1e-5)
        ),
        lambda np, y, x, k: (
            (y - np.mean(y, -1, keepdim=True))
            / np.sqrt(np.var(y, -1, correction=0, keepdim=True) + 1e-5)
        ),
    ),
    Row(
        "softmax",
        lambda np, y, x, k: _softmax(np, y - np.max(y, axis=-1, keepdims=True)),
        lambda np, y, x, k: _softmax(np, y - np.amax(y, -1, keepdim=True)),
    ),
]


def _softmax(np: Any, y: Any) -> Any:
    e = np.exp(y)
    return e / np.sum(e, -1)[:, None]

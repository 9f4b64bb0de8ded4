"""Programs for arrays of any library that speaks NumPy's protocols: scalars of vectors.

Each takes a vector of positive numbers, an even count of them.
"""

from __future__ import annotations

import numpy as np

PROGRAMS = {
    # Elementwise functions and operators
    "sin": lambda x: np.sum(np.sin(x)),
    "square": lambda x: np.sum(x**2),
    "operators": lambda x: np.sum((x + 2) * (3 - x) / (1 + x) - x),
    "power": lambda x: np.sum(x**1.5 + 2.0**x + x**x),
    "root and log": lambda x: np.sum(np.sqrt(x) * np.log(x) + np.cbrt(x)),
    "tanh chain": lambda x: np.sum(np.tanh(np.exp(-x) + np.arctan(x))),
    "abs and sign": lambda x: np.sum(np.abs(x - 1.1) * np.sign(x - 0.9)),
    "maximum": lambda x: np.sum(np.maximum(x, 0.8) + np.minimum(x, 1.2)),
    "hypot and arctan2": lambda x: np.sum(np.hypot(x, 2.0) * np.arctan2(x, 1.5)),
    "logaddexp": lambda x: np.sum(np.logaddexp(x, 0.3)),
    "clip": lambda x: np.sum(np.clip(x, 0.6, 1.4) ** 2),
    "complex": lambda x: np.sum(np.abs(np.exp(1j * x) * x)),
    # Reductions
    "mean": lambda x: np.mean(x * x),
    "mean over axes": lambda x: np.sum(np.mean(np.reshape(x, (2, -1)), axis=1) ** 3),
    "variance": lambda x: np.var(x) + np.std(x),
    "prod": lambda x: np.prod(x),
    "max and min": lambda x: np.max(x) * np.min(x),
    "keepdims": lambda x: np.sum(x / np.sum(x, keepdims=True) * x),
    "logsumexp": lambda x: np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x),
    "norm": lambda x: np.sqrt(np.sum(x * x)),
    "method sum": lambda x: (x * x).sum() * x.mean(),
    "cumsum": lambda x: np.sum(np.cumsum(x) ** 2),
    # Products
    "vector @ vector": lambda x: x @ x,
    "matrix @ vector": lambda x: np.sum(np.sin(np.reshape(x, (2, -1)) @ x[: x.shape[0] // 2])),
    "matmul": lambda x: np.sum(np.reshape(x, (2, -1)).T @ np.reshape(x, (2, -1))),
    "dot": lambda x: np.dot(x, np.cos(x)),
    "outer": lambda x: np.sum(np.exp(np.outer(x, x))),
    "tensordot": lambda x: np.sum(np.tensordot(np.reshape(x, (2, -1)), x[:2], axes=(0, 0)) ** 2),
    "einsum": lambda x: np.sum(np.einsum("i,j->ij", x, x) ** 2),
    # Where
    "where": lambda x: np.sum(np.where(x > 1.0, x**2, np.sin(x))),
    "where root": lambda x: np.sum(np.where(x > 1.0, np.sqrt(x), 0.0)),
    # Shapes and indexing
    "slices": lambda x: np.sum(x[1:] * x[:-1]),
    "steps": lambda x: np.sum(x[::2] ** 2 - x[1::2] ** 3),
    "one element": lambda x: x[0] * x[-1] ** 2,
    "list of positions": lambda x: np.sum(x[[2, 0, 3]] ** 2),
    "new axis": lambda x: np.sum(np.tanh(x[:, None] - x[None, :]) ** 2),
    "transpose": lambda x: np.sum(np.transpose(np.reshape(x, (2, -1)))[0] ** 2),
    "broadcast": lambda x: np.sum(np.broadcast_to(x, (3, x.shape[0])) ** 2),
    "flip and roll": lambda x: np.sum(np.flip(x) * np.roll(x, 1)),
    "squeeze": lambda x: np.sum(np.squeeze(np.expand_dims(x, 0)) ** 2),
    # Joining
    "concatenate": lambda x: np.sum(np.concatenate([x, x**2, x[:2]]) ** 2),
    "stack": lambda x: np.sum(np.stack([x, np.sin(x)]) ** 3),
    "vstack": lambda x: np.sum(np.vstack([x, 2 * x]) ** 2),
    "astype": lambda x: np.sum(x.astype(np.float32) ** 2),
    # A small model
    "regression": lambda x: np.mean((np.tanh(np.outer(x, x) @ x + 0.5) - x) ** 2),
}
VECTOR = np.array([0.35, 1.45, 0.85, 1.75, 1.05, 0.55])
TANGENT = np.array([0.5, -1.0, 0.25, 2.0, -0.75, 1.5])

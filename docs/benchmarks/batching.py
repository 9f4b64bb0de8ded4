"""How much vmap and batched derivatives save, against loops and torch.func.

OPENBLAS_NUM_THREADS=1 python docs/benchmarks/batching.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from programs import rosenbrock, vector

import tapegrad

EXAMPLES = np.random.default_rng(0).normal(size=(1000, 3))
WEIGHTS = [np.random.default_rng(i).normal(size=(100, 100)) / 10 for i in range(4)]


def small(x: Any) -> Any:
    """Ten operations on three numbers."""
    y = np.sin(x) * x + 1.0
    y = y * y - x
    y = np.tanh(y) * 2.0 + np.cos(x)
    return np.sum(y * y)


def layers(x: Any) -> Any:
    for weights in WEIGHTS:
        x = np.tanh(weights @ x)
    return x


def milliseconds(call: Callable[[], Any], repeats: int = 9) -> float:
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times)[repeats // 2] * 1e3


def report(what: str, ours: Callable[[], Any], other: str, theirs: Callable[[], Any]) -> None:
    fast, slow = milliseconds(ours), milliseconds(theirs)
    print(f"{what}: {fast:.3f} ms, {other}: {slow:.2f} ms, ratio {slow / fast:.1f}")


def main() -> None:
    mapped, gradient = tapegrad.vmap(small), tapegrad.grad(small)
    report("vmap", lambda: mapped(EXAMPLES), "loop", lambda: [small(x) for x in EXAMPLES])
    gradients = tapegrad.vmap(gradient)
    report(
        "vmap of grad",
        lambda: gradients(EXAMPLES),
        "loop",
        lambda: [gradient(x) for x in EXAMPLES],
    )
    x = np.linspace(-1, 1, 100)
    jacobian, pullback = tapegrad.jacrev(layers), tapegrad.vjp(layers, x)[1]
    report(
        "Jacobian of layers",
        lambda: jacobian(x),
        "100 pullbacks",
        lambda: [pullback(row) for row in np.eye(100)],
    )
    point = vector(1000)
    hessian = tapegrad.hessian(rosenbrock(np))
    try:
        import torch
    except ImportError:
        return
    tensor, reference = torch.tensor(point), torch.func.hessian(rosenbrock(torch))
    report(
        "Hessian of Rosenbrock",
        lambda: hessian(point),
        "torch.func",
        lambda: reference(tensor),
    )


if __name__ == "__main__":
    main()

"""What compiled derivatives cost, beside `jax.jit`.

Run ``python docs/benchmarks/compile.py [--only ROW ...] [--quick]``, best with one thread for
BLAS (OMP_NUM_THREADS=1). All times are over the plain NumPy forward: medians of ratios of times
taken in turn. Values and gradients are compared with eager ones first. float64.

Knows: rows and columns. Must not know: programs (`compiled_programs.py`).
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import numpy as np
from compiled_programs import PROGRAMS

import tapegrad

try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None

Call = Callable[[], Any]


def leaves(value: Any) -> list[Any]:
    return [np.asarray(x) for x in tapegrad._tree.flatten(value)[0]]


def derivative(library: Any, f: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    if order == 1:
        return library.value_and_grad(f)

    def product(x: Any) -> Any:
        def slope(x: Any) -> Any:
            parts = library.grad(f)(x)
            parts = parts if isinstance(parts, list) else [parts]
            return sum((g * 0.5).sum() for g in parts)

        return library.grad(slope)(x)

    return product


def calls_of(f: Any, x: Any, order: int) -> tuple[dict[str, Call], dict[str, float], float]:
    """The calls by column, the seconds that each took to compile, and the largest difference."""
    calls: dict[str, Call] = {"forward": lambda: f(np, x)}
    built: dict[str, float] = {}
    eager = derivative(tapegrad, lambda x: f(np, x), order)
    expected = leaves(eager(x))
    calls["eager"] = lambda: eager(x)
    error = 0.0
    for backend in ("numpy", "llvm"):
        fast = tapegrad.compile(eager, backend=backend)
        start = time.perf_counter()
        for _ in range(3):
            got = fast(x)
        built[backend] = time.perf_counter() - start
        for a, b in zip(leaves(got), expected, strict=True):
            error = max(error, float(np.max(np.abs(a - b)) / max(1, np.max(np.abs(b)))))
        calls[backend] = lambda fast=fast: fast(x)
    if jax is not None:
        compiled = jax.jit(derivative(jax, lambda x: f(jnp, x), order))
        given = jax.tree_util.tree_map(jnp.asarray, x)
        start = time.perf_counter()
        got = jax.block_until_ready(compiled(given))
        built["jax"] = time.perf_counter() - start
        for a, b in zip(leaves(got), expected, strict=True):
            error = max(error, float(np.max(np.abs(a - b)) / max(1, np.max(np.abs(b)))))
        calls["jax"] = lambda: jax.block_until_ready(compiled(given))
    return calls, built, error


def measured(calls: dict[str, Call], seconds: float) -> tuple[float, dict[str, float]]:
    """The time of the forward, and the others' ratios over it."""
    turns = {}
    for name, call in calls.items():
        call()
        start = time.perf_counter()
        call()
        took = max(time.perf_counter() - start, 1e-7)
        turns[name] = max(1, int(2e-3 / took))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(samples["forward"]) < 5:
        for name, call in calls.items():
            n = turns[name]
            start = time.perf_counter()
            for _ in range(n):
                call()
            samples[name].append((time.perf_counter() - start) / n)
    forward = samples.pop("forward")
    ratios = {
        name: statistics.median(t / f for t, f in zip(times, forward, strict=True))
        for name, times in samples.items()
    }
    return statistics.median(forward), ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="rows whose names hold one of these")
    parser.add_argument("--quick", action="store_true", help="less time a row")
    options = parser.parse_args()
    rows = [row for row in PROGRAMS if not options.only or any(w in row[0] for w in options.only)]
    head = f"{'program':24}{'forward':>10}{'eager':>8}{'numpy':>8}{'llvm':>8}{'jax':>8}"
    print(head + f"{'llvm/jax':>9}{'build':>9}{'jax':>7} s{'error':>9}")
    over: list[float] = []
    for name, f, x, order in rows:
        calls, built, error = calls_of(f, x, order)
        forward, ratios = measured(calls, 0.3 if options.quick else 2.0)
        line = f"{name:24}{forward * 1e6:8.1f}us"
        for column in ("eager", "numpy", "llvm", "jax"):
            line += f"{ratios[column]:8.3g}" if column in ratios else f"{'-':>8}"
        if "jax" in ratios:
            over.append(ratios["llvm"] / ratios["jax"])
            line += f"{over[-1]:9.2f}"
        else:
            line += f"{'-':>9}"
        line += f"{built['llvm']:9.2f}{built.get('jax', float('nan')):7.2f}  {error:9.0e}"
        print(line, flush=True)
    if over:
        below = sum(ratio < 1 for ratio in over)
        print(f"below jax.jit: {below} of {len(over)}; median {statistics.median(over):.2f} of it")


if __name__ == "__main__":
    main()

"""Gain of each fast path of the engine: programs with it off, over the same with all on.

Run ``python docs/benchmarks/fast_paths.py [--rounds N] [--only PROGRAM ...]``. Prints the table of
docs/fast-paths.md, in Markdown. All states of a program take turns, and of each the least time
counts, as what else the machine does only adds to it.

Knows: `fast.PATHS`, and the programs. Must not know: what a path does.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tapegrad
import tapegrad.torch as torch
from tapegrad._core import fast

RNG = np.random.default_rng(0)
SPAN = 1e-3  # seconds that one timing takes at least: short ones meet less of what else runs
Call = Callable[[], Any]


def chain(x: Any) -> Any:
    y = x
    for _ in range(50):
        y = np.sin(y) * 1.01 + x
    return np.sum(y)


def pairs(x: Any) -> Any:
    y = x
    for _ in range(20):
        y = y @ WEIGHTS + ROW * x[0]
    return np.sum(y)


def network(params: Any) -> Any:
    w, b, v = params
    return np.mean((np.tanh(INPUTS @ w + b) @ v) ** 2)


def attention(x: Any) -> Any:
    scores = np.einsum("qd,kd->qk", x, x) / 4.0
    weights = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    weights = weights / np.sum(weights, axis=1, keepdims=True)
    return np.sum(np.concatenate([weights @ x, x], axis=1) ** 2)


def parts(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(1, 16):
        y[i] = y[i - 1] * 0.5 + x[i]
    return np.sum(y[::2] * x[:8])


def tensors(x: Any) -> Any:
    x.grad = None
    (torch.nn.functional.softmax(x * x.sum(1, keepdim=True), 1)[:4].cumsum(0)).sum().backward()


INPUTS = RNG.standard_normal((32, 10))
PARAMS = RNG.standard_normal((10, 16)), np.zeros(16), RNG.standard_normal((16, 4))
WEIGHTS, ROW = RNG.standard_normal((8, 8)) / 8, np.ones((8, 1))
X, SQUARE = RNG.standard_normal(16), RNG.standard_normal((8, 8))


def programs() -> dict[str, Call]:
    """The programs that are timed, by the names of their columns."""
    tensor = torch.randn(8, 8, requires_grad=True)
    _, along = tapegrad.linearize(chain, X)
    return {
        "chain": lambda: tapegrad.grad(chain)(X),
        "its jvp": lambda: tapegrad.jvp(chain, (X,), (X,)),
        "of a number": lambda: tapegrad.jvp(chain, (0.5,), (1.0,)),
        "`linearize`": lambda: along(X),
        "pairs": lambda: tapegrad.grad(pairs)(SQUARE),
        "network": lambda: tapegrad.grad(network)(PARAMS),
        "attention": lambda: tapegrad.grad(attention)(SQUARE),
        "parts": lambda: tapegrad.grad(parts)(X),
        "tensors": lambda: tensors(tensor),
    }


def state(titles: Sequence[str]) -> Any:
    return fast.off(*titles) if titles else contextlib.nullcontext()


def least_times(call: Call, states: Sequence[Sequence[str]], rounds: int) -> list[float]:
    """The least time of a call in each state; the states take turns."""
    call()
    begin = time.perf_counter()
    call()
    count = max(1, int(SPAN / (time.perf_counter() - begin)))
    least = [float("inf")] * len(states)
    for _ in range(rounds):
        for at, titles in enumerate(states):
            with state(titles):
                for _ in range(4):
                    call()  # so that it is planned
                begin = time.perf_counter()
                for _ in range(count):
                    call()
                least[at] = min(least[at], (time.perf_counter() - begin) / count)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", nargs="+", metavar="PROGRAM")
    asked = parser.parse_args()
    calls = {name: call for name, call in programs().items() if name in (asked.only or [name])}
    titles = list(fast.PATHS)
    states = [(), *[(title,) for title in titles], tuple(titles)]
    columns = [least_times(call, states, asked.rounds) for call in calls.values()]
    print("| off |", " | ".join(calls), "|")
    print("|---|", "---:|" * len(calls), sep="")
    print("| none |", " | ".join(f"{times[0] * 1e6:.0f} us" for times in columns), "|")
    for at, title in enumerate([*[f"`{title}`" for title in titles], "all"], 1):
        print(f"| {title} |", " | ".join(f"{times[at] / times[0]:.2f}" for times in columns), "|")


if __name__ == "__main__":
    main()

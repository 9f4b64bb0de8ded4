"""Everyday operations, one by one: what the gradient and the jvp of each cost beside its peers.

Run ``python docs/benchmarks/operations.py [--size N ...] [--quick] [--only WORD ...]``.
Each row makes one step many times in a row and takes the gradient of the sum of the result. The
table shows microseconds a step: NumPy's plain forward, tapegrad's gradient with the forward in it,
those of HIPS autograd and PyTorch where they are installed, and tapegrad's jvp over its gradient.
It is a benchmark and not a test: the exit status is 0 whatever it finds.

Knows: how a step becomes a program of each library. Must not know: the steps (everyday).
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import libraries  # first: it holds every library to one thread
import numpy as np
from everyday import ROWS, Constants, Row, Step
from timing import interleave

import tapegrad

assert libraries.ONE_THREAD

STEPS = {8: 60, 200: 6}  # steps a program has, by the side of its arrays


def constants(n: int, convert: Callable[[Any], Any]) -> Constants:
    """The same constants for every library."""
    rng = np.random.default_rng(0)
    c = rng.uniform(0.5, 1.5, (n, n))
    parts = (c, c[0], c[:, :1], np.eye(n) + 0.1 * c / n, rng.permutation(n), c > 1.0)
    return Constants(*map(convert, parts))


def program(namespace: Any, step: Step, steps: int, k: Constants) -> Callable[[Any], Any]:
    """The sum of what so many steps make of x."""

    def run(x: Any) -> Any:
        y = x
        for _ in range(steps):
            y = step(namespace, y, x, k)
        return namespace.sum(y)

    return run


def calls_of(row: Row, n: int, steps: int) -> dict[str, Callable[[], Any]]:
    """The calls that are timed, by name; all of them end with the gradient in hand."""
    x = np.random.default_rng(1).uniform(0.5, 1.5, (n, n))
    plain = program(np, row.numpy, steps, constants(n, lambda part: part))
    gradient = tapegrad.grad(plain)
    calls: dict[str, Callable[[], Any]] = {
        "forward": lambda: plain(x),
        "tapegrad": lambda: gradient(x),
        "jvp": lambda: tapegrad.jvp(plain, (x,), (x,)),
    }
    if find_spec("autograd"):
        import autograd
        import autograd.numpy as anp

        theirs = autograd.grad(program(anp, row.numpy, steps, constants(n, lambda part: part)))
        calls["autograd"] = lambda: theirs(x)
    if find_spec("torch"):
        import torch

        torch.set_num_threads(1)
        eager = program(torch, row.torch, steps, constants(n, torch.from_numpy))

        def backward() -> Any:
            leaf = torch.from_numpy(x).requires_grad_()
            return torch.autograd.grad(eager(leaf), leaf)[0]

        calls["torch"] = backward
    return calls


def measured(row: Row, n: int, seconds: float) -> dict[str, float | str]:
    """Microseconds a step, or the name of the error that a library raised."""
    steps = STEPS.get(n, 6)
    calls = calls_of(row, n, steps)
    found: dict[str, float | str] = {}
    gradients = {}
    for name in list(calls):
        try:
            with np.errstate(all="ignore"):
                made = calls[name]()
                gradients[name] = made if name in ("tapegrad", "autograd", "torch") else None
        except Exception as error:  # whatever a peer raises where it has no rule
            found[name] = type(error).__name__
            del calls[name]
    for name, gradient in gradients.items():
        if gradient is not None and not np.allclose(
            np.asarray(gradient), gradients["tapegrad"], rtol=1e-6, equal_nan=True
        ):
            found[name] = "differs"
            calls.pop(name)
    with np.errstate(all="ignore"):
        samples = interleave(calls, seconds)
    for name, times in samples.items():
        found[name] = statistics.median(times) / steps * 1e6
    return found


def _cell(value: float | str | None) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, nargs="*", default=[8, 200])
    parser.add_argument("--quick", action="store_true", help="a tenth of the time")
    parser.add_argument("--only", nargs="*", default=[], help="rows whose name has a word")
    asked = parser.parse_args()
    seconds = 0.15 if asked.quick else 1.5
    for n in asked.size:
        print(f"\n{n} x {n}, microseconds a step")
        head = ("step", "forward", "grad", "over it", "HIPS", "PyTorch", "of PyTorch", "jvp/grad")
        print(f"{head[0]:18}" + "".join(f"{name:>12}" for name in head[1:]))
        slower, above = [], []
        for row in ROWS:
            if asked.only and not any(word in row.name for word in asked.only):
                continue
            found = measured(row, n, seconds)
            forward, ours, theirs = (found.get(key) for key in ("forward", "tapegrad", "torch"))
            assert isinstance(forward, float), f"{row.name}: {forward}"
            assert isinstance(ours, float), f"{row.name}: {ours}"
            jvp = found.get("jvp")
            ratio = ours / theirs if isinstance(theirs, float) else None
            along = jvp / ours if isinstance(jvp, float) else None
            cells = (forward, ours, ours - forward, found.get("autograd"), theirs)
            print(
                f"{row.name:18}"
                + "".join(f"{_cell(value):>12}" for value in cells)
                + f"{'-' if ratio is None else f'{ratio:.2f}x':>12}"
                + f"{'-' if along is None else f'{along:.2f}x':>12}",
                flush=True,
            )
            if ratio is not None and ratio > 1:
                slower.append(row.name)
            if along is not None and along > 1.3:
                above.append(row.name)
        print(f"slower than PyTorch: {', '.join(slower) or 'none'}")
        print(f"jvp above 1.3 of the gradient: {', '.join(above) or 'none'}")


if __name__ == "__main__":
    main()

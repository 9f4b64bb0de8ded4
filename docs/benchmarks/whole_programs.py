"""Whole programs of everyday kinds: what the gradient and the jvp cost beside its peers.

Run ``python docs/benchmarks/whole_programs.py [--quick] [--only WORD ...]``.
The table shows the plain NumPy forward, tapegrad's gradient with the forward in it, and those of
HIPS autograd and PyTorch where they are installed, in microseconds; then tapegrad's gradient over
the forward (the goal for the programs that have one: 5x), over PyTorch's (1x), and its jvp over
its gradient (1.3x). It is a benchmark and not a test: the exit status is 0 whatever it finds.

Knows: the columns and the goals. Must not know: the programs (everyday_programs), nor how calls
are timed (timing).
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import libraries  # first: it holds every library to one thread
import numpy as np
from everyday_programs import ROWS, Row
from timing import interleave

PEERS = ("HIPS autograd", "PyTorch")
GOALS = {"over it": 5.0, "of PyTorch": 1.0, "jvp/grad": 1.3}


def calls_of(row: Row) -> tuple[dict[str, Callable[[], Any]], dict[str, str]]:
    """The calls that are timed, by name, and the errors or differences of libraries left out."""
    x = row.start()
    plain = row.build(np)
    ours = libraries.load_tapegrad()
    calls: dict[str, Callable[[], Any]] = {"forward": lambda: plain(x)}
    calls["tapegrad"] = lambda: ours.grad(plain)(x)
    calls["jvp"] = lambda: ours.jvp(plain, x, x)
    wrong = {}
    expected = _flat(calls["tapegrad"]())
    for name in PEERS:
        library = libraries.load(name)
        if library is None:
            continue
        call = _gradient(library, row.build(library.xp), x)
        try:
            found = _flat(call())
        except Exception as error:  # whatever a peer raises where it has no rule
            wrong[name] = type(error).__name__
            continue
        if np.allclose(found, expected, rtol=1e-6, atol=1e-8):
            calls[name] = call
        else:
            wrong[name] = "differs"
    return calls, wrong


def _gradient(library: libraries.Library, program: Any, x: Any) -> Callable[[], Any]:
    argument = library.argument(x)
    gradient = library.grad(program)
    return lambda: gradient(argument)


def _flat(gradient: Any) -> Any:
    parts = gradient if isinstance(gradient, list | tuple) else [gradient]
    return np.concatenate([np.ravel(np.asarray(part)) for part in parts])


def ratio(samples: dict[str, list[float]], above: str, below: str) -> float | None:
    """The median of the ratios of two calls, one a pass."""
    if above not in samples or below not in samples:
        return None
    pairs = zip(samples[above], samples[below], strict=True)
    return statistics.median(a / b for a, b in pairs)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a fifth of the time")
    parser.add_argument("--only", nargs="*", default=[], help="rows whose name has a word")
    asked = parser.parse_args()
    seconds = 0.6 if asked.quick else 3.0
    names = ("forward", "tapegrad", *PEERS)
    print(f"{'program':18}" + "".join(f"{name:>14}" for name in (*names, *GOALS)))
    missed: dict[str, list[str]] = {goal: [] for goal in GOALS}
    for row in ROWS:
        if asked.only and not any(word in row.name for word in asked.only):
            continue
        calls, wrong = calls_of(row)
        samples = interleave(calls, seconds)
        cells = [wrong.get(name, "-") for name in names]
        for at, name in enumerate(names):
            if name in samples:
                cells[at] = f"{statistics.median(samples[name]) * 1e6:.0f}"
        ratios = {
            "over it": ratio(samples, "tapegrad", "forward"),
            "of PyTorch": ratio(samples, "tapegrad", "PyTorch"),
            "jvp/grad": ratio(samples, "jvp", "tapegrad"),
        }
        cells += ["-" if value is None else f"{value:.2f}x" for value in ratios.values()]
        print(f"{row.name:18}" + "".join(f"{cell:>14}" for cell in cells), flush=True)
        for goal, value in ratios.items():
            if value is not None and value > GOALS[goal] and (goal != "over it" or row.goal):
                missed[goal].append(row.name)
    for goal, rows in missed.items():
        print(f"{goal} above {GOALS[goal]}: {', '.join(rows) or 'none'}")


if __name__ == "__main__":
    main()

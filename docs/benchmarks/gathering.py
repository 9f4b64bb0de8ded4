"""Cost of a gradient through joining and picking: time and memory, beside the plain forward.

Run ``python docs/benchmarks/gathering.py [--quick]``.
Prints one row a program: the gradient's time and peak memory over those of the forward, at each
length, and how both grow from one length to the next. The goal is at most 6 times, and linear.
It is a benchmark and not a test: the exit status is 0 whatever it finds.

Knows: the programs and their goal. Must not know: how calls are timed (timing).
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from timing import format_seconds, interleave

from tapegrad import grad

GOAL = 6.0
GROWTH = 2.0  # beside the forward's own growth, which caches decide too
Program = Callable[[Any], Any]
Build = Callable[[int], Program]


def joined(n: int) -> Program:
    """A few arrays in a row."""
    return lambda x: np.sum(np.concatenate([x, x[: n // 2], x]))


def stacked(n: int) -> Program:
    """A few arrays on top of each other."""
    return lambda x: np.sum(np.stack([x, x, x], axis=1))


def many_joined(n: int) -> Program:
    """A hundred parts, joined again."""
    return lambda x: np.sum(np.concatenate(np.split(x, 100)))


def taken(n: int) -> Program:
    """Elements at random positions, some of them many times."""
    positions = np.random.default_rng(0).integers(0, n, n)
    return lambda x: np.sum(np.take(x, positions))


def indexed(n: int) -> Program:
    """The same by an index."""
    positions = np.random.default_rng(0).integers(0, n, n)
    return lambda x: np.sum(x[positions])


def rows_taken(n: int) -> Program:
    """Rows of a table, as an embedding looks them up."""
    rows = np.random.default_rng(0).integers(0, n // 100, n // 100)
    return lambda x: np.sum(np.take(x.reshape(-1, 100), rows, axis=0))


def columns_taken(n: int) -> Program:
    """Columns of a table."""
    columns = np.random.default_rng(0).integers(0, 100, 100)
    return lambda x: np.sum(np.take(x.reshape(-1, 100), columns, axis=1))


def pairs_indexed(n: int) -> Program:
    """Elements of a table by row and column."""
    random = np.random.default_rng(0)
    rows, columns = random.integers(0, n // 100, n), random.integers(0, 100, n)
    return lambda x: np.sum(x.reshape(-1, 100)[rows, columns])


def masked(n: int) -> Program:
    """Elements by a condition."""
    return lambda x: np.sum(x[x > 0])


def ordered(n: int) -> Program:
    """Along an axis, in another order for each row."""
    order = np.random.default_rng(0).permuted(np.tile(np.arange(100), (n // 100, 1)), axis=1)
    return lambda x: np.sum(np.take_along_axis(x.reshape(-1, 100), order, axis=1))


PROGRAMS: dict[str, Build] = {
    "np.concatenate": joined,
    "np.concatenate, 100 parts": many_joined,
    "np.stack": stacked,
    "np.take": taken,
    "np.take, rows": rows_taken,
    "np.take, columns": columns_taken,
    "x[positions]": indexed,
    "x[rows, columns]": pairs_indexed,
    "x[x > 0]": masked,
    "np.take_along_axis": ordered,
}


class Cost(NamedTuple):
    """Seconds and bytes of one call."""

    seconds: float
    peak: int


def costs(program: Program, x: Any, seconds: float) -> tuple[Cost, Cost]:
    """Costs of the forward pass and of the gradient."""
    calls = {"forward": lambda: program(x), "gradient": lambda: grad(program)(x)}
    samples = interleave(calls, seconds)
    found = [Cost(statistics.median(samples[name]), peak_of(call)) for name, call in calls.items()]
    return found[0], found[1]


def peak_of(call: Callable[[], Any]) -> int:
    """The most bytes that lie in memory at once during a call, beyond what lay there before."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    call()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak


def row(name: str, build: Build, lengths: list[int], seconds: float) -> str:
    """One line of the table."""
    cells, forwards, gradients = [], [], []
    for n in lengths:
        forward, gradient = costs(build(n), np.random.default_rng(1).normal(size=n), seconds)
        slower = gradient.seconds / forward.seconds
        larger = gradient.peak / max(forward.peak, 8 * n)
        missed = "" if max(slower, larger) <= GOAL else " *"
        cells.append(f"{format_seconds(gradient.seconds)} {slower:.1f}x {larger:.1f}x{missed}")
        forwards.append(forward)
        gradients.append(gradient)
    beside = max(a / b for a, b in zip(growths(gradients), growths(forwards), strict=True))
    steep = " *" if beside > GROWTH else ""
    grown = ", ".join(f"{growth:.1f}x" for growth in growths(gradients))
    return f"{name:26}" + "".join(f"{cell:26}" for cell in cells) + f"{grown}{steep}"


def growths(by_length: list[Cost]) -> list[float]:
    """How many times longer each length takes than the one before."""
    return [after.seconds / before.seconds for before, after in itertools.pairwise(by_length)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less time a row")
    seconds = 0.3 if parser.parse_args().quick else 2.0
    lengths = [10**4, 10**5, 10**6]
    print("gradient: its time, time and peak memory over the forward's (the goal: 6x, else *)")
    print(f"{'':26}" + "".join(f"{f'n = {n}':26}" for n in lengths) + "growth")
    for name, build in PROGRAMS.items():
        print(row(name, build, lengths, seconds), flush=True)


if __name__ == "__main__":
    main()

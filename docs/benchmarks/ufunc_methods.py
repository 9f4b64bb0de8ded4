"""Cost of a gradient through a method of a ufunc, beside the plain call.

Run ``python docs/benchmarks/ufunc_methods.py [--quick]``.
Prints one row a program: the time of the plain call, that of the gradient, and their ratio. The
goal is 10 times the plain call, and 20 times for reductions without a rule of their own.
It is a benchmark and not a test: the exit status is 0 whatever it finds.

Knows: the programs and their goals. Must not know: how calls are timed (timing).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from timing import format_seconds, interleave

from tapegrad import grad

RANDOM = np.random.default_rng(0)
MANY = RANDOM.normal(size=10**6)
SOME = RANDOM.normal(size=10**5)
INTO_100 = RANDOM.integers(0, 100, 10**6)
EVEN = np.arange(0, 10**6, 100)
UNEVEN = np.unique(RANDOM.integers(0, 10**6, 10**4))


class Row(NamedTuple):
    """A program, its argument, and how many times the plain call its gradient may take."""

    program: Callable[[Any], Any]
    x: Any
    goal: float = 10


def changed(ufunc: np.ufunc) -> Callable[[Any], Any]:
    """A hundred ones, each changed by ten thousand values."""

    def program(values: Any) -> Any:
        table = np.zeros_like(values, shape=100) + 1.0
        ufunc.at(table, INTO_100, values)
        return table

    return program


ROWS = {
    "add.at, 10^6 into 100": Row(changed(np.add), MANY),
    "subtract.at": Row(changed(np.subtract), MANY),
    "multiply.at": Row(changed(np.multiply), 1 + 1e-3 * MANY),
    "maximum.at": Row(changed(np.maximum), MANY),
    "logaddexp.at": Row(changed(np.logaddexp), MANY, 20),
    "maximum.accumulate, 10^5": Row(np.maximum.accumulate, SOME),
    "the same, rising": Row(np.maximum.accumulate, np.sort(SOME)),
    "the same, with ties": Row(np.maximum.accumulate, SOME.astype(np.float16).astype(float)),
    "logaddexp.accumulate": Row(np.logaddexp.accumulate, SOME),
    "divide.accumulate": Row(np.divide.accumulate, 1 + 1e-5 * SOME),
    "logaddexp.reduce, 10^5": Row(np.logaddexp.reduce, SOME, 20),
    "hypot.reduce": Row(np.hypot.reduce, SOME, 20),
    **{
        f"{ufunc.__name__}.reduceat, {kind}": Row(
            lambda x, ufunc=ufunc, starts=starts: ufunc.reduceat(x, starts), MANY, goal
        )
        for ufunc, goal in ((np.add, 10), (np.multiply, 10), (np.maximum, 10), (np.logaddexp, 20))
        for kind, starts in (("10^4 even", EVEN), ("10^4 uneven", UNEVEN))
    },
}


def line(name: str, row: Row, seconds: float) -> str:
    """One line of the table."""
    calls = {
        "plain": lambda: row.program(row.x),
        "gradient": lambda: grad(lambda x: np.sum(row.program(x)))(row.x),
    }
    samples = interleave(calls, seconds)
    plain, gradient = min(samples["plain"]), min(samples["gradient"])
    missed = "" if gradient <= row.goal * plain else " *"
    cells = f"{format_seconds(plain):12}{format_seconds(gradient):12}{gradient / plain:.1f}x"
    return f"{name:30}{cells}{missed}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less time a row")
    seconds = 0.3 if parser.parse_args().quick else 2.0
    print("minima of both, timed in turn (the goal: 10x, 20x where a step is a logarithm; else *)")
    print(f"{'':30}{'plain':12}{'gradient':12}ratio")
    for name, row in ROWS.items():
        print(line(name, row, seconds), flush=True)


if __name__ == "__main__":
    main()

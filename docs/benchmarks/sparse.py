"""Cost of a sparse Hessian or Jacobian: products taken, and time beside one gradient.

Run ``python docs/benchmarks/sparse.py [--quick] [--n 100000]``.
Prints one row a problem: the entries, the products, the times of the gradient (of the sum, for a
Jacobian), of finding the pattern and of the whole matrix, and the last over the first. The goal,
for Rosenbrock's function, is at most 3 products and 100 gradients; `again` is a call whose pattern
the call before had too. Each matrix is compared with the dense one at n = 60.
It is a benchmark and not a test: the exit status is 0 whatever it finds.

Knows: the problems and the goal. Must not know: how calls are timed (timing).
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import libraries  # first: it holds BLAS to one thread
import numpy as np
from timing import format_seconds, interleave

from tapegrad import grad, hessian, jacobian, sparse
from tapegrad.sparse._measured import Measured

assert libraries.ONE_THREAD

Program = Callable[[Any], Any]
SMALL = 60


def rosenbrock(x: Any) -> Any:
    """Three diagonals."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def arrow(x: Any) -> Any:
    """A diagonal, and one parameter that every term shares."""
    return np.sum(np.sin(x[1:] * x[0]) + x[1:] ** 4)


def lattice(x: Any) -> Any:
    """Neighbours on a grid of 20 columns."""
    u = x.reshape(-1, 20)
    return np.sum(np.diff(u, axis=0) ** 4) + np.sum(np.diff(u, axis=1) ** 4)


def graph(x: Any) -> Any:
    """Springs between random pairs: no regular pattern."""
    ends = np.random.default_rng(0).integers(0, x.size, (2, x.size))
    return np.sum((x[ends[0]] - x[ends[1]]) ** 4)


def diffusion(x: Any) -> Any:
    """A step of a reaction with diffusion."""
    inner = x[2:] - 2 * x[1:-1] + x[:-2] - x[1:-1] ** 3
    return np.concatenate([x[:1], inner, x[-1:]])


def balanced(x: Any) -> Any:
    """Equations for each element, and one for all: a full row."""
    return np.append(np.exp(x) - x[::-1], np.sum(x) - 1.0)


class Problem(NamedTuple):
    """A program, and which of its matrices is wanted."""

    program: Program
    is_hessian: bool

    @property
    def transform(self) -> Any:
        """A new sparse transform, which remembers no plan."""
        return (sparse.hessian if self.is_hessian else sparse.jacobian)(self.program)

    @property
    def gradient(self) -> Program:
        """The gradient that is timed."""
        program = self.program
        return grad(program) if self.is_hessian else grad(lambda x: np.sum(program(x)))


PROBLEMS = {
    "Rosenbrock, Hessian": Problem(rosenbrock, True),
    "arrow, Hessian": Problem(arrow, True),
    "grid, Hessian": Problem(lattice, True),
    "random graph, Hessian": Problem(graph, True),
    "diffusion, Jacobian": Problem(diffusion, False),
    "full row, Jacobian": Problem(balanced, False),
}


def products_of(call: Callable[[], Any]) -> int:
    """How many products with vectors a call takes."""
    counted = 0
    plain = {name: getattr(Measured, name) for name in ("forward", "reverse")}

    def counting(name: str) -> Any:
        def product(self: Any, vector: Any) -> Any:
            nonlocal counted
            counted += 1
            return plain[name](self, vector)

        return product

    for name in plain:
        setattr(Measured, name, counting(name))
    call()
    for name, method in plain.items():
        setattr(Measured, name, method)
    return counted


def difference(problem: Problem) -> float:
    """The largest from the dense matrix, at a small size."""
    x = np.random.default_rng(1).normal(size=SMALL)
    dense = (hessian if problem.is_hessian else jacobian)(problem.program)(x)
    return float(np.max(np.abs(problem.transform(x).toarray() - dense)))


def row(name: str, problem: Problem, n: int, seconds: float) -> str:
    """One line of the table."""
    x = np.random.default_rng(2).normal(size=n)
    found = grad(problem.program) if problem.is_hessian else problem.program
    known = problem.transform
    calls = {
        "gradient": lambda: problem.gradient(x),
        "pattern": lambda: sparse.pattern(found)(x),
        "matrix": lambda: problem.transform(x),
        "again": lambda: known(x),
    }
    samples = interleave(calls, seconds)
    times = {call: statistics.median(taken) for call, taken in samples.items()}
    pairs = zip(samples["matrix"], samples["gradient"], strict=True)
    ratio = statistics.median(matrix / gradient for matrix, gradient in pairs)
    cells = [
        f"{problem.transform(x).nnz}",
        f"{products_of(lambda: problem.transform(x))}",
        *(format_seconds(taken) for taken in times.values()),
        f"{ratio:.0f}x",
        f"{difference(problem):.0e}",
    ]
    return f"{name:24}" + "".join(f"{cell:>12}" for cell in cells)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less time a row")
    parser.add_argument("--n", type=int, default=100_000, help="elements, a multiple of 20")
    given = parser.parse_args()
    columns = ["entries", "products", "gradient", "pattern", "matrix", "again", "ratio", "differs"]
    print(f"{f'n = {given.n}':24}" + "".join(f"{column:>12}" for column in columns))
    for name, problem in PROBLEMS.items():
        print(row(name, problem, given.n, 1.0 if given.quick else 5.0), flush=True)


if __name__ == "__main__":
    main()

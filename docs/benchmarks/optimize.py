"""Runs of the function, with exact gradients and with SciPy's own differences.

    python docs/benchmarks/optimize.py

prints, for 25 test functions of the literature (`tests/shared/minima.py`), how often a function is
run until a method of `scipy.optimize.minimize` has its minimum: by `tapegrad.optimize`, where one
run gives a value with its gradient (or a Hessian, or all products with one), and by SciPy, which
makes gradients of differences of values. "-": the minimum was not found, or the method cannot do
without gradients. The methods that keep an n x n matrix are left out for n = 1000.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "shared"))

from minima import DIFFERENCES, METHODS, MINIMA, UNSUITABLE, is_least, ours, scipys, suitable


def cell(name: str, method: str) -> str:
    """`ours / SciPy's`, the runs of one method for one function."""
    if not suitable(name, method):
        return ""
    found = ours(name, method)
    runs = str(found.runs) if is_least(name, found.fun) else "-"
    if method not in DIFFERENCES:
        return runs
    theirs = scipys(name, method)
    return f"{runs} / {theirs.nfev if is_least(name, theirs.fun) else '-'}"


def main() -> None:
    print("| function | " + " | ".join(METHODS) + " |")
    print("|---" * (len(METHODS) + 1) + "|")
    for name in MINIMA:
        cells = [cell(name, method) for method in METHODS]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print()
    for (name, method), reason in UNSUITABLE.items():
        print(f"{method} is not suitable for {name}: {reason}.")


if __name__ == "__main__":
    main()

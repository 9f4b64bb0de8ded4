"""Writes docs/coverage-foreign.md: `python docs/coverage_foreign.py > docs/coverage-foreign.md`.

A tick is the outcome of a check, run while this program does: tests/shared/foreign_cells.py calls
each function with a value of a library beside a traced one, and compares with NumPy's in its
place.
"""

from __future__ import annotations

import collections
import importlib
import re
import sys
import tempfile
import warnings
from contextlib import chdir
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))

from foreign import LIBRARIES
from foreign_cells import FOR_OPERATORS, OPERATORS, cells, forward, reverse
from generic_calls import SHORT, public_callables

ROWS = ("dask", "xarray", "xarray on Dask")
TEXT = f"{FOR_OPERATORS}  f(M, v[:3])  f(m, V[:3])\n{SHORT}"
TITLES = {"dask": "Dask", "xarray": "xarray", "xarray on Dask": "xarray on Dask"}

INTRODUCTION = """\
# Coverage: Dask and xarray

<!-- Written by docs/coverage_foreign.py: change that, not this. -->

Every operator, ufunc and function of NumPy that takes a traced array and a plain one in one call,
with a value of Dask or xarray for the plain one. "Left": it stands before the traced array
(`D @ w`), "right": after it (`w @ D`). What the words mean, and what to do where a call is
refused, says [Values of other libraries](other-libraries.md).

- ✓: right. The gradient, and the derivative in forward mode, are those with NumPy's array.
- –: refused, with an error that says what to pass.
- `2 ✓ 1 –`: so many ways to call it are right, so many refused (scalars, vectors, lists, ...).
- ✗: differs. There is none.
- no entry: NumPy itself has no such call.
"""


def outcomes(name: str) -> dict[str, dict[str, collections.Counter[str]]]:
    """Of each function by side: how many calls have which outcome in both modes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        used = LIBRARIES[name]()
        functions = {**OPERATORS, **public_callables()}
        found = [list(cells(name, used, functions, TEXT, mode)) for mode in (reverse, forward)]
    worst: dict[tuple[str, str], str] = {}
    for cell in (cell for cells_of_mode in found for cell in cells_of_mode):
        key = cell.function, cell.pattern
        worst[key] = max(worst.get(key, "right"), cell.outcome, key=ORDER.index)
    table: dict[str, dict[str, collections.Counter[str]]] = {}
    for (function, pattern), outcome in worst.items():
        sides = table.setdefault(function, collections.defaultdict(collections.Counter))
        sides[side(pattern)][MARKS[outcome]] += 1
    return table


ORDER = ("right", "refused", "unclear", "wrong")
MARKS = {"right": "✓", "refused": "–", "unclear": "✗", "wrong": "✗"}


def side(pattern: str) -> str:
    """Where the plain array of a call is: before the first traced one, or after it."""
    plain, traced = (re.search(rf"(?<![\w\"])[{names}]\b", pattern) for names in ("VMS", "vwmnsz"))
    return "left" if plain and (not traced or plain.start() < traced.start()) else "right"


def shown(counts: collections.Counter[str]) -> str:
    """A cell: the mark that all calls have, or how many have which."""
    if len(counts) < 2:
        return "".join(counts)
    return " ".join(f"{counts[mark]} {mark}" for mark in ("✓", "–", "✗") if counts[mark])


def page() -> str:
    with tempfile.TemporaryDirectory() as folder, chdir(folder), np.errstate(all="ignore"):
        tables = [outcomes(name) for name in ROWS]
    names = sorted({name for table in tables for name in table}, key=lambda n: (n[0] != "o", n))
    head = [f"{TITLES[name]}, {at}" for name in ROWS for at in ("left", "right")]
    lines = [INTRODUCTION, made_with(), "", f"| | {' | '.join(head)} |", "|---" * 7 + "|"]
    total: collections.Counter[str] = collections.Counter()
    for function in names:
        row = []
        for table in tables:
            for at in ("left", "right"):
                counts = table.get(function, {}).get(at, collections.Counter())
                total += counts
                row.append(shown(counts))
        lines.append(f"| `{function}` | {' | '.join(row)} |")
    right, refused, wrong = (total[mark] for mark in ("✓", "–", "✗"))
    lines += ["", f"In all: {right} right, {refused} refused, {wrong} differ."]
    return "\n".join(lines)


def made_with() -> str:
    """The versions on which outcomes depend."""
    parts = [f"{m} {importlib.import_module(m).__version__}" for m in ("numpy", "dask", "xarray")]
    return f"Made with {', '.join(parts)}."


if __name__ == "__main__":
    print(page())

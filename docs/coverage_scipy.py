"""Writes the table of SciPy's functions: `python docs/coverage_scipy.py > docs/coverage-scipy.md`.

It shares its checks with docs/coverage.py; samples are those of tests/scipy/scipy_samples.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "shared"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "scipy"))
sys.path.insert(0, str(Path(__file__).parent))

import coverage
import scipy
from hypothesis import settings
from scipy_samples import SAMPLES

import tapegrad.scipy
from tapegrad._core.forms import Constant, Unsupported
from tapegrad._core.rule import REGISTRY, Rule
from tapegrad.scipy._copies import BY_COPY

# Fewer than of NumPy's functions: some of SciPy's search or integrate for each value.
coverage.DRAWS = settings(coverage.DRAWS, max_examples=2)

INTRODUCTION = """\
# Coverage of SciPy

<!-- Written by docs/coverage_scipy.py with SciPy {version}: change that, not this. -->

The functions of SciPy that have a rule, or a mirror in `tapegrad.scipy`. The ufuncs of
`scipy.special` are differentiable as they are; all others are called by the name in the table
after `from tapegrad.scipy import {modules}`. Words and ticks are those of [Coverage](coverage.md);
a *function* computes with others of these tables, what is *adopted* is SciPy's own code over them,
and a *class* has the methods of SciPy's. Some ufuncs solve an equation by a search, to too few
digits for differences: *untested* here, they are compared with mpmath or their implicit function
in the tests.
"""


def modules() -> list[str]:
    """Those of ours that are there."""
    names = sorted(tapegrad.scipy._MODULES)
    return [name for name in names if find_spec(f"tapegrad.scipy.{name}") is not None]


def functions_in(module: str) -> Iterator[tuple[str, Any]]:
    """The public names of a module with a decision, sorted, and what they are."""
    ours = importlib.import_module(f"tapegrad.scipy.{module}")
    theirs = importlib.import_module(f"scipy.{module}")
    names = {name for name in vars(ours).get("__all__", ()) if not name.startswith("_")}
    names |= {name for name, value in vars(theirs).items() if _is_ruled(value)}
    for name in sorted(names):
        value = getattr(ours, name)
        if callable(value) and not name.startswith("_"):
            yield name, value


def _is_ruled(value: Any) -> bool:
    return isinstance(value, np.ufunc) and value in REGISTRY


def form_of(value: Any) -> str:
    rule = REGISTRY.get(value)
    if rule is not None:
        return rule.form
    if hasattr(value, BY_COPY):
        return "adopted"
    return "class" if isinstance(value, type) else "function"


def ticks_of(value: Any) -> coverage.Ticks:
    """A class has no sample of its own: its methods are tested as functions."""
    if isinstance(value, type):
        return coverage.Ticks("", "", "")
    return coverage.ticks_of(value, SAMPLES)


def notes_on(rule: Rule | None) -> str:
    if isinstance(rule, Unsupported):
        return rule.reason
    return "piecewise constant" if isinstance(rule, Constant) else ""


def rows_of(module: str, known: dict[Any, coverage.Ticks]) -> Iterator[str]:
    for name, value in functions_in(module):
        rule = REGISTRY.get(value)
        if value not in known:
            known[value] = ticks_of(value)
        ticks = " | ".join(known[value])
        batch = "" if rule is None else coverage.batch_of(rule)
        full = f"scipy.{module}.{name}"
        yield f"| `{full}` | {form_of(value)} | {ticks} | {batch} | {notes_on(rule)} |"


def page() -> str:
    known: dict[Any, coverage.Ticks] = {}
    version = ".".join(scipy.__version__.split(".")[:2])
    parts = [INTRODUCTION.format(version=version, modules=", ".join(modules()))]
    for module in modules():
        rows = list(rows_of(module, known))
        if rows:
            head = "| function | form | vjp | jvp | second order | batch | notes |"
            parts += [f"## scipy.{module}\n", head, "|---|---|---|---|---|---|---|", *rows, ""]
    return "\n".join(parts).rstrip()


def main() -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        print(page())


if __name__ == "__main__":
    main()

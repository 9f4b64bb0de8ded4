"""Counts silently wrong calls: `python docs/benchmarks/never_silent.py [--long]`.

Every public callable of NumPy is called with the generic arguments of
tests/shared/generic_calls.py, on values that tapegrad, or HIPS autograd where it is installed,
differentiates. A call is right, raises, or is silently wrong: another value than NumPy's, an array
of objects, a result that has lost its derivative, a derivative that differences of NumPy's results
contradict.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "shared"))

from answers import TAPEGRAD, by_name
from generic_calls import LONG, SHORT, is_floating, meaningful_calls, public_callables
from judging import Answer, Outcome, judge


def hips_reverse(program: Any, inputs: Any, tangents: Any, cotangents: Sequence[Any]) -> Answer:
    """HIPS autograd's answer: the derivative of the weighted sum of the floating results."""
    autograd, xp = import_module("autograd"), import_module("autograd.numpy")
    value_of = import_module("autograd.tracer").getval
    leaves: list[Any] = []
    objects: list[Any] = []

    def weighted(*xs: Any) -> Any:
        found = program(*xs)
        leaves[:] = map(value_of, found)
        objects[:] = [x for x in leaves if getattr(x, "dtype", None) == np.dtype(object)]
        if objects:
            return 0.0
        floating = [leaf for leaf in found if is_floating(leaf)]
        parts = [xp.sum(xp.real(g * x)) for g, x in zip(cotangents, floating, strict=True)]
        return sum(parts, start=0.0)

    bars = autograd.grad(weighted, tuple(range(len(inputs))))(*inputs)
    if objects:
        return Answer(leaves, None, None)
    product = sum(xp.sum((bar * t).real) for bar, t in zip(bars, tangents, strict=True))
    return Answer(leaves, None, product)


Lookup = Callable[[str], Any]


def count(modes: Any, text: str, look_up: Lookup | None, *, verbose: bool) -> Counter[Outcome]:
    """Outcomes of all calls; of functions of another namespace under NumPy's names."""
    counts: Counter[Outcome] = Counter()
    for name, function in public_callables().items():
        ours = look_up(name) if look_up else function
        for _, *call in meaningful_calls(function, text):
            outcome, problem = judge(modes, ours, *call, reference=function)
            counts[outcome] += 1
            if verbose and problem:
                print(f"{name}: {problem}")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description="Counts silently wrong calls.")
    parser.add_argument("--long", action="store_true", help="more patterns of arguments")
    parser.add_argument("--verbose", action="store_true", help="print tapegrad's wrong calls")
    options = parser.parse_args()
    text = SHORT + LONG if options.long else SHORT
    libraries: dict[str, tuple[Any, Lookup | None]] = {
        "tapegrad, import numpy": (TAPEGRAD, None),
        "tapegrad, import tapegrad.numpy": (TAPEGRAD, by_name),
    }
    if find_spec("autograd") is not None:
        libraries["HIPS autograd, import numpy"] = ((hips_reverse,), None)
    print("| library | calls that NumPy takes | right | raises | silently wrong |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # np.save and its kin
        for name, (modes, look_up) in libraries.items():
            verbose = options.verbose and modes is TAPEGRAD
            counts = count(modes, text, look_up, verbose=verbose)
            taken = counts.total() - counts[Outcome.REFUSED_BY_NUMPY]
            right, raised, wrong = (
                counts[key] for key in (Outcome.RIGHT, Outcome.REFUSED, Outcome.WRONG)
            )
            print(f"| {name} | {taken:,} | {right:,} | {raised:,} | {wrong:,} |")


if __name__ == "__main__":
    main()

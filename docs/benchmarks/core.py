"""Cost of tapegrad, beside its peers.

Run ``python docs/benchmarks/core.py [--only ROW ...] [--quick]``.
Prints one table: a row per promise, with its goal, tapegrad's figure, whether the goal is met,
and the same figure for each peer that is installed. README.md in this folder explains the rows.
It is a benchmark and not a test: the exit status is 0 whatever it finds.

Knows: the rows and their goals. Must not know: how a figure is measured (timing, probe).
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Any

import libraries
import programs
from libraries import Library
from probe import import_seconds, probe
from timing import (
    Build,
    BuildOfLength,
    Figure,
    Figures,
    format_number,
    format_seconds,
    gradient_ratios,
    growth_ratios,
)

PEERS = tuple(libraries.LOADERS)[1:]
COLUMNS = ("row", "measured", "goal", "tapegrad", "", "plain NumPy", *PEERS)
WIDTHS = (15, 51, 12, 22, 6, 11, 22, 22, 9, 7)


@dataclass(frozen=True)
class Setting:
    """Environment of a run: the installed libraries, and how much time a row may take."""

    installed: list[Library]
    quick: bool

    @property
    def seconds(self) -> float:
        """How long a row is timed."""
        return 2.0 if self.quick else 10.0


Measure = Callable[[Setting], Figures]
ABSENT = Figure(None, "absent")


@dataclass(frozen=True)
class Case:
    """A row: what is measured, how, and the most that tapegrad's figure may be.

    A goal of None means PyTorch's own figure.
    """

    name: str
    text: str
    goal: float | None
    unit: str
    measure: Measure


def gradient(build: Build, value: Any, order: int = 1) -> Measure:
    """The time of a gradient over the time of the plain NumPy forward."""
    return lambda setting: gradient_ratios(setting.installed, setting.seconds, build, value, order)


def growth(build: BuildOfLength, small: int, start: Callable[[int], Any]) -> Measure:
    """The time of a gradient of a program ten times as long as ``small`` over one of ``small``."""

    def measure(setting: Setting) -> Figures:
        length = small // 5 if setting.quick else small
        starts = {n: start(n) for n in (length, 10 * length)}
        return growth_ratios(setting.installed, setting.seconds, build, starts)

    return measure


def in_child(
    measure_name: str,
    count: int,
    quick_count: int,
    scale: float = 1.0,
    skip: tuple[str, ...] = (),
) -> Measure:
    """A number from a fresh process for each library, divided by ``scale``."""

    def figure(setting: Setting, library: str) -> Figure:
        if library in skip:
            return Figure(None, "-")
        outcome = probe(measure_name, library, quick_count if setting.quick else count)
        return as_figure(outcome, scale=scale)

    return lambda setting: {
        library.name: figure(setting, library.name) for library in setting.installed
    }


def large_gradient(setting: Setting) -> Figures:
    """The time of Rosenbrock's gradient, n = 10^6, over the forward, each in its own process.

    How fast large arrays come depends on what a process has allocated before, so that one
    library would change the figure of another, and of the forward.
    """
    names = ["forward", *(library.name for library in setting.installed)]
    times: dict[str, list[float | str]] = {name: [] for name in names}
    for _ in range(1 if setting.quick else 5):
        for name in names:
            measure_name = "forward_seconds" if name == "forward" else "gradient_seconds"
            times[name].append(probe(measure_name, name, 10**6))
    forward, *gradients = (median(outcomes) for outcomes in times.values())
    if isinstance(forward, str):
        return {}
    figures = {
        name: as_figure(outcome, "x", forward)
        for name, outcome in zip(names[1:], gradients, strict=True)
    }
    return {"forward": Figure(None, format_seconds(forward)), **figures}


def importing(setting: Setting) -> Figures:
    """Milliseconds of import time beyond NumPy's, the median of several processes."""
    runs = 3 if setting.quick else 9
    return {
        library.name: as_figure(median(import_seconds(library.name, runs)), scale=1e-3)
        for library in setting.installed
    }


def median(outcomes: list[float | str]) -> float | str:
    """The median of what child processes said, or the error that one of them met."""
    numbers = [outcome for outcome in outcomes if isinstance(outcome, float)]
    errors = [outcome for outcome in outcomes if isinstance(outcome, str)]
    return errors[0] if errors else statistics.median(numbers)


def as_figure(outcome: float | str, unit: str = "", scale: float = 1.0) -> Figure:
    """A figure from what a child process said."""
    if isinstance(outcome, str):
        return Figure(None, outcome)
    return Figure(outcome / scale, format_number(outcome / scale) + unit)


VECTOR = programs.vector
# fmt: off
CASES = (
    Case("chain-1", "chain of 600 operations, n = 1: gradient / forward", 5.0, "x",
         gradient(programs.chain, VECTOR(1))),
    Case("chain-16", "the same, n = 16", 5.0, "x", gradient(programs.chain, VECTOR(16))),
    Case("chain-1000", "the same, n = 1000", 3.5, "x", gradient(programs.chain, VECTOR(1000))),
    Case("rosenbrock-10", "Rosenbrock, n = 10: gradient / forward", 6.0, "x",
         gradient(programs.rosenbrock, VECTOR(10))),
    Case("rosenbrock-1000", "the same, n = 1000", 6.0, "x",
         gradient(programs.rosenbrock, VECTOR(1000))),
    Case("mlp", "MLP 10-64-64-10, batch 32: gradient / forward", 4.0, "x",
         gradient(programs.perceptron, programs.perceptron_parameters())),
    Case("rosenbrock-1e6", "Rosenbrock, n = 10^6: gradient / forward", 4.0, "x",
         large_gradient),
    Case("memory", "the same: peak memory of the gradient", None, " MB",
         in_child("gradient_peak", 10**6, 10**6, scale=1e6)),
    Case("second", "second order of the chain, n = 16 / forward", 25.0, "x",
         gradient(programs.chain, VECTOR(16), order=2)),
    Case("long", "20,000 -> 200,000 operations: growth (per op)", 12.0, "x",
         growth(programs.long_chain, 20_000, lambda _n: VECTOR(1))),
    Case("reads", "reads x[i] for each i, n = 2,000 -> 20,000: growth", 12.0, "x",
         growth(programs.read_elements, 2_000, VECTOR)),
    Case("fills", "fills an array by element, 2,000 -> 20,000: growth", 12.0, "x",
         growth(programs.fill_elements, 2_000, VECTOR)),
    Case("raising", "kept by 1,000 gradients that raise", 32.0, " KiB",
         in_child("kept_by_errors", 1000, 200, scale=1024, skip=("JAX jit",))),
    Case("succeeding", "kept by 1,000 gradients that succeed", 32.0, " KiB",
         in_child("kept_by_successes", 1000, 200, scale=1024, skip=("JAX jit",))),
    Case("jvp", "jvp of 10,000 steps on 10^5 elements: peak", 10.0, " arrays",
         in_child("jvp_peak", 10_000, 2_000, skip=("JAX jit",))),
    Case("import", "import time beyond NumPy's", 40.0, " ms", importing),
)
# fmt: on


def line(setting: Setting, case: Case) -> str:
    """Measure a case and lay out its row."""
    gc.collect()
    figures = case.measure(setting)
    goal = figures["PyTorch"].value if case.goal is None and "PyTorch" in figures else case.goal
    cells = [case.name, case.text, "PyTorch's" if case.goal is None else f"<= {goal:g}{case.unit}"]
    cells += [figures.get("tapegrad", ABSENT).text, verdict(figures.get("tapegrad"), goal)]
    cells += [figures.get("forward", Figure(None, "")).text]
    cells += [figures.get(name, ABSENT).text for name in PEERS]
    return layout(cells)


def verdict(figure: Figure | None, goal: float | None) -> str:
    """Whether the goal is met; nothing where there is no figure or no goal."""
    if figure is None or goal is None:
        return "-"
    return "ok" if figure.value is not None and figure.value <= goal else "MISSED"


def layout(cells: Iterable[str]) -> str:
    """One line of the table, which is also Markdown."""
    padded = (cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True))
    return "| " + " | ".join(padded) + " |"


def machine() -> str:
    """The versions and the machine that the figures belong to."""
    packages = ("numpy", *dict.fromkeys(libraries.MODULES.values()))
    versions = [f"{package} {version(package)}" for package in packages]
    system = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    return f"{', '.join(versions)}; {system}; float64, one thread for every library"


def version(package: str) -> str:
    """The installed version of a package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed" if find_spec(package) is None else "from the path"


def main() -> None:
    """Print the table, row by row as it is measured."""
    parser = argparse.ArgumentParser(description="tapegrad's promises, measured beside its peers.")
    names = [case.name for case in CASES]
    parser.add_argument("--only", nargs="+", metavar="ROW", choices=names, help=", ".join(names))
    parser.add_argument("--quick", action="store_true", help="a minute: fewer and shorter runs")
    options = parser.parse_args()
    loaded = [libraries.load(name) for name in libraries.LOADERS]
    setting = Setting([library for library in loaded if library], options.quick)
    gc.freeze()  # what the libraries hold is not collected again and again in the timings
    print(machine())
    print(layout(COLUMNS))
    print(layout("-" * width for width in WIDTHS))
    for case in CASES:
        if options.only is None or case.name in options.only:
            print(line(setting, case), flush=True)


if __name__ == "__main__":
    main()

"""Times measured in this process: ratios over a plain forward, and growth with length.

Knows: how to time calls so that noise cancels. Must not know: goals, and how rows are printed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from libraries import Library

Call = Callable[[], Any]
Build = Callable[[Any], Callable[[Any], Any]]
BuildOfLength = Callable[[Any, int], Callable[[Any], Any]]
Name = TypeVar("Name", str, int)
ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError)
SPAN = 2e-2  # one timing lasts at least this many seconds, so that caches are warm


@dataclass(frozen=True)
class Figure:
    """A measured number, and what a cell says about it; no value where there is none."""

    value: float | None
    text: str


Figures = dict[str, Figure]


def gradient_ratios(
    libraries: list[Library], seconds: float, build: Build, value: Any, order: int = 1
) -> Figures:
    """Time of each library's gradient of ``build(xp)`` at ``value`` over NumPy's plain forward."""
    program = build(np)
    calls: dict[str, Call] = {"forward": lambda: program(value)}
    for library in libraries:
        transform = library.grad if order == 1 else library.second
        calls[library.name] = _bind(transform(build(library.xp)), library.argument(value))
    figures = _drop_failing(calls)
    samples = interleave(calls, seconds)
    forward = samples.pop("forward")
    figures["forward"] = Figure(None, format_seconds(statistics.median(forward)))
    for name, times in samples.items():
        ratio = statistics.median(t / f for t, f in zip(times, forward, strict=True))
        figures[name] = Figure(ratio, f"{format_number(ratio)}x")
    return figures


def growth_ratios(
    libraries: list[Library], seconds: float, build: BuildOfLength, starts: dict[int, np.ndarray]
) -> Figures:
    """Time at the greater length over time at the smaller one; ``starts`` maps length to x."""
    figures = {}
    for library in libraries:
        if library.unrolls:
            figures[library.name] = Figure(None, "skipped")
            continue
        calls = {
            n: _bind(library.grad(build(library.xp, n)), library.argument(x))
            for n, x in starts.items()
        }
        figures[library.name] = _growth(calls, seconds / len(libraries))
    return figures


def _growth(calls: dict[int, Call], seconds: float) -> Figure:
    try:
        samples = interleave(calls, seconds, at_least=1)
    except ERRORS as error:
        return Figure(None, type(error).__name__)
    (small, at_small), (large, at_large) = (
        (n, statistics.median(times)) for n, times in samples.items()
    )
    ratio = at_large / at_small
    steps = f"{at_small / small * 1e6:.3g}, {at_large / large * 1e6:.3g} us"
    return Figure(ratio, f"{ratio:.1f}x ({steps})")


def interleave(
    calls: dict[Name, Call], seconds: float, at_least: int = 5, at_most: int = 101
) -> dict[Name, list[float]]:
    """Seconds per call of every call, timed in turn until ``seconds`` have gone by."""
    repeats = {name: _repeats(call) for name, call in calls.items()}
    samples: dict[Name, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    for repetition in range(at_most):
        if repetition >= at_least and time.perf_counter() > end:
            break
        for name, call in calls.items():
            samples[name].append(_seconds(call, repeats[name]))
    return samples


def median_seconds(call: Call, seconds: float = 2.0) -> float:
    """Seconds per call."""
    return statistics.median(interleave({"call": call}, seconds)["call"])


def _repeats(call: Call) -> int:
    call()
    return max(1, int(SPAN / _seconds(call, 1)))


def _seconds(call: Call, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def _drop_failing(calls: dict[str, Call]) -> Figures:
    """Remove the calls that raise, or differ from the others; say so in their figures."""
    figures: Figures = {}
    results: dict[str, np.ndarray] = {}
    for name in calls.keys() - {"forward"}:
        try:
            results[name] = _flatten(calls[name]())
        except ERRORS as error:
            figures[name] = Figure(None, type(error).__name__)
    middle = np.median(list(results.values()), axis=0) if results else 0.0
    for name, result in results.items():
        if not np.allclose(result, middle, rtol=1e-6, atol=1e-8):
            figures[name] = Figure(None, "differs")
    for name in figures:
        del calls[name]
    return figures


def _flatten(result: Any) -> np.ndarray:
    parts: Iterable[Any] = result if isinstance(result, list | tuple) else [result]
    return np.concatenate([np.ravel(np.asarray(part)) for part in parts])


def _bind(function: Callable[[Any], Any], value: Any) -> Call:
    return lambda: function(value)


def format_seconds(seconds: float) -> str:
    """Seconds in the unit that suits them."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.3g} ms"


def format_number(number: float) -> str:
    """Three digits that count, and no exponent where the number is large."""
    return f"{number:.3g}" if number < 100 else f"{number:.0f}"

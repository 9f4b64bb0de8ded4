"""`torch.utils.benchmark`: how long a statement takes.

Knows clocks. Must not know tensors.
"""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from tapegrad.torch._absent import FINDER
from tapegrad.torch._absent.table import one_of
from tapegrad.torch._docstrings.sections import complete
from tapegrad.torch._settings import get_num_threads, set_num_threads

__path__: list[str] = []  # the modules within are those of the table
__getattr__ = partial(FINDER.attribute, "utils.benchmark")

_UNITS = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0))


def select_unit(t: float) -> tuple[str, float]:
    """The unit of time in which a number of seconds is read best, and its seconds.

    t: Seconds.
    -> tuple: The unit and its size.

    >>> from tapegrad.torch.utils.benchmark import select_unit
    >>> select_unit(2e-5)
    ('us', 1e-06)
    """
    return next((pair for pair in reversed(_UNITS) if t >= pair[1]), _UNITS[0])


class _TaskSpec(NamedTuple):
    """The words for a measurement: its statement, setup and labels."""

    stmt: str
    setup: str
    label: str | None
    sub_label: str | None
    description: str | None
    env: str | None
    num_threads: int

    @property
    def title(self) -> str:
        """The label, and the sub-label."""
        label = self.label or ("stmt" if "\n" in self.stmt else self.stmt)
        return label + (f": {self.sub_label}" if self.sub_label else "")


@dataclass
class Measurement:
    """Times of a statement: `times` are seconds a run, of several runs at a time each.

    number_per_run: How often the statement ran for each of the raw times.
    raw_times (list of float): The seconds that all of these took.
    task_spec: The words for what was timed.
    metadata (dict): Noted.

    >>> from tapegrad.torch.utils.benchmark import Timer
    >>> Timer("x + 1", globals={"x": 1}).timeit(10).number_per_run
    10
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: _TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "task_spec":
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """Seconds a run."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        """The median of the times."""
        return statistics.median(self.times)

    def _quartiles(self) -> tuple[float, float]:
        times = self.times
        if len(times) < 2:
            return times[0], times[0]
        first, _, last = statistics.quantiles(times, n=4, method="inclusive")
        return first, last

    @property
    def iqr(self) -> float:
        """The distance of the quartiles."""
        first, last = self._quartiles()
        return last - first

    @property
    def has_warnings(self) -> bool:
        """Whether the quartiles are more than a tenth of the median apart."""
        return self.iqr / self.median > 0.1

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the quartiles are closer to each other than a part of the median.

        threshold: The part.
        -> bool: Whether they are.
        """
        return self.iqr / self.median < threshold

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each statement, of all times of it.

        measurements (iterable of Measurement): The measurements.
        -> list of Measurement: Those of the statements.
        """
        groups: dict[_TaskSpec, list[Measurement]] = {}
        for each in measurements:
            groups.setdefault(each.task_spec, []).append(each)
        return [
            Measurement(1, [time for each in group for time in each.times], spec)
            for spec, group in groups.items()
        ]

    def __repr__(self) -> str:
        unit, size = select_unit(self.median)
        first, last = self._quartiles()
        count, runs = len(self.raw_times), f"{self.number_per_run} runs"
        lines = [object.__repr__(self), self.task_spec.title]
        lines += [self.task_spec.description] if self.task_spec.description else []
        lines += [f"setup: {self.task_spec.setup}"] if self.task_spec.setup != "pass" else []
        if count == 1:
            lines.append(f"  {self.median / size:.2f} {unit}")
        else:
            lines.append(f"  Median: {self.median / size:.2f} {unit}")
            spread = f"({first / size:.2f} to {last / size:.2f})"
            lines.append(f"  IQR:    {self.iqr / size:.2f} {unit} {spread}")
        threads = f"{self.task_spec.num_threads} thread" + "s" * (self.task_spec.num_threads > 1)
        each = (
            f"1 measurement, {runs} "
            if count == 1
            else f"{count} measurements, {runs} per measurement"
        )
        lines.append(f"  {each}, {threads}")
        return "\n".join(lines)


class Timer:
    """Measures how long a Python statement takes.

    stmt (str, default 'pass'): The statement.
    setup (str, default 'pass'): The code to run before it, once for each time that is taken.
    global_setup (str, default ''): PyTorch's parameter, for C++.
    timer (callable, optional): The clock.
    globals (dict): The names that the statement uses.
    label: A name for the measurement.
    sub_label: Which way of it.
    description: Which case of it.
    env: Where it is measured.
    num_threads: The threads while it is measured.
    language (str, default 'python'): Python.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.utils.benchmark import Timer
    >>> timer = Timer("x + x", globals={"x": torch.ones(3)})
    >>> timer.timeit(10).median > 0
    True
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timeit.default_timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: str = "python",
    ) -> None:
        one_of(str(language).lower(), "python", "py")
        self._timer = timeit.Timer(stmt, setup, timer, globals)
        self._task_spec = _TaskSpec(stmt, setup, label, sub_label, description, env, num_threads)

    def _times(self, number: int, enough: Callable[[list[float]], bool]) -> Measurement:
        """Times of so many runs each, until there are enough."""
        before, raw = get_num_threads(), list[float]()
        set_num_threads(self._task_spec.num_threads)
        try:
            self._timer.timeit(max(number // 100, 2))  # warm
            while not raw or not enough(raw):
                raw.append(self._timer.timeit(number))
        finally:
            set_num_threads(before)
        return Measurement(number, raw, self._task_spec)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One time of so many runs.

        number: How many runs.
        -> Measurement: The time.
        """
        return self._times(number, bool)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raise NotImplementedError, as in PyTorch: use `blocked_autorange`.

        repeat: PyTorch's parameter.
        number: PyTorch's parameter.
        """
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block(self, min_run_time: float) -> int:
        """How many runs take a thousandth of the time, and so much that the clock is no matter."""
        number = 1
        while self._timer.timeit(number) < max(min_run_time / 1000, 1e-4) and number < 10**7:
            number *= 10
        return number

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Times of as many runs each as the clock needs, until they are long enough in all.

        callback (callable): Called with the number of runs, and the time, of each.
        min_run_time: Seconds in all.
        -> Measurement: The times.
        """

        def enough(raw: list[float]) -> bool:
            if callback is not None:
                callback(number, raw[-1])
            return sum(raw) >= min_run_time

        number = self._block(min_run_time)
        return self._times(number, enough)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Times until their quartiles are close to each other, or the time is up.

        threshold: How close, as a part of the median.
        min_run_time: Seconds in all, at least.
        max_run_time: Seconds in all, at most.
        callback (callable): Called with the number of runs, and the time, of each.
        -> Measurement: The times.
        """

        def enough(raw: list[float]) -> bool:
            if callback is not None:
                callback(number, raw[-1])
            close = Measurement(number, raw, self._task_spec).meets_confidence(threshold)
            return sum(raw) >= max_run_time or (
                len(raw) > 3 and sum(raw) >= min_run_time and close
            )

        number = self._block(min_run_time)
        return self._times(number, enough)


class Compare:
    """A table of measurements: a row for each sub-label, a column for each description.

    results (sequence of Measurement): The measurements.

    >>> from tapegrad.torch.utils.benchmark import Compare, Timer
    >>> "x + 1" in str(Compare([Timer("x + 1", globals={"x": 1}, label="sum").timeit(10)]))
    True
    """

    def __init__(self, results: Sequence[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: Sequence[Measurement]) -> None:
        """Add measurements.

        results (sequence of Measurement): The measurements.
        """
        self._results += results

    def print(self) -> None:
        """Print the table."""
        print(self)

    def __str__(self) -> str:
        results = Measurement.merge(self._results)
        unit, size = select_unit(min((each.median for each in results), default=1.0))
        columns = list(dict.fromkeys(each.task_spec.description or "" for each in results))
        tables: dict[Any, dict[str, dict[str, str]]] = {}
        for each in results:
            spec = each.task_spec
            rows = tables.setdefault((spec.label or "", spec.num_threads), {})
            row = rows.setdefault(spec.sub_label or spec.stmt, {})
            row[spec.description or ""] = f"{each.median / size:.1f}"
        lines = []
        for (label, threads), rows in tables.items():
            first = max(len(name) for name in [*rows, f"{threads} threads:"])
            lines += [label, " " * first + "".join(f"  |  {name:>8}" for name in columns)]
            lines.append(f"{threads} threads:")
            for name, row in rows.items():
                cells = "".join(
                    f"  |  {row.get(column, ''):>{max(8, len(column))}}" for column in columns
                )
                lines.append(f"{name:<{first}}{cells}")
        words = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}
        return "\n".join([*lines, "", f"Times are in {words[unit]} ({unit}).", ""])


TaskSpec = _TaskSpec

__all__ = ["Compare", "Measurement", "Timer", "select_unit"]

complete(late=__name__)

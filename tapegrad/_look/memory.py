"""`memory_report`: what a gradient's memory is, and which functions to checkpoint.

Knows how a function is run so that its memory shows. Must not know how bytes are counted.
"""

from __future__ import annotations

import gc
import html
import os
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from sys import _getframe
from typing import Any

from tapegrad._compile.compiled import Compiled
from tapegrad._core.types import Function, Tree
from tapegrad._errors import InputError, message, name_of
from tapegrad._look import tables
from tapegrad._look.bias import costs
from tapegrad._look.events import Watch, watched
from tapegrad._look.hints import Hint
from tapegrad._look.kept import Kept
from tapegrad._look.profile import INPUTS, WAYS, By, is_transform, key_of, run, source_of, title_of
from tapegrad._look.runs import paths_of_inputs
from tapegrad._profile.events import FUNCTION
from tapegrad._profile.switch import Place, Switch
from tapegrad._transforms.chunks import tracing
from tapegrad._transforms.recording import Recording
from tapegrad._transforms.wrapper import require_function

# The titles of a table, its rows in words, and which columns are to the right.
_Cells = tuple[Sequence[str], Sequence[Sequence[str]], Sequence[bool]]


@dataclass(slots=True)
class MemoryRow:
    """One operation, line or function of the program.

    Attributes
    ----------
    name : str
        What it is.
    calls : int
        Those that keep something.
    arrays : int
        Bytes of the elements of arrays that the replay keeps and that this made.
    objects : int
        Bytes of the tape itself: entries, numbers, the heads of arrays.
    source : str
        The text of the line, in a table by line.
    """

    name: str
    calls: int = 0
    arrays: int = 0
    objects: int = 0
    source: str = ""

    @property
    def bytes(self) -> int:
        """Arrays and objects together."""
        return self.arrays + self.objects


class MemoryTable(Sequence[MemoryRow]):
    """Rows of a report, those that keep most first; printed as a table."""

    def __init__(self, by: str, rows: list[MemoryRow]) -> None:
        self.by, self._rows = by, rows

    def __getitem__(self, at: Any) -> Any:
        return self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, name: str) -> MemoryRow:
        """The row of a name.

        Parameters
        ----------
        name : str
            As the table shows it.

        Returns
        -------
        MemoryRow
            The row.

        Raises
        ------
        KeyError
            Where there is none.
        """
        for row in self._rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def _cells(self) -> _Cells:
        whole = sum(row.bytes for row in self) or 1
        sourced = any(row.source for row in self)
        titles = [self.by, "calls", "arrays", "objects", "%", *(("source",) if sourced else ())]
        rows = [
            [
                row.name,
                f"{row.calls:,}" if row.calls else "",
                tables.size(row.arrays),
                tables.size(row.objects),
                f"{100 * row.bytes / whole:.1f}",
                *((row.source[:60],) if sourced else ()),
            ]
            for row in self
        ]
        right = (False, True, True, True, True, False)[: len(titles)]
        return titles, tables.shortened(rows, 30), right

    def __str__(self) -> str:
        titles, rows, right = self._cells()
        return tables.table(titles, rows, right=right)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        titles, rows, right = self._cells()
        return tables.table_html(titles, rows, right=right)


@dataclass(frozen=True, slots=True)
class InputCost:
    """Cost of an input.

    Attributes
    ----------
    name : str
        Its path in the arguments.
    size : int
        Bytes of its value, and of its derivative.
    kept : int
        Bytes of it that the replay keeps.
    alone : int
        Bytes that are kept for this input alone: they would not be if it were not differentiated
        (its own are among them).
    """

    name: str
    size: int
    kept: int
    alone: int


class MemoryReport:
    """Memory of a gradient. `tapegrad.memory_report` makes it; it prints as tables.

    Attributes
    ----------
    title : str
        The function's name.
    kept : int
        Bytes of arrays' elements that the replay keeps when it begins (inputs included).
    objects : int
        Bytes of the tape itself.
    peak_forward, peak_backward : int
        The most bytes that were allocated at a time while the function ran, and while it was
        replayed, beyond what was before: `tracemalloc` counts them.
    inputs : list of InputCost
        What each input costs, in order.
    hints : list of Hint
        Functions to checkpoint, the best first.

    See Also
    --------
    memory_report : Makes it.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> report = tapegrad.memory_report(lambda x: np.sum(np.sin(x)), np.ones(1000))
    >>> report
    <memory of <lambda>: 7.81 KiB kept>
    >>> [(cost.name, cost.size) for cost in report.inputs]
    [('x', 8000)]
    """

    def __init__(
        self, title: str, watch: Watch, kept: Kept, inputs: list[InputCost], hints: list[Hint]
    ) -> None:
        self.title, self.inputs, self.hints = title, inputs, hints
        self.peak_forward = self.peak_backward = 0
        self.kept: int = kept.total
        self.objects: int = sum(kept.objects.values())
        self._watch, self._found = watch, kept

    def table(self, by: By = "operation") -> MemoryTable:
        """Bytes in groups. The inputs are a row: their copies, or the arrays themselves if large.

        Parameters
        ----------
        by : {"operation", "line", "function"}, default "operation"
            What a row is: an operation, or a line or a function of the program.

        Returns
        -------
        MemoryTable
            A sequence of rows, those that keep most first, which prints as a table.

        Raises
        ------
        InputError
            For another `by`.
        """
        if by not in WAYS:
            known = "'operation', 'line' or 'function'"
            raise InputError(message("table(by=...)", known, repr(by), "Pass one of them"))
        rows: dict[Any, MemoryRow] = {}
        kept = self._found
        for made in dict.fromkeys((*kept.by_call, *kept.objects)):
            site = self._watch.site_of(made)
            key = key_of(self._watch.name_of(made), site, by)
            row = rows.get(key)
            if row is None:
                row = rows[key] = MemoryRow(title_of(key, by), source=source_of(key, by))
            row.arrays += kept.by_call.get(made, 0)
            row.objects += kept.objects.get(made, 0)
            row.calls += 1
        if any(kept.by_input):
            rows[INPUTS] = MemoryRow(INPUTS, arrays=sum(kept.by_input))
        found = sorted(rows.values(), key=lambda row: (-row.bytes, row.name))
        return MemoryTable(by, found)

    def _head(self) -> str:
        return (
            f"memory of {self.title}: the replay keeps {tables.size(self.kept) or '0 B'} in arrays"
            f" and {tables.size(self.objects) or '0 B'} in its tape; peak forward "
            f"{tables.size(self.peak_forward) or '0 B'}, backward "
            f"{tables.size(self.peak_backward) or '0 B'}"
        )

    def _parts(self) -> list[_Cells]:
        """The tables: by operation and line, of inputs, and of hints."""
        parts: list[_Cells] = [self.table()._cells(), self.table("line")._cells()]
        if self.inputs:
            rows = [
                [one.name, tables.size(one.size), tables.size(one.kept), tables.size(one.alone)]
                for one in self.inputs
            ]
            titles, right = ("input", "size", "kept", "for it alone"), (False, True, True, True)
            parts.append((titles, tables.shortened(rows, 20), right))
        if self.hints:
            rows = [
                [
                    one.function,
                    f"{os.path.basename(one.file)}:{one.line}-{one.end}",
                    ", ".join(map(str, one.callers[:3])) + ", ..." * (len(one.callers) > 3),
                    f"{one.calls:,}",
                    tables.size(one.kept),
                    f"about {tables.size(one.saved)}",
                    tables.seconds(one.seconds),
                ]
                for one in self.hints[:10]
            ]
            lines = "checkpoint(...)", "lines", "called at"
            hints = [*lines, "calls", "keeps less", "peak less", "runs again"]
            parts.append((hints, rows, [False] * 3 + [True] * 4))
        return parts

    def __str__(self) -> str:
        shown = (tables.table(titles, rows, right=right) for titles, rows, right in self._parts())
        return "\n\n".join((self._head(), *shown))

    def _repr_html_(self) -> str:
        """The tables for a notebook."""
        shown = (
            tables.table_html(titles, rows, right=right) for titles, rows, right in self._parts()
        )
        return "".join((f"<p>{html.escape(self._head())}</p>", *shown))

    def __repr__(self) -> str:
        return f"<memory of {self.title}: {tables.size(self.kept) or '0 B'} kept>"


def memory_report(f: Function, *args: Tree, **kwargs: Any) -> MemoryReport:
    """Memory that the gradient of `f(*args, **kwargs)` keeps and allocates, and how to need less.

    f runs three times: to be warm, with notes, and once more to see the peaks.

    Parameters
    ----------
    f : callable
        It is run as `profile` runs it: a plain function together with a replay backward, what a
        transform made (`grad(loss)`) as it stands. Of several recordings the report is about the
        one that keeps most.
    *args, **kwargs : pytree
        The arguments of f.

    Returns
    -------
    MemoryReport
        The report. A hint of it names a function of the program, its lines, and the lines that
        call it: what `tapegrad.checkpoint` around it would save, and how long its calls take,
        which would run once more. Functions that close over traced values are left out, as
        checkpoint refuses them.

    Raises
    ------
    InputError
        Where nothing is replayed: no argument can be differentiated, or the result does not depend
        on any.

    See Also
    --------
    checkpoint : What a hint is about.
    profile : Where the time goes.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> def layer(x):
    ...     return np.sin(np.exp(np.tanh(x)))
    >>> def loss(x):
    ...     for _ in range(10):
    ...         x = layer(x)
    ...     return np.sum(x)
    >>> report = tapegrad.memory_report(loss, np.ones(100_000))
    >>> report.kept, report.table().row("np.exp").arrays
    (24000000, 8000000)
    >>> [(hint.function, hint.calls, hint.kept) for hint in report.hints]
    [('layer', 10, 15200000)]
    """
    require_function("memory_report", f)
    outermost = _getframe(0)

    def noted() -> Watch:
        watch = Watch(outermost=outermost, costs=costs(), functions=True)
        with watched(watch):
            run(f, args, kwargs, None, watch)
        return watch

    run(f, args, kwargs, None, Watch())  # the first call of its kind plans how these are made
    watch = noted()
    kept = watch.kept
    if kept is None:
        expected = "a function that is differentiated, with arrays of floats that its result needs"
        found, advice = _without_replay(f)
        raise InputError(message(f"memory_report({name_of(f)}, ...)", expected, found, advice))
    seconds: dict[int, float] = {}
    for event in watch.events():
        if event.kind == FUNCTION:
            number = event.detail.number
            seconds[number] = seconds.get(number, 0.0) + event.total * 1e-9
    hints = [
        Hint(
            one.code.co_qualname,
            one.code.co_filename,
            one.code.co_firstlineno,
            one.calls,
            one.kept,
            one.saved,
            sum(seconds.get(number, 0.0) for number in numbers),
            max(line for _, _, line in one.code.co_lines() if line is not None),
            one.callers,
        )
        for one, numbers in kept.hints
    ]
    names = _names(f, args, kwargs, kept)
    inputs = zip(names, kept.sizes, kept.by_input, kept.alone, strict=True)
    report = MemoryReport(name_of(f), watch, kept, [InputCost(*one) for one in inputs], hints)
    report.peak_forward, report.peak_backward = _peaks(lambda: run(f, args, kwargs, None, Watch()))
    return report


def _without_replay(f: Function) -> tuple[str, str]:
    """Text on a function of which nothing was replayed: its kind, and advice."""
    if isinstance(f, Compiled):
        return "a compiled one, which has no tape", "Pass the function that was compiled"
    if is_transform(f):
        return "a transform that replays nothing", "Pass its function, or grad of that"
    return "no replay", "Pass floats: 3.0 for 3, x.astype(float)"


def _names(f: Function, args: tuple[Tree, ...], kwargs: dict[str, Any], kept: Kept) -> list[str]:
    """The paths of inputs in the arguments; numbers where another function's call keeps most."""
    if is_transform(f):
        options = f._made[2]  # type: ignore[attr-defined]
        chosen = options.get("argnums") or 0
        listed: Any = [chosen] if isinstance(chosen, Integral) else chosen
        places = {each % len(args) for each in listed}
        others_left_out = tuple(arg if i in places else None for i, arg in enumerate(args))
        paths = paths_of_inputs(f, others_left_out, {})
        own = kept.outermost and not options.get("argnames")
    else:
        paths = paths_of_inputs(f, args, kwargs)
        own = kept.outermost
    if own and len(paths) == len(kept.by_input):
        return paths
    call = "" if own else f" of {kept.name}"
    return [f"input {i}{call}" for i in range(len(kept.by_input))]


def _peaks(call: Callable[[], Any]) -> tuple[int, int]:
    """The most that is allocated at a time, outside of replays and within them."""
    gc.collect()
    peaks = [0, 0]
    pull = Recording.pull

    def take(place: int) -> None:
        peaks[place] = max(peaks[place], tracemalloc.get_traced_memory()[1])
        tracemalloc.reset_peak()

    def marked(recording: Recording, *rest: Any, **more: Any) -> Any:
        if recording.tape.parent is not None:
            return pull(recording, *rest, **more)
        take(0)
        try:
            return pull(recording, *rest, **more)
        finally:
            take(1)

    with tracing(), Switch().holding_places(lambda: [Place(Recording, "pull", marked)]):
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        call()
        take(0)
    return max(0, peaks[0] - before), max(0, peaks[1] - before)


__all__ = ["InputCost", "MemoryReport", "MemoryRow", "MemoryTable", "memory_report"]

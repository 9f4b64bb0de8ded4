"""`profile`: where the time of a function and of its derivative goes, and what its replay keeps.

Knows how events are added up by operation, line and function. Must not know how they are recorded.
"""

from __future__ import annotations

import functools
import html
import json
import linecache
import tracemalloc
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from sys import _getframe
from typing import Any, Literal, Self, overload

import numpy as np

from tapegrad._block import Block, contextmanager
from tapegrad._compile.compiled import Compiled
from tapegrad._core.types import Function, Tree
from tapegrad._core.values import is_inexact
from tapegrad._errors import InputError, message, name_of
from tapegrad._look import tables
from tapegrad._look.bias import costs
from tapegrad._look.events import Watch, is_program, watched
from tapegrad._look.lines import Site
from tapegrad._profile.events import (
    AGAIN,
    BACKWARD,
    FUNCTION,
    PROGRAM,
    TANGENT,
    Event,
)
from tapegrad._profile.recorder import Recorder
from tapegrad._profile.trace import stack_lines, trace_of
from tapegrad._transforms.checkpoint import checkpoint
from tapegrad._transforms.chunks import tracing
from tapegrad._transforms.recording import Recording
from tapegrad._transforms.wrapper import Transformed, require_function
from tapegrad._tree import flatten, unflatten

By = Literal["operation", "line", "function"]
WAYS = ("operation", "line", "function")
PLAIN = "(Python, NumPy on plain arrays)"
TRANSFORMS = "(transforms)"
INPUTS = "(inputs)"
ELSEWHERE = "(no line)"


@dataclass(slots=True)
class ProfileRow:
    """One row of a table: an operation, a line or a function of the program, or what is neither.

    Attributes
    ----------
    name : str
        What it is.
    calls : int
        Of operations.
    forward, tangent, backward, again : float
        Seconds of its own, without the calls within: in the forward pass, for tangents of forward
        mode, in replays, and in forward passes that a checkpoint runs again.
    total : float
        Seconds with the calls within.
    bytes : int
        Of what the replay keeps (of the recording that keeps most).
    peak : int
        The most bytes that the program held at a time while this ran, beyond those from before the
        profile; 0 without `memory=True`.
    source : str
        The text of the line, in a table by line.
    """

    name: str
    calls: int = 0
    forward: float = 0.0
    tangent: float = 0.0
    backward: float = 0.0
    again: float = 0.0
    total: float = 0.0
    bytes: int = 0
    peak: int = 0
    source: str = ""

    @property
    def own(self) -> float:
        """Seconds without the calls within: forward, tangent, backward and again together."""
        return self.forward + self.tangent + self.backward + self.again


SORTS = (*(f.name for f in fields(ProfileRow) if f.name != "source"), "own")
_TITLES = {"own": "self"}


class ProfileTable(Sequence[ProfileRow]):
    """Rows of a profile, sorted; printed as a table."""

    def __init__(self, by: str, rows: list[ProfileRow], limit: int | None) -> None:
        self.by, self.limit = by, limit
        self._rows = rows

    @overload
    def __getitem__(self, at: int) -> ProfileRow: ...
    @overload
    def __getitem__(self, at: slice) -> list[ProfileRow]: ...
    def __getitem__(self, at: int | slice) -> ProfileRow | list[ProfileRow]:
        return self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, name: str) -> ProfileRow:
        """The row of a name.

        Parameters
        ----------
        name : str
            As the table shows it.

        Returns
        -------
        ProfileRow
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

    def _cells(self) -> tuple[list[str], list[list[str]], list[bool]]:
        """The titles, the rows in words, and which columns are to the right."""
        whole = sum(row.own for row in self) or 1.0
        times = [
            name
            for name in ("forward", "tangent", "backward", "again")
            if any(getattr(row, name) for row in self)
        ]
        columns = ["calls", *times, "own", "%", "total", "bytes"]
        columns += ["peak"] if any(row.peak for row in self) else []
        columns += ["source"] if any(row.source for row in self) else []

        def text(row: ProfileRow, column: str) -> str:
            if column == "%":
                return f"{100 * row.own / whole:.1f}"
            value = getattr(row, column)
            if column in ("bytes", "peak"):
                return tables.size(value)
            if column == "source":
                return value if len(value) <= 60 else value[:57] + "..."
            if column == "calls":
                return f"{value:,}" if value else ""
            return tables.seconds(value) if value else ""

        rows = [[row.name, *(text(row, column) for column in columns)] for row in self]
        titles = [self.by, *(_TITLES.get(column, column) for column in columns)]
        right = [False, *(column != "source" for column in columns)]
        limit = self.limit
        if limit is not None and len(rows) > limit:
            hidden = len(rows) - limit
            rows = [*rows[:limit], [f"... {hidden:,} more", *[""] * len(columns)]]
        return titles, rows, right

    def __str__(self) -> str:
        titles, rows, right = self._cells()
        return tables.table(titles, rows, right=right)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        titles, rows, right = self._cells()
        return tables.table_html(titles, rows, right=right)


class Profile(Block[Any]):
    """Where the time of a block went, and what its replays keep. `tapegrad.profile` makes it.

    It prints as its tables by operation and by line.

    Attributes
    ----------
    title : str
        The function's name, or "profile".
    value : object
        What the function has returned; None of a block.
    seconds : float
        The time of all, without what the profiler itself has taken.
    memory : bool
        Whether allocations were watched.

    See Also
    --------
    profile : Makes it.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> with tapegrad.profile() as found:
    ...     gradient = tapegrad.grad(lambda x: np.sum(np.sin(x)))(np.ones(1000))
    >>> found.bytes, found.table("operation").row("np.sin").calls
    (8000, 1)
    """

    def __init__(self, title: str = "profile", *, memory: bool = False) -> None:
        self.title, self.memory = title, memory
        self.value: Any = None
        self.seconds: float = 0.0
        self.events: list[Event] = []
        self._phases: list[str] = []
        self._watch, self._recorder = Watch(memory=memory), Recorder()
        self._entered = False

    # -- running ---------------------------------------------------------------------------------

    def _opened(self) -> Generator[Self]:
        with self._within(_getframe(1).f_back):
            yield self

    @contextmanager
    def _within(self, outermost: Any) -> Iterator[None]:
        """The block, in which `outermost` is the frame that has called the program."""
        if self._entered or self.events:
            raise InputError("profile: expected a block of its own, got a second one.")
        self._watch = Watch(memory=self.memory, outermost=outermost, costs=costs())
        with tracing() if self.memory else nullcontext():
            if self.memory:
                self._before = tracemalloc.get_traced_memory()[0]
            try:
                with watched(self._watch) as self._recorder:
                    self._entered = True
                    self._watch.begin_whole(self.title)
                    try:
                        yield
                    finally:
                        self._watch.end_whole()
            finally:
                self._entered = False
        events = self._watch.events()
        self._phases = _phases_of(events)
        self.seconds = events[0].total * 1e-9 if events else 0.0
        self.events = events  # last: an interrupt before leaves a block that has not ended

    # -- results ---------------------------------------------------------------------------------

    def table(
        self, by: By = "operation", sort: str = "own", limit: int | None = tables.LIMIT
    ) -> ProfileTable:
        """Rows by operation, by the program's line, or by its function: those with most first.

        The times of all rows without the calls within (`own`) add up to `seconds`, in each table,
        if there is one thread.

        Parameters
        ----------
        by : {"operation", "line", "function"}, default "operation"
            What a row is.
        sort : str, default "own"
            A column: "own", "total", "forward", "tangent", "backward", "again", "calls", "bytes",
            "peak" or "name".
        limit : int or None, default 60
            How many rows are printed; None: all.

        Returns
        -------
        ProfileTable
            A sequence of rows, which prints as a table.

        Raises
        ------
        InputError
            For another `by`, `sort` or `limit`, and before the block has ended.
        """
        if by not in WAYS:
            known = "'operation', 'line' or 'function'"
            raise InputError(message("table(by=...)", known, repr(by), "Pass one of them"))
        if sort not in SORTS:
            known = ", ".join(SORTS)
            raise InputError(message("table(sort=...)", known, repr(sort), "Pass one of them"))
        _require_limit(limit)
        self._require_end("table")
        rows = self._rows(by)
        if sort == "name":
            rows.sort(key=lambda row: row.name)
        else:
            rows.sort(key=lambda row: (-getattr(row, sort), -row.total, row.name))
        return ProfileTable(by, rows, limit)

    def _rows(self, by: By) -> list[ProfileRow]:
        rows: dict[Any, ProfileRow] = {}

        def row(key: Any, site: Site) -> ProfileRow:
            found = rows.get(key)
            if found is None:
                found = rows[key] = ProfileRow(title_of(key, by), source=source_of(key, by))
            return found

        for event, phase in zip(self.events, self._phases, strict=True):
            site = event.detail.site
            key = _key(event, by)
            found = row(key, site)
            own = event.own * 1e-9
            setattr(found, phase, getattr(found, phase) + own)
            found.calls += event.kind == FUNCTION
            if self.memory:
                found.peak = max(found.peak, event.detail.peak - self._before)
            if by == "operation":
                if not _is_within(event, key, by):
                    found.total += event.total * 1e-9
                continue
            for frame in {_key_of_frame(frame, by): frame for frame in site}.values():
                row(_key_of_frame(frame, by), (frame,)).total += own
            if isinstance(key, str):
                found.total += own
        kept = self._watch.kept
        if kept is not None:
            for made, count in kept.by_call.items():
                site = self._watch.site_of(made)
                row(key_of(self._watch.name_of(made), site, by), site).bytes += count
            if any(kept.by_input):
                row(INPUTS, ()).bytes += sum(kept.by_input)
        return list(rows.values())

    @property
    def bytes(self) -> int:
        """Bytes that the replay keeps, of the recording that keeps most."""
        return 0 if self._watch.kept is None else self._watch.kept.total

    def export_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write the events as a trace (JSON), which Perfetto and chrome://tracing read.

        Flows lead from calls to the steps of replays that belong to them; the arguments of an
        event have its file and line. Open it at https://ui.perfetto.dev.

        Parameters
        ----------
        path : str or PathLike
            The file.

        Raises
        ------
        InputError
            Before the block has ended.
        """
        self._require_end("export_chrome_trace")
        trace = trace_of(self.events, self._recorder.threads, process=self.title)
        Path(path).write_text(json.dumps(trace), encoding="utf-8")

    def export_stacks(self, path: str | PathLike[str], metric: str = "own") -> None:
        """Write stacks with a number each, for flame graphs (speedscope, flamegraph.pl, inferno).

        The frames of the program are outermost first, the operation is last.

        Parameters
        ----------
        path : str or PathLike
            The file.
        metric : {"own", "bytes"}, default "own"
            The number: microseconds without the calls within, or what the replay keeps.

        Raises
        ------
        InputError
            For another metric, and before the block has ended.
        """
        if metric not in ("own", "bytes"):
            raise InputError(
                message("export_stacks(metric=...)", "'own' or 'bytes'", repr(metric), "Pass one")
            )
        self._require_end("export_stacks")
        found: dict[tuple[str, ...], float] = {}
        kept = self._watch.kept
        if metric == "bytes":
            for made, count in () if kept is None else kept.by_call.items():
                stack = (self._watch.name_of(made), *map(_text, self._watch.site_of(made)))
                found[stack] = found.get(stack, 0) + count
        else:
            for event, phase in zip(self.events, self._phases, strict=True):
                name = _key(event, "operation")
                name = name if phase == "forward" else f"{name} [{phase}]"
                stack = (name, *map(_text, event.detail.site))
                found[stack] = found.get(stack, 0) + event.own * 1e-3
        lines = stack_lines((stack, round(value)) for stack, value in found.items())
        Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def _require_end(self, what: str) -> None:
        if not self.events:
            raise InputError(
                message(f"profile.{what}", "a block that has ended", "none", "Leave it first")
            )

    def __str__(self) -> str:
        if not self.events:
            return f"<profile of {self.title}: not run>"
        parts = [self._head(), str(self.table(limit=20)), str(self.table("line", limit=20))]
        return "\n\n".join(parts)

    def _head(self) -> str:
        head = f"profile of {self.title}: {tables.seconds(self.seconds)}"
        return f"{head}, the replay keeps {tables.size(self.bytes)}" if self.bytes else head

    def _repr_html_(self) -> str | None:
        """The tables for a notebook; None, for the text alone, before the block has ended."""
        if not self.events:
            return None
        shown = (self.table(limit=20), self.table("line", limit=20))
        return f"<p>{html.escape(self._head())}</p>" + "".join(t._repr_html_() for t in shown)

    def __repr__(self) -> str:
        return f"<profile of {self.title}: {len(self.events):,} events>"


def _require_limit(limit: Any) -> None:
    if limit is not None and not (isinstance(limit, (int, np.integer)) and limit > 0):
        expected = "a whole number from 1 on, or None"
        raise InputError(message("table(limit=...)", expected, repr(limit), "Pass None for all"))


# -- adding up -----------------------------------------------------------------------------------


def _phases_of(events: Sequence[Event]) -> list[str]:
    """In which pass each event is; those within others are after them."""
    found: dict[int, str] = {}
    for event in events:
        around = "forward" if event.parent is None else found[id(event.parent)]
        if event.kind == AGAIN:
            around = "again"
        elif event.kind == BACKWARD or (event.name == "replay" and around != "tangent"):
            around = "backward"
        elif event.kind == TANGENT or event.name == "pushforward":
            around = "tangent"
        found[id(event)] = around
    return list(found.values())


def _key(event: Event, by: By) -> Any:
    if event.kind in (PROGRAM, AGAIN):
        return PLAIN
    if event.kind in (FUNCTION, BACKWARD, TANGENT):
        return key_of(event.name, event.detail.site, by)
    return TRANSFORMS


def key_of(name: str, site: Site, by: By) -> Any:
    """Under what a call with a name and a site is added up."""
    if by == "operation":
        return name
    return _key_of_frame(site[0], by) if site else ELSEWHERE


def _key_of_frame(frame: Any, by: By) -> Any:
    return frame if by == "line" else (frame.file, frame.function)


def title_of(key: Any, by: By) -> str:
    """Name of a row of a key."""
    if isinstance(key, str):
        return key
    return str(key) if by == "line" else str(key[1])


def source_of(key: Any, by: By) -> str:
    """The text of the line that a key is."""
    if isinstance(key, str) or by != "line":
        return ""
    return linecache.getline(key.file, key.line).strip()


def _text(frame: Any) -> str:
    return f"{frame.file}({frame.line}): {frame.function}"


def _is_within(event: Event, key: Any, by: By) -> bool:
    around = event.parent
    while around is not None:
        if _key(around, by) == key:
            return True
        around = around.parent
    return False


# -- running -------------------------------------------------------------------------------------


@overload
def profile(f: None = None, *, memory: bool = False) -> Profile: ...
@overload
def profile(
    f: Function, *, backward: bool | None = None, memory: bool = False
) -> Callable[..., Profile]: ...
def profile(
    f: Function | None = None, *, backward: bool | None = None, memory: bool = False
) -> Any:
    """`profile(f)(*args)` runs `f(*args)`, and returns its `Profile`: tables, and the `value`.

    Without f it is a context manager: all transforms within the block.

    Parameters
    ----------
    f : callable, optional
        What a transform made (`grad(loss)`, `hessian(loss)`, `vmap(f)`, a compiled function) is
        run as it stands. Any other function is run together with a replay backward, by ones as the
        cotangents of its results, if it is called with floating or complex arrays or numbers, and
        its results depend on them: so `profile(loss)(x)` is the profile of
        `value_and_grad(loss)(x)`.
    backward : bool, optional
        Whether there is a replay, where it is not to follow from f.
    memory : bool, default False
        Whether the peak of what was allocated is watched as well (`tracemalloc`), which makes all
        slower.

    Returns
    -------
    callable or Profile
        Function of f's arguments that returns a `Profile`; without f the profile itself, to enter.

    Raises
    ------
    InputError
        For what is not a function. What f raises goes through.

    See Also
    --------
    tape : The operations, one by one.
    memory_report : What the replay keeps.

    Notes
    -----
    The profile has the calls on traced and batched arrays, in all threads, the steps of replays
    backward (their times are at the lines of the forward calls), tangents of forward mode, and
    what checkpoints run again. The rest of a function's time is one row: Python, and NumPy on
    plain arrays. The time of the profiler itself is left out.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> found = tapegrad.profile(lambda x: np.sum(np.sin(x) ** 2))(np.ones(1000))
    >>> table = found.table("operation", sort="bytes")
    >>> [(row.name, row.calls, row.bytes) for row in table][:2]
    [('np.sin', 1, 8000), ('(inputs)', 0, 8000)]
    """
    if f is None:
        return Profile(memory=memory)
    require_function("profile", f)
    function: Function = f

    def profiled(*args: Tree, **kwargs: Any) -> Profile:
        found = Profile(name_of(function), memory=memory)
        with found._within(_getframe(1)):
            found.value = run(function, args, kwargs, backward, found._watch)
        return found

    return functools.wraps(function, updated=())(profiled)


def is_transform(f: Any) -> bool:
    """Whether a function is what a transform made: grad(f), vmap(f), compile(f)."""
    if isinstance(f, Compiled):
        return True
    return isinstance(f, Transformed) and f._made[0] is not checkpoint


def run(
    f: Function,
    args: tuple[Tree, ...],
    kwargs: dict[str, Any],
    backward: bool | None,
    watch: Watch,
) -> Any:
    """f's result; before that, a replay backward where it is asked for."""
    kind = PROGRAM
    leaves, structure = flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if is_inexact(leaf) or type(leaf) in _NUMBERS]
    if backward is None:
        backward = not is_transform(f)
    if not backward or not places:
        called = watch.within(f, kind, name_of(f)) if is_program(f) else f
        return called(*args, **kwargs)
    called = watch.within(f, kind, name_of(f))

    def replayed(recording: Recording) -> Any:
        given = [leaves[i] for i in places]
        given = [np.asarray(x)[()] if type(x) in _NUMBERS else x for x in given]
        for i, x in zip(places, recording.inputs(given), strict=True):
            leaves[i] = x
        new_args, new_kwargs = unflatten(structure, leaves)
        out = called(*new_args, **new_kwargs)
        recording.finish(out)
        found, out_structure = flatten(out)
        outputs = [(recording.slot_of(x), x) for x in found]
        known = [(slot, x) for slot, x in outputs if slot is not None and slot >= 0]
        if known:
            bars = [np.ones(x.shape, x.dtype)[()] for _, x in known]
            consume = recording.huge and not recording.shared  # as for a gradient
            recording.pull([slot for slot, _ in known], list(bars), consume=consume)
        return unflatten(out_structure, [recording.strip(x) for x in found])

    return Recording(f"profile of {name_of(f)}").run(replayed)


_NUMBERS = (float, complex)

__all__ = [
    "INPUTS",
    "WAYS",
    "By",
    "Profile",
    "ProfileRow",
    "ProfileTable",
    "is_transform",
    "key_of",
    "profile",
    "run",
    "source_of",
    "title_of",
]

"""NVIDIA's tools: ranges of operations for them, and the files of nvprof.

Knows the package `nvtx`, which is asked for when it is needed, and nvprof's tables. Must not know
which functions have ranges.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sqlite3
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, Self

from tapegrad._block import Block, undoing
from tapegrad._profile.events import FUNCTION
from tapegrad._profile.recorder import shapes_of
from tapegrad._profile.switch import switch_in, switch_out, watcher
from tapegrad.torch.autograd.profiler_util import EventList, FunctionEvent, StringTable

LAUNCH = 211  # nvprof's number of cudaLaunchKernel
NANOSECONDS = 1000  # in a microsecond


class _Ranges:
    """Wrapper that makes a range of NVTX of each call."""

    detailed = True

    def __init__(self, nvtx: Any, shapes: bool) -> None:
        self.nvtx, self.shapes = nvtx, shapes

    def __repr__(self) -> str:
        return "emit_nvtx"

    def recording(
        self,
        function: Callable[..., Any],
        name: Any,
        kind: int = FUNCTION,
        number: Callable[[Any], int] | None = None,
    ) -> Callable[..., Any]:
        """A function that calls another within a range."""

        def ranged(*args: Any, **kwargs: Any) -> Any:
            label = name if isinstance(name, str) else name(*args, **kwargs)
            if label is None or watcher() is not self:
                return function(*args, **kwargs)
            self.nvtx.push_range(self._title(label, -1, (*args, *kwargs.values())))
            try:
                return function(*args, **kwargs)
            finally:
                self.nvtx.pop_range()

        return ranged

    def begin(self, titles: tuple[str, str], number: int, shape: Sequence[int]) -> Any:
        """Begin the two ranges of a step of a backward pass."""
        self.nvtx.push_range(self._title(titles[0], number, ()))
        self.nvtx.push_range(titles[1])
        return titles

    def end(self, step: Any) -> None:
        """End them."""
        self.nvtx.pop_range()
        self.nvtx.pop_range()

    def _title(self, label: str, number: int, values: Any) -> str:
        title = label if number < 0 else f"{label}, seq = {number}"
        return f"{title}, sizes = {shapes_of(values)}" if self.shapes and values else title


class emit_nvtx(Block[Any]):
    """Context manager that makes a range of NVTX of every operation, for NVIDIA's profilers.

    enabled: False for a block in which nothing is done.
    record_shapes: Let the ranges' names tell the shapes of the arguments.
    ImportError: Where it is entered and the package nvtx is not installed.
    RuntimeError: Where it is entered a second time, or while a profile runs.

    >>> with torch.autograd.profiler.emit_nvtx(enabled=False):
    ...     torch.ones(2).sum()
    tensor(2.)
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes
        self.entered: bool = False

    def _opened(self) -> Generator[Self | None]:
        if not self.enabled:
            yield None
            return
        if self.entered:
            raise RuntimeError("NVTX annotation context manager is not reentrant")
        if importlib.util.find_spec("nvtx") is None:
            raise ImportError(
                "emit_nvtx needs the package nvtx, which is not installed: pip install nvtx"
            )
        import nvtx

        ranges = _Ranges(nvtx, self.record_shapes)
        with undoing(partial(switch_out, ranges)):
            switch_in(ranges)
            try:
                self.entered = True
                yield self
            finally:
                self.entered = False


# --- Files of nvprof ----------------------------------------------------------------------------


class EnforceUnique:
    """Raises RuntimeError for a key that was seen before.

    >>> from tapegrad.torch.autograd.profiler import EnforceUnique
    >>> unique = EnforceUnique()
    >>> unique.see(1, "add")
    >>> unique.see(1, "add")
    Traceback (most recent call last):
        ...
    RuntimeError: duplicate key: (1, 'add')
    """

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def see(self, *key: Any) -> None:
        """Note a key.

        *key: What it consists of.
        RuntimeError: If it was seen before.
        """
        if key in self.seen:
            raise RuntimeError(f"duplicate key: {key}")
        self.seen.add(key)


RANGES = """
    SELECT begun.id AS marker, begun.name AS name,
        begun.timestamp AS first, ended.timestamp AS last
    FROM CUPTI_ACTIVITY_KIND_MARKER AS begun
    JOIN CUPTI_ACTIVITY_KIND_MARKER AS ended ON begun.id = ended.id
    WHERE begun.name != 0 AND ended.name = 0
"""

LAUNCHES = """
    SELECT begun.id AS marker, call._id_ AS call, call.cbid AS cbid, kernel.name AS kernel,
        kernel.start AS first, kernel.end AS last
    FROM CUPTI_ACTIVITY_KIND_MARKER AS begun
    JOIN CUPTI_ACTIVITY_KIND_MARKER AS ended ON begun.id = ended.id
    JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS call
        ON begun.timestamp < call.start AND call.end < ended.timestamp
    JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS kernel
        ON kernel.correlationId = call.correlationId
    WHERE begun.name != 0 AND ended.name = 0
"""


def load_nvprof(path: str) -> EventList:
    """The ranges in a file of nvprof, which `nvprof -o` wrote, each with its kernels.

    -> EventList: The ranges in order of time.
    See also parse_nvprof_trace: The same as a list.

    >>> from tapegrad.torch.autograd.profiler import load_nvprof
    >>> events = load_nvprof("trace.prof")  # doctest: +SKIP
    """
    return EventList(parse_nvprof_trace(path))


def parse_nvprof_trace(path: str) -> list[FunctionEvent]:
    """The ranges in a file of nvprof in order of time, in microseconds.

    A kernel belongs to every range within which it was launched.

    -> list of FunctionEvent: The ranges, with their kernels.
    RuntimeError: If a range or a launch is listed twice.
    AssertionError: If a kernel was launched by another call than cudaLaunchKernel.

    >>> from tapegrad.torch.autograd.profiler import parse_nvprof_trace
    >>> events = parse_nvprof_trace("trace.prof")  # doctest: +SKIP
    """
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.row_factory = sqlite3.Row
        strings = StringTable()
        for row in file.execute("SELECT _id_ AS id, value FROM StringTable"):
            strings[row["id"]] = str(row["value"])
        unique = EnforceUnique()
        found: dict[int, FunctionEvent] = {}
        for row in file.execute(RANGES):
            unique.see(row["marker"])
            found[row["marker"]] = FunctionEvent(
                id=row["marker"],
                node_id=0,
                name=strings[row["name"]],
                thread=0,
                start_us=row["first"] / NANOSECONDS,
                end_us=row["last"] / NANOSECONDS,
                use_device="cuda",
            )
        unique = EnforceUnique()
        for row in file.execute(LAUNCHES):
            unique.see(row["marker"], row["call"])
            if row["cbid"] != LAUNCH:
                raise AssertionError(f"Expected cbid to be {LAUNCH}, but got {row['cbid']}")
            duration = (row["last"] - row["first"]) / NANOSECONDS
            found[row["marker"]].append_kernel(strings[row["kernel"]], 0, duration)
    return sorted(found.values(), key=lambda event: event.time_range.start)

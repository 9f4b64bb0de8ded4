"""`torch.autograd.profiler_util`: events of a profile, their averages, and lists of them.

Knows the recorder's events and PyTorch's attributes of them. Must not know what is recorded.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from tapegrad._profile.events import BACKWARD, FUNCTION, Event
from tapegrad._profile.trace import stack_lines, trace_of
from tapegrad.torch.autograd._profiler_table import (
    build_table,
    format_memory,
    format_time,
    format_time_share,
)

# PyTorch's names of them.
_format_memory, _format_time, _format_time_share = format_memory, format_time, format_time_share

# Metrics of `export_stacks`. Those of a device are there for scripts that name them: they are 0.
METRICS = ("self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total")


class Interval:
    """A stretch of time.

    start: Where it begins, in microseconds.
    end: Where it ends.

    >>> from tapegrad.torch.autograd.profiler_util import Interval
    >>> Interval(1.0, 3.0).elapsed_us()
    2.0
    """

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """The length of the stretch.

        -> float: In microseconds.
        """
        return self.end - self.start


class Kernel(NamedTuple):
    """A computation on a device.

    Attribute name (str): Its name.
    Attribute device (int): The number of the device.
    Attribute duration (float): In microseconds.

    >>> from tapegrad.torch.autograd.profiler_util import Kernel
    >>> Kernel("add", 0, 2.0).duration
    2.0
    """

    name: str
    device: int
    duration: float


class StringTable(defaultdict[Any, str]):
    """Strings by their number, which is the string of a number that is not in the table.

    >>> from tapegrad.torch.autograd.profiler_util import StringTable
    >>> table = StringTable()
    >>> table[7]
    '7'
    """

    def __missing__(self, key: Any) -> str:
        self[key] = found = str(key) if not isinstance(key, str) or len(key) <= 1 else key
        return found


# --- Events -------------------------------------------------------------------------------------


def _as_text(name: str) -> Any:
    """A property that is a time of an event as text."""

    def text(event: Any) -> str:
        return _format_time(getattr(event, name))

    return property(text, doc=f"`{name}` as text.")


class FormattedTimesMixin:
    """Times of events as text, and their average over calls.

    >>> from tapegrad.torch.autograd.profiler_util import FunctionEvent
    >>> FunctionEvent(0, "add", 0, 0.0, 2.0).cpu_time_str
    '2.000us'
    """

    count: int
    cpu_time_total: Any
    self_cpu_time_total: Any
    device_time_total: Any
    self_device_time_total: Any

    @property
    def cpu_time(self) -> float:
        """The time of one call, on average, in microseconds."""
        return 0.0 if self.count == 0 else float(self.cpu_time_total) / self.count

    @property
    def device_time(self) -> float:
        """The same on a device: 0."""
        return 0.0 if self.count == 0 else float(self.device_time_total) / self.count

    cuda_time = device_time

    cpu_time_str: str = _as_text("cpu_time")
    cpu_time_total_str: str = _as_text("cpu_time_total")
    self_cpu_time_total_str: str = _as_text("self_cpu_time_total")
    device_time_str: str = _as_text("device_time")
    device_time_total_str: str = _as_text("device_time_total")
    self_device_time_total_str: str = _as_text("self_device_time_total")


class FunctionEvent(FormattedTimesMixin):
    """One call, with its times in microseconds and its memory in bytes.

    id: Its number in the profile.
    name: What was called.
    thread: The number of the thread.
    start_us, end_us: When it began and ended.
    overload_name: Another name of it.
    fwd_thread: Of a step of a backward pass, the thread of the call that it belongs to.
    input_shapes (list): The shapes of the arguments.
    stack (sequence of str): The lines of the program that called it, the innermost first.
    scope: What kind of event it is.
    use_device: The device in its text.
    cpu_memory_usage, device_memory_usage: Bytes allocated less those freed.
    is_async, is_remote: What holds for it.
    sequence_nr: The number of the node that the call made, or whose step it is.
    node_id: The number of the machine.
    device_type: By default "cpu".
    device_index: The number of the device.
    device_resource_id: By default the thread.
    is_legacy: What holds for it.
    flops: How many operations on numbers.
    trace_name: Another name of it.
    concrete_inputs, kwinputs: Arguments that were recorded.
    is_user_annotation: Whether it is a range of the program's.
    metadata_json: Text to keep with it.
    **_: Ignored.
    Attribute cpu_children (list of FunctionEvent): The calls within.
    Attribute cpu_parent (FunctionEvent or None): The call within which it was made.
    Attribute count (int): 1, as of a `FunctionEventAvg` of one call.
    Attribute kernels (list of Kernel): Computations on a device that it started.

    >>> from tapegrad.torch.autograd.profiler import FunctionEvent
    >>> FunctionEvent(0, "add", 0, start_us=1.0, end_us=3.0).cpu_time_total
    2.0
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str | None = None,
        fwd_thread: int | None = None,
        input_shapes: Any = None,
        stack: Any = None,
        scope: int = 0,
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        device_type: Any = None,
        device_index: int = 0,
        device_resource_id: int | None = None,
        is_legacy: bool = False,
        flops: int | None = None,
        trace_name: str | None = None,
        concrete_inputs: Any = None,
        kwinputs: Any = None,
        is_user_annotation: bool = False,
        metadata_json: str | None = None,
        **_: Any,
    ) -> None:
        self.id, self.node_id, self.name = id, node_id, name
        self.overload_name: str = overload_name or ""
        self.trace_name: str = trace_name or name
        self.time_range: Interval = Interval(start_us, end_us)
        self.thread, self.fwd_thread = thread, fwd_thread
        self.kernels: list[Kernel] = []
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes = input_shapes if input_shapes is not None else []
        self.concrete_inputs = concrete_inputs if concrete_inputs is not None else []
        self.kwinputs = kwinputs or {}
        self.stack: list[Any] = list(stack) if stack is not None else []
        self.scope, self.use_device, self.cpu_memory_usage = scope, use_device, cpu_memory_usage
        self.device_memory_usage, self.is_async = device_memory_usage, is_async
        self.is_remote, self.sequence_nr = is_remote, sequence_nr
        self.device_type = device_type if device_type is not None else "cpu"
        self.device_index = device_index
        self.device_resource_id: int = thread if device_resource_id is None else device_resource_id
        self.is_legacy, self.flops, self.is_user_annotation = is_legacy, flops, is_user_annotation
        self.metadata_json: str = metadata_json or ""

    @property
    def key(self) -> str:
        """The name by which `key_averages` groups calls."""
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """The time from begin to end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """The time without that of the calls within."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """The bytes that this call itself allocated, less those that it freed."""
        inner = sum(child.cpu_memory_usage for child in self.cpu_children)
        return self.cpu_memory_usage - inner

    @property
    def device_time_total(self) -> float:
        """The time of the kernels that the call started."""
        return sum(kernel.duration for kernel in self.kernels)

    cuda_time_total = device_time_total

    @property
    def self_device_time_total(self) -> float:
        """The time of the kernels that no call within started."""
        inner = sum(child.device_time_total for child in self.cpu_children)
        return self.device_time_total - inner

    self_cuda_time_total = self_device_time_total

    @property
    def self_device_memory_usage(self) -> int:
        """The same on a device."""
        inner = sum(child.device_memory_usage for child in self.cpu_children)
        return self.device_memory_usage - inner

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Add a computation on a device that this call started.

        name: Its name.
        device (int): The number of the device.
        duration: In microseconds.
        """
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add a call that was made within this one.

        child: The inner call.
        """
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Set the call within which this one was made.

        parent: The outer call.
        """
        self.cpu_parent = parent

    def __repr__(self) -> str:
        inner = [child.id for child in self.cpu_children]
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={inner} {self.use_device}_time={self.device_time_str} "
            f"name={self.name} thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} "
            f"{self.use_device}_memory_usage={self.device_memory_usage} "
            f"is_async={self.is_async} is_remote={self.is_remote} seq_nr={self.sequence_nr} "
            f"is_legacy={self.is_legacy}>"
        )


_OF_THE_FIRST = (
    "key node_id is_async is_remote is_user_annotation cpu_parent cpu_children input_shapes "
    "overload_name stack scope device_type is_legacy use_device"
).split()
_SUMMED = (
    "count cpu_time_total device_time_total self_cpu_time_total self_device_time_total "
    "cpu_memory_usage device_memory_usage self_cpu_memory_usage self_device_memory_usage"
).split()


class FunctionEventAvg(FormattedTimesMixin):
    """The calls of one name together.

    >>> from tapegrad.torch.autograd.profiler_util import FunctionEvent, FunctionEventAvg
    >>> average = FunctionEventAvg()
    >>> average += FunctionEvent(0, "add", 0, 0.0, 1.0)
    >>> average += FunctionEvent(1, "add", 0, 2.0, 5.0)
    >>> average.count, average.cpu_time_total, average.cpu_time
    (2, 4.0, 2.0)
    """

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.node_id = 0
        self.is_async = False
        self.is_remote = False
        self.is_user_annotation = False
        self.use_device: str | None = None
        self.cpu_time_total: float = 0
        self.device_time_total: float = 0
        self.self_cpu_time_total: float = 0
        self.self_device_time_total: float = 0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: list[str] = []
        self.scope: int | None = None
        self.cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.self_device_memory_usage = 0
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type: Any = "cpu"
        self.is_legacy = False
        self.flops = 0

    @property
    def cuda_time_total(self) -> float:
        """The time on a device: 0."""
        return self.device_time_total

    @property
    def self_cuda_time_total(self) -> float:
        """The same without calls within: 0."""
        return self.self_device_time_total

    def add(self, other: Any) -> FunctionEventAvg:
        """Add a call, or an average of the same key.

        other (FunctionEvent or FunctionEventAvg): What is added; the first gives the key and all
            that is not summed.
        -> FunctionEventAvg: This object.
        TypeError: For anything else.
        AssertionError: For another key.
        """
        if self.key is None:
            for name in _OF_THE_FIRST:
                setattr(self, name, getattr(other, name))
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise TypeError("expected a FunctionEvent or a FunctionEventAvg")
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    def __iadd__(self, other: Any) -> Self:
        self.add(other)
        return self

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  "
            f"self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage}>"
        )


# --- Lists --------------------------------------------------------------------------------------


class EventList(list[Any]):
    """Events of a profile, or averages of them; printing it prints its table.

    events (iterable of FunctionEvent or FunctionEventAvg): The events.
    use_device: Kept for averages of them.
    profile_memory: Whether tables have columns of memory.
    with_flops: Kept for averages of them.

    >>> from tapegrad.torch.autograd.profiler import EventList, FunctionEvent
    >>> events = EventList([FunctionEvent(i, "add", 0, 0.0, 2.0) for i in range(3)])
    >>> [(average.key, average.count) for average in events.key_averages()]
    [('add', 3)]
    """

    def __init__(
        self,
        events: Iterable[Any] = (),
        *,
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
    ) -> None:
        super().__init__(events)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._source: Sequence[Event] = ()  # the recorder's events, for a trace
        self._threads: Mapping[int, str] = {}

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events in microseconds, each moment of a thread once."""
        return sum(event.self_cpu_time_total for event in self)

    @property
    def supported_export_stacks_metrics(self) -> list[str]:
        """The metrics that `export_stacks` takes."""
        return list(METRICS)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table.

        sort_by: An attribute, such as cpu_time, self_cpu_time_total, cpu_memory_usage or count; by
            default the order is that of time.
        row_limit: The most rows; -1 for all.
        max_src_column_width: The width of the column of lines of the program.
        max_name_column_width: The width of the column of names.
        max_shapes_column_width: The width of the column of shapes.
        header: A line above the table.
        top_level_events_only: Of `events()`, those that no other event contains.
        time_unit ({"s", "ms", "us"}): The unit of all times, in place of the one that fits each.
        -> str: The table.
        AttributeError: For a `sort_by` that events do not have.
        """
        return build_table(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            profile_memory=self._profile_memory,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
        )

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events as a trace, which chrome://tracing and Perfetto read.

        path (path): The file, in JSON.
        """
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self._trace(), file)

    def _trace(self) -> dict[str, Any]:
        return trace_of(self._source or [_as_event(event) for event in self], self._threads)

    def export_stacks(self, path: str, metric: str) -> None:
        """Write a line per event with a stack: its frames, outermost first, and a time.

        The time is in whole microseconds; tools that draw flame graphs read the file.

        path (path): The file.
        metric: Which time: one of `supported_export_stacks_metrics`.
        ValueError: For another metric.
        """
        if metric not in METRICS:
            raise ValueError(f"metric should be one of: {METRICS}")
        stacks = [(event.stack, int(getattr(event, metric))) for event in self]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in stack_lines(stacks))

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events of each name together; also by shapes, or by the innermost frames.

        group_by_input_shapes: Those of other shapes apart.
        group_by_stack_n: Those apart that differ in the innermost lines of the program, as many of
            them.
        group_by_overload_name: Keep the overload's name, which is empty here.
        -> EventList: A `FunctionEventAvg` for each group.
        """
        groups: dict[tuple[Any, ...], FunctionEventAvg] = {}
        for event in self:
            key = "ProfilerStep*" if event.key.startswith("ProfilerStep#") else event.key
            group: tuple[Any, ...] = (
                key,
                event.node_id,
                event.is_user_annotation,
                event.is_legacy,
                event.scope,
            )
            if group_by_input_shapes:
                group += (str(event.input_shapes),)
            if group_by_stack_n > 0:
                group += tuple(event.stack[:group_by_stack_n])
            found = groups.setdefault((*group, event.is_async), FunctionEventAvg())
            if key != event.key:
                event = _renamed(event, key)
            found.add(event)
        averages = EventList(
            groups.values(),
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )
        for average in averages:
            average.stack = average.stack[: max(group_by_stack_n, 0)]
            if not group_by_input_shapes:
                average.input_shapes = ""
            if not group_by_overload_name:
                average.overload_name = ""
        return averages

    def total_average(self) -> FunctionEventAvg:
        """All events together, as one of the key Total.

        -> FunctionEventAvg: Their sum.
        """
        total = FunctionEventAvg()
        for event in self:
            total += event
            total.key = None
        total.key = "Total"
        return total


def _renamed(event: FunctionEvent, key: str) -> FunctionEventAvg:
    """An event under another name, for its group."""
    made = FunctionEventAvg().add(event)
    made.key = key
    return made


# --- From the recorder --------------------------------------------------------------------------


def from_events(
    events: Sequence[Event], threads: Mapping[int, str], *, begin: int = 0, memory: bool = False
) -> EventList:
    """The recorder's events as PyTorch's. begin: the start of the profile, in nanoseconds.

    A step of a backward pass gets the stack of the call that it belongs to.
    """
    threads_in_order = dict.fromkeys(event.thread for event in events)
    numbers = {thread: place for place, thread in enumerate(threads_in_order, 1)}
    calls = {e.detail.number: e for e in events if e.kind == FUNCTION and e.detail.number >= 0}
    made: dict[Event, FunctionEvent] = {}
    for place, event in enumerate(events, 1):
        detail = event.detail
        call = calls.get(detail.number) if event.kind == BACKWARD else None
        stack = call.detail.stack if call is not None else detail.stack
        made[event] = found = FunctionEvent(
            id=place,
            name=event.name,
            thread=numbers[event.thread],
            start_us=(event.begin - begin) / 1000,
            end_us=(event.end - begin) / 1000,
            fwd_thread=0 if call is None else numbers[call.thread],
            input_shapes=list(detail.shapes),
            stack=stack,
            scope=event.kind,
            cpu_memory_usage=detail.memory,
            sequence_nr=detail.number,
            device_resource_id=event.thread,
            is_user_annotation=event.kind not in (FUNCTION, BACKWARD),
        )
        if event.parent is not None:
            found.set_cpu_parent(made[event.parent])
            made[event.parent].append_cpu_child(found)
    listed = EventList(made.values(), profile_memory=memory)
    listed._source, listed._threads = events, threads
    return listed


def _as_event(event: FunctionEvent) -> Event:
    """An event that did not come from the recorder, for a trace."""
    times = (round(event.time_range.start * 1000), round(event.time_range.end * 1000))
    return Event(event.name, event.scope, *times, event.thread, None)


class MemRecordsAcc:
    """Records of memory, in order of time; `in_interval` yields those of a stretch.

    mem_records (sequence of tuple): In each the first has a method `start_ns()`.

    >>> from tapegrad.torch.autograd.profiler import MemRecordsAcc
    >>> list(MemRecordsAcc([]).in_interval(0.0, 1.0))
    []
    """

    def __init__(self, mem_records: Sequence[Any]) -> None:
        pairs = [(record[0].start_ns() / 1000, record) for record in mem_records]
        self._pairs = sorted(pairs, key=lambda pair: pair[0])

    def in_interval(self, start_us: float, end_us: float) -> Iterable[Any]:
        """The records of a stretch of time.

        start_us, end_us: Its ends in microseconds, both included.
        Yields (tuple): A record, as it was given.
        """
        before = itertools.dropwhile(lambda pair: pair[0] < start_us, self._pairs)
        for time, record in before:
            if time > end_us:
                return
            yield record


__all__ = [
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MemRecordsAcc",
    "StringTable",
]

"""`torch.autograd.profiler`: profiles of operations and backward passes, and ranges in them.

Knows the recorder, and PyTorch's names. Must not know what is recorded; that is in `_recorded`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any, ClassVar, Self

from tapegrad._block import Block, undoing
from tapegrad._profile.recorder import Range, Recorder, is_recording
from tapegrad._profile.switch import declare
from tapegrad._warning import warn
from tapegrad.torch.autograd._nvidia import (
    EnforceUnique,
    emit_nvtx,
    load_nvprof,
    parse_nvprof_trace,
)
from tapegrad.torch.autograd._recorded import places
from tapegrad.torch.autograd.profiler_util import (
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    MemRecordsAcc,
    from_events,
)

declare(places)

UNFINISHED = "<unfinished torch.autograd.profile>"


class profile(Block[Any]):
    """Context manager that records the operations and backward passes of its block.

    It is a list of events after the block: `function_events`; printing it prints their table.
    Calls of all threads are recorded, each thread's apart. Where no profile runs it costs nothing.

    enabled: False for nothing to be recorded.
    use_cuda: There is no such device, as a warning says.
    use_device: Likewise, unless it is "cpu".
    record_shapes: Also record the shapes of arguments.
    with_flops: Not counted, as a warning says.
    profile_memory: Also record the bytes that each call allocated less those that it freed, of
        Python's objects and NumPy's arrays, counted by `tracemalloc` in all threads.
    with_stack: Also record the lines of the program that made the calls.
    with_modules, use_kineto: Without effect.
    use_cpu: The CPU is recorded in any case; for False a warning says so.
    experimental_config: Without effect.
    acc_events: Without effect.
    custom_trace_id_callback (callable): Without effect.
    post_processing_timeout_s: Without effect.
    activity_filters: Without effect.
    RuntimeError: Where it is entered a second time.
    UserWarning: For what is asked and not there.
    See also tapegrad.torch.profiler.profile: Works in steps, on a schedule.

    >>> x = torch.ones(3, requires_grad=True)
    >>> with torch.autograd.profiler.profile() as prof:
    ...     (x * x).sum().backward()
    >>> [event.key for event in prof.key_averages()][:2]
    ['aten::mul', 'aten::sum']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: Any = None,
    ) -> None:
        self.enabled = enabled
        self.use_cuda = False
        self.use_device = None
        self.use_cpu, self.record_shapes = use_cpu, record_shapes
        self.with_flops = False
        self.profile_memory, self.with_stack = profile_memory, with_stack
        self.with_modules, self.acc_events = with_modules, acc_events
        self.entered = False
        self._recorder: Recorder | None = None
        self._function_events: EventList | None = None
        self._earlier = EventList()  # of recordings before this one, to be listed with it
        if not enabled:
            return
        if use_cuda or use_device not in (None, "cpu"):
            device = use_device or "cuda"
            warn(f"{device.upper()} is not available, disabling {device.upper()} profiling")
        if with_flops:
            warn("with_flops is not supported: floating point operations are not counted.")
        if not use_cpu:
            warn("use_cpu=False is ignored: there is no other device to profile.")

    def _opened(self) -> Generator[Self | None]:
        if not self.enabled:
            yield None
            return
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        with undoing(self._stop):
            self._start()
            yield self

    def _start(self) -> None:
        self.entered = True
        self._function_events = None
        self._recorder = Recorder(
            shapes=self.record_shapes, memory=self.profile_memory, stack=self.with_stack
        )
        self._recorder.start()

    def _stop(self) -> None:
        if self._recorder is not None:
            self._recorder.stop()

    # -- results ---------------------------------------------------------------------------------

    @property
    def function_events(self) -> EventList:
        """The events in order of time; none before the end of the block."""
        recorder = self._recorder
        if recorder is None or not recorder.end:
            return EventList()
        if self._function_events is None:
            self._function_events = from_events(
                recorder.events(),
                recorder.threads,
                begin=recorder.begin,
                memory=self.profile_memory,
            )
            self._function_events.extend(self._earlier)
        return self._function_events

    @property
    def _unfinished(self) -> bool:
        return self._recorder is None or not self._recorder.end

    def __repr__(self) -> str:
        return UNFINISHED if self._unfinished else repr(self.function_events)

    def __str__(self) -> str:
        return UNFINISHED if self._unfinished else str(self.function_events)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events as a table.

        sort_by: An attribute of events; by default the order is that of time.
        row_limit: The most rows; -1 for all.
        max_src_column_width: The width of the column of lines of the program.
        max_name_column_width: The width of the column of names.
        max_shapes_column_width: The width of the column of shapes.
        header: A line above the table.
        top_level_events_only: Leave out events that another event contains.
        -> str: The table, as of `EventList.table`.
        """
        return self.function_events.table(
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
        )

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events of each name together.

        group_by_input_shape: Those of other shapes apart.
        group_by_stack_n: Those apart that differ in the innermost lines of the program, as many of
            them.
        group_by_overload_name: As in `EventList.key_averages`.
        -> EventList: A `FunctionEventAvg` for each group.
        """
        return self.function_events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self) -> FunctionEventAvg:
        """All events together.

        -> FunctionEventAvg: Their sum.
        """
        return self.function_events.total_average()

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events as a trace, which chrome://tracing and Perfetto read.

        path (path): The file, in JSON.
        """
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks of the events with a time each.

        path (path): The file.
        metric: Which time.
        AssertionError: Without `with_stack`.
        ValueError: For a metric that is not one of `EventList.supported_export_stacks_metrics`.
        """
        events = self.function_events
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        events.export_stacks(path, metric)

    def toggle_collection_dynamic(self, enabled: bool, activities: object = None) -> None:
        """Turn recording off and on within a block: here it stays as it is.

        enabled: Ignored.
        activities: Ignored.
        UserWarning: In every call.
        """
        warn("toggle_collection_dynamic is not supported: the whole block is recorded.")

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events in microseconds, each moment of a thread once."""
        return self.function_events.self_cpu_time_total


class record_function:
    """Context manager and decorator: a range with a name in the profile that runs.

    Outside of a profile it does nothing.

    name: The name.
    args: Text that is kept with the object.
    RuntimeError: Where a block is entered and the name is no text.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("part"):
    ...         y = torch.ones(2) + 1
    >>> [event.name for event in prof.function_events]
    ['part', 'aten::ones', 'aten::add']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self.run_callbacks_on_exit = True
        self._ranges: list[Range] = []

    def __enter__(self) -> Self:
        if not isinstance(self.name, str):
            raise RuntimeError(
                "profiler::_record_function_enter_new() Expected a value of type 'str' for "
                f"argument 'name' but instead found type '{type(self.name).__name__}'.\n"
                f"Position: 0\nValue: {self.name}"
            )
        span = Range(self.name)
        self._ranges.append(span)
        span.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.run_callbacks_on_exit:
            self._ranges.pop().stop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose calls are ranges."""

        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.name, self.args):
                return function(*args, **kwargs)

        return within

    def _call_end_callbacks_on_future(self, fut: Any) -> Any:
        """End the range when a future is done, rather than at the end of the block."""
        if not self.run_callbacks_on_exit:
            raise RuntimeError("_call_end_callbacks_on_future can only be called once.")
        self.run_callbacks_on_exit = False
        fut.add_done_callback(lambda _: self._ranges.pop().stop())
        return fut


class emit_itt:
    """Ranges for Intel's VTune: not supported, as an error says.

    enabled: False for a block in which nothing is done.
    record_shapes: Ignored.
    RuntimeError: Where it is entered, unless `enabled` is False.

    >>> with torch.autograd.profiler.emit_itt(enabled=False):
    ...     torch.ones(2).sum()
    tensor(2.)
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes
        self.entered = False

    def __enter__(self) -> Self | None:
        if not self.enabled:
            return None
        raise RuntimeError(
            "emit_itt: ranges for Intel's VTune are not supported. Use profile(), whose "
            "export_chrome_trace() Perfetto reads, or emit_nvtx()."
        )

    def __exit__(self, *_: object) -> None:
        pass


class KinetoStepTracker:
    """Counts of steps by who counts, and the largest of them: the step of the program.

    >>> tracker = torch.autograd.profiler.KinetoStepTracker
    >>> tracker.init_step_count("training")
    >>> tracker.increment_step("training") == tracker.current_step()
    True
    >>> tracker.erase_step_count("training")
    True
    """

    _current_step = 0
    _step_dict: ClassVar[dict[str, int]] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Begin to count for someone, at the step of the program.

        requester: Who counts.
        """
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget someone's count.

        requester: Who counted.
        -> bool: Whether there was a count.
        """
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of someone's.

        requester: Who counts; from now on, if they did not.
        -> int: The step of the program.
        UserWarning: If the step of the program grows by more than one.
        """
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        largest = max(cls._step_dict.values())
        if largest - cls._current_step > 1:
            warn(
                "Profiler step count has increased more than 1 - "
                f"current_step = {cls._current_step} step dict =  {cls._step_dict}"
            )
        cls._current_step = max(cls._current_step, largest)
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The step of the program.

        -> int: The largest count so far.
        """
        return cls._current_step


def kineto_available() -> bool:
    """Whether PyTorch's tracing library is there: the recorder is tapegrad's own.

    -> bool: False.

    >>> torch.autograd.profiler.kineto_available()
    False
    """
    return False


def _is_profiler_enabled() -> bool:
    return is_recording()


__all__ = [
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "parse_nvprof_trace",
    "profile",
    "record_function",
]
__dir__ = __all__.copy

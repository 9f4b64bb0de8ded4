"""The profiler of `torch.profiler`, its schedule, and what it does with a finished trace.

Knows the profiler of `autograd`. Must not know what is recorded.
"""

from __future__ import annotations

import enum
import functools
import gzip
import json
import os
import socket
import time
from collections.abc import Callable, Generator, Iterable
from typing import Any, Self

from tapegrad._block import Block, undoing
from tapegrad._warning import warn
from tapegrad.torch.autograd import profiler as _profiler
from tapegrad.torch.autograd.profiler_util import EventList

STEPS = "Torch profiler"
CLEARED = (
    "Warning: Profiler clears events at the end of each cycle. Only events from the current "
    "cycle will be reported. To keep events across cycles, set acc_events=True."
)


class ProfilerActivity(enum.Enum):
    """Activities to profile. Here that is the CPU; the others are there to be named.

    Attribute CPU, XPU, MTIA, CUDA, HPU, PrivateUse1 (ProfilerActivity): The members.

    >>> torch.profiler.ProfilerActivity.CPU
    <ProfilerActivity.CPU: 0>
    """

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5

    def __repr__(self) -> str:
        return f"<ProfilerActivity.{self.name}: {self.value}>"


class ProfilerAction(enum.Enum):
    """Action of a profiler in a step.

    Attribute NONE (ProfilerAction): Nothing.
    Attribute WARMUP (ProfilerAction): Record, and throw away.
    Attribute RECORD (ProfilerAction): Record.
    Attribute RECORD_AND_SAVE (ProfilerAction): Record, and end the trace.

    >>> torch.profiler.ProfilerAction.RECORD
    <ProfilerAction.RECORD: 2>
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """Activities to profile.

    -> set of ProfilerActivity: The CPU.

    >>> torch.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """A function from the number of a step to what the profiler does in it.

    wait: How many steps of a cycle are not recorded.
    warmup: How many after them are recorded and thrown away.
    active: How many after those are kept; the last of them ends a trace. At least 1.
    repeat: How many cycles; 0 for no end.
    skip_first: How many steps come before the first cycle.
    skip_first_wait: If not 0, the first cycle does not wait.
    -> callable: Takes the number of a step, and returns a `ProfilerAction`; AssertionError for a
        negative one.
    AssertionError: For numbers that make no schedule.
    UserWarning: If `warmup` is 0.

    >>> action = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [action(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if not (wait >= 0 and warmup >= 0 and active > 0 and repeat >= 0 and skip_first >= 0):
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results")

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle = wait + warmup + active
        if 0 < repeat <= step // cycle:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == cycle - 1 else ProfilerAction.RECORD

    return action


@functools.cache
def _tell_of_cleared_events() -> None:
    """Warn, once in a process."""
    warn(CLEARED)


def _always(_: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], None]:
    """A function for `on_trace_ready` that writes each trace into a folder.

    The files are named worker.time.pt.trace.json, as TensorBoard's plugin expects.

    dir_name (path): The folder; it is made if there is none.
    worker_name: By default the machine's name and the number of the process.
    use_gzip: Compress the files, .gz.
    -> callable: Takes a profiler; RuntimeError if the folder cannot be made.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     handler = torch.profiler.tensorboard_trace_handler(folder, "worker")
    ...     with torch.profiler.profile(on_trace_ready=handler):
    ...         y = torch.ones(2) + 1
    ...     [name.split(".", 2)[2] for name in os.listdir(folder)]
    ['pt.trace.json']
    """

    def handler(prof: profile) -> None:
        if not os.path.isdir(dir_name):
            try:
                os.makedirs(dir_name, exist_ok=True)
            except OSError as error:
                raise RuntimeError(f"Can't create directory: {dir_name}") from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        file = f"{worker}.{time.time_ns()}.pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, f"{file}.gz" if use_gzip else file))

    return handler


class profile(Block[Any]):
    """A profiler that works in steps: `step()` ends one.

    `events()` and `key_averages()` are those of the recording that ended last, as a warning says:
    ask for them in `on_trace_ready`, or after the block.

    activities (iterable of ProfilerActivity): The CPU is recorded; of other devices a warning says
        that they are not there.
    schedule (callable): What to do in each step, as `torch.profiler.schedule` returns it; by
        default all is recorded.
    on_trace_ready (callable): Called with the profiler where a trace ends.
    record_shapes: Also record the shapes of arguments.
    profile_memory: Also record the bytes that calls allocate, as in
        `torch.autograd.profiler.profile`.
    with_stack: Also record the lines of the program that made the calls.
    with_flops, with_modules: Without effect.
    experimental_config, execution_trace_observer: Without effect.
    acc_events: Let `events()` and `key_averages()` be those of all recordings, the last one first.
    use_cuda: The old name of an activity, which is not there.
    custom_trace_id_callback (callable): Without effect.
    post_processing_timeout_s: Without effect.
    AssertionError: If `activities` is empty.
    UserWarning: For devices that are not there.
    FutureWarning: If `use_cuda` is given.

    >>> x = torch.ones(3, requires_grad=True)
    >>> with torch.profiler.profile() as prof:
    ...     (x * x).sum().backward()
    >>> [event.key for event in prof.key_averages()][:2]
    ['aten::mul', 'aten::sum']
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities: set[Any] = set(
            supported_activities() if activities is None else activities
        )
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        if use_cuda is not None:
            warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning)
        others = sorted(str(a) for a in self.activities if a is not ProfilerActivity.CPU)
        if others or use_cuda:
            names = ", ".join(others) or "CUDA"
            warn(f"{names} is not available, disabling its profiling: the CPU is profiled")
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops = with_stack, with_flops
        self.with_modules, self.acc_events = with_modules, acc_events
        self.schedule = schedule if schedule is not None else _always
        self.record_steps: bool = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: _profiler.profile | None = None
        self.step_rec_fn: _profiler.record_function | None = None
        self._metadata: dict[str, Any] = {}
        self._running = False
        self._started: list[_profiler.profile] = []  # and not known to have stopped

    # -- steps -----------------------------------------------------------------------------------

    def _opened(self) -> Generator[Self]:
        with undoing(self._stop_all):
            self.start()
            try:
                yield self
            finally:
                self.stop()

    def start(self) -> None:
        """Begin with what the schedule says of step 0."""
        _profiler.KinetoStepTracker.init_step_count(STEPS)
        self._change(None, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End the last step, and the trace if one is open."""
        self._end_step()
        self._change(self.current_action, None)
        _profiler.KinetoStepTracker.erase_step_count(STEPS)

    def step(self) -> None:
        """End a step and begin the next one."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._change(before, self.current_action)
        _profiler.KinetoStepTracker.increment_step(STEPS)
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = _profiler.record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _change(self, before: ProfilerAction | None, after: ProfilerAction | None) -> None:
        """Start and stop recording between two steps, and give out a trace that ended."""
        none, warmup = ProfilerAction.NONE, ProfilerAction.WARMUP
        save = ProfilerAction.RECORD_AND_SAVE
        recorded = before not in (None, none, warmup)
        ends = before is save or (recorded and after in (None, none, warmup))
        if recorded and after is none and before is not save:
            warn("Incorrect schedule: RECORD followed by NONE")
        if recorded and after is warmup and before is not save:
            warn("Incorrect schedule: RECORD followed by WARMUP")
        if before is warmup and after in (None, none):
            if after is none:
                warn("Incorrect schedule: WARMUP followed by NONE")
            self.start_trace()  # so that nothing of the warmup is kept
            self.stop_trace()
        if ends:
            self.stop_trace()
            if self.on_trace_ready is not None and (before is save or after is None):
                self.on_trace_ready(self)
        if after is warmup and not self._running and before is not ProfilerAction.RECORD:
            self.prepare_trace()
        elif after in (ProfilerAction.RECORD, save):
            if not self._running:
                self.prepare_trace()
            if ends or not recorded:
                self.start_trace()

    # -- traces ----------------------------------------------------------------------------------

    def prepare_trace(self) -> None:
        """Switch recording on; what is recorded before `start_trace` is thrown away."""
        if self.profiler is not None and not self.acc_events:
            _tell_of_cleared_events()
        self._open(self._earlier())

    def start_trace(self) -> None:
        """Begin to keep what is recorded."""
        warmup = self.profiler if self._running else None
        self._open(self._earlier())  # first, as functions stay switched while anything records
        if warmup is not None:
            warmup._stop()

    def _earlier(self) -> EventList:
        """The events of the cycles before, where they are kept."""
        if self.profiler is None or not self.acc_events:
            return EventList()
        return self.profiler._earlier if self._running else self.profiler.function_events

    def _open(self, earlier: EventList) -> None:
        self.profiler = _profiler.profile(
            record_shapes=self.record_shapes,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
        )
        self._started.append(self.profiler)
        self.profiler._start()
        self.profiler._earlier = earlier
        self._running = True

    def stop_trace(self) -> None:
        """End the recording."""
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before stopping trace")
        if self._running:
            self._stop_all()

    def _stop_all(self) -> None:
        for started in self._started:
            started._stop()
        self._started.clear()
        self._running = False

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Turn recording off and on within a step: not supported.

        enable: Ignored.
        activities (iterable of ProfilerActivity): Ignored.
        UserWarning: In every call, once a trace has begun.
        """
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    # -- results ---------------------------------------------------------------------------------

    def _known(self, what: str) -> _profiler.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {what}")
        return self.profiler

    def events(self) -> EventList:
        """The events in order of time.

        -> EventList: Of the recording that ended last.
        AssertionError: Before the first recording.
        """
        return self._known("accessing events").function_events

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
        AssertionError: Before the first recording.
        """
        prof = self._known("getting key averages")
        return prof.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks of the events with a time each.

        path (path): The file.
        metric: Which time.
        AssertionError: Without `with_stack`, and before the first recording.
        """
        self._known("exporting stacks").export_stacks(path, metric)

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Write the trace, which chrome://tracing and Perfetto read.

        path (path): The file, in JSON; compressed if it ends in .gz.
        AssertionError: Before the first recording.
        """
        events = self._known("exporting chrome trace").function_events
        trace = events._trace() | self._metadata
        opened = gzip.open if str(path).endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8") as file:
            json.dump(trace, file)

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """The memory of a device over time: not supported.

        path (path): Ignored.
        device (str): Ignored.
        NotImplementedError: In every call.
        """
        raise NotImplementedError(
            "export_memory_timeline is not supported. Use profile_memory=True and "
            "key_averages().table(sort_by='self_cpu_memory_usage')."
        )

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the traces that are written from now on.

        value: The text.
        """
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add what a text in JSON stands for to the traces that are written from now on.

        value: The text, in JSON.
        """
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json


_KinetoProfile = profile

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

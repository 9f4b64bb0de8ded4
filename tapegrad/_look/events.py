"""Events of transforms, for profiles: calls, tangents, replays step by step, runs of functions.

Knows how calls, tapes, replays and tangents are watched, and records what it sees while a recorder
(`_profile`) runs. Must not know how events are added up or shown. While nothing is profiled,
nothing of this is in place, and nothing is paid.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from time import perf_counter_ns as now
from typing import Any

from tapegrad._block import Turn, contextmanager, undoing
from tapegrad._compile.calls import Calls
from tapegrad._core import forward_tape
from tapegrad._core.careful import replay_forward_carefully
from tapegrad._core.entry import Entry
from tapegrad._core.replay import replay_forward
from tapegrad._errors import InputError, name_of
from tapegrad._look import calls, replays
from tapegrad._look.clock import Thread
from tapegrad._look.kept import kept_by
from tapegrad._look.lines import Sites
from tapegrad._look.records import Function, Records
from tapegrad._look.rows import operation_of
from tapegrad._profile.events import (
    AGAIN,
    BACKWARD,
    FUNCTION,
    PROGRAM,
    REPLAY,
    TANGENT,
)
from tapegrad._profile.recorder import Recorder
from tapegrad._profile.switch import Place, Switch
from tapegrad._transforms import forward, vmap
from tapegrad._transforms.checkpoint import _CheckpointedCall
from tapegrad._transforms.inputs import Inputs
from tapegrad._transforms.recording import Recording
from tapegrad._transforms.sequence import _Sequence
from tapegrad._transforms.wrapper import Transformed
from tapegrad._warning import is_ours

_ALONE = Turn()
_NOTED = "noted"  # an attribute of the roots of tapes; weak references to them take time


class _Noted:
    """Notes on a tape: the numbers of calls by slot. sites: those to which these refer."""

    __slots__ = ("counted", "made", "sites")

    def __init__(self, sites: Sites) -> None:
        self.sites = sites
        self.made: dict[Any, int] = {}
        self.counted = False  # whether its bytes are


class Watch(Records):
    """Watches what transforms do, and notes it as events."""

    # -- replays ---------------------------------------------------------------------------------

    def stepped(self, entries: Iterable[Entry], bars: Any) -> Generator[Entry, None, None]:
        """The entries of a replay backward, each of which is an event: see `replays.places`."""
        bar_of = bars.get if isinstance(bars, Mapping) else bars.__getitem__
        thread = self.local.thread
        for entry in entries:
            if bar_of(entry[0]) is None:
                yield entry
                continue
            entered = now()
            opened = self._step(thread, entry, BACKWARD, entered)
            self._leave(thread, entered)
            yield entry  # what opened the replay drops what an error leaves open
            entered = now()
            self._close(thread, opened, entered)
            self._leave(thread, entered)

    def _step(self, thread: Thread, entry: Entry, kind: int, entered: int) -> Any:
        made = thread.tapes[-1].get(entry[0]) if thread.tapes else None
        if made is None:
            made = self.made.new(operation_of(entry), self._here(thread, 3))
        opened = self._open(thread, made, kind, entered)
        thread.step = self.made.sites[made]
        return opened

    # -- places ----------------------------------------------------------------------------------

    def places(self) -> Iterator[Place]:
        """Calls, and the functions that begin and end replays, run functions, push tangents."""
        yield from calls.places(self.called)
        yield from replays.places(self.stepped)
        yield Place(Recording, "__init__", self._noting(Recording.__init__))
        yield Place(Recording, "inputs", self._inputs(Recording.inputs))
        yield Place(Recording, "pull", self._pull(Recording.pull))
        yield Place(forward, "replay_forward", self._steps(replay_forward))
        pushed = forward.Pushforward._pushed
        yield Place(forward.Pushforward, "_pushed", self._pull(pushed, _recording_of))
        yield Place(forward, "replay_forward_carefully", self._steps(replay_forward_carefully))
        yield Place(forward_tape, "_push", self._pushing(forward_tape._push))
        yield Place(Inputs, "call", self._running(Inputs.call, 1))
        yield Place(vmap, "called", self._running(vmap.called, 0))
        outputs = _CheckpointedCall._recompute
        again = self.within(outputs, AGAIN, lambda call, *_: name_of(call.f))
        yield Place(_CheckpointedCall, "_recompute", again)
        again = self.within(_Sequence._advance, AGAIN, lambda call, *_: call.name)
        yield Place(_Sequence, "_advance", self._if_replaying(again, _Sequence._advance))
        yield Place(Calls, "__call__", self.called(Calls.__call__, _compiled_name, False))

    def _if_replaying(self, recorded: Function, function: Function) -> Function:
        def chosen(*args: Any, **kwargs: Any) -> Any:
            return (recorded if self.local.thread.tapes else function)(*args, **kwargs)

        return chosen

    def _running(self, call: Function, position: int) -> Function:
        """Runs of a function by a transform: the program's own, or another transform's."""

        def title(*args: Any) -> str:
            return name_of(args[position])

        own = self.within(call, PROGRAM, title)
        other = self.within(call, REPLAY, title)

        def recorded(*args: Any) -> Any:
            thread, entered = self.local.thread, now()
            chosen = own if is_program(args[position]) else other
            thread.lost += now() - entered
            return chosen(*args)

        return recorded

    def _noting(self, begin: Function) -> Function:
        """Tapes that note the call of each entry."""

        def noted(recording: Recording, name: str, copies: bool = False) -> None:
            begin(recording, name, copies)
            thread, entered = self.local.thread, now()
            self._enter(thread)
            tape = recording.tape
            if tape.parent is None:
                noted = _Noted(self.sites)
                self._held.append(noted)
                vars(tape.root)[_NOTED] = noted
                tape.log = self._log_of(tape.log, noted.made)
            self._leave(thread, entered)

        return noted

    def _enter(self, thread: Thread) -> None:
        if self.memory:
            thread.held = tracemalloc.get_traced_memory()[0]

    def _inputs(self, inputs: Function) -> Function:
        """Inputs, of which the kinds are noted."""

        def noted(recording: Any, leaves: Any) -> Any:
            traced = inputs(recording, leaves)
            if self.stack is not None:
                specs = [x.spec for x in traced]
                recording.specs = dict(zip(recording.slots, specs, strict=True))
            return traced

        return noted

    def _log_of(self, log: Callable[[Entry], None], made: dict[Any, int]) -> Any:
        local, logging = self.local, self.costs.logging
        plain = self.stack is None and not self.memory

        def logged(entry: Entry) -> None:
            thread = local.thread
            if plain and thread.kind == FUNCTION:
                made[entry[0]] = thread.made
                thread.unseen += logging
                log(entry)
                return
            entered = now()
            self._enter(thread)
            self._note(thread, entry, made)
            self._leave(thread, entered)
            log(entry)

        return logged

    def _note(self, thread: Thread, entry: Entry, made: dict[Any, int]) -> None:
        """Which call an entry is of, and in which functions it was logged."""
        replayed = thread.kind in (BACKWARD, TANGENT)
        if thread.kind == FUNCTION:
            made[entry[0]] = thread.made
        elif replayed:
            made[entry[0]] = self.made.new(operation_of(entry), self.made.sites[thread.made])
        elif entry:
            made[entry[0]] = self.made.new(operation_of(entry), self._here(thread, 3))
        if self.stack is not None and not replayed:
            self.stack.note(sys._getframe(2), entry[0])

    def _pull(self, pull: Function, recording_of: Function | None = None) -> Function:
        """A replay, before which the bytes are counted that it keeps."""
        title = "replay" if recording_of is None else "pushforward"
        inner = self.within(pull, REPLAY, title)

        def recorded(holder: Any, *args: Any, **kwargs: Any) -> Any:
            recording = holder if recording_of is None else recording_of(holder)
            thread, entered = self.local.thread, now()
            self._enter(thread)
            noted = vars(recording.tape.root).get(_NOTED)
            if noted is None or noted.sites is not self.sites:  # made before
                noted = _Noted(self.sites)
            if recording.tape.parent is None and not noted.counted:
                noted.counted = True
                self._count(recording, noted.made, outermost=not thread.tapes)
            thread.tapes.append(noted.made)
            self._leave(thread, entered)
            try:
                return inner(holder, *args, **kwargs)
            finally:
                thread.tapes.pop()

        return recorded

    def _count(self, recording: Recording, made: dict[Any, int], outermost: bool) -> None:
        found = kept_by(recording, made, self.stack, outermost)
        if self.kept is None or found.total > self.kept.total:
            self.kept = found

    def _steps(self, replay: Function) -> Function:
        """A replay of tangents, step by step."""

        def told(steps: Iterable[Any]) -> Iterator[Any]:
            thread = self.local.thread
            for step in steps:
                entered = now()
                opened = self._step(thread, step[0], TANGENT, entered)
                self._leave(thread, entered)
                yield step
                entered = now()
                self._close(thread, opened, entered)
                self._leave(thread, entered)

        def recorded(steps: Iterable[Any], *args: Any, **kwargs: Any) -> None:
            replay(told(steps), *args, **kwargs)

        return recorded

    def _pushing(self, push: Callable[[Entry], None]) -> Callable[[Entry], None]:
        """A tangent that is pushed when its call is logged."""

        def recorded(entry: Entry) -> None:
            thread = self.local.thread
            if thread.pushing:
                push(entry)
                return
            entered = now()
            made = thread.made
            if thread.kind not in (FUNCTION, BACKWARD, TANGENT):
                made = self.made.new(operation_of(entry), self._here(thread, 2))
            opened = self._open(thread, made, TANGENT, entered)
            thread.step = self.made.sites[made]
            thread.pushing = True
            self._leave(thread, entered)
            try:
                push(entry)
            finally:
                entered = now()
                thread.pushing = False
                self._close(thread, opened, entered)
                self._leave(thread, entered)

        return recorded


def _compiled_name(call: Calls, *_args: Any) -> str:
    return f"compiled {name_of(call.f)}"


def _recording_of(pushforward: Any) -> Any:
    return pushforward.recording


def is_program(f: Any) -> bool:
    """Whether a function is the program's, and not what a transform made."""
    if isinstance(f, Transformed):
        return False
    code = getattr(getattr(f, "__func__", f), "__code__", None)
    return code is None or not is_ours(code.co_filename)


@contextmanager
def watched(watch: Watch, *, places: bool = True) -> Iterator[Recorder]:
    """Record events within the block; the recorder has them after it.

    places: whether to put the functions in place that watch.

    InputError within another block, in any thread.
    """
    recorder = Recorder(memory=watch.memory, log=watch.log)
    with _ALONE.taken() as alone:
        if not alone:
            raise InputError("profile: expected no other profile around, got one. Leave it first.")
        with (
            undoing(watch.forget),
            Switch().holding_places(watch.places if places else tuple),
            undoing(recorder.stop),
        ):
            recorder.start()
            yield recorder


__all__ = ["Watch", "is_program", "watched"]

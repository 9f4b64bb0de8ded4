"""The Wengert tape: slots, entries, logging.

Knows that a traced value is a `Traced` (a value at a slot of a tape), and the layouts of entries
(`entry`). Must not know which functions exist, how NumPy dispatches, what a replay does with an
entry, or what a transform is.
"""

from __future__ import annotations

import array as arrays
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, NoReturn, Protocol

import numpy as np

from tapegrad._block import contextmanager, undoing
from tapegrad._core.collector import HELD, STRETCH, hold, release
from tapegrad._core.entry import (
    PROJECT,
    Entry,
    Named,
    Outputs,
    ReplayedRule,
    parents_of,
    spec_of,
    traced,
)
from tapegrad._core.locks import LOCKS, Locked, checksum_of, words_of
from tapegrad._core.types import Params, Slot, Value
from tapegrad._core.values import (
    Traced,
    is_array,
    is_inexact,
    is_smooth,
    snapshot,
)
from tapegrad._errors import (
    ChangedConstantError,
    LeakedValueError,
    NotDifferentiableError,
    describe,
)

# The innermost transform that is open in this thread or task: a tape, or a call of vmap.
CURRENT: ContextVar[Any] = ContextVar("tapegrad_current", default=None)
# An item for each transform or recording that is open, in any thread. Where there is none, which
# is cheap to see, no value is in a trace.
RUNNING: list[None] = []
next_level = itertools.count(1).__next__  # the level of a transform; inner ones start later

# A constant that a derivative needs must not change when the program reuses its buffer. An array
# of up to this size, or a view, is copied. A larger one is locked against writes while its
# transform runs; its checksums before and after show writes through views made before.
COPY_BYTES = 1 << 16
COPY_INPUT_BYTES = 1 << 15
# The flag of arrays that can be written to: `flags.writeable` warns of those of broadcast_arrays.
WRITEABLE = 0x400
# While other threads run, which may write to their arrays, larger ones are copied too, once each.
COPY_SHARED_BYTES = 1 << 28


class _Slots(Protocol):
    """The methods of a set of slots that arrays call."""

    def __contains__(self, slot: Slot, /) -> bool: ...

    def add(self, slot: Slot, /) -> None: ...

    def discard(self, slot: Slot, /) -> None: ...


class _Root:
    """Shared by tapes with the same entries; its identity says which tapes those are."""

    refused: dict[Any, Any] | None = None  # refusals, by the instruction that asked; the last last
    singular = False  # whether the tape has a result whose cotangent is a limit
    locked: dict[int, Locked] | None = None  # by the id of the array, from the first on
    copied: dict[int, tuple[Any, Any]] | None = None  # large arrays and their copies, likewise

    def __iter__(self) -> Iterator[Slot]:
        """The slots after the first ones: the collector is told how many there are."""
        return itertools.chain.from_iterable(self._stretches())

    def _stretches(self) -> Iterator[range]:
        for start in itertools.count(STRETCH, STRETCH):
            hold(self, start)
            yield range(start, start + STRETCH)


_FIRST = range(STRETCH)


class Tape:
    """A log of primitive calls.

    A reverse transform inside another gets a tape with the outer one as `parent`: the same
    entries, slots and `root`, but a name of its own, and an end of its own, after which its values
    are refused.
    """

    __slots__ = (
        "buffers",
        "copies",
        "entries",
        "fresh",
        "level",
        "log",
        "name",
        "parent",
        "root",
    )

    array = staticmethod(traced)

    root: _Root
    entries: list[Entry]
    log: Callable[[Entry], None]
    fresh: Callable[[], Any]
    copies: bool  # whether a pullback outlives the transform
    log_planned: Callable[..., Any]  # of `fast/`: logs a call that is planned
    buffers: _Slots  # slots whose value was last changed by a write

    has_limits = True  # whether a replay takes one where zero meets infinity

    def __init__(self, name: str, copies: bool = False, parent: Tape | None = None) -> None:
        self.name = name
        self.level = next_level()
        self.parent = parent
        if parent is not None:
            self.root = parent.root
            self.entries, self.log, self.fresh = parent.entries, parent.log, parent.fresh
            self.buffers, self.copies = parent.buffers, parent.copies
            return
        self.root = _Root()  # not self: a cycle would keep every tape until a collection
        self.entries = []
        # Bound methods, because every operation calls both.
        self.log = self.entries.append
        self.fresh = itertools.chain(_FIRST, self.root).__next__
        self.buffers = set()
        self.copies = copies

    def wrap(self, value: Value, slot: Slot) -> Traced:
        """A traced value at a slot; with slot -1 it is a constant that can be written to."""
        return self.array(value, slot, self, spec_of(value))

    def keep_input(self, leaf: Value) -> Value:
        """`keep` for an input. It needs no checksum: f gets a traced array in its place."""
        if type(leaf) is not np.ndarray:
            return snapshot(leaf)
        flags = leaf.flags
        if flags.num & WRITEABLE and (
            self.copies or leaf.nbytes <= COPY_INPUT_BYTES or not flags.owndata
        ):
            return leaf.copy("K")
        return self._unchanging(leaf, verify=False)

    def keep(self, constant: Value) -> Value:
        """A constant, copied or locked so that later writes of the program do not change it."""
        kind = type(constant)
        if kind is not np.ndarray:
            if kind is list:
                return list(map(self.keep, constant))
            if kind is arrays.array or kind is memoryview:
                return np.array(constant)
            return snapshot(constant)
        flags = constant.flags
        if flags.num & WRITEABLE and (
            self.copies or constant.nbytes <= COPY_BYTES or not flags.owndata
        ):
            return constant.copy("K")
        return self._unchanging(constant, verify=True)

    def _unchanging(self, array: Any, *, verify: bool) -> Any:
        """A large array, locked, or a copy of it if another thread may want to write to it."""
        if not array.flags.num & WRITEABLE:
            if id(array) in LOCKS:
                locked = self.root.locked or ()
                if id(array) not in locked:  # but by another transform, which ends before
                    self._lock(array, verify=verify)
                return array
            base = array.base
            if type(base) is not np.ndarray:  # NumPy's windows put a holder in between
                base = getattr(base, "base", None)
            return self._unchanging_view(array, base) if type(base) is np.ndarray else array
        if threading.active_count() == 1 or array.nbytes > COPY_SHARED_BYTES:
            self._lock(array, verify=verify)
            return array
        if self.root.copied is None:
            self.root.copied = {}
        before = self.root.copied.get(id(array))
        if before is None or not np.array_equal(words_of(array), words_of(before[1])):
            before = self.root.copied[id(array)] = array, array.copy("K")
        return before[1]

    def _unchanging_view(self, view: Any, base: Any) -> Any:
        """A read-only view, as np.broadcast_to makes it, of an array that may be writeable."""
        kept = self.keep(base)
        if kept is base:
            return view
        if not base.flags.forc or kept.strides != base.strides:
            return view.copy("K")
        start = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        memory = kept if kept.flags.c_contiguous else kept.T
        made = np.ndarray(view.shape, view.dtype, memory, start, view.strides)
        made.flags.writeable = False
        return made

    def _lock(self, array: Any, *, verify: bool) -> None:
        self.require_open()  # nothing would unlock it
        if self.root.locked is None:
            self.root.locked = {}
        # First, so that `close` unlocks it if an interrupt comes in between.
        self.root.locked[id(array)] = Locked(array, checksum_of(array) if verify else None)
        LOCKS.add(array, self.root)

    def keep_params(self, params: Params) -> Params:
        """Parameters of a call; arrays and lists (where=, repeats) are kept as constants are."""
        for value in params.values():
            if type(value) is np.ndarray or type(value) is list:
                return {name: self.keep(value) for name, value in params.items()}
        return params

    def replica(self, entries: list[Entry], end: int) -> Tape:
        """A new tape with these entries, whose fresh slots begin at `end`, for a traced replay."""
        tape = _Replica(self.name)
        tape.entries.extend(entries)
        tape.fresh = itertools.count(end).__next__
        return tape

    def between(self, start: Slot, end: Slot) -> list[Entry]:
        """The entries after slot `start` on which the value at slot `end` depends, in order."""
        found, needed = [], {end}
        for entry in reversed(self.entries):
            if entry[0] <= start:
                break
            if entry[0] in needed:
                found.append(entry)
                needed.update(parents_of(entry))
        return found[::-1]

    def require_open(self) -> None:
        """Raise LeakedValueError if the transform of this tape has returned."""
        if self.is_closed():
            self.log(())

    def close(self, *, verify: bool = False) -> None:
        """Forget all entries, and refuse values that outlive the transform.

        `verify`: raise ChangedConstantError if a locked array was changed through a view. Where an
        interrupt strikes, another call goes on.
        """
        self.log = _Refusal(self.name)
        if self.parent is not None:
            return
        self.entries = []
        self.buffers = set()
        root = self.root
        if HELD:
            release(root)
        root.copied = None
        locked = root.locked
        if locked is None:
            return
        changed = [lock.array for lock in locked.values() if verify and lock.is_broken()]
        for lock in locked.values():
            LOCKS.remove(lock.array, root)
        root.locked = None
        if changed:
            raise ChangedConstantError(
                f"{self.name}: {describe(changed[0])} was changed through a view while the "
                "function ran, after a derivative had come to depend on it. Copy it before the "
                "change."
            )

    def is_closed(self) -> bool:
        """Whether the transform of this tape has returned."""
        return isinstance(self.log, _Refusal)

    @contextmanager
    def open_again(self) -> Iterator[None]:
        """Let values that outlive the transform be computed with, as constants of this tape.

        For a program's own backward rule, in which it looks at what it kept of the forward pass.
        """
        RUNNING.append(None)
        try:
            with undoing(self.close):
                self.log = _forget
                yield
        finally:
            RUNNING.pop()

    def record(
        self,
        rule: ReplayedRule,
        out: Value,
        args: list[Value],
        slots: list[Slot],
        params: Params,
    ) -> Any:
        """Log a call in the general layout and wrap its result, or results, with fresh slots."""
        wanted = tuple([slot != -1 for slot in slots])
        if True not in wanted:
            return _map_outputs(out, lambda part: self.wrap(part, -1))
        if is_array(out) and not is_inexact(out):
            require_numbers(rule, out)
            return out  # integers are piecewise constant: np.clip(x, 0, y, dtype=int)
        needed, out_needed = rule.needed(wanted)
        kept = []
        for position, arg in enumerate(args):
            if not needed[position]:
                arg = spec_or_value(arg)
            elif not wanted[position]:
                arg = self.keep(arg)
            kept.append(arg)
        if params:
            params = self.keep_params(params)
        if rule.singular is not None and rule.singular(out):
            self.root.singular = True
        slot = self.fresh()
        if isinstance(out, (tuple, list)):
            known = out if out_needed else map(spec_or_value, out)
            return self._record_outputs(rule, out, known, slot, tuple(kept), tuple(slots), params)
        spec = spec_of(out)
        self.log(
            (slot, rule, out if out_needed else spec, tuple(kept), params, tuple(slots), None)
        )
        return self.array(out, slot, self, spec)

    def record_pair(
        self, rule: ReplayedRule, out: Value, x: Value, y: Value, x_slot: Slot, y_slot: Slot
    ) -> Any:
        """`record` for two arguments, one result and no parameters."""
        return self.record(rule, out, [x, y], [x_slot, y_slot], {})

    def _record_outputs(
        self,
        rule: ReplayedRule,
        out: Value,
        known: Iterable[Value],  # what the rule reads of it
        slot: Slot,
        args: Value,
        slots: Slot,
        params: Params,
    ) -> Any:
        parts = Outputs(known)
        parts.slots = tuple(self.fresh() if is_inexact(part) else -1 for part in out)
        self.log((slot, rule, parts, args, params, slots, None))
        for position, part_slot in enumerate(parts.slots):
            if part_slot != -1:
                self.log((part_slot, PROJECT, None, position, len(out), slot, None))
        wrapped = iter(parts.slots)
        return _map_outputs(out, lambda part: self.wrap(part, next(wrapped)), plain=wrapped)


class _Replica(Tape):
    """A tape on which a replay is traced because a rule asks, not to be differentiated."""

    __slots__ = ()
    has_limits = False


@contextmanager
def attempting() -> Iterator[None]:
    """Within it refusals are no loss if it raises: code of ours catches the error, and does well.

    It stands between the transform that is open, and those that are tried.
    """
    outer: Any = CURRENT.get()
    outer = getattr(outer, "root", outer)
    before = None if outer is None or outer.refused is None else dict(outer.refused)
    try:
        yield
    except BaseException:
        if outer is not None:
            outer.refused = before
        raise


def hand_over(holder: Any) -> bool:
    """Whether a transform is open around one that has ended, and so gets its refusals.

    `holder` is what keeps those: the root of a tape, or a call of vmap.
    """
    outer = CURRENT.get()
    if outer is None:
        return False
    outer = getattr(outer, "root", outer)
    if holder.refused is not None and outer is not holder:
        outer.refused = {**(outer.refused or {}), **holder.refused}
    return True


def _forget(entry: Entry) -> None:
    """The `log` of a tape that is open again: nothing is transposed any more."""


class _Refusal:
    """The `log` of a closed tape: it raises LeakedValueError."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, entry: Entry) -> NoReturn:
        raise LeakedValueError(
            f"value from {self.name} used after {self.name} returned. A traced value lives as "
            "long as its transform: return it from the function (has_aux=True), or keep a plain "
            "copy made with tapegrad.stop_gradient."
        )


def require_numbers(rule: Named, out: Value) -> None:
    """Raise NotDifferentiableError for a result of objects or text, which has no derivative."""
    if out.dtype.kind not in "biufc" and not is_smooth(out.dtype):
        raise NotDifferentiableError(
            f"{rule.name}: expected arrays of numbers beside a traced one, whose result is one of "
            f"numbers too, got a result of dtype {out.dtype}. Convert the others with astype."
        )


def spec_or_value(arg: Value) -> Any:
    if type(arg) is np.ndarray:
        return spec_of(arg)
    return spec_of(arg) if hasattr(arg, "shape") and hasattr(arg, "dtype") else arg


def _map_outputs(
    out: Value, wrap: Callable[[Any], Any], plain: Iterator[Any] | None = None
) -> Any:
    """Apply `wrap` to the floating parts of one or several results, and keep their container."""
    if not isinstance(out, (tuple, list)):
        return wrap(out) if is_inexact(out) else out
    parts = []
    for part in out:
        if is_inexact(part):
            parts.append(wrap(part))
        else:
            if plain is not None:
                next(plain)
            parts.append(part)
    return type(out)(*parts) if hasattr(out, "_fields") else type(out)(parts)

"""A recording: one run of a function on a tape, and its backward replays.

Knows when a run shares the tape of an outer transform. Must not know which transform runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan
from typing import Any, TypeVar

import numpy as np

from tapegrad._arrays.refusal import explained
from tapegrad._core.careful import reach_of, replay_carefully, settled_kinks
from tapegrad._core.entry import Entry, parents_of, spec_of
from tapegrad._core.fast.backward import replay_backward
from tapegrad._core.fit import any_nan, has_nan, holds_infinity, is_foreign
from tapegrad._core.quiet import SILENT, TELLING, VARIABLE
from tapegrad._core.recorded import OPEN, is_recording, leave_where, may_be_nan, recorded_too
from tapegrad._core.replay import SparseBars, emptying
from tapegrad._core.tape import CURRENT, RUNNING, WRITEABLE, Tape, hand_over
from tapegrad._core.types import Cotangent, Slot, Tree, Value
from tapegrad._core.values import (
    Traced,
    branch_on,
    is_plain_array,
    snapshot,
    untraced,
)
from tapegrad._errors import add_note, text_of
from tapegrad._tree import flatten
from tapegrad._warning import COUNT, warn

LARGE = 256  # elements from which adding in place is faster than making a new array
HUGE_BYTES = 1 << 18  # size of an input, from which a replay frees the values that it has used


_T = TypeVar("_T")


class _Input:
    """The rule of an input's entry if an outer transform traces the input: the identity."""

    name, function, form = "input", None, "elementwise"
    unary = True
    strong = False
    product = False
    plain = y_plain = True
    x_partial = None
    y_partial = None
    x_unseen = y_unseen = False
    partials = sides = (None,)
    along = None
    selects, zeros = False, ()

    def pull(self, g: Any, *_call: Any) -> list[Any]:
        return [g]

    def push(self, dots: list[Any], *_call: Any) -> Any:
        return dots[0]


_INPUT = _Input()
NUMBER = spec_of(np.float64(0))


class Recording:
    """The part of a tape that one run of a function logs.

    A reverse transform inside another shares its tape. If nothing in the recording depends on the
    outer transform, it is replayed on raw values and removed from the tape when it closes.
    """

    # Values that hold of most recordings; not in __init__, which every transform pays.
    start = first = 0  # the slot, and the place among the entries, where the recording starts
    singular = False  # whether a rule takes a limit in the replay
    dependent = False  # whether an outer transform can differentiate the recording
    large = False  # whether an input is large
    huge = False  # whether an input is so large that the replay frees memory as it goes
    linked = False  # whether an outer transform traces an input
    careful: SparseBars | None = None  # the cotangents of a replay that has met infinities
    failed: tuple[Any, ...] | None = None  # slots and cotangents of a replay that raised

    slots: list[Slot]  # those of the inputs
    end = 0  # the slot where it ends, once the function has returned

    def __init__(self, name: str, copies: bool = False) -> None:
        outer = CURRENT.get()
        self.shared = shared = type(outer) is Tape
        self.tape = tape = Tape(name, copies, outer if shared else None)
        self.entries: list[Entry] = tape.entries
        if shared:
            self.start, self.first = tape.fresh(), len(tape.entries)

    def run(self, body: Callable[..., _T], *args: Any) -> _T:
        """`body(self, *args)`, within which what is computed is logged here."""
        outer, warns = CURRENT.get(), VARIABLE.get()
        RUNNING.append(None)
        try:
            try:
                CURRENT.set(self.tape)
                made = body(self, *args)
            finally:
                CURRENT.set(outer)
                RUNNING.pop()
        except BaseException as error:
            if not isinstance(error, Exception):
                VARIABLE.set(warns)  # np.errstate, of np.linalg or f, is left by some interrupts
            try:
                self._fail(error)
            finally:
                self._close()
            raise
        try:
            self._close(verify=True)
        except BaseException:  # an interrupt, or an array that was changed
            self._close()
            raise
        return made

    def _close(self, verify: bool = False) -> None:
        """Drop what the recording has made; where an interrupt strikes, another call goes on."""
        if self.shared and not self.dependent and not self._depends_on_outer():
            del self.tape.entries[self.first :]
        self.tape.close(verify=verify)

    def _fail(self, error: BaseException) -> None:
        """Close it after an error, and raise what explains that."""
        root = self.tape.root
        if root.locked:
            _note_locks(error, self.tape.name)
        self._close()
        if root.refused is not None:
            hand_over(root)  # the program around may catch the error
        refusal = explained(error, root)
        if refusal is not None:
            raise refusal from refusal.__cause__

    def inputs(self, leaves: Sequence[Value]) -> list[Traced]:
        """Leaves as the inputs: their values, at `slots` of this recording."""
        tape = self.tape
        array = tape.array
        traced = []
        self.slots = slots = []
        for leaf in leaves:
            slot = tape.fresh()
            slots.append(slot)
            kind = type(leaf)
            if kind is np.float64:
                traced.append(array(leaf, slot, tape, NUMBER))
            elif kind is np.ndarray:
                spec = spec_of(leaf)
                if spec.size > LARGE:
                    self.large = True
                    self.huge = self.huge or leaf.nbytes > HUGE_BYTES
                elif leaf.flags.num & WRITEABLE:  # `keep_input`, inline
                    traced.append(array(leaf.copy("K"), slot, tape, spec))
                    continue
                traced.append(array(tape.keep_input(leaf), slot, tape, spec))
            elif isinstance(leaf, Traced) and leaf.tape.root is tape.root:
                traced.append(self._linked(leaf, slot))
            else:
                if is_plain_array(leaf) and leaf.size > LARGE:
                    self.large = True  # as for the array that it stands for
                traced.append(tape.wrap(snapshot(leaf), slot))
        return traced

    def _linked(self, leaf: Traced, slot: Slot) -> Traced:
        """A leaf that an outer transform traces, as an input."""
        tape = self.tape
        leaf.tape.require_open()
        tape.log((slot, _INPUT, None, None, None, leaf.slot, -1))
        # The outer transform replays this entry; the replay of this recording leaves it out.
        self.first = len(tape.entries)
        self.linked = self.linked or leaf.slot != -1
        return tape.array(leaf._value, slot, tape, leaf.spec)

    def finish(self, out: Tree) -> None:
        """Say that the function has returned `out`: the recording ends here."""
        tape = self.tape
        kind = type(out)  # the frequent cases: a number, or an array that is no view
        if kind is not NUMBER.kind and (not issubclass(kind, Traced) or out.is_view):
            for leaf in flatten(out)[0]:
                if isinstance(leaf, Traced):
                    leaf.slot  # noqa: B018 - a view takes the present state of its parent now
        self.end = tape.fresh()
        self.singular = tape.root.singular
        if self.shared:
            self.entries = tape.entries[self.first :]
            self.dependent = self._depends_on_outer()

    def _depends_on_outer(self) -> bool:
        start = self.start
        return self.linked or any(
            slot != -1 and slot < start
            for entry in self.tape.entries[self.first :]
            for slot in parents_of(entry)
        )

    def slot_of(self, value: Value) -> Slot:
        """The slot of this recording where a value lives, or None if it lives elsewhere."""
        if not isinstance(value, Traced):
            return None
        tape = value.tape
        if tape is not self.tape:
            tape.require_open()
            if tape.root is not self.tape.root:
                return None
        slot = value.slot
        return slot if slot >= self.start else None

    def strip(self, value: Value) -> Any:
        """A value for the code around the transform: untraced, or traced by an outer transform."""
        if not isinstance(value, Traced):
            return value
        if value.tape is not self.tape:
            value.tape.require_open()
            return value
        outer = self.tape.parent
        if outer is None or (not self.dependent and value.slot >= self.start):
            return value._value
        return outer.array(value._value, value.slot, outer, value.spec)

    @property
    def surroundings(self) -> Tape | None:
        """The tape on which a replay logs: the outer one, if that can differentiate the replay."""
        return self.tape.parent if self.dependent else None

    def pull(
        self,
        slots: list[int],
        bars: list[Cotangent],
        value: Value = None,
        consume: bool = False,
    ) -> list[Any] | None:
        """The cotangents of the inputs, from those at the slots of outputs.

        They are NaN where `value`, the only output, a scalar, is NaN and depends on them. With
        `consume` the replay frees the values of entries as it goes; the result is None if the
        entries would have to be replayed again.
        """
        bars = recorded_too(bars) if OPEN else bars
        # Infinities at singular points need no warnings; rules may have some of their own.
        told = COUNT[0]
        kept = VARIABLE.get()
        try:
            VARIABLE.set(TELLING)
            if isinstance(value, Traced):
                value = value._value
            if type(value) is np.float64:  # the frequent case, written out
                is_nan = isnan(value)
            else:
                value = untraced(value)
                if is_foreign(value):  # whether there is a NaN is known later, so none may be made
                    VARIABLE.set(SILENT)
                    return self._pulled_carefully(slots, bars)
                is_nan = has_nan(value)
            if is_nan:
                bars = [np.where(np.isnan(untraced(value)), np.nan, bars[0])]
            found = self._pulled(slots, bars, consume)
            if not may_be_nan(found):
                return found
            if consume and not self.singular:
                return None
            # The NaN may be zero times an infinity or NaN, from a branch that was not taken.
            VARIABLE.set(SILENT)
            sound = self._pulled_carefully(slots, bars)
            if not (is_nan or branch_on(holds_infinity, value)):
                sound = self._resolved(sound, slots, bars)
        except Exception:
            self.failed = slots, bars
            raise
        finally:
            VARIABLE.set(kept)
        if not is_nan and told == COUNT[0]:
            assert self.careful is not None
            rule, self.careful = self.careful.first, None
            tell_of_nan(self.tape.name, rule, sound)
        return sound

    def _pulled(self, slots: list[int], bars: list[Cotangent], consume: bool) -> list[Any]:
        raw = not self.shared and not self.singular
        table: Any = [None] * self.end if raw else SparseBars(self.start)
        for slot, bar in zip(slots, bars):  # noqa: B905 - strict= costs
            before = table[slot]
            table[slot] = bar if before is None else before + bar
        if raw:
            entries = emptying(self.entries) if consume else reversed(self.entries)
            replay_backward(entries, table, large=self.large)
            return [table[slot] for slot in self.slots]
        # A transform inside a rule shares the tape on which this replay logs, if there is one.
        outer = CURRENT.get()
        try:
            CURRENT.set(self.surroundings)
            if self.singular and not self.dependent:
                self._pull_singular(table)
            else:
                replay_backward(reversed(self.entries), table, self.surroundings)
        finally:
            CURRENT.set(outer)
        return [table[slot] for slot in self.slots]

    def _pulled_carefully(self, slots: list[int], bars: list[Cotangent]) -> list[Any]:
        """The same by a replay that tells structural zeros from others."""
        table, reach = SparseBars(self.start), SparseBars(self.start)
        for slot, bar in zip(slots, bars, strict=True):
            before, mask = table[slot], reach_of(bar)
            table[slot] = bar if before is None else before + bar
            reach[slot] = mask if before is None else reach[slot] + mask
        self.careful = table
        kept = CURRENT.get()
        try:
            CURRENT.set(self.surroundings)
            if self.singular and not self.dependent:
                self._pull_singular(table, reach)
            else:
                settled = settled_kinks(self.entries)
                replay_carefully(reversed(self.entries), table, reach, self.surroundings, settled)
        finally:
            CURRENT.set(kept)
        return [table[slot] for slot in self.slots]

    def _resolved(self, found: list[Any], slots: list[int], bars: list[Cotangent]) -> list[Any]:
        """Cotangents in which a NaN, of zero times infinity, is its limit where there is one."""
        if leave_where(has_nan, found):  # no program finds one
            return found
        pairs = zip(self.slots, found, strict=True)
        inputs = [(slot, bar) for slot, bar in pairs if bar is not None]
        from tapegrad._core.limits import resolved  # few programs meet a NaN

        known = iter(resolved(self.entries, inputs, list(zip(slots, bars, strict=True))))
        return [bar if bar is None else next(known) for bar in found]

    def _pull_singular(self, table: SparseBars, reach: SparseBars | None = None) -> None:
        """Replay on traced values, because a rule takes a limit, not to differentiate the replay.

        The replay logs on a replica of the tape, where `derivatives_along` finds the entries on
        which a cotangent depends.
        """
        tape = self.tape.replica(self.entries, self.end)
        try:
            if reach is None:
                replay_backward(reversed(self.entries), table, tape)
            else:
                replay_carefully(reversed(self.entries), table, reach, tape)
            for slot, bar in table.items():
                if isinstance(bar, Traced) and bar.tape is tape:
                    table[slot] = bar._value
        finally:
            tape.close()


def tell_of_nan(name: str, rule: Any, found: list[Any]) -> None:
    """Warn of a NaN that is left, as NumPy does of invalid values; rule: the one that made it."""
    if rule is None or np.geterr()["invalid"] != "warn" or is_recording():
        return
    if any_nan(found):
        warn(
            f"{name}: NaN in the derivative of {rule.name}, which has none there, or where zero "
            "meets infinity with no limit known. tapegrad.debug_nans() finds the line.",
            RuntimeWarning,
        )


def _note_locks(error: BaseException, name: str) -> None:
    """Say in the error of a write to a locked array that it is locked."""
    if isinstance(error, ValueError) and "read-only" in text_of(error):
        add_note(
            error,
            f"{name} locks large plain arrays that a derivative depends on while it "
            "runs. Write into a copy, or make the buffer anew each time.",
        )


__all__ = ["HUGE_BYTES", "LARGE", "NUMBER", "Recording", "tell_of_nan"]

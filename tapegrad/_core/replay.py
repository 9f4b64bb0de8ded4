"""The two replays of a tape: cotangents go backward through its entries, tangents forward.

Knows the general layout of an entry, and what a replay asks of a rule (`ReplayedRule`). Must not
know which functions exist, what a transform is, or what kind of value it replays: raw arrays,
traced ones, batched ones and recorded ones all go the same way.

This is the definition. `fast/` repeats it on NumPy's own arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapegrad._core.entry import (
    ABSENT,
    NO_PARAMS,
    Entry,
    Mark,
    Outputs,
    opened,
    parents_of,
    written_slot,
)
from tapegrad._core.fit import fit_cotangent, fit_tangent, is_finite, zeros_absorbing
from tapegrad._core.infinities import has_infinities, pull_infinite
from tapegrad._core.marks import pull_mark, push_mark
from tapegrad._core.recorded import pulled, pushed
from tapegrad._core.scatter import accumulate
from tapegrad._core.tape import Tape
from tapegrad._core.types import Cotangent, Slot, Tangent
from tapegrad._core.values import Scatter
from tapegrad._errors import RuleError

# --- backward -----------------------------------------------------------------------------------


class SparseBars(dict[Any, Any]):
    """Cotangents by slot for a recording within a tape; slots before `start` get none."""

    first: Any = None  # the rule whose product of a zero and an infinity is the first NaN, if any

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = start

    def __missing__(self, slot: Slot) -> None:
        return None


def replay_backward(
    entries: Iterable[Entry],
    bars: Any,
    tape: Tape | None = None,
    *,
    absorbing: bool = False,
    strong_zeros: bool = False,
    large: bool = False,
) -> None:
    """Push cotangents back through entries: `bars[slot]` holds a cotangent or None.

    entries: from the last on; each is asked for after the one before it was used. With `tape` the
    kept values are wrapped with their slots again, so that the rules log themselves.

    With `absorbing` a zero cotangent absorbs an infinite partial, in products that gave a NaN or
    an infinity, and in all products after the first infinity (`strong_zeros`: from the start).
    Without it a NaN stays, and the caller replays again by `careful`. `large`, of large arrays, is
    a hint to `fast/`.
    """
    start = getattr(bars, "start", 0)
    owned: set[Any] = set()  # slots whose buffer nobody else holds: parts can be added to in place
    for entry in entries:
        slot = entry[0]
        g = bars[slot]
        if g is not None:
            bars[slot] = None
            strong_zeros = pull_entry(
                bars, owned, g, entry, tape, start, absorbing=absorbing, strong_zeros=strong_zeros
            )


def pull_entry(
    bars: Any,
    owned: set[Any],
    g: Cotangent,
    entry: Entry,
    tape: Tape | None = None,
    start: int = 0,
    *,
    absorbing: bool = False,
    strong_zeros: bool = False,
) -> bool:
    """Push the cotangent of one entry's result back to its arguments.

    Returns `strong_zeros` for the entries that follow.
    """
    rule, out, args, params, slots = known = opened(entry, tape)
    if type(rule) is Mark:
        pull_mark(bars, owned, g, entry[0], known, start)
        return strong_zeros
    # From the start all slots count; where a slot is an object, a comparison costs a call.
    wanted = [at >= start for at in slots] if start else [at is not ABSENT for at in slots]
    call = g, out, args, params, wanted
    form = rule.form
    strong = strong_zeros or absorbing and rule.strong
    if strong and (form == "elementwise" or strong_zeros and form == "composite"):
        found = rule.pull_strongly(*call)
    elif strong_zeros and form != "custom" and has_infinities(g):
        found = pull_infinite(rule, *call)
    elif absorbing and form == "general":
        with zeros_absorbing():
            found = pulled(rule, *call)
    else:
        found = pulled(rule, *call)
    if len(found) != len(args):
        raise RuleError(
            f"{rule.name}: its rule returned {len(found)} cotangents, expected {len(args)}. "
            "Return one (or None) an array."
        )
    for at, bar, like, want in zip(slots, found, args, wanted):  # noqa: B905 - strict= costs
        if bar is None or not want:
            continue
        if type(bar) is not Scatter:
            if params is not NO_PARAMS and (
                bar.shape != like.shape or bar.dtype is not like.dtype
            ):
                bar = fit_cotangent(bar, like, rule)
            if absorbing and rule.strong:
                strong_zeros = strong_zeros or not is_finite(bar)
            if bars[at] is None:  # the frequent case of `accumulate`
                bars[at] = bar
                continue
        accumulate(bars, owned, at, bar, like)
    return strong_zeros


def emptying(entries: list[Any]) -> Iterable[Entry]:
    """Entries from last to first; each leaves the list before it is replayed.

    So a replay frees the values that they keep as early as possible.
    """
    entries.insert(0, None)
    return iter(entries.pop, None)


# --- forward ------------------------------------------------------------------------------------

Step = tuple[Entry, Sequence[Any], bool]


def push_entry(
    entry: Entry,
    dot_of: Callable[[Slot], Tangent],
    tape: Tape | None = None,
    *,
    reuse: bool = False,
) -> Tangent:
    """The tangent of an entry's result from those of its arguments; None if no argument has one.

    `dot_of(slot)` is the tangent at a slot, or None. `reuse` says of a write that nothing else
    uses the array that is written to, nor its tangent, so that the tangent is written to in place.
    """
    rule, out, args, params, slots = opened(entry, tape)
    if type(rule) is Mark:
        return push_mark(rule, args, params, slots, dot_of, reuse=reuse)
    dots = [None if at is ABSENT else dot_of(at) for at in slots]
    if all(dot is None for dot in dots):
        return None
    dot = pushed(rule, dots, out, args, params)
    if isinstance(out, Outputs):
        return [
            None if part is None or at == ABSENT else fit_tangent(part, like, rule)
            for part, like, at in zip(dot, out, out.slots, strict=True)
        ]
    return dot if params is NO_PARAMS else fit_tangent(dot, out, rule)


def replay_forward(
    steps: Iterable[Step],
    dots: dict[Slot, Tangent],
    tape: Tape | None,
    inputs: Iterable[Slot],
) -> None:
    """Push tangents forward through the entries that `live_steps` found in a recording.

    `dots` maps slots to tangents; a tangent is dropped after its last use. With `tape`, kept
    values are wrapped with their slots again, so that the rules log themselves. Where a
    tangent of the outputs has a NaN, the caller replays again by `careful`.
    """
    entered = set(inputs)  # the caller gives their tangents
    for entry, ended, reuse in steps:
        slot = entry[0]
        if slot not in entered:
            dot = push_entry(entry, dots.get, tape, reuse=reuse and tape is None)
            if dot is not None:
                dots[slot] = dot
        for at in ended:
            dots.pop(at, None)


def live_steps(
    entries: Sequence[Entry], inputs: Iterable[Slot], outputs: Iterable[Slot]
) -> list[Step]:
    """The entries that the outputs depend on, as (entry, ended slots, reuse).

    No later entry reads an ended slot. `reuse` holds for a write into an array that comes from
    another write and is read nowhere else: its tangent can become the result's.
    """
    needed = set(outputs)
    needed.add(ABSENT)
    needed.update(inputs)
    found: list[tuple[Entry, list[Any]]] = []
    for entry in reversed(entries):
        if entry[0] in needed:
            ended = [at for at in parents_of(entry) if at not in needed]
            needed.update(ended)
            found.append((entry, ended))
    found.reverse()
    steps: list[Step] = []
    written: set[Any] = set()
    for entry, ended in found:
        target = written_slot(entry)
        reuse = target is not None and target in written and target in ended
        if target is not None:
            written.add(entry[0])
        else:
            written.difference_update(parents_of(entry))  # the result may be a view of a parent
        steps.append((entry, ended, reuse))
    return steps


__all__ = [
    "SparseBars",
    "Step",
    "emptying",
    "live_steps",
    "pull_entry",
    "push_entry",
    "replay_backward",
    "replay_forward",
]

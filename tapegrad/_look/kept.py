"""Memory that the replay of a recording keeps, by the calls of the program.

Knows how bytes are counted and which functions are hinted. Must not know how calls are watched.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tapegrad._look.hints import CallStack, Candidate, candidates
from tapegrad._look.rows import bytes_alone, bytes_kept, objects_kept
from tapegrad._transforms.recording import Recording


class Kept(NamedTuple):
    """Memory that the replay of a recording keeps: bytes by the number of a call, and by input.

    name: of the recording. outermost: whether it is that of the function itself, and not of a
    checkpointed one that a replay runs again. The rest is there where the calls of functions are
    watched. sizes: of inputs. objects: bytes of the tape itself, by call. alone: by input, the
    bytes of what depends on no other one. hints: what checkpointed functions would save, and the
    numbers of their calls.
    """

    name: str
    outermost: bool
    by_call: dict[int, int]
    by_input: list[int]
    sizes: list[int]
    objects: dict[int, int]
    alone: list[int]
    hints: list[tuple[Candidate, set[int]]]

    @property
    def total(self) -> int:
        return sum(self.by_call.values()) + sum(self.by_input)


def kept_by(
    recording: Recording, made: dict[Any, int], stack: CallStack | None, outermost: bool
) -> Kept:
    """Memory that the replay of a recording keeps. made: the numbers of calls by slot."""
    entries = recording.entries
    inputs = dict.fromkeys(recording.slots, 0)

    def by_call(found: dict[int, int]) -> dict[int, int]:
        sums: dict[int, int] = {}
        for slot, count in found.items():
            if slot in made:
                sums[made[slot]] = sums.get(made[slot], 0) + count
        return sums

    by_slot = bytes_kept(entries)
    inputs |= {slot: by_slot[slot] for slot in inputs if slot in by_slot}
    name = recording.tape.name
    kept = Kept(name, outermost, by_call(by_slot), list(inputs.values()), [], {}, [], [])
    if stack is None:
        return kept
    specs: dict[int, Any] = getattr(recording, "specs", {})
    found = candidates(entries, specs, stack.calls)
    stack.clear()
    hints = [(one, {made[slot] for slot in one.slots if slot in made}) for one in found]
    alone = bytes_alone(entries, recording.slots, by_slot)
    return kept._replace(
        sizes=[spec.size * spec.dtype.itemsize for spec in specs.values()],
        objects=by_call(objects_kept(entries)),
        alone=alone,
        hints=hints,
    )


__all__ = ["Kept", "kept_by"]

"""One run of a function whose operations are recorded, with recorded values as its arguments.

Knows what such a run must not do, and how what it did outside is put back where it was in vain.
Must not know when a call is recorded, nor what becomes of the program.
"""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import numpy as np

from tapegrad._compile import warned
from tapegrad._compile.arguments import (
    is_or_holds_recorded,
    may_overlap,
    note_writes,
    opened_results,
    own_array,
    refusal,
    why_changed,
    with_recorded,
    written_inputs,
)
from tapegrad._compile.places import Variable
from tapegrad._compile.specializations import Specialization
from tapegrad._compile.surroundings import Surroundings
from tapegrad._core.types import Function
from tapegrad._program.containers import CONTAINERS, NOTING
from tapegrad._program.program import Ref
from tapegrad._program.recorded import Recorded
from tapegrad._program.recorder import NotRecordableError, Recorder
from tapegrad._program.recording import Recording
from tapegrad._transforms.draws import RandomnessCheck
from tapegrad._tree import flatten, unflatten

MOST_BRANCHES = 8  # at one read of a value
MOST_NODES = 200_000  # of one path

KEPT = "it keeps what it computes in an object outside that grows, or is another one (return it)"


class Outcome(NamedTuple):
    """The outcome of a recorded run of the function.

    It is the call itself, if it has a result. Else what it changed outside is put back, and the
    function runs again as it is.
    """

    out: tuple[Any] | None  # the result of the call
    refused: str | None = None  # why there can be no program


class RecordedRun:
    """One run of f: first `run()`, then, when what it shows has been taken up, `outcome()`."""

    def __init__(
        self,
        f: Function,
        program: Specialization,
        leaves: list[Any],
        inputs: list[Any],
        surroundings: Surroundings,
    ) -> None:
        program.root.describe(inputs)
        self.f, self.program, self.leaves, self.inputs = f, program, leaves, inputs
        self.surroundings = surroundings
        self.recorder = Recorder(
            program.root,
            len(inputs),
            MOST_NODES,
            MOST_BRANCHES,
            program.opaque,
            careful=program.careful,
        )
        self.given, self.recorded = with_recorded(leaves, self.recorder)
        self.values = list(self.recorded.values())
        self.refused: str | None = None  # why there can be no program
        self.written: set[int] = set()  # inputs
        self.is_apart = True  # whether what it writes to shares no memory with what else f sees
        self.out_leaves: list[Any] = []
        self.out_structure: Any = None
        self.warned: list[warned.Warned] = []
        self.changed: list[Variable] | None = []  # state that it has changed: `Before.changed`

    @property
    def is_program(self) -> bool:
        """Whether the operations of the run are a path of a program."""
        return self.refused is None and self.is_apart

    def run(self, structure: Any) -> None:
        """Run the function on recorded values in the place of its inputs."""
        args, kwargs = unflatten(structure, self.given)
        self.before = self.surroundings.before()
        generators = RandomnessCheck(self.f, self.leaves)
        self.recording = Recording(self.recorder)
        self.recording.is_lean = self.surroundings.is_lean
        with contextlib.ExitStack() as around:
            around.enter_context(self.recording)
            for noting in NOTING:
                around.enter_context(noting())
            try:
                out, self.warned = warned.run(self.f, args, kwargs)
                results = flatten(out)[0]
                self.changed = self.before.changed()
                self._look_at(out)
                self.refused = self.recorder.refused or self.refused
                self.refused = self.refused or why_changed(args, kwargs, self.given, structure)
                self._hold()
                if generators.drew() or self.recording.draws or self.before.drew():
                    self.recorder.give_up(
                        "it draws random numbers. Draw them outside, and pass them"
                    )
                again = not self.is_program or self.recorder.unsound
                self.recording.put_back(results, again=again)
                if self.before.holds(is_or_holds_recorded):
                    self.refused = KEPT
                if self.is_program:
                    self._finish()
            except NotRecordableError as error:
                self.refused = str(error)
            except Exception as error:  # noqa: BLE001 - if it is f's own, its own call raises it
                kind = type(error).__name__
                self.refused = f"it raises {kind} where its calls are recorded ({error})"
            except BaseException:
                if self.before.holds(is_or_holds_recorded):
                    self.undo()
                raise
            finally:
                self.recording.put_back([], again=True)

    def _look_at(self, out: Any) -> None:
        """See what the run returned, and what it did with its arguments."""
        self.out_leaves, self.out_structure, self.refused = opened_results(out)
        self.written = written_inputs(self.values, self.inputs, self.recorder)
        if self.written:
            self.is_apart = are_apart(
                self.written | self.program.written, self.inputs, self.surroundings
            )
        self.refused = self.refused or refusal(self.given, self.leaves, self.recorded)

    def _hold(self) -> None:
        """Tell the program which leaves hold an array that is written to."""
        if self.refused is None and self.written and self.is_apart:
            positions = list(self.recorded)  # of inputs among the leaves
            written = [positions[i] for i in self.written]
            held = [position for position in written if type(self.leaves[position]) in CONTAINERS]
            self.refused = self.program.hold(frozenset(held))

    def _finish(self) -> None:
        """End the recorded path with the results, and the writes into inputs."""
        templates = [Ref(x.at) if issubclass(type(x), Recorded) else x for x in self.out_leaves]
        writes = [(i, Ref(self.values[i].memory.at)) for i in sorted(self.written)]
        structure = warned.with_warnings(self.out_structure, self.warned)
        self.recorder.finish(templates, structure, tuple(writes))

    def undo(self) -> None:
        """Put back what the run has changed outside, and what it has drawn."""
        self.before.restore()
        for _, put_back in self.recording.put_back_draws.values():
            put_back()

    def outcome(self) -> Outcome:
        """The result, if the run is the call itself; else all that it has changed is put back."""
        # Where a NaN is met the engine goes ways that no recording does.
        if self.recorder.unsound or not self.is_program:
            self.undo()
            return Outcome(None, self.refused)
        taken: set[int] = set()
        leaves = [own_array(x, taken) for x in self.out_leaves]
        for i in self.written:
            np.copyto(self.inputs[i], self.values[i].memory.owner)
        note_writes(self.program.held or (), self.leaves)
        return Outcome((unflatten(self.out_structure, leaves),))


def are_apart(written: set[int], inputs: list[Any], surroundings: Surroundings) -> bool:
    """Whether inputs that are written to share no memory with what else f sees.

    A program reads each input as it was before the call.
    """
    arrays = [x for x in inputs if type(x) is np.ndarray]
    targets = [inputs[i] for i in written if type(inputs[i]) is np.ndarray]
    if not all(x.flags.carray or (x.flags.writeable and not may_overlap(x)) for x in targets):
        return False
    if len(set(map(id, arrays))) < len(arrays):
        ids = list(map(id, arrays))
        if any(ids.count(id(x)) > 1 for x in targets):
            return False
    views = [x for x in arrays if x.base is not None]
    whole = [x for x in targets if x.base is None]  # these share memory with views alone
    if views:
        parts = [x for x in targets if x.base is not None]
        pairs = [(x, y) for x in whole for y in views] + [(x, y) for x in parts for y in arrays]
        if any(np.may_share_memory(x, y) for x, y in pairs if x is not y):
            return False
        if parts and surroundings.shares_memory(parts):
            return False
    return surroundings.holds_none_of(whole) or not surroundings.shares_memory(whole)


__all__ = ["KEPT", "RecordedRun", "are_apart"]

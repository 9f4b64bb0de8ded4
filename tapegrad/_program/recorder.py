"""The recorder: the log of one run of a function, along the tree of what earlier runs did.

Knows programs, and which of a run's values are constants. Must not know the class of recorded
values, transforms, or NumPy's functions.

The first run makes the tree. Each later one that records goes down the tree: a node that is there
already must be the same call with the same constants, or the function does not do the same when it
is called again (it draws random numbers, or counts its calls), and cannot be a program.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.quiet import SILENT, TELLING, VARIABLE, Kinds
from tapegrad._program.functions import (
    ATTRIBUTES,
    TYPED_BY_VALUES,
    expectation,
    makes_an_array_of_its_own,
    shape_is_known,
    strictly,
)
from tapegrad._program.program import (
    OWN,
    SOUND,
    UNKNOWN,
    Function,
    Node,
    Read,
    Ref,
    Results,
    Segment,
    Step,
    alike,
    answer_key,
    copied,
)

# Arguments of which nothing has to be copied.
_ATOMS = frozenset((Ref, int, float, complex, bool, str, type(None)))
_NONE: dict[str, Any] = {}  # keywords


class Recorder:
    """One run of a function, whose calls on recorded values are logged."""

    def __init__(
        self,
        root: Segment,
        count: int,
        most_nodes: int,
        most_branches: int,
        opaque: set[Function] | None = None,
        *,
        careful: bool = False,
        assumes_worst: bool = False,
    ) -> None:
        self.segment = root
        self.position = 0  # of the next node in the segment
        self.end = count  # the position of the next node along the path
        self.open = True
        self.differs = False
        self.careful = careful  # whether an answer that is expected is a branch as any other
        self.assumes_worst = assumes_worst  # or is not looked at, and taken for the other one
        self.raised = False  # whether a call raised, which something caught
        self.unsound = False  # whether an answer was not that which was expected
        self.sound: int | None = None  # the position of: whether all were until now
        self.opaque = set() if opaque is None else opaque  # functions that are calls of their own
        self.running: list[Function] = []  # functions of our own that are on trial
        self.trial = False  # whether calls are logged that may be taken back
        self.unfit: str | None = None  # why this run cannot be a program
        self.refused: str | None = None  # and why its result is not that of the call
        self.answers: dict[tuple[Any, int], Any] = {}  # of reads on this path
        self.most_nodes, self.most_branches = most_nodes, most_branches
        self.errstate: dict[str, Any] = {**np.geterr()}
        self.usual = VARIABLE.get()
        self.filters: Any = warnings.filters
        self.strict = False  # whether the present call raises where others warn
        self.kept: dict[int, tuple[Any, Any]] = {}  # plain arrays and their copies, by id

    def give_up(self, why: str, *, differs: bool = False) -> None:
        """Say that this run cannot be a program. It goes on, for its result.

        `differs`: it might be one, but is not that which has been recorded.
        """
        if self.trial:
            raise NotRecordableError(why, differs)
        if self.unfit is None:
            self.unfit, self.differs = why, differs

    def refuse(self, why: str) -> None:
        """Say that this run cannot be a program, nor its result that of the call."""
        self.give_up(why)
        self.refused = why

    def mark(self) -> tuple[Any, ...]:
        """The present state, for `roll_back`."""
        return (self.position, self.end, self.sound, len(self.segment.nodes), len(self.answers))

    def roll_back(self, mark: tuple[Any, ...]) -> None:
        """Take back the calls that were logged on trial since a mark."""
        self.position, self.end, self.sound, nodes, answers = mark
        del self.segment.nodes[nodes:]
        for key in list(self.answers)[answers:]:
            del self.answers[key]

    # -- logging ---------------------------------------------------------------------------------

    def log(
        self,
        function: Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        value: Any,
        steps: tuple[Step, ...] | None = None,
        shares: int = OWN,
        shaped: bool = False,
    ) -> int:
        """Log a call whose value is known, and return its position."""
        at = self.end
        self.end += 1
        if self.unfit is not None:
            return at
        for part in args:
            if type(part) not in _ATOMS:
                args = self.constants(args)
                break
        silent = self._is_silent()
        if self.strict:
            function = self._strict(function, shares, steps)
        kwargs = self.constants(kwargs) if kwargs else _NONE
        node = Node(function, args, kwargs, steps=steps, silent=silent)
        node.describe(value, shares)
        if shaped:  # by values, as perhaps its dtype: the next read tells of both
            node.shape = node.strides = ()
            if function in TYPED_BY_VALUES or not shape_is_known(function):
                node.dtype = UNKNOWN
                node.kind = np.ndarray if node.kind is np.ndarray else np.generic
        segment = self.segment
        if self.position < len(segment.nodes):
            if not segment.nodes[self.position].same(node):
                self.give_up(
                    "it did not do the same when it was called again with the same kinds of "
                    f"arguments (at {name_of_function(function)}): it draws random numbers, "
                    "counts its calls, or depends on something else that changes",
                    differs=True,
                )
        elif segment.read is not None or segment.out is not None:  # complete
            self.give_up("it did more when it was called again", differs=True)
        elif at > self.most_nodes:
            self.give_up(f"it has more than {self.most_nodes:,} operations")
        else:
            segment.nodes.append(node)
        self.position += 1
        return at

    def _is_silent(self) -> bool | Kinds:
        """Whether warnings are off, or what else is done; `strict`: whether some are errors."""
        self.strict = False
        state = VARIABLE.get()
        if state is SILENT or state is TELLING:  # a replay's
            return True
        filters: Any = warnings.filters
        if filters is not self.filters and filters and filters[0][0] == "error":
            self.strict = True
        if state is self.usual:
            return False
        kinds: dict[str, Any] = {**np.geterr()}
        if kinds == self.errstate:
            return False
        if set(kinds.values()) == {"ignore"}:
            return True
        changes = [(kind, way) for kind, way in kinds.items() if way != self.errstate[kind]]
        ways = {way for _, way in changes}
        if not ways <= {"ignore", "warn", "raise"}:
            self.give_up("it has NumPy call, or print, where a number overflows")
        self.strict = self.strict or "raise" in ways
        return tuple(changes)

    def _strict(self, function: Function, shares: int, steps: Any) -> Function:
        """The function of a call that raises where others warn: f may catch that.

        Of functions other than ufuncs it is not known what they warn of.
        """
        if shares != OWN or function in ATTRIBUTES or function is operator.getitem:
            return function
        if makes_an_array_of_its_own(function) and steps is None:
            return strictly(function)
        self.give_up("it makes errors of warnings")
        return function

    def constants(self, template: Any) -> Any:
        """Arguments with copies of their arrays, as the program may write to those later."""
        kind = type(template)
        if kind is np.ndarray:
            before = self.kept.get(id(template))
            if before is None or not alike(template, before[1]):
                before = self.kept[id(template)] = template, copied(template)
            return before[1]
        if kind is tuple or kind is list:
            of = self.constants
            return kind([part if type(part) in _ATOMS else of(part) for part in template])
        if kind is dict:
            return {key: self.constants(part) for key, part in template.items()}
        return template

    def assume(self, question: Function, at: int, answer: bool, expected: bool) -> None:
        """Log a question whose answer was expected; if it was not, this run is no program."""
        if answer is not expected:
            self.leave()
        elif self.unfit is None and (question, at) not in self.answers:
            self.answers[question, at] = answer
            before = True if self.sound is None else Ref(self.sound)
            self.sound = self.log(expectation(question, expected), (before, Ref(at)), {}, True)

    def leave(self) -> None:
        """Say that this run is no program, for what its values are."""
        self.unsound = True
        self.give_up("a derivative met infinities or NaNs")

    def ask(self, question: Function, at: int, answer: Any) -> None:
        """Log that Python got an answer about a value, on which the rest may depend."""
        if self.unfit is not None or (question, at) in self.answers:
            return
        if self.trial:
            raise NotRecordableError("it asks for a value")
        self.answers[question, at] = answer
        segment = self.segment
        read = Read(question, at)
        if segment.out is not None or segment.read not in (None, read):
            self.give_up("it asked for another value when it was called again", differs=True)
            return
        if self.position < len(segment.nodes):
            self.give_up("it did less when it was called again", differs=True)
            return
        segment.read = read
        key = answer_key(answer)
        child = segment.children.get(key)
        if child is None:
            if len(segment.children) >= self.most_branches:
                self.give_up(
                    f"it went more than {self.most_branches} ways by one value that it asked for "
                    f"({name_of_function(question)})"
                )
                return
            child = segment.children[key] = Segment(segment, self.end)
        self.segment = child
        self.position = 0

    def finish(
        self, leaves: Sequence[Any], structure: Any, writes: tuple[tuple[int, Any], ...]
    ) -> None:
        """Say that the function has returned: the path ends here."""
        if self.sound is not None:
            self.ask(SOUND, self.sound, True)
        self.open = False
        if self.unfit is not None:
            return
        segment = self.segment
        results = Results(self.constants(tuple(leaves)), structure)
        if segment.out is None and segment.read is None:
            segment.out, segment.writes = results, writes
        elif segment.out is None or not (
            self.position == len(segment.nodes)
            and alike(segment.out.leaves, results.leaves)
            and segment.out.structure == structure
            and alike(segment.writes, writes)
        ):
            self.give_up("it returned something else when it was called again", differs=True)


class NotRecordableError(Exception):
    """A function that runs on trial does what cannot be taken back."""


def name_of_function(function: Function) -> str:
    """The name of a function, for a text."""
    return str(getattr(function, "__qualname__", None) or getattr(function, "__name__", "a call"))


__all__ = ["Recorder", "name_of_function"]

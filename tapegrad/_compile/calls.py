"""The calls of a compiled function: which share a program, and which are the function's own.

Knows signatures, when to record and when to run. Must not know how a call is logged, nor how a
program runs.
"""

from __future__ import annotations

import contextlib
import enum
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from tapegrad._compile.arguments import (
    STATIC,
    array_of,
    copies,
    is_or_holds_recorded,
    layout,
    may_overlap,
    note_writes,
    opened_results,
    own_array,
    refusal,
    short_key,
    why_changed,
    with_recorded,
    written_inputs,
)
from tapegrad._compile.background import runner_of
from tapegrad._compile.equality import are_equal, has_bits_of, largest
from tapegrad._compile.surroundings import Surroundings
from tapegrad._core.recorded import OPEN, RECORDING
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Function
from tapegrad._errors import EagerWarning, InputError, StaleProgramError, message, name_of
from tapegrad._program.holders import HOLDERS, draws, opened, state
from tapegrad._program.listing import listing
from tapegrad._program.numpy_program import RECORDINGS, Source
from tapegrad._program.passes import optimized
from tapegrad._program.program import (
    NotFiniteError,
    Ref,
    Segment,
    UnknownAnswer,
    copied,
)
from tapegrad._program.recorded import Recorded
from tapegrad._program.recorder import NotRecordableError, Recorder
from tapegrad._program.recording import Recording
from tapegrad._transforms.draws import RandomnessCheck
from tapegrad._transforms.tracebacks import fold
from tapegrad._tree import flatten, unflatten
from tapegrad._warning import warn

MOST_PROGRAMS = 64  # that a function keeps: the least recently used one goes
MOST_BRANCHES = 8  # at one read of a value
MOST_PATHS = 64  # of one program
MOST_NODES = 200_000  # of one path
MOST_RESTARTS = 3  # of a program, where a run did not do the same
MOST_CALLS = 10  # that are made to show a program
MOST_NOT_FINITE = 4  # calls of a program with derivatives that are not finite
MOST_RAISED = 3  # calls in which one of NumPy's raises, before there is a program
MOST_CHANGES = 8  # of what a function reads from outside


_KEPT = "it keeps what it computes in an object outside (return it)"
_NOTICING = "the last bits of derivatives near infinities, or NaNs, depend on what NumPy noticed"


class _Program:
    """What is known of the calls of one signature."""

    __slots__ = (
        "careful",
        "eager",
        "held",
        "not_finite",
        "opaque",
        "outside",
        "paths",
        "raised",
        "restarts",
        "root",
        "runner",
        "suspicious",
        "why",
        "written",
    )

    def __init__(self, count: int) -> None:
        self.careful = False  # whether it also goes the ways of calls with infinities and NaNs
        self.suspicious = False  # whether nothing depends on which of them NumPy has noticed
        self.begin_anew(count)
        self.eager = False  # whether its calls are the function's own
        self.why: str | None = None  # and the reason
        self.outside = 0  # the version of the surroundings
        self.restarts = 0
        self.paths = 0
        self.opaque: set[Function] = set()  # functions that are calls of the program
        self.raised = 0  # calls in which one of NumPy's raised, and f did not
        self.not_finite = 0  # calls in which a derivative met infinities or NaNs
        self.written: set[int] = set()  # inputs into which it writes on some path

    def begin_anew(self, count: int) -> None:
        """Forget what was recorded."""
        self.root = Segment(None, count)
        self.root.careful = self.careful
        self.runner: Any = None
        self.held: frozenset[int] | None = None  # leaves that hold their array, and it is written

    def hold(self, written: frozenset[int]) -> str | None:
        """Take up which leaves hold an array that is written to; why that is no program's."""
        before, self.held = self.held, written
        return None if before in (None, written) else "it writes into other tensors in other calls"


class _Run(NamedTuple):
    """What comes of a recorded run of the function.

    It is the call itself, if it has a result. Else what it changed outside is put back, and the
    function runs again as it is.
    """

    out: tuple[Any] | None  # the result of the call
    refused: str | None = None  # why there can be no program
    leaves: list[Any] | None = None  # what the function must give with these bits


class Calls:
    """The calls of one function, by signature."""

    def __init__(self, f: Function, backend: str, check: int, threads: int = 1) -> None:
        self.f, self.backend, self.check, self.threads = f, backend, check, threads
        self.name = f"compile({name_of(f)})"
        self.programs: OrderedDict[Any, _Program] = OrderedDict()
        self.surroundings = Surroundings(f)
        self.eager = backend == "eager"
        self.objects = False  # whether it has been seen to compute with objects of arrays
        self.count = 0
        # Programs of calls with arrays and floats alone, by a key that is made in half the time.
        self.short: dict[Any, Any] = {}
        self.recording = threading.Lock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            # Inside a transform, or another recording, the values belong to that: f runs itself.
            if self.eager or CURRENT.get() is not None or RECORDING.get() is not None:
                return self.f(*args, **kwargs)
            if self.short and not kwargs:
                given: list[Any] = []
                program = self.short.get(short_key(args, given))
                if program is not None and self.surroundings.are_those(program.outside):
                    with contextlib.suppress(Exception):  # it is met again below
                        return program.runner.run(given)
            return self._looked_up(args, kwargs)
        except BaseException as error:
            fold(error)
            raise

    def _looked_up(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whose program has no short key, or none that served."""
        leaves, structure = flatten((args, kwargs))
        inputs: list[Any] = []
        signature = self._signature(leaves, inputs)
        if signature is None:
            return self.f(*args, **kwargs)
        program = self._known(structure, signature, len(inputs))
        if program is None or program.eager:
            return self.f(*args, **kwargs)
        if program.written and not self._is_apart(program.written, inputs):
            return self.f(*args, **kwargs)
        if program.runner is None:
            return self._record(program, leaves, structure, inputs, (args, kwargs))
        own = self._own_if_due(leaves, structure) if self.check else None
        before = inputs if own is None or not program.written else copies(inputs)
        out = failed = None
        try:
            out = program.runner.run(inputs)
        except Exception as error:  # noqa: BLE001 - whatever f raises is raised by its own call
            failed = type(error)  # and has no context of ours
        if failed is UnknownAnswer:
            return self._record(program, leaves, structure, inputs, (args, kwargs))
        if failed is not None:
            if failed is NotFiniteError and self.recording.acquire(blocking=False):
                try:
                    self._met_infinities(program, inputs)
                finally:
                    self.recording.release()
            return self.f(*args, **kwargs)
        if program.held:
            note_writes(program.held, leaves)
        if own is not None:
            self._compare(program, before, own, (out, args, kwargs))
        elif not (self.check or kwargs or self.objects or program.written):
            self._remember(args, program)
        return out

    def _remember(self, args: tuple[Any, ...], program: _Program) -> None:
        """Let further calls like this one find their program by the short key."""
        key = short_key(args, [])
        if key is not None and len(self.short) < MOST_PROGRAMS:
            self.short[key] = program

    def shown(self, args: Any, kwargs: Any) -> str:
        """The program of a call with such arguments as text."""
        program, inputs = self._made(args, kwargs)
        return listing(optimized(program.root), inputs)

    def source_of(self, args: Any, kwargs: Any) -> str:
        """The source of a call with such arguments."""
        root = self._made(args, kwargs)[0].root
        return Source(optimized(root), root.inputs, root.start).text

    def _made(self, args: Any, kwargs: Any) -> tuple[_Program, list[Any]]:
        """The program of such calls, and its inputs; calls are made until there is one."""
        leaves, structure = flatten((args, kwargs))
        leaves = [copied(x) if type(x) is np.ndarray else x for x in leaves]
        inputs: list[Any] = []
        signature = self._signature(leaves, inputs)
        why: str | None = "values that no program takes"
        for _ in range(MOST_CALLS):
            if signature is None or self.eager:
                break
            given, named = unflatten(structure, copies(leaves))
            self(*given, **named)
            key = self._key(structure, signature, self.surroundings.version())
            program = self._program(key, len(inputs))
            if program is not None and program.runner is not None:
                return program, inputs
            why = None if program is None else program.why
            if program is None or program.eager:
                break
        raise InputError(
            message(
                self.name,
                "arguments whose calls are a program",
                why or "calls that are the function's own",
                "Call it with the arguments of such a call",
            )
        )

    def _known(self, structure: Any, signature: Any, inputs: int) -> _Program | None:
        """What is known of such calls; None for calls that are the function's own."""
        outside = self.surroundings.version()
        if outside > MOST_CHANGES or not self.surroundings.complete:
            self._give_up_all(outside)
            return None
        return self._program(self._key(structure, signature, outside), inputs)

    def _key(self, structure: Any, signature: Any, outside: int) -> Any:
        """What tells the programs of calls apart; None for calls that are the function's own."""
        if not self.objects:
            return (structure, signature, outside)
        around = state()
        return None if around is None else (structure, signature, outside, around)

    def _program(self, key: Any, inputs: int) -> _Program | None:
        """What is known of a signature; None if the signature has no hash."""
        if key is None:
            return None
        try:
            program = self.programs.get(key)
        except TypeError:
            return None
        if program is None:
            program = self.programs[key] = _Program(inputs)
            program.outside = key[2]
            if len(self.programs) > MOST_PROGRAMS:
                self.programs.popitem(last=False)
        elif len(self.programs) > 1:
            with contextlib.suppress(KeyError):  # another thread has dropped it
                self.programs.move_to_end(key)
        return program

    def _signature(self, leaves: list[Any], inputs: list[Any]) -> Any:
        """What a program depends on of the leaves; those that it takes are appended to `inputs`.

        None for leaves with which there can be no program.
        """
        signature: list[Any] = []
        held: dict[int, int] = {}
        for leaf in leaves:
            kind = type(leaf)
            if kind is np.ndarray:
                signature.append((leaf.shape, leaf.dtype, layout(leaf)))
                inputs.append(leaf)
                if leaf.dtype.hasobject:
                    return None
            elif kind is float or kind is complex or (issubclass(kind, np.number)):
                signature.append(kind)
                inputs.append(leaf)
            elif kind in STATIC or isinstance(leaf, enum.Enum):
                signature.append((kind, leaf))
            elif kind in HOLDERS:
                found = opened(leaf)
                if found is None:
                    return None
                array, rest = found
                same = held.setdefault(id(leaf), len(inputs)) - len(inputs)
                signature.append((array.shape, array.dtype, layout(array), rest, same))
                inputs.append(array)
                self.objects = True
            else:
                return None  # traced, batched, of another library, or of unknown meaning
        return tuple(signature)

    def _record(
        self, program: _Program, leaves: list[Any], structure: Any, inputs: Any, call: Any
    ) -> Any:
        """A call of the function itself, whose operations are recorded.

        One at a time: the runs of several threads would not make one program.
        """
        args, kwargs = call  # the caller's own containers
        if not self.recording.acquire(blocking=False):
            return self.f(*args, **kwargs)
        try:
            run = self._recorded(program, leaves, structure, inputs)
            if run.out is not None:
                return run.out[0]
            out = self.f(*args, **kwargs)  # what it raises is no reason
            if run.refused is not None:
                program.begin_anew(len(inputs))
                self.eager = run.refused is _KEPT  # whatever the arguments
                self._give_up(program, run.refused)
            elif run.leaves and not all(map(has_bits_of, run.leaves, flatten(out)[0])):
                self._give_up(program, _NOTICING)
            return out
        finally:
            self.recording.release()

    def _recorded(self, program: _Program, leaves: list[Any], structure: Any, inputs: Any) -> _Run:
        program.root.describe(inputs)
        recorder = Recorder(
            program.root,
            len(inputs),
            MOST_NODES,
            MOST_BRANCHES,
            program.opaque,
            careful=program.careful,
            suspicious=program.suspicious,
        )
        given, recorded = with_recorded(leaves, recorder)
        positions, values = list(recorded), list(recorded.values())  # of inputs among the leaves
        args, kwargs = unflatten(structure, given)
        before = self.surroundings.before()
        generators, drawn = RandomnessCheck(self.f, leaves), draws()
        recording = Recording(recorder)
        OPEN.add(recording)
        token = RECORDING.set(recording)
        out_leaves: list[Any] = []
        out_structure: Any = None
        written: set[int] = set()
        is_apart = True
        refused: str | None = None
        try:
            out = self.f(*args, **kwargs)
            results = flatten(out)[0]
            out_leaves, out_structure, refused = opened_results(out)
            written = written_inputs(values, inputs, recorder)
            is_apart = not written or self._is_apart(written | program.written, inputs)
            refused = refused or refusal(given, leaves, recorded)
            refused = refused or why_changed(args, kwargs, given, structure)
            if refused is None and written and is_apart:
                held = [positions[i] for i in written if type(leaves[positions[i]]) in HOLDERS]
                refused = program.hold(frozenset(held))
            if generators.drew() or draws() != drawn or before.drew():
                recorder.give_up("it draws random numbers. Draw them outside, and pass them")
            again = refused is not None or recorder.unsound or not is_apart or program.suspicious
            recording.put_back(results, again=again)
            if before.holds(is_or_holds_recorded):
                refused = _KEPT
            if refused is None and is_apart:
                templates = [Ref(x.at) if type(x) is Recorded else x for x in out_leaves]
                writes = [(i, Ref(values[i].memory.at)) for i in sorted(written)]
                recorder.finish(templates, out_structure, tuple(writes))
        except NotRecordableError as error:
            refused = str(error)
        except Exception as error:  # noqa: BLE001 - if it is f's own, the call below raises it
            refused = f"it raises {type(error).__name__} where its calls are recorded ({error})"
        except BaseException:
            if before.holds(is_or_holds_recorded):
                before.restore()
            raise
        finally:
            recording.put_back([], again=True)
            RECORDING.reset(token)
            OPEN.discard(recording)
            recorder.open = False
        if recording.objects and not self.objects:
            self.objects = True
            self.short.clear()
        program.written |= written
        if refused is None and is_apart:
            self._learned(program, recorder, inputs)
        # Where a NaN is met the engine goes ways that no recording does.
        if refused is not None or recorder.unsound or not is_apart:
            before.restore()
            return _Run(None, refused)
        taken: set[int] = set()
        out_leaves = [own_array(x, taken) for x in out_leaves]
        if program.suspicious and not written:
            before.restore()
            return _Run(None, None, out_leaves)
        for i in written:
            np.copyto(inputs[i], values[i].memory.owner)
        note_writes(program.held or (), leaves)
        return _Run((unflatten(out_structure, out_leaves),))

    def _is_apart(self, written: set[int], inputs: list[Any]) -> bool:
        """Whether inputs that are written to share no memory with what else f sees.

        A program reads each input as it was before the call.
        """
        targets = [inputs[i] for i in written if type(inputs[i]) is np.ndarray]
        return (
            all(x.flags.writeable and not may_overlap(x) for x in targets)
            and not any(
                np.may_share_memory(inputs[i], x)
                for i in written
                for j, x in enumerate(inputs)
                if j != i and type(x) is np.ndarray
            )
            and not self.surroundings.shares_memory(targets)
        )

    def _learned(self, program: _Program, recorder: Recorder, inputs: list[Any]) -> None:
        """Take up what a recording has shown."""
        if recorder.unsound:
            self._met_infinities(program, inputs)
            return
        if recorder.raised:
            program.raised += 1
            if program.runner is not None or program.raised < MOST_RAISED:
                return
        if recorder.unfit is not None:
            program.restarts += 1
            if recorder.differs and program.careful and program.restarts > 1:
                program.restarts += program.suspicious * MOST_RESTARTS
                program.suspicious = True
            if recorder.differs and program.restarts <= MOST_RESTARTS:
                # Libraries, ours among them, learn in a first call. Begin again.
                program.begin_anew(len(inputs))
                self.short.clear()
                return
            program.begin_anew(len(inputs))
            self._give_up(program, recorder.unfit)
            return
        end = recorder.segment
        end.recordings += 1
        if end.recordings == RECORDINGS:
            program.paths += 1
            if program.paths > MOST_PATHS:
                why = f"it went more than {MOST_PATHS} ways, by values that it asked for"
                self._give_up(program, why)
                return
            program.runner = self._runner(program.root, inputs)
            self.short.clear()

    def _met_infinities(self, program: _Program, inputs: list[Any]) -> None:
        """Count a call with derivatives that are not finite; after some, begin anew.

        The program is then recorded with all that is asked about infinities and NaNs as branches.
        """
        program.not_finite += 1
        if program.runner is not None and program.not_finite < MOST_NOT_FINITE:
            return
        if not program.careful:
            program.careful, program.opaque = True, set()
            program.begin_anew(len(inputs))
            self.short.clear()

    def _runner(self, root: Segment, inputs: Any) -> Any:
        """What runs a program: the back end that was asked for."""
        return runner_of(self.backend, root, inputs, self.threads)

    def _give_up(self, program: _Program, why: str) -> None:
        """Let the calls of a signature be the function's own."""
        program.eager, program.why = True, why
        self.short.clear()
        self._warn(why)

    def _warn(self, why: str) -> None:
        warn(
            f"{self.name}: {why}. Such calls are the function's own, at its own speed.",
            EagerWarning,
        )

    def _give_up_all(self, outside: int) -> None:
        """Let all calls be the function's own, for what it reads from outside."""
        self.eager = True
        self._warn(
            f"what it reads from outside has changed more than {MOST_CHANGES} times. Pass what "
            "changes as an argument"
            if outside > MOST_CHANGES
            else "what it may read from outside is too much to look at in each call"
        )

    def _own_if_due(self, leaves: list[Any], structure: Any) -> Any:
        """Copies of the arguments, for the function itself in every `check`-th call."""
        self.count += 1
        if self.count % self.check:
            return None
        return unflatten(structure, copies(leaves))

    def _compare(self, program: _Program, before: list[Any], own: Any, found: Any) -> None:
        """The function itself must give the same, and write the same into its arguments."""
        args, kwargs = own
        out = self.f(*args, **kwargs)
        leaves, structure = flatten((out, args, kwargs))
        others, other = flatten(found)
        got, wanted = list(map(array_of, others)), list(map(array_of, leaves))
        exact = self.backend not in ("auto", "llvm")
        if structure == other and (
            are_equal(got, wanted, exact=exact)
            or not exact
            and are_equal(got, wanted, exact=False, scale=max(map(largest, wanted), default=0))
            and self._rounds(program, before, out, own)
        ):
            return
        raise StaleProgramError(
            message(
                self.name,
                "the result of the function itself",
                "another from its program",
                "Pass what changes between calls as an argument",
            )
        )

    def _rounds(self, program: _Program, before: list[Any], out: Any, own: Any) -> bool:
        """Whether machine code only rounds otherwise: NumPy's program gives what f gives.

        Of sums that cancel nothing is left but rounding.
        """
        usual = getattr(program.runner, "usual", None)
        if usual is None:
            return False
        try:
            found = flatten(usual.run(before))[0]
        except Exception:  # noqa: BLE001 - it is another program, then
            return False
        theirs: list[Any] = []
        self._signature(flatten(own)[0], theirs)
        got = [*map(array_of, found), *[before[i] for i in sorted(program.written)]]
        wanted = [*map(array_of, flatten(out)[0]), *[theirs[i] for i in sorted(program.written)]]
        return are_equal(got, wanted, exact=True)


__all__ = ["Calls"]

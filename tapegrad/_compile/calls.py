"""The calls of a compiled function: which share a program, and which are the function's own.

Knows signatures, when to record and when to run. Must not know how a call is logged, nor how a
program runs.
"""

from __future__ import annotations

import contextlib
import enum
import operator
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from tapegrad._compile.background import runner_of
from tapegrad._compile.surroundings import Surroundings
from tapegrad._core.recorded import OPEN, RECORDING
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Function
from tapegrad._core.values import recorded_in
from tapegrad._errors import EagerWarning, InputError, StaleProgramError, message, name_of
from tapegrad._program import operators
from tapegrad._program.holders import HOLDERS, closed, draws, opened, state, with_held
from tapegrad._program.listing import listing
from tapegrad._program.numpy_program import RECORDINGS, Source
from tapegrad._program.passes import optimized
from tapegrad._program.program import (
    NotFiniteError,
    Ref,
    Segment,
    UnknownAnswer,
    alike,
    copied,
)
from tapegrad._program.recorded import Recorded, Recording
from tapegrad._program.recorder import NotRecordableError, Recorder
from tapegrad._transforms.draws import RandomnessCheck
from tapegrad._tree import flatten, unflatten
from tapegrad._warning import warn

assert operators, "recorded values get their operators by importing them"

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
        # Inside a transform, or another recording, the values belong to that: f runs itself.
        if self.eager or CURRENT.get() is not None or RECORDING.get() is not None:
            return self.f(*args, **kwargs)
        if self.short and not kwargs:
            given: list[Any] = []
            program = self.short.get(_short_key(args, given))
            if program is not None and self.surroundings.are_those(program.outside):
                with contextlib.suppress(Exception):  # it is met again below
                    return program.runner.run(given)
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
        before = inputs if own is None or not program.written else _copies(inputs)
        try:
            out = program.runner.run(inputs)
        except UnknownAnswer:
            return self._record(program, leaves, structure, inputs, (args, kwargs))
        except Exception as error:  # noqa: BLE001 - whatever f raises is raised by its own call
            if type(error) is NotFiniteError and self.recording.acquire(blocking=False):
                try:
                    self._met_infinities(program, inputs)
                finally:
                    self.recording.release()
            return self.f(*args, **kwargs)
        if program.held:
            _note_writes(program.held, leaves)
        if own is not None:
            self._compare(program, before, own, (out, args, kwargs))
        elif not (self.check or kwargs or self.objects or program.written):
            self._remember(args, program)
        return out

    def _remember(self, args: tuple[Any, ...], program: _Program) -> None:
        """Let further calls like this one find their program by the short key."""
        key = _short_key(args, [])
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
            given, named = unflatten(structure, _copies(leaves))
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
                signature.append((leaf.shape, leaf.dtype, _layout(leaf)))
                inputs.append(leaf)
                if leaf.dtype.hasobject:
                    return None
            elif kind is float or kind is complex or (issubclass(kind, np.number)):
                signature.append(kind)
                inputs.append(leaf)
            elif kind in _STATIC or isinstance(leaf, enum.Enum):
                signature.append((kind, leaf))
            elif kind in HOLDERS:
                found = opened(leaf)
                if found is None:
                    return None
                array, rest = found
                same = held.setdefault(id(leaf), len(inputs)) - len(inputs)
                signature.append((array.shape, array.dtype, _layout(array), rest, same))
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
            elif run.leaves and not all(map(_has_bits_of, run.leaves, flatten(out)[0])):
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
        given, recorded = _given(leaves, recorder)
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
            out_leaves, out_structure, refused = _opened_results(out)
            written = _written(values, inputs, recorder)
            is_apart = not written or self._is_apart(written | program.written, inputs)
            refused = refused or _refusal(given, leaves, recorded)
            refused = refused or _why_changed(args, kwargs, given, structure)
            if refused is None and written and is_apart:
                held = [positions[i] for i in written if type(leaves[positions[i]]) in HOLDERS]
                refused = program.hold(frozenset(held))
            if generators.drew() or draws() != drawn or before.drew():
                recorder.give_up("it draws random numbers. Draw them outside, and pass them")
            again = refused is not None or recorder.unsound or not is_apart or program.suspicious
            recording.put_back(results, again=again)
            if before.holds(_is_or_holds_recorded):
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
            if before.holds(_is_or_holds_recorded):
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
        out_leaves = [_own(x, taken) for x in out_leaves]
        if program.suspicious and not written:
            before.restore()
            return _Run(None, None, out_leaves)
        for i in written:
            np.copyto(inputs[i], values[i].memory.owner)
        _note_writes(program.held or (), leaves)
        return _Run((unflatten(out_structure, out_leaves),))

    def _is_apart(self, written: set[int], inputs: list[Any]) -> bool:
        """Whether inputs that are written to share no memory with what else f sees.

        A program reads each input as it was before the call.
        """
        targets = [inputs[i] for i in written if type(inputs[i]) is np.ndarray]
        return (
            all(x.flags.writeable and not _may_overlap(x) for x in targets)
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
        return unflatten(structure, _copies(leaves))

    def _compare(self, program: _Program, before: list[Any], own: Any, found: Any) -> None:
        """The function itself must give the same, and write the same into its arguments."""
        args, kwargs = own
        out = self.f(*args, **kwargs)
        leaves, structure = flatten((out, args, kwargs))
        others, other = flatten(found)
        got, wanted = list(map(_array_of, others)), list(map(_array_of, leaves))
        exact = self.backend not in ("auto", "llvm")
        if structure == other and (
            _are_equal(got, wanted, exact=exact)
            or not exact
            and _are_equal(got, wanted, exact=False, scale=max(map(_largest, wanted), default=0))
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
        got = [*map(_array_of, found), *[before[i] for i in sorted(program.written)]]
        wanted = [*map(_array_of, flatten(out)[0]), *[theirs[i] for i in sorted(program.written)]]
        return _are_equal(got, wanted, exact=True)


def _array_of(leaf: Any) -> Any:
    """The array of an object that holds one; any other leaf itself."""
    holder = HOLDERS.get(type(leaf))
    return leaf if holder is None else holder.array(leaf)


def _copies(leaves: list[Any]) -> list[Any]:
    """The leaves with copies of their arrays, into which a function may write."""
    made: dict[int, Any] = {}
    for leaf in leaves:
        found = opened(leaf)
        if found is not None:
            made[id(leaf)] = closed(copied(found[0]), found[1])
        elif type(leaf) is np.ndarray:
            made[id(leaf)] = copied(leaf)
    return [made.get(id(leaf), leaf) for leaf in leaves]


def _note_writes(positions: Iterable[int], leaves: list[Any]) -> None:
    """Say to objects among the leaves that their arrays have been written into."""
    for position in positions:
        HOLDERS[type(leaves[position])].written(leaves[position])


def _given(leaves: list[Any], recorder: Recorder) -> tuple[list[Any], dict[int, Recorded]]:
    """The leaves with recorded values in them, and these by the leaf; an object twice is one."""
    given: list[Any] = []
    recorded: dict[int, Recorded] = {}
    made: dict[int, Any] = {}
    for position, leaf in enumerate(leaves):
        kind = type(leaf)
        if kind not in _STATIC and not isinstance(leaf, enum.Enum):
            value, rest = opened(leaf) or (leaf, None)
            own = _copy_of_argument(value) if type(value) is np.ndarray else value
            x = recorded[position] = Recorded(own, len(recorded), recorder)
            if rest is None:
                leaf = x
            else:
                if id(leaf) not in made:
                    made[id(leaf)] = closed(x, rest)
                leaf = made[id(leaf)]
        given.append(leaf)
    return given, recorded


def _copy_of_argument(array: Any) -> Any:
    """A copy of an array, which can be written to if that can."""
    copy = copied(array)
    copy.flags.writeable = array.flags.writeable
    return copy


def _written(values: list[Recorded], inputs: list[Any], recorder: Recorder) -> set[int]:
    """The inputs into which a run has written: also where no call says so, as code in C may."""
    return {
        i
        for i, x in enumerate(values)
        if x.memory.version or recorder.unfit is not None and not alike(x.memory.owner, inputs[i])
    }


def _opened_results(out: Any) -> tuple[list[Any], Any, str | None]:
    """The leaves of a result, with arrays for objects, the structure; why there is no program."""
    leaves, structure = flatten(out)
    rests: list[Any] = []
    refused: str | None = None
    for i, leaf in enumerate(leaves):
        holder = HOLDERS.get(type(leaf))
        value, rest = leaf, None
        if holder is not None:
            refused = refused or holder.refusal(leaf)
            found = opened(leaf)
            value, rest = (leaf, None) if found is None else found
        if type(value) is not Recorded and not _is_constant(value):
            refused = refused or f"it returns a {type(leaf).__name__}"
        leaves[i] = value
        rests.append(rest)
    return leaves, with_held(structure, rests), refused


def _refusal(given: list[Any], leaves: list[Any], recorded: dict[int, Recorded]) -> str | None:
    """Why what a run did with its arguments is nothing that a program does."""
    own = {id(given[i]): x for i, x in reversed(recorded.items())}  # an object has the first
    for position, x in recorded.items():
        one, leaf = given[position], leaves[position]
        holder = HOLDERS.get(type(leaf))
        if holder is not None:
            found, before = opened(one), opened(leaf)
            if found is None or before is None or found[1] != before[1]:
                return holder.refusal(one) or "it changes more of a tensor than its elements"
            if found[0] is not own[id(one)]:
                return "it gives a tensor that is an argument another array"
        elif x.steps or x.shape != np.shape(leaf):
            return "it changes the shape of an array that is an argument: return a reshaped one"
        elif type(leaf) is np.ndarray and x.flags.writeable != leaf.flags.writeable:
            return "it sets the flags of an array"
    return None


def _why_changed(args: Any, kwargs: Any, given: list[Any], structure: Any) -> str | None:
    """Why the containers of the arguments are no longer as they were given; None if they are."""
    leaves, found = flatten((args, kwargs))
    if len(leaves) == len(given) and all(map(operator.is_, leaves, given)) and found == structure:
        return None
    return "it changes a list, a dict or an object that is an argument: return what is new"


def _is_or_holds_recorded(value: Any) -> bool:
    """Whether a value is a recorded one, traced or not, or a tuple with one."""
    if issubclass(type(value), tuple):
        return any(map(_is_or_holds_recorded, value))
    return recorded_in(value) is not None


def _may_overlap(x: Any) -> bool:
    """Whether two elements of an array may lie at the same place."""
    flags = x.flags
    if flags.c_contiguous or flags.f_contiguous:
        return False
    span = x.itemsize
    for stride, length in sorted(
        (abs(s), n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1
    ):
        if stride < span:
            return True
        span += stride * (length - 1)
    return False


def _layout(array: Any) -> Any:
    """The order of an array's elements in memory, and whether it can be written to."""
    flags = array.flags
    if flags.carray:  # writeable, and aligned
        return "C"
    order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else array.strides
    return order, flags.writeable


def _short_key(args: Any, given: list[Any]) -> Any:
    """What a program depends on of arguments that are arrays in C order, or numbers; else None.

    Lists and tuples of such are taken, too. The arrays and numbers are appended to `given`.
    """
    if len(args) == 1 and type(args[0]) in _NUMBERS:
        given.append(args[0])
        return type(args[0])
    key: list[Any] = []
    for x in args:
        kind = type(x)
        if kind is _ARRAY:
            if not x.flags.carray:  # C order, and writeable: see `_layout`
                return None
            key.append((x.shape, x.dtype))
            given.append(x)
        elif kind in _NUMBERS:
            key.append(kind)
            given.append(x)
        elif kind is list or kind is tuple:
            inner = _short_key(x, given)
            if inner is None:
                return None
            key.append((kind, inner))
        else:
            return None
    return tuple(key)


_ARRAY = np.ndarray
_NUMBERS = frozenset((float, complex, *[np.dtype(letter).type for letter in "bhilqBHILQefdgFDG"]))
_STATIC = frozenset(
    (
        bool,
        int,
        str,
        bytes,
        type(None),
        type(Ellipsis),
        np.ufunc,
        *{type(np.dtype(letter)) for letter in "?bhilqBHILQefdgFDG"},
    )
)


def _is_constant(leaf: Any) -> bool:
    """Whether a result that was not recorded is one that each call can return."""
    return isinstance(leaf, (np.ndarray, np.generic, float, complex)) or type(leaf) in _STATIC


def _are_equal(found: list[Any], expected: list[Any], *, exact: bool, scale: float = 0.0) -> bool:
    """Whether leaves of one structure are the same."""
    return all(
        _equal(a, b, exact=exact, scale=scale) for a, b in zip(found, expected, strict=True)
    )


def _largest(leaf: Any) -> float:
    """The largest finite number in a result."""
    if not isinstance(leaf, (np.ndarray, np.generic, float, complex)):
        return 0.0
    x = np.asarray(leaf)
    if x.dtype.kind not in "fc":
        return 0.0
    return float(np.max(np.abs(x), initial=0, where=np.isfinite(x)))


def _equal(a: Any, b: Any, *, exact: bool, scale: float) -> bool:
    """Whether two results are the same; machine code's, but for rounding, at some scale."""
    if not isinstance(b, (np.ndarray, np.generic, float, complex)):
        return bool(a == b)
    a, b = np.asarray(a), np.asarray(b)
    if exact or a.shape != b.shape or b.dtype.kind not in "fc":
        return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    small = float(np.sqrt(np.finfo(b.dtype).eps))
    scale = max(scale, _largest(b))
    return np.allclose(a, b, rtol=small, atol=small * scale, equal_nan=True)


def _has_bits_of(a: Any, b: Any) -> bool:
    """Whether two leaves are the same to the signs of their zeros; NaNs need only be NaNs."""
    if alike(a, b):
        return True
    x, y = np.asarray(a), np.asarray(b)
    if type(a) is not type(b) or x.dtype != y.dtype or x.dtype.kind not in "fc":
        return False
    known = ~np.isnan(y)
    return np.array_equal(x, y, equal_nan=True) and alike(
        np.copysign(1, x.real[known]), np.copysign(1, y.real[known])
    )


def _own(leaf: Any, taken: set[int]) -> Any:
    """A result's leaf as an array of the caller's own."""
    value = leaf._value if type(leaf) is Recorded else leaf
    if type(value) is not np.ndarray:
        return value
    if type(leaf) is not Recorded or value.base is not None or id(value) in taken:
        value = value.copy("K")
    taken.add(id(value))
    return value


__all__ = ["Calls"]

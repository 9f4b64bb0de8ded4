"""The calls of a compiled function: which share a program, and which are the function's own.

Knows when to record and when to run, and when to give up. Must not know how a call is recorded,
nor how a program runs.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from functools import partial
from typing import Any

import numpy as np

from tapegrad._block import Turn
from tapegrad._compile.arguments import copies, has_more, note_writes
from tapegrad._compile.background import BUILDER, announced, runner_of
from tapegrad._compile.comparison import gives_the_same
from tapegrad._compile.places import Variable
from tapegrad._compile.recorded_run import KEPT, Outcome, RecordedRun, are_apart
from tapegrad._compile.signatures import key_of, signature_of
from tapegrad._compile.specializations import Specialization
from tapegrad._compile.state import Functional
from tapegrad._compile.surroundings import Surroundings
from tapegrad._compile.worth import FREE, Rest, Trial, Worth
from tapegrad._core.recorded import RECORDING
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Function
from tapegrad._errors import EagerWarning, InputError, StaleProgramError, message, name_of
from tapegrad._program.containers import state
from tapegrad._program.listing import listing
from tapegrad._program.numpy_program import RECORDINGS
from tapegrad._program.passes import optimized
from tapegrad._program.program import NotFiniteError, UnknownAnswer, copied
from tapegrad._program.recorder import NotRecordableError, Recorder
from tapegrad._program.recording import Draw
from tapegrad._transforms.tracebacks import fold
from tapegrad._tree import flatten, unflatten
from tapegrad._warning import warn

MOST_PROGRAMS = 256  # that a function keeps: the least recently used one goes
MOST_BYTES = 1 << 30  # of the memory that these keep between calls
MOST_PATHS = 64  # of one program
MOST_RESTARTS = 3  # of a program, where a run did not do the same
MOST_CALLS = 10  # that are made to show a program
MOST_RAISED = 3  # calls in which one of NumPy's raises, before there is a program
MOST_GROWTHS = 8  # runs that show more of a function's state
MOST_FIRST = 4  # runs in which it binds new names outside, as a first call does
MOST_CHANGES = 8  # of what a function reads from outside


_UNKNOWN: Any = object()


class Calls:
    """The calls of one function, by signature.

    alerts: whether an EagerWarning is raised, for a caller that has not been asked for programs.
    """

    def __init__(
        self,
        f: Function,
        backend: str,
        check: int,
        threads: int = 1,
        *,
        alerts: bool = False,
        whole: Calls | None = None,
    ) -> None:
        self.alerts = alerts
        self.whole = self if whole is None else whole  # calls of f itself, where it has state
        self.state: Functional | None = None  # f as a function of its state, too
        self.functional: Calls | None = None  # the calls of that
        self.f, self.backend, self.check, self.threads = f, backend, check, threads
        self.name = f"compile({name_of(f)})"
        self.programs: OrderedDict[Any, Specialization] = OrderedDict()
        if isinstance(f, Functional):
            self.surroundings = Surroundings(f.f, f.keys)
            f.shares_memory = self.surroundings.shares_memory
            self.surroundings.is_lean = self.whole.surroundings.is_lean
        else:
            self.surroundings = Surroundings(f)
        self.eager = backend == "eager"
        self.why: str | None = None  # all calls are the function's own
        self.objects = False  # whether it has been seen to compute with objects of arrays
        self.draws: dict[Any, list[Draw]] = {}  # of random numbers, by the calls that make them
        self.rest = Rest()  # where f has state
        self.first = 0  # runs that bound new names outside
        self.growths = 0  # how often more was seen to be state
        self.count = 0
        self.worth = Worth()
        self.pause = 0  # calls that are the function's own, whatever their signature
        self.is_told = False  # that signatures wait
        # Programs of everyday calls by their short key; None where calls are the function's own.
        self.short: dict[Any, Specialization | None] = {}
        self.recording = Turn()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.pause > 0:
                self.pause -= 1
                return self.f(*args, **kwargs)
            # Inside a transform, or another recording, the values belong to that: f runs itself.
            if self.eager or CURRENT.get() is not None or RECORDING.get() is not None:
                return self.f(*args, **kwargs)
            if self.state is not None:
                return self._with_state(self.state, args, kwargs)
            given: list[Any] = []
            key = key_of(args, kwargs, given)
            program = self.short.get(key, _UNKNOWN)
            if program is None:
                self.pause = self.worth.pause
                return self.f(*args, **kwargs)
            if (
                program is not _UNKNOWN
                and (not self.objects or state() == program.around)
                and self.surroundings.are_those(program.outside)
                and self._are_apart(program, given)
            ):
                with contextlib.suppress(Exception):  # it is met again below
                    return program.runner.run(given)
            return self._looked_up(key, args, kwargs)
        except BaseException as error:
            fold(error)
            raise

    def _with_state(self, f: Functional, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whose state is an argument, and a result."""
        calls, rest = self.functional, self.rest
        if calls is None or calls.eager or rest.left > 0:
            rest.left -= 1
            return self.f(*args, **kwargs)
        held, own = f.state(), f.own
        after = calls(held, f.drawn(args, kwargs), args, kwargs)
        f.take(after, held, args, kwargs)
        rest.note(is_own=f.own > own)
        return after.out

    def _looked_up(self, short: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whose program has no short key, or none that served."""
        if short is not None and not self._is_recorded(short):
            return self.f(*args, **kwargs)
        leaves, structure = flatten((args, kwargs))
        inputs: list[Any] = []
        signature, holds_objects = signature_of(leaves, inputs)
        if holds_objects:
            self.objects = True
        if signature is None or short is None and has_more((args, kwargs)):
            return self.f(*args, **kwargs)
        key = (structure, signature) if short is None else short
        if short is None and not self._is_recorded(key):
            return self.f(*args, **kwargs)
        if not self.surroundings.is_known:  # of an installed package: which code runs?
            return self.surroundings.run(self.f, *args, **kwargs)[0]
        program = self._known(key, structure, signature, len(inputs))
        if program is None or program.eager or not self._are_apart(program, inputs):
            return self.f(*args, **kwargs)
        if self.worth.refused:  # with what is outside now there may be a program
            self.worth.refused.pop(key, None)
        if program.runner is None:
            return self._record(program, leaves, structure, inputs, (args, kwargs))
        return self._by_program(program, short, (leaves, structure, inputs), args, kwargs)

    def _by_program(
        self, program: Specialization, short: Any, flat: Any, args: Any, kwargs: Any
    ) -> Any:
        """A call by its program, or by the function itself where that is timed, or has to be."""
        leaves, structure, inputs = flat
        trial = program.trial
        if trial is not None and trial.is_own_turn(final=program.is_final):
            f = self.f
            part = partial(getattr, f, "seconds") if isinstance(f, Functional) else None
            return self._judged(program, trial.time_own(lambda: f(*args, **kwargs), part))
        own = self._own_if_due(leaves, structure) if self.check else None
        out = failed = None
        try:
            if trial is None:
                out = program.runner.run(inputs)
            else:
                look, run = partial(self._look, args, kwargs), partial(program.runner.run, inputs)
                out = self._judged(program, trial.time_program(look, run))
        except Exception as error:  # noqa: BLE001 - whatever f raises is raised by its own call
            failed = type(error)  # and has no context of ours
        if failed is UnknownAnswer:
            return self._record(program, leaves, structure, inputs, (args, kwargs))
        if failed is not None:
            if failed is NotFiniteError:
                with self.recording.taken() as taken:
                    if taken:
                        self._meet_infinities(program, len(inputs))
            return self.f(*args, **kwargs)
        if program.held:
            note_writes(program.held, leaves)
        if own is not None:
            self._compare(own, (out, args, kwargs))
        elif not (self.check or program.held or trial or short is None):
            self._remember(short, program)
        return out

    def _are_apart(self, program: Specialization, inputs: list[Any]) -> bool:
        """Whether what the program writes into shares no memory with what else it reads."""
        return not program.written or are_apart(program.written, inputs, self.surroundings)

    def _is_recorded(self, key: Any) -> bool:
        """Whether calls of a signature are a program, or recorded to be one."""
        try:
            if self.worth.admits(key):
                return True
        except TypeError:  # of an argument without a hash
            return False
        if key in self.worth.own:
            self._remember(key, None)
        elif key in self.worth.waiting and not (self.is_told or self.alerts):
            self.is_told = True
            self._warn(self.worth.why_waiting())
        return False

    def _look(self, args: Any, kwargs: Any) -> None:
        """Look at the arguments and outside, as later calls of a program do before it runs."""
        key_of(args, kwargs, [])
        self.surroundings.version()
        if isinstance(self.f, Functional):  # the state is read, and written
            self.f.state()
            self.f.state()

    def _judged(self, program: Specialization, out: Any) -> Any:
        """A timed call's result; the last one tells whose further calls are."""
        trial = program.trial
        why = "" if trial is None else trial.verdict(final=program.is_final)
        if why is None:
            return out
        program.trial = None
        if why:
            self.worth.own[program.key] = program.why = why
            self.short.clear()
            if trial is not None and trial.is_for_the_look:
                self._warn(why)
        return out

    def _remember(self, key: Any, program: Specialization | None) -> None:
        """Let further calls like this one find their program by their short key."""
        if len(self.short) >= MOST_PROGRAMS:
            self.short.clear()
        self.short[key] = program

    def shown(self, args: Any, kwargs: Any) -> str:
        """The program of a call with such arguments as text."""
        _, program, inputs = self._made(args, kwargs)
        return listing(optimized(program.root), inputs)

    def source_of(self, args: Any, kwargs: Any) -> str:
        """The source of what runs a call with such arguments."""
        return str(self._made(args, kwargs)[1].runner.text())

    def prepare(self, args: Any, kwargs: Any) -> None:
        """Record such calls, build their program, and make the calls in which it is timed."""
        calls, program, _ = self._made(args, kwargs)
        if calls is not self and self.state is not None:
            args, kwargs = (self.state.state(), self.state.drawn(args, kwargs), args, kwargs), {}
        with announced(self.name):
            while (
                program.runner is not None
                and not calls.eager
                and program.key not in calls.worth.own
            ):
                if not program.is_final:
                    BUILDER.wait(None)
                if program.trial is None and program.is_final:
                    return
                leaves, structure = flatten((args, kwargs))
                given, named = unflatten(structure, copies(leaves))
                calls(*given, **named)

    def wait(self, timeout: float | None) -> bool:
        """Wait until what was asked for so far is built."""
        with announced(self.name):
            calls = self.functional or self
            return all(x.is_built for x in list(calls.programs.values())) or BUILDER.wait(timeout)

    def _made(self, args: Any, kwargs: Any) -> tuple[Calls, Specialization, list[Any]]:
        """Who has the program of such calls, that, and its inputs.

        Calls are made until there is one; what they change outside is put back.
        """
        before = self.surroundings.before()
        try:
            while True:
                f, calls = self.state, self.functional
                if f is None or calls is None:
                    found = self._made_here(args, kwargs)
                else:
                    found = calls._made_here((f.state(), f.drawn(args, kwargs), args, kwargs), {})
                if found is not None:
                    return self.functional or self, *found
        finally:
            before.restore()
            for put_back in () if self.state is None else self.state.put_back:
                put_back()

    def _made_here(self, args: Any, kwargs: Any) -> tuple[Specialization, list[Any]] | None:
        """The program among those here, and its inputs; None if more is seen to be state."""
        known = self.whole.functional
        leaves, structure = flatten((args, kwargs))
        made = {id(x): copied(x) for x in leaves if type(x) is np.ndarray}
        leaves = [made.get(id(x), x) for x in leaves]
        inputs: list[Any] = []
        signature, holds_objects = signature_of(leaves, inputs)
        if holds_objects:
            self.objects = True
        if signature is None or self.eager:
            raise self._without("values that no program takes" if signature is None else None)
        short = key_of(args, kwargs, [])
        key = (structure, signature) if short is None else short
        own = self.worth.own.pop(key, None)  # there is a program of these all the same
        self.worth.recorded.add(key)
        self.short.pop(key, None)
        self.pause = 0
        try:
            for _ in range(MOST_CALLS):
                given, named = unflatten(structure, copies(leaves))
                self(*given, **named)
                if self.whole.functional is not known:
                    return None
                program = self._known(key, structure, signature, len(inputs))
                if program is not None and program.runner is not None:
                    return program, inputs
                if program is None or program.eager or self.eager:
                    raise self._without(None if program is None else program.why)
        finally:
            if own is not None:
                self.worth.own[key] = own
                self.short.pop(key, None)
        raise self._without(None)

    def _without(self, why: str | None) -> InputError:
        """The error to raise where there is no program."""
        return InputError(
            message(
                self.name,
                "arguments whose calls are a program",
                why or self.why or "calls that are the function's own",
                "Call it with the arguments of such a call",
            )
        )

    def _known(
        self, key: Any, structure: Any, signature: Any, inputs: int
    ) -> Specialization | None:
        """Knowledge of such calls; None for calls that are the function's own."""
        try:
            outside = self.surroundings.version()
        except NotRecordableError:  # of what the first call makes
            return None
        if self.surroundings.moved and self._take_up(self.surroundings.often_moved()):
            return None
        if outside > MOST_CHANGES or self.surroundings.unseen is not None:
            self._give_up_all()
            return None
        around = state() if self.objects else ()
        if around is None:
            return None
        known = (structure, signature, outside, around)
        program = self.programs.get(known)
        if program is None:
            program = self.programs[known] = Specialization(inputs)
            program.outside, program.around, program.key = outside, around, key
            self._make_room()
        elif len(self.programs) > 1:
            with contextlib.suppress(KeyError):  # another thread has dropped it
                self.programs.move_to_end(known)
        return program

    def _make_room(self) -> None:
        """Drop the programs that were not used for longest, if there are too many."""
        while len(self.programs) > 1 and (
            len(self.programs) > MOST_PROGRAMS
            or sum(each.bytes for each in list(self.programs.values())) > MOST_BYTES
        ):
            _, dropped = self.programs.popitem(last=False)
            if all(each.key != dropped.key for each in list(self.programs.values())):
                self.worth.drop(dropped.key, MOST_PROGRAMS)
            self.short.clear()

    def _record(
        self, program: Specialization, leaves: list[Any], structure: Any, inputs: Any, call: Any
    ) -> Any:
        """A call of the function itself, whose operations are recorded.

        One at a time: the runs of several threads would not make one program.
        """
        args, kwargs = call  # the caller's own containers
        with self.recording.taken() as taken:
            if not taken:
                return self.f(*args, **kwargs)
            run = self._recorded(program, leaves, structure, inputs)
            if run.out is not None:
                return run.out[0]
            out = self.f(*args, **kwargs)  # what it raises is no reason
            if run.refused is not None:
                program.begin_anew(len(inputs))
                if run.refused is KEPT:  # whatever the arguments
                    self.eager, self.why = True, KEPT
                self._give_up(program, run.refused)
            return out

    def _recorded(
        self, program: Specialization, leaves: list[Any], structure: Any, inputs: list[Any]
    ) -> Outcome:
        """Run the function with recorded values, and take up what that shows."""
        run = RecordedRun(self.f, program, leaves, inputs, self.surroundings)
        if self.surroundings.run(run.run, structure)[1]:
            run.recorder.give_up("it ran other code when it was called again", differs=True)
        if run.recording.asked:
            run.undo()
            self.whole.surroundings.is_lean = False
            self.surroundings.look_at_all()
            program.begin_anew(len(inputs))
            return self._recorded(program, leaves, structure, inputs)
        if self._has_state(run, structure):
            run.undo()
            return Outcome(None)
        if run.recording.objects and not self.objects:
            self.objects = True
            self.short.clear()
        program.written |= run.written
        if run.is_program:
            self._learned(program, run.recorder, inputs)
        return run.outcome()

    def _has_state(self, run: RecordedRun, structure: Any) -> bool:
        """Whether a run has changed something outside that was not known to be state."""
        if run.changed is None:  # it has bound names: perhaps not in each call
            is_vain = run.refused is not None or run.recorder.unfit is not None
            is_new = is_vain and self.whole.first < MOST_FIRST
            self.whole.first += is_new
            return is_new
        draws, whole = run.recording.draws, self.whole
        args, kwargs = unflatten(structure, run.leaves)
        if self is not whole:
            _, _, args, kwargs = args
        key = key_of(args, kwargs, []) if draws else None
        is_new = key is not None and len(whole.draws) < FREE and key not in whole.draws
        if is_new:
            whole.draws[key] = draws
        if whole.state is None and is_new:
            self._become_functional(run.changed)
            return True
        return self._take_up(run.changed) or is_new

    def _take_up(self, variables: list[Variable]) -> bool:
        """Take up variables as state; whether some were not known as such."""
        whole = self.whole
        known = () if whole.state is None else whole.state.keys
        fresh = [one for one in variables if one.key not in known]
        if not fresh or whole.growths == MOST_GROWTHS:
            return False
        whole.growths += 1
        self._become_functional(fresh)
        return True

    def _become_functional(self, fresh: list[Variable]) -> None:
        """Have further calls be those of a function of the state too, with these variables."""
        whole = self.whole
        known = [] if whole.state is None else whole.state.variables
        variables = {one.key: one for one in (*known, *fresh)}
        f = whole.state = Functional(whole.f, variables.values(), whole.draws)
        whole.functional = Calls(
            f, self.backend, self.check, self.threads, alerts=self.alerts, whole=whole
        )

    def _learned(self, program: Specialization, recorder: Recorder, inputs: list[Any]) -> None:
        """Take up what a recording has shown."""
        if recorder.unsound:
            self._meet_infinities(program, len(inputs))
            return
        if recorder.raised:
            program.raised += 1
            if program.runner is not None or program.raised < MOST_RAISED:
                return
        if recorder.unfit is not None:
            program.restarts += 1
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
            with announced(self.name, self.backend == "llvm"):
                program.runner = runner_of(
                    self.backend, program.root, inputs, self.threads, program.runner
                )
            self.short.clear()
            if program.paths == 1 and self.backend == "auto":
                program.trial = Trial()

    def _meet_infinities(self, program: Specialization, count: int) -> None:
        if program.meet_infinities(count):
            self.short.clear()

    def _give_up(self, program: Specialization, why: str) -> None:
        """Let the calls of a signature be the function's own."""
        program.eager, program.why = True, why
        self.worth.refuse(program.key)
        self.short.clear()
        self._warn(why)

    def _warn(self, why: str) -> None:
        text = f"{self.name}: {why}. Such calls are the function's own, at its own speed."
        if self.alerts:
            raise EagerWarning(text)
        warn(text, EagerWarning)

    def _give_up_all(self) -> None:
        """Let all calls be the function's own, for what it reads from outside."""
        self.eager = True
        self.why = (
            self.surroundings.unseen
            or f"what it reads from outside has changed more than {MOST_CHANGES} times. Pass what "
            "changes as an argument"
        )
        self._warn(self.why)

    def _own_if_due(self, leaves: list[Any], structure: Any) -> Any:
        """Copies of the arguments, for the function itself in every `check`-th call."""
        self.count += 1
        if self.count % self.check:
            return None
        return unflatten(structure, copies(leaves))

    def _compare(self, own: Any, found: Any) -> None:
        """The function itself must give the same, and write the same into its arguments."""
        if not gives_the_same(self.f, own, found):
            raise StaleProgramError(
                message(
                    self.name,
                    "the result of the function itself",
                    "another from its program",
                    "Pass what changes between calls as an argument",
                )
            )


__all__ = ["Calls"]

"""Nothing stays set after Ctrl-C, wherever it strikes.

A strike raises KeyboardInterrupt once, at one of two kinds of places in files of tapegrad:

- "signals": where Python looks for signals, and so where Ctrl-C strikes: at the start of a
  function, and when a function of C has returned. `sys.setprofile` tells of both;
- "lines": at the start of each line, but for those on which a block is left (`finally`, `with`),
  and those that do nothing (`try`): there Python looks for no signal.

After each strike, what is set for the process, the thread or the context is as before, and the
program runs again with its results and warnings. By default a few places of each program are
struck; all of them, and by a timer's signals, are slow tests.
"""

from __future__ import annotations

import ast
import dis
import functools
import gc
import re
import signal
import sys
import threading
import time
import traceback
import tracemalloc
import warnings
from contextvars import ContextVar
from pathlib import Path

import numpy as np
import pytest
from interrupted import PROGRAMS

import tapegrad
import tapegrad.torch as torch
from tapegrad._arrays.traced import Array
from tapegrad._config import SETTINGS
from tapegrad._core.locks import LOCKS
from tapegrad._core.recorded import OPEN
from tapegrad._profile.recorder import LOG
from tapegrad._profile.switch import Switch
from tapegrad._transforms import forward
from tapegrad._transforms.recording import Recording

ROOT = str(Path(tapegrad.__file__).parent)
HOLDERS = (torch, torch.Tensor, torch.nn.functional, Recording, forward, Array)
LOCKED = (type(threading.Lock()), type(threading.RLock()))

# --- What is set --------------------------------------------------------------------------------


def of_modules(kinds):
    """The objects of some classes that modules of tapegrad hold."""
    modules = [module for name, module in sys.modules.items() if name.startswith("tapegrad")]
    found = [value for module in modules for value in vars(module).values()]
    return list({id(value): value for value in found if isinstance(value, kinds)}.values())


def is_held(lock):
    return lock._is_owned() if hasattr(lock, "_is_owned") else lock.locked()


class State:
    """The state to be left as it was; made once the program has imported its modules."""

    def __init__(self, arrays):
        self.arrays = arrays
        self.variables = of_modules(ContextVar)
        self.locks = of_modules(LOCKED)
        assert len(self.variables) > 15
        assert len(self.locks) > 5

    def now(self):
        return {
            "variables": {x.name: x.get() for x in self.variables if x.get(None) is not None},
            "np.geterr": np.geterr(),
            "np.geterrcall": np.geterrcall(),
            "grad": torch.is_grad_enabled(),
            "inference": torch.is_inference_mode_enabled(),
            "anomaly": torch.is_anomaly_enabled(),
            "profilers": list(LOG.running),
            "recordings": set(OPEN),
            "switches": list(Switch.holding),
            "functions": [{name: id(x) for name, x in vars(one).items()} for one in HOLDERS],
            "settings": [getattr(tapegrad.config, name) for name in SETTINGS],
            "dtype": torch.get_default_dtype(),
            "locked arrays": dict(LOCKS.holders),
            "writeable": [array.flags.writeable for array in self.arrays],
            "locks": [lock for lock in self.locks if is_held(lock)],
            "filters": (id(warnings.filters), list(warnings.filters), warnings.showwarning),
            "gc": gc.isenabled(),
            "recursion": sys.getrecursionlimit(),
            "signal": signal.getsignal(signal.SIGINT),
            "tracers": (sys.gettrace(), sys.getprofile(), threading.gettrace()),
            "tracemalloc": tracemalloc.is_tracing(),
        }


# --- Strikes ------------------------------------------------------------------------------------


@functools.cache
def leaving_lines(path):
    """The lines of a file on which blocks are left: in `finally`, and `with`, once more."""
    lines = set()
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if isinstance(node, ast.Try):
            for one in node.finalbody:
                lines.update(range(one.lineno, one.end_lineno + 1))
        elif isinstance(node, ast.With):
            lines.update(range(node.lineno, node.items[-1].context_expr.end_lineno + 1))
    return lines


def looks_for_signals(frame):
    """Whether a frame starts or goes on where Python looks: not where an error comes in."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return at >= 0 and code[at] == dis.opmap["RESUME"] and (code[at + 1] & 3) < 2


def is_finalizing(frame):
    """Whether a frame belongs to a `__del__`, whose errors Python tells of, and raises nowhere."""
    while frame is not None and frame.f_code.co_filename.startswith(ROOT):
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


class Strike:
    """Raises KeyboardInterrupt at the n-th place; with n = 0 it counts the places."""

    def __init__(self, kind, n):
        self.kind, self.n = kind, n
        self.count = 0
        self.at = ""

    def run(self, program):
        outer = sys.getprofile(), sys.gettrace()
        set_tool = sys.setprofile if self.kind == "signals" else sys.settrace
        try:
            set_tool(self.call if self.kind == "signals" else self.trace)
            program()
        finally:
            sys.setprofile(outer[0])
            sys.settrace(outer[1])

    def call(self, frame, event, _):
        if frame.f_code.co_filename.startswith(ROOT) and (
            event == "c_return" or (event == "call" and looks_for_signals(frame))
        ):
            self.place(frame)

    def trace(self, frame, _event, _arg):
        return self.line if frame.f_code.co_filename.startswith(ROOT) else None

    def line(self, frame, event, _):
        code = frame.f_code
        if (
            event == "line"
            and code.co_code[frame.f_lasti] != dis.opmap["NOP"]
            and frame.f_lineno not in leaving_lines(code.co_filename)
        ):
            self.place(frame)
        return self.line

    def place(self, frame):
        if is_finalizing(frame):
            return
        self.count += 1
        if self.count == self.n:
            sys.setprofile(None)
            sys.settrace(None)
            code = frame.f_code
            self.at = f"{code.co_filename.removeprefix(ROOT)}:{frame.f_lineno} {code.co_qualname}"
            raise KeyboardInterrupt


def noted(program):
    """The result of a program, and its warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = program()
    return result, [str(one.message).partition("\n")[0] for one in told]  # no tracebacks


def same(found, expected):
    (result, told), (wanted, said) = found, expected
    np.testing.assert_equal(result, wanted)
    assert told == said


def failure(program, state, before, expected):
    """The state that a strike has left, or changed in another run; None if nothing."""
    now = state.now()
    if now != before:
        left = {key: (before[key], now[key]) for key in now if now[key] != before[key]}
        return f"left {left}"
    if expected is None:
        return None
    try:
        same(noted(program), expected)
    except Exception as error:  # noqa: BLE001 - each is a failure
        return f"then {type(error).__name__}: {error}"
    return None


def strikes(name, kind, most):
    """Strike a program at up to `most` places, evenly: how many, and what failed."""
    program, arrays = PROGRAMS[name]
    noted(program)  # imports modules, and says what is said once
    expected = noted(program)
    state = State(arrays)
    count = Strike(kind, 0)
    noted(functools.partial(count.run, program))
    assert count.count > 10
    failures = []
    step = max(count.count / most, 1)
    places = sorted({int(step * i) + 1 for i in range(min(most, count.count))})
    for n in places:
        strike = Strike(kind, n)
        before = state.now()
        kept = None  # the traceback keeps frames, as one that a notebook shows does
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                strike.run(program)
            except BaseException as error:  # noqa: BLE001 - the program may make another of it
                kept = error
        wrong = failure(program, state, before, expected)
        del kept
        if wrong is not None:
            failures.append(f"{n} of {count.count}, {strike.at}: {wrong}")
            if state.now() != before:
                break
    return len(places), failures


KINDS = ("signals", "lines")
DEAR = {"looked_at", "profiled_in_steps"}  # these take half of the time


@pytest.mark.part(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in DEAR])
def test_a_strike_leaves_nothing_set(name, kind):
    _, failures = strikes(name, kind, 4)
    assert not failures


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_more_strikes_leave_nothing_set(name, kind):
    _, failures = strikes(name, kind, 60)
    assert not failures


@pytest.mark.slow
@pytest.mark.scheduled
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_strike_at_any_place_leaves_something_set(name, kind):
    _, failures = strikes(name, kind, 10**9)
    assert not failures


def test_no_file_opens_blocks_that_an_interrupt_leaves_open():
    """In place of these, `_block.py` and `_core/quiet.py` have their own."""
    open_to_interrupts = re.compile(
        r"^(?!.*(>>>|[.]{3} |`)).*"
        r"(contextlib import .*contextmanager|contextlib[.]contextmanager"
        r"|(with .*|@)np[.]errstate[(]|warnings[.]catch_warnings[(]|^ +\w+ = \w+[.]set[(])",
        re.MULTILINE,
    )
    found = {
        str(path.relative_to(ROOT)): [one.group(0).strip() for one in matches]
        for path in Path(ROOT).rglob("*.py")
        if (matches := list(open_to_interrupts.finditer(path.read_text())))
    }
    assert set(found) == {"_core/quiet.py", "_warning.py"}, found


# --- By a timer ---------------------------------------------------------------------------------


class Timer:
    """Interrupts a program, over and over again, as Ctrl-C does: by a signal, at any time."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.armed = False

    def strike(self, _signal, _frame):
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def interrupt(self, program, seconds):
        """Run a program until it is interrupted."""
        handler = signal.signal(signal.SIGALRM, self.strike)
        try:
            self.armed = True
            # Python drops an error of code that it calls when an object goes: then once more.
            signal.setitimer(signal.ITIMER_REAL, self.random.uniform(1e-5, seconds), 0.1)
            while self.armed:
                program()
        except BaseException as error:  # noqa: BLE001 - the program may make another of it
            return error
        finally:
            self.armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)


def interrupts(name, count, seed=0):
    """Interrupt a program so many times: what failed."""
    program, arrays = PROGRAMS[name]
    noted(program)
    begun = time.perf_counter()
    expected = noted(program)
    seconds = max(time.perf_counter() - begun, 1e-4)
    state, timer = State(arrays), Timer(seed)
    failures = []
    for n in range(count):
        before = state.now()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept = timer.interrupt(program, seconds)
        wrong = failure(program, state, before, expected if n % 5 == 0 else None)
        frames = [] if kept is None else traceback.extract_tb(kept.__traceback__)
        if wrong is not None:
            where = [f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in frames[-3:]]
            failures.append(f"{n}, {where}: {wrong}")
            if state.now() != before:
                break
        del kept, frames
    return failures


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer of signals")
@pytest.mark.parametrize("name", PROGRAMS)
def test_interrupts_at_any_time_leave_nothing_set(name, monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    assert not interrupts(name, 10 if name in DEAR else 60)

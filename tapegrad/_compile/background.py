"""Native programs that are built beside the program that runs: `backend="auto"`.

Knows when to build, in which thread, and what to do where that fails. Must not know how a native
program is made; llvmlite is imported when the first one is.

One thread builds, one program after another: building holds Python's lock for most of its time.
A program that nobody has any longer is not built.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import importlib.util
import math
import os
import queue
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

from tapegrad._block import contextmanager
from tapegrad._compile.warned import MUTED
from tapegrad._core.quiet import SILENT, VARIABLE
from tapegrad._errors import EagerWarning, InputError, message
from tapegrad._native.locks import LLVM_LOCK
from tapegrad._program.numpy_program import Runner
from tapegrad._program.passes import Block
from tapegrad._program.program import Segment, UnknownAnswer, copied
from tapegrad._warning import warn

TRIALS = 5  # calls in which machine code is timed beside NumPy's program
FASTER = 0.9  # of its time, below which machine code is chosen: of equals always the same one
LONG = 5.0  # seconds of a build after which a message says so
PATIENCE = 0.2  # seconds that the end of a process waits for the thread that builds
IDLE = 1.0  # seconds after which a thread that has nothing to build ends


@functools.cache
def has_llvm() -> bool:
    """Whether llvmlite is there."""
    return importlib.util.find_spec("llvmlite") is not None


def require_llvm() -> None:
    """Raise what says how to have llvmlite, if it is not there."""
    if not has_llvm():
        raise InputError(
            message(
                "compile",
                'llvmlite for backend="llvm"',
                "none",
                'Run `pip install tapegrad[fast]`, or leave backend at "auto"',
            )
        )


def runner_of(
    backend: str, root: Segment, inputs: Sequence[Any], threads: int, before: Any = None
) -> Any:
    """The runner of a program, by the name of the back end.

    before: what ran it until a further path was recorded, whose machine code stays.
    """
    if backend == "llvm":
        require_llvm()
        made = native(inputs, Runner(root, "numpy"), threads, before)
        if made.error is not None:
            warn_of(made.error)
        return made
    if backend == "auto" and has_llvm():
        return Growing(root, inputs, threads, before)
    return Runner(root, "numpy" if backend == "auto" else backend)


def native(inputs: Sequence[Any], usual: Runner, threads: int, before: Any = None) -> Any:
    """The native program; None of its paths may be one that is compiled."""
    with LLVM_LOCK:
        from tapegrad._native.native_program import NativeRunner  # here: it imports llvmlite

    return NativeRunner(usual.block, inputs, usual, threads, before)


@contextmanager
def announced(name: str, builds: bool = True) -> Iterator[None]:
    """Say so if a build that the caller waits for takes long."""
    if not builds:
        yield
        return

    def tell() -> None:
        import logging  # here: few programs take so long

        logging.getLogger("tapegrad").warning(
            "%s: its program is being built, for more than %g s so far. backend='auto' builds "
            "beside the calls, prepare() ahead of them, and backend='numpy' no machine code.",
            name,
            LONG,
        )

    timer = threading.Timer(LONG, tell)
    timer.daemon = True
    with contextlib.suppress(RuntimeError):  # where no thread can start
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def warn_of(error: BaseException) -> None:
    """Warn that a program stays one of NumPy's calls."""
    warn(
        f"compile: no native program could be built ({type(error).__name__}: {error}). "
        "The program of NumPy's calls is used instead.",
        EagerWarning,
    )


class Growing:
    """Runs a program by NumPy until machine code is known to be faster, and then by that for ever.

    Of a further path the machine code is added to what has been chosen for those before.
    """

    def __init__(
        self, root: Segment, inputs: Sequence[Any], threads: int, before: Any = None
    ) -> None:
        self.usual = self.now = Runner(root, "numpy")
        self.threads = threads
        # A native program is made for their shapes, dtypes and strides, of no account otherwise.
        self.inputs: Sequence[Any] | None = list(inputs)
        self.error: BaseException | None = None
        self.process = 0  # that was asked to build
        self.is_settled = False  # whether another takes its place, and it may change no more
        self.is_final = False  # whether it is known which program makes all further calls
        self.failed: str | None = None  # why there is no machine code
        self.is_timed = False  # whether machine code was timed
        self.chosen = before.settle() if isinstance(before, Growing) else None
        if self.chosen is not None:
            self.now = self.chosen = self.chosen.beside(self.usual)

    def run(self, inputs: Sequence[Any]) -> Any:
        """A call, until the native program is there or has failed; then `_take` has another."""
        error, self.error = self.error, None
        if error is not None:
            self.failed = f"{type(error).__name__}: {error}"
            self._take(self.now)
            warn_of(error)
        elif self.process != os.getpid():  # never asked, or asked of a thread that a fork left
            self.process = os.getpid() if BUILDER.ask(self) else 0
        return self.now.run(inputs)

    def build(self) -> None:
        """Build the native program, and use or time it; called by the builder's thread."""
        inputs = self.inputs
        if inputs is None:
            return
        try:
            made = native(inputs, self.usual, self.threads, self.chosen)
        except Exception as error:  # noqa: BLE001 - told in the next call
            self.error = error
            return
        if made.error is not None and not made.paths:
            self.error = made.error
        elif self.chosen is not None:
            self.choose(made)
        else:
            self.is_timed = bool(made.paths)
            self._take(_Trial(self, made) if made.paths else self.usual)

    def choose(self, made: Any) -> None:
        """Have all further calls made by machine code, if they still come here."""
        with BUILDER.lock:
            if not self.is_settled:
                self.chosen = made
                self._take(made)

    @property
    def bytes(self) -> int:
        """The memory that NumPy's program keeps between calls."""
        return self.usual.bytes

    def settle(self) -> Any:
        """Change no more; the machine code that has been chosen, or None."""
        with BUILDER.lock:
            self.is_settled = True
        return self.chosen

    def _take(self, runner: Any) -> None:
        """Have all further calls made by a runner."""
        self.inputs = None
        self.is_final = type(runner) is not _Trial
        self.__dict__["run"] = runner.run

    @property
    def status(self) -> str:
        """The back end that makes the calls now, and why, in words."""
        if self.chosen is not None:
            return "machine code" if self.inputs is None else "machine code; more is being built"
        if self.inputs is not None:
            when = "is being built" if self.process else "will be built from the next call on"
            return f"NumPy's program; machine code {when}"
        if not self.is_final:
            return f"NumPy's program; machine code is timed beside it in {TRIALS} calls"
        if self.failed is not None:
            return f"NumPy's program, as machine code could not be built ({self.failed})"
        if self.is_timed:
            return "NumPy's program, as machine code is not faster"
        return "NumPy's program, as its dtypes or many ways are not for machine code"

    def text(self) -> str:
        """The code that makes the calls now."""
        return str((self.usual if self.chosen is None else self.chosen).text())


class _Trial:
    """The calls by NumPy's program that tell whether machine code is faster.

    Of a few numbers Python's floats take less time than a call of machine code. In a few calls
    machine code runs too, just before or just after, in the same thread and on the same arguments,
    with copies of those that the program writes into. The least times are compared, of calls whose
    way is compiled; the calls have NumPy's answers. Machine code must be a tenth faster.
    """

    def __init__(self, program: Growing, made: Any) -> None:
        self.program, self.made, self.usual = program, made, program.usual
        # Nothing is called twice that may be seen: such paths are not compiled.
        self.native = made.beside(_Nowhere)
        self.written = _written(program.usual.block)
        self.turns = deque(range(TRIALS))
        self.best = [math.inf, math.inf]

    def run(self, inputs: Sequence[Any]) -> Any:
        """A call by NumPy's program; the one that has the last turn decides."""
        try:
            turn = self.turns.pop()
        except IndexError:
            return self.usual.run(inputs)
        try:
            given = [copied(x) if i in self.written else x for i, x in enumerate(inputs)]
            native = self._unseen(given) if turn % 2 else math.inf
            start = perf_counter()
            out = self.usual.run(inputs)
            usual = perf_counter() - start
            native = native if turn % 2 else self._unseen(given)
            if native < math.inf:
                self.best = [min(self.best[0], usual), min(self.best[1], native)]
        finally:
            if turn == 0:
                if self.best[1] < FASTER * self.best[0]:
                    self.program.choose(self.made)
                else:
                    self.program._take(self.usual)
        return out

    def _unseen(self, inputs: Sequence[Any]) -> float:
        """The time of a call by machine code whose results, errors and warnings are nobody's."""
        before = VARIABLE.get()
        try:
            VARIABLE.set(SILENT)
            MUTED.set(True)
            start = perf_counter()
            self.native.run(inputs)
            return perf_counter() - start
        except Exception:  # noqa: BLE001 - the call goes another way
            return math.inf
        finally:
            VARIABLE.set(before)
            MUTED.set(False)


class _Nowhere:
    """A program of no paths."""

    @staticmethod
    def run(_: Sequence[Any]) -> Any:
        raise UnknownAnswer


def _written(root: Block) -> set[int]:
    """The inputs that a program writes into, on whichever path."""
    found: set[int] = set()
    pending = [root]
    while pending:
        block = pending.pop()
        found.update([position for position, _ in block.writes])
        pending += block.children.values()
    return found


class Builder:
    """The thread that builds."""

    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        """Forget what was asked: in the beginning, and after a fork, which leaves no thread."""
        self.asked: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None
        self.lock = threading.Lock()
        self.ended = False

    def ask(self, program: Growing | _Marker) -> bool:
        """Have a program built; False where no thread can start now, and it must ask again."""
        if self.ended:
            return True
        with self.lock:
            if self.thread is None:
                thread = threading.Thread(target=self._work, name="tapegrad-compile", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    return False
                self.thread = thread
            self.asked.put(weakref.ref(program))
        return True

    def _work(self) -> None:
        with contextlib.suppress(_Ended):
            self._build_all()

    def _build_all(self) -> None:
        while True:
            try:
                found = self.asked.get(timeout=IDLE)
            except queue.Empty:
                with self.lock:
                    if not self.asked.empty():
                        continue
                    self.thread = None
                return
            program = found() if found is not None else None
            if self.ended:
                return
            if program is not None:
                program.build()
            del program

    def end(self) -> None:
        """Before the process ends, the thread must: machine code's libraries go with it.

        Python code of ours ends at once. LLVM's may go on for seconds, and cannot be stopped.
        """
        self.ended = True
        with self.lock:
            thread = self.thread
            self.asked.put(None)
        if thread is None:
            return
        kind, raised = ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Ended)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(kind, raised)
        thread.join(PATIENCE)
        if thread.is_alive() and not _leaves_libraries():
            thread.join()

    def wait(self, seconds: float | None = 60.0) -> bool:
        """Wait until all that was asked so far is built; False if it takes longer."""
        done = threading.Event()
        marker = _Marker(done)
        return self.ask(marker) and not self.ended and done.wait(seconds)


class _Ended(BaseException):
    """Raised in the thread that builds when the process ends."""


def _leaves_libraries() -> bool:
    """Have the process end without the destructors of its libraries, of which a thread has one.

    They run after all that Python does at its end. Only glibc's `on_exit` keeps the exit status.
    """
    try:
        libc = ctypes.CDLL(None)
        return bool(libc.on_exit(libc._exit, None) == 0)
    except (AttributeError, OSError, TypeError):  # another system's library
        return False


class _Marker:
    """A build that waits for all before it."""

    def __init__(self, done: threading.Event) -> None:
        self.build = done.set


BUILDER = Builder()
atexit.register(BUILDER.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=BUILDER.start_anew)

__all__ = ["BUILDER", "Growing", "has_llvm", "require_llvm", "runner_of"]

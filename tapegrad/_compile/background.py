"""Native programs that are built beside the program that runs: `backend="auto"`.

Knows when to build, in which thread, and what to do where that fails. Must not know how a native
program is made; llvmlite is imported when the first one is.

One thread builds, one program after another: building holds Python's lock for most of its time.
A program that nobody has any longer is not built.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import math
import os
import queue
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

from tapegrad._errors import EagerWarning, InputError, message
from tapegrad._native.locks import LLVM_LOCK
from tapegrad._program.numpy_program import Runner
from tapegrad._program.program import Segment
from tapegrad._warning import warn

TRIALS = 10  # calls, half of them native, before the faster program is known
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


def runner_of(backend: str, root: Segment, inputs: Sequence[Any], threads: int) -> Any:
    """What runs a program, by the name of the back end."""
    if backend == "llvm":
        require_llvm()
        made = native(inputs, Runner(root, "numpy"), threads)
        if made.error is not None:
            warn_of(made.error)
        return made
    if backend == "auto" and has_llvm():
        return Growing(root, inputs, threads)
    return Runner(root, "numpy" if backend == "auto" else backend)


def native(inputs: Sequence[Any], usual: Runner, threads: int) -> Any:
    """The native program; None of its paths may be one that is compiled."""
    with LLVM_LOCK:
        from tapegrad._native.native_program import NativeRunner  # here: it imports llvmlite

    return NativeRunner(usual.block, inputs, usual, threads)


def warn_of(error: BaseException) -> None:
    """Warn that a program stays one of NumPy's calls."""
    warn(
        f"compile: no native program could be built ({type(error).__name__}: {error}). "
        "The program of NumPy's calls is used instead.",
        EagerWarning,
    )


class Growing:
    """Runs a program by NumPy until the native one is ready, which is built from a call on."""

    def __init__(self, root: Segment, inputs: Sequence[Any], threads: int) -> None:
        self.usual = Runner(root, "numpy")
        self.threads = threads
        # A native program is made for their shapes, dtypes and strides, of no account otherwise.
        self.inputs: Sequence[Any] | None = list(inputs)
        self.error: BaseException | None = None
        self.process = 0  # that was asked to build

    def run(self, inputs: Sequence[Any]) -> Any:
        """A call, until the native program is there or has failed; then `_take` has another."""
        error, self.error = self.error, None
        if error is not None:
            self._take(self.usual)
            warn_of(error)
        elif self.process != os.getpid():  # never asked, or asked of a thread that a fork left
            self.process = os.getpid() if BUILDER.ask(self) else 0
        return self.usual.run(inputs)

    def build(self) -> None:
        """Build the native program, and use it; called by the builder's thread."""
        inputs = self.inputs
        if inputs is None:
            return
        try:
            made = native(inputs, self.usual, self.threads)
        except Exception as error:  # noqa: BLE001 - told in the next call
            self.error = error
            return
        if made.error is not None and not made.paths:
            self.error = made.error
        else:
            self._take(_Trial(self, made) if made.paths else self.usual)

    def _take(self, runner: Any) -> None:
        """Have all further calls made by a runner."""
        self.inputs = None
        self.__dict__["run"] = runner.run


class _Trial:
    """The first calls of a native program, in turn with NumPy's, of which the faster one stays.

    Of a few numbers Python's floats take less time than a call of machine code.
    """

    def __init__(self, program: Growing, made: Any) -> None:
        self.program = program
        self.runners = (made, program.usual)
        self.best = [math.inf, math.inf]
        self.turn = 0

    def run(self, inputs: Sequence[Any]) -> Any:
        """A call by one of the two."""
        which = self.turn % 2
        self.turn += 1
        start = time.perf_counter()
        out = self.runners[which].run(inputs)
        self.best[which] = min(self.best[which], time.perf_counter() - start)
        if self.turn >= TRIALS:
            self.program._take(self.runners[self.best[1] < self.best[0]])
        return out


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

    def ask(self, program: Growing) -> bool:
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
        """Before the process ends, the thread must: machine code's libraries go with it."""
        self.ended = True
        with self.lock:
            thread = self.thread
            self.asked.put(None)
        if thread is not None:
            thread.join()

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until all that was asked so far is built; for tests."""
        done = threading.Event()
        marker = _Marker(done)
        self.ask(marker)  # type: ignore[arg-type]
        return done.wait(seconds)


class _Marker:
    """What is built when all before it is."""

    def __init__(self, done: threading.Event) -> None:
        self.build = done.set


BUILDER = Builder()
atexit.register(BUILDER.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=BUILDER.start_anew)

__all__ = ["BUILDER", "Growing", "has_llvm", "require_llvm", "runner_of"]

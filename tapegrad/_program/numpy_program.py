"""The NumPy back end: a program as straight-line Python over arrays that are made once.

Knows how a source becomes a function, and how calls share workspaces. Must not know how the
source is written.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tapegrad._block import contextmanager
from tapegrad._core.quiet import VARIABLE
from tapegrad._program.call_source import STATE
from tapegrad._program.numpy_source import RECORDINGS, Source
from tapegrad._program.passes import optimized
from tapegrad._program.program import Segment, UnknownAnswer, interpret
from tapegrad._program.storages import allocated
from tapegrad._tree import unflatten

KEPT_BYTES = 1 << 26  # of a workspace that stays between calls


@contextmanager
def _without_collector() -> Iterator[None]:
    """Without Python's search for cycles, which would look at all nodes again and again."""
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if enabled:
            gc.enable()


class Runner:
    """Runs a program."""

    def __init__(self, root: Segment, backend: str) -> None:
        self.root = root
        self.backend = backend
        self.free: deque[Any] = deque()
        self.build: Any = None
        if backend == "interpreter":
            return
        with _without_collector():
            self.block = optimized(root)
            self.source = source = Source(self.block, root.inputs, root.start)
            exec(compile(source.text, "<program>", "exec"), source.namespace)  # noqa: S102
            self.build = source.namespace["build"]
            self.bytes = source.workspace.bytes

    @property
    def status(self) -> str:
        """The name of the back end, for messages."""
        return "NumPy's program" if self.build is not None else "NumPy's program, call by call"

    def text(self) -> str:
        """The Python of a call."""
        if self.build is not None:
            return self.source.text
        return Source(optimized(self.root), self.root.inputs, self.root.start).text

    def run(self, inputs: Sequence[Any]) -> Any:
        """The results of a call; UnknownAnswer where the program does not go on."""
        if self.build is None:
            return self._interpret(inputs)
        try:
            run = self.free.pop()
        except IndexError:
            run = self.build([allocated(key) for key in self.source.workspace.buffers])
        if not self.source.silences:
            out = run(*inputs)
        else:
            usual = STATE()
            try:
                out = run(*inputs)
            except BaseException:
                VARIABLE.set(usual)
                raise
        if self.bytes <= KEPT_BYTES:
            self.free.append(run)
        return out

    def _interpret(self, inputs: Sequence[Any]) -> Any:
        leaves, values, segment = interpret(self.root, inputs)
        if segment.recordings < RECORDINGS:
            raise UnknownAnswer
        out = [leaf.copy("K") if type(leaf) is np.ndarray else leaf for leaf in leaves]
        for position, ref in segment.writes:
            np.copyto(inputs[position], values[ref.at])
        return unflatten(segment.out.structure, out)


__all__ = ["KEPT_BYTES", "RECORDINGS", "Runner", "Source"]

"""How many examples of a `vmap`, or rows of a Jacobian, are computed at once.

Knows the budget of memory, how to measure what a few examples need, and how chunks of a result are
put together. Must not know what an example computes.

`chunk_size="auto"`: chunks of 1, 2, 16, 128, ... examples are run and thrown away until the next
is likely to be over the budget. A power law through the last points says which size fits. So the
waste is about a seventh of a chunk, and results have the bits of `chunk_size=size`: no chunk of
another size is part of them.
"""

from __future__ import annotations

import math
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from tapegrad._arrays.buffers import is_inside
from tapegrad._block import contextmanager, undoing
from tapegrad._config import config
from tapegrad._core.entry import Entry
from tapegrad._errors import InputError, message

ChunkSize = int | str | None
Result = TypeVar("Result")

AUTO = "auto"
STEP = 8  # by which probes grow
AIM = 0.9  # the part of the budget that is aimed at: what is predicted is not exact
MOST_RESTARTS = 8


def require_chunk_size(call: str, chunk_size: Any) -> None:
    """Raise InputError for what is no chunk size."""
    if chunk_size is None or (isinstance(chunk_size, str) and chunk_size == AUTO):
        return
    integer = isinstance(chunk_size, (int, np.integer)) and not isinstance(chunk_size, bool)
    if not integer or chunk_size < 1:
        expected = 'a chunk_size of at least 1, "auto" or None'
        raise InputError(
            message(call, expected, repr(chunk_size), "Leave it away for the default")
        )


def measures() -> bool:
    """Whether chunks can be measured here: outside of transforms and recorded programs.

    Inside one, what the chunks make is kept by the tape around them, and so is what probes make.
    """
    return not is_inside()


class Chosen:
    """The size of chunks that fits into the budget of memory, found by running small ones.

    run: computes a chunk of that many examples. total: how many examples there are. kept: bytes
    of the budget that are taken. `size` is the size to begin with.
    """

    def __init__(self, run: Callable[[int], Any], total: int, kept: int = 0) -> None:
        self.budget = max(config.memory_budget - kept, 1)
        self.points: list[tuple[int, int]] = []
        found = self._climbed(run, total)
        self.size = found if found == total else _rounded(found)

    def _climbed(self, run: Callable[[int], Any], total: int) -> int:
        if total <= 1:
            return max(total, 1)
        run(1)  # the first call fills caches, which later ones do not pay for
        size = 1
        while True:
            try:
                self.measured(size, run, size)
            except MemoryError:
                if size == 1:
                    raise
                return max(size // STEP, 1)
            fits = self.fitting(total)
            if size > 1 and fits <= size * STEP:
                return fits
            if self.is_over or total == 2:
                return fits
            size = min(2 if size == 1 else size * STEP, total)

    @property
    def is_over(self) -> bool:
        """Whether the last chunk needed more than the budget."""
        return self.points[-1][1] > self.budget

    def measured(self, size: int, run: Callable[..., Result], *args: Any) -> Result:
        """A chunk of this size; how much it needed is noted."""
        with tracing():
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            result = run(*args)
            peak = tracemalloc.get_traced_memory()[1] - before
        self.points.append((size, max(peak, 1)))
        return result

    def fitting(self, total: int) -> int:
        """The largest size that is predicted to fit, by a power law through the last points."""
        *_, (size, peak) = self.points
        aim = AIM * self.budget
        if len(self.points) == 1:
            return min(max(int(size * aim / peak), 1), total)
        former, former_peak = self.points[-2]
        gained, ratio = peak - former_peak, size / former
        if gained <= 0:  # nothing is seen of the examples beside what all share
            return total if peak <= self.budget else max(min(former, size) // 2, 1)
        power = 1.0
        if len(self.points) > 2:
            oldest, oldest_peak = self.points[-3]
            if former_peak > oldest_peak and former / oldest == ratio:
                power = min(max(math.log(gained / (former_peak - oldest_peak), ratio), 1.0), 4.0)
        grown = 1 + (aim - peak) * (1 - ratio**-power) / gained
        return int(min(max(size * max(grown, 0.0) ** (1 / power), 1), total))

    def lowered(self) -> None:
        """Take a smaller size, after a chunk that needed too much."""
        size, peak = self.points[-1]
        known = self.is_over and size == self.size
        share = AIM * self.budget / peak if known else 0.5
        self.size = max(min(int(self.size * share), self.size - 1), 1)


def _rounded(size: int) -> int:
    """1, 2, 3, 4, 6, 8, 12, ...: small noise in what was measured shall not change the size."""
    unit = 1 << max(size.bit_length() - 2, 0)
    return size // unit * unit


def in_budget(chosen: Chosen, attempt: Callable[[int], Result]) -> Result:
    """`attempt(size)`, again with a smaller size where memory does not suffice."""
    for _ in range(MOST_RESTARTS):
        try:
            return attempt(chosen.size)
        except MemoryError:
            if chosen.size == 1:
                raise
            chosen.lowered()
    return attempt(1)


def bytes_kept(entries: Iterable[Entry]) -> int:
    """The bytes of the arrays that entries of a tape keep, each counted once."""
    found: dict[int, int] = {}

    def note(part: Any) -> None:
        if isinstance(part, (tuple, list)):
            for one in part:
                note(one)
        elif isinstance(part, np.ndarray):
            owner = part.base if isinstance(part.base, np.ndarray) else part
            found[id(owner)] = owner.nbytes

    for entry in entries:
        note(entry[2:])
    return sum(found.values())


class Joined:
    """The chunks of one result, along an axis, in an array that is made once.

    Concatenation at the end would need twice the memory of the result. Chunks that are no plain
    arrays (traced, lazy) are concatenated nevertheless.
    """

    def __init__(self, axis: int, total: int) -> None:
        self.axis, self.total = axis, total
        self.parts: list[Any] = []
        self.whole: Any = None
        self.filled = 0

    def add(self, part: Any) -> None:
        """The next chunk."""
        if self.whole is None and not self.parts and type(part) is np.ndarray:
            axis = self.axis % part.ndim
            if part.shape[axis] >= self.total:
                self.parts.append(part)
                return
            shape = (*part.shape[:axis], self.total, *part.shape[axis + 1 :])
            self.whole = np.empty(shape, part.dtype, "F" if part.flags.fnc else "C")
        if self.whole is not None and not self._fits(part):
            self.parts, self.whole = [self._place(0, self.filled)], None
        if self.whole is None:
            self.parts.append(part)
            return
        count = part.shape[self.axis]
        self._place(self.filled, self.filled + count)[...] = part
        self.filled += count

    def _fits(self, part: Any) -> bool:
        if type(part) is not np.ndarray or part.dtype != self.whole.dtype:
            return False
        count = part.shape[self.axis] if part.ndim == self.whole.ndim else self.total
        room = self.filled + count <= self.total
        return room and self._place(0, count).shape == part.shape

    def _place(self, start: int, stop: int) -> Any:
        axis = self.axis % self.whole.ndim
        return self.whole[(slice(None),) * axis + (slice(start, stop),)]

    def result(self) -> Any:
        """All chunks."""
        if self.whole is not None:
            return self.whole
        return self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts, self.axis)


# --- The memory that a run allocates ------------------------------------------------------------

_lock = threading.Lock()
_blocks: dict[object, None] = {}  # that measure, in all threads
_ours = [False]  # whether we started it


@contextmanager
def tracing() -> Iterator[None]:
    """Allocations are traced; only what was not traced before is stopped, with the last block."""
    block = object()

    def stop() -> None:
        with _lock:
            _blocks.pop(block, None)
            if not _blocks and _ours[0]:
                tracemalloc.stop()
                _ours[0] = False

    with undoing(stop):
        with _lock:
            if not _blocks:
                _ours[0] = not tracemalloc.is_tracing()
                if _ours[0]:
                    tracemalloc.start(1)
            _blocks[block] = None
        yield


ALL = sys.maxsize

__all__ = [
    "ALL",
    "AUTO",
    "Chosen",
    "ChunkSize",
    "Joined",
    "bytes_kept",
    "in_budget",
    "measures",
    "require_chunk_size",
    "tracing",
]

"""Memory that a gradient has freed is kept for the next one.

glibc's malloc asks the system for new pages for each large array, and gives them back when the
array is freed. The system clears such pages, one by one, when they are first touched: a gradient
of arrays of 200 x 200 spends two thirds of its time in that. How large "large" is, and how much
freed memory is kept, malloc learns from what is freed (`M_MMAP_THRESHOLD` and
`M_TRIM_THRESHOLD` in mallopt(3)): after an array of n bytes, at most 32 MiB, those of up to n
bytes come from memory that is kept, of which as much as 2 n bytes stay. Programs with one large
array among them learn it by chance. Here it is taught at once, by an array that nothing is
written to and that therefore costs no memory.

Whoever sets one of these two by an environment variable of malloc's turns the learning off, this
one too. With other allocators nothing changes.

Knows malloc. Must not know anything else.
"""

from __future__ import annotations

import contextlib

import numpy as np

_LARGEST = 31 << 20  # bytes; with what malloc adds it must stay within the 32 MiB


def keep_freed_memory() -> None:
    """Let malloc keep up to 62 MiB of freed memory, and serve arrays of up to 31 MiB from it."""
    with contextlib.suppress(MemoryError):  # under a limit on memory it stays as it is
        np.empty(_LARGEST, np.uint8)


keep_freed_memory()

__all__ = ["keep_freed_memory"]

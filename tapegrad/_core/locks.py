"""Locks on arrays that a derivative needs, so that the program does not write to them meanwhile.

Knows how an array is made read-only while transforms need it, and how a write through a view that
was made before is noticed. Must not know tapes.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np


class Locked:
    """An array that a tape has locked, with its checksum then if it is to be verified."""

    __slots__ = ("array", "checksum")

    def __init__(self, array: Any, checksum: int | None) -> None:
        self.array = array
        self.checksum = checksum

    def is_broken(self) -> bool:
        """Whether the array was changed through a view made before."""
        return self.checksum is not None and checksum_of(self.array) != self.checksum


class Locks:
    """The arrays that transforms have locked, and which have: the last one unlocks.

    Transforms in two threads may share an array, or one transform inside another in one thread.
    """

    def __init__(self) -> None:
        self.holders: dict[int, set[object]] = {}
        self.mutex = threading.Lock()

    def __contains__(self, key: int) -> bool:
        return key in self.holders

    def add(self, array: Any, holder: object) -> None:
        """Lock an array that is writeable, or that another transform has locked."""
        with self.mutex:
            self.holders.setdefault(id(array), set()).add(holder)
            array.flags.writeable = False

    def remove(self, array: Any, holder: object) -> None:
        """Undo `add`; an interrupted call, by another one."""
        with self.mutex:
            holders = self.holders.get(id(array))
            if holders is None:
                return
            holders.discard(holder)
            if not holders:
                array.flags.writeable = True
                del self.holders[id(array)]


LOCKS = Locks()


def words_of(array: Any) -> Any:
    """The memory of an array that owns it, as integers."""
    width = 8 if array.nbytes % 8 == 0 else math.gcd(array.dtype.itemsize, 8)
    return array.ravel(order="K").view(f"u{width}")


_COLUMNS = 1021  # a prime, so that no usual length of rows is a multiple of it


def _scattered(numbers: Any) -> Any:
    """Odd numbers without a pattern (Steele et al., Fast splittable generators, 2014)."""
    numbers = numbers * np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ numbers >> 30) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ numbers >> 27) * np.uint64(0x94D049BB133111EB)
    return (numbers ^ numbers >> 31) | 1


_WEIGHTS = _scattered(np.arange(1, _COLUMNS + 1, dtype=np.uint64))


def checksum_of(array: Any) -> int:
    """A weighted sum of an array's bits as integers, which a write changes; one pass over them.

    The weights differ, so that elements which change places change the sum.
    """
    words = words_of(array)
    whole = len(words) // _COLUMNS * _COLUMNS
    sums = np.add.reduce(words[:whole].reshape(-1, _COLUMNS), axis=0, dtype=np.uint64)
    rest = words[whole:]
    return int(np.add.reduce(sums * _WEIGHTS)) + int(np.add.reduce(rest * _WEIGHTS[: len(rest)]))


__all__ = ["LOCKS", "Locked", "checksum_of", "words_of"]

"""States of arrays in files: written once, read as memory maps, and always removed.

Knows arrays and files. Must not know traces: what is no plain array is kept as it is.

A state is one `.npy` file, of the bytes of its arrays one after the other. It is written by
ordinary calls, which report a full disk; a store to mapped memory would end the process.
"""

from __future__ import annotations

import errno
import itertools
import math
import os
import shutil
import weakref
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tapegrad._errors import InputError, describe, message
from tapegrad._files import open_regular
from tapegrad._transforms.owned_folders import OwnedFolder

_ADVICE = "Free space, give a directory on another disk, or store fewer states there"
_ALIGNED = 64  # bytes: the places of arrays in a file, and what the header's length divides by


class _Place:
    """Where an array lies in a file: its place, shape, dtype, and the order of its axes."""

    __slots__ = ("axes", "dtype", "flips", "shape", "start")

    def __init__(self, array: np.ndarray[Any, Any], start: int) -> None:
        self.start, self.dtype = start, array.dtype
        # Rounding may depend on the order in memory, so it is the same when it is read.
        self.flips: tuple[Any, ...] = (
            *(slice(None, None, -1 if s < 0 else 1) for s in array.strides),
            ...,
        )
        self.axes = tuple(sorted(range(array.ndim), key=lambda k: -abs(array.strides[k])))
        self.shape = tuple(array.shape[k] for k in self.axes)

    def same(self, other: _Place) -> bool:
        """Whether an array lies in its file as another does in that one's."""
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def bytes_of(self, array: np.ndarray[Any, Any]) -> Any:
        """The array's elements in the order of the file, as bytes."""
        ordered = np.ascontiguousarray(array[self.flips].transpose(self.axes))
        return ordered.reshape(-1).view(np.uint8)

    def array_in(self, content: np.ndarray[Any, Any]) -> Any:
        """The array, as a view of the file's content."""
        size = math.prod(self.shape) * self.dtype.itemsize
        if size:
            ordered = content[self.start : self.start + size].view(self.dtype).reshape(self.shape)
        else:
            ordered = np.empty(self.shape, self.dtype)
        places = sorted(range(len(self.axes)), key=self.axes.__getitem__)
        return ordered.transpose(places)[self.flips]


class _Layout:
    """How a file holds a state: a `_Place` for each array, None for other leaves, and its size.

    States that lie alike share one.
    """

    __slots__ = ("offset", "places", "size")

    def __init__(self, places: list[_Place | None], size: int) -> None:
        self.places, self.size = places, size
        self.offset = 0  # the length of the header

    def same(self, other: _Layout) -> bool:
        """Whether files of the other layout are read alike."""
        return len(self.places) == len(other.places) and all(
            a is b if a is None or b is None else a.same(b)
            for a, b in zip(self.places, other.places, strict=True)
        )


class StoredState(NamedTuple):
    """A state in a file, by its number; `others` are its leaves that are no arrays."""

    number: int
    layout: _Layout
    others: tuple[Any, ...]


class StoredStates:
    """A stack of stored states, each with a position, of 32 bytes a state beside the others.

    There may be 10^5 of them and more, which is no less memory than a state.
    """

    def __init__(self) -> None:
        self.positions, self.numbers = array("q"), array("q")
        self.rest: list[tuple[_Layout, tuple[Any, ...]]] = []

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def push(self, position: int, stored: StoredState) -> None:
        """Put a state on top."""
        self.positions.append(position)
        self.numbers.append(stored.number)
        rest = stored.layout, stored.others
        if self.rest:
            before = self.rest[-1]
            if before[0] is rest[0] and not before[1] and not rest[1]:
                rest = before
        self.rest.append(rest)

    def pop(self) -> tuple[int, StoredState]:
        """The position and the state on top, which is removed."""
        return self.positions.pop(), StoredState(self.numbers.pop(), *self.rest.pop())


class StateFiles:
    """A directory of its own inside a given one, for the states of one call.

    It is removed by `close`, with the last reference to this object, and when Python exits; not
    by a forked process. Where the process is killed, the next one that makes such a directory in
    the same place does it. Raises OSError, of the class of the system's, if it cannot be made.
    """

    def __init__(self, call: str, directory: str | os.PathLike[str]) -> None:
        self.call = call
        try:
            given = os.fspath(directory)
        except TypeError:
            raise InputError(
                message(call, "the path of a directory", describe(directory), "Give a string")
            ) from None
        try:
            owned = OwnedFolder(given)
        except OSError as error:
            expected = "an existing directory in which files can be made"
            advice = "Make the directory first, or choose another"
            raise _as_told(error, call, expected, advice, given) from error
        self.directory = Path(owned.path)
        self.count = itertools.count()
        self._layout = _Layout([], 0)  # of the last state
        self._finalizer = weakref.finalize(self, owned.remove)

    def close(self) -> None:
        """Remove the directory with all files."""
        self._finalizer()

    @property
    def free(self) -> int:
        """How many bytes are free on the disk."""
        return shutil.disk_usage(self.directory).free

    def require_space(self, size: int) -> None:
        """Raise OSError if fewer bytes are free."""
        if size > self.free:
            expected = f"{size} bytes for its states"
            error = OSError(errno.ENOSPC, f"{self.free} bytes on the disk")
            raise _as_told(error, self.call, expected, _ADVICE, self.directory)

    def require_writable(self, leaves: Sequence[Any]) -> None:
        """Raise InputError for an array whose elements are no numbers: of objects."""
        for leaf in leaves:
            if type(leaf) is np.ndarray and leaf.dtype.hasobject:
                raise InputError(
                    message(
                        self.call,
                        "arrays of a fixed number of bytes an element, to write into a file",
                        describe(leaf),
                        "Keep such an array outside of the state, or leave the disk away",
                    )
                )

    def write(self, leaves: Sequence[Any]) -> StoredState:
        """Write the arrays among the leaves into a file, which is no longer there on an error."""
        self.require_writable(leaves)
        layout, others = self._laid_out(leaves)
        number = next(self.count)
        path = self._path(number)
        try:
            layout.offset = _write(path, layout, leaves)
        except BaseException as error:
            path.unlink(missing_ok=True)
            if not isinstance(error, OSError):
                raise
            expected = f"to write a state of {layout.size} bytes"
            raise _as_told(error, self.call, expected, _ADVICE, self.directory) from error
        return StoredState(number, layout, others)

    def _path(self, number: int) -> Path:
        return self.directory / f"{number}.npy"

    def _laid_out(self, leaves: Sequence[Any]) -> tuple[_Layout, tuple[Any, ...]]:
        """The layout of a state, that of the state before this one if they lie alike; the rest."""
        places: list[_Place | None] = []
        others, end = [], 0
        for leaf in leaves:
            if type(leaf) is np.ndarray:
                places.append(_Place(leaf, end))
                end += -(-leaf.nbytes // _ALIGNED) * _ALIGNED
            else:
                places.append(None)
                others.append(leaf)
        layout = _Layout(places, end)
        if not layout.same(self._layout):
            self._layout = layout
        return self._layout, tuple(others)

    def read(self, stored: StoredState) -> list[Any]:
        """The leaves of a state; its arrays are read-only views of the mapped file."""
        path, layout = self._path(stored.number), stored.layout
        try:
            if not layout.size:
                content: Any = np.empty(0, np.uint8)
            else:
                content = _mapped(path, layout)
        except OSError as error:
            expected = "the state that it has written"
            advice = "Leave the files alone until the derivative is taken"
            raise _as_told(error, self.call, expected, advice, path) from error
        others = iter(stored.others)
        return [
            next(others) if place is None else place.array_in(content) for place in layout.places
        ]

    def remove(self, stored: StoredState) -> None:
        """Remove the file of a state; what cannot be removed yet goes with the directory."""
        try:
            self._path(stored.number).unlink(missing_ok=True)
        except OSError:
            return  # Windows keeps what is still mapped


def _mapped(path: Path, layout: _Layout) -> Any:
    """The arrays of a file; OSError for another file than was written."""
    with open_regular(path, links=False) as file:
        # A map of what is not there would end the process.
        if os.fstat(file.fileno()).st_size != layout.offset + layout.size:
            raise OSError(errno.EIO, "a file of another length")
        return np.asarray(np.memmap(file, np.uint8, "r", layout.offset))


def _write(path: Path, layout: _Layout, leaves: Sequence[Any]) -> int:
    """Write a file; the length of its header."""
    header = {"descr": "|u1", "fortran_order": False, "shape": (layout.size,)}
    with open(path, "xb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        offset = file.tell()
        for place, leaf in zip(layout.places, leaves, strict=True):
            if place is not None and leaf.nbytes:
                file.write(place.bytes_of(leaf))
                file.write(bytes(-leaf.nbytes % _ALIGNED))
    return offset


def size_of(leaves: Sequence[Any]) -> int:
    """The number of bytes that a file of these leaves takes, about."""
    return 2 * _ALIGNED + sum(
        -(-leaf.nbytes // _ALIGNED) * _ALIGNED for leaf in leaves if type(leaf) is np.ndarray
    )


def _as_told(error: OSError, call: str, expected: str, advice: str, path: Any) -> OSError:
    """The error in our words, of the same class and number."""
    got = error.strerror or str(error)
    return OSError(error.errno, message(call, expected, got, advice), os.fspath(path))


__all__ = ["StateFiles", "StoredState", "StoredStates", "size_of"]

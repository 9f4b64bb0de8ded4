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
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tapegrad._errors import InputError, describe, message

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


class StoredState:
    """A state in a file, by its number: `parts` has a `_Place` for each array, and other leaves.

    There may be as many of these as files. So it is small, and equal states share their parts.
    """

    __slots__ = ("number", "offset", "parts", "size")

    def __init__(self, number: int, parts: list[Any], offset: int, size: int) -> None:
        self.number, self.parts, self.offset, self.size = number, parts, offset, size


class StateFiles:
    """A directory of its own inside a given one, for the states of one call.

    It is removed by `close`, with the last reference to this object, and when Python exits; not
    by a forked process. Raises OSError, of the class of the system's, if it cannot be made.
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
            made = tempfile.mkdtemp(prefix="tapegrad-", dir=given)
        except OSError as error:
            expected = "an existing directory in which files can be made"
            advice = "Make the directory first, or choose another"
            raise _as_told(error, call, expected, advice, given) from error
        self.directory = Path(made)
        self.count = itertools.count()
        self._places: list[Any] = []  # of the last state that was of arrays alone
        self._finalizer = weakref.finalize(self, _remove, made, os.getpid())

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
        parts: list[Any] = list(leaves)
        end = 0
        for i, leaf in enumerate(leaves):
            if type(leaf) is np.ndarray:
                parts[i] = _Place(leaf, end)
                end += -(-leaf.nbytes // _ALIGNED) * _ALIGNED
        number = next(self.count)
        path = self._path(number)
        try:
            offset = _write(path, parts, leaves, end)
        except BaseException as error:
            path.unlink(missing_ok=True)
            if not isinstance(error, OSError):
                raise
            expected = f"to write a state of {end} bytes"
            raise _as_told(error, self.call, expected, _ADVICE, self.directory) from error
        return StoredState(number, self._shared(parts), offset, end)

    def _path(self, number: int) -> Path:
        return self.directory / f"{number}.npy"

    def _shared(self, parts: list[Any]) -> list[Any]:
        """The parts, in the list of the state before this one if they are the same."""
        if all(type(part) is _Place for part in parts):
            known = self._places
            if len(parts) == len(known) and all(map(_Place.same, parts, known)):
                return known
            self._places = parts
        return parts

    def read(self, stored: StoredState) -> list[Any]:
        """The leaves of a state; its arrays are read-only views of the mapped file."""
        path = self._path(stored.number)
        try:
            if not stored.size:
                content: Any = np.empty(0, np.uint8)
            else:
                _require_length(path, stored)  # a map of what is not there would end the process
                content = np.asarray(np.memmap(path, np.uint8, "r", stored.offset))
        except OSError as error:
            expected = "the state that it has written"
            advice = "Leave the files alone until the derivative is taken"
            raise _as_told(error, self.call, expected, advice, path) from error
        return [part.array_in(content) if type(part) is _Place else part for part in stored.parts]

    def remove(self, stored: StoredState) -> None:
        """Remove the file of a state; what cannot be removed yet goes with the directory."""
        try:
            self._path(stored.number).unlink(missing_ok=True)
        except OSError:
            return  # Windows keeps what is still mapped


def _require_length(path: Path, stored: StoredState) -> None:
    if os.path.getsize(path) != stored.offset + stored.size:
        raise OSError(errno.EIO, "a file of another length")


def _write(path: Path, parts: list[Any], leaves: Sequence[Any], size: int) -> int:
    """Write a file; the length of its header."""
    header = {"descr": "|u1", "fortran_order": False, "shape": (size,)}
    with open(path, "xb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        offset = file.tell()
        for part, leaf in zip(parts, leaves, strict=True):
            if type(part) is _Place and leaf.nbytes:
                file.write(part.bytes_of(leaf))
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


def _remove(directory: str, process: int) -> None:
    if os.getpid() == process:  # a forked process has this object too, and not the files
        shutil.rmtree(directory, ignore_errors=True)


__all__ = ["StateFiles", "StoredState", "size_of"]

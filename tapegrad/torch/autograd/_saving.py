"""Where the tensors lie that are saved for backward passes: in files, or in copies.

Knows arrays, files, and the memory of tensors. Must not know nodes.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from tapegrad._errors import message
from tapegrad._files import open_regular
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of


class Stored:
    """A saved tensor in a file, which is deleted with the last reference to this object."""

    __slots__ = ("__weakref__", "path")

    def __init__(self, tensor: Tensor, directory: Path, compressed: bool) -> None:
        value = plain_of(tensor)
        handle, name = tempfile.mkstemp(".npz", "saved-", directory)
        self.path = Path(name)
        # It also runs when Python exits; a forked process has this object, and not the file.
        remove = weakref.finalize(self, _remove, name, os.getpid())
        save = np.savez_compressed if compressed else np.savez
        try:
            with os.fdopen(handle, "wb") as file:
                save(file, value=value)
        except BaseException:
            remove()
            raise

    def load(self) -> Tensor:
        """The tensor, read from the file."""
        with open_regular(self.path) as opened, np.load(opened, allow_pickle=False) as file:
            return of_value(file["value"])


def _remove(name: str, process: int) -> None:
    if os.getpid() == process:
        Path(name).unlink(missing_ok=True)


class Disk:
    """Packs tensors into files of a directory, and unpacks them."""

    def __init__(self, directory: Any, compressed: bool) -> None:
        self.directory = Path(directory)
        self.compressed = compressed

    def pack(self, tensor: Tensor) -> Stored:
        """Write a tensor into a file. The directory is made if there is none."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            return Stored(tensor, self.directory, self.compressed)
        except OSError as error:
            text = message(
                "save_on_cpu",
                f"to write a saved tensor of {tensor.nbytes} bytes",
                error.strerror or str(error),
                "Free space, or give a directory on another disk that can be written",
            )
            raise OSError(error.errno, text, str(self.directory)) from error

    @staticmethod
    def unpack(stored: Stored) -> Tensor:
        """The tensor of a file."""
        return stored.load()


class Clones:
    """The copies of saved tensors of one block, which `clear` frees."""

    def __init__(self) -> None:
        self.kept: dict[int, Tensor] = {}
        self.open = True
        self.made = 0

    def pack(self, tensor: Tensor) -> int:
        """Keep a copy; its number."""
        number = self.made = self.made + 1  # also after `clear` a new one
        self.kept[number] = of_value(tensor._value.copy())
        return number

    def unpack(self, number: int) -> Tensor:
        """A copy by its number. AssertionError after the end of the block, or after `clear`."""
        if not self.open or number not in self.kept:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        return self.kept[number]

    def clear(self) -> None:
        """Free all copies."""
        self.kept = {}

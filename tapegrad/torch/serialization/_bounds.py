"""The bounds of a file: bytes, depth, the cost of a key. UnpicklingError where it asks for more.

Knows zip files, containers and keys. Must not know formats.
"""

from __future__ import annotations

import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from pickle import UnpicklingError
from typing import Any

import numpy as np

from tapegrad.torch import _dtypes
from tapegrad.torch._ops.object.memory import attributes_of
from tapegrad.torch._tensor.tensor import Tensor

# The bytes of the contents unless `max_bytes` says otherwise: files that `save` writes are not
# compressed, so that these are as large as the file.
RATIO, LEAST = 10, 1 << 24
STEPS = 200_000  # instructions of a pickle; a larger file, or `max_bytes`, has one in 50 bytes
DEEPEST = 500  # containers within containers
# The parts of all tuples that are keys: one that holds a tuple twice, which holds one twice, has
# no end. Keys whose hash is not drawn at random: who chooses them can make all hashes equal.
PARTS, ODD = 10_000, 1000
PIECE = 1 << 16


class Contents:
    """The parts of an archive of a size, which take no more than they may."""

    def __init__(self, archive: zipfile.ZipFile, size: int, max_bytes: int | None) -> None:
        self.archive, self.size = archive, size
        self.most = max(RATIO * size, LEAST) if max_bytes is None else max_bytes
        self.steps = max(STEPS, (size if max_bytes is None else max_bytes) // 50)
        self.left = self.most
        total = sum(part.file_size for part in archive.infolist())
        if total > self.most:
            raise self._too_much(total)

    def _too_much(self, total: int) -> UnpicklingError:
        return UnpicklingError(
            f"torch.load: expected contents of at most {self.most:,} bytes, in a file of "
            f"{self.size:,}, got {total:,}. If you trust the file, say so with max_bytes={total}."
        )

    def names(self) -> list[str]:
        return self.archive.namelist()

    def read(self, name: str, *, plain: bool = False) -> bytes:
        """A part; plain: one that is no array, which is no larger than the file."""
        part = self.archive.getinfo(name)
        if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnpicklingError("torch.load: expected parts that are stored, or deflated")
        if plain and part.file_size > self.size:
            raise UnpicklingError("torch.load: a table of contents larger than its file")
        pieces = []
        with self.archive.open(part) as file:  # whose sizes a file may lie about
            while piece := file.read(PIECE):
                self.charge(len(piece))
                pieces.append(piece)
        return b"".join(pieces)

    def require_steps(self, step: int) -> None:
        """Refuse a pickle of more instructions than it may have."""
        if step > self.steps:
            raise UnpicklingError(
                f"torch.load: expected a pickle of up to {self.steps:,} instructions. If you "
                "trust the file, allow more with max_bytes=."
            )

    def charge(self, size: int) -> None:
        """Count bytes that the file has had made."""
        self.left -= size
        if self.left < 0:
            raise self._too_much(self.most - self.left)


_RANDOM = (str, bytes, bool, type(None), _dtypes.dtype, _dtypes.device)
_NUMBERS = (int, float, complex, np.bool_, np.integer, np.floating)


class Keys:
    """The keys of the dicts, and the elements of the sets, of a file."""

    def __init__(self) -> None:
        self.parts = self.odd = 0

    def require(self, keys: Iterable[Any]) -> list[Any]:
        """The keys, which are plain, or tuples of few that are."""
        keys = list(keys)
        for key in keys:
            if type(key) is str or type(key) is int and abs(key) < 1 << 31:
                continue
            self.odd += not isinstance(key, _RANDOM)
            parts = [key]
            while parts:
                self._require_part(parts.pop(), parts)
        return keys

    def _require_part(self, part: Any, parts: list[Any]) -> None:
        self.parts += 1
        if self.odd > ODD or self.parts > max(PARTS, 20 * self.odd):
            raise UnpicklingError("torch.load: expected fewer keys that are not text or counts")
        if isinstance(part, (tuple, frozenset)):
            parts.extend(part)
        elif not isinstance(part, (*_RANDOM, *_NUMBERS)):
            raise UnpicklingError(
                f"torch.load: expected keys of plain values, got {type(part).__name__}"
            )
        elif isinstance(part, int) and part.bit_length() > 64:
            raise UnpicklingError("torch.load: expected keys of up to 64 bits")


_CONTAINERS = frozenset((dict, OrderedDict, Counter, list, tuple, _dtypes.Size, set, frozenset))
_LEAVES = (*_RANDOM, *_NUMBERS, bytearray, np.ndarray, np.generic)


def require_values(value: Any, *, others: bool = False) -> Any:
    """The value, of plain values and tensors, in containers nested no deeper than DEEPEST.

    others: whether it may have objects of other classes, whose attributes are parts of them.
    """
    depths: dict[int, int] = {}  # of containers; 0 of those that are not done
    waiting = [(value, False)]
    while waiting:
        part, done = waiting.pop()
        if isinstance(part, _LEAVES):
            continue
        is_container = type(part) in _CONTAINERS
        if not (is_container or others or isinstance(part, Tensor)):
            raise UnpicklingError(
                "torch.load: expected tensors, plain values and containers of them, got "
                f"{type(part).__name__}"
            )
        parts = list(part) if is_container else []
        if isinstance(part, dict) and is_container:
            parts += part.values()
        if isinstance(part, Tensor):
            parts += attributes_of(part).values()
        elif not isinstance(part, type):
            parts += getattr(part, "__dict__", {}).values()
        if done:
            depths[id(part)] = 1 + max((depths.get(id(each), 0) for each in parts), default=0)
            if depths[id(part)] > DEEPEST:
                raise UnpicklingError(
                    f"torch.load: expected containers nested up to {DEEPEST} deep, got more"
                )
        elif id(part) not in depths:  # nor open: one that holds itself
            depths[id(part)] = 0
            waiting.append((part, True))
            waiting += [(each, False) for each in parts]
    return value


def of_plain(kinds: tuple[type, ...], function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that a file may call, whose arguments are of these types alone."""

    def call(*args: Any) -> Any:
        for arg in args:
            if not isinstance(arg, kinds):
                raise UnpicklingError(
                    f"torch.load: {type(arg).__name__} where a plain value belongs"
                )
        return function(*args)

    return call

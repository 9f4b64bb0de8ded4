"""What a file may take: bytes, depth, the cost of a key. UnpicklingError where it asks for more.

Knows zip files, containers and keys. Must not know formats.
"""

from __future__ import annotations

import zipfile
from pickle import UnpicklingError
from typing import Any

from tapegrad.torch import _dtypes

# What the contents may take unless `max_bytes` says otherwise: files that `save` writes are not
# compressed, so that these are as large as the file.
RATIO, LEAST = 10, 1 << 24
DEEPEST = 500  # containers within containers
PARTS = 10_000  # of a key: one that holds a tuple twice, which holds one twice, … costs 2**n


def require_small(archive: zipfile.ZipFile, size: int, max_bytes: int | None) -> int:
    """The bytes that the contents of an archive of a size may take, which they do not exceed."""
    most = max(RATIO * size, LEAST) if max_bytes is None else max_bytes
    total = sum(part.file_size for part in archive.infolist())
    if total > most:
        raise UnpicklingError(
            f"torch.load: expected contents of at most {most:,} bytes, in a file of {size:,}, got "
            f"{total:,}. If you trust the file, say so with max_bytes={total}."
        )
    return most


_PLAIN = (int, float, complex, str, bytes, bool, type(None), _dtypes.dtype, _dtypes.device)


def require_keys(keys: Any) -> Any:
    """The keys, or elements of a set, which are plain, or tuples of few that are."""
    keys = list(keys)
    for key in keys:
        parts, count = [key], 0
        while parts:
            part = parts.pop()
            count += 1
            if isinstance(part, (tuple, frozenset)) and count <= PARTS:
                parts.extend(part)
            elif not isinstance(part, _PLAIN):
                raise UnpicklingError(
                    f"torch.load: expected keys of plain values, and no more than {PARTS:,} in "
                    f"one, got {type(part).__name__}"
                )
    return keys


_CONTAINERS = dict, list, tuple, set, frozenset


def require_shallow(value: Any) -> Any:
    """The value, in which containers are nested no deeper than DEEPEST."""
    level, seen, depth = [value], set(), 0
    while level:
        if depth > DEEPEST:
            raise UnpicklingError(
                f"torch.load: expected containers nested up to {DEEPEST} deep, got more"
            )
        below: list[Any] = []
        for part in level:
            if not isinstance(part, _CONTAINERS) or id(part) in seen:
                continue
            seen.add(id(part))
            below.extend(part)
            if isinstance(part, dict):
                below.extend(part.values())
        level, depth = below, depth + 1
    return value


__all__ = ["require_keys", "require_shallow", "require_small"]

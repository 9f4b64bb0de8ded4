"""Machine code that is kept in a folder, so that the next process need not make it.

Knows files, and whom it trusts: code is taken from no file or folder in which another user may
write. Must not know LLVM.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from tapegrad._errors import message
from tapegrad._files import is_private, open_regular
from tapegrad._warning import warn

MOST_KEPT = 500  # object files
MOST_BYTES = 1 << 26  # of one
SUM = 32  # bytes before each
_NAMES = "[0-9a-f]" * 64 + ".o"  # the folder may hold other files
_TOLD: set[Path] = set()


def folder() -> Path | None:
    """Where object files are kept: in TAPEGRAD_CACHE; nowhere if that is empty.

    OSError where it cannot be; None, with a warning, where another user may write.
    """
    given = os.environ.get("TAPEGRAD_CACHE")
    if given == "":
        return None
    try:
        home = Path(given) if given else Path.home() / ".cache" / "tapegrad"
    except RuntimeError:  # there is no home
        return None
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if is_private(home.stat()):
        return home
    if home not in _TOLD:
        _TOLD.add(home)
        warn(
            message(
                "compile",
                "a folder for machine code in which no other user may write",
                f"{home}, of which nothing is read or kept",
                "Make it yours alone (chmod go-w), or set TAPEGRAD_CACHE to a folder that is, or "
                "to nothing",
            )
        )
    return None


def read(home: Path, name: str) -> bytes | None:
    """The data kept under a name, if it is whole and nobody else may have written it."""
    with contextlib.suppress(OSError), open_regular(home / f"{name}.o", links=False) as file:
        if is_private(os.fstat(file.fileno())):
            kept = file.read(MOST_BYTES)
            if kept[:SUM] == _sum_of(name, kept[SUM:]):
                return kept[SUM:]
    return None


def keep(home: Path, name: str, made: bytes) -> None:
    """Keep an object file, and of all of them the newest."""
    handle, beside = tempfile.mkstemp(".part", "", home)  # readable and writeable by its owner
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_sum_of(name, made) + made)
        os.replace(beside, home / f"{name}.o")
    except OSError:
        os.unlink(beside)
        raise
    kept = sorted(home.glob(_NAMES), key=lambda x: x.stat().st_mtime)
    for old in kept[:-MOST_KEPT]:
        old.unlink(missing_ok=True)


def _sum_of(name: str, made: bytes) -> bytes:
    """The header before an object file: no code runs of which a bit or the name is another."""
    return hashlib.sha256(name.encode() + made).digest()


__all__ = ["folder", "keep", "read"]

"""Folders that are removed with their process, or by the next one where it was killed.

A process holds a lock on a file in the folder that it has in a directory, beside which its others
are. The system takes the lock from a process that ends, however it does; a forked process holds it
too. So a folder whose file can be locked is nobody's. Where locks are not had, and of folders of
another machine, whose locks may not be seen here, nothing is collected.

Knows files and locks. Must not know what is kept in folders.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import platform
import shutil
import stat
import tempfile
import weakref
from pathlib import Path
from typing import Any

from tapegrad._files import open_regular

try:
    import fcntl as _posix
except ImportError:  # Windows, where a file that is open cannot be removed: that is the lock
    _posix = None  # type: ignore[assignment]
fcntl: Any = _posix

PREFIX = "tapegrad-"
_OWNER = "owner"


class _Home:
    """The folder of this process in a directory, while there are any in it: one lock for all."""

    __slots__ = ("__weakref__", "count", "path")

    def __init__(self, directory: str) -> None:
        self.path = tempfile.mkdtemp(prefix=PREFIX, dir=directory)
        self.count = itertools.count()
        # It also runs when Python exits.
        weakref.finalize(self, _end, self.path, os.getpid(), _marked(Path(self.path)))

    def folder(self) -> str:
        made = os.path.join(self.path, str(next(self.count)))
        os.mkdir(made, 0o700)
        return made


_HOMES: weakref.WeakValueDictionary[tuple[int, str], _Home] = weakref.WeakValueDictionary()


class OwnedFolder:
    """A new folder below a directory. OSError where none can be made."""

    def __init__(self, directory: str) -> None:
        key = os.getpid(), os.path.realpath(directory)
        _collect(key[1])
        home = _HOMES.get(key)
        if home is None or not os.path.isdir(home.path):
            home = _HOMES[key] = _Home(key[1])
        self.home: _Home | None = home
        self.path, self.process = home.folder(), key[0]

    def remove(self) -> None:
        """Remove the folder with all files; in a forked process only forget it."""
        if os.getpid() == self.process:
            shutil.rmtree(self.path, ignore_errors=True)
        self.home = None


def _end(path: str, process: int, handle: int | None) -> None:
    """Remove the folder of a process, which lets go of the lock last, but on Windows."""
    if fcntl is not None and os.getpid() == process:
        _clear(path)
    if handle is not None:
        os.close(handle)
    if fcntl is None:
        _clear(path)


def _words() -> bytes:
    """The content of the file: the name of this machine."""
    return f"tapegrad {platform.node()}\n".encode()


def _marked(path: Path) -> int | None:
    """Lock the file of a new folder; None, and there is no file, where locks are not had."""
    made, mark = path / "new", path / _OWNER
    handle = None
    try:
        handle = os.open(made if fcntl else mark, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(handle, _words())
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(made, mark)  # no other process sees it before it is locked
    except OSError:
        if handle is not None:
            os.close(handle)
        for part in (made, mark):
            part.unlink(missing_ok=True)
        return None
    return handle


@functools.cache
def _collect(directory: str) -> None:
    """Remove the folders of ended processes in a directory; once in each process."""
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        found = [entry for entry in entries if entry.name.startswith(PREFIX)]
        for entry in found:
            with contextlib.suppress(OSError):
                if _is_ours(entry.stat(follow_symlinks=False)):
                    _collect_one(Path(entry.path))


def _is_ours(found: os.stat_result) -> bool:
    """Whether this is a folder, and this user's: Windows numbers no users."""
    user: Any = getattr(os, "geteuid", None)
    return stat.S_ISDIR(found.st_mode) and (user is None or found.st_uid == user())


def _collect_one(path: Path) -> None:
    """Remove a folder that no process holds; OSError for one that some process does."""
    mark = path / _OWNER
    with open_regular(mark, links=False, writes=True) as file:
        if file.read(1000) != _words():
            return
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _clear(str(path))
            return
    mark.unlink()
    _clear(str(path))


def _clear(path: str) -> None:
    """Remove a folder, the file of its owner last: who is killed meanwhile leaves the rest."""
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        for entry in [entry for entry in entries if entry.name != _OWNER]:
            shutil.rmtree(entry.path, ignore_errors=True)
    shutil.rmtree(path, ignore_errors=True)


__all__ = ["OwnedFolder"]

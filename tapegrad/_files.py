"""Files by a path at which something else may lie, or what somebody else has put there.

Knows the file system, and who may write. Must not know what is in files.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import IO, Any

# What Windows has not is 0 there: a path without a link, and a pipe that is not waited for.
_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(
    path: str | os.PathLike[str], *, links: bool = True, writes: bool = False
) -> IO[bytes]:
    """Open a regular file for reading; links: it may be a symbolic link; writes: and for writing.

    Raises OSError for anything else: a pipe might never be written to, a device has no end.
    """
    access = (os.O_RDWR if writes else os.O_RDONLY) | (0 if links else _NO_LINK)
    handle = os.open(path, _FLAGS | access)
    try:
        _require_regular(os.fstat(handle).st_mode, os.fspath(path))
        return os.fdopen(handle, "r+b" if writes else "rb")
    except BaseException:
        os.close(handle)
        raise


def _require_regular(mode: int, path: str) -> None:
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if kind != stat.S_IFREG:
        got = _KINDS.get(kind, "another kind of file")
        raise OSError(errno.EINVAL, f"expected a regular file, got {got}", path)


def is_private(found: os.stat_result) -> bool:
    """Whether only this user, and root, may write to a file or folder.

    On Windows the answer is always yes: its files have no owner's number, and the lists of those
    who may write are not read. A folder of the user's own profile is private there.
    """
    user: Any = getattr(os, "geteuid", None)
    return user is None or (found.st_uid in (user(), 0) and not found.st_mode & 0o022)


__all__ = ["is_private", "open_regular"]

"""Compiled code of adopted modules, kept beside Python's own under another tag.

Knows the files of Python's cache: a header with the time and the size of the source, and the code.
Ours has the version of the rewriting as well. Must not know what is rewritten. A loader that has
no files, or a folder that cannot be written to, goes without.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import marshal
import sys
import types
import zlib
from typing import Any

from tapegrad._adopt import messages, names, source

_TAG = "tapegrad"


@functools.cache
def _version() -> bytes:
    """A sum over the rewriting: code that another one made is not taken."""
    found = zlib.crc32(repr(sorted(names.plain_functions())).encode())
    for part in (source.__file__, messages.__file__, __file__.replace("cache", "loading")):
        with contextlib.suppress(OSError), open(part, "rb") as file:  # no archive
            found = zlib.crc32(file.read(), found)
    return found.to_bytes(4, "little")


def read(loader: Any, name: str) -> types.CodeType | None:
    """The code that was kept of a module, or None where its source has changed since."""
    try:
        file = _file(loader, name)
        data = loader.get_data(file)
        header = _header(loader, name)
        if data[: len(header)] != header:
            return None
        code = marshal.loads(memoryview(data)[len(header) :])  # noqa: S302 - as Python's import
    except (AttributeError, OSError, ImportError, NotImplementedError):
        return None
    except (EOFError, ValueError, TypeError):  # a file that was cut off
        return None
    return code if isinstance(code, types.CodeType) else None


def write(loader: Any, name: str, code: types.CodeType) -> None:
    """Keep the code of a module, where Python keeps its own."""
    if sys.dont_write_bytecode:
        return
    try:
        # It writes another file first, and gives that the name; where it cannot, it does nothing.
        loader.set_data(_file(loader, name), _header(loader, name) + marshal.dumps(code))
    except (AttributeError, OSError, ImportError, NotImplementedError):
        return


def _file(loader: Any, name: str) -> str:
    level = sys.flags.optimize or ""
    return importlib.util.cache_from_source(
        loader.get_filename(name), optimization=f"{_TAG}{level}"
    )


def _header(loader: Any, name: str) -> bytes:
    """The start of the file: it is another one for another source, Python or rewriting."""
    known = loader.path_stats(loader.get_filename(name))
    numbers = (int(known["mtime"]), known["size"])
    stamp = b"".join((number & 0xFFFFFFFF).to_bytes(4, "little") for number in numbers)
    return importlib.util.MAGIC_NUMBER + _version() + stamp

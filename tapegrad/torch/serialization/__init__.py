"""`torch.save` and `torch.load`: tensors in containers, in files that execute nothing.

Knows three formats, and tells them apart by what is in a file: one of arrays and a table of
contents in JSON, which `save` writes; safetensors, by the package of that name, where a path ends
so; and PyTorch's own, which `load` reads. Must not know modules.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pickle import UnpicklingError
from typing import IO, Any

from tapegrad._files import open_regular
from tapegrad.torch._ops.declare import register
from tapegrad.torch.serialization import _archive, _pytorch, _safetensors
from tapegrad.torch.serialization._bounds import Contents, require_values

MapLocation = Any  # a device, its name, a dict of names, or a function of a storage and a name
SUFFIX = ".safetensors"


@register(method=False)
def save(
    obj: Any,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write tensors, plain values, and containers of them to a file.

    Tensors that share memory do so when they are loaded.

    obj: A tensor, a number, text, bytes, a dtype, a device, None; or lists, tuples, sets, dicts,
        OrderedDicts and Counters of them, as state dicts are.
    f (path or file): A path, or a file open for writing. A path that ends in ".safetensors" gets a
        dict of tensors in that format.
    pickle_module: Ignored.
    pickle_protocol: Ignored.
    _use_new_zipfile_serialization: Ignored.
    TypeError: For other objects: their loading would run code.
    See also load: Reads such files.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"w": torch.ones(2)}, file)
    >>> file.seek(0)
    0
    >>> torch.load(file)
    {'w': tensor([1., 1.])}
    """
    named = isinstance(f, (str, os.PathLike))
    if named and os.fspath(f).endswith(SUFFIX):  # type: ignore[arg-type]
        data = _safetensors.written(obj)
    else:
        data = _archive.written(obj)
    if named:
        with open(f, "wb") as file:  # type: ignore[arg-type]
            file.write(data)
    else:
        f.write(data)  # type: ignore[union-attr]


@register(method=False)
def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    max_bytes: int | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load a file that `save` wrote, or PyTorch.

    f (path or file): A path, or a file open for reading.
    map_location (str, device, dict or callable): "cpu", for tensors that were saved on another
        device; or a dict or a function that gives it.
    pickle_module: Ignored.
    weights_only: Ignored: nothing but tensors, containers and plain values is ever loaded.
    mmap: Ignored.
    max_bytes: How many bytes the contents may take, and the numbers of each tensor. Unless given,
        ten times as many as the file, and at least 16 MB.
    **pickle_load_args: Ignored: `encoding` and `errors`, which concern what Python 2 wrote.
    -> object: The value.
    pickle.UnpicklingError: For a file that holds anything else, is of no known format, damaged, or
        larger than it may be: no file makes another error, but those named here.
    RuntimeError: For tensors on another device without `map_location`.
    OSError: If there is no regular file at the path: a folder, a named pipe, a device.
    ImportError: For a file of safetensors without the package of that name.
    TypeError: For other keywords.
    AttributeError: If `f` is neither a path nor a file.
    See also save: Writes such files.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save([torch.arange(3), "a"], file)
    >>> position = file.seek(0)
    >>> torch.load(file)
    [tensor([0, 1, 2]), 'a']
    """
    unknown = pickle_load_args.keys() - {"encoding", "errors", "fix_imports", "buffers"}
    if unknown:
        raise TypeError(f"load() got an unexpected keyword argument {min(unknown)!r}")
    if isinstance(f, (str, os.PathLike)):
        with open_regular(f) as file:
            data = file.read()
    else:
        if not hasattr(f, "read"):
            raise AttributeError(
                f"{type(f).__name__!r} object has no attribute 'read'. You can only torch.load "
                "from a file that is seekable, or a path."
            )
        data = f.read()
    try:
        return require_values(_read(data, _location(map_location), max_bytes))
    except (UnpicklingError, ImportError, _pytorch.ElsewhereError):
        raise
    except Exception as error:  # all that bytes can do that have changed
        raise UnpicklingError(f"torch.load: the file is damaged: {error}") from error


def _read(data: bytes, where: Callable[[str], str], max_bytes: int | None) -> Any:
    """The value in a file of any of the formats."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            contents = Contents(archive, len(data), max_bytes)
            if _archive.CONTENTS in contents.names():
                return _archive.read(contents)
            return _pytorch.read(contents, where)
    if _safetensors.is_one(data):
        return _safetensors.read(data)
    raise UnpicklingError(
        "torch.load: expected a zip file that torch.save wrote, or safetensors; got a file of "
        "another kind. Files that PyTorch wrote before version 1.6 have to be saved anew by it."
    )


def _location(map_location: MapLocation) -> Callable[[str], str]:
    """The device for the name of the one that a tensor was saved on."""

    def found(name: str) -> str:
        if map_location is None:
            return name
        if isinstance(map_location, dict):
            return str(map_location.get(name, name))
        if callable(map_location):
            return "cpu"  # such functions return the storage that they are given, on the CPU
        return str(map_location)

    return found


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Raise TypeError: there is nothing that a file may call.

    safe_globals (list): Ignored.
    TypeError: In every call.

    >>> torch.serialization.add_safe_globals([])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    TypeError: torch.serialization.add_safe_globals: files are loaded without calling anything...
    """
    raise TypeError(
        "torch.serialization.add_safe_globals: files are loaded without calling anything. Save "
        "state dicts: tensors, containers and plain values."
    )


def get_safe_globals() -> list[Any]:
    """The objects that files may call beside the usual ones.

    -> list: None of them: it is empty.

    >>> torch.serialization.get_safe_globals()
    []
    """
    return []


__all__ = ["add_safe_globals", "get_safe_globals", "load", "save"]

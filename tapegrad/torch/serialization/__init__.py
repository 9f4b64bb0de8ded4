"""`torch.save` and `torch.load`: files that PyTorch and the layer read alike.

Knows two formats, and tells them apart by what is in a file: PyTorch's; and safetensors, by the
package of that name, where a path ends so. Must not know modules.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import zipfile
from collections.abc import Callable
from pickle import UnpicklingError
from typing import IO, Any

from tapegrad._files import open_regular
from tapegrad.torch._ops.declare import register
from tapegrad.torch.serialization import _pytorch, _safetensors, _writing
from tapegrad.torch.serialization._bounds import Contents
from tapegrad.torch.serialization._names import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)

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
    """Write a value to a file that PyTorch's `load` reads, too.

    It is a pickle, in which classes and functions stand by their names, and the memory of tensors
    beside it. Tensors that share memory do so when they are loaded; a view takes all memory along
    that it is a view of. Save `model.state_dict()` rather than the model: it is loaded without
    naming classes, and whatever has become of them since.

    obj: Any object that can be pickled.
    f (path or file): A path, or a file open for writing. A path that ends in ".safetensors" gets a
        dict of tensors in that format.
    pickle_module: Ignored.
    pickle_protocol: The version of the pickle.
    _use_new_zipfile_serialization: Ignored.
    pickle.PicklingError: For what has no name by which it can be found again, such as a lambda.
    TypeError: For other objects that cannot be pickled.
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
        data = _writing.written(obj, pickle_protocol)
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
    pickle_module: The module whose `Unpickler` reads the file where `weights_only` is false.
    weights_only: Whether the file may have tensors, containers and plain values alone, and objects
        of classes that `torch.serialization.add_safe_globals` has named: nothing else is called.
        True unless set. False unpickles the file, which can run any code that it says: do that
        only with files of a source that you trust.
    mmap: Ignored.
    max_bytes: How many bytes the contents may take, and the numbers of each tensor. Unless given,
        ten times as many as the file, and at least 16 MB; without bounds where `weights_only` is
        false.
    **pickle_load_args: `encoding` and `errors`, for what Python 2 wrote, where `weights_only` is
        false.
    -> object: The value.
    pickle.UnpicklingError: For a file that holds anything else, is of no known format, damaged, or
        larger than it may be: no file makes another error, but those named here, unless
        `weights_only` is false or a class that you have named raises it.
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
    if weights_only is None:
        weights_only = pickle_module is None
    data, where = _bytes_of(f), _location(map_location)
    if not weights_only:
        trust = {"pickle_module": pickle_module or pickle, **pickle_load_args}
        return _read(data, where, sys.maxsize if max_bytes is None else max_bytes, trust)
    try:
        return _read(data, where, max_bytes, None)
    except (UnpicklingError, ImportError, _pytorch.ElsewhereError):
        raise
    except Exception as error:  # all that bytes can do that have changed
        raise UnpicklingError(f"torch.load: the file is damaged: {error}") from error


def _bytes_of(f: Any) -> bytes:
    """The bytes of a file."""
    if isinstance(f, (str, os.PathLike)):
        with open_regular(f) as file:
            return file.read()
    if not hasattr(f, "read"):
        raise AttributeError(
            f"{type(f).__name__!r} object has no attribute 'read'. You can only torch.load "
            "from a file that is seekable, or a path."
        )
    data: bytes = f.read()
    return data


def _read(
    data: bytes, where: Callable[[str], str], max_bytes: int | None, trust: dict[str, Any] | None
) -> Any:
    """The value in a file of any of the formats; trust: as of `_pytorch.read`."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _pytorch.read(Contents(archive, len(data), max_bytes), where, trust)
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


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """The names in a file that `load(weights_only=True)` would refuse.

    Its instructions are looked through, and none is followed.

    f (path or file): A path, or a file open for reading.
    -> list of str: Names with their modules.
    ValueError: For another file than one that `save` wrote, or PyTorch.
    See also add_safe_globals: Allows them.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save(torch.nn.ReLU(), file)
    >>> position = file.seek(0)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
    ['torch.nn.modules.activation.ReLU']
    """
    data = _bytes_of(f)
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return sorted(_pytorch.globals_of(Contents(archive, len(data), None)))


__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]

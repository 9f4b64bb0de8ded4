"""The format that `torch.save` writes: PyTorch's, a zip of storages and a pickle that names them.

Classes and functions are written by their names, those of the layer by PyTorch's. Must not know
how files are read.
"""

from __future__ import annotations

import io
import pickle
import sys
import zipfile
from collections import OrderedDict
from types import FunctionType
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch import _dtypes
from tapegrad.torch._graph.hooks import Hooks
from tapegrad.torch._graph.versions import owner_of
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.parameter import Parameter
from tapegrad.torch.serialization._names import is_ours, name_of
from tapegrad.torch.serialization._rebuilding import (
    OF_DTYPE,
    UNTYPED,
    Kind,
    known_name,
    reduced,
)

# Pickler of the standard library in Python: that in C takes a class's name from the class.
_Pickler: Any = pickle._Pickler


class _Reference:
    """A storage in the place of its memory."""

    def __init__(self, kind: Kind, key: int, memory: Value) -> None:
        self.kind = kind
        count = memory.nbytes if kind is UNTYPED else memory.size
        self.identity = "storage", kind, str(key), "cpu", count


class _Writer(_Pickler):  # type: ignore[misc]
    """A pickler that writes PyTorch's names, and collects the memory of tensors."""

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol=protocol)
        self.memory: list[Value] = []
        self.references: dict[Any, tuple[_Reference, Value]] = {}
        self.types: dict[int, tuple[np.dtype[Any], Value]] = {}  # of memory, by its owner

    def persistent_id(self, thing: Any) -> Any:
        return thing.identity if type(thing) is _Reference else None

    def storage_of(self, value: Value) -> tuple[_Reference, Kind, int, tuple[int, ...]]:
        """Where an array lies: the storage, its type, and where in it, in elements."""
        owner = owner_of(value)
        first, _ = self.types.setdefault(id(owner), (value.dtype, owner))
        if first != value.dtype and owner.size:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                "types"
            )
        flat = _flat(owner) if owner.dtype == value.dtype else None
        if flat is None or min(value.strides, default=0) < 0:  # gaps, or memory of another dtype
            owner = value = value.copy()
            flat = value.reshape(-1)
        key = id(owner), value.dtype
        if key not in self.references:
            kind = OF_DTYPE.get(_dtypes.of_numpy(value.dtype).name, UNTYPED)
            reference = _Reference(kind, len(self.memory), flat)
            self.references[key] = reference, owner  # whose id is its own while it lives
            self.memory.append(flat)
        reference, owner = self.references[key]
        start = (_address(value) - _address(owner)) // value.itemsize
        strides = tuple(step // value.itemsize for step in value.strides)
        return reference, reference.kind, start, strides

    def reducer_override(self, thing: Any) -> Any:
        """How the layer's objects are written; the rest as any pickler does."""
        if isinstance(thing, Tensor):
            kind = type(thing)
            if kind.__reduce_ex__ is Tensor.__reduce_ex__ and kind.__reduce__ in _PLAIN:
                return reduced(thing, self.storage_of)
            return NotImplemented
        if type(thing) is Hooks:
            return OrderedDict, (), None, None, iter(thing.items())
        if type(thing) is _dtypes.device:
            return _dtypes.device, (str(thing),)
        if isinstance(thing, (Kind, _dtypes.dtype)):
            return thing.name
        if isinstance(thing, (type, FunctionType)) and known_name(thing) or is_ours(thing):
            return thing.__name__
        return NotImplemented

    def save_global(self, thing: Any, name: str | None = None) -> None:
        """Write the name of a class or of a function."""
        known = known_name(thing)
        if known is None and not is_ours(thing):
            super().save_global(thing, name)
            return
        try:
            module, name = known or name_of(thing)
        except LookupError as error:
            raise pickle.PicklingError(f"Can't pickle {thing!r}: {error}") from None
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(thing)


_PLAIN = object.__reduce__, Parameter.__reduce__  # those that no subclass has replaced


def _address(value: Value) -> int:
    return int(value.__array_interface__["data"][0])


def _flat(value: Value) -> Value | None:
    """The elements of an array in the order of its memory; None where it has gaps."""
    order = np.argsort([-step for step in value.strides], kind="stable")
    ordered = value.transpose(order)
    return ordered.reshape(-1) if ordered.flags.c_contiguous else None


def written(value: Any, protocol: int) -> bytes:
    """A value as the bytes of a file."""
    held, pickled = io.BytesIO(), io.BytesIO()
    writer = _Writer(pickled, protocol)
    writer.dump(value)
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("archive/data.pkl", pickled.getvalue())
        archive.writestr("archive/byteorder", sys.byteorder)
        for key, memory in enumerate(writer.memory):
            large = memory.nbytes >> 30 > 0
            with archive.open(f"archive/data/{key}", "w", force_zip64=large) as file:
                file.write(memory.view(np.uint8).data if memory.size else b"")
        archive.writestr("archive/version", "3\n")
    return held.getvalue()

"""The format that `torch.save` writes: a zip file of arrays, with a table of contents in JSON.

The arrays are NumPy's `.npy` files, as in an `.npz`. The table has plain values as JSON has them,
and each other value as an object with one name, its kind: `{"tuple": [1, {"tensor": 0}]}`.
"""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections import Counter, OrderedDict
from pickle import UnpicklingError
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch import _dtypes
from tapegrad.torch._graph.versions import owner_of
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch.nn._parameter import Parameter

CONTENTS = "contents.json"
_SEQUENCES: dict[str, type] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "Size": _dtypes.Size,
}
_MAPPINGS: dict[str, type] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}
_KINDS = {kind: name for name, kind in (*_SEQUENCES.items(), *_MAPPINGS.items())}


def written(value: Any) -> bytes:
    """A value as the bytes of a file; TypeError for what is no plain value."""
    writer = _Writer()
    tree = writer.described(value)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        table = {"format": "tapegrad", "version": 1, "value": tree, "tensors": writer.tensors()}
        archive.writestr(CONTENTS, json.dumps(table))
        for place, array in enumerate(writer.arrays):
            with archive.open(f"{place}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    return held.getvalue()


class _Writer:
    """Describes values, and collects their tensors."""

    def __init__(self) -> None:
        self.found: list[Tensor] = []
        self.numbers: dict[int, int] = {}  # of tensors, by their id
        self.arrays: list[Value] = []

    def described(self, value: Any) -> Any:
        """A value as JSON has it."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, Tensor):
            return {"tensor": self._number_of(value)}
        kind = _KINDS.get(type(value))
        if kind in _MAPPINGS:
            pairs = [[self.described(key), self.described(part)] for key, part in value.items()]
            made = {kind: pairs}
            metadata = getattr(value, "_metadata", None)
            if metadata is not None:
                made["metadata"] = self.described(metadata)
            return made
        if kind is not None:
            return {kind: [self.described(part) for part in value]}
        return self._described_rest(value)

    def _described_rest(self, value: Any) -> Any:
        if isinstance(value, complex) and type(value) is complex:
            return {"complex": [value.real, value.imag]}
        if isinstance(value, (bytes, bytearray)):
            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, _dtypes.dtype):
            return {"dtype": value.name}
        if isinstance(value, _dtypes.device):
            return {"device": str(value)}
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufcSU":
            self.arrays.append(np.asarray(value))
            kind = "array" if isinstance(value, np.ndarray) else "scalar"
            return {kind: len(self.arrays) - 1}
        raise TypeError(
            f"torch.save: expected tensors, plain values and containers of them, got "
            f"{type(value).__name__}: a file that loads it would have to run code. Save what "
            "state_dict() returns."
        )

    def _number_of(self, tensor: Tensor) -> int:
        if id(tensor) not in self.numbers:
            self.numbers[id(tensor)] = len(self.found)
            self.found.append(tensor)
        return self.numbers[id(tensor)]

    def tensors(self) -> list[dict[str, Any]]:
        """Where each tensor's numbers are: memory that several share is written once."""
        values = [plain_of(tensor) for tensor in self.found]
        shared = Counter(id(owner_of(value)) for value in values)
        places: dict[int, int] = {}
        table = []
        for tensor, value in zip(self.found, values, strict=True):
            owner = owner_of(value)
            entry: dict[str, Any] = {"requires_grad": tensor.requires_grad}
            if value.dtype.kind == "V":  # NumPy's files have no word for it
                entry["dtype"] = "bfloat16"
            if isinstance(tensor, Parameter):
                entry["parameter"] = True
            if shared[id(owner)] > 1 and owner.flags.forc and owner.dtype == value.dtype:
                memory = owner.reshape(-1, order="A")
                if id(owner) not in places:
                    places[id(owner)] = len(self.arrays)
                    self.arrays.append(_plain(memory))
                entry["array"] = places[id(owner)]
                entry["shape"] = list(value.shape)
                entry["strides"] = [step // value.itemsize for step in value.strides]
                start = value.__array_interface__["data"][0]
                entry["offset"] = (start - owner.__array_interface__["data"][0]) // value.itemsize
            else:
                entry["array"] = len(self.arrays)
                self.arrays.append(_plain(value))
            table.append(entry)
        return table


def _plain(array: Value) -> Value:
    """bfloat16 as the whole numbers of the same bits."""
    return array.view(np.uint16) if array.dtype.kind == "V" else array


def read(archive: zipfile.ZipFile) -> Any:
    """The value in a file; UnpicklingError where it is damaged."""
    table = json.loads(archive.read(CONTENTS))
    if table.get("format") != "tapegrad" or table.get("version") != 1:
        raise UnpicklingError(
            f"torch.load: expected format 'tapegrad', version 1, got {table.get('format')!r}, "
            f"version {table.get('version')!r}"
        )
    return _Reader(archive, table["tensors"]).value_of(table["value"])


class _Reader:
    """Makes values of their descriptions."""

    def __init__(self, archive: zipfile.ZipFile, tensors: list[dict[str, Any]]) -> None:
        self.archive = archive
        self.arrays: dict[int, Value] = {}
        self.tensors = [self._tensor(entry) for entry in tensors]

    def _array(self, place: int) -> Value:
        if place not in self.arrays:
            with self.archive.open(f"{int(place)}.npy") as file:
                self.arrays[place] = np.lib.format.read_array(file, allow_pickle=False)
        return self.arrays[place]

    def _tensor(self, entry: dict[str, Any]) -> Tensor:
        value = self._array(entry["array"])
        if "dtype" in entry:
            value = value.view(_dtypes.BY_NAME[entry["dtype"]].numpy)
        if "shape" in entry:
            value = strided(value, entry["offset"], entry["shape"], entry["strides"])
        made = of_value(value)
        if entry.get("parameter"):
            return Parameter(made, entry["requires_grad"])
        return made.requires_grad_() if entry["requires_grad"] else made

    def value_of(self, tree: Any) -> Any:
        """The value that a description stands for."""
        if not isinstance(tree, dict):
            return tree
        kind, part = next(iter(tree.items()))
        if kind in _SEQUENCES:
            return _SEQUENCES[kind]([self.value_of(one) for one in part])
        if kind in _MAPPINGS:
            made = _MAPPINGS[kind]()
            for key, value in part:
                made[self.value_of(key)] = self.value_of(value)
            if "metadata" in tree and kind != "dict":
                made._metadata = self.value_of(tree["metadata"])
            return made
        return self._other(kind, part)

    def _other(self, kind: str, part: Any) -> Any:
        if kind == "tensor":
            return self.tensors[part]
        if kind == "complex":
            return complex(*part)
        if kind == "bytes":
            return base64.b64decode(part)
        if kind == "dtype":
            return _dtypes.BY_NAME[part]
        if kind == "device":
            return _dtypes.device(part)
        if kind in ("array", "scalar"):
            array = self._array(part)
            return array if kind == "array" else array[()]
        raise UnpicklingError(f"torch.load: the file has a value of an unknown kind, {kind!r}")


def strided(memory: Value, offset: int, shape: Any, strides: Any) -> Value:
    """A view into a flat array; UnpicklingError where it would leave it."""
    shape, strides = tuple(map(int, shape)), tuple(map(int, strides))
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    outside = min((offset, *shape, *strides)) < 0 or (0 not in shape and last >= memory.size)
    if outside:
        raise UnpicklingError("torch.load: a tensor lies outside of its storage")
    bytes_of = [step * memory.itemsize for step in strides]
    start = memory[offset:] if 0 not in shape else memory[:0]
    return np.lib.stride_tricks.as_strided(start, shape, bytes_of)


__all__ = ["read", "written"]

"""The format that `torch.save` writes: a zip file of arrays, with a table of contents in JSON.

The arrays are NumPy's `.npy` files, as in an `.npz`. The table has plain values as JSON has them,
and each other value as an object with one name, its kind: `{"tuple": [1, {"tensor": 0}]}`.
"""

from __future__ import annotations

import base64
import io
import json
import math
import zipfile
from collections import Counter, OrderedDict
from pickle import UnpicklingError
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch import _dtypes
from tapegrad.torch._graph.versions import owner_of
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch.nn.parameter import Parameter
from tapegrad.torch.serialization._bounds import Contents, Keys

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
            kind = "bytes" if isinstance(value, bytes) else "bytearray"
            return {kind: base64.b64encode(value).decode()}
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


def read(contents: Contents) -> Any:
    """The value in a file."""
    table = json.loads(contents.read(CONTENTS, plain=True))
    if table.get("format") != "tapegrad" or table.get("version") != 1:
        raise UnpicklingError("torch.load: expected format 'tapegrad', version 1, got another")
    return _Reader(contents, table["tensors"]).value_of(table["value"])


def _array_of(data: bytes) -> Value:
    """The array in a `.npy` file, whose header may ask for no more than follows it."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, _, dtype = read(file)
    if math.prod(shape) * max(dtype.itemsize, 1) > len(data) - file.tell():
        raise UnpicklingError("torch.load: an array has fewer numbers than its shape says")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


class _Reader:
    """Makes values of their descriptions."""

    def __init__(self, contents: Contents, tensors: list[dict[str, Any]]) -> None:
        self.contents, self.keys = contents, Keys()
        self.arrays: dict[int, Value] = {}
        self.tensors = [self._tensor(entry) for entry in tensors]

    def _array(self, place: int) -> Value:
        if type(place) is not int:
            raise UnpicklingError("torch.load: expected the number of an array")
        if place not in self.arrays:
            self.arrays[place] = _array_of(self.contents.read(f"{place}.npy"))
        return self.arrays[place]

    def _tensor(self, entry: dict[str, Any]) -> Tensor:
        value = self._array(entry["array"])
        if "dtype" in entry:
            value = value.view(_dtypes.BY_NAME[entry["dtype"]].numpy)
        value = value.astype(value.dtype.newbyteorder("="), copy=False)
        try:
            _dtypes.of_numpy(value.dtype)
        except TypeError as error:
            words = "torch.load: expected tensors of a dtype that torch has"
            raise UnpicklingError(words) from error
        if "shape" in entry:
            place = entry["offset"], entry["shape"], entry["strides"]
            value = strided(value, *place, self.contents.most)
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
            parts = [self.value_of(one) for one in part]
            return _SEQUENCES[kind](self.keys.require(parts) if "set" in kind else parts)
        if kind in _MAPPINGS:
            made = _MAPPINGS[kind]()
            keys = self.keys.require(self.value_of(key) for key, _ in part)
            for key, (_, value) in zip(keys, part, strict=True):
                made[key] = self.value_of(value)
            if "metadata" in tree and kind != "dict":
                made._metadata = self.value_of(tree["metadata"])
            return made
        return self._other(kind, part)

    def _other(self, kind: str, part: Any) -> Any:
        if kind == "tensor":
            return self.tensors[part]
        if kind == "complex":
            return complex(*part)
        if kind in ("bytes", "bytearray"):
            found = base64.b64decode(part)
            return found if kind == "bytes" else bytearray(found)
        if kind == "dtype":
            return _dtypes.BY_NAME[part]
        if kind == "device":
            return _dtypes.device(part)
        if kind in ("array", "scalar"):
            array = self._array(part)
            return array if kind == "array" else array[()]
        raise UnpicklingError(f"torch.load: the file has a value of an unknown kind, {kind!r}")


def _few(sizes: Any) -> Any:
    if not isinstance(sizes, (list, tuple)) or len(sizes) > 64:  # as many as NumPy has axes
        raise UnpicklingError("torch.load: expected the sizes of up to 64 axes")
    return sizes


def strided(memory: Value, offset: int, shape: Any, strides: Any, most: int) -> Value:
    """A view into a flat array; UnpicklingError where it would leave it.

    The bounds are computed with Python's whole numbers, which are exact, and NumPy checks them
    again as those of a buffer. offset, strides: in elements; most: bytes of all elements.
    """
    numbers = [offset, *_few(shape), *_few(strides)]
    if not all(type(n) is int and abs(n) < 1 << 62 for n in numbers):
        raise UnpicklingError("torch.load: a shape, strides or an offset that are no sizes")
    shape, strides = tuple(shape), tuple(strides)
    if memory.ndim != 1 or not memory.flags.c_contiguous or len(shape) != len(strides):
        raise UnpicklingError("torch.load: a tensor is a view, but not one of flat memory")
    step = memory.itemsize
    last = offset + sum((n - 1) * by for n, by in zip(shape, strides, strict=True))
    inside = 0 in shape or last < memory.size
    if min((offset, *shape, *strides)) < 0 or not inside:
        raise UnpicklingError("torch.load: a tensor lies outside of its storage")
    if max(math.prod(n or 1 for n in shape), *strides, 1) * step > most:
        raise UnpicklingError(
            f"torch.load: expected tensors of up to {most:,} bytes, got the shape {shape}. If you "
            "trust the file, say how many with max_bytes=."
        )
    start = 0 if 0 in shape else offset * step
    return np.ndarray(shape, memory.dtype, memory, start, [by * step for by in strides])

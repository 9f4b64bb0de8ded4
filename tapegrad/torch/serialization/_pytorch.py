"""Files that PyTorch's `torch.save` wrote: a zip of storages and a pickle that refers to them.

The pickle is not unpickled: its instructions are read one by one, and do nothing but build
tensors, containers and plain values. Each other instruction, and each other name, is refused.
"""

from __future__ import annotations

import pickletools
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch import _dtypes
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.nn.parameter import Parameter
from tapegrad.torch.serialization._archive import strided
from tapegrad.torch.serialization._bounds import Contents, Keys, of_plain

# PyTorch's names of the types of storages, beside those in `_dtypes.WORDS`.
_STORAGES = {f"{word}Storage": name for name, word in _dtypes.WORDS.items()}
_STORAGES["BFloat16Storage"] = "bfloat16"
_MARK = object()


class _Kind(NamedTuple):
    """The type of a storage, by the name of its dtype."""

    name: str


class _Storage(NamedTuple):
    """A flat array, and how many bytes its tensors may take."""

    memory: Value
    most: int


class ElsewhereError(RuntimeError):
    """A file that is sound, of tensors on another device."""


def _tensor(
    storage: Any, offset: Any, shape: Any, strides: Any, requires_grad: Any, *_: Any
) -> Any:
    made = of_value(strided(storage.memory, offset, shape, strides, storage.most))
    return made.requires_grad_() if requires_grad else made


def _tensor_of_dtype(
    storage: Any,
    offset: Any,
    shape: Any,
    strides: Any,
    requires_grad: Any,
    hooks: Any,
    dtype: Any,
    *_: Any,
) -> Any:
    typed = storage._replace(memory=storage.memory.view(_dtypes.as_numpy(dtype)))
    return _tensor(typed, offset, shape, strides, requires_grad)


def _parameter(data: Tensor, requires_grad: bool, *_: Any) -> Any:
    return Parameter(data, requires_grad)


def _encoded(text: str, encoding: str) -> bytes:
    """Bytes, as old protocols of pickle have them."""
    if encoding != "latin1":
        raise UnpicklingError("torch.load: bytes in another encoding than latin1")
    return text.encode("latin1")


def _pairs(given: Any = ()) -> list[Any]:
    """The pairs of a dict, or of a list of pairs."""
    if isinstance(given, dict):
        return list(given.items())
    return [(key, part) for key, part in given]


def _bytes(text: str | bytes = b"", encoding: str = "latin1") -> bytearray:
    """A bytearray of bytes, or of text: of a number it would have as many."""
    return bytearray(_encoded(text, encoding) if isinstance(text, str) else text)


_LISTS = list, tuple, set, frozenset, dict
_TEXT = of_plain((str, bytes), _bytes)
_COMPLEX = of_plain((int, float), complex)
# The names that a file may use. Each function is one of this module, or makes a plain value.
_CALLS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_of_dtype,
    "torch._utils._rebuild_parameter": _parameter,
    "collections.OrderedDict": of_plain(_LISTS, OrderedDict),
    "collections.Counter": of_plain((dict,), Counter),
    "torch.Size": of_plain((list, tuple), _dtypes.Size),
    "torch.device": of_plain((str, int), _dtypes.device),
    "_codecs.encode": of_plain((str,), _encoded),
    "builtins.set": of_plain(_LISTS, set),
    "__builtin__.set": of_plain(_LISTS, set),
    "builtins.frozenset": of_plain(_LISTS, frozenset),
    "builtins.complex": _COMPLEX,
    "__builtin__.complex": _COMPLEX,
    "builtins.bytearray": _TEXT,
    "__builtin__.bytearray": _TEXT,
}


_OF_TENSORS = frozenset((_tensor, _tensor_of_dtype, _parameter))
_OF_PAIRS = frozenset((_CALLS["collections.OrderedDict"],))
_OF_KEYS = _OF_PAIRS | {_CALLS[name] for name in _CALLS if name.endswith(("set", "Counter"))}


def _named(module: str, name: str) -> Any:
    """The object of a name; UnpicklingError for all that is not among the known ones."""
    if type(module) is not str or type(name) is not str:
        raise UnpicklingError("torch.load: expected the name of a global")
    full = f"{module}.{name}"[:200]
    if full in _CALLS:
        return _CALLS[full]
    if module == "torch" and name in _STORAGES:
        return _Kind(_STORAGES[name])
    if full == "torch.storage.UntypedStorage":
        return _Kind("uint8")
    if module == "torch" and name in _dtypes.BY_NAME:
        return _dtypes.BY_NAME[name]
    raise UnpicklingError(
        "Weights only load failed. This file can still be loaded by PyTorch itself, to do so you "
        "have to trust its source, since it may run any code.\n"
        f"\tWeightsUnpickler error: Unsupported global: GLOBAL {full} was not an allowed global "
        "by default. Files are loaded here without calling anything: only tensors, OrderedDict "
        "and plain values are. Save model.state_dict() rather than the model."
    )


def read(contents: Contents, where: Callable[[str], str]) -> Any:
    """The value in a file. where: gives the device for the name of one."""
    names = contents.names()
    pickles = [name for name in names if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise UnpicklingError(
            "torch.load: expected a zip file that torch.save wrote, got one without data.pkl"
        )
    folder = pickles[0].removesuffix("data.pkl")
    order = "<"
    if f"{folder}byteorder" in names:
        order = ">" if contents.read(f"{folder}byteorder", plain=True) == b"big" else "<"
    storages: dict[str, _Storage] = {}

    def storage_of(reference: Any) -> _Storage:
        word, kind, key, place, count = _require(tuple, reference)
        if _require(str, word) != "storage" or not isinstance(kind, _Kind):
            raise UnpicklingError("torch.load: a reference that is not to a storage")
        for part, known in ((key, str), (place, str), (count, int)):
            _require(known, part)
        _require_cpu(where(place))
        if key not in storages:
            data = contents.read(f"{folder}data/{key}")
            storages[key] = _Storage(_memory_of(data, kind, order, count), contents.most)
        return storages[key]

    return _Machine(storage_of, contents).run(contents.read(pickles[0], plain=True))


def _require(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise UnpicklingError(f"torch.load: expected {kind.__name__}, got {type(value).__name__}")
    return value


_DEVICES = frozenset("cuda hip hpu ipu maia meta mps mtia vulkan xla xpu privateuseone".split())


def _require_cpu(place: str) -> None:
    kind = place.partition(":")[0]
    if kind in _DEVICES:
        raise ElsewhereError(
            f"Attempting to deserialize object on a {kind.upper()} device but "
            "torch.cuda.is_available() is False. If you are running on a CPU-only machine, please "
            "use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        )
    if kind not in ("cpu", "None"):
        raise UnpicklingError("torch.load: expected the name of a device")


def _memory_of(data: bytes, kind: _Kind, order: str, count: int) -> Value:
    """A flat array of the numbers of a storage, which can be written to."""
    known = _dtypes.BY_NAME[kind.name]
    bits = np.dtype(np.uint16) if known is _dtypes.BRAIN else known.numpy
    stored = bits.newbyteorder("<" if order == "<" else ">")
    memory = np.frombuffer(data, stored, count=min(count, len(data) // stored.itemsize))
    return memory.astype(bits).view(known.numpy)


class _Machine:
    """Runs the instructions of a pickle that build plain values and call what `_named` knows."""

    def __init__(self, storage_of: Callable[[Any], _Storage], contents: Contents) -> None:
        self.storage_of, self.contents, self.keys = storage_of, contents, Keys()
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        """The value that the instructions build."""
        for step, (code, argument, _) in enumerate(pickletools.genops(data)):
            if step > self.contents.steps:
                raise UnpicklingError(
                    f"torch.load: expected a pickle of up to {self.contents.steps:,} "
                    "instructions. If you trust the file, allow more with max_bytes=."
                )
            name = code.name
            if name == "STOP":
                return self.stack.pop()
            if name in _LITERALS:
                self.stack.append(_CONSTANTS.get(name, argument))
                continue
            act = getattr(self, f"do_{name.lower()}", None)
            if act is None:
                raise UnpicklingError(
                    "Weights only load failed. WeightsUnpickler error: Unsupported operand "
                    f"{ord(code.code)}"
                )
            act(argument)
        raise UnpicklingError("torch.load: the pickle ends too early")

    def since_mark(self) -> list[Any]:
        """Items on the stack above the last mark, which is removed."""
        place = len(self.stack) - 1
        while self.stack[place] is not _MARK:
            place -= 1
        found = self.stack[place + 1 :]
        del self.stack[place:]
        return found

    def do_proto(self, _: Any) -> None:
        """The version of the protocol: all have the same instructions."""

    def do_frame(self, _: Any) -> None:
        """A boundary for reading ahead."""

    def do_mark(self, _: Any) -> None:
        self.stack.append(_MARK)

    def do_pop(self, _: Any) -> None:
        self.stack.pop()

    def do_empty_dict(self, _: Any) -> None:
        self.stack.append({})

    def do_empty_list(self, _: Any) -> None:
        self.stack.append([])

    def do_empty_set(self, _: Any) -> None:
        self.stack.append(set())

    def do_empty_tuple(self, _: Any) -> None:
        self.stack.append(())

    def do_tuple(self, _: Any) -> None:
        self.stack.append(tuple(self.since_mark()))

    def do_list(self, _: Any) -> None:
        self.stack.append(self.since_mark())

    def do_dict(self, _: Any) -> None:
        found = self.since_mark()
        self.stack.append(dict(zip(self.keys.require(found[::2]), found[1::2], strict=True)))

    def _take(self, count: int) -> None:
        found = tuple(self.stack[-count:])
        del self.stack[-count:]
        self.stack.append(found)

    def do_tuple1(self, _: Any) -> None:
        self._take(1)

    def do_tuple2(self, _: Any) -> None:
        self._take(2)

    def do_tuple3(self, _: Any) -> None:
        self._take(3)

    def do_append(self, _: Any) -> None:
        value = self.stack.pop()
        self._top(list).append(value)

    def do_appends(self, _: Any) -> None:
        values = self.since_mark()
        self._top(list).extend(values)

    def do_additems(self, _: Any) -> None:
        values = self.since_mark()
        self._top(set).update(self.keys.require(values))

    def do_setitem(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.keys.require([key])
        self._top(dict)[key] = value

    def do_setitems(self, _: Any) -> None:
        found = self.since_mark()
        target = self._top(dict)
        for key, value in zip(self.keys.require(found[::2]), found[1::2], strict=True):
            target[key] = value

    def _top(self, kind: type) -> Any:
        """The container on top of the stack; UnpicklingError where it is another one."""
        if not isinstance(self.stack[-1], kind):
            raise UnpicklingError(
                f"torch.load: expected a {kind.__name__}, got {type(self.stack[-1]).__name__}"
            )
        return self.stack[-1]

    def do_binput(self, key: Any) -> None:
        self.memo[key] = self.stack[-1]

    do_long_binput = do_put = do_binput

    def do_memoize(self, _: Any) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def do_binget(self, key: Any) -> None:
        self.stack.append(self.memo[key])

    do_long_binget = do_get = do_binget

    def do_global(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self.stack.append(_named(module, name))

    def do_stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(_named(module, name))

    def do_binpersid(self, _: Any) -> None:
        self.stack.append(self.storage_of(self.stack.pop()))

    def do_reduce(self, _: Any) -> None:
        given, function = _require(tuple, self.stack.pop()), self.stack.pop()
        if not any(function is known for known in _CALLS.values()):
            kind = type(function).__name__
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {kind}")
        if function not in _OF_TENSORS:
            self.contents.charge(sum(8 * len(part) for part in given if hasattr(part, "__len__")))
        if function in _OF_KEYS and given:
            if type(given[0]) not in _LISTS:
                raise UnpicklingError("torch.load: a container of what is none")
            if function in _OF_PAIRS:
                given = (_pairs(given[0]), *given[1:])
                self.keys.require(key for key, _ in given[0])
            else:
                self.keys.require(given[0])
        self.stack.append(function(*given))

    def do_newobj(self, _: Any) -> None:
        self.do_reduce(None)

    def do_build(self, _: Any) -> None:
        """Attributes of an OrderedDict: the versions of a state dict. No other object has any."""
        state, target = self.stack.pop(), self.stack[-1]
        if type(target) is OrderedDict and isinstance(state, dict):
            if set(state) - {"_metadata"}:
                raise UnpicklingError("torch.load: an OrderedDict with attributes of its own")
            target.__dict__.update(state)
        else:
            raise UnpicklingError(
                "Weights only load failed. WeightsUnpickler error: Can only build Tensor, "
                "Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got "
                f"{type(target)}"
            )


_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_LITERALS = {
    *_CONSTANTS,
    *"INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT".split(),
    *"UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8".split(),
    *"SHORT_BINBYTES BINBYTES BINBYTES8 BYTEARRAY8".split(),
}

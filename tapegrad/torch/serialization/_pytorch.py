"""Files that `torch.save` wrote, here or in PyTorch: a zip of storages, and a pickle of them.

Unless the user trusts the file the pickle is not unpickled: its instructions are read one by one,
and do nothing but build tensors, containers, plain values and objects of classes that the user has
named. Each other instruction, and each other name, is refused.
"""

from __future__ import annotations

import io
import pickletools
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch import _dtypes
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.parameter import Parameter
from tapegrad.torch.serialization._bounds import Contents, Keys, of_plain, require_values
from tapegrad.torch.serialization._names import home_of, is_trusted, trusted
from tapegrad.torch.serialization._rebuilding import FUNCTIONS, OF_TENSORS, Kind, Storage, known

_MARK = object()


class ElsewhereError(RuntimeError):
    """A file that is sound, of tensors on another device."""


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
    **FUNCTIONS,
    "collections.OrderedDict": of_plain(_LISTS, OrderedDict),
    "collections.Counter": of_plain((dict,), Counter),
    "torch.Size": of_plain((list, tuple), _dtypes.Size),
    "torch.device": of_plain((str, int), _dtypes.device),
    "_codecs.encode": of_plain((str,), _encoded),
    "builtins.set": of_plain(_LISTS, set),
    "builtins.frozenset": of_plain(_LISTS, frozenset),
    "builtins.complex": _COMPLEX,
    "builtins.bytearray": _TEXT,
}


_OF_PAIRS = frozenset((_CALLS["collections.OrderedDict"],))
_OF_KEYS = _OF_PAIRS | {_CALLS[name] for name in _CALLS if name.endswith(("set", "Counter"))}


# The classes that a file may name, and not call.
_CLASSES = {"torch.Tensor": Tensor, "torch.nn.parameter.Parameter": Parameter}
_BLOCKED = frozenset(("nt", "os", "posix", "sys"))  # modules that no user can have meant


def _as_now(argument: str) -> tuple[str, str]:
    """The module and the name of a global, where older protocols have those of Python 2."""
    module, _, name = argument.partition(" ")
    known_pair: tuple[str, str] | None = NAME_MAPPING.get((module, name))
    return known_pair or (IMPORT_MAPPING.get(module, module), name)


def _global(module: str, name: str) -> Any:
    """The object of a name; None of all that is neither known nor named by the user."""
    full = f"{module}.{name}"
    for found in (_CALLS.get(full), _CLASSES.get(full), known(module, name)):
        if found is not None:
            return found
    return trusted(full)


def _named(module: str, name: str) -> Any:
    """The object of a name; UnpicklingError where it may not be used."""
    if type(module) is not str or type(name) is not str:
        raise UnpicklingError("torch.load: expected the name of a global")
    full = f"{module}.{name}"[:200]
    if module.partition(".")[0] in _BLOCKED:
        raise UnpicklingError(
            f"{FAILED}Trying to load unsupported GLOBAL {full} whose module {module[:200]} is "
            "blocked."
        )
    if (found := _global(module, name)) is not None:
        return found
    full = full.removeprefix("builtins.")
    raise UnpicklingError(
        f"{FAILED}Unsupported global: GLOBAL {full} was not an allowed global by default. Please "
        f"use `torch.serialization.add_safe_globals([{full}])` or the "
        f"`torch.serialization.safe_globals([{full}])` context manager to allowlist this global "
        "if you trust this class/function. Or save model.state_dict() rather than the model."
    )


FAILED = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, do "
    "those steps only if you trust the source of the checkpoint.\n\t(1) Call `torch.load` with "
    "`weights_only=False`, which can run any code that the file says.\n\t(2) Alternatively, to "
    "load with `weights_only=True`, name the classes that it may use, as the following message "
    "says.\n\tWeightsUnpickler error: "
)


def globals_of(contents: Contents) -> set[str]:
    """The names in a file that nobody has allowed, of all its instructions."""
    names: set[tuple[str, str]] = set()
    pushed: list[Any] = []  # texts; None of all else
    memo: dict[int, Any] = {}
    argument: Any
    for step, (code, argument, _) in enumerate(pickletools.genops(_pickled(contents)[0])):
        contents.require_steps(step)
        if code.name == "GLOBAL":
            names.add(_as_now(argument))
        elif code.name == "STACK_GLOBAL" and all(isinstance(each, str) for each in pushed[-2:]):
            names.add((pushed[-2], pushed[-1]))
        if code.name == "MEMOIZE" or "PUT" in code.name:
            memo[len(memo) if argument is None else argument] = pushed[-1]
        elif "GET" in code.name:
            pushed.append(memo.get(argument))
        else:
            pushed.append(argument if "UNICODE" in code.name else None)
    return {f"{module}.{name}" for module, name in names if _global(module, name) is None}


def _pickled(contents: Contents) -> tuple[bytes, str]:
    """The pickle of a file, and the folder that it lies in."""
    pickles = [name for name in contents.names() if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise UnpicklingError(
            "torch.load: expected a zip file that torch.save wrote, got one without data.pkl"
        )
    return contents.read(pickles[0], plain=True), pickles[0].removesuffix("data.pkl")


def read(contents: Contents, where: Callable[[str], str], trust: dict[str, Any] | None) -> Any:
    """The value in a file.

    where: gives the device for the name of one. trust: None, or the arguments of an unpickler
    that does all that the file says.
    """
    pickled, folder = _pickled(contents)
    order = "<"
    if f"{folder}byteorder" in contents.names():
        order = ">" if contents.read(f"{folder}byteorder", plain=True) == b"big" else "<"
    storages: dict[str, Storage] = {}

    def storage_of(reference: Any) -> Storage:
        word, kind, key, place, count = _require(tuple, reference)
        if _require(str, word) != "storage" or not isinstance(kind, Kind):
            raise UnpicklingError("torch.load: a reference that is not to a storage")
        for part, expected in ((key, str), (place, str), (count, int)):
            _require(expected, part)
        _require_cpu(where(place))
        if key not in storages:
            data = contents.read(f"{folder}data/{key}")
            memory = _memory_of(data, kind, order, count)
            storages[key] = Storage(memory, contents.most, contents.charge)
        return storages[key]

    if trust is not None:
        return _unpickled(pickled, storage_of, **trust)
    machine = _Machine(storage_of, contents)
    return require_values(machine.run(pickled), others=machine.named_others)


def _unpickled(
    data: bytes, storage_of: Callable[[Any], Storage], pickle_module: Any, **given: Any
) -> Any:
    """The value that a pickle makes by any code that it names."""

    class Unpickler(pickle_module.Unpickler):  # type: ignore[misc]
        def find_class(self, module: str, name: str) -> Any:
            found = known(module, name)
            return super().find_class(home_of(module), name) if found is None else found

        def persistent_load(self, reference: Any) -> Storage:
            return storage_of(reference)

    return Unpickler(io.BytesIO(data), **given).load()


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


def _memory_of(data: bytes, kind: Kind, order: str, count: int) -> Value:
    """A flat array of the numbers of a storage, which can be written to."""
    bits = np.dtype(np.uint16) if kind.dtype == "bfloat16" else kind.numpy
    stored = bits.newbyteorder("<" if order == "<" else ">")
    memory = np.frombuffer(data, stored, count=min(count, len(data) // stored.itemsize))
    return memory.astype(bits).view(kind.numpy)


class _Machine:
    """Runs the instructions of a pickle that build plain values and call what `_named` knows."""

    def __init__(self, storage_of: Callable[[Any], Storage], contents: Contents) -> None:
        self.storage_of, self.contents, self.keys = storage_of, contents, Keys()
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.named_others = False  # whether a class that the user has named was used

    def run(self, data: bytes) -> Any:
        """The value that the instructions build."""
        for step, (code, argument, _) in enumerate(pickletools.genops(data)):
            self.contents.require_steps(step)
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
        self.stack.append(_named(*_as_now(argument)))

    def do_stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(_named(module, name))

    def do_binpersid(self, _: Any) -> None:
        self.stack.append(self.storage_of(self.stack.pop()))

    def do_reduce(self, _: Any) -> None:
        given, function = _require(tuple, self.stack.pop()), self.stack.pop()
        if is_trusted(function):
            self.named_others = True
            self.stack.append(function(*given))
            return
        if not any(function is each for each in _CALLS.values()):
            kind = type(function).__name__
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {kind}")
        if function not in OF_TENSORS:
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
        kind = self.stack[-2]
        if not (isinstance(kind, type) and is_trusted(kind)):
            self.do_reduce(None)
            return
        given = _require(tuple, self.stack.pop())
        self.named_others = True
        self.stack[-1] = kind.__new__(kind, *given)

    def do_build(self, _: Any) -> None:
        """Attributes of an OrderedDict: the versions of a state dict; of what the user named."""
        state, target = self.stack.pop(), self.stack[-1]
        if is_trusted(type(target)):
            _build(target, state)
            return
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


def _build(target: Any, state: Any) -> None:
    """Give an object its state as pickle does."""
    if hasattr(type(target), "__setstate__"):  # not what the file has put on the object
        target.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    target.__dict__.update(attributes or {})
    for word, part in (slots or {}).items():
        if word.startswith("__"):
            raise UnpicklingError(f"Weights only load failed: a file may not set {word}")
        setattr(target, word, part)


_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_LITERALS = {
    *_CONSTANTS,
    *"INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT".split(),
    *"UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8".split(),
    *"SHORT_BINBYTES BINBYTES BINBYTES8 BYTEARRAY8".split(),
}

"""PyTorch's dtypes, devices and shapes, and its rules of type promotion.

Knows NumPy's dtypes. Must not know tensors.

PyTorch promotes by category (bool, integer, floating, complex): an operand without dimensions, and
a Python number, changes the type of the others only where its category is the greater one.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Iterable, Iterator
from contextlib import ContextDecorator
from typing import Any, Self, SupportsIndex, overload

import numpy as np

from tapegrad._core.recorded import is_recording
from tapegrad._core.types import Value
from tapegrad._core.values import recorded_in


class dtype:
    """The type of the elements of a tensor, such as `torch.float32`.

    Attribute numpy (numpy.dtype): NumPy's dtype.
    Attribute is_floating_point (bool): Whether the elements are real floats.
    Attribute is_complex (bool): Whether the elements are complex.
    Attribute is_signed (bool): Whether the elements may be negative.
    Attribute itemsize (int): Bytes of one element.

    >>> torch.float32.itemsize, torch.float32.is_complex
    (4, False)
    """

    __slots__ = ("name", "numpy")

    def __init__(self, name: str, scalar: Any) -> None:
        self.name: str = name
        self.numpy: np.dtype[Any] = np.dtype(scalar)

    @property
    def is_floating_point(self) -> bool:
        """Whether the elements are real floats."""
        return self.numpy.kind == "f"

    @property
    def is_complex(self) -> bool:
        """Whether the elements are complex."""
        return self.numpy.kind == "c"

    @property
    def is_signed(self) -> bool:
        """Whether the elements may be negative."""
        return self.numpy.kind in "ifc"

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.numpy.itemsize

    def to_real(self) -> dtype:
        """The type of the real part.

        -> dtype: A real type; of a real type itself.
        """
        return of_numpy(np.finfo(self.numpy).dtype) if self.is_complex else self

    def to_complex(self) -> dtype:
        """The complex type of the same precision.

        -> dtype: A complex type.
        """
        return of_numpy(np.result_type(self.numpy, np.complex64))

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return of_numpy, (self.numpy,)


class _Brain(dtype):
    """bfloat16, whose arrays need the package ml_dtypes."""

    __slots__ = ()

    def __init__(self) -> None:
        self.name = "bfloat16"

    @property
    def numpy(self) -> np.dtype[Any]:  # type: ignore[override]  # which nothing writes later
        if not BRAINS:
            try:
                import ml_dtypes
            except ModuleNotFoundError as error:
                raise ModuleNotFoundError(
                    "torch.bfloat16: NumPy has no such dtype. Install the package that adds it: "
                    "pip install ml_dtypes"
                ) from error
            BRAINS.append(np.dtype(ml_dtypes.bfloat16))
        return BRAINS[0]

    is_floating_point = is_signed = True
    is_complex = False
    itemsize = 2

    def to_real(self) -> dtype:
        return self

    def to_complex(self) -> dtype:
        return BY_NAME["complex64"]

    def __reduce__(self) -> Any:
        return _brain_dtype, ()


BRAINS: list[np.dtype[Any]] = []  # NumPy's bfloat16, once a tensor needed it
BRAIN = _Brain()


def _brain_dtype() -> dtype:
    return BRAIN


def is_brain(given: object) -> bool:
    """Whether a NumPy dtype is bfloat16."""
    return bool(BRAINS) and given is not None and given == BRAINS[0]


_NAMES = (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 "
    "float16 float32 float64 complex64 complex128"
).split()
BY_NAME = {name: dtype(name, name) for name in _NAMES}
_BY_NUMPY = {known.numpy: known for known in BY_NAME.values()}
BY_NAME["bfloat16"] = BRAIN


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in text.split())


# Other names for the same types.
ALIASES = _pairs(
    "half:float16 float:float32 double:float64 cfloat:complex64 cdouble:complex128 "
    "short:int16 int:int32 long:int64"
)
# The word that PyTorch's messages and old type names have for a type.
WORDS = _pairs(
    "bool:Bool uint8:Byte int8:Char int16:Short int32:Int int64:Long bfloat16:BFloat16 "
    "float16:Half float32:Float float64:Double complex64:ComplexFloat complex128:ComplexDouble "
    "uint16:UInt16 uint32:UInt32 uint64:UInt64"
)
FLOAT32 = np.dtype(np.float32)
_default = [FLOAT32]  # the dtype of floating tensors that are made from Python numbers


def of_numpy(given: np.dtype[Any] | type) -> dtype:
    """PyTorch's name for a NumPy dtype; TypeError where it has none."""
    found = _BY_NUMPY.get(given)  # type: ignore[arg-type]  # a type is equal to its dtype
    if found is None and np.dtype(given).name == "bfloat16":
        return _BY_NUMPY.setdefault(BRAIN.numpy, BRAIN)
    if found is None:  # another byte order
        found = _BY_NUMPY.get(np.dtype(given).newbyteorder("="))
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{np.dtype(given).type.__name__}. The only "
            "supported types are: float64, float32, float16, complex64, complex128, int64, int32, "
            "int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    return found


def as_numpy(given: object) -> np.dtype[Any]:
    """NumPy's dtype for one of PyTorch's, a Python type, or a NumPy dtype."""
    if isinstance(given, dtype):
        return given.numpy
    if isinstance(given, (np.dtype, type)):
        return np.dtype(given)
    raise TypeError(f"expected a torch.dtype, got {type(given).__name__}")


def word_of(given: np.dtype[Any]) -> str:
    """`Float` for float32, as in `torch.FloatTensor`."""
    return WORDS[of_numpy(given).name]


REAL = "fuibV"  # the kinds of dtypes without the complex ones


def require_kind(given: np.dtype[Any], kernel: str, kinds: str = "fV") -> None:
    """NotImplementedError, in PyTorch's words, for a dtype of another kind than these.

    kernel: PyTorch's name of what it has for these alone. kinds: NumPy's letters; V is bfloat16.
    """
    if given.kind not in kinds:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{word_of(given)}'")


def type_word(given: np.dtype[Any]) -> str:
    """`torch.FloatTensor` for float32, `CPUBoolType` for a dtype that has no such class."""
    word = word_of(given)
    return f"CPU{word}Type" if given.kind in "bc" else f"torch.{word}Tensor"


def get_default_dtype() -> dtype:
    """The dtype of floating tensors that are made from Python numbers; float32 at first.

    -> dtype: A floating dtype.

    >>> torch.get_default_dtype()
    torch.float32
    """
    return of_numpy(_default[0])


def set_default_dtype(d: object) -> None:
    """Set what `get_default_dtype` returns.

    d (dtype): A floating dtype.
    TypeError: If it is not floating.

    >>> torch.set_default_dtype(torch.float64)
    >>> torch.tensor([1.0]).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError(
            f"only floating-point types are supported as the default type, got {d!r}. "
            "Pass torch.float32 or torch.float64."
        )
    _default[0] = d.numpy


def default_float() -> np.dtype[Any]:
    """NumPy's dtype of floating tensors that are made from Python numbers."""
    return _default[0]


def default_complex() -> np.dtype[Any]:
    """The complex dtype of the default precision."""
    return np.result_type(_default[0], np.complex64)


# --- Promotion ----------------------------------------------------------------------------------

# bfloat16 is of the kind of records, which no other tensor is of.
_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}


def of_number(number: Any) -> np.dtype[Any]:
    """The dtype of a tensor made of a Python number."""
    if isinstance(number, (bool, np.bool_)):
        return np.dtype(bool)
    if isinstance(number, (int, np.integer)):
        return np.dtype(np.int64)
    if isinstance(number, (float, np.floating)):
        return _default[0]
    if isinstance(number, (complex, np.complexfloating)):
        return default_complex()
    found: np.dtype[Any] = number.dtype  # AttributeError, which operations tell as no tensor
    return found


def is_recorded_number(x: Value) -> bool:
    """Whether a value is a number of Python's or NumPy's in a recorded call."""
    return is_recording() and recorded_in(x) is x and x.is_number()


def result_of(operands: Iterable[Value]) -> np.dtype[Any]:
    """The dtype to which an operation promotes its operands, arrays and Python numbers."""
    ranked: list[np.dtype[Any] | None] = [None, None, None]  # arrays, 0-d arrays, numbers
    for operand in operands:
        if is_recorded_number(operand):  # which has a dtype, as NumPy's have
            operand = operand._value
        if hasattr(operand, "dtype") and not issubclass(type(operand), np.generic):
            rank, given = (0 if operand.shape else 1), operand.dtype
        else:
            rank, given = 2, of_number(operand)
        before = ranked[rank]
        ranked[rank] = given if before is None else join(before, given)
    found: np.dtype[Any] | None = None
    for given in ranked:
        if given is None:
            continue
        if found is None:
            found = given
        elif _CATEGORY[given.kind] > _CATEGORY[found.kind]:
            # A float keeps its precision beside complex numbers and 0-d arrays: float64 gives
            # complex128.
            widens = given.kind == "c" and found.kind == "f"
            found = np.result_type(found, np.complex64) if widens else given
    assert found is not None
    return found


def join(first: np.dtype[Any], second: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype for two operands of equal rank; an integer dtype never widens a floating one."""
    if first == second:
        return first
    low, high = sorted((first, second), key=lambda given: _CATEGORY[given.kind])
    if _CATEGORY[high.kind] >= 2 and _CATEGORY[low.kind] < 2:
        return high
    if is_brain(low):
        return np.result_type(FLOAT32, high)
    if is_brain(high):
        return np.result_type(FLOAT32, low)
    joined = np.result_type(first, second)
    return joined if joined.kind == high.kind or joined.kind in "iu" else np.dtype(np.int64)


def can_store(given: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether an operation in place may write a result of one dtype into another's memory."""
    return _CATEGORY[given.kind] <= _CATEGORY[target.kind]


# --- Shapes and devices -------------------------------------------------------------------------


def _side(side: Any, place: int) -> int:
    try:
        return operator.index(side)
    except TypeError:
        kind = type(side)
        name = kind.__name__ if kind.__module__ != "numpy" else f"numpy.{kind.__name__}"
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {place} is '{name}')"
        ) from None


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple that prints as `torch.Size([2, 3])`.

    sizes (iterable of ints): The sizes.

    >>> torch.Size([2, 3]).numel()
    6
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Self:
        made = tuple.__new__(cls, sizes)
        if {*map(type, made)} - {int}:
            return tuple.__new__(cls, [_side(side, place) for place, side in enumerate(made)])
        return made

    def numel(self) -> int:
        """The number of elements.

        -> int: The product of the sizes.
        """
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))


# Checkers of annotations at run time, such as beartype, take it for the tuple that PyTorch's is.
type.__delattr__(Size, "__orig_bases__")


_KINDS = (
    "cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu "
    "mtia privateuseone"
).split()


class device(ContextDecorator):
    """Where a tensor lives: the CPU's memory; "meta" for a shape without data.

    As a context manager or a decorator it is the device of tensors that are made within.

    type (str or device, default 'cpu'): The kind of device, as "cpu" or "cpu:0". Others than "cpu"
        and "meta" have a name, and no tensors.
    index: Its number.
    RuntimeError: For a word that is none of PyTorch's kinds.

    >>> torch.device("cpu")
    device(type='cpu')
    >>> with torch.device("meta"):
    ...     torch.nn.Linear(3, 2).weight.shape
    torch.Size([2, 3])
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: object = "cpu", index: int | None = None) -> None:
        name, _, number = str(type).partition(":")
        if isinstance(type, int):
            name, number = "cuda", str(type)
        if name not in _KINDS:
            raise RuntimeError(
                f"Expected one of {', '.join(_KINDS)} device type at start of device string: "
                f"{name}"
            )
        self.type = name
        self.index = int(number) if number else index

    def __enter__(self) -> Self:
        _places.stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _places.stack.pop()

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)

    def __repr__(self) -> str:
        rest = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{rest})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str(self) == other
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


CPU = device("cpu")


class _Places(threading.local):
    """The devices of tensors that a thread makes: that of all, then those of blocks."""

    def __init__(self) -> None:
        self.stack = [CPU]


_places = _Places()


def set_default_device(device: object = None) -> None:
    """Make tensors on a device from now on: on the CPU, or "meta", without data.

    device (device or str): The device; the CPU unless given.
    RuntimeError: For another device.

    >>> torch.set_default_device("cpu")
    """
    require_cpu(device)
    _places.stack[0] = CPU if device is None else _as_device(device)


def get_default_device() -> device:
    """The device of tensors that are made without one.

    -> device: The CPU, unless a block or `set_default_device` says otherwise.

    >>> torch.get_default_device()
    device(type='cpu')
    """
    return _places.stack[-1]


def _as_device(given: object) -> device:
    return given if isinstance(given, device) else device(given)


def require_cpu(given: object) -> bool:
    """Whether what is given as `device=` is "meta"; RuntimeError for others than it and the CPU.

    None is the default device.
    """
    found = _places.stack[-1] if given is None else _as_device(given)
    if found.type == "cpu":
        return False
    if found.type != "meta":
        raise RuntimeError(
            f"expected the device 'cpu', got {str(found)!r}: tapegrad.torch computes with NumPy. "
            "For GPU arrays call tapegrad.grad on functions of CuPy arrays."
        )
    return True


class _Named:
    """A constant that prints as its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: str = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class layout(_Named):
    """How the elements of a tensor are kept: `torch.strided`, each in its place in memory.

    name: What it prints as.

    >>> torch.zeros(2).layout
    torch.strided
    """

    __slots__ = ()


class memory_format(_Named):
    """The order of elements in memory: `torch.contiguous_format`, `torch.channels_last`, ...

    name: What it prints as.

    >>> torch.channels_last
    torch.channels_last
    """

    __slots__ = ()


strided: layout = layout("strided")


def require_strided(call: str, given: object) -> None:
    """Raise for what is given as `layout=` and is not how tensors are kept here."""
    if given is not None and not isinstance(given, layout):
        kind = type(given).__name__
        raise TypeError(f"{call}(): argument 'layout' must be torch.layout, not {kind}")
    if given is not None and given is not strided:
        raise RuntimeError(f"{call}(): expected the layout torch.strided, got {given}")


contiguous_format: memory_format = memory_format("contiguous_format")
legacy_contiguous_format: memory_format = contiguous_format
preserve_format: memory_format = memory_format("preserve_format")
channels_last: memory_format = memory_format("channels_last")
channels_last_3d: memory_format = memory_format("channels_last_3d")


class finfo:
    """Limits of a floating dtype: eps, max, min, tiny, smallest_normal, resolution, bits.

    type: A floating or complex dtype; the default one unless given.

    >>> torch.finfo(torch.float32).bits
    32
    """

    def __init__(self, type: dtype | None = None) -> None:
        given = get_default_dtype() if type is None else of_numpy(as_numpy(type))
        if given is BRAIN:
            self._of_brain()
            return
        info = np.finfo(given.numpy)
        self.bits: int = int(info.bits)
        self.dtype: str = given.to_real().name
        self.eps: float = float(info.eps)
        self.max: float = float(info.max)
        self.min: float = float(info.min)
        self.tiny: float = float(info.tiny)
        self.smallest_normal: float = self.tiny
        self.resolution: float = float(info.resolution)

    def _of_brain(self) -> None:
        self.bits, self.dtype, self.eps, self.resolution = 16, "bfloat16", 2.0**-7, 0.01
        self.max = 2.0**127 * (2 - self.eps)
        self.min, self.tiny = -self.max, 2.0**-126
        self.smallest_normal = self.tiny

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.tiny:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer dtype: max, min, bits.

    type: An integer dtype.

    >>> torch.iinfo(torch.int8).max
    127
    """

    def __init__(self, type: dtype) -> None:
        given = of_numpy(as_numpy(type))
        info = np.iinfo(given.numpy)
        self.bits: int = info.bits
        self.max: int = info.max
        self.min: int = info.min
        self.dtype: str = given.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def is_sizes(value: object) -> bool:
    """Whether a value is a shape given as one argument: `(2, 3)`, not `2, 3`."""
    return isinstance(value, (tuple, list))


def sizes_of(given: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape that came as `f(2, 3)`, `f((2, 3))` or `f(torch.Size([2, 3]))`."""
    if len(given) == 1 and is_sizes(given[0]):
        given = tuple(given[0])
    return tuple(_whole(given))


def _whole(given: Iterable[SupportsIndex]) -> Iterator[int]:
    for side in given:
        yield side.__index__()

"""From tensors to Python's numbers, NumPy's arrays, other dtypes, copies and pickles.

Knows where a conversion would lose a derivative, and PyTorch's errors for that. Must not know
what operations there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import BatchingError
from tapegrad._arrays.caller import asking_place
from tapegrad._arrays.refusal import keep_refusal
from tapegrad._core.types import Tree, Value
from tapegrad._core.values import is_mapped, is_plain_array, untraced
from tapegrad._warning import warn
from tapegrad.torch import _dtypes
from tapegrad.torch._formats import arranged, check_rank, suggested
from tapegrad.torch._graph import modes
from tapegrad.torch._ops.create.legacy import type_dtype
from tapegrad.torch._ops.declare import private, register
from tapegrad.torch._ops.elementwise.arithmetic import cast
from tapegrad.torch._tensor.meta import MetaArray, NoDataError, is_meta
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch._types import Device, DType, MemoryFormat, Number, TensorLike

# --- NumPy --------------------------------------------------------------------------------------


@register(function=False)
def numpy(self: Tensor, *, force: bool = False) -> Value:
    """A NumPy array over the same memory: writes to one are seen in the other.

    force: Whether a tensor that requires grad is detached first.
    -> ndarray: The array.
    RuntimeError: For a tensor that requires grad, unless `force` or grad mode is off.
    """
    if self.node is not None and not force and modes.is_grad_enabled():
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    if self._value.dtype.kind == "V":
        raise TypeError("Got unsupported ScalarType BFloat16")
    if not is_plain_array(self._value):
        return np.asarray(self._value)  # the core's error, or its plain value
    return self._value.view()


@register("__array__", function=False)
def _array(self: Tensor, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> Value:
    """NumPy's hook for `np.asarray(tensor)`."""
    array = numpy(self)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return array.astype(dtype)
    return array.copy() if copy else array


@register("__dlpack__", function=False)
def _dlpack(self: Tensor, **options: Any) -> Any:
    return numpy(self).__dlpack__(**options)


@register("__dlpack_device__", function=False)
def _dlpack_device(_: Tensor) -> tuple[int, int]:
    return 1, 0  # the CPU


# --- Python's numbers ---------------------------------------------------------------------------


@register(function=False)
def item(self: Tensor) -> Number:
    """The one element, as a Python number without history.

    -> number: A bool, an int, a float or a complex number.
    RuntimeError: If there are more elements, or none.
    """
    value = self._value
    if value.size != 1:
        raise RuntimeError(f"a Tensor with {value.size} elements cannot be converted to Scalar")
    return _read(value, "item()").item()


def _read(value: Value, call: str) -> Value:
    """An array whose elements may be read: not within a vmap, where each example has its own."""
    value = untraced(value)
    if is_mapped(value):
        text = (
            f"{value.vmap_level.name}: {call} of a batched value; each example may have "
            "another one. Keep it as a tensor."
        )
        keep_refusal(value.vmap_level, asking_place(), lambda: BatchingError(text))
    return value


@register(function=False)
def tolist(self: Tensor) -> Tree:
    """The elements as nested lists of Python numbers.

    -> list or number: The lists; of no dimensions the one number.
    """
    return _read(self._value, "tolist()").tolist()


@register("__bool__", function=False)
def _is_true(self: Tensor) -> bool:
    size = self._value.size
    if size != 1:
        held = "no values" if not size else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {held} is ambiguous")
    return bool(_read(self._value, "bool()").item())


def _as_number(self: Tensor) -> Number:
    if self.node is not None:
        warn(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
            "behavior.\nConsider using tensor.detach() first."
        )
    if self._value.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return item(self)


def _as_real(self: Tensor, word: str) -> Number:
    """The number in a tensor, or its real part where there is no other."""
    number = _as_number(self)
    if not isinstance(number, complex):
        return number
    if number.imag:
        raise RuntimeError(f"value cannot be converted to type {word} without overflow")
    return number.real


@register("__index__", function=False)
def _index(self: Tensor) -> int:
    value = self._value
    if value.size != 1 or value.dtype.kind not in "biu":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(_read(value, "int()").item())


@register("__len__", function=False)
def _length(self: Tensor) -> int:
    if not self._value.shape:
        raise TypeError("len() of a 0-d tensor")
    return int(self._value.shape[0])


@register("__reversed__", function=False)
def _reverse(self: Tensor) -> Tensor:
    return self if not self._value.shape else self.flip(0)


@register("__contains__", function=False)
def _contains(self: Tensor, element: TensorLike) -> bool:
    if not isinstance(element, (Tensor, bool, int, float, complex, np.generic)):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
    other = plain_of(element) if isinstance(element, Tensor) else element
    return bool(np.any(plain_of(self) == other))


# --- Other dtypes -------------------------------------------------------------------------------


def converted(array: Value, given: np.dtype[Any]) -> Value:
    """An array of another dtype: of complex numbers only the real part fits a real one."""
    if array.dtype.kind == "c" and given.kind not in "cb":
        array = np.real(array)
    return cast(array, given)


def _wanted(args: tuple[Any, ...], dtype: DType) -> DType:
    """The dtype that the arguments of `to` ask for: a dtype, a tensor, or a device and a dtype."""
    for given in args:
        if isinstance(given, (_dtypes.dtype, type)):
            dtype = given
        elif isinstance(given, Tensor):
            dtype = given.dtype
        elif given is not None and not isinstance(given, (bool, str, _dtypes.device)):
            raise TypeError(
                f"to(): expected a dtype, a device or a tensor, got {type(given).__name__}"
            )
    return dtype


@private("ToCopyBackward0", exact=True, planned=True)
def _to_copy(input: Value, given: np.dtype[Any]) -> Value:
    made = converted(input, given)
    return made.copy() if made is input else made


def to_dtype(tensor: Tensor, given: np.dtype[Any]) -> Tensor:
    """A tensor with another dtype; itself where it has it."""
    return tensor if tensor._value.dtype == given else _to_copy(tensor, given)


@register(function=False)
def to(
    self: Tensor,
    *args: Any,
    dtype: DType = None,
    device: Device = None,
    other: Tensor | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat = None,
) -> Tensor:
    """The tensor with another dtype; itself where it has it already, unless `copy=True`.

    As `to(dtype)`, `to(device, dtype)` or `to(other)`; the only device is "cpu".

    *args: A dtype, a device, both, or another tensor whose dtype is meant.
    dtype: The dtype.
    device: The device, "cpu".
    other: A tensor whose dtype is meant.
    -> Tensor: The tensor itself, or a new one.
    """
    flags = [given for given in args if isinstance(given, bool)]
    copy = flags[1] if len(flags) > 1 else copy
    wanted = _wanted((*args, device, other), dtype)
    given = self._value.dtype if wanted is None else _dtypes.as_numpy(wanted)
    place: Any = None
    for part in (*args, device, other):
        if isinstance(part, (str, _dtypes.device, Tensor)):
            place = part
    if place is not None:
        if _dtypes.require_cpu(place.device if isinstance(place, Tensor) else place):
            return of_value(MetaArray(self.shape, given))
        if is_meta(self._value):
            raise NoDataError("Cannot copy out of meta tensor; no data!")
    if memory_format is None or memory_format is _dtypes.preserve_format:
        return _to_copy(self, given) if copy else to_dtype(self, given)
    return _in_format(self, given, memory_format, copy)


def _in_format(tensor: Tensor, given: np.dtype[Any], memory_format: Any, copy: bool) -> Tensor:
    value = tensor._value
    if type(value) is not np.ndarray:
        return _to_copy(tensor, given) if copy else to_dtype(tensor, given)
    check_rank(value, memory_format)
    if not copy and value.dtype == given and suggested(value) is memory_format:
        return tensor
    made = _to_copy(tensor, given)
    made._value = arranged(made._value, memory_format)
    return made


@register(function=False)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor with the dtype of another one.

    other: The tensor whose dtype is meant.
    -> Tensor: The tensor itself if it has that dtype, else a new one.
    """
    return to_dtype(self, other._value.dtype)


@register("type", function=False)
def type_of(self: Tensor, dtype: DType | str = None, non_blocking: bool = False) -> Any:
    """`torch.FloatTensor` as a string; with a dtype, a type or its name, the tensor converted.

    dtype (dtype, type or str): What to convert to.
    -> str or Tensor: The name, or the tensor.
    """
    if dtype is None:
        return f"torch.{_dtypes.word_of(self._value.dtype)}Tensor"
    return to_dtype(self, type_dtype(dtype))


def _conversion(word: str, name: str) -> None:
    given = _dtypes.BY_NAME[name]

    def convert(self: Tensor, memory_format: MemoryFormat = None) -> Tensor:
        return to(self, given, memory_format=memory_format)

    convert.__name__ = convert.__qualname__ = word
    convert.__doc__ = (
        f"The tensor as torch.{name}.\n\nReturns\n-------\nTensor\n"
        "    The tensor itself if it has that dtype, else a new one."
    )
    register(function=False)(convert)


CONVERSIONS = {
    **_dtypes.ALIASES,
    "bool": "bool",
    "byte": "uint8",
    "char": "int8",
    "bfloat16": "bfloat16",
}
for _word, _name in CONVERSIONS.items():
    _conversion(_word, _name)


@register(function=False)
def cpu(self: Tensor, *, memory_format: MemoryFormat = None) -> Tensor:
    """The tensor itself, which is in the CPU's memory; a copy if in another memory format.

    -> Tensor: The tensor itself, or a new one.
    """
    if memory_format is None and not is_meta(self._value):
        return self
    return to(self, "cpu", memory_format=memory_format)


@register(function=False)
def cuda(self: Tensor, device: Device = None, **_: Any) -> Tensor:
    """RuntimeError: tensors are in the CPU's memory.

    device: PyTorch's parameter.
    **_: PyTorch's other parameters.
    -> Tensor: Nothing is ever returned.
    RuntimeError: Always.
    """
    _dtypes.require_cpu("cuda" if device is None else device)
    return self


# --- Short methods ------------------------------------------------------------------------------

_SHORT: dict[str, Callable[..., Any]] = {
    "__int__": lambda self: int(_as_real(self, "int64_t")),
    "__float__": lambda self: float(_as_real(self, "double")),
    "__complex__": lambda self: complex(_as_number(self)),
}
for _word, _method in _SHORT.items():
    register(_word, function=False)(_method)

_ITSELF = "\n\nReturns\n-------\nTensor\n    This tensor itself."


def _declare_itself(word: str, why: str) -> None:
    def itself(self: Tensor) -> Tensor:
        return self

    itself.__name__ = itself.__qualname__ = word
    itself.__doc__ = f"The tensor itself: {why}.{_ITSELF}"
    register(function=False)(itself)


_declare_itself("share_memory_", "threads share memory as it is")
_declare_itself("resolve_conj", "conjugates are computed at once")
_declare_itself("resolve_neg", "negatives are computed at once")


@register(function=False)
def pin_memory(self: Tensor, device: Device = None) -> Tensor:
    """The tensor itself: there is no other device to copy to.

    device: Changes nothing.
    -> Tensor: This tensor itself.
    """
    return self


@register(function=False)
def is_pinned(self: Tensor, device: Device = None) -> bool:
    """False: there is no other device to copy to.

    device: Changes nothing.
    """
    return False


@register(function=False)
def is_shared(self: Tensor) -> bool:
    """False: memory belongs to this process."""
    return False


# Kinds of tensors that PyTorch has and this layer has not.
for _word in ("cuda", "sparse", "quantized", "mkldnn", "mps", "nested"):
    register(f"is_{_word}", function=False, module=__name__)(False)

"""Tensors made from data: numbers in nested lists, NumPy's arrays, other tensors.

Knows which dtype PyTorch gives to data. Must not know shapes and ranges.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Tree, Value
from tapegrad._core.values import in_trace
from tapegrad._warning import warn
from tapegrad.torch import _dtypes
from tapegrad.torch._dims import mistyped
from tapegrad.torch._dtypes import as_numpy
from tapegrad.torch._ops.declare import register
from tapegrad.torch._tensor.meta import MetaArray
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch._types import Device, DType, Number, TensorLike


@register(method=False)
def tensor(
    data: Tree,
    *,
    dtype: DType = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of data, without history.

    data (Tensor, array, number or nested sequences): The data; a tensor is copied with a
        UserWarning.
    dtype: The dtype; found from the data unless given: the default one (float32) for Python's
        floats, int64 for ints, that of an array.
    -> Tensor: A leaf with memory of its own.
    ValueError: For lists of unlike lengths.
    TypeError: For strings.
    RuntimeError: For other objects.

    >>> torch.tensor([[1, 2], [3, 4.5]])
    tensor([[1.0000, 2.0000],
            [3.0000, 4.5000]])
    """
    given = numpy_dtype("tensor", dtype)
    value = array_of_data(data, given, "torch.tensor")
    if _dtypes.require_cpu(device):
        value = MetaArray(value.shape, value.dtype)
    return leaf_of(value, requires_grad, "tensor")


def leaf_of(value: Value, requires_grad: Any, word: str) -> Tensor:
    """A new tensor that requires grad or not; RuntimeError where its dtype cannot.

    word: the function that makes it, which its TypeError for what is no bool names.
    """
    if requires_grad is False or requires_grad is None:
        return of_value(value)
    if not isinstance(requires_grad, (bool, np.bool_)):
        raise mistyped(word, "requires_grad", 0, "bool", requires_grad)
    if requires_grad and value.dtype.kind not in "fcV":
        raise RuntimeError(
            "Only Tensors of floating point and complex dtype can require gradients"
        )
    made = of_value(value)
    return made.requires_grad_() if requires_grad else made


def numpy_dtype(call: str, dtype: DType) -> np.dtype[Any] | None:
    """NumPy's dtype for what came as `dtype=`; None stays None."""
    if dtype is None:
        return None
    try:
        return as_numpy(dtype)
    except TypeError:
        raise mistyped(call, "dtype", 0, "torch.dtype", dtype) from None


def array_of_data(data: Tree, given: np.dtype[Any] | None, call: str) -> Value:
    """Data as an array of its own, of a dtype or the one that it suggests."""
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
            f"rather than {call}(sourceTensor)."
        )
        value = data.detach()._value
        return value.copy() if given is None else value.astype(given)
    if isinstance(data, np.ndarray):
        check_array(data)
        return copied(data, native(data.dtype) if given is None else given)
    return numbers_as_array(data, given)


def copied(array: Value, given: np.dtype[Any]) -> Value:
    """A copy of an array of NumPy's, or of a value in a trace."""
    return array.astype(given) if in_trace(array) else np.array(array, given)


def _viewed(array: Value) -> Value:
    return array.view() if in_trace(array) else np.asarray(array).view()


def native(given: np.dtype[Any]) -> np.dtype[Any]:
    """A dtype that tensors have; TypeError where there is none."""
    return _dtypes.of_numpy(given).numpy


def numbers_as_array(data: Tree, given: np.dtype[Any] | None) -> Value:
    """A number or nested sequences of numbers as an array."""
    shape = _shape_of(data)
    numbers = _flattened(data, shape)
    if numbers is not None:
        kinds = set(map(type, numbers))
        found = _inferred([kind() for kind in kinds]) if given is None else given
        return _converted(numbers, kinds, found).reshape(shape)
    leaves = list(_leaves(data, shape, 0))
    _check_leaves(leaves, bool(shape))
    found = _inferred(leaves) if given is None else given
    if leaves and isinstance(leaves[0], np.ndarray):
        return np.array([np.asarray(leaf) for leaf in leaves]).reshape(shape).astype(found)
    own = (Tensor, np.generic)
    numbers = [leaf.item() if isinstance(leaf, own) else leaf for leaf in leaves]
    return _converted(numbers, set(map(type, numbers)), found).reshape(shape)


PYTHON = frozenset((bool, int, float, complex))


def _flattened(data: Tree, shape: tuple[int, ...]) -> list[Number] | None:
    """The numbers in nested lists; None for other contents, or lists of unlike lengths."""
    level = [data]
    for side in shape:
        if not {list, tuple}.issuperset(map(type, level)) or {side} != set(map(len, level)):
            return None
        level = list(itertools.chain.from_iterable(level))
    return level if PYTHON.issuperset(map(type, level)) else None


def _check_leaves(leaves: list[TensorLike], nested: bool) -> None:
    """Raise PyTorch's error for what is no number."""
    for kind, leaf in {type(leaf): leaf for leaf in leaves}.items():
        if issubclass(kind, str) and nested:
            raise ValueError(f"too many dimensions {kind.__name__!r}")
        if _is_sequence(leaf):
            raise TypeError(f"{kind.__name__!r} object cannot be interpreted as an integer")


def _is_sequence(data: Tree) -> bool:
    return isinstance(data, Sequence) and not isinstance(data, (str, bytes))


def _shape_of(data: Tree) -> tuple[int, ...]:
    """The shape that the first element of each sequence suggests."""
    shape: list[int] = []
    while _is_sequence(data):
        shape.append(len(data))
        if not data:
            return tuple(shape)
        data = data[0]
    if isinstance(data, np.ndarray):
        shape += data.shape
    return tuple(shape)


def _leaves(data: Tree, shape: tuple[int, ...], dim: int) -> Iterator[TensorLike]:
    """The numbers in nested sequences, or arrays where these are what is nested."""
    if isinstance(data, np.ndarray):
        if data.shape != shape[dim:]:
            _raise_length(shape, dim, data.shape)
        yield data if data.ndim else data[()]
        return
    if dim == len(shape):
        if isinstance(data, Tensor) and data.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        yield data
        return
    if not _is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != shape[dim]:
        _raise_length(shape, dim, (len(data),))
    for part in data:
        yield from _leaves(part, shape, dim + 1)


def _raise_length(shape: tuple[int, ...], dim: int, got: tuple[int, ...]) -> NoReturn:
    expected = shape[dim] if dim < len(shape) else 0
    raise ValueError(
        f"expected sequence of length {expected} at dim {dim} (got {got[0] if got else 0})"
    )


def _inferred(leaves: list[TensorLike]) -> np.dtype[Any]:
    """The dtype of data: the one that all its elements promote to."""
    kinds = {type(leaf): leaf for leaf in leaves}
    found: np.dtype[Any] | None = None
    for leaf in leaves if any(map(_has_own_dtype, kinds.values())) else kinds.values():
        given = _dtype_of(leaf)
        found = given if found is None else _dtypes.join(found, given)
    return _dtypes.default_float() if found is None else found


def _has_own_dtype(leaf: TensorLike) -> bool:
    return isinstance(leaf, (Tensor, np.ndarray))


def _dtype_of(leaf: TensorLike) -> np.dtype[Any]:
    if isinstance(leaf, (Tensor, np.ndarray, np.generic)):
        return native(leaf._value.dtype if isinstance(leaf, Tensor) else leaf.dtype)
    if isinstance(leaf, (bool, int, float, complex)):
        return _dtypes.of_number(leaf)
    if isinstance(leaf, str):
        raise TypeError("new(): invalid data type 'str'")
    raise RuntimeError(f"Could not infer dtype of {type(leaf).__name__}")


def _converted(numbers: list[Number], kinds: set[type], given: np.dtype[Any]) -> Value:
    """Python numbers as an array of a dtype, with PyTorch's errors where they do not fit."""
    for kind in kinds - PYTHON:
        raise TypeError(f"{kind.__name__!r} object cannot be interpreted as a number")
    if complex in kinds and given.kind != "c":
        raise TypeError("must be real number, not complex")
    with silence():
        if given.kind not in "iu" or not numbers:
            return np.array(numbers).astype(given, copy=False)
        return _wholes(numbers, kinds, given).astype(given)


def _wholes(numbers: list[Number], kinds: set[type], given: np.dtype[Any]) -> Value:
    """Whole numbers as an array that fits a dtype; negative ones wrap in an unsigned one."""
    beyond = RuntimeError(f"value cannot be converted to type {given.name} without overflow")
    try:
        wholes = [*map(int, numbers)] if float in kinds else numbers
    except (ValueError, OverflowError):  # NaN, infinity
        raise beyond from None
    try:
        array = np.array(wholes, np.int64)
    except OverflowError:
        if given != np.uint64 or min(wholes) < 0 or max(wholes) >= 2**64:
            raise ValueError("Overflow when unpacking long long") from None
        return np.array(wholes, np.uint64)
    limits = np.iinfo(given)
    least = -int(limits.max) - 1 if limits.min == 0 else int(limits.min)
    if int(array.max()) > limits.max or int(array.min()) < least:
        raise beyond
    return array


# --- Over the same memory -----------------------------------------------------------------------


def check_array(array: Value) -> None:
    """Raise PyTorch's error for an array that cannot be a tensor."""
    native(array.dtype)
    if any(step < 0 for step in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) "
        )
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )


@register(method=False)
def from_numpy(ndarray: Value) -> Tensor:
    """A tensor over the memory of a NumPy array: writes to one are seen in the other.

    ndarray (ndarray): The array.
    -> Tensor: A tensor over the same memory.
    TypeError: For what is no array, or has a dtype that tensors do not.
    ValueError: If a stride is negative.
    UserWarning: If the array cannot be written to.

    >>> import numpy as np
    >>> a = np.zeros(2)
    >>> torch.from_numpy(a)[0] = 1.0
    >>> a
    array([1., 0.])
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    check_array(ndarray)
    if not ndarray.flags.writeable:
        warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. This means writing to this tensor will raise an error. You may want to copy "
            "the array to protect its data or make it writable before converting it to a tensor."
        )
    return of_value(_viewed(ndarray))


@register(method=False)
def as_tensor(data: Tree, dtype: DType = None, device: Device = None) -> Tensor:
    """Data as a tensor: without a copy, and with its history, where it has the dtype already.

    data (Tensor, array, number or nested sequences): The data.
    dtype: The dtype of the result; that of the data unless given.
    -> Tensor: A tensor, which shares the memory of a tensor or an array of that dtype.

    >>> torch.as_tensor([1, 2])
    tensor([1, 2])
    """
    meta = _dtypes.require_cpu(device)
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    if meta:
        return tensor(data, dtype=dtype, device=device)
    given = numpy_dtype("tensor", dtype)
    if isinstance(data, np.ndarray):
        check_array(data)
        array = _viewed(data)
        return of_value(array if given in (None, array.dtype) else array.astype(given))
    return of_value(array_of_data(data, given, "torch.as_tensor"))


@register(method=False)
def asarray(
    obj: Tree,
    *,
    dtype: DType = None,
    device: Device = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """As `as_tensor`, with a say in whether it is copied.

    obj (Tensor, array, number or nested sequences): The data.
    dtype: The dtype of the result; that of the data unless given.
    copy: True for a copy always, False for none, None for one where it is needed.
    requires_grad: Whether the result requires grad.
    -> Tensor: A tensor, which shares the memory of a tensor or an array of that dtype unless
        `copy`.
    ValueError: If `copy` is False and a copy is needed.

    >>> torch.asarray([1, 2])
    tensor([1, 2])
    """
    made = as_tensor(obj, dtype, device)
    known = obj._value if isinstance(obj, Tensor) else obj
    shared = isinstance(known, np.ndarray) and np.may_share_memory(known, plain_of(made))
    if copy and shared:
        made = made.clone()
    elif copy is False and not shared and made is not obj:
        raise ValueError("can't alias the given object: it needs a copy. Leave copy=False away.")
    if requires_grad is not None and requires_grad != made.requires_grad:
        made = made.detach().requires_grad_(requires_grad)
    return made


@register(method=False)
def frombuffer(
    buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A tensor of one dimension over the memory of a buffer.

    buffer: An object with the buffer protocol, as bytearray.
    dtype: The dtype of the elements.
    count: How many elements; all if negative.
    offset: How many bytes are left out at the start.
    -> Tensor: A vector over the same memory.
    """
    array = np.frombuffer(buffer, as_numpy(dtype), count, offset)
    return from_numpy(array).requires_grad_(requires_grad)


@register(method=False)
def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor over the memory of an array of another library.

    ext_tensor: An array with the methods of the DLPack protocol.
    -> Tensor: A tensor over the same memory.

    >>> import numpy as np
    >>> torch.from_dlpack(np.array([1.0, 2.0]))
    tensor([1., 2.], dtype=torch.float64)
    """
    return of_value(np.from_dlpack(ext_tensor))


def number_of(value: Value) -> Number:
    """A NumPy scalar as a Python number, as PyTorch takes it."""
    native(value.dtype)
    return value.item()


def from_operand(value: Value) -> TensorLike:
    """A NumPy operand as what PyTorch computes with: a number, or a tensor for an array.

    The tensor has a copy, which writes to the array do not change. TypeError for a dtype that no
    tensor has.
    """
    if isinstance(value, np.generic):
        return number_of(value)
    return of_value(copied(value, native(value.dtype)))

"""The functions and types that PyTorch's files name, of tensors and their memory.

Knows what such a function makes of what a file says. Must not know pickles, nor zip files.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from pickle import UnpicklingError
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch import _dtypes
from tapegrad.torch._ops.object.memory import OWN, attributes_of
from tapegrad.torch._tensor.meta import MetaArray
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch.nn.parameter import Parameter


class Kind(NamedTuple):
    """The type of a storage: PyTorch's name of it, and of the dtype of its elements."""

    name: str
    dtype: str

    @property
    def numpy(self) -> np.dtype[Any]:
        return _dtypes.BY_NAME[self.dtype].numpy


class Storage(NamedTuple):
    """A flat array, how many bytes each of its tensors may take, and who counts further ones."""

    memory: Value
    most: int
    charge: Callable[[int], None]


UNTYPED = Kind("UntypedStorage", "uint8")
# The types of storages by PyTorch's names: of the newer dtypes there is none of their own.
KINDS = {
    f"{word}Storage": Kind(f"{word}Storage", name)
    for name, word in _dtypes.WORDS.items()
    if name not in ("uint16", "uint32", "uint64")
}
OF_DTYPE = {kind.dtype: kind for kind in KINDS.values()}


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


def rebuild_tensor(
    storage: Any,
    offset: Any,
    shape: Any,
    strides: Any,
    requires_grad: Any,
    hooks: Any = (),
    metadata: Any = None,
) -> Any:
    """A leaf over the memory of a storage; offset and strides are counts of elements."""
    value = strided(storage.memory, offset, shape, strides, storage.most)
    if metadata:  # PyTorch conjugates and negates without writing to the memory
        storage.charge(2 * value.nbytes)
        value = value.conj() if metadata.get("conj") else value
        value = -value if metadata.get("neg") else value
    made = of_value(value)
    return made.requires_grad_() if requires_grad else made


def rebuild_tensor_of_dtype(
    storage: Any,
    offset: Any,
    shape: Any,
    strides: Any,
    requires_grad: Any,
    hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Any:
    """The same over bytes of a dtype."""
    typed = storage._replace(memory=storage.memory.view(_dtypes.as_numpy(dtype)))
    return rebuild_tensor(typed, offset, shape, strides, requires_grad, (), metadata)


def rebuild_parameter(data: Any, requires_grad: Any, hooks: Any = ()) -> Any:
    """A parameter over the memory of a tensor."""
    return Parameter(data, bool(requires_grad))


def rebuild_parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    """A parameter with attributes."""
    return _with_attributes(rebuild_parameter(data, requires_grad), state)


def _with_attributes(tensor: Any, state: Any) -> Any:
    """A tensor with the attributes that a user had set on it: none of its own."""
    if isinstance(state, tuple) and len(state) == 2:  # those of slots, too
        state = {**(state[0] or {}), **(state[1] or {})}
    for word, part in (state or {}).items():
        if word in OWN:
            raise UnpicklingError(f"torch.load: {word!r} as an attribute of a tensor")
        tensor.__dict__[word] = part
    return tensor


def rebuild_meta_tensor(dtype: Any, shape: Any, strides: Any, requires_grad: Any) -> Any:
    """A tensor without data."""
    sizes = [*_few(shape), *_few(strides)]
    if len(shape) != len(strides) or not all(type(n) is int and 0 <= n < 1 << 40 for n in sizes):
        raise UnpicklingError("torch.load: a shape or strides that are no sizes")
    given = _dtypes.as_numpy(dtype)
    steps = tuple(by * given.itemsize for by in strides)
    made = of_value(MetaArray(tuple(shape), given, steps))
    return made.requires_grad_() if requires_grad else made


def rebuild_of_type(function: Any, kind: Any, given: Any, state: Any) -> Any:
    """A tensor of a class, with attributes: what a function of this file makes."""
    if function not in OF_TENSORS or not isinstance(given, tuple):
        raise UnpicklingError("torch.load: a tensor that none of PyTorch's functions makes")
    made = function(*given)
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise UnpicklingError("torch.load: a tensor of a class that is none of tensors")
    if type(made) is not kind:
        made.__class__ = kind
    return _with_attributes(made, state)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor_v2": rebuild_tensor,
    "torch._utils._rebuild_tensor_v3": rebuild_tensor_of_dtype,
    "torch._utils._rebuild_parameter": rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": rebuild_parameter_with_state,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuild_meta_tensor,
    "torch._tensor._rebuild_from_type_v2": rebuild_of_type,
}
OF_TENSORS = frozenset(FUNCTIONS.values())


def known(module: str, name: str) -> Any:
    """The function, type of storages or dtype of a name; None for any other."""
    if (found := FUNCTIONS.get(f"{module}.{name}")) is not None:
        return found
    if module == "torch.storage" and name == UNTYPED.name:
        return UNTYPED
    return (KINDS.get(name) or _dtypes.BY_NAME.get(name)) if module == "torch" else None


@cache
def _names() -> dict[Any, tuple[str, str]]:
    functions = {function: full.rpartition(".")[::2] for full, function in FUNCTIONS.items()}
    kinds = {kind: ("torch", kind.name) for kind in KINDS.values()}
    return {**functions, **kinds, UNTYPED: ("torch.storage", UNTYPED.name)}


def known_name(thing: Any) -> tuple[str, str] | None:
    """The module and the name by which PyTorch's files name what `known` finds; None of others."""
    if isinstance(thing, _dtypes.dtype):
        return "torch", thing.name
    return _names().get(thing) if isinstance(thing, Kind) or callable(thing) else None


def reduced(tensor: Tensor, storage_of: Callable[[Value], Any]) -> tuple[Any, ...]:
    """A tensor as a function of this file and its arguments, as PyTorch writes it.

    storage_of: what the pickle refers to the memory of an array by, its kind, and where in it the
    array lies: its start and its strides, in elements.
    """
    state, kind = attributes_of(tensor), type(tensor)
    if isinstance(tensor, Parameter):
        data = of_value(plain_of(tensor))
        if not issubclass(kind, Parameter):
            data.__class__ = kind
        state = {word: part for word, part in state.items() if word != Parameter._mark}
        if state:
            return rebuild_parameter_with_state, (data, tensor.requires_grad, OrderedDict(), state)
        return rebuild_parameter, (data, tensor.requires_grad, OrderedDict())
    value = plain_of(tensor)
    if isinstance(value, MetaArray):
        given: Any = tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.requires_grad
        function: Any = rebuild_meta_tensor
    elif type(value) is not np.ndarray:
        raise TypeError(
            "pickle: got a tensor within a functional transform, which is only valid there. "
            "Return it from the function first."
        )
    else:
        storage, stored_as, start, strides = storage_of(value)
        given = storage, start, value.shape, strides, tensor.requires_grad, OrderedDict()
        function = rebuild_tensor
        if stored_as is UNTYPED:
            function, given = rebuild_tensor_of_dtype, (*given, tensor.dtype)
    if kind is Tensor and not state:
        return function, given
    return rebuild_of_type, (function, kind, given, state)

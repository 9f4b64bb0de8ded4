"""Where the elements of a tensor lie, and copies of them: strides, storage, copies and pickles.

Knows NumPy's memory. Must not know what operations there are.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import memory_of
from tapegrad._warning import warn
from tapegrad.torch import _dtypes
from tapegrad.torch._dtypes import preserve_format, word_of
from tapegrad.torch._formats import arranged, check_rank, is_in, rank_of
from tapegrad.torch._graph.modes import is_inference_mode_enabled
from tapegrad.torch._graph.versions import count_write, owner_of, share_version
from tapegrad.torch._ops.declare import private, register
from tapegrad.torch._ops.view_paths import flat_memory
from tapegrad.torch._tensor.meta import is_meta
from tapegrad.torch._tensor.tensor import LEAF, Tensor, ndarray, of_value, plain_of
from tapegrad.torch._tensor.writes import check_writable
from tapegrad.torch._types import MemoryFormat

# --- Memory -------------------------------------------------------------------------------------


@private("CloneBackward0", planned=True)
def _in_order(input: Value) -> Value:
    return input.copy()


@register(function=False)
def contiguous(self: Tensor, memory_format: MemoryFormat = None) -> Tensor:
    """The tensor with its elements in order in memory: itself where they are.

    memory_format: `torch.channels_last` for images whose channels lie side by side,
        `torch.channels_last_3d` for volumes.
    -> Tensor: The tensor itself, or a copy.
    RuntimeError: If the format is for another number of dimensions.
    """
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    check_rank(plain_of(self), memory_format)
    if is_contiguous(self, memory_format):
        return self
    made = _in_order(self)
    if type(made._value) is ndarray:
        made._value = arranged(made._value, memory_format)
    return made


@register(function=False)
def is_contiguous(self: Tensor, memory_format: MemoryFormat = None) -> bool:
    """Whether the elements lie in order in memory: in that of a format, where one is given."""
    value = memory_of(self._value)  # that of one example; a program is of one layout
    return (type(value) is not ndarray and not is_meta(value)) or is_in(value, memory_format)


@register(function=False)
def stride(self: Tensor, dim: int | None = None) -> Any:
    """How many elements apart neighbours lie in memory, along each dimension or one of them.

    -> tuple of ints or int: The strides, or that of the dimension.
    """
    value = plain_of(self)
    steps = tuple(step // value.itemsize for step in value.strides)
    if not value.size and not any(steps):  # NumPy has zeros in new arrays
        sides = [max(side, 1) for side in value.shape]
        steps = tuple(math.prod(sides[place + 1 :]) for place in range(len(sides)))
    if dim is None:
        return steps
    if not -len(steps) <= dim < len(steps):
        most = max(len(steps), 1)
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-most}, {most - 1}], but got "
            f"{dim})"
        )
    return steps[dim]


_ORDERS = {_dtypes.channels_last: (0, 2, 3, 1), _dtypes.channels_last_3d: (0, 2, 3, 4, 1)}


@register(function=False)
def dim_order(self: Tensor, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
    """The dimensions in the order in which they lie in memory, the outermost first.

    ambiguity_check (bool or list of memory_formats): Whether an order that is not
        unique is an error; a list allows such a tensor that is in one of its memory formats alone.
    -> tuple of ints: The dimensions.
    RuntimeError: If the order is not unique, or the tensor is in none or several of the
        formats.
    TypeError: If `ambiguity_check` is neither a bool nor a list of memory formats.
    """
    strides = self.stride()
    found = tuple(sorted(range(len(strides)), key=lambda dim: -strides[dim]))
    asked: Any = ambiguity_check
    listed = asked if isinstance(asked, list) else []
    known = isinstance(asked, (bool, list))
    if not known or not all(isinstance(given, _dtypes.memory_format) for given in listed):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if asked is not False and _is_ambiguous(self):
        fitting = [given for given in listed if self.is_contiguous(memory_format=given)]
        if len(fitting) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the "
                "given memory formats."
            )
        if self.is_contiguous() and any(self.is_contiguous(memory_format=f) for f in _ORDERS):
            raise RuntimeError("The tensor does not have unique dim order.")
        return _ORDERS.get(fitting[0], tuple(range(len(strides))))
    return found


def _is_ambiguous(tensor: Tensor) -> bool:
    """Whether dimensions could change places without a change in memory."""
    steps = tensor.stride()
    return 1 in tensor.shape or any(a == b for a, b in itertools.pairwise(steps))


def _address(array: Value) -> int:
    return int(array.__array_interface__["data"][0])


@register(function=False)
def data_ptr(self: Tensor) -> int:
    """The address of the first element.

    -> int: The address, in bytes.
    """
    return _address(plain_of(self))


@register(function=False)
def storage_offset(self: Tensor) -> int:
    """How many elements after the start of its memory a tensor begins.

    -> int: The number of elements.
    """
    value = plain_of(self)
    if is_meta(value):
        return int(value.offset // value.itemsize)
    return (_address(value) - _address(owner_of(value))) // int(value.itemsize)


class Storage:
    """The memory of a tensor: its bytes, in one piece.

    tensor: The tensor.

    >>> torch.ones(2).untyped_storage().nbytes()
    8
    """

    def __init__(self, tensor: Tensor) -> None:
        self._array = owner_of(plain_of(tensor))

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return _address(self._array)

    def nbytes(self) -> int:
        """How many bytes there are."""
        return int(self._array.nbytes)

    size = nbytes

    def __len__(self) -> int:
        return self.nbytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Storage) and self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return self.data_ptr()


class TypedStorage:
    """The memory of a tensor as elements of its dtype, in order.

    tensor: The tensor.

    >>> torch.TypedStorage(torch.ones(2)).tolist()
    [1.0, 1.0]
    """

    def __init__(self, tensor: Tensor) -> None:
        owner = owner_of(plain_of(tensor))
        flat = owner.ravel(order="K")
        self._array = flat.view(tensor._value.dtype) if flat.base is not None else flat
        self.dtype = tensor.dtype
        self.device = tensor.device
        self._storage = Storage(tensor)

    def untyped(self) -> Storage:
        """The same memory as bytes.

        -> Storage: The same memory.
        """
        return self._storage

    def data_ptr(self) -> int:
        """The address of the first element."""
        return _address(self._array)

    def size(self) -> int:
        """How many elements there are."""
        return int(self._array.size)

    __len__ = size

    def element_size(self) -> int:
        """Bytes of one element."""
        return int(self._array.itemsize)

    def nbytes(self) -> int:
        """How many bytes there are."""
        return int(self._array.nbytes)

    def tolist(self) -> list[Any]:
        """The elements as Python numbers.

        -> list: The elements.
        """
        found: list[Any] = self._array.tolist()
        return found

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __getitem__(self, index: int) -> Any:
        return self._array[index].item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._array[index] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self._storage == other._storage

    def __hash__(self) -> int:
        return hash(self._storage)

    def __repr__(self) -> str:
        lines = [f" {number}" for number in self.tolist()]
        what = f"dtype={self.dtype}, device={self.device}"
        lines.append(f"[torch.storage.TypedStorage({what}) of size {len(self)}]")
        return "\n".join(lines)


@register(function=False)
def storage(self: Tensor) -> TypedStorage:
    """The memory of this tensor as elements of its dtype; `untyped_storage` in newer programs.

    -> TypedStorage: The storage.
    """
    warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be "
        "the only storage class. This should only matter to you if you are using storages "
        "directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
        "tensor.storage()"
    )
    return TypedStorage(self)


@register(function=False)
def untyped_storage(self: Tensor) -> Storage:
    """The memory of this tensor, which its views share.

    -> Storage: The storage, in bytes.
    """
    return Storage(self)


def _check_free(self: Tensor, what: str) -> None:
    """Raise RuntimeError for a tensor whose memory must not be exchanged."""
    if type(self._value) is not ndarray:
        raise RuntimeError(f"{what} of a tensor within a functional transform: take a new tensor.")
    if self._inference and not is_inference_mode_enabled():
        check_writable(self, tracked=False)


def _laid_out(flat: Value, shape: tuple[int, ...], memory_format: MemoryFormat) -> Value:
    """Elements that lie one after another as an array of a shape, in a memory format."""
    rank = rank_of(memory_format)
    if rank is None:
        return flat.reshape(shape)
    if len(shape) != rank:
        word = str(memory_format).removeprefix("torch.")
        raise RuntimeError(f"required rank {rank} tensor to use {word} format")
    return np.moveaxis(flat.reshape(shape[0], *shape[2:], shape[1]), -1, 1)


@register(function=False)
def resize_(self: Tensor, *sizes: Any, memory_format: MemoryFormat = None) -> Tensor:
    """Give this tensor other sizes: its first elements stay, further ones are not initialised.

    *sizes (int or sequence of ints): The sizes.
    memory_format: The order that the elements then have in memory; `preserve_format` is an error.
    RuntimeError: For a tensor that requires grad.
    """
    given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    shape = tuple(map(int, given))
    if self.node is not None:
        raise RuntimeError("cannot resize variables that require grad")
    if any(side < 0 for side in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension in sizes {shape}")
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    _check_free(self, "resize_")
    value, count = self._value, math.prod(shape)
    if value.shape == shape and memory_format is None:
        return self
    flat = owner_of(value)
    start = (_address(value) - _address(flat)) // max(value.itemsize, 1)
    room = flat.reshape(-1) if flat.flags.c_contiguous and flat.dtype == value.dtype else None
    if room is not None and start + count <= room.size:
        self._value = _laid_out(room[start : start + count], shape, memory_format)
    else:
        made = np.empty(count, value.dtype)
        kept = room[start:] if room is not None else value.reshape(-1)
        made[: kept.size] = kept[:count]
        self._value = _laid_out(made, shape, memory_format)
    count_write(self)
    return self


@register(function=False)
def resize_as_(self: Tensor, other: Tensor, memory_format: MemoryFormat = None) -> Tensor:
    """`resize_` to the sizes of another tensor.

    other: The tensor whose sizes are meant.
    """
    if memory_format is None or memory_format is preserve_format:
        return resize_(self, *other.shape)
    return resize_(self, *other.shape, memory_format=memory_format)


@register(function=False)
def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Let this tensor have the memory of another one, or of its storage; without any, none.

    source (Tensor or Storage): Whose memory it is to have.
    storage_offset: Where it begins, in elements.
    size (sequence of ints): The shape.
    stride (sequence of ints): The strides.
    """
    if self.node is not None and self.node is not LEAF:
        raise RuntimeError("set_ of a tensor that was computed: take the other tensor itself.")
    _check_free(self, "set_")
    if source is None:
        self._value = np.empty(0, self._value.dtype)
        count_write(self)
        return self
    memory = source._array if isinstance(source, Storage) else plain_of(source)
    if isinstance(source, Storage):
        memory = memory.reshape(-1).view(self._value.dtype)
    if memory.dtype != self._value.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {word_of(memory.dtype).lower()} to a tensor of type "
            f"{word_of(self._value.dtype).lower()}"
        )
    if size is not None:
        whole = flat_memory(memory)
        shape = tuple(map(int, size))
        steps = stride
        if steps is None:
            steps = [math.prod(shape[place + 1 :]) for place in range(len(shape))]
        last = storage_offset + sum(
            (side - 1) * int(step) for side, step in zip(shape, steps, strict=True)
        )
        if min(steps, default=0) < 0:
            raise RuntimeError(f"setStorage: expected strides of 0 and more, got {list(steps)}")
        if math.prod(shape) and not 0 <= storage_offset <= last < whole.size:
            raise RuntimeError(
                f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset "
                f"{storage_offset} are out of bounds for storage of size {whole.size}"
            )
        strides = [int(step) * whole.itemsize for step in steps]
        start = storage_offset * whole.itemsize if math.prod(shape) else 0
        memory = np.ndarray(shape, whole.dtype, whole, start, strides)
    self._value = memory
    if isinstance(source, Tensor):
        share_version(source, self)
    count_write(self)
    return self


@register(function=False)
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether two tensors are the same elements of the same memory, with the same strides.

    tensor: The other tensor.
    """
    one, two = plain_of(self), plain_of(tensor)
    if type(one) is not ndarray or type(two) is not ndarray:
        return False
    return (_address(one), one.shape, one.strides) == (_address(two), two.shape, two.strides)


# --- Copies and pickles -------------------------------------------------------------------------

OWN = frozenset(word for word in Tensor.__annotations__ if word.startswith("_"))


def attributes_of(tensor: Tensor) -> dict[str, Any]:
    """Attributes that users set on a tensor."""
    return {word: value for word, value in tensor.__dict__.items() if word not in OWN}


def _rebuilt(kind: type, value: Value, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    made = of_value(value)
    made.__class__ = kind
    if requires_grad:
        made.requires_grad_()
    made.__dict__.update(attributes)
    return made


@register("__reduce_ex__", function=False)
def _reduce(self: Tensor, _protocol: Any = None) -> Any:
    """Pickles hold the value: what is read from one is a leaf."""
    if type(self).__reduce__ is not object.__reduce__:
        return self.__reduce__()
    if type(self._value) is not ndarray:
        raise TypeError(
            "pickle: got a tensor within a functional transform, which is only valid there. "
            "Return it from the function first."
        )
    return _rebuilt, (type(self), self._value, self.requires_grad, attributes_of(self))


@register("__copy__", function=False)
def _copy(self: Tensor) -> Tensor:
    """Another tensor over the same memory: a leaf, as PyTorch makes it."""
    return _rebuilt(type(self), plain_of(self), self.requires_grad, attributes_of(self))


def _copied(value: Value, memo: dict[int, Any]) -> Value:
    """A copy in a copy of the memory: those of tensors that share memory share it, too."""
    if type(value) is not ndarray:
        return value.copy()
    owner = owner_of(value)
    known = memo.get(id(owner))
    if known is None:
        known = memo[id(owner)] = owner.copy(order="K")
    if owner is value:
        return known.view()
    if known.strides != owner.strides:  # what NumPy was given may overlap itself
        return value.copy()
    start = _address(value) - _address(owner)
    bytes_of = known.reshape(-1, order="A") if known.flags.forc else known.ravel(order="K")
    return np.ndarray(value.shape, value.dtype, bytes_of, start, value.strides)


@register("__deepcopy__", function=False)
def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    from copy import deepcopy

    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    known: Tensor | None = memo.get(id(self))
    if known is not None:
        return known
    value = _copied(self._value, memo)
    made = _rebuilt(type(self), value, self.requires_grad, {})
    memo[id(self)] = made
    made.__dict__.update(deepcopy(attributes_of(self), memo))
    if self._grad is not None:
        made.grad = deepcopy(self._grad, memo)
    return made

"""Views of parts: slices, diagonals, windows, splits, real and imaginary parts.

Knows the paths of views. Must not know indexing, or how views are logged and written to.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tapegrad.torch._dims import wrapped
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._graph.node import Node
from tapegrad.torch._graph.tracing import is_dual
from tapegrad.torch._ops.declare import register
from tapegrad.torch._ops.view_paths import (
    ALL,
    AsComplex,
    AsReal,
    Cut,
    Diagonal,
    ImaginaryPart,
    Index,
    RealPart,
    Reshape,
    Strided,
    Windows,
    label_of,
    view_of,
    whole,
)
from tapegrad.torch._ops.view_plans import Plan, viewing, viewing_apart
from tapegrad.torch._tensor.meta import is_meta, refuse
from tapegrad.torch._tensor.tensor import Tensor, ndarray
from tapegrad.torch._types import Number, Sizes, TensorLike

SELECT = label_of("Select")
AS_STRIDED = label_of("AsStrided")
SLICE = label_of("Slice")


# --- Parts --------------------------------------------------------------------------------------


@register()
@functools.partial(viewing, numpy_words=True)
def select(input: Tensor, dim: int, index: int) -> Plan:
    """The part at one index of a dimension; the result lacks that dimension.

    index: The position, counted from either end.
    IndexError: If there is no such position.
    """
    shape = input._value.shape
    place, position = wrapped(dim, len(shape)), whole(index)
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    if not -shape[place] <= position < shape[place]:
        raise IndexError(
            f"select(): index {position} out of range for tensor of size {list(shape)} at "
            f"dimension {place}"
        )
    return Index((*(ALL,) * place, position) if place else position), SELECT


@register()
@functools.partial(viewing, numpy_words=True)
def narrow(input: Tensor, dim: int, start: Number, length: int) -> Plan:
    """The part of a dimension from index `start` to before `start + length`.

    dim: The dimension, counted from either end.
    start (int or Tensor): The first position; a tensor of one whole number will do.
    RuntimeError: If the part reaches beyond the dimension.
    """
    shape = input._value.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    place, first, count = wrapped(dim, len(shape)), whole(start), whole(length)
    size = shape[place]
    if count < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= first <= size:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-size}, {size}], but got "
            f"{first})"
        )
    first += size if first < 0 else 0
    if first + count > size:
        raise RuntimeError(f"start ({first}) + length ({count}) exceeds dimension size ({size}).")
    return part_along(place, first, first + count), SLICE


def part_along(place: int, start: int, end: int) -> Index:
    """The path to the part of a dimension from index start to before end."""
    part = slice(start, end)
    return Index((*(ALL,) * place, part) if place else part)


@register()
@viewing
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Plan:
    """The diagonal of two dimensions, as the last dimension of the result.

    -> Tensor: A view, whose last dimension is the diagonal.
    """
    ndim = len(input._value.shape)
    first, second = wrapped(dim1, ndim), wrapped(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return Diagonal(offset=offset, axis1=first, axis2=second), label_of("Diagonal")


@register(function=False)
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of a dimension, `step` apart, along a new last one.

    dimension: The dimension, counted from either end.
    size: How long a window is.
    step: How far from one window to the next.
    -> Tensor: A view: it shares the memory of this tensor.
    """
    shape = self._value.shape
    place = wrapped(dimension, len(shape))
    room = shape[place] if shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > room:
        raise RuntimeError(
            f"maximum size for tensor at dimension {place} is {room} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    label = label_of("Unfold")
    if not shape:
        return view_of(self, Reshape((size,)), label)
    every = _windows(self, place, size)
    return every if step == 1 else _every(every, place, step)


@viewing
def _windows(input: Tensor, place: int, size: int) -> Plan:
    return Windows(window_shape=size, axis=place), label_of("Unfold")


@viewing
def _every(input: Tensor, place: int, step: int) -> Plan:
    return Index((*(ALL,) * place, slice(None, None, step))), label_of("Unfold")


@register()
def as_strided(
    input: Tensor, size: Sizes, stride: Sizes, storage_offset: int | None = None
) -> Tensor:
    """A view of the memory of a tensor with other sizes, strides and offset.

    size (sequence of ints): The shape of the result.
    storage_offset: Where it begins, counted from the start of the memory; that of `input` unless
        given.
    -> Tensor: A view: it shares the memory of `input`.
    """
    value = input._value
    if type(value) is ndarray and value.base is None:
        return _strided(input, size, stride, 0 if storage_offset is None else storage_offset)
    return view_of(input, strided_path(input, size, stride, storage_offset), AS_STRIDED)


@viewing
def _strided(input: Tensor, size: Sizes, stride: Sizes, storage_offset: int) -> Plan:
    """`as_strided` of a tensor over the whole of a memory."""
    return strided_path(input, size, stride, storage_offset), AS_STRIDED


def strided_path(
    input: Tensor, size: Sizes, stride: Sizes, storage_offset: int | None = None
) -> Strided:
    """The path to a view of the memory of a tensor; RuntimeError for one that would leave it."""
    value = input._value._value if is_dual(input._value) else input._value
    shape: tuple[int, ...] = tuple(map(whole, size))
    steps: tuple[int, ...] = tuple(map(whole, stride))
    if is_meta(value):
        refuse("as_strided")
    if type(value) is not ndarray:
        raise RuntimeError(
            "as_strided within a functional transform: arrays have no strides there"
        )
    if len(shape) != len(steps):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(steps, default=0) < 0:
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(steps)}"
        )
    return Strided(value, shape, steps, storage_offset)


# --- Complex numbers ----------------------------------------------------------------------------


def _real(self: Tensor) -> Tensor:
    """The real parts, in the same memory; a real tensor itself.

    -> Tensor: A view of real numbers; the tensor itself if it is real.
    """
    return view_of(self, RealPart(), SELECT) if self._value.dtype.kind == "c" else self


def _imaginary(self: Tensor) -> Tensor:
    """The imaginary parts, in the same memory.

    -> Tensor: A view of real numbers.
    RuntimeError: If the tensor is real.
    """
    if self._value.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return view_of(self, ImaginaryPart(), SELECT)


def _set_real(self: Tensor, value: TensorLike) -> None:
    self.real.copy_(value) if isinstance(value, Tensor) else self.real.fill_(value)


def _set_imaginary(self: Tensor, value: TensorLike) -> None:
    self.imag.copy_(value) if isinstance(value, Tensor) else self.imag.fill_(value)


register("real", method=False)(_real)
register("imag", method=False)(_imaginary)
register("real", function=False)(property(_real, _set_real))  # with the docstring from above
register("imag", function=False)(property(_imaginary, _set_imaginary))


@register(method=False)
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones, along a new last dimension.

    input: Complex numbers (...).
    -> Tensor: A view (..., 2) of real numbers.
    RuntimeError: If the tensor is real.
    """
    if input._value.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return view_of(input, AsReal(), label_of("ViewAsReal"))


@register(method=False)
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers along the last dimension as complex ones.

    input: Real numbers (..., 2) of a floating dtype.
    -> Tensor: A view (...) of complex numbers.
    RuntimeError: If the last dimension is not 2, or does not lie in order in memory.
    """
    value = input._value
    if value.dtype.kind != "f" or value.dtype.itemsize == 2:
        raise RuntimeError(
            "view_as_complex is only supported for floating point tensors, but got a tensor of "
            f"scalar type: {word_of(value.dtype)}"
        )
    if not value.shape or value.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if type(value) is ndarray:
        steps = [step // value.itemsize for step in value.strides]
        if steps[-1] != 1:
            raise RuntimeError("Tensor must have a last dimension with stride 1")
        if any(step % 2 for step in steps[:-1]):
            raise RuntimeError(
                "Tensor must have a stride divisible by 2 for all but last dimension"
            )
    return view_of(input, AsComplex(), label_of("ViewAsComplex"))


# --- Splitting ----------------------------------------------------------------------------------


@register()
@viewing_apart
def unbind(input: Tensor, dim: int = 0) -> Cut:
    """The parts at each index of a dimension; they lack that dimension.

    -> tuple of Tensors: Views, one for each position.
    """
    shape = input._value.shape
    if not shape and dim in (0, -1):
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return Cut(wrapped(dim, len(shape)), None, label_of("Unbind"))


@register("__iter__", function=False)
def _rows(self: Tensor) -> Iterator[Tensor]:
    if not self._value.shape:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self))


def _cut(place: int, ends: Sequence[int], label: type[Node]) -> Cut:
    return Cut(place, list(zip((0, *ends), ends, strict=False)), label)


@register(method=False)
@viewing_apart
def split(tensor: Tensor, split_size_or_sections: Sizes, dim: int = 0) -> Cut:
    """Parts along a dimension: of one size, the last maybe smaller, or of these sizes.

    tensor: The tensor.
    split_size_or_sections: The size of the parts, or the sizes, which sum to that of the
        dimension.
    """
    return _split(tensor, split_size_or_sections, dim)


@register("split", function=False)
@viewing_apart
def _split_method(self: Tensor, split_size: Sizes, dim: int = 0) -> Cut:
    """Parts along a dimension: of one size, the last maybe smaller, or of these sizes.

    split_size: The size of the parts, or the sizes, which sum to that of the dimension.

    >>> torch.arange(5).split(split_size=2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return _split(self, split_size, dim)


_split_method.__name__ = _split_method.__qualname__ = "split"


def _split(tensor: Tensor, split_size_or_sections: Sizes, dim: int) -> Cut:
    shape = tensor._value.shape
    place = wrapped(dim, len(shape))
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if isinstance(split_size_or_sections, (tuple, list)):
        return _split_with_sizes(tensor, split_size_or_sections, dim)
    size, total = whole(split_size_or_sections), shape[place]
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and total:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}"
        )
    ends = [min(end, total) for end in range(size, total + size, size)] if size else []
    return _cut(place, ends or [total], label_of("Split"))


@register()
@viewing_apart
def split_with_sizes(input: Tensor, split_sizes: Sizes, dim: int = 0) -> Cut:
    """Parts along a dimension, of these sizes.

    split_sizes (sequence of ints): The sizes, which sum to that of the dimension.
    """
    return _split_with_sizes(input, split_sizes, dim)


def _split_with_sizes(input: Tensor, split_sizes: Sizes, dim: int) -> Cut:
    place = wrapped(dim, len(input._value.shape))
    total = input._value.shape[place]
    sizes = list(map(whole, split_sizes))
    if min(sizes, default=0) < 0:
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={sizes}"
        )
    if sum(sizes) != total:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {total} (input tensor's size "
            f"at dimension {place}), but got split_sizes={sizes}"
        )
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return _cut(place, ends, label_of("SplitWithSizes"))


@register()
@viewing_apart
def chunk(input: Tensor, chunks: int, dim: int = 0) -> Cut:
    """At most so many parts along a dimension, of one size but maybe for the last.

    -> tuple of Tensors: Views of equal size along `dim`, of which the last may be smaller.
    """
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not input._value.shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    place = wrapped(dim, len(input._value.shape))
    total = input._value.shape[place]
    if not total:
        return _split_with_sizes(input, [0] * chunks, place)
    return _split(input, -(-total // chunks), place)


@register(numpy_words=True)
def tensor_split(
    input: Tensor,
    indices_or_sections: TensorLike = None,
    dim: int = 0,
    *,
    sections: int | None = None,
    indices: Sizes = None,
    tensor_indices_or_sections: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Parts along a dimension: so many of nearly one size, or split before these indices.

    indices_or_sections (int, Tensor or sequence of ints): The number of parts, or the indices
        before which to split.
    sections: The number of parts, by its own name.
    indices (sequence of ints): The indices, by their own name.
    tensor_indices_or_sections: The one or the other as a tensor.
    -> tuple of Tensors: Views: they share the memory of `input`.
    """
    shape = input._value.shape
    if not shape:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    place = wrapped(dim, len(shape))
    total = shape[place]
    given = _one_given(
        "tensor_split", indices_or_sections, sections, indices, tensor_indices_or_sections
    )
    if isinstance(given, Tensor):
        given = given._value.tolist()
    if isinstance(given, (tuple, list)):
        cuts = [whole(cut) for cut in given]
    else:
        count = whole(given)
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        small, larger = divmod(total, count)
        cuts = [i * small + min(i, larger) for i in range(1, count)]
    parts = zip([0, *cuts], [*cuts, total], strict=True)
    return tuple([_from_to(input, place, *part) for part in parts])


def _one_given(call: str, *ways: Any) -> Any:
    """The value given in one of several ways; TypeError for none or several."""
    given = [way for way in ways if way is not None]
    if len(given) != 1:
        raise TypeError(
            f"{call}() expected either indices or a number of sections, got {len(given)} arguments"
        )
    return given[0]


@viewing
def _from_to(input: Tensor, place: int, start: int, end: int) -> Plan:
    return Index((*(ALL,) * place, slice(start, end))), SLICE


_SPLITTER = """\
`tensor_split` along dimension {dim}, evenly where a number of parts is given.

input: A tensor of at least {rank} dimensions.
indices_or_sections (int or sequence of ints): The number of parts of equal size, or the indices
    before which to split.
sections: The number, by its own name.
indices (sequence of ints): The indices, by their own name.
-> tuple of Tensors: Views: they share the memory of `input`.
RuntimeError: If there are fewer dimensions, or the size is no multiple of the number of
    parts.

>>> [part.tolist() for part in torch.{word}({example}, 2)]
{result}
"""


def _splitter(word: str, rank: int, dim: Callable[[int], int], result: str) -> None:
    def call(
        input: Tensor,
        indices_or_sections: TensorLike = None,
        *,
        sections: int | None = None,
        indices: Sizes = None,
    ) -> tuple[Tensor, ...]:
        given = _one_given(word, indices_or_sections, sections, indices)
        shape = input._value.shape
        if len(shape) < rank:
            raise RuntimeError(
                f"torch.{word} requires a tensor with at least {rank} dimension, but got a tensor "
                f"with {len(shape)} dimensions!"
            )
        place = dim(len(shape))
        if not isinstance(given, (tuple, list, Tensor)) and shape[place] % whole(given):
            raise RuntimeError(
                f"torch.{word} attempted to split along dimension {place}, but the size of the "
                f"dimension {shape[place]} is not divisible by the split_size {given}!"
            )
        return tensor_split(input, given, place)

    call.__name__ = call.__qualname__ = word
    shape = {"hsplit": "2", "vsplit": "2, 1", "dsplit": "1, 1, 2"}[word]
    call.__doc__ = _SPLITTER.format(
        word=word,
        rank=rank,
        dim=f"{dim(rank)}, 1 of matrices" if rank == 1 else dim(rank),
        example=f"torch.arange(2).reshape({shape})",
        result=result,
    )
    register(numpy_words=True)(call)


_splitter("hsplit", 1, lambda ndim: 0 if ndim == 1 else 1, "[[0], [1]]")
_splitter("vsplit", 2, lambda _: 0, "[[[0]], [[1]]]")
_splitter("dsplit", 3, lambda _: 2, "[[[[0]]], [[[1]]]]")


def _unlinked(parts: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Parts that count as tensors of their own, not as views."""
    for part in parts:
        for word in ("_base", "_view_fn", "_creation_meta", "_attr_version", "_version_of"):
            part.__dict__.pop(word, None)
        if part.node is not None and part.grad_fn is not None:
            part.grad_fn.__class__ = label_of("UnsafeSplit")
    return parts


@register()
def unsafe_split(tensor: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`split`, of which one part may be written to if no other part is used afterwards.

    tensor: The tensor.
    split_size: The size of the parts.
    -> tuple of Tensors: The parts, which share the memory of `tensor`, and count as tensors
        of their own.
    """
    return _unlinked(split(tensor, split_size, dim))


@register()
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sizes, dim: int = 0) -> tuple[Tensor, ...]:
    """`split_with_sizes`, of which one part may be written to if no other is used afterwards.

    split_sizes (sequence of ints): The sizes, which sum to that of the dimension.
    -> tuple of Tensors: The parts, which share the memory of `input`, and count as tensors
        of their own.
    """
    return _unlinked(split_with_sizes(input, split_sizes, dim))


@register()
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`chunk`, of which one part may be written to if no other part is used afterwards.

    -> tuple of Tensors: The parts, which share the memory of `input`, and count as tensors
        of their own.
    """
    return _unlinked(chunk(input, chunks, dim))

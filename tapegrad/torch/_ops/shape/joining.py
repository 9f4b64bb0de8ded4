"""Tensors joined, repeated, flipped and rolled: copies with the elements at other positions.

Knows PyTorch's parameters and NumPy's functions. Must not know views or writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value, Values
from tapegrad._core.values import untraced
from tapegrad.torch._dims import by_name, wrapped
from tapegrad.torch._dtypes import result_of, sizes_of
from tapegrad.torch._graph.modes import MODE, PLAIN
from tapegrad.torch._ops.declare import Operation, operation, register
from tapegrad.torch._ops.elementwise.arithmetic import cast
from tapegrad.torch._ops.shape.reshape import reshaped
from tapegrad.torch._ops.view_paths import Index, label_of, view_of, whole
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch._types import Dim, Sizes


def _like(arrays: Values) -> list[Value]:
    target = result_of(arrays)
    return [cast(array, target) for array in arrays]


def _require_list(arrays: Values, word: str) -> Sequence[Value]:
    if not isinstance(arrays, (tuple, list)):
        raise TypeError(
            f"{word}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor"
        )
    return arrays


def _require_some(arrays: Values, word: str) -> Sequence[Value]:
    """A list of tensors; TypeError for anything else, RuntimeError for an empty one."""
    if not _require_list(arrays, word):
        raise RuntimeError(f"{word} expects a non-empty TensorList")
    return arrays


def _joined(arrays: Values, dim: int) -> Value:
    if not arrays:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    parts = _like(arrays)
    # PyTorch joins empty vectors with tensors of any shape, as its first versions did.
    first = next((part for part in parts if part.shape != (0,)), parts[0])
    if any(not part.shape for part in parts):
        place = next(i for i, part in enumerate(parts) if not part.shape)
        raise RuntimeError(f"zero-dimensional tensor (at position {place}) cannot be concatenated")
    if all(part.shape == (0,) for part in parts):
        return np.concatenate(parts)
    axis = wrapped(dim, first.ndim)
    nothing = (*first.shape[:axis], 0, *first.shape[axis + 1 :])
    kept = [part.reshape(nothing) if part.shape == (0,) else part for part in parts]
    for number, part in enumerate(kept):
        if part.ndim != first.ndim:
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {first.ndim} and {part.ndim}"
            )
        for place, (size, other) in enumerate(zip(first.shape, part.shape, strict=True)):
            if size != other and place != axis:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size "
                    f"{size} but got size {other} for tensor number {number} in the list."
                )
    return np.concatenate(kept, axis)


@operation("CatBackward0", method=False, planned=True, order="suggested")
def cat(tensors: Sequence[Value], dim: int = 0) -> Value:
    """Tensors joined along one of their dimensions.

    tensors: The tensors, which differ in size along `dim` at most; their dtypes are promoted to
        one.
    RuntimeError: If other sizes differ.
    """
    return _joined(_require_list(tensors, "cat"), dim)


@operation("StackBackward0", method=False, planned=True)
def stack(tensors: Sequence[Value], dim: int = 0) -> Value:
    """Tensors of one shape joined along a new dimension.

    dim: The place of the new dimension, counted from either end of the result.
    RuntimeError: If the shapes differ.
    """
    arrays = _require_some(tensors, "stack")
    first = arrays[0].shape
    for number, array in enumerate(arrays):
        if array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 "
                f"and {list(array.shape)} at entry {number}"
            )
    return np.stack(_like(arrays), wrapped(dim, len(first) + 1))


def _short_join(join: Function, general: Operation) -> Operation:
    """A join of tensors of one dtype without history along the first dimension.

    join: the same of arrays, which raises ValueError where they do not fit.
    """

    def call(tensors: Sequence[Tensor], dim: int = 0, **kwargs: Any) -> Any:
        mode = MODE.get()
        if kwargs and dim.__class__ is int and not dim:  # `out`, or NumPy's word for dim
            return general(tensors, **kwargs)
        if kwargs or dim.__class__ is not int or dim or mode not in PLAIN:
            return general(tensors, dim, **kwargs)
        if type(tensors) not in _LISTS or set(map(type, tensors)) != _TENSORS:
            return general(tensors, dim)
        values = [tensor._value for tensor in tensors]
        if set(map(type, values)) != _NDARRAYS:
            return general(tensors, dim)
        if mode is None and not _FREE.issuperset([tensor.node for tensor in tensors]):
            return general(tensors, dim)
        dtypes = {value.dtype for value in values}
        if len(dtypes) > 1 or values[0].dtype.kind == "V":
            return general(tensors, dim)
        try:
            out = join(values)
        except ValueError:
            return general(tensors, dim)  # says what does not fit, or has PyTorch's exceptions
        return of_value(out) if out.flags.c_contiguous else general(tensors)

    return call


_LISTS, _FREE = (list, tuple), frozenset([None])
_TENSORS, _NDARRAYS = {Tensor}, {np.ndarray}
cat = register("cat", "concat", "concatenate", method=False, replaces=cat)(
    _short_join(np.concatenate, cat)
)
stack = register(method=False, replaces=stack)(_short_join(np.array, stack))


def _at_least(array: Value, count: int) -> Value:
    shape = array.shape
    if len(shape) >= count:
        return array
    if count == 3 and shape:
        return array.reshape((1, *shape, 1) if len(shape) == 1 else (*shape, 1))
    return array.reshape((1,) * (count - len(shape)) + shape)


@operation("CatBackward0", method=False, planned=True, order="suggested")
def hstack(tensors: Sequence[Value]) -> Value:
    """Tensors joined along dimension 1, vectors along 0."""
    arrays = [_at_least(array, 1) for array in _require_some(tensors, "hstack")]
    return _joined(arrays, 0 if arrays[0].ndim == 1 else 1)


@operation("CatBackward0", method=False, planned=True, order="suggested")
def vstack(tensors: Sequence[Value]) -> Value:
    """Tensors joined along dimension 0, vectors as rows."""
    arrays = [_at_least(array, 2) for array in _require_some(tensors, "vstack")]
    return _joined(arrays, 0)


register("row_stack", method=False)(vstack)


@operation("CatBackward0", method=False, order="suggested")
def dstack(tensors: Sequence[Value]) -> Value:
    """Tensors joined along dimension 2."""
    arrays = [_at_least(array, 3) for array in _require_some(tensors, "dstack")]
    return _joined(arrays, 2)


@operation("CatBackward0", method=False, order="suggested")
def column_stack(tensors: Sequence[Value]) -> Value:
    """Tensors joined along dimension 1, vectors as columns."""
    arrays = [
        array.reshape((array.size, 1)) if array.ndim < 2 else array
        for array in _require_some(tensors, "column_stack")
    ]
    return _joined(arrays, 1)


def _block_diag(*tensors: Value) -> Value:
    """Matrices along the diagonal of a matrix that is zero elsewhere.

    *tensors: Matrices; vectors are rows, single elements matrices of one.
    -> Tensor: The matrix.
    """
    for number, array in enumerate(tensors):
        if array.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{number} has {array.ndim} dimensions"
            )
    matrices = _like([_at_least(array, 2) for array in tensors])
    width = sum(matrix.shape[1] for matrix in matrices)
    rows, before = [], 0
    for matrix in matrices:
        height, size = matrix.shape
        left = np.zeros((height, before), matrix.dtype)
        right = np.zeros((height, width - before - size), matrix.dtype)
        rows.append(np.concatenate([left, matrix, right], 1))
        before += size
    return np.concatenate(rows, 0)


operation("BlockDiagBackward0", method=False, name="block_diag")(_block_diag)


def _padded(tensor: Tensor, count: int) -> Tensor:
    shape = tensor._value.shape
    if len(shape) >= count:
        return tensor
    if not shape:
        return reshaped(tensor, (1,) * count)
    front = len(shape) == 1
    label = label_of("Unsqueeze")
    made = view_of(tensor, Index(None), label) if front else tensor
    return view_of(made, Index((..., None)), label) if count == 3 else made


def _declare_at_least(count: int, what: str) -> None:
    def call(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return _padded(tensors[0], count)
        given = tensors[0] if len(tensors) == 1 else tensors
        return tuple(_padded(tensor, count) for tensor in given)

    call.__name__ = call.__qualname__ = f"atleast_{count}d"
    call.__doc__ = f"""Views with at least {what}.

    *tensors: One tensor or several, also as one sequence.
    -> Tensor or tuple of Tensors: A view for each.
    """
    register(method=False)(call)


_declare_at_least(1, "one dimension")
_declare_at_least(2, "two dimensions, new ones in front")
_declare_at_least(3, "three dimensions: a vector lies along the middle one")


# --- Repetition ---------------------------------------------------------------------------------


@operation("RepeatBackward0", function=False, planned=True)
def repeat(self: Value, *repeats: Sizes) -> Value:
    """The tensor so many times along each dimension.

    *repeats: The counts, for at least as many dimensions as there are.
    """
    counts = sizes_of(repeats)
    if len(counts) < self.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    shape = (1,) * (len(counts) - self.ndim) + self.shape
    if min(counts, default=0) < 0:
        sizes = [count * size for count, size in zip(counts, shape, strict=True)]
        wrong = next(size for size in sizes if size < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {wrong}: {sizes}")
    return np.tile(self, counts)


@register(function=False, replaces=repeat)
def _repeat_method(self: Tensor, *repeats: Sizes, **words: Any) -> Tensor:
    """The tensor so many times along each dimension."""
    return repeat(self, *by_name("repeat", "repeats", repeats, words))


@register()
def tile(input: Tensor, *dims: Sizes, **words: Any) -> Tensor:
    """The tensor so many times along each dimension; fewer counts are those of the last ones.

    *dims: The counts.
    **words: `dims` by its name.
    """
    counts = sizes_of(by_name("tile", "dims", dims, words))
    lead = (1,) * (len(input._value.shape) - len(counts))
    made: Tensor = repeat(input, *lead, *counts)
    return made


def _repeated(array: Value, repeats: Value, dim: int | None) -> Value:
    if dim is None:
        array, dim = array.reshape((-1,)), 0
    axis = wrapped(dim, array.ndim)
    counts = untraced(repeats)
    if np.size(counts) == 1:
        counts = int(np.asarray(counts).reshape(-1)[0])
    elif len(counts) != array.shape[axis]:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{len(counts)} and input.size({axis}) = {array.shape[axis]}"
        )
    if np.any(np.less(counts, 0)):
        raise RuntimeError("Repeats must be non-negative")
    return np.repeat(array, counts, axis)


@operation(
    lambda input, repeats=None, dim=None, **_: (
        "IndexSelectBackward0" if hasattr(repeats, "node") else "ViewBackward0"
    )
)
def repeat_interleave(
    input: Value, repeats: Value = None, dim: int | None = None, *, output_size: int | None = None
) -> Value:
    """Each element (of the flat tensor), or each part along `dim`, so many times in a row.

    With one tensor of counts alone: the position of each, so many times.

    repeats (int or Tensor): How many times, for all or for each.
    dim: The dimension, counted from either end; the flat tensor unless given.
    output_size: The size that comes out along `dim`, if it is known.
    RuntimeError: If another size comes out, or a count is negative.
    """
    if repeats is None:
        counts = untraced(input)
        if counts.ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        if np.any(counts < 0):
            raise RuntimeError("repeats can not be negative")
        return _of_size(np.repeat(np.arange(counts.shape[0]), counts), 0, output_size)
    return _of_size(_repeated(input, repeats, dim), 0 if dim is None else dim, output_size)


def _of_size(made: Value, dim: int, size: int | None) -> Value:
    if size is not None and made.shape[dim] != size:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {made.shape[dim]} but got {size}"
        )
    return made


# --- Flips and rotations ------------------------------------------------------------------------


@operation("FlipBackward0", planned=True, order="preserved")
def flip(input: Value, *dims: Dim) -> Value:
    """The elements in reverse order along these dimensions."""
    axes = [wrapped(dim, input.ndim) for dim in sizes_of(dims)]
    for axis in axes:
        if axes.count(axis) > 1:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
    return np.flip(input, tuple(axes)) if axes and input.ndim else input.copy()


@register(replaces=flip)
def _flip_method(self: Tensor, *dims: Dim, **words: Any) -> Tensor:
    """The elements in reverse order along these dimensions."""
    given = by_name("flip", "dims", dims, words)
    if not given:
        raise TypeError('flip() missing 1 required positional arguments: "dims"')
    return flip(self, *given)


@operation("FlipBackward0", planned=True, order="preserved")
def fliplr(input: Value) -> Value:
    """The columns in reverse order.

    input: A tensor of at least two dimensions.
    """
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return np.flip(input, 1)


@operation("FlipBackward0", planned=True, order="preserved")
def flipud(input: Value) -> Value:
    """The rows in reverse order.

    input: A tensor of at least one dimension.
    """
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return np.flip(input, 0)


@operation("RollBackward0", planned=True, order="suggested")
def roll(input: Value, shifts: Sizes, dims: Dim = None) -> Value:
    """The elements shifted along dimensions; those beyond one end come back at the other.

    shifts: How far, one for each of `dims`.
    dims: The dimensions; the flat tensor unless given.
    """
    steps = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
    given = () if dims is None else tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not given and len(steps) == 1:
        return np.roll(input, whole(steps[0]))
    if len(steps) != len(given):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(given)}"
        )
    turned = input
    for step, dim in zip(steps, given, strict=True):
        turned = np.roll(turned, whole(step), wrapped(dim, input.ndim))
    return turned


@operation("Rot90Backward0", planned=True)
def rot90(input: Value, k: int = 1, dims: Dim = (0, 1)) -> Value:
    """A rotation by k * 90 degrees in the plane of two dims, from the first to the second.

    k: How many quarters of a turn.
    dims (sequence of ints): The two dimensions of the plane.
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    first, second = (wrapped(dim, input.ndim) for dim in dims)
    if first == second:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and "
            f"dim1 = {dims[1]}"
        )
    return np.rot90(input, k, (first, second))


# --- Triangles and diagonals --------------------------------------------------------------------


def _triangle(array: Value, diagonal: int, word: str) -> Value:
    if array.ndim < 2:
        raise RuntimeError(f"{word}: input tensor must have at least 2 dimensions")
    return np.tril(array, diagonal) if word == "tril" else np.triu(array, diagonal)


@operation("TrilBackward0", inplace=True, planned=True)
def tril(input: Value, diagonal: int = 0) -> Value:
    """The matrix with zeros above a diagonal.

    input: Matrices (..., n, m).
    """
    return _triangle(input, diagonal, "tril")


@operation("TriuBackward0", inplace=True, planned=True)
def triu(input: Value, diagonal: int = 0) -> Value:
    """The matrix with zeros below a diagonal.

    input: Matrices (..., n, m).
    """
    return _triangle(input, diagonal, "triu")


def _embedded(array: Value, offset: int, dim1: int, dim2: int) -> Value:
    rank = array.ndim + 1
    first, second = wrapped(dim1, rank), wrapped(dim2, rank)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    count = array.shape[-1]
    size = count + np.abs(offset)
    eye = np.eye(size, size, offset, dtype=bool)
    # The position of each element on the diagonal; where `eye` is false it is not used.
    places = np.cumsum(eye, axis=None).reshape(eye.shape) - 1
    made = (
        np.where(eye, array[..., np.clip(places, 0, max(count - 1, 0))], 0)
        if count
        else (np.zeros((*array.shape[:-1], size, size), array.dtype))
    )
    return np.moveaxis(cast(made, array.dtype), (-2, -1), (first, second))


@operation("DiagEmbedBackward0", planned=True)
def diag_embed(input: Value, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Value:
    """Matrices whose diagonals are the last dimension, zero elsewhere.

    dim1: The first dimension of the matrices, in the result.
    dim2: The second one.
    """
    return _embedded(input, offset, dim1, dim2)


@operation(
    lambda input, *_args, **_words: (
        "DiagEmbedBackward0" if input.ndim == 1 else "DiagonalBackward0_copy"
    )
)
def diag(input: Value, diagonal: int = 0) -> Value:
    """The diagonal of a matrix, as a copy; the matrix whose diagonal is a vector.

    input: A matrix or a vector.
    -> Tensor: A vector of a matrix, a matrix of a vector.
    RuntimeError: For another number of dimensions.
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    if input.ndim == 1:
        return _embedded(input, diagonal, 0, 1)
    return np.diagonal(input, diagonal).copy()


@operation("DiagEmbedBackward0")
def diagflat(input: Value, offset: int = 0) -> Value:
    """The matrix whose diagonal is the flat tensor."""
    return _embedded(input.reshape((-1,)), offset, 0, 1)

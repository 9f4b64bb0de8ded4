"""Views of all elements in another shape: reshaping, permuting, expanding; also in place.

Knows the paths of views. Must not know indexing, or how views are logged and written to.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad._warning import warn
from tapegrad.torch._dims import by_name, clash_of, wrapped
from tapegrad.torch._dtypes import Size, as_numpy, dtype, sizes_of, word_of
from tapegrad.torch._graph.modes import is_logging
from tapegrad.torch._graph.node import Node, new, node_class
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.tracing import is_dual
from tapegrad.torch._graph.versions import count_write, share_version
from tapegrad.torch._ops.declare import OPERATIONS, finish, register
from tapegrad.torch._ops.making import node_for
from tapegrad.torch._ops.view_paths import (
    ALL,
    Expand,
    Index,
    Path,
    Permute,
    Reshape,
    label_of,
    view_of,
    whole,
)
from tapegrad.torch._ops.view_plans import Plan, viewing
from tapegrad.torch._tensor.meta import is_meta
from tapegrad.torch._tensor.tensor import Tensor, array_of, ndarray, node_at, of_value
from tapegrad.torch._tensor.views import Steps
from tapegrad.torch._tensor.writes import check_writable, outdate_views
from tapegrad.torch._types import Dim, Sizes

VIEW = label_of("View")
SELECT = label_of("Select")
SLICE = label_of("Slice")
PERMUTE = label_of("Permute")
TRANSPOSE = label_of("Transpose")
EXPAND = label_of("Expand")
ALIAS = label_of("Alias")


# --- Shapes -------------------------------------------------------------------------------------


def _sized(given: tuple[Sizes, ...], count: int) -> tuple[int, ...]:
    """The shape that is asked for, with -1 replaced by its size; RuntimeError for a wrong one."""
    asked = given[0] if _is_one_shape(given) else given
    sizes = tuple([size if type(size) is int else whole(size) for size in asked])
    product = math.prod(sizes)
    if product == count and (not sizes or min(sizes) >= 0):
        return sizes
    unknown = sizes.count(-1)
    if unknown > 1:
        raise RuntimeError("only one dimension can be inferred")
    if min(sizes, default=0) < -1:
        raise RuntimeError(f"invalid shape dimension {min(sizes)}")
    if unknown and not product:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(sizes)} because the "
            "unspecified dimension size -1 can be any value and is ambiguous"
        )
    if not unknown or count % product:
        raise RuntimeError(f"shape '{list(asked)}' is invalid for input of size {count}")
    return tuple([-count // product if size == -1 else size for size in sizes])


def _is_one_shape(given: tuple[Sizes, ...]) -> bool:
    return len(given) == 1 and isinstance(given[0], (tuple, list))


def fits_in_memory(value: Value, shape: tuple[int, ...]) -> bool:
    """Whether an array can be seen in another shape without a copy."""
    if is_meta(value):
        return bool(value.is_seen_as(shape))
    if type(value) is not ndarray or value.flags.c_contiguous:
        return True
    made = value.reshape(shape)
    return bool(np.may_share_memory(made, value)) or not value.size


def _in_memory(tensor: Tensor) -> Value:
    """The value whose strides tell of the memory of a tensor; a traced one if these are not known.

    In a trace a view has the strides that it would have outside, a result those of NumPy.
    """
    value, base = tensor._value, tensor._base
    if type(value) is ndarray or base is None:
        return value
    whole = untraced(base._value)
    return untraced(value) if type(whole) is ndarray and whole.flags.c_contiguous else value


def reshaped(input: Tensor, shape: tuple[int, ...], label: type[Node] = VIEW) -> Tensor:
    """A tensor in another shape of as many elements: a view if it can be one, else a copy."""
    planned = _reshaping(input, shape, label)
    return planned(input) if callable(planned) else view_of(input, *planned)


def _reshaping(
    input: Tensor, shape: tuple[int, ...], label: type[Node] = VIEW
) -> tuple[Path, type[Node]] | Callable[[Tensor], Tensor]:
    if fits_in_memory(input._value, shape):
        value = input._value
        if label is VIEW and type(value) is ndarray and not value.flags.c_contiguous:
            label = label_of("ReshapeAlias")
        return Reshape(shape), label
    return functools.partial(_copied, shape=shape)


def _copied(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A copy of a tensor in another shape, which counts as a tensor of its own."""
    copy = input.clone()
    value = copy._value
    if is_meta(value):
        copy._value = value.copy()
    elif type(value) is not ndarray or not value.flags.c_contiguous:
        copy._value = np.ascontiguousarray(value)
    made = _in_copy(copy, *shape)
    made._base = made._view_fn = None  # nobody else holds the copy
    return made


@viewing
def _in_copy(copy: Tensor, *shape: int) -> Plan:
    return Reshape(shape), label_of("UnsafeView")


@register(function=False)
@viewing
def view(self: Tensor, *size: Sizes, **words: Any) -> Plan:
    """The same memory in another shape, or read as another dtype; never a copy.

    *size (int, sequence of ints or dtype): The shape, of which one size may be -1; or a dtype.
    **words: `size` or `dtype` by its name.
    -> Tensor: A view: it shares the memory of this tensor.
    RuntimeError: If memory does not allow it: `reshape` copies then.

    >>> x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    >>> x.view(2, -1).shape
    torch.Size([2, 2])
    """
    if words:
        size = by_name("view", "dtype" if "dtype" in words else "size", size, words)
    if not size:
        raise TypeError("view() received an invalid combination of arguments - got ()")
    if isinstance(size[0], dtype):
        return _reinterpreted(self, size[0])
    value = self._value
    shape = _sized(size, math.prod(value.shape))
    if not fits_in_memory(_in_memory(self), shape):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return Reshape(shape), VIEW


def _reinterpreted(self: Tensor, given: dtype) -> Tensor:
    """The bits of a tensor as another dtype; it does not require grad."""
    value = self._value
    target = as_numpy(given)
    if value.dtype == target:
        return view_of(self, Index(...), ALIAS)
    if type(value) is not ndarray and not is_meta(value):
        raise RuntimeError(
            f"view({given!r}) within a functional transform: the bits of a number have no "
            "derivative. Use to() for its value."
        )
    wide, narrow = value.dtype.itemsize, target.itemsize
    if wide != narrow:
        if not value.ndim:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {word_of(value.dtype)} as {word_of(target)} "
                "(different element sizes)"
            )
        if value.strides[-1] != wide or value.shape[-1] * wide % narrow:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {max(narrow // wide, 1)} and self.stride(-1) "
                f"must be 1 to view {word_of(value.dtype)} as {word_of(target)} (different "
                "element sizes)"
            )
    made = of_value(value.view(target))
    share_version(self, made)
    return made


@register()
@viewing
def reshape(input: Tensor, *shape: Sizes, **words: Any) -> Plan:
    """A view in another shape, of which one size may be -1; a copy where memory does not allow it.

    *shape: The new sizes, one of which may be -1: what remains.
    **words: `shape` by its name.
    -> Tensor: A view where memory allows it, else a copy.
    RuntimeError: If the number of elements differs.
    """
    given = by_name("reshape", "shape", shape, words)
    return _reshaping(input, _sized(given, math.prod(input._value.shape)))


@register()
@viewing
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Plan:
    """The dimensions from start_dim to end_dim merged into one.

    start_dim: The first of the dimensions that are merged.
    end_dim: The last of them, included.
    -> Tensor: A view where memory allows it, else a copy.
    """
    shape = input._value.shape
    if not shape:
        return _reshaping(input, (1,))
    start, end = wrapped(start_dim, len(shape)), wrapped(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end:
        return input
    middle = math.prod(shape[start : end + 1])
    return _reshaping(input, (*shape[:start], middle, *shape[end + 1 :]))


@register()
@functools.partial(viewing, numpy_words=True)
def unflatten(input: Tensor, dim: int, sizes: Sizes) -> Plan:
    """One dimension split into several, of which one size may be -1.

    dim: The dimension that is split.
    sizes (sequence of ints): What it is split into, one of which may be -1: what remains.
    """
    shape = input._value.shape
    position = wrapped(dim, len(shape))
    asked = list(map(whole, sizes))
    found = math.prod(asked)
    if asked.count(-1) == 1 and found:
        asked[asked.index(-1)] = shape[position] // -found
    if math.prod(asked) != shape[position] or min(asked, default=0) < 0:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim "
            f"{position} ({shape[position]}) in the input tensor"
        )
    return _reshaping(input, (*shape[:position], *asked, *shape[position + 1 :]))


@register()
@viewing
def ravel(input: Tensor) -> Plan:
    """The tensor as one dimension.

    -> Tensor: A view where memory allows it, else a copy.
    """
    return _reshaping(input, (math.prod(input._value.shape),))


@register()
@functools.partial(viewing, numpy_words=True)
def squeeze(input: Tensor, dim: Dim = None) -> Plan:
    """The tensor without dimensions of size 1: all of them, or those named if they are.

    dim: The dimensions that go, if their size is 1; all of size 1 unless given.
    """
    return _squeeze_path(input, dim)


def _squeeze_path(input: Tensor, dim: Dim) -> tuple[Reshape, type[Node]]:
    shape = input._value.shape
    if dim is None:
        return Reshape(tuple(size for size in shape if size != 1)), label_of("Squeeze")
    several = isinstance(dim, (tuple, list))
    places = {wrapped(part, len(shape)) for part in (dim if several else (dim,))}
    kept = tuple(size for place, size in enumerate(shape) if size != 1 or place not in places)
    return Reshape(kept), node_class("SqueezeBackward2" if several else "SqueezeBackward1")


@register()
@functools.partial(viewing, numpy_words=True)
def unsqueeze(input: Tensor, dim: int) -> Plan:
    """The tensor with a new dimension of size 1, which becomes dimension `dim`.

    dim: The place of the new dimension, counted from either end of the result.
    """
    return _unsqueeze_path(input, dim), label_of("Unsqueeze")


def _unsqueeze_path(input: Tensor, dim: int) -> Index:
    place = wrapped(dim, len(input._value.shape) + 1)
    return Index((*(ALL,) * place, None))


# --- Order of dimensions ------------------------------------------------------------------------


@register()
@viewing
def transpose(input: Tensor, dim0: int, dim1: int) -> Plan:
    """The tensor with two dimensions swapped.

    dim1: The other one.
    """
    return _transpose_path(input, dim0, dim1), TRANSPOSE


def _transpose_path(input: Tensor, dim0: int, dim1: int) -> Permute:
    ndim = len(input._value.shape)
    first, second = wrapped(dim0, ndim), wrapped(dim1, ndim)
    axes = list(range(ndim))
    if ndim:
        axes[first], axes[second] = second, first
    return Permute(axes)


@register()
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """NumPy's word for transpose.

    -> Tensor: A view: it shares the memory of `input`.
    """
    return transpose(input, axis0, axis1)


@register()
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Another word for transpose.

    dim1: The other one.
    -> Tensor: A view: it shares the memory of `input`.
    """
    return transpose(input, dim0, dim1)


@register()
@viewing
def t(input: Tensor) -> Plan:
    """A matrix transposed; a vector or a single element as it is.

    input: A matrix, a vector or a single element.
    RuntimeError: If there are more than two dimensions.
    """
    ndim = len(input._value.shape)
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return Permute(range(ndim)[::-1]), label_of("T")


@register()
@viewing
def permute(input: Tensor, *dims: Dim, **words: Any) -> Plan:
    """The dimensions in another order.

    *dims: The dimensions in their new order, each once.
    **words: `dims` by its name.
    """
    if not words and not dims:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    given = sizes_of(by_name("permute", "dims", dims, words))
    ndim = len(input._value.shape)
    if len(given) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(given)}"
        )
    axes = [wrapped(dim, ndim) for dim in given]
    if len(set(axes)) < ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return Permute(axes), PERMUTE


@register("movedim", "moveaxis")
@viewing
def movedim(input: Tensor, source: Dim, destination: Dim) -> Plan:
    """Dimensions moved to other places; the others keep their order.

    source: The dimensions that are moved.
    destination: Where they go to, one for each.

    >>> torch.moveaxis(torch.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    ndim = len(input._value.shape)
    sources, destinations = _as_list(source), _as_list(destination)
    if len(sources) != len(destinations):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({sources} dims) should contain "
            f"the same number of dims as destination ({destinations} dims)"
        )
    places = [wrapped(dim, ndim) for dim in sources]
    targets = [wrapped(dim, ndim) for dim in destinations]
    for word, found in (("source", places), ("destination", targets)):
        if len(set(found)) < len(found):
            given = sources if word == "source" else destinations
            raise RuntimeError(f"movedim: repeated dim in `{word}` ({given})")
    axes = [axis for axis in range(ndim) if axis not in places]
    for target, place in sorted(zip(targets, places, strict=True)):
        axes.insert(target, place)
    return Permute(axes if ndim else ()), PERMUTE


def _as_list(given: Dim) -> list[int]:
    return list(given) if isinstance(given, (tuple, list)) else [given]


@viewing
def _reversed_matrix(self: Tensor) -> Plan:
    return Permute((1, 0)), PERMUTE


def _reversed(self: Tensor) -> Tensor:
    """The dimensions in reverse order: the transpose of a matrix."""
    ndim = len(self._value.shape)
    if ndim != 2:
        warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a "
            "tensor."
        )
        return view_of(self, Permute(range(ndim)[::-1]), PERMUTE)
    return _reversed_matrix(self)


def _matrix_transposed(self: Tensor) -> Tensor:
    """The last two dimensions swapped."""
    if not self._value.shape:
        return _of_no_dimensions(self, "mT")
    _require_matrices(self, "mT")
    return transpose(self, -2, -1)


def _of_no_dimensions(self: Tensor, word: str) -> Tensor:
    warn(
        f"Tensor.{word} is deprecated on 0-D tensors. This function is the identity in these "
        "cases."
    )
    return self


def _require_matrices(self: Tensor, word: str) -> None:
    ndim = len(self._value.shape)
    if ndim < 2:
        raise RuntimeError(
            f"tensor.{word} is only supported on matrices or batches of matrices. Got {ndim}-D "
            "tensor."
        )


@register()
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions swapped, of the conjugate.

    input: Matrices (..., n, m).
    -> Tensor: Matrices (..., m, n): a view, if `input` is real.
    """
    _require_matrices(input, "adjoint()")
    swapped = transpose(input, -2, -1)
    return OPERATIONS["conj"](swapped) if input._value.dtype.kind == "c" else swapped


def _adjoint_of_batch(self: Tensor) -> Tensor:
    """The conjugate transpose of each matrix."""
    if not self._value.shape:
        return _of_no_dimensions(self, "mH")
    _require_matrices(self, "mH")
    return adjoint(self)


def _adjoint_of_matrix(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    ndim = len(self._value.shape)
    if not ndim:
        return _of_no_dimensions(self, "H")
    if ndim != 2:
        batch = " For batches of matrices, consider using tensor.mH" if ndim > 2 else ""
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor.{batch}"
        )
    return adjoint(self)


register("T", function=False)(property(_reversed))
register("mT", function=False)(property(_matrix_transposed))
register("H", function=False)(property(_adjoint_of_matrix))
register("mH", function=False)(property(_adjoint_of_batch))


# --- Expanding ----------------------------------------------------------------------------------


def expanded(input: Tensor, given: Sequence[int]) -> Tensor:
    """A tensor in a larger shape, where -1 stands for its own size."""
    return view_of(input, *_expanding(input, given))


def _expanding(input: Tensor, given: Sequence[int]) -> tuple[Path, type[Node]]:
    shape = input._value.shape
    lead = len(given) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand(torch.{word_of(input._value.dtype)}Tensor{{{list(shape)}}}, "
            f"size={list(given)}): the number of sizes provided ({len(given)}) must be greater or "
            f"equal to the number of dimensions in the tensor ({len(shape)})"
        )
    sizes = []
    for place, size in enumerate(given):
        own = shape[place - lead] if place >= lead else 1
        if size == -1 and place < lead:
            raise RuntimeError(
                f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                f"dimension {place}"
            )
        if size not in (-1, own) and own != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({size}) must match the existing size ({own}) "
                f"at non-singleton dimension {place}.  Target sizes: {list(given)}.  Tensor "
                f"sizes: {list(shape)}"
            )
        if size < -1:
            raise RuntimeError(f"expand: expected sizes of at least -1, got {list(given)}")
        sizes.append(own if size == -1 else size)
    return Expand(tuple(sizes)), EXPAND


@register(function=False)
@viewing
def expand(self: Tensor, *size: Sizes, **words: Any) -> Plan:
    """A view of a larger shape, in which dimensions of size 1 repeat; -1 keeps a size.

    *size: The shape; -1 keeps a size.
    **words: `size` by its name.
    -> Tensor: A view: it shares the memory of this tensor.
    """
    words.pop("implicit", None)
    return _expanding(self, sizes_of(by_name("expand", "size", size, words)))


@register()
def broadcast_to(input: Tensor, *size: Sizes, **words: Any) -> Tensor:
    """`input.expand(size)`.

    *size: The shape to broadcast to.
    **words: `size` by its name.
    -> Tensor: A view, in which elements repeat.
    """
    return expand(input, sizes_of(by_name("broadcast_to", "size", size, words)))


def _declare_as(call: Callable[..., Tensor], where: str) -> None:
    def as_another(self: Tensor, other: Tensor) -> Tensor:
        return call(self, other._value.shape)

    word = call.__name__
    as_another.__name__ = as_another.__qualname__ = f"{word}_as"
    as_another.__doc__ = (
        f"`self.{word}(other.size())`.\n\n"
        f"other: The tensor whose shape is meant.\n-> Tensor: {where}\n"
    )
    register(function=False)(as_another)


_SHARED = "A view: it shares the memory of this tensor."
_declare_as(view, _SHARED)
_declare_as(reshape, "A view where memory allows it, else a copy.")
_declare_as(expand, _SHARED)


@register(method=False)
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Views of tensors in the shape that they have together.

    -> tuple of Tensors: Views of them, of one shape; a tensor that has it already is itself there.
    RuntimeError: If the shapes do not broadcast.

    >>> x, y = torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))
    >>> x.shape
    torch.Size([2, 3])
    """
    given = tensors[0] if _is_one_shape(tensors) else tensors
    shape = joined_shape([tensor._value.shape for tensor in given])
    return tuple(
        tensor if tensor._value.shape == shape else expanded(tensor, shape) for tensor in given
    )


@register(method=False)
def broadcast_shapes(*shapes: Sizes) -> Size:
    """The shape that tensors of these shapes have together.

    *shapes (tuple of ints): The shapes.
    -> Size: The common shape.
    RuntimeError: If the shapes do not broadcast.
    """
    return Size(joined_shape([tuple(s) if isinstance(s, (tuple, list)) else (s,) for s in shapes]))


def joined_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of a broadcast; RuntimeError where there is none."""
    joined: tuple[int, ...] = ()
    for shape in shapes:
        error = clash_of(joined, shape)
        if error is not None:
            raise error
        rank = max(len(joined), len(shape))
        a, b = ((1,) * (rank - len(s)) + tuple(s) for s in (joined, shape))
        joined = tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))
    return joined


# --- In place -----------------------------------------------------------------------------------


def reform(self: Tensor, path: Path, back: Path, label: str) -> Tensor:
    """Change the shape of a tensor in place; `back` is the path from the new to the old one."""
    tracked = is_logging() and self.node is not None
    check_writable(self, tracked, "View")
    before = self._value
    if is_dual(before):  # the tangent turns as well
        made = finish(path(array_of(self)), self, node_class(label), view=True)
        self._value, self._dual, self.node = made._value, made._dual, made.node
        self._tangent = None
        return self
    if type(before) is not ndarray:
        self._value = path(before)
        return self
    value = path(before)
    if tracked:
        node = new(node_class(label))
        node._number = next_number()
        node._entry = path.entry(before, value, node_for(self))
    else:
        node = node_at(self, value.shape)
    self._value = value
    if self._view_fn is not None:
        self._view_fn = Steps(self._view_fn, path)
    for reference in self._views or ():
        other = reference()
        if other is not None and other._view_fn is not None:
            other._view_fn = Steps(back, other._view_fn)
    count_write(self)
    # A view has its own node, that of the base's part only without history.
    self.node = None if tracked and self._base is not None else node
    outdate_views(self)
    if tracked:
        self.node = node
    return self


@register(function=False, numpy_words=True)
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """`unsqueeze` of this tensor itself.

    dim: The place of the new dimension.
    """
    path = _unsqueeze_path(self, dim)
    return reform(self, path, Reshape(self._value.shape), "UnsqueezeBackward1")


@register(function=False, numpy_words=True)
def squeeze_(self: Tensor, dim: Dim = None) -> Tensor:
    """`squeeze` of this tensor itself.

    dim: The dimensions that go, if their size is 1; all of size 1 unless given.
    """
    path, label = _squeeze_path(self, dim)
    number = int(label.__name__[-1]) + 3
    return reform(self, path, Reshape(self._value.shape), f"SqueezeBackward{number}")


@register("transpose_", "swapaxes_", "swapdims_", function=False, numpy_words=True)
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """`transpose` of this tensor itself.

    dim1: The other one.
    """
    path = _transpose_path(self, dim0, dim1)
    return reform(self, path, path, "TransposeBackward1")


@register(function=False, numpy_words=True)
def t_(self: Tensor) -> Tensor:
    """`t` of this tensor itself."""
    ndim = len(self._value.shape)
    if ndim > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    path = Permute(range(ndim)[::-1])
    return reform(self, path, path, "TBackward1")

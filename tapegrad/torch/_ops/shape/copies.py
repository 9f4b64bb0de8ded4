"""Views as copies, `as_strided` as an operation, and other ways to lay out memory.

Knows the views by name. Must not know how they are taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch import _dtypes
from tapegrad.torch._dtypes import contiguous_format
from tapegrad.torch._graph.node import node_class
from tapegrad.torch._graph.tracing import is_dual
from tapegrad.torch._ops.create.creation import creation, shape_of
from tapegrad.torch._ops.declare import OPERATIONS, by_tensor, deliver, operation, register
from tapegrad.torch._ops.elementwise.arithmetic import cast
from tapegrad.torch._ops.shape.reshape import reform
from tapegrad.torch._ops.shape.slices import as_strided, strided_path
from tapegrad.torch._ops.view_paths import Strided
from tapegrad.torch._rules.declare import elementwise
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import Number, Sizes

# --- Copies of views ----------------------------------------------------------------------------

_COPY = """\
A copy of what `{view}` returns a view of.

*args: The arguments of `{view}` after the first.
out (Tensor or tuple of Tensors): Where the result is written; it must not require grad.
**words: Arguments of `{view}` by name.
-> Tensor or tuple of Tensors: Memory of its own.
"""


def _declare_copy(word: str, view: str) -> None:
    def call(input: Tensor, *args: Any, out: Any = None, **words: Any) -> Any:
        taken = (
            getattr(input, view)(*args, **words)
            if hasattr(Tensor, view)
            else (OPERATIONS[view](input, *args, **words))
        )
        if isinstance(taken, (tuple, list)):
            made: Any = tuple(_named(part) for part in taken)
        else:
            made = _named(taken)
        return made if out is None else deliver(out, made)

    call.__name__ = call.__qualname__ = word
    call.__doc__ = _COPY.format(view=view)
    register(word, method=False)(call)


def _named(view: Tensor) -> Tensor:
    """A copy of a view, whose node has the name of the view's."""
    return _relabelled(view.clone(), f"{type(view.grad_fn).__name__}_copy")


def _relabelled(made: Tensor, label: str) -> Tensor:
    """A tensor with another name of its node, if it has one."""
    if made.node is not None:
        made.node.__class__ = node_class(label)
    return made


for _view in (
    "as_strided diagonal expand permute select split split_with_sizes squeeze t transpose unbind "
    "unfold unsqueeze view_as_complex view_as_real view detach"
).split():
    _declare_copy(f"{_view}_copy", _view)


@register(method=False)
def alias_copy(input: Tensor) -> Tensor:
    """A copy of a tensor."""
    return _relabelled(input.clone(), "AliasBackward0_copy")


@register(method=False)
def slice_copy(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy of the elements from start to before end along a dimension.

    start: The first position; the first of all unless given.
    end: Where to stop, not included; after the last position unless given.
    """
    lead = (slice(None),) * (dim % input.ndim)
    return _named(input[(*lead, slice(start, end, step))])


@register()
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of what `narrow` returns a view of.

    dim: The dimension, counted from either end.
    start: The first position.
    -> Tensor: A copy.
    """
    part = OPERATIONS["narrow"](input, dim, start, length)
    return _relabelled(part.clone(memory_format=contiguous_format), "NarrowCopyBackward0")


# --- Memory by strides --------------------------------------------------------------------------


@register()
def as_strided_(
    input: Tensor, size: Sizes, stride: Sizes, storage_offset: int | None = None
) -> Tensor:
    """Give this tensor other sizes, strides and offset over its memory.

    -> Tensor: This tensor itself.

    >>> torch.arange(6).as_strided_((2, 2), (3, 1))
    tensor([[0, 1],
            [3, 4]])
    """
    path = strided_path(input, size, stride, storage_offset)
    value = input._value._value if is_dual(input._value) else input._value
    back = Strided(path(value), value.shape, input.stride(), input.storage_offset())
    return reform(input, path, back, "AsStridedBackward1")


@register()
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sizes, stride: Sizes, storage_offset: int | None = None
) -> Tensor:
    """A copy of the tensor, in which `src` is written to what `as_strided` would show.

    src: What is written, of the shape `size`.
    """
    made = input.clone()
    shown = as_strided(made, size, stride, storage_offset)
    if shown.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}"
            f", slice size = {list(shown.shape)}"
        )
    shown.copy_(src)
    return _relabelled(made, "AsStridedScatterBackward0")


@creation
def empty_permuted(size: Sizes, physical_layout: Sizes, *, dtype: np.dtype[Any] | None) -> Value:
    """An empty tensor whose dimensions lie in memory in the order of `physical_layout`.

    size (sequence of ints): The shape.
    physical_layout (sequence of ints): The dimensions in the order in which they lie in memory,
        the outermost first.
    """
    shape: tuple[int, ...] = shape_of("empty_permuted", (size,))
    order = [int(place) for place in physical_layout]
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    made = np.empty([shape[place] for place in order], dtype or _dtypes.default_float())
    return made.transpose([int(place) for place in np.argsort(order)])


@register(function=False)
def new_empty_strided(
    self: Tensor, size: Sizes, stride: Sizes, *, dtype: Any = None, **options: Any
) -> Tensor:
    """`empty_strided` with this tensor's dtype.

    size (sequence of ints): The shape.
    dtype: The dtype; that of this tensor unless given.
    **options: As of `zeros`: device, layout, pin_memory, requires_grad.
    """
    made: Tensor = OPERATIONS["empty_strided"](
        size, stride, dtype=self.dtype if dtype is None else dtype, **options
    )
    return made


def _range(
    start: Number = 0, end: Number = None, step: Number = 1, *, dtype: np.dtype[Any] | None
) -> Value:
    """Numbers from start to end, both included: an older form of `arange`.

    start: The first number.
    end: The last number, included if a step reaches it.
    step: The distance of neighbours.

    >>> torch.range(0, 2, 0.5)
    tensor([0.0000, 0.5000, 1.0000, 1.5000, 2.0000])
    """
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    count = math.floor((end - start) / step) + 1
    return (start + step * np.arange(count)).astype(dtype or _dtypes.default_float())


_range = creation(_range, "range")


# --- Filling, resizing --------------------------------------------------------------------------


@elementwise("FillBackward0", 0, 1)
def _filled(x: Value, value: Value) -> Value:
    return np.full(np.shape(x), value, x.dtype)


@operation(by_tensor("Fill", 1, "value"), method=False)
def fill(input: Value, value: Value) -> Value:
    """A tensor of the same shape and dtype with one value.

    value (Tensor or number): The number, or a tensor of no dimensions.
    """
    if hasattr(value, "shape") and value.shape:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{len(value.shape)} dimensions."
        )
    given = cast(value, input.dtype) if hasattr(value, "astype") else input.dtype.type(value)
    return _filled(input, given)


@register()
def slice_inverse(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """The tensor of which `input` is a slice: `src`.

    input: The slice, of which nothing but the shape is looked at.
    src: The tensor that it is a slice of.
    start: Where the slice begins.
    end: Where it stops.
    step: Its steps.
    -> Tensor: A view of `src`.
    """
    return src.clone()


_RESIZED = """\
The tensor in another shape of as many elements.

*sizes: {}
-> Tensor: A view where memory allows it, else a copy.
RuntimeError: If the number of elements differs.
"""


def _resizing(word: str) -> Callable[..., Tensor]:
    def resize(self: Tensor, *sizes: Any) -> Tensor:
        as_other = word == "resize_as"
        shape: Sequence[int] = sizes[0].shape if as_other else shape_of("resize", sizes)
        if math.prod(shape) != self.numel():
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, shape))} ({math.prod(shape)} elements in "
                f"total), but the given tensor has a size of {'x'.join(map(str, self.shape))} "
                f"({self.numel()} elements). autograd's resize can only change the shape of a "
                "given tensor, while preserving the number of elements. "
            )
        made: Tensor = self.reshape(tuple(shape))
        return made

    resize.__name__ = resize.__qualname__ = word
    resize.__doc__ = _RESIZED.format(
        "The tensor whose shape it gets." if word == "resize_as" else "The sizes."
    )
    return resize


for _word in ("resize", "resize_as"):
    register(_word, function=False)(_resizing(_word))

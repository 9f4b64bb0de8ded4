"""Tensors made from data, from a shape, from a range.

Knows PyTorch's rules for the dtype of what is made. Must not know random numbers or operations.
"""

from __future__ import annotations

import functools
import inspect
import math
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Tree, Value
from tapegrad.torch import _dtypes
from tapegrad.torch._dims import mistyped
from tapegrad.torch._formats import arranged
from tapegrad.torch._ops.create.data import array_of_data, leaf_of, number_of, numpy_dtype
from tapegrad.torch._ops.create.fill import filled_as
from tapegrad.torch._ops.declare import deliver, register
from tapegrad.torch._tensor.meta import META, MetaArray, NoDataError, is_meta
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch._types import Device, DType, MemoryFormat, Number, Sizes, TensorLike


def shape_of(call: str, sizes: tuple[Sizes, ...]) -> tuple[int, ...]:
    """A shape that came as `f(2, 3)` or `f((2, 3))`; TypeError or RuntimeError if it is none."""
    if len(sizes) == 1 and _dtypes.is_sizes(sizes[0]):
        sizes = tuple(sizes[0])
    made = []
    for position, side in enumerate(sizes, 1):
        if isinstance(side, bool) or not hasattr(side, "__index__"):
            raise mistyped(call, "size", position, "tuple of ints", side)
        made.append(side.__index__())
    if any(side < 0 for side in made):
        negative = next(side for side in made if side < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {negative}: {made}")
    return tuple(made)


def finish(
    value: Value,
    word: str,
    *,
    device: Device = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The tensor that the creation function `word` returns."""
    if _dtypes.require_cpu(device):
        value = MetaArray(value.shape, value.dtype)
    elif is_meta(value) and device is not None:
        raise NoDataError("Cannot copy out of meta tensor; no data!")
    if out is not None:
        made: Tensor = deliver(out, of_value(value))
        return made.requires_grad_() if requires_grad else made
    return leaf_of(value, requires_grad, word)


# What fills an `out=` of any shape with as many elements.
RANGES = frozenset({"arange", "linspace", "logspace", "range"})


def creation(compute: Function, word: str | None = None) -> Function:
    """Register a function of a NumPy dtype (or None) that makes an array, with PyTorch's options.

    The options: out, dtype, layout, device, pin_memory, memory_format, requires_grad. word: the
    name, unless the function has it.
    """
    name = word or compute.__name__
    compute.__name__ = compute.__qualname__ = name

    @functools.wraps(compute)
    def call(
        *args: Any,
        out: Tensor | None = None,
        dtype: DType = None,
        layout: MemoryFormat = None,
        device: Device = None,
        pin_memory: bool = False,
        memory_format: MemoryFormat = None,
        requires_grad: bool = False,
        **kwargs: Any,
    ) -> Tensor:
        _dtypes.require_strided(name, layout)
        given = numpy_dtype(name, dtype)
        if given is None and out is not None:
            given = out._value.dtype
        value = compute(*args, dtype=given, **kwargs)
        if device is None and args and isinstance(args[0], Tensor) and args[0].is_meta:
            device = META
        if memory_format is not None:
            value = arranged(value, memory_format)
        if out is not None and name in RANGES and value.size == out.numel():
            value = value.reshape(out.shape)
        return finish(value, name, device=device, requires_grad=requires_grad, out=out)

    call.__signature__ = _with_options(compute, call)  # type: ignore[attr-defined]
    return register(method=False)(call)


def _with_options(compute: Function, call: Function) -> inspect.Signature:
    """The parameters of a creation function, and PyTorch's options."""
    own = [p for p in inspect.signature(compute).parameters.values() if p.name != "dtype"]
    options = inspect.signature(call, follow_wrapped=False).parameters.values()
    own += [option for option in options if option.kind is option.KEYWORD_ONLY]
    return inspect.Signature(own, return_annotation="Tensor")


# Entries of docstrings: of a function of a shape, and of one in the shape of a tensor.
OF_SHAPE = "*sizes: The shape.\nsize (sequence of ints): The shape by its name."
LIKE = "input: The tensor whose shape and dtype it has."


# --- From a shape -------------------------------------------------------------------------------


def sized(call: str, sizes: tuple[Sizes, ...], size: Sizes) -> tuple[int, ...]:
    """The shape that came as positional arguments or as `size=`."""
    if size is not None:
        return shape_of(call, (size,))
    if not sizes:
        raise TypeError(f'{call}() missing 1 required positional arguments: "size"')
    return shape_of(call, sizes)


@creation
def empty_strided(size: Sizes, stride: Sizes, *, dtype: np.dtype[Any] | None) -> Value:
    """An empty tensor whose neighbours along each dimension lie `stride` elements apart."""
    shape, steps = shape_of("empty_strided", (size,)), tuple(stride)
    given = dtype or _dtypes.default_float()
    count = 1 + sum((side - 1) * step for side, step in zip(shape, steps, strict=True))
    memory = np.empty(count if math.prod(shape) else 0, given)
    strides = [step * given.itemsize for step in steps]
    return np.ndarray(shape, given, memory, strides=strides)


def _fill_dtype(fill_value: TensorLike, dtype: np.dtype[Any] | None) -> np.dtype[Any]:
    if dtype is not None:
        return dtype
    given = getattr(fill_value, "dtype", None)
    return _dtypes.of_number(fill_value) if given is None else given


def _fill_number(call: str, fill_value: TensorLike) -> Value:
    if not isinstance(fill_value, Tensor):
        return number_of(fill_value) if issubclass(type(fill_value), np.generic) else fill_value
    if fill_value.requires_grad or fill_value.dim():
        raise mistyped(call, "fill_value", 2, "Number", fill_value)
    return fill_value._value


def _filled(
    shape: tuple[int, ...], fill_value: TensorLike, given: np.dtype[Any], like: Value = None
) -> Value:
    made = np.empty(shape, given) if like is None else np.empty_like(like, given, shape=shape)
    if hasattr(fill_value, "shape"):
        known = type(fill_value) in (np.ndarray, np.float64) and not fill_value.shape
        made[...] = filled_as(fill_value.item(), given) if known else fill_value
    else:
        made[...] = filled_as(fill_value, given)
    return made


@creation
def full(size: Sizes, fill_value: TensorLike, *, dtype: np.dtype[Any] | None) -> Value:
    """A tensor of a shape, filled with a number, which decides on the dtype.

    fill_value (number or Tensor): The number, or a tensor of no dimensions.
    dtype: The dtype; that of the number unless given.
    """
    if not _dtypes.is_sizes(size):
        raise mistyped("full", "size", 1, "tuple of ints", size)
    number = _fill_number("full", fill_value)
    given = np.dtype(_fill_dtype(number, dtype))
    return _filled(shape_of("full", (size,)), number, given)


@creation
def scalar_tensor(s: Number, *, dtype: np.dtype[Any] | None) -> Value:
    """A tensor of no dimensions.

    s: The element.
    """
    return filled_as(s, dtype or _dtypes.default_float())


@creation
def eye(n: int, m: int | None = None, *, dtype: np.dtype[Any] | None) -> Value:
    """A matrix with ones on the diagonal, zeros elsewhere.

    n: The number of rows.
    m: The number of columns; n unless given.
    """
    for word, side in (("n", n), ("m", m)):
        if side is not None and side < 0:
            raise RuntimeError(f"{word} must be greater or equal to 0, got {side}")
    return np.eye(n, m, dtype=dtype or _dtypes.default_float())


# --- From another tensor ------------------------------------------------------------------------


def template(call: str, input: TensorLike) -> Value:
    """The array whose shape and dtype a `..._like` function takes."""
    if not isinstance(input, Tensor):
        raise mistyped(call, "input", 1, "Tensor", input)
    return input._value


@creation
def full_like(input: Tensor, fill_value: TensorLike, *, dtype: np.dtype[Any] | None) -> Value:
    """A tensor in the shape and dtype of another one, filled with a number.

    input: The tensor whose shape and dtype it has.
    fill_value (number or Tensor): The number, or a tensor of no dimensions.
    """
    array = template("full_like", input)
    number = _fill_number("full_like", fill_value)
    return _filled(array.shape, number, np.dtype(dtype or array.dtype), array)


def _new(word: str, compute: Function) -> None:
    """Give Tensor a method that makes a tensor, with its own dtype where none is given."""

    def method(
        self: Tensor,
        *args: Any,
        dtype: DType = None,
        device: Device = None,
        layout: MemoryFormat = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        **kwargs: Any,
    ) -> Tensor:
        _dtypes.require_strided(word, layout)
        given = numpy_dtype(word, dtype) or self._value.dtype
        array = self._value
        if is_meta(array) and device is not None and not _dtypes.require_cpu(device):
            array = np.broadcast_to(np.zeros((), array.dtype), array.shape)
        value = compute(array, *args, dtype=given, **kwargs)
        return finish(value, word, device=device, requires_grad=requires_grad)

    method.__name__ = method.__qualname__ = word
    method.__doc__ = compute.__doc__
    register(function=False)(method)


def new_full(
    array: Value, size: Sizes, fill_value: TensorLike, *, dtype: np.dtype[Any] | None
) -> Value:
    """A tensor of a shape filled with a number, in the dtype of this one."""
    number = _fill_number("new_full", fill_value)
    return _filled(shape_of("new_full", (size,)), number, np.dtype(dtype), array)


def new_tensor(array: Value, data: Tree, *, dtype: np.dtype[Any] | None) -> Value:
    """A tensor of data as `torch.tensor`, in the dtype of this tensor."""
    return array_of_data(data, dtype, "tensor.new_tensor")


for _compute in (new_full, new_tensor):
    _new(_compute.__name__, _compute)


def _declare_filled(word: str, *summaries: str) -> Function:
    """Declare `word`, `word_like` and `new_word`, by NumPy's `word` and `word_like`.

    summaries: theirs. Returns the first.
    """
    make, make_like = getattr(np, word), getattr(np, f"{word}_like")

    def of_shape(*sizes: Sizes, size: Sizes = None, dtype: np.dtype[Any] | None) -> Value:
        return make(sized(word, sizes, size), dtype or _dtypes.default_float())

    def as_another(input: Tensor, *, dtype: np.dtype[Any] | None) -> Value:
        return make_like(template(f"{word}_like", input), dtype)

    def of_dtype(
        array: Value, *sizes: Sizes, size: Sizes = None, dtype: np.dtype[Any] | None
    ) -> Value:
        shape = sized(f"new_{word}", sizes, size)
        return make_like(array, dtype, shape=shape, order="C")

    of_shape.__doc__ = f"{summaries[0]}\n\n{OF_SHAPE}"
    as_another.__doc__ = f"{summaries[1]}\n\n{LIKE}"
    of_dtype.__doc__ = summaries[2]
    creation(as_another, f"{word}_like")
    _new(f"new_{word}", of_dtype)
    return creation(of_shape, word)


zeros = _declare_filled(
    "zeros",
    "A tensor of zeros: `zeros(2, 3)` or `zeros((2, 3))`.",
    "Zeros in the shape and dtype of a tensor.",
    "Zeros of a shape, in the dtype of this tensor.",
)
_declare_filled(
    "ones",
    "A tensor of ones: `ones(2, 3)` or `ones((2, 3))`.",
    "Ones in the shape and dtype of a tensor.",
    "Ones of a shape, in the dtype of this tensor.",
)
_declare_filled(
    "empty",
    "A tensor of a shape whose elements are whatever the memory holds.",
    "A tensor in the shape and dtype of another one, holding whatever the memory does.",
    "A tensor of a shape, in the dtype of this one, holding whatever the memory does.",
)

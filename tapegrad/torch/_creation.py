"""Tensors made from data, from a shape, from a range.

Knows PyTorch's rules for the dtype of what is made. Must not know random numbers or operations.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.torch import _dtypes
from tapegrad.torch._call import OPERATIONS, deliver
from tapegrad.torch._data import array_of_data, as_tensor, asarray, from_numpy, leaf_of, tensor
from tapegrad.torch._dtypes import as_numpy
from tapegrad.torch._filling import filled_as, registered
from tapegrad.torch._legacy import legacy_tensor
from tapegrad.torch._tensor import Tensor, of_value


def shape_of(call: str, sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape that came as `f(2, 3)` or `f((2, 3))`; TypeError or RuntimeError if it is none."""
    if len(sizes) == 1 and _dtypes.is_sizes(sizes[0]):
        sizes = tuple(sizes[0])
    made = []
    for position, side in enumerate(sizes, 1):
        if isinstance(side, bool) or not hasattr(side, "__index__"):
            raise TypeError(
                f"{call}(): argument 'size' (position {position}) must be tuple of ints, not "
                f"{type(side).__name__}"
            )
        made.append(side.__index__())
    if any(side < 0 for side in made):
        negative = next(side for side in made if side < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {negative}: {made}")
    return tuple(made)


def numpy_dtype(call: str, dtype: Any) -> Any:
    """NumPy's dtype for what came as `dtype=`; None stays None."""
    if dtype is None:
        return None
    try:
        return as_numpy(dtype)
    except TypeError:
        raise TypeError(
            f"{call}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}"
        ) from None


def finish(value: Any, *, device: Any = None, requires_grad: bool = False, out: Any = None) -> Any:
    """The tensor that a creation function returns."""
    if device is not None:
        _dtypes.device(device)
    if out is not None:
        return deliver(out, of_value(value))
    return leaf_of(value, requires_grad)


def creation(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function of a NumPy dtype (or None) that makes an array, with PyTorch's options.

    The options: out, dtype, layout, device, pin_memory, memory_format, requires_grad.
    """
    name = compute.__name__

    @functools.wraps(compute)
    def call(
        *args: Any,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        memory_format: Any = None,
        requires_grad: bool = False,
        **kwargs: Any,
    ) -> Any:
        given = numpy_dtype(name, dtype)
        if given is None and out is not None:
            given = out.value.dtype
        value = compute(*args, dtype=given, **kwargs)
        return finish(value, device=device, requires_grad=requires_grad, out=out)

    OPERATIONS[name] = call
    return call


# --- From a shape -------------------------------------------------------------------------------


def sized(call: str, sizes: tuple[Any, ...], size: Any) -> tuple[int, ...]:
    """The shape that came as positional arguments or as `size=`."""
    if size is not None:
        return shape_of(call, (size,))
    if not sizes:
        raise TypeError(f'{call}() missing 1 required positional arguments: "size"')
    return shape_of(call, sizes)


@creation
def zeros(*sizes: Any, size: Any = None, dtype: Any) -> Any:
    """A tensor of zeros: `zeros(2, 3)` or `zeros((2, 3))`."""
    return np.zeros(sized("zeros", sizes, size), dtype or _dtypes.default_float())


@creation
def ones(*sizes: Any, size: Any = None, dtype: Any) -> Any:
    """A tensor of ones: `ones(2, 3)` or `ones((2, 3))`."""
    return np.ones(sized("ones", sizes, size), dtype or _dtypes.default_float())


@creation
def empty(*sizes: Any, size: Any = None, dtype: Any) -> Any:
    """A tensor of a shape whose elements are whatever the memory holds."""
    return np.empty(sized("empty", sizes, size), dtype or _dtypes.default_float())


@creation
def empty_strided(size: Any, stride: Any, *, dtype: Any) -> Any:
    """An empty tensor whose neighbours along each dimension lie `stride` elements apart."""
    shape, steps = shape_of("empty_strided", (size,)), tuple(stride)
    given = dtype or _dtypes.default_float()
    count = 1 + sum((side - 1) * step for side, step in zip(shape, steps, strict=True))
    memory = np.empty(count if math.prod(shape) else 0, given)
    strides = [step * given.itemsize for step in steps]
    return np.ndarray(shape, given, memory, strides=strides)


def _fill_dtype(fill_value: Any, dtype: Any) -> Any:
    if dtype is not None:
        return dtype
    given = getattr(fill_value, "dtype", None)
    return _dtypes.of_number(fill_value) if given is None else given


def _fill_number(call: str, fill_value: Any) -> Any:
    if not isinstance(fill_value, Tensor):
        return fill_value
    if fill_value.requires_grad or fill_value.dim():
        raise TypeError(
            f"{call}(): argument 'fill_value' (position 2) must be Number, not "
            f"{type(fill_value).__name__}"
        )
    return fill_value.value


def _filled(shape: tuple[int, ...], fill_value: Any, given: Any, like: Any = None) -> Any:
    made = np.empty(shape, given) if like is None else np.empty_like(like, given, shape=shape)
    made[...] = fill_value if hasattr(fill_value, "shape") else filled_as(fill_value, given)
    return made


@creation
def full(size: Any, fill_value: Any, *, dtype: Any) -> Any:
    """A tensor of a shape, filled with a number, which decides on the dtype."""
    if not _dtypes.is_sizes(size):
        raise TypeError(
            "full(): argument 'size' (position 1) must be tuple of ints, not "
            f"{type(size).__name__}"
        )
    number = _fill_number("full", fill_value)
    given = np.dtype(_fill_dtype(number, dtype))
    return _filled(shape_of("full", (size,)), number, given)


@creation
def scalar_tensor(s: Any, *, dtype: Any) -> Any:
    """A tensor of no dimensions."""
    return filled_as(s, dtype or _dtypes.default_float())


@creation
def eye(n: int, m: int | None = None, *, dtype: Any) -> Any:
    """A matrix with ones on the diagonal, zeros elsewhere."""
    for word, side in (("n", n), ("m", m)):
        if side is not None and side < 0:
            raise RuntimeError(f"{word} must be greater or equal to 0, got {side}")
    return np.eye(n, m, dtype=dtype or _dtypes.default_float())


# --- From another tensor ------------------------------------------------------------------------


def template(call: str, input: Any) -> Any:
    """The array whose shape and dtype a `..._like` function takes."""
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{call}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    return input.value


@creation
def zeros_like(input: Any, *, dtype: Any) -> Any:
    """Zeros in the shape and dtype of a tensor."""
    return np.zeros_like(template("zeros_like", input), dtype)


@creation
def ones_like(input: Any, *, dtype: Any) -> Any:
    """Ones in the shape and dtype of a tensor."""
    return np.ones_like(template("ones_like", input), dtype)


@creation
def empty_like(input: Any, *, dtype: Any) -> Any:
    """A tensor in the shape and dtype of another one, holding whatever the memory does."""
    return np.empty_like(template("empty_like", input), dtype)


@creation
def full_like(input: Any, fill_value: Any, *, dtype: Any) -> Any:
    """A tensor in the shape and dtype of another one, filled with a number."""
    array = template("full_like", input)
    number = _fill_number("full_like", fill_value)
    return _filled(array.shape, number, np.dtype(dtype or array.dtype), array)


def _new(word: str, compute: Callable[..., Any]) -> None:
    """Give Tensor a method that makes a tensor, with its own dtype where none is given."""

    def method(
        self: Tensor,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        layout: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        **kwargs: Any,
    ) -> Any:
        given = numpy_dtype(word, dtype) or self.value.dtype
        value = compute(self.value, *args, dtype=given, **kwargs)
        return finish(value, device=device, requires_grad=requires_grad)

    method.__name__ = method.__qualname__ = word
    method.__doc__ = compute.__doc__
    setattr(Tensor, word, method)


def new_zeros(array: Any, *sizes: Any, size: Any = None, dtype: Any) -> Any:
    """Zeros of a shape, in the dtype of this tensor."""
    return np.zeros_like(array, dtype, shape=sized("new_zeros", sizes, size), order="C")


def new_ones(array: Any, *sizes: Any, size: Any = None, dtype: Any) -> Any:
    """Ones of a shape, in the dtype of this tensor."""
    return np.ones_like(array, dtype, shape=sized("new_ones", sizes, size), order="C")


def new_empty(array: Any, *sizes: Any, size: Any = None, dtype: Any) -> Any:
    """A tensor of a shape, in the dtype of this one, holding whatever the memory does."""
    return np.empty_like(array, dtype, shape=sized("new_empty", sizes, size), order="C")


def new_full(array: Any, size: Any, fill_value: Any, *, dtype: Any) -> Any:
    """A tensor of a shape filled with a number, in the dtype of this one."""
    number = _fill_number("new_full", fill_value)
    return _filled(shape_of("new_full", (size,)), number, np.dtype(dtype), array)


def new_tensor(array: Any, data: Any, *, dtype: Any) -> Any:
    """A tensor of data as `torch.tensor`, in the dtype of this tensor."""
    return array_of_data(data, dtype, "tensor.new_tensor")


for _compute in (new_zeros, new_ones, new_empty, new_full, new_tensor):
    _new(_compute.__name__, _compute)


# --- From a range -------------------------------------------------------------------------------


def _number(value: Any) -> Any:
    """A Python number for a bound that may be a tensor."""
    return value.item() if isinstance(value, (Tensor, np.generic, np.ndarray)) else value


@creation
def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any) -> Any:
    """Numbers from start to before end: `arange(5)`, `arange(1, 2, 0.25)`; integers stay such."""
    start, end, step = (_number(bound) for bound in (start, end, step))
    if end is None:
        start, end = 0, start
    whole = all(isinstance(bound, int) for bound in (start, end, step))
    given = np.dtype(dtype or (np.int64 if whole else _dtypes.default_float()))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if whole:
        return np.arange(start, end, step).astype(given)
    if given.kind in "iu":
        start, end, step = int(start), int(end), int(step)
        return np.arange(start, end, step).astype(given)
    count = math.ceil((end - start) / step)
    return (start + step * np.arange(count)).astype(given)


def _steps_between(start: Any, end: Any, steps: Any, given: np.dtype[Any]) -> Any:
    """Evenly spaced numbers, each counted from the nearer end, as PyTorch does."""
    if steps is None or steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = given if given.kind in "fc" and given.itemsize > 2 else np.dtype(np.float32)
    kind = np.dtype(np.float64) if given.kind in "iu" else kind
    first, last = np.asarray(start).astype(kind)[()], np.asarray(end).astype(kind)[()]
    if steps <= 1:
        return np.full(steps, first, kind)
    gap = (last - first) / kind.type(steps - 1)
    places = np.arange(steps).astype(kind)
    return np.where(np.arange(steps) < steps // 2, first + gap * places, last - gap * places[::-1])


@creation
def linspace(start: Any, end: Any, steps: int, *, dtype: Any) -> Any:
    """`steps` numbers evenly from start to end, both included."""
    start, end = _number(start), _number(end)
    given = np.dtype(dtype or _range_dtype(start, end))
    return _steps_between(start, end, steps, given).astype(given)


@creation
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any) -> Any:
    """Powers of `base` whose exponents go evenly from start to end."""
    start, end = _number(start), _number(end)
    given = np.dtype(dtype or _range_dtype(start, end))
    kind = given if given.kind in "fc" else np.dtype(np.float64)
    exponents = _steps_between(start, end, steps, kind)
    with np.errstate(all="ignore"):
        return np.power(exponents.dtype.type(base), exponents).astype(given)


def _range_dtype(start: Any, end: Any) -> np.dtype[Any]:
    if isinstance(start, complex) or isinstance(end, complex):
        return _dtypes.default_complex()
    return _dtypes.default_float()


@creation
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any) -> Any:
    """The indices of the lower triangle of a matrix, as a tensor of two rows."""
    return np.stack(np.tril_indices(row, offset, col)).astype(dtype or np.int64)


@creation
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any) -> Any:
    """The indices of the upper triangle of a matrix, as a tensor of two rows."""
    return np.stack(np.triu_indices(row, offset, col)).astype(dtype or np.int64)


# --- Questions ----------------------------------------------------------------------------------


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are real floats."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex."""
    return input.is_complex()


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


@registered
def is_nonzero(self: Tensor) -> bool:
    """Whether the one element of a tensor is not zero; RuntimeError for more elements."""
    return bool(self)


@registered
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return self.shape == other.shape


def result_type(tensor1: Any, tensor2: Any) -> _dtypes.dtype:
    """The dtype that two tensors or numbers come to have in an operation together."""
    operands = [x.value if isinstance(x, Tensor) else x for x in (tensor1, tensor2)]
    return _dtypes.of_numpy(_dtypes.result_of(operands))


def promote_types(type1: _dtypes.dtype, type2: _dtypes.dtype) -> _dtypes.dtype:
    """The smallest dtype that two are safely converted to."""
    return _dtypes.of_numpy(_dtypes.join(type1.numpy, type2.numpy))


def can_cast(from_: _dtypes.dtype, to: _dtypes.dtype) -> bool:
    """Whether an operation in place may convert one dtype to another."""
    return _dtypes.can_store(from_.numpy, to.numpy)


def typename(obj: Any) -> str:
    """`torch.FloatTensor` for a tensor; for other objects the name of their type."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = type(obj)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


for _function in (
    tensor,
    as_tensor,
    asarray,
    from_numpy,
    is_tensor,
    is_floating_point,
    is_complex,
    numel,
    result_type,
    promote_types,
    can_cast,
    typename,
):
    OPERATIONS[_function.__name__] = _function


__all__ = ["creation", "finish", "legacy_tensor", "shape_of", "sized", "template"]

"""Operations along a dimension: cumulative sums and products, differences, integrals."""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad.torch._dims import along_one, shaped, wrapped
from tapegrad.torch._docstrings.sections import told
from tapegrad.torch._dtypes import require_kind
from tapegrad.torch._ops.declare import operation
from tapegrad.torch._ops.elementwise.arithmetic import cast, floating, promoted
from tapegrad.torch._ops.reduce.sums import counted
from tapegrad.torch._types import Dim, DType, Number


def _declare_running(word: str, function: Function, noun: str) -> None:
    def compute(input: Value, dim: Dim, *, dtype: DType = None) -> Value:
        array, axis = along_one(counted(input, dtype), dim)
        return shaped(cast(function(array, axis=axis), array.dtype), input.shape)

    compute.__doc__ = told(
        f"The {noun} of the elements so far along a dimension.",
        f"{word}(torch.tensor([1.0, 2.0, 4.0]), 0)",
        f"tensor({'[1., 3., 7.]' if noun == 'sum' else '[1., 2., 8.]'})",
        "dim (int): The dimension, counted from either end.",
        f"-> Tensor: The {noun}s, in the shape of `input`; int64 of whole numbers.",
    )
    operation(f"{word.capitalize()}Backward0", name=word, inplace=True, planned=True)(compute)


_declare_running("cumsum", np.cumsum, "sum")
_declare_running("cumprod", np.cumprod, "product")


@operation("LogcumsumexpBackward0", planned=True)
def logcumsumexp(input: Value, dim: Dim) -> Value:
    """`log(cumsum(exp(x)))` along a dimension, without overflow.

    dim (int): The dimension, counted from either end.
    -> Tensor: The logarithms, in the shape of `input`.
    """
    array, axis = along_one(input, dim)
    require_kind(array.dtype, "logcumsumexp_out_cpu", "fc")
    if not array.shape[axis]:
        return array
    return shaped(np.logaddexp.accumulate(array, axis), input.shape)


@operation("SubBackward0")
def diff(
    input: Value, n: int = 1, dim: int = -1, prepend: Value = None, append: Value = None
) -> Value:
    """Differences of neighbours along a dimension, n times.

    n: How many times.
    prepend: What is put before along the dimension.
    append: What is put behind along the dimension.
    -> Tensor: The differences; of bools whether the neighbours differ.
    """
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    axis = wrapped(dim, input.ndim)
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    for part in (prepend, append):
        if part is not None:
            _check_beside(input, part, axis)
    parts = [part for part in (prepend, input, append) if part is not None]
    whole = np.concatenate(promoted(*parts), axis) if len(parts) > 1 else input
    return np.diff(whole, min(n, whole.shape[axis]), axis)


def _check_beside(input: Value, part: Value, axis: int) -> None:
    if part.ndim != input.ndim:
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for place, (own, other) in enumerate(zip(input.shape, part.shape, strict=True)):
        if own != other and place != axis:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input "
                f"except along the differencing dimension; input.size({place}) = {own}, but got "
                f"tensor.size({place}) = {other}"
            )


def _steps(y: Value, x: Value, dx: Number, axis: int) -> Value:
    if x is None:
        return 1.0 if dx is None else dx
    if dx is not None:
        raise RuntimeError("trapezoid only expects either `x` or `dx`, got both")
    steps = np.diff(x, axis=-1 if x.ndim == 1 else axis)
    if x.ndim == 1:
        return np.reshape(steps, [-1 if i == axis else 1 for i in range(y.ndim)])
    return steps


def _areas(y: Value, x: Value, dx: Number, dim: int) -> tuple[Value, int]:
    axis = wrapped(dim, y.ndim)
    before: list[slice] = [slice(None)] * y.ndim
    after = list(before)
    before[axis], after[axis] = slice(None, -1), slice(1, None)
    heights = (floating(y)[tuple(before)] + floating(y)[tuple(after)]) / 2
    steps = _steps(y, None if x is None else floating(x), dx, axis)
    return heights * steps, axis


@operation("MulBackward0", method=False)
def trapezoid(y: Value, x: Value = None, *, dx: Number = None, dim: int = -1) -> Value:
    """The integral of samples along a dimension by the trapezoidal rule.

    x: The positions of the samples; `dx` apart unless given.
    -> Tensor: The integrals, without the dimension.
    """
    if x is not None or not y.shape[wrapped(dim, y.ndim)]:
        areas, axis = _areas(y, x, dx, dim)
        return np.sum(areas, axis)
    y, axis = floating(y), wrapped(dim, y.ndim)
    ends = np.take(y, 0, axis) + np.take(y, -1, axis)
    return (np.sum(y, axis) - ends / 2) * (1.0 if dx is None else dx)


@operation("CumsumBackward0", method=False)
def cumulative_trapezoid(y: Value, x: Value = None, *, dx: Number = None, dim: int = -1) -> Value:
    """The integral so far of samples along a dimension by the trapezoidal rule.

    x: The positions of the samples; `dx` apart unless given.
    -> Tensor: The integrals, one less along the dimension.
    """
    areas, axis = _areas(y, x, dx, dim)
    return np.cumsum(areas, axis)


operation("MulBackward0", method=False, name="trapz")(trapezoid.compute)  # type: ignore[attr-defined]

"""Reductions: sums, means, products, variances, norms, truth of all and any.

Knows PyTorch's parameters and NumPy's reductions. Extrema are in `extrema`, cumulative sums and
products in `cumulative`, order statistics and counts in `statistics`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.fast.call_plans import Kernels
from tapegrad._core.types import Cotangent, Function, Tangent, Value
from tapegrad._core.values import any_true, untraced
from tapegrad._warning import warn
from tapegrad.torch._dims import axes_of, wrapped
from tapegrad.torch._docstrings.sections import told
from tapegrad.torch._dtypes import as_numpy, word_of
from tapegrad.torch._ops.declare import operation, register
from tapegrad.torch._ops.elementwise.arithmetic import cast, floating, promoted
from tapegrad.torch._ops.fast import short_truth
from tapegrad.torch._rules.declare import elementwise, general
from tapegrad.torch._rules.generated import generated_kernels
from tapegrad.torch._rules.symbols import is_own
from tapegrad.torch._types import Axis, Dim, DType, Number, TensorLike

# --- Sums ---------------------------------------------------------------------------------------


def _label_by_dim(word: str) -> Function:
    """`SumBackward0` of everything, `SumBackward1` along dimensions."""

    def label(input: TensorLike, dim: Dim = None, keepdim: bool = False, **words: Any) -> str:
        return f"{word}Backward{0 if dim is None and not keepdim else 1}"

    return label


def counted(array: Value, dtype: DType) -> Value:
    """An array as a sum takes it: of the given dtype, else integers and booleans as int64."""
    if dtype is not None:
        given = as_numpy(dtype)
        if given.kind not in "fc" and untraced(array) is not array:
            raise RuntimeError(f"Autograd not support dtype: {word_of(given)}")
        return cast(array, given)
    return cast(array, np.dtype(np.int64)) if array.dtype.kind in "bui" else array


@operation(_label_by_dim("Sum"), name="sum", planned=True)
def _sum(input: Value, dim: Dim = None, keepdim: bool = False, *, dtype: DType = None) -> Value:
    """The sum of all elements, or along dimensions; of integers and booleans as int64."""
    axis = axes_of(dim, input.ndim)
    if dtype is None and input.dtype == np.float16:  # its sums soon overflow
        return np.sum(input, axis, np.float32, keepdims=keepdim).astype(np.float16)
    array = counted(input, dtype)
    return np.sum(array, axis, keepdims=keepdim) if keepdim or axis is not None else np.sum(array)


@operation("NansumBackward0", planned=True)
def nansum(input: Value, dim: Dim = None, keepdim: bool = False, *, dtype: DType = None) -> Value:
    """The sum of the elements that are not NaN."""
    array = counted(input, dtype)
    axis = axes_of(dim, input.ndim)
    if array.dtype.kind != "f":
        return np.sum(array, axis, dtype=array.dtype, keepdims=keepdim)
    return np.nansum(array, axis, keepdims=keepdim)


def require_inexact(array: Value, word: str) -> None:
    """Raise RuntimeError for integers, of which a function is not defined."""
    if array.dtype.kind not in "fc":
        raise RuntimeError(
            f"{word}(): could not infer output dtype. Input dtype must be either a floating point "
            f"or complex dtype. Got: {word_of(array.dtype)}"
        )


def _count(array: Value, axis: Axis) -> int:
    """How many elements each result is made from."""
    axes = range(array.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return math.prod(array.shape[i] for i in axes)


@operation(_label_by_dim("Mean"), name="mean", planned=True)
def _mean(input: Value, dim: Dim = None, keepdim: bool = False, *, dtype: DType = None) -> Value:
    """The mean of all elements, or along dimensions.

    RuntimeError: For whole numbers and bools, unless a dtype is given.
    """
    array = input if dtype is None else cast(input, as_numpy(dtype))
    require_inexact(array, "mean")
    axis = axes_of(dim, array.ndim)
    if _count(array, axis) == 0:  # NumPy's mean warns of it
        return np.sum(array, axis, keepdims=keepdim) / array.dtype.type(0)
    return (
        np.mean(array, axis, keepdims=keepdim) if keepdim or axis is not None else np.mean(array)
    )


@operation("DivBackward0")
def nanmean(input: Value, dim: Dim = None, keepdim: bool = False, *, dtype: DType = None) -> Value:
    """The mean of the elements that are not NaN."""
    array = input if dtype is None else cast(input, as_numpy(dtype))
    require_inexact(array, "nanmean")
    axis = axes_of(dim, array.ndim)
    present = np.sum(~np.isnan(untraced(array)), axis, keepdims=keepdim).astype(array.dtype)
    return np.nansum(array, axis, keepdims=keepdim) / present


@operation(_label_by_dim("Prod"), name="prod", planned=True)
def _prod(input: Value, dim: Dim = None, keepdim: bool = False, *, dtype: DType = None) -> Value:
    """The product of all elements, or along a dimension.

    dim (int): The dimension that is reduced; all unless given.
    """
    array = counted(input, dtype)
    return np.prod(array, axis=axes_of(dim, array.ndim), keepdims=keepdim)


# --- Variances ----------------------------------------------------------------------------------


def _spread(
    array: Value, axis: Axis, keepdim: bool, correction: Number, word: str, root: bool
) -> Value:
    """A variance or its root, also where the correction leaves no degrees of freedom."""
    if array.dtype.kind not in "fc":
        raise RuntimeError(
            f"{word.removesuffix('_mean')} only support floating point and complex dtypes"
        )
    degrees = _count(array, axis) - correction
    if degrees > 0:
        reduce = np.std if root else np.var
        return reduce(array, axis=axis, ddof=correction, keepdims=keepdim)
    warn(
        f"{word}(): degrees of freedom is <= 0. Correction should be strictly less than the "
        "reduction factor (input numel divided by output numel)."
    )
    deviation = np.absolute(
        array - np.sum(array, axis, keepdims=True) / max(_count(array, axis), 1)
    )
    squares = np.sum(np.square(deviation), axis, keepdims=keepdim)
    found = squares / squares.dtype.type(0)
    return np.sqrt(found) if root else found


def _corrected(dim: Dim, unbiased: bool | None, correction: Number) -> tuple[Dim, Number]:
    """The dims, and what is subtracted from the count, from any of PyTorch's ways to say it."""
    if isinstance(dim, bool):  # x.var(False)
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    return dim, correction


_SPREAD = "The {} of all elements, or along dimensions; correction=1 divides by n - 1."
_ONE_TO_FIVE = "(torch.tensor([1.0, 3.0, 5.0]))"


def _declare_spread(word: str, label: str, root: bool) -> None:
    def of(both: bool) -> Function:
        def compute(
            input: Value,
            dim: Dim = None,
            unbiased: bool | None = None,
            keepdim: bool = False,
            *,
            correction: Number = None,
        ) -> Value:
            dims, subtracted = _corrected(dim, unbiased, correction)
            axis = axes_of(dims, input.ndim)
            name = f"{word}_mean" if both else word
            found = _spread(input, axis, keepdim, subtracted, name, root)
            if not both:
                return found
            count = input.dtype.type(_count(input, axis))
            return found, np.sum(input, axis, keepdims=keepdim) / count

        return compute

    compute, compute_both = of(both=False), of(both=True)
    what, result = ("standard deviation", "2.") if root else ("variance", "4.")
    compute.__doc__ = told(_SPREAD.format(what), f"{word}{_ONE_TO_FIVE}", f"tensor({result})")
    compute_both.__doc__ = told(
        f"`{word}` and the mean, as a tuple.",
        f"{word}_mean{_ONE_TO_FIVE}",
        f"(tensor({result}), tensor(3.))",
        f"-> tuple of Tensors: The {what}s and the means.",
    )
    operation(f"{label}Backward0", name=word, planned=True)(compute)
    operation(f"{label}MeanBackward0", name=f"{word}_mean", method=False)(compute_both)


_declare_spread("var", "Var", root=False)
_declare_spread("std", "Std", root=True)


# --- Truth and counts ---------------------------------------------------------------------------


def _truth(array: Value, found: Value) -> Value:
    """PyTorch's dtype of a truth value: bool, but uint8 of uint8."""
    return found.astype(np.uint8) if array.dtype == np.uint8 else found


def _exact_axes(dim: Dim, ndim: int) -> Axis:
    """The axes of a `dim`, of which an empty list means no axis, not all of them."""
    return () if dim is not None and dim in ((), []) else axes_of(dim, ndim)


@operation("AllBackward0", name="all")
def _all(input: Value, dim: Dim = None, keepdim: bool = False) -> Value:
    """Whether all elements are true, of everything or along dimensions.

    -> Tensor: Truth values (uint8 for uint8), without the dimensions that are reduced.
    """
    x = untraced(input)
    return _truth(x, np.all(x, axis=_exact_axes(dim, x.ndim), keepdims=keepdim))


@operation("AnyBackward0", name="any")
def _any(input: Value, dim: Dim = None, keepdim: bool = False) -> Value:
    """Whether any element is true, of everything or along dimensions.

    -> Tensor: Truth values (uint8 for uint8), without the dimensions that are reduced.
    """
    x = untraced(input)
    return _truth(x, np.any(x, axis=_exact_axes(dim, x.ndim), keepdims=keepdim))


register("all", replaces=_all)(short_truth(np.logical_and, _all))
register("any", replaces=_any)(short_truth(np.logical_or, _any))


@operation("CountNonzeroBackward0")
def count_nonzero(input: Value, dim: Dim = None) -> Value:
    """How many elements are not zero.

    -> Tensor: Whole numbers (int64), without the dimensions that are reduced.
    """
    x = untraced(input)
    return np.sum(x != 0, axis=axes_of(dim, x.ndim))


# --- Norms --------------------------------------------------------------------------------------


def _beside(value: Value, axis: Axis, keepdims: bool) -> Value:
    """A reduced value that broadcasts with the array it was reduced from."""
    if keepdims or axis is None:
        return value
    return np.expand_dims(value, axis)


def _conjugate(x: Value) -> Value:
    return np.conj(x) if x.dtype.kind == "c" else x


def _euclidean_vjp(g: Cotangent, out: Value, x: Value, axis: Axis, keepdims: bool) -> Cotangent:
    zero = untraced(out) == 0
    share = np.where(zero, 0, g / np.where(zero, 1, out)) if any_true(zero) else g / out
    return _beside(share, axis, keepdims) * _conjugate(x)


def _euclidean_jvp(dots: Tangent, out: Value, x: Value, axis: Axis, keepdims: bool) -> Tangent:
    zero = untraced(out) == 0
    change = np.sum(np.real(_conjugate(x) * dots[0]), axis=axis, keepdims=keepdims)
    return np.where(zero, 0, change / np.where(zero, 1, out)) if any_true(zero) else change / out


def _length_kernels(
    specs: Any, out: Spec, wanted: tuple[bool, ...], axis: Axis, keepdims: bool
) -> Kernels | None:
    """Of one length the pull asks whether it is zero: 1.16x of what choices of numbers take."""
    if axis is not None or keepdims or not specs[0].ndim:
        params = {"axis": axis, "keepdims": keepdims}
        return generated_kernels(_euclidean.rule, specs, out, wanted, params)
    return Kernels(_length, lambda g, out, x: (np.zeros_like(x) if out == 0 else x * (g / out),))


def _length(x: Value) -> Value:
    row = x.ravel("K")
    return np.sqrt(row.dot(row))


@general("LinalgVectorNormBackward0", _euclidean_vjp, _euclidean_jvp, kernels=_length_kernels)
def _euclidean(x: Value, axis: Axis, keepdims: bool) -> Value:
    """The root of the sum of squares; its derivatives of any order at zero are zero."""
    if is_own(x) and x.dtype.kind == "f":
        if axis is None and not keepdims:
            return _length(x)
        return np.sqrt(np.sum(np.square(x), axis, keepdims=keepdims))
    if axis is None or isinstance(axis, int):
        return np.linalg.norm(x, axis=axis, keepdims=keepdims)
    squares = np.square(x) if x.dtype.kind != "c" else np.square(x.real) + np.square(x.imag)
    return np.sqrt(np.sum(squares, axis=axis, keepdims=keepdims))


@elementwise("LinalgVectorNormBackward0", 0)
def _is_nonzero(x: Value) -> Value:
    return (x != 0).astype(x.real.dtype)


def vector_norm(array: Value, order: Number, axis: Axis, keepdim: bool) -> Value:
    """(sum |x|**p) ** (1 / p) over axes; its gradient where the norm is zero is zero."""
    if order == 2:
        return _euclidean(array, axis=axis, keepdims=keepdim)
    if order == 0:
        return np.sum(_is_nonzero(array), axis=axis, keepdims=keepdim)
    if not _count(array, axis) and not math.isfinite(order):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {order} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    return np.linalg.vector_norm(array, axis=axis, keepdims=keepdim, ord=order)


def _widened(array: Value, given: np.dtype[Any]) -> Value:
    if np.result_type(array.dtype, given) != given:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({word_of(array.dtype)}) should be "
            f"convertible without narrowing to the specified dtype ({word_of(given)})"
        )
    return cast(array, given)


@operation("LinalgVectorNormBackward0", planned=True)
def norm(
    input: Value,
    p: Number | str = "fro",
    dim: Dim = None,
    keepdim: bool = False,
    dtype: DType = None,
) -> Value:
    """The p-norm of all elements or along dimensions; p="nuc": of matrices' singular values.

    p (number or str): The order: a number, "fro" (as 2) or "nuc".
    """
    array = input if dtype is None else _widened(input, as_numpy(dtype))
    if array.dtype.kind not in "fc":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{word_of(array.dtype)}"
        )
    axis = axes_of(dim, array.ndim)
    if p == "nuc":
        return np.linalg.norm(array, "nuc", (0, 1) if axis is None else axis, keepdim)
    return vector_norm(array, 2 if p in (None, "fro") else p, axis, keepdim)


@operation("DistBackward0", planned=True)
def dist(input: Value, other: Value, p: Number = 2) -> Value:
    """The p-norm of a difference.

    other (Tensor or number): What is subtracted; the shapes broadcast.
    -> Tensor: One number.
    """
    x, y = promoted(input, other)
    return vector_norm(np.subtract(x, y), p, None, False)


@operation("RenormBackward0", inplace=True)
def renorm(input: Value, p: float, dim: int, maxnorm: float) -> Value:
    """Each slice along a dimension, made smaller where its p-norm is larger than maxnorm.

    p: The order of the norm, greater than 0.
    dim: The dimension whose slices are looked at.
    maxnorm: The largest norm that a slice may have.
    -> Tensor: A tensor in the shape of `input`.
    RuntimeError: For a p of 0 or less, a negative maxnorm, or less than two dimensions.
    """
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions"
        )
    kept = wrapped(dim, input.ndim)
    axes = tuple(i for i in range(input.ndim) if i != kept)
    norms = vector_norm(input, p, axes, True)
    large = untraced(norms) > maxnorm
    return input * np.where(large, maxnorm / (np.where(large, norms, 1) + 1e-7), 1)


# --- Sums of exponentials -----------------------------------------------------------------------


def _share(out: Value, x: Value, axis: Axis, keepdims: bool) -> Value:
    """exp(x - out): the share of each element in the sum."""
    whole = _beside(out, axis, keepdims)
    empty = untraced(whole) == -np.inf
    if any_true(empty):  # all elements are -inf: shares of 0
        whole = np.where(empty, 0, whole)
    return np.exp(x - whole)


def _logsumexp_vjp(g: Cotangent, out: Value, x: Value, axis: Axis, keepdims: bool) -> Cotangent:
    return _beside(g, axis, keepdims) * _share(out, x, axis, keepdims)


def _logsumexp_jvp(dots: Tangent, out: Value, x: Value, axis: Axis, keepdims: bool) -> Tangent:
    return np.sum(dots[0] * _share(out, x, axis, keepdims), axis=axis, keepdims=keepdims)


@general("LogsumexpBackward0", _logsumexp_vjp, _logsumexp_jvp)
def _logsumexp(x: Value, axis: Axis, keepdims: bool) -> Value:
    if is_own(x) and x.size:
        largest = np.maximum.reduce(x.real, axis, keepdims=True)
    else:
        largest = np.max(x.real, axis=axis, keepdims=True, initial=-np.inf)
    largest = np.where(np.isinf(largest), 0, largest)
    total = np.log(np.sum(np.exp(x - largest), axis=axis, keepdims=True)) + largest
    return total if keepdims else np.squeeze(total, axis)


@operation("LogsumexpBackward0", planned=True)
def logsumexp(input: Value, dim: Dim, keepdim: bool = False) -> Value:
    """`log(sum(exp(x)))` along dimensions, without overflow.

    dim: The dimensions that are reduced.
    """
    array = floating(input)
    if not array.ndim:
        wrapped = axes_of(dim, 0)
        return array * 1 if wrapped is None else array
    axis = axes_of(dim, array.ndim)
    if axis is None:
        axis = tuple(range(array.ndim))
    return _logsumexp(array, axis=axis, keepdims=keepdim)

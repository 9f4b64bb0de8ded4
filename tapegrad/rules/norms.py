"""Norms of vectors and of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tapegrad._core.fast.call_plans import Kernels, Spec
from tapegrad._core.fast.sums import reducing
from tapegrad._core.forms import composite, general, strong_product
from tapegrad._core.types import Cotangent, Params, Tangent, Value
from tapegrad._core.values import any_true, untraced
from tapegrad._numpy_versions import NORM_OF_NOTHING_IS_ZERO
from tapegrad.rules.kinks import is_inexact, largest_size, least_exact, ratio, scale_of
from tapegrad.rules.matrices import conjugated
from tapegrad.rules.reduction import planned_axes

# --- the root of a sum of squares


def _beside(value: Value, x: Value, axis: int | tuple[int, ...] | None, keepdims: bool) -> Value:
    """A norm, or its cotangent, in a shape that broadcasts with the array."""
    if keepdims:
        return value
    axes = tuple(range(len(x.shape))) if axis is None else axis
    return np.expand_dims(value, axes)


def _euclidean(x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    """The root of the sum of squares, in NumPy's own way for these axes."""
    return np.linalg.norm(x, None, axis, keepdims)


def _root_of_squares(x: Value, axis: Any = None, keepdims: bool = False) -> Value:
    return np.sqrt(np.sum(np.real(x * conjugated(x)), axis=axis, keepdims=keepdims))


def _shares(x: Value, out: Value, axis: Any, keepdims: bool) -> Value:
    """x / out, the slope of a norm: 0 at zero, and right where squares under- or overflow."""
    length = _beside(out, x, axis, keepdims)
    scale = scale_of(largest_size(x, axis), is_inexact(length))
    if scale is not None:
        x = x / scale
        length = np.linalg.norm(x, None, axis, True)
    return conjugated(ratio(x, length))


def _euclidean_vjp(
    g: Cotangent,
    out: Value,
    x: Value,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Cotangent:
    """g * x / out: the gradient at zero is zero."""
    if not any_true(is_inexact(out)):
        return _beside(g / out, x, axis, keepdims) * conjugated(x)
    return strong_product(_beside(g, x, axis, keepdims), _shares(x, out, axis, keepdims))


def _euclidean_jvp(
    dots: Sequence[Tangent],
    out: Value,
    x: Value,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Tangent:
    if not any_true(is_inexact(out)):
        return np.sum(np.real(conjugated(x) * dots[0]), axis=axis, keepdims=keepdims) / out
    shares = _shares(x, out, axis, keepdims)
    return np.sum(np.real(shares * dots[0]), axis=axis, keepdims=keepdims)


def _euclidean_examples(
    x: Value, axis: tuple[int, ...] | None = None, keepdims: bool = False
) -> Value:
    ndim = x.ndim - 1
    if axis is not None:
        return np.linalg.norm(x, None, tuple(i % ndim + 1 for i in axis), keepdims)
    norms = np.linalg.norm(np.reshape(x, (x.shape[0], int(np.prod(x.shape[1:])))), None, 1)
    return np.reshape(norms, (x.shape[0], *(1,) * ndim)) if keepdims else norms


_LEAST = least_exact(np.float64)


def _has_inexact(out: Value) -> bool:
    if type(out) is np.float64:
        return not _LEAST <= out < np.inf
    return any_true(is_inexact(out))


# By the rule's own functions a gradient costs 1.6 times this (8 elements), 1.6 (8 x 8), 1.17
# (100 x 100).
def _plan_euclidean(
    x: Spec, _out: Spec, /, axis: tuple[int, ...] | None = None, keepdims: bool = False
) -> Kernels | None:
    """The kernels of a norm of real numbers; zeros and infinities are left to the rule."""
    along = planned_axes(x, axis, {})
    if along is None:
        return None
    kept = along.kept
    one = axis is not None and len(axis) == 1  # then NumPy does as below
    total_of = reducing(np.add, x.shape, along.axis, keepdims)

    def run(a: Any) -> Any:
        return np.sqrt(total_of(a * a)) if one else np.linalg.norm(a, None, axis, keepdims)

    def pull(g: Cotangent, out: Value, x: Value) -> Cotangent:
        if _has_inexact(out):
            return _euclidean_vjp(g, out, x, axis, keepdims)
        ratio = g / out
        return (ratio.reshape(kept) if axis is not None else ratio) * x

    def push(dot: Tangent, out: Value, x: Value) -> Tangent:
        if _has_inexact(out):
            return _euclidean_jvp([dot], out, x, axis, keepdims)
        return total_of(x * dot) / out

    return Kernels(run, pull, push)


EUCLIDEAN = general(
    _euclidean,
    vjp=[_euclidean_vjp],
    jvp=_euclidean_jvp,
    formula=_root_of_squares,
    name="np.linalg.norm",
    batch=_euclidean_examples,
    plan=_plan_euclidean,
)


def _norm(
    x: Value, ord: Any = None, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Value:
    x = _lifted(x)
    if axis is None and (
        ord is None or ord in ("f", "fro") and x.ndim == 2 or ord == 2 and x.ndim == 1
    ):
        return EUCLIDEAN.apply_bound([x], {"keepdims": keepdims} if keepdims else {})
    if axis is not None and not isinstance(axis, tuple):
        try:
            axis = int(axis)
        except Exception as error:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from error
    axes = _normalized(axis, x.ndim)
    if len(axes) == 1:
        return _norm_of_vectors(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _norm_of_matrices(x, ord, (axes[0], axes[1]), keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _norm_call(
    x: Spec, ord: Any = None, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> tuple[Any, Sequence[Spec], Params] | None:
    """The Euclidean norm of an array, or along one axis."""
    if type(keepdims) is not bool:
        return None
    if ord is not None:
        whole = axis is None and type(ord) is str and ord in ("fro", "f")
        if not whole or x.ndim != 2:
            return None
    if axis is None:
        return EUCLIDEAN, (x,), {"keepdims": True} if keepdims else {}
    ndim = x.ndim
    if type(axis) is int and -ndim <= axis < ndim:
        return EUCLIDEAN, (x,), {"axis": (axis % ndim,), "keepdims": keepdims}
    return None


def _normalized(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    return normalize_axis_tuple(range(ndim) if axis is None else axis, ndim, allow_duplicate=True)


# --- other orders


def _lifted(x: Value) -> Value:
    return np.stack(list(map(_lifted, x))) if isinstance(x, (list, tuple)) else x


def _norm_of_vectors(x: Value, order: Any, axis: int, keepdims: bool) -> Value:
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")  # noqa: TRY004 - as NumPy
    if order is None or order == 2:
        return EUCLIDEAN.apply_bound([x], {"axis": (axis,), "keepdims": keepdims})
    if order == np.inf:
        return _largest(np.abs(x), axis, keepdims)
    if order == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if order == 0:
        nonzero = (x != 0).astype(x.dtype.type(0).real.dtype)
        return np.sum(nonzero, axis=axis, keepdims=keepdims)
    if order == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    return _root_of_powers(np.abs(x), order, axis, keepdims)


def _root_of_powers(sizes: Value, order: float, axis: int, keepdims: bool) -> Value:
    total = np.sum(sizes**order, axis=axis, keepdims=keepdims)
    found, info = _root(total, order), np.finfo(total.dtype)
    inexact = (untraced(total) < info.tiny / info.eps) | (untraced(total) == np.inf)
    if not any_true(inexact) or not sizes.size:
        return found
    # The value is NumPy's, the slope that of a length of scaled elements.
    decisive = (np.max if order > 0 else np.min)(untraced(sizes), axis=axis, keepdims=True)
    scale = scale_of(decisive, inexact if keepdims else np.expand_dims(inexact, axis))
    if scale is None:
        return found
    total = np.sum((sizes / scale) ** order, axis=axis, keepdims=keepdims)
    scale = scale if keepdims else np.squeeze(scale, axis)
    length = scale * _root(total, order)
    exact = untraced(found) - untraced(length)
    return np.where(scale == 1, found, length + exact)


def _root(total: Value, order: float) -> Value:
    root = float(np.reciprocal(order, dtype=total.dtype))
    # Zeros, and infinities of a negative order: the gradient there is zero, not 0 * inf.
    flat = (untraced(total) == 0) | np.isinf(untraced(total))
    if not any_true(flat):
        return total**root
    return np.where(flat, untraced(total) ** root, np.where(flat, 1, total) ** root)


def _norm_of_matrices(x: Value, order: Any, axes: tuple[int, int], keepdims: bool) -> Value:
    if axes[0] == axes[1]:
        raise ValueError("Duplicate axes given.")
    if order is None or order in ("f", "fro"):
        return EUCLIDEAN.apply_bound([x], {"axis": axes, "keepdims": keepdims})
    matrices = np.moveaxis(x, axes, (-2, -1))
    if order in (2, -2, "nuc"):
        values = np.linalg.svd(matrices, compute_uv=False)
        reduced = _reduced_spectrum(values, order)
    elif order in (1, -1, np.inf, -np.inf):
        sums = np.sum(np.abs(matrices), axis=-2 if abs(order) == 1 else -1)
        reduced = _largest(sums) if order > 0 else np.min(sums, axis=-1)
    else:
        raise ValueError("Invalid norm order for matrices.")
    return np.expand_dims(reduced, axes) if keepdims else reduced


def _reduced_spectrum(values: Value, order: Any) -> Value:
    if order == "nuc":
        return np.sum(values, axis=-1)
    return np.max(values, axis=-1, **_INITIAL) if order == 2 else np.min(values, axis=-1)


_INITIAL: dict[str, Any] = {"initial": 0} if NORM_OF_NOTHING_IS_ZERO else {}


def _largest(sizes: Value, axis: int = -1, keepdims: bool = False) -> Value:
    """The largest of some sizes. That of none is zero, or NumPy's error before 2.3."""
    # Where all are zero, an initial one would share the cotangent; a size of zero passes none on.
    initial = {} if sizes.size else _INITIAL
    return np.max(sizes, axis=axis, keepdims=keepdims, **initial)


def _vector_norm(
    x: Value, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: Any = 2
) -> Value:
    x = _lifted(x)
    axes = normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim)
    rest = [side for i, side in enumerate(x.shape) if i not in axes]
    first = tuple(range(len(axes)))
    moved = x if axes == first else np.moveaxis(x, axes, first)
    count = math.prod(x.shape[i] for i in axes)
    result = _norm_of_vectors(np.reshape(moved, (count, *rest)), ord, 0, False)
    return np.expand_dims(result, axes) if keepdims else result


def _matrix_norm(x: Value, /, *, keepdims: bool = False, ord: Any = "fro") -> Value:
    return _norm(x, ord, (-2, -1), keepdims)


composite(np.linalg.norm, _norm, primitive=_norm_call)
composite(np.linalg.vector_norm, _vector_norm)
composite(np.linalg.matrix_norm, _matrix_norm)

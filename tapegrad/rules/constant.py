"""Functions whose results are piecewise constant, or carry no numbers that could vary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad._core.forms import composite, constant
from tapegrad._core.types import Function, Value
from tapegrad._core.values import lift, untraced
from tapegrad._numpy_versions import EXPIRING, FIX_WARNS, FORMATS_BY_STYLE
from tapegrad._warning import warn

_UFUNCS = (
    "floor ceil trunc rint floor_divide signbit spacing isfinite isinf isnan isnat "
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
    "logical_not"
).split()
_ALIGNED = "round around isreal iscomplex isposinf isneginf".split()
_ALONG_AXES = "count_nonzero any all".split()
_ALONG_ONE = "argmax argmin argsort argpartition".split()
_OF_PAIRS = "searchsorted isin digitize".split()
# Results that depend on shapes and dtypes, which all examples of a vmap share.
_FACTS = "shape ndim size iscomplexobj isrealobj result_type can_cast min_scalar_type common_type"
# The shape of the result, or its type, would differ between the examples of a vmap.
_RAGGED = (
    "argwhere nonzero flatnonzero array_repr array_str shares_memory may_share_memory"
).split()
for names, batch, arrays in (
    (_UFUNCS + _ALIGNED, "align", 1),
    (["isclose"], "align", 2),
    (_ALONG_AXES, "axis", 1),
    (_ALONG_ONE, "flat", 1),
    (_OF_PAIRS, "loop", 2),
    (_FACTS.split(), "example", 1),
    (_RAGGED, "ragged", 1),
):
    constant(*(getattr(np, name) for name in names), batch=batch, arrays=arrays)


# --- deprecated functions: computed by what NumPy recommends, and the warning names the program's
# own line


def _fixed(x: Value, out: Value = None) -> Value:
    if FIX_WARNS:
        warn(
            "numpy.fix is deprecated. Use numpy.trunc instead, "
            "which is faster and follows the Array API standard.",
            DeprecationWarning,
        )
    return np.trunc(x, out=out)


def _in1d(
    ar1: Value, ar2: Value, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Value:
    warn("`in1d` is deprecated. Use `np.isin` instead.", DeprecationWarning)
    return np.ravel(np.isin(ar1, ar2, assume_unique, invert, kind=kind))


_DEPRECATED: dict[str, tuple[Any, str, int]] = {
    "fix": (_fixed, "align", 1),
    "in1d": (_in1d, "loop", 2),
}
for name in EXPIRING:
    implementation, batch, arrays = _DEPRECATED[name]
    constant(getattr(np, name), batch=batch, arrays=arrays, implementation=implementation)


def _array2string(
    a: Value,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
    separator: str = " ",
    prefix: str = "",
    style: Any = np._NoValue,
    *args: Any,
    **options: Any,
) -> str:
    legacy = options.get("legacy") or np.get_printoptions()["legacy"]
    if style is not np._NoValue and legacy != "1.13":
        warn(
            "'style' argument is deprecated and no longer functional except in 1.13 'legacy' mode",
            DeprecationWarning,
        )
        style = np._NoValue
    args = (max_line_width, precision, suppress_small, separator, prefix, style, *args)
    return np.array2string(a, *args, **options)


constant(
    np.array2string,
    batch="ragged",
    implementation=_array2string if FORMATS_BY_STYLE else None,
)


def side_by_side(x: Value, y: Value) -> tuple[Value, Value]:
    """Two arrays with their examples along axis 0, as arrays that broadcast."""
    rank = max(x.ndim, y.ndim)
    return (
        np.reshape(x, (x.shape[0], *(1,) * (rank - x.ndim), *x.shape[1:])),
        np.reshape(y, (y.shape[0], *(1,) * (rank - y.ndim), *y.shape[1:])),
    )


def _all_of_each(found: Value) -> Value:
    return np.all(found, axis=tuple(range(1, found.ndim)))


def _all_close(a: Value, b: Value, *args: Any, **options: Any) -> Value:
    return _all_of_each(np.isclose(*side_by_side(a, b), *args, **options))


def _all_equal(a: Value, b: Value, equal_nan: bool = False) -> Value:
    if a.shape != b.shape:
        return np.zeros(a.shape[0], bool)
    same = a == b
    return _all_of_each(same | ((a != a) & (b != b)) if equal_nan else same)


def _all_equivalent(a: Value, b: Value) -> Value:
    a, b = side_by_side(a, b)
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return np.zeros(a.shape[0], bool)
    return _all_of_each(a == b)


def _lexsorted(keys: Value, axis: int = -1) -> Value:
    if keys.ndim == 2:  # the keys of one example are scalars, which NumPy sorts as one element
        np.lexsort(np.zeros(keys.shape[1:]), axis)  # raises NumPy's errors
        return np.zeros(len(keys), np.intp)
    return np.lexsort(np.moveaxis(keys, 1, 0), normalize_axis_index(axis, keys.ndim - 2) + 1)


constant(np.allclose, arrays=2, batch=_all_close)
constant(np.array_equal, arrays=2, batch=_all_equal)
constant(np.array_equiv, arrays=2, batch=_all_equivalent)
constant(np.lexsort, arrays=1, batch=_lexsorted)


def _like(create: Function, holder: Value, *args: Any, **kwargs: Any) -> Value:
    """A new constant, traced if `holder` is, so that traced values can be written to it."""
    made = create(*map(untraced, args), **kwargs)
    if made.dtype.kind in "fc" and hasattr(holder, "tape"):
        return holder.tape.wrap(made, -1)
    return made


def _zeros_like(a: Value, *args: Any, **kwargs: Any) -> Value:
    return _like(np.zeros_like, a, a, *args, **kwargs)


def _ones_like(a: Value, *args: Any, **kwargs: Any) -> Value:
    return _like(np.ones_like, a, a, *args, **kwargs)


def _empty_like(
    prototype: Value,
    /,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: int | Sequence[int] | None = None,
    *,
    device: str | None = None,
) -> Value:
    # Zeros: a derivative must not depend on what the memory held.
    return _zeros_like(prototype, dtype, order, subok, shape, device=device)


def _full_like(
    a: Value,
    fill_value: Value,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: int | Sequence[int] | None = None,
    *,
    device: str | None = None,
) -> Value:
    base = np.zeros_like(untraced(a), dtype, order, subok, shape, device=device)
    fill_value = lift(fill_value)
    if not hasattr(fill_value, "tape"):
        holder = a if hasattr(a, "tape") else None
        filled = np.full_like(base, fill_value)
        return _like(lambda: filled, holder)
    return np.copy(np.broadcast_to(fill_value, base.shape).astype(base.dtype))


def _with_examples(a: Value, shape: int | Sequence[int] | None) -> Any:
    """shape= of the functions below, with the number of examples in front."""
    if shape is None:
        return None
    return (a.shape[0], *(shape if isinstance(shape, (tuple, list)) else (shape,)))


def _full_like_batch(
    a: Value, fill_value: Value, shape: int | Sequence[int] | None = None, **options: Any
) -> Value:
    made = np.zeros_like(a, shape=_with_examples(a, shape), **options)
    ones = (1,) * (made.ndim - fill_value.ndim)
    made[...] = fill_value.reshape(fill_value.shape[:1] + ones + fill_value.shape[1:])
    return made


composite(
    np.zeros_like,
    _zeros_like,
    fresh=True,
    batch=lambda a, shape=None, **options: np.zeros_like(
        a, shape=_with_examples(a, shape), **options
    ),
)
composite(
    np.ones_like,
    _ones_like,
    fresh=True,
    batch=lambda a, shape=None, **options: np.ones_like(
        a, shape=_with_examples(a, shape), **options
    ),
)
composite(
    np.empty_like,
    _empty_like,
    fresh=True,
    batch=lambda prototype, shape=None, **options: np.zeros_like(
        prototype, shape=_with_examples(prototype, shape), **options
    ),
)
composite(np.full_like, _full_like, arrays=2, fresh=True, batch=_full_like_batch)

"""Cotangents and tangents: products with partials, and the shape and dtype of their values.

Knows shapes, dtypes, and how a complex cotangent becomes real. Must not know entries, or rules
beyond their names.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from math import isfinite, isnan
from typing import Any

import numpy as np

from tapegrad._block import Block, setting
from tapegrad._core.entry import Named, Spec
from tapegrad._core.types import Cotangent, Function, Tangent, Value, Values
from tapegrad._core.values import (
    Mapped,
    Scatter,
    as_one,
    assume,
    assume_inside,
    cast,
    in_trace,
    is_numpy,
    is_numpy_number,
    is_plain_number,
    untraced,
)
from tapegrad._errors import RuleError

# Whether rules let zeros absorb what they meet: in a replay that sees to the others itself.
_ABSORBING: ContextVar[bool] = ContextVar("tapegrad_absorbing", default=False)


def zeros_absorbing() -> Block[None]:
    """A block in which zeros of a `resolved_product` absorb what they meet."""
    return setting(_ABSORBING, True)


def are_absorbing() -> bool:
    """Whether zeros absorb what they meet, as in `zeros_absorbing`."""
    return _ABSORBING.get()


def fit_cotangent(bar: Cotangent, like: Value, rule: Named) -> Cotangent:
    """A cotangent summed to the shape of its argument, cast to its dtype and realness."""
    shape = like.shape
    if bar.shape != shape:
        bar = _unbroadcast(bar, shape, rule)
    dtype = like.dtype
    return bar if bar.dtype is dtype else cast(bar, dtype)


def _unbroadcast(bar: Cotangent, shape: tuple[int, ...], rule: Named) -> Cotangent:
    lead = len(bar.shape) - len(shape)
    if lead == 1 and bar.shape[1:] == shape:
        return _sum(bar, (0,))  # the frequent case: a bias was added to rows
    given = bar.shape[lead:] if lead >= 0 else ()
    stretched = tuple(
        lead + axis
        for axis, (size, came) in enumerate(zip(shape, given, strict=False))
        if size == 1 and came != 1
    )
    if lead > 0 and not stretched:
        bar = _sum(bar, tuple(range(lead)))
    elif stretched:
        bar = _sum(bar, (*range(lead), *stretched), keepdims=True)
        bar = bar.reshape(bar.shape[lead:])
    if bar.shape != shape:
        raise RuleError(
            f"{rule.name}: its rule returned a cotangent of shape {bar.shape} for an argument of "
            f"shape {shape}. A cotangent has the shape of its argument, or one that broadcasting "
            "made of it."
        )
    return bar


def _sum(bar: Cotangent, axes: tuple[int, ...], *, keepdims: Any = False) -> Any:
    """np.sum; for NumPy's own arrays without its wrapper, which costs as much as the sum."""
    if type(bar) is np.ndarray:
        return np.add.reduce(bar, axes, keepdims=keepdims)
    return np.sum(bar, axes, keepdims=keepdims)


def zeros_of(like: Value) -> Value:
    """Zeros of the shape and dtype of `like`, made by the library that `like` belongs to."""
    kind = type(like)
    if kind is np.ndarray or kind is Spec:
        return np.zeros(like.shape, like.dtype)
    if is_numpy_number(like):
        return like.dtype.type(0)
    return np.zeros_like(like)


def apart(bars: Cotangent) -> Cotangent:
    """Copies of cotangents, for rules of the program, which may keep the arrays that they get.

    The caller of a transform may change a gradient in place, and no rule must see that.
    """
    if isinstance(bars, (list, tuple)):
        return [apart(bar) for bar in bars]
    return bars.copy("K") if type(bars) is np.ndarray else bars


FEW = 1 << 12  # elements, up to which repeated ones are looked at as they are
MANY = 1 << 17  # and up to which a copy of an array with gaps costs less than its sum


def is_finite(bar: Cotangent) -> bool:
    """Whether a cotangent has no infinity or NaN. Its sum decides: one pass, no array of flags.

    Where it overflows, the elements do. Arrays of other libraries may be lazy, and are not
    computed: the answer for them is False, so that products are strong ones.
    """
    if type(bar) is not np.ndarray:
        if type(bar) is np.float64 or type(bar) is np.float32:
            return isfinite(bar)
        if in_trace(bar):
            return assume(is_finite, bar, True)
        if not is_numpy(bar):
            return False
    cheap = bar.size <= MANY or bar.flags.forc
    if cheap and bar.dtype.char in "df" and type(bar) is np.ndarray:
        row = bar if bar.ndim == 1 else bar.ravel("K")
        if isfinite(row.dot(row)):  # squares: half of the price of a sum, or less
            return True
    else:
        total = np.add.reduce(bar, None)
        if isfinite(total) if type(total) is np.float64 else total - total == 0:
            return True
    return bool(np.isfinite(bar).all())


def finite_or_strong(times: Callable[..., Any], g: Cotangent, factor: Value) -> Cotangent:
    """`g * factor`, or if that is not finite `times(g, factor)`: a strong product."""
    bar = g * factor
    if in_trace(bar):
        made = as_one(bar, finite_or_strong, times, g, factor)
        if made is not NotImplemented:
            return made
    return bar if is_finite(bar) else times(g, factor)


def holds_infinity(g: Cotangent) -> bool:
    """Whether a value of NumPy's has an infinity."""
    return is_numpy(g) and bool(np.isinf(g).any())


def _unrepeated(bar: Any) -> Any:
    """The elements of an array as they lie in memory: a broadcast view has few."""
    strides = bar.strides
    if 0 not in strides:
        return bar
    return bar[tuple([slice(1) if step == 0 else slice(None) for step in strides])]


def has_nan(bar: Cotangent) -> bool:
    """Whether a cotangent has a NaN. Arrays of other libraries may be lazy: False for them.

    The sum of squares of an array with a NaN is NaN, and is the cheapest test of an array. Complex
    infinities may make it NaN as well; then the elements decide, which costs only time.
    """
    if type(bar) is not np.ndarray:
        if type(bar) is np.float64:
            return isnan(bar)
        if in_trace(bar):
            return assume(has_nan, bar, False)
    if type(bar) is np.ndarray:
        if bar.size > FEW:
            bar = _unrepeated(bar)
        row = bar if bar.ndim == 1 else bar.ravel("K")
        total = row.dot(row)
        kind = type(total)
        if kind is np.float64 or kind is np.float32:
            return isnan(total)  # math's function takes a third of the comparison's time
    elif is_numpy(bar):
        total = bar
    else:
        return False
    return bool(total != total) and bool(np.isnan(bar).any())


def any_nan(bars: Iterable[Cotangent]) -> bool:
    """Whether one of some cotangents may have a NaN; None is none. One sum tells of all.

    An array of another library may be lazy, and have one when it is computed: True.
    """
    total: Any = 0.0
    for bar in bars:
        if type(bar) is np.ndarray and bar.size <= FEW and bar.dtype.char in "df":
            row = bar if bar.ndim == 1 else bar.ravel("K")
            total += row.dot(row)
        elif type(bar) is np.float64:
            total += bar * bar
        elif bar is not None and (has_nan(bar) or is_foreign(bar)):
            return True
    return bool(total != total)


def is_foreign(bar: Cotangent) -> bool:
    """Whether a cotangent is an array of another library, which may be lazy."""
    bar = untraced(bar)
    known = bar is None or is_numpy(bar) or is_plain_number(bar)
    return not (known or isinstance(bar, (Mapped, Scatter)))


def is_sound(dot: Tangent) -> bool:
    """Whether a tangent by ordinary products is what strong ones would have given.

    The two differ only where one factor is zero and the product is NaN, and a sum keeps a NaN.
    Arrays of other libraries may be lazy, and are not computed: False for them.
    """
    if in_trace(dot):
        return assume(is_sound, dot, True)
    return is_numpy(dot) and not has_nan(dot)


def is_sound_sum(total: Tangent) -> bool:
    """`is_sound` of a sum of products; of a number only if it is finite, as that costs least."""
    if in_trace(total):
        return assume_inside(is_sound_sum, total, True)
    return isfinite(total) if type(total) is np.float64 else is_sound(total)


def fit_tangent(dot: Tangent, like: Value, rule: Named) -> Tangent:
    """A tangent broadcast to the shape of its value, cast to its dtype and realness."""
    if dot.shape != like.shape:
        if len(dot.shape) > len(like.shape):
            raise RuleError(
                f"{rule.name}: its rule returned a tangent of shape {dot.shape} for a result of "
                f"shape {like.shape}. A tangent has the shape of its value."
            )
        dot = np.broadcast_to(dot, like.shape)
    dtype = like.dtype
    return dot if dot.dtype is dtype or dot.dtype == dtype else cast(dot, dtype)


class Over:
    """A partial 1 / by(out, *args), or with `of_out` out / by(out, *args).

    A replay divides by it, in place of a product. So it stays in range where the partial does not:
    that of 1 / x at 1e200 is -1e-400, and along a tangent of 1e200 the change is -1e-200.

    `factor` computes the partial itself, where that takes more than the quotient.
    """

    __slots__ = ("by", "factor", "of_out")

    def __init__(
        self, by: Function, *, of_out: bool = False, factor: Function | None = None
    ) -> None:
        self.by = by
        self.of_out = of_out
        self.factor = factor

    def __call__(self, out: Value, *args: Value) -> Any:
        if self.factor is not None:
            return self.factor(out, *args)
        return (out if self.of_out else 1) / self.by(out, *args)

    def along(self, g: Cotangent, out: Value, *args: Value) -> Any:
        """A plain product of g with the partial."""
        bar = g / self.by(out, *args)
        return bar * out if self.of_out else bar


# By the arithmetic of Python, of a partial whose other argument is a Python number: see
# `elementwise._also_of_numbers`.
RAISED_BY_NUMBERS = (ZeroDivisionError, OverflowError)
_NUMPY = frozenset((np.ndarray, np.float64, np.float32))


def multiplied(times: Function, g: Cotangent, partial: Any, out: Value, args: Values) -> Any:
    """`times(g, partial(out, *args))`; an `Over` divides where the result is finite."""
    if type(partial) is not Over:
        return times(g, partial(out, *args))
    plain = times is operator.mul
    if plain or type(g) in _NUMPY or in_trace(g):
        try:
            bar = partial.along(g, out, *args)
            if plain or is_finite(bar):
                return bar
        except RAISED_BY_NUMBERS:
            pass
    return times(g, partial(out, *args))

"""Convolution, interpolation, and the two special functions that NumPy has."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from tapegrad._rule import (
    Constant,
    Elementwise,
    Function,
    composite,
    elementwise,
    general,
    innermost,
    linear,
    multilinear,
    plain,
    somewhere,
    transpose_linear,
)
from tapegrad.rules.differences import as_array

# --- Convolution


def _mode_name(mode: Any) -> str:
    """NumPy reads the first letter alone, and knows the modes by number too."""
    return {"v": "valid", "s": "same", "f": "full", 0: "valid", 1: "same", 2: "full"}[
        mode[0].lower() if isinstance(mode, str) else int(mode)
    ]


def _cotangent(g: Any, x: Any, other: Any, mode: Any) -> Any:
    """The cotangent of one factor x of a convolution, in as many products as the convolution."""
    other = np.atleast_1d(other)
    size, count = max(x.size, 1), other.size
    shorter = min(size, count)
    mode = _mode_name(mode)
    if mode == "valid" and count > size:
        return np.reshape(np.convolve(other, g[::-1], "valid")[::-1], x.shape)
    if mode == "valid":
        return np.reshape(np.convolve(g, other[::-1], "full"), x.shape)
    if mode == "same":  # a middle part of the full one, which NumPy starts here
        start = (shorter - 1) // 2
        g = np.pad(g, (start, shorter - 1 - start))
    return np.reshape(np.convolve(g, other[::-1], "valid"), x.shape)


multilinear(
    np.convolve,
    lambda g, _out, _a, v, mode="full": _cotangent(g, _a, v, mode),
    lambda g, _out, a, _v, mode="full": _cotangent(g, _v, a, mode),
)


def _correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """A convolution by the reverse of the second array. NumPy reverses the one that is shorter."""
    a, v = as_array(a), as_array(v)
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError(f"object of the wrong depth: expected vectors, got {a.shape}, {v.shape}")
    if v.dtype.kind == "c":
        v = np.conjugate(v)
    if v.size > a.size:
        return np.convolve(v, a[::-1], mode)[::-1]
    return np.convolve(a, v[::-1], mode)


composite(np.correlate, _correlate)

# --- Interpolation


def _plain_interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    return np.interp(x, xp, fp, left, right)


def _segments(values: Any, first: Any, last: Any) -> Any:
    """The values at the knots with one more at each end, for the constants beyond."""
    return np.concatenate([values[:1] + first, values, values[-1:] + last])


def _places(xp: Any, x: Any, side: Any) -> Any:
    return np.searchsorted(xp, x, side)


def _places_of_examples(xp: Any, x: Any, side: Any) -> Any:
    return np.stack([np.searchsorted(*pair, side) for pair in zip(xp, x, strict=True)])


PLACES = Constant(_places, batch=_places_of_examples)


def _place(xp: Any, x: Any, side: str) -> Any:
    """How many knots are below x, or not above it."""
    return PLACES.apply_bound([plain(xp), plain(x)], {"side": side})


def _pick(places: Any, values: Any) -> Any:
    if innermost([places, values]) is not None:
        return PICK.apply_bound([places, values], {})
    return np.take(values, places)


def _pick_of_examples(places: Any, values: Any) -> Any:
    flat = np.reshape(places, (len(places), -1))
    return np.reshape(np.take_along_axis(values, flat, 1), places.shape)


def _spread(places: Any, picked: Any, size: int) -> Any:
    if innermost([places, picked]) is not None:
        return SPREAD.apply_bound([places, picked], {"size": size})
    values = np.zeros(size, picked.dtype)
    np.add.at(values, places, picked)
    return values


def _spread_of_examples(places: Any, picked: Any, size: int) -> Any:
    return np.stack([_spread(*pair, size) for pair in zip(places, picked, strict=True)])


# Picking and its transpose are rules of their own so that the places may differ under vmap.
PICK: Any = linear(
    _pick,
    lambda g, _out, places, _values: SPREAD.apply_bound([places, g], {"size": _values.shape[0]}),
    fixed=1,
    name="np.interp",
    batch=_pick_of_examples,
)
SPREAD: Any = linear(
    _spread,
    lambda g, _out, places, _picked, size: PICK.apply_bound([places, g], {}),
    fixed=1,
    name="np.interp",
    batch=_spread_of_examples,
)


def _picked(values: Any, places: Any) -> Any:
    """`values[places]`."""
    return PICK.apply_bound([places, values], {})


def _tangent_after(places: Any, dots: Any, args: Any) -> Any:
    """The tangent where so many knots are before each x, should it be a knot itself."""
    x, xp, fp, left, right = args
    x_dot, xp_dot, fp_dot, left_dot, right_dot = dots
    below, above = plain(x) < plain(xp)[0], plain(x) > plain(xp)[-1]
    # Values given for what is outside do not reach the last knots: there the inside counts alone.
    first = 0 if left is None else min(1, len(xp) - 1)
    last = len(xp) if right is None else max(len(xp) - 1, 1)
    places = np.clip(places, first, last)
    starts, ends = (_picked(_segments(xp, -1.0, 1.0), places + i) for i in (0, 1))
    values = _segments(fp, 0.0, 0.0)
    slope = (_picked(values, places + 1) - _picked(values, places)) / (ends - starts)
    share = np.where(below | above, 0.0, (x - starts) / (ends - starts))
    terms = []
    if x_dot is not None:
        terms.append(slope * x_dot)
    for knots_dot, factor in ((xp_dot, -slope), (fp_dot, 1.0)):
        if knots_dot is not None:
            knots_dot = _segments(knots_dot, 0.0, 0.0)
            start_dot, end_dot = (_picked(knots_dot, places + i) for i in (0, 1))
            terms.append(factor * (start_dot + share * (end_dot - start_dot)))
    out_dot: Any = sum(terms[1:], terms[0]) if terms else 0.0
    for outside, value, value_dot in ((below, left, left_dot), (above, right, right_dot)):
        if value is not None:
            out_dot = np.where(outside, 0.0 if value_dot is None else value_dot, out_dot)
    return out_dot


def _interp_jvp(
    dots: Any, _out: Any, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None
) -> Any:
    """At a knot, where two segments meet, the mean of both sides."""
    args = (as_array(x), as_array(xp), as_array(fp), left, right)
    places = _place(args[1], args[0], "right")
    out_dot = _tangent_after(places, dots, args)
    at_a_knot = _picked(plain(args[1]), np.maximum(places - 1, 0)) == plain(args[0])
    if somewhere(at_a_knot):
        before = _tangent_after(_place(args[1], args[0], "left"), dots, args)
        out_dot = 0.5 * (out_dot + before)
    return out_dot


def _by_x(g: Any, out: Any, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    return g * _interp_jvp((1.0, None, None, None, None), out, x, xp, fp, left, right)


def _by(position: int) -> Function:
    """The pullback by another argument: the transpose of its tangent."""

    def pullback(g: Any, out: Any, *args: Any) -> Any:
        def tangents(dots: list[Any]) -> list[Any]:
            placed = [dots[0] if i == position else None for i in range(5)]
            return [_interp_jvp(placed, out, *args)]

        return transpose_linear(tangents, [args[position]], [g])[0]

    return pullback


INTERP = general(
    _plain_interp, vjp=[_by_x, *map(_by, range(1, 5))], jvp=_interp_jvp, name="np.interp"
)


def _interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    x, xp, fp = (as_array(value) for value in (x, xp, fp))
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        left = right = None
        x, xp, fp = _one_period(x, xp, fp, np.absolute(period))
    return INTERP.apply_bound([x, xp, fp, left, right], {})


def _one_period(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Everything taken into one period, with the knots sorted and one more at each end."""
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if xp.shape[0] != fp.shape[0]:
        raise ValueError("fp and xp are not of the same length")
    x, xp = x % period, xp % period
    order = np.argsort(plain(xp))
    xp, fp = np.take(xp, order), np.take(fp, order)
    xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, np.concatenate([fp[-1:], fp, fp[:1]])


composite(np.interp, _interp)

# --- Modified Bessel functions of the first kind: I_n' = (I_(n-1) + I_(n+1)) / 2 for every n, and
# I_0' = I_1, so that no order has to divide by x. DLMF 10.29.1.


def _bessel(order: int, x: Any) -> Any:
    """I_n as I_0 times the ratios I_k / I_(k-1), from their continued fraction (DLMF 10.33.1).

    All its terms are positive, and an error in where it starts shrinks like exp(-steps**2 / |x|).
    """
    top = 720.0 if np.finfo(x.dtype).nmant <= 52 else 11500.0  # beyond it I_0 is infinite
    bounded = np.clip(x, -top, top)
    digits = (np.finfo(x.dtype).nmant + 4) * math.log(2.0)
    largest = float(np.max(np.absolute(bounded), initial=0.0, where=~np.isnan(bounded)))
    steps = order + 8 + int(math.sqrt(digits * largest))
    ratio = bounded * 0
    product = np.i0(x)
    for k in range(steps, 0, -1):
        ratio = bounded / (2 * k + bounded * ratio)
        if k <= order:
            product = product * ratio
    return product


@functools.cache
def _bessel_rule(order: int) -> Elementwise:
    """The rule of the function of one order; each order's derivative needs its neighbours."""

    def partial(_out: Any, x: Any) -> Any:
        lower = np.i0(x) if order == 1 else _call(_bessel_rule(order - 1), x)
        return 0.5 * (lower + _call(_bessel_rule(order + 1), x))

    return _strong(lambda x: _bessel(order, x), partial, f"I{order}")


def _strong(function: Function, partial: Function, name: str) -> Elementwise:
    """A rule without a function of NumPy's: its own one hands over what is traced or mapped."""

    def dispatched(x: Any) -> Any:
        return function(x) if innermost([x]) is None else _call(rule, x)

    rule = Elementwise(dispatched, (partial,), strong=True, name=name, batch="align")
    return rule


def _call(rule: Elementwise, x: Any) -> Any:
    return rule.apply_bound([x], {})


def _i0_partial(_out: Any, x: Any) -> Any:
    return _call(_bessel_rule(1), x)


elementwise(np.i0, _i0_partial, strong=True)

# --- The derivatives of sin(y) / y. The n-th is the integral of s**n cos(y s + n pi / 2)
# over s from 0 to 1, a function without any singularity.


def _moment(order: int, y: Any) -> Any:
    """That integral: by its power series near 0, elsewhere by parts from sin(y) / y.

    Each way loses digits where the other is taken: the sum by cancellation, as exp(|y|), the
    recurrence by n! / |y|**n.
    """
    radius = 1 + 0.4 * order
    near = np.absolute(y) < radius
    small, large = np.where(near, y, 0), np.where(near, 1, y)
    return np.where(near, _moment_series(order, radius, small), _moment_by_parts(order, large))


def _moment_series(order: int, radius: float, y: Any) -> Any:
    total = y * 0
    power: Any = 1.0
    for m in range(int(26 + 4 * radius)):
        if (order + m) % 2 == 0:
            total = total + power * ((-1) ** ((order + m) // 2) / (order + m + 1))
        power = power * y / (m + 1)
    return total


def _moment_by_parts(order: int, y: Any) -> Any:
    sine, cosine = np.sin(y), np.cos(y)
    moment = sine / y
    for n in range(1, order + 1):
        moment = ((sine, cosine, -sine, -cosine)[n % 4] - n * moment) / y
    return moment


@functools.cache
def _moment_rule(order: int) -> Elementwise:
    def partial(_out: Any, y: Any) -> Any:
        return _call(_moment_rule(order + 1), y)

    return _strong(lambda y: _moment(order, y), partial, f"sinc, derivative {order}")


elementwise(np.sinc, lambda _out, x: np.pi * _call(_moment_rule(1), np.pi * x), strong=True)

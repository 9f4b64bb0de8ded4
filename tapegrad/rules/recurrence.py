"""Running values of any ufunc: `ufunc.accumulate`, by one linear recurrence.

A running value is `out[k] = ufunc(out[k - 1], x[k])`. NumPy computes them all; the partials at
each step follow from them at once. What is left of a derivative is the recurrence
`s[k] = a[k] * s[k - 1] + b[k]`, from the front for tangents and from the back for cotangents. It
is a function with a rule of its own, whose derivatives are recurrences again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import (
    are_absorbing,
    general,
    is_selection,
    partials_of,
    resolved_product,
    selecting_product,
)
from tapegrad._core.quiet import silence
from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._core.values import innermost, untraced

# --- the recurrence s[0] = b[0], s[k] = a[k - 1] * s[k - 1] + b[k], along the first axis

SHORT = 16  # steps that are made one by one
WIDE = 512  # numbers in a step, from which one step after another is the fastest


def solve(a: Value, b: Value, selects: bool = False) -> Value:
    """The s of the recurrence; `a` has one row less than `b`.

    Pairs of steps are one step of a recurrence half as long. Where products of its factors are not
    finite it goes step by step. `selects`: a factor of zero says that what came before has no
    effect, also where it is infinite. Zeros before the first other term absorb infinite factors
    where a `resolved_product` does.
    """
    if innermost((a, b)) is not None:
        return recurrence(a, b, selects)  # of another tape
    if len(b) < 2:
        return b.copy()
    with silence():
        wide = math.prod(b.shape[1:]) >= WIDE
        s = _by_steps(a, b) if wide else _by_pairs(a, b)
        finite = np.isfinite(np.sum(s))  # a sum that overflows costs only time
        return s if finite else _by_careful_steps(a, b, selects)


def _by_pairs(a: Value, b: Value) -> Value:
    count = len(b)
    if count <= SHORT:
        return _by_steps(a, b)
    odd = a[0::2][: count // 2]  # the factors of the steps from 0 to 1, from 2 to 3 ...
    even = a[1::2]  # from 1 to 2 ...
    pairs = count // 2
    # s[2k + 1] from s[2k - 1]
    factors = odd[1:] * even[: pairs - 1]
    s = np.empty(b.shape, np.result_type(a, b))
    s[1::2] = _by_pairs(factors, odd * b[0 : 2 * pairs : 2] + b[1::2])
    s[0] = b[0]
    s[2::2] = even * s[1 : count - 1 : 2] + b[2::2]
    return s


def _by_steps(a: Value, b: Value) -> Value:
    s = np.empty(b.shape, np.result_type(a, b))
    s[0] = last = b[0]
    for k in range(1, len(b)):
        s[k] = last = a[k - 1] * last + b[k]
    return s


def _by_careful_steps(a: Value, b: Value, selects: bool) -> Value:
    s = np.empty(b.shape, np.result_type(a, b))
    s[0] = last = b[0]
    absorbing = are_absorbing()
    reaches = (last != 0) | (not absorbing)
    for k in range(1, len(b)):
        if selects:
            reaches = reaches & (a[k - 1] != 0)
        s[k] = last = np.where(reaches, a[k - 1] * last, 0) + b[k]
        reaches = reaches | (b[k] != 0) | (not absorbing)
    return s


def recurrence(a: Value, b: Value, selects: bool = False) -> Value:
    """`solve`, differentiable in both."""
    return RECURRENCE.apply_bound([a, b], {"selects": True} if selects else {})


def backward(a: Value, g: Cotangent, selects: bool = False) -> Cotangent:
    """`t[k] = g[k] + a[k] * t[k + 1]`: the recurrence from the back."""
    return recurrence(a[::-1], g[::-1], selects)[::-1]


def _by_factors(g: Cotangent, out: Value, a: Value, _b: Value, selects: bool = False) -> Cotangent:
    return backward(a, g, selects)[1:] * out[:-1]


def _by_terms(g: Cotangent, _out: Value, a: Value, _b: Value, selects: bool = False) -> Cotangent:
    return backward(a, g, selects)


def _recurrence_jvp(
    dots: Sequence[Tangent], out: Value, a: Value, b: Value, selects: bool = False
) -> Tangent:
    a_dot, b_dot = dots
    terms = b_dot
    if a_dot is not None:
        moved = a_dot * out[:-1]
        moved = np.concatenate([np.zeros_like(untraced(out[:1]), dtype=moved.dtype), moved])
        terms = moved if b_dot is None else moved + b_dot
    return recurrence(a, terms, selects)


def _recurrence_of_examples(a: Value, b: Value, selects: bool = False) -> Value:
    return np.moveaxis(recurrence(np.moveaxis(a, 0, 1), np.moveaxis(b, 0, 1), selects), 1, 0)


RECURRENCE = general(
    solve,
    vjp=[_by_factors, _by_terms],
    jvp=_recurrence_jvp,
    name="recurrence",
    batch=_recurrence_of_examples,
)

# --- running values


def has_partials(ufunc: np.ufunc) -> bool:
    """Whether the rule of a ufunc tells the derivatives of one step from its operands."""
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
        return False
    return partials_of(ufunc) is not None


def step_partials(ufunc: np.ufunc, out: Value, before: Value, x: Value) -> tuple[Value, Value]:
    """The partials of `out = ufunc(before, x)`, as arrays of its shape."""
    partials = partials_of(ufunc)
    if not partials:  # a constant function
        zeros = np.zeros_like(untraced(out))
        return zeros, zeros
    first, second = (partial(out, before, x) for partial in partials)
    return _as_array(first, out), _as_array(second, out)


def _as_array(partial: Value, out: Value) -> Value:
    return partial if hasattr(partial, "shape") else np.full_like(untraced(out), partial)


def _accumulate(x: Value, ufunc: Any = np.add, axis: int = 0) -> Value:
    return ufunc.accumulate(x, axis)


def _accumulate_vjp(
    g: Cotangent, out: Value, x: Value, ufunc: Any = np.add, axis: int = 0
) -> Cotangent:
    if x.shape[axis] < 2:
        return g
    if axis or x.ndim > 1:
        g, out, x = (np.moveaxis(part, axis, 0) for part in (g, out, x))
    a, b = step_partials(ufunc, out[1:], out[:-1], x[1:])
    x_bar = _by_owners(g, a, b)
    if x_bar is None:
        selects, times = _product_of(ufunc)
        t = backward(a, g, selects)
        x_bar = np.concatenate([t[:1], times(t[1:], b)])
    return np.moveaxis(x_bar, 0, axis)


def _product_of(ufunc: Any) -> tuple[bool, Any]:
    """Whether zeros of the partials of a ufunc select an operand, and the product with them."""
    selects = is_selection(ufunc)
    return selects, selecting_product if selects else resolved_product


def _by_owners(g: Cotangent, a: Value, b: Value) -> Cotangent | None:
    """The cotangent where each step takes one operand alone, as extrema do that have no ties.

    Then an element has the sum of the cotangents from where it is taken to where the next one is.
    """
    if not all(type(part) is np.ndarray and part.ndim == 1 for part in (g, a, b)):
        return None
    taken = b == 1
    if np.count_nonzero(taken) + np.count_nonzero(b == 0) < len(b) or ((a == 1) == taken).any():
        return None
    if np.count_nonzero(a == 0) != np.count_nonzero(taken):
        return None
    starts = np.concatenate([[0], np.flatnonzero(taken) + 1])
    x_bar = np.zeros(g.shape, g.dtype)
    x_bar[starts] = np.add.reduceat(g, starts)
    return x_bar


def _accumulate_jvp(
    dots: Sequence[Tangent], out: Value, x: Value, ufunc: Any = np.add, axis: int = 0
) -> Tangent:
    if x.shape[axis] < 2:
        return dots[0]
    dot, out, x = (np.moveaxis(part, axis, 0) for part in (dots[0], out, x))
    a, b = step_partials(ufunc, out[1:], out[:-1], x[1:])
    selects, times = _product_of(ufunc)
    terms = np.concatenate([dot[:1], times(dot[1:], b)])
    return np.moveaxis(recurrence(a, terms, selects), 0, axis)


ACCUMULATE = general(
    _accumulate,
    vjp=[_accumulate_vjp],
    jvp=_accumulate_jvp,
    name="np.ufunc.accumulate",
    batch="axis",
)


def accumulate(ufunc: np.ufunc, x: Value, axis: int = 0) -> Value:
    """`ufunc.accumulate(x, axis)` of a ufunc that `has_partials`."""
    return ACCUMULATE.apply_bound([x], {"ufunc": ufunc, "axis": axis % x.ndim})


__all__ = ["ACCUMULATE", "RECURRENCE", "accumulate", "has_partials", "recurrence", "step_partials"]

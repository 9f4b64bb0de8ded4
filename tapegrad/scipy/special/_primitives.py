"""Families of special functions that SciPy lacks: each member's derivative is the next member.

Knows how a function of plain arrays becomes an elementwise primitive that computes in double
precision and answers in its arguments' dtype, and integrals over a half-line. Must not know single
functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.forms import elementwise
from tapegrad._core.quiet import silence
from tapegrad._core.types import Function, Value
from tapegrad._core.values import any_true, in_trace, untraced
from tapegrad._transforms.primitives import primitive

PIECE = 1024  # elements whose integrands are computed together


def in_double(function: Function, name: str) -> primitive:
    """A primitive of an elementwise function of double or complex arrays of one shape."""

    def call(*args: Value) -> Value:
        dtype = np.result_type(*args, 0.0 if _all_whole(args) else args[0])
        wide = np.complex128 if dtype.kind == "c" else np.float64
        arrays = np.broadcast_arrays(*[np.asarray(x, _kind(x, wide)) for x in args])
        with silence():
            return np.asarray(function(*arrays)).astype(dtype)[()]

    call.__name__ = call.__qualname__ = name
    return primitive(call)


def widened(partial: Function) -> Function:
    """The partial of an elementwise function, of single precision computed in double."""

    def wide(out: Value, *args: Value) -> Value:
        dtype = getattr(out, "dtype", None)
        if dtype is None or dtype.char not in "efF":
            return partial(out, *args)
        one = np.float64(1.0)  # which unlike 1.0 makes double of single
        found = partial(out * one, *[x * one for x in args])
        return found.astype(dtype) if hasattr(found, "astype") else found

    return wide


def _all_whole(args: tuple[Value, ...]) -> bool:
    return all(np.asarray(x).dtype.kind in "iub" for x in args)


def _kind(x: Value, wide: Any) -> Any:
    return wide if np.asarray(x).dtype.kind == "c" else np.float64


def family(make: Callable[..., tuple[Function, tuple[Any, ...]]]) -> Callable[..., primitive]:
    """Decorates a function of orders that gives a member's values and its partials.

    Members are made when they are asked for. Partials ask for members of higher orders, so that
    there are derivatives of every order.
    """

    @functools.cache
    def member(*orders: Any) -> primitive:
        values, partials = make(*orders)
        name = f"{make.__name__.lstrip('_')}{list(orders)}"
        made = in_double(values, name)
        elementwise(made, *partials, strong=True)
        return made

    functools.update_wrapper(member, make)
    return member


# --- Integrals over a half-line: H. Takahasi, M. Mori, Double exponential formulas for numerical
# integration, Publ. RIMS 9 (1974) 721-741. The substitution is theirs for integrands that decay
# exponentially: v = exp(t - exp(-t)).

_STEP = 0.05
_T = np.arange(-3.75, 4.25, _STEP)
NODES = np.exp(_T - np.exp(-_T))
WEIGHTS = NODES * (1 + np.exp(-_T)) * _STEP


def integral(integrand: Function, scale: Value, *args: Value) -> Value:
    """The integral of `integrand(u, *args)` over u from 0 to infinity, element by element.

    scale: of an element, the length on which its integrand falls to about 1/e. The integrand gets
    an axis of nodes in front.
    """
    flat = [np.ravel(x) for x in np.broadcast_arrays(scale, *args)]
    result = np.empty(flat[0].shape)
    for start in range(0, result.size, PIECE):
        part, *rest = (x[start : start + PIECE] for x in flat)
        found = integrand(NODES[:, None] * part, *rest)
        result[start : start + PIECE] = (WEIGHTS @ np.where(np.isfinite(found), found, 0)) * part
    return result.reshape(np.shape(scale))


def bell(cumulants: Function, *orders: int) -> Any:
    """The derivative of exp(h), divided by exp(h): a polynomial in the derivatives of h.

    cumulants: a function of one order, or two, that gives that derivative of h. The complete Bell
    polynomials, by their recurrence.
    """
    from math import comb

    place = next((i for i, order in enumerate(orders) if order), None)
    if place is None:
        return 1.0
    rest = list(orders)
    rest[place] -= 1
    total: Any = 0.0
    for lower in np.ndindex(*[order + 1 for order in rest]):
        raised = list(lower)
        raised[place] += 1
        count = 1
        for whole, part in zip(rest, lower, strict=True):
            count *= comb(whole, part)
        others = [whole - part for whole, part in zip(rest, lower, strict=True)]
        total = total + count * cumulants(*raised) * bell(cumulants, *others)
    return total


def _itself(slope: Value, _x: Value) -> Any:
    return slope + 0.0


_UNBOUNDED = elementwise(
    _itself,
    lambda _out, _slope, _x: 1.0,
    lambda out, _slope, _x: np.where(np.isinf(untraced(out)), np.nan, 0.0),
    name="an infinite slope",
)


def unbounded(slope: Value, x: Value) -> Value:
    """A slope by x: where it is infinite, its own is NaN, and not the 0 of what chose it."""
    if any_true(np.isinf(untraced(slope))) and in_trace(x):
        return _UNBOUNDED.apply_bound([slope, x], {})
    return slope


__all__ = ["NODES", "WEIGHTS", "bell", "family", "in_double", "integral", "unbounded", "widened"]

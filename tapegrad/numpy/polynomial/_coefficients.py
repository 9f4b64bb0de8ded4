"""Coefficients of series: how they are read, cut and mapped, for traced ones too.

Zeros at the end of a series are cut off results, as NumPy does, but never off arguments: a
derivative by such a coefficient is one like any other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.polynomial import polyutils
from numpy.polynomial._polybase import ABCPolyBase

from tapegrad._arrays.conversion import array, asarray
from tapegrad._core.rule import Rule
from tapegrad._core.types import Function, Value
from tapegrad._core.values import holds_in_trace, untraced
from tapegrad._errors import NotDifferentiableError


def differentiable(function: Function, definition: Function) -> Function:
    """NumPy's function for plain arguments, the definition for those with traced parts."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(map(_needs_definition, (*args, *kwargs.values()))):
            return definition(*args, **kwargs)
        return function(*args, **kwargs)

    call.__module__ = f"tapegrad.{function.__module__}"
    return call


def primitive(
    function: Callable[[Value], Value], rule_of: Callable[[Callable[[Value], Value]], Rule]
) -> Callable[[Value], Value]:
    """NumPy's function of plain coefficients, which follows a rule for traced ones."""

    def call(c: Value) -> Any:
        return rule.apply_bound([c], {}) if holds_in_trace(c) else function(c)

    rule = rule_of(call)
    return call


def _needs_definition(value: Value) -> bool:
    return holds_in_trace(value) or isinstance(value, ABCPolyBase)


def coefficients(c: Value) -> Value:
    """One series as a one-dimensional floating array, nothing cut off."""
    c = floating(array(c, ndmin=1, copy=None))
    if c.size == 0:
        raise ValueError("Coefficient array is empty")
    if c.ndim != 1:
        raise ValueError("Coefficient array is not 1-d")
    return c


def floating(c: Value) -> Value:
    return c if c.dtype.kind in "fc" else c + 0.0


def trimmed(c: Value) -> Value:
    """A series without the zeros at its end; at least one coefficient stays."""
    return c[: len(polyutils.trimseq(untraced(c)))]


def extended(c: Value, size: int) -> Value:
    missing = size - len(c)
    return np.concatenate([c, np.zeros(missing, c.dtype)]) if missing else c


def whole(number: Value, what: str) -> int:
    """An integer parameter. A traced one is refused, because it has no derivative."""
    if holds_in_trace(number):
        raise NotDifferentiableError(f"{what} is a whole number: pass stop_gradient of it.")
    whole = int(number)
    if whole != number:
        raise TypeError(f"{what} must be an integer, received {number}")
    return whole


# --- polyutils ----------------------------------------------------------------------------------


def trim(c: Value, tol: Value = 0) -> Value:
    """A series without the coefficients up to a tolerance at its end."""
    c = coefficients(c)
    kept = polyutils.trimcoef(untraced(c), untraced(tol))
    all_small = not np.any(np.abs(untraced(c)) > untraced(tol))
    return c[:1] * 0 if all_small else c[: len(kept)]


def as_series(alist: Sequence[Value], trim: bool = True) -> list[Value]:
    """Several series, of one dtype."""
    made = [coefficients(c) for c in alist]
    dtype = np.result_type(*(c.dtype for c in made))
    return [(trimmed(c) if trim else c).astype(dtype) for c in made]


def mapparms(old: Value, new: Value) -> tuple[Value, Value]:
    """Offset and scale of the line between two domains."""
    return polyutils.mapparms(asarray(old), asarray(new))


def mapdomain(x: Value, old: Value, new: Value) -> Value:
    """Points mapped by the line between two domains."""
    offset, scale = mapparms(old, new)
    return offset + scale * (x if isinstance(x, ABCPolyBase) else asarray(x))


def getdomain(x: Value) -> Value:
    """The interval, or rectangle, that holds the points."""
    x = coefficients(x)
    if x.dtype.kind == "c":
        return np.stack([end(x.real) + 1j * end(x.imag) for end in (np.min, np.max)])
    return np.stack([np.min(x), np.max(x)])

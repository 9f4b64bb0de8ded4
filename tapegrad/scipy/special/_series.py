"""Hypergeometric series, with all their derivatives by parameters and argument, term by term.

Knows Gauss's ratio of two terms (DLMF 16.2.1) and what rounding leaves of a sum. Must not know
which functions need them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.types import Value

MOST = 1500  # terms
_WIDE = np.finfo(np.longdouble)


def series(
    upper: list[Value], lower: list[Value], z: Value, orders: tuple[int, ...], by_z: int
) -> tuple[Value, Value]:
    """A derivative of the sum, and a bound of its rounding, infinite where it has not converged.

    orders: how often by each upper, then each lower parameter
    by_z: how often by z

    A term is a power series in the changes of the parameters, cut off after the orders. A factor
    a + k of the next term multiplies it by a + k + change, which takes two products; a bound of
    the rounding goes along, by the same steps of absolute values.
    """
    params = [x.astype(np.longdouble) for x in (*upper, *lower)]
    z = z.astype(np.clongdouble if z.dtype.kind == "c" else np.longdouble)
    term = np.zeros((2, *[order + 1 for order in orders], z.size), z.dtype)
    first: Any = (slice(None), *[0] * len(orders))
    wanted: Any = (slice(None), *orders)
    term[first] = 1
    signs = [1] * len(upper) + [-1] * len(lower)
    for k in range(by_z):
        term = _next(term, params, signs, k)
    total = np.zeros((2, z.size), z.dtype)
    converged = np.zeros(z.shape, bool)
    size = np.abs(z)
    for k in range(MOST):
        last = term[wanted]
        if np.any(bad := ~np.isfinite(last).all(axis=0)):
            last, term = np.where(bad, np.inf, last), np.where(bad, 0, term)
        total += last
        converged = _is_last(last, total, params, signs, size, k + by_z)
        if converged.all():
            break
        term = _next(term, params, signs, k + by_z)
        term[0] *= z / (k + 1)
        term[1] *= size / (k + 1)
    factor = math.prod(math.factorial(order) for order in orders)
    error = np.where(converged, 4 * _WIDE.eps * (k + 4) * total[1].real, np.inf)
    return factor * total[0], factor * error


def _next(term: Value, params: list[Value], signs: list[int], k: int) -> Value:
    """The next term, but for the power of z, and below it the next bound."""
    for axis, (param, sign) in enumerate(zip(params, signs, strict=True)):
        factor = param + k
        term = np.moveaxis(term, axis + 1, 0)
        ones = [1] * (term.ndim - 3)
        both = np.stack([factor, np.abs(factor)]).reshape(2, *ones, factor.size)
        if sign > 0:
            found = term * both
            found[1:] += term[:-1]
        else:
            found = term / both
            for order in range(1, len(found)):
                found[order, 0] -= found[order - 1, 0] / factor
                found[order, 1] += found[order - 1, 1] / both[1]
        term = np.moveaxis(found, 0, axis + 1)
    return term


def _is_last(
    last: Value, total: Value, params: list[Value], signs: list[int], size: Value, k: int
) -> Value:
    """Whether all terms from here on are small."""
    ratio = size / (k + 1)
    rising = np.ones(size.shape, bool)
    for param, sign in zip(params, signs, strict=True):
        factor = param + k
        if sign > 0:
            ratio = ratio * np.maximum(np.abs(factor), k + 1)
        else:
            rising &= factor > 0.5
            ratio = ratio / np.where(factor > 0.5, factor, 1)
    rest = last[1].real / np.maximum(1 - ratio, 0.05)
    small = rest <= 0.01 * _WIDE.eps * np.maximum(np.abs(total[0]), total[1].real)
    return rising & (ratio < 0.95) & small & (k > 1)


__all__ = ["MOST", "series"]

"""The distributions of Kolmogorov and Smirnov, their densities and inverses.

Must not know the other distributions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Function, Value
from tapegrad._core.values import untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._primitives import family, in_double

_UFUNCS = sp
_TERMS = 8
_MOST = (2**31, 1e4)  # points: SciPy's integers, and what a sum of that many terms bears


def _limit_slope(x: Value) -> Value:
    """The derivative of the survival function: by its series, and Jacobi's transform of that.

    W. Feller, On the Kolmogorov-Smirnov limit theorems, Ann. Math. Stat. 19 (1948).
    """
    values = untraced(x)
    small, inner = values < 0.82, values > 0.02
    low, high = np.where(small & inner, x, 0.5), np.where(small | (values > 40), 40.0, x)
    below: Any = 0.0
    above: Any = 0.0
    for k in range(1, _TERMS):
        c = ((2 * k - 1) * np.pi) ** 2 / 8
        below = below + (2 * c / low**2 - 1) * np.exp(-c / low**2)
        above = above + (-1) ** k * k * k * np.exp(-2.0 * k * k * high**2)
    below = -math.sqrt(2 * math.pi) / low**2 * below
    return np.where(small, np.where(inner, below, 0.0), 8 * high * above)


def _steepness(slope: Value) -> Value:
    """That of an inverse whose function falls: infinite where the slope is a zero of any sign."""
    return 1 / np.abs(slope)


elementwise(sp.kolmogorov, lambda _out, x: _limit_slope(x), strong=True)


@family
def smirnov_derivative(r: int) -> tuple[Function, tuple[Any, ...]]:
    """The r-th derivative by d of the survival function of n points, for whole n.

    That of each term of the sum by Smirnov, Ann. Math. Stat. 19 (1948); of order 1 it is SciPy's.
    """
    if r > 3:
        raise NotDifferentiableError(
            "scipy.special.smirnov: derivatives by d are known up to the third order."
        )

    def values(n: Value, d: Value) -> Value:
        n = np.where((n >= 1) & (n < _MOST[r > 1]), np.trunc(n), 0.0)
        if r == 1 and hasattr(_UFUNCS, "_smirnovp"):
            return np.where(n < 1, np.nan, _UFUNCS._smirnovp(n, d))
        inner = (n >= 1) & (d > 0) & (d < 1)
        count, at = np.where(inner, n, 1.0), np.where(inner, d, 0.5)
        return np.where(inner, _smirnov_sum(r, count, at), np.where(n < 1, np.nan, d * 0))

    return values, (0, lambda _out, n, d: smirnov_derivative(r + 1)(n, d))


def _smirnov_sum(r: int, n: Value, d: Value) -> Value:
    """Terms d C(n, j) (d + j / n)**(j - 1) (1 - d - j / n)**(n - j), in extended precision."""
    wide_n, wide_d = n.astype(np.longdouble), d.astype(np.longdouble)
    total = np.zeros_like(wide_d)
    choose = np.ones_like(wide_d)
    for j in range(int(np.max(n, initial=0)) + 1):
        left, right = wide_d + j / wide_n, 1 - wide_d - j / wide_n
        counted = right > 0
        safe = np.where(counted, right, 1)
        powers = _falling(left, j - 1, r), _falling(safe, wide_n - j, r, -1)
        change = _leibniz(powers, r) * wide_d + (r * _leibniz(powers, r - 1) if r else 0)
        total = total + np.where(counted, choose * change, 0)
        choose = choose * (wide_n - j) / (j + 1)
    return total


def _falling(x: Value, power: Value, count: int, sign: int = 1) -> list[Any]:
    """The derivatives of x**power, of an x that changes with d by its sign."""
    factor: Any = 1.0
    found = []
    for k in range(count + 1):
        found.append(factor * x ** (power - k))
        factor = factor * sign * (power - k)
    return found


def _leibniz(powers: tuple[list[Any], list[Any]], r: int) -> Any:
    first, second = powers
    return sum(math.comb(r, k) * first[k] * second[r - k] for k in range(r + 1))


elementwise(sp.smirnov, 0, lambda _out, n, d: smirnov_derivative(1)(n, d), strong=True)
elementwise(
    sp.smirnovi, 0, lambda out, n, _p: -_steepness(smirnov_derivative(1)(n, out)), strong=True
)
for _name, _of_points in {
    "_smirnovc": lambda _out, n, d: -smirnov_derivative(1)(n, d),
    "_smirnovci": lambda out, n, _p: _steepness(smirnov_derivative(1)(n, out)),
    "_smirnovp": lambda _out, n, d: smirnov_derivative(2)(n, d),
}.items():
    if hasattr(_UFUNCS, _name):
        elementwise(getattr(_UFUNCS, _name), 0, _of_points, strong=True)


def _limit_bend(x: Value) -> Value:
    """The second derivative, by the terms of the first."""
    values = untraced(x)
    small, inner = values < 0.82, values > 0.02
    low, high = np.where(small & inner, x, 0.5), np.where(small | (values > 40), 40.0, x)
    below: Any = 0.0
    above: Any = 0.0
    for k in range(1, _TERMS):
        c = ((2 * k - 1) * np.pi) ** 2 / 8
        u = c / low**2
        below = below + (4 * u * u - 10 * u + 2) * np.exp(-u)
        above = above + (-1) ** k * k * k * (1 - 4.0 * k * k * high**2) * np.exp(
            -2.0 * k * k * high**2
        )
    below = -math.sqrt(2 * math.pi) / low**3 * below
    return np.where(small, np.where(inner, below, 0.0), 8 * above)


_inverse_slope = in_double(lambda x: -_steepness(_limit_slope(x)), "kolmogi_slope")
elementwise(_inverse_slope, lambda _out, x: -_limit_bend(x) / _limit_slope(x) ** 2, strong=True)
elementwise(sp.kolmogi, lambda out, _p: _inverse_slope(out), strong=True)
for _name, _partial in {
    "_kolmogc": lambda _out, x: -_limit_slope(x),
    "_kolmogci": lambda out, _p: -_inverse_slope(out),
    "_kolmogp": lambda _out, x: _limit_bend(x),
}.items():
    if hasattr(_UFUNCS, _name):
        elementwise(getattr(_UFUNCS, _name), _partial, strong=True)

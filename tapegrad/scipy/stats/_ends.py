"""Derivatives of a law's methods at a finite end of its support: one-sided ones.

At an end where a density is zero the logarithm that formulas differentiate is infinite.
`DENSITIES` has these densities as powers, which have derivatives there. Densities that vanish
faster than any power are not here: their derivatives at the end are zero. A distribution function
is known at an end, 0 or 1, and changes by the area between the end and the point.

Must not know the objects of `scipy.stats`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import elementwise, jvp, primitive, stop_gradient
from tapegrad.scipy import _special as sp
from tapegrad.scipy.stats._integrals import ncf_rest, ncx2_rest
from tapegrad.scipy.stats._laws import slope
from tapegrad.scipy.stats._quadrature import LOG_1_X, LOG_X, UNIT_WEIGHTS, column
from tapegrad.scipy.stats._shared import LOG_2, LOG_PI, ROOT_2PI, log_sum

Formula = Callable[..., Any]


def area_at(end: Formula, density: Formula, count: int) -> Any:
    """The area between an end of the support and y, where y is that end.

    It is a function of `(y, fails, inner, *shapes)`, as the density is: where its formula fails,
    and points inside, are constants. end: of the shapes. The value is 0; derivatives are exact up
    to the second order.
    """

    @primitive
    def area(y: Any, fails: Any, inner: Any, *shapes: Any) -> Any:
        return np.zeros(np.broadcast_shapes(*map(np.shape, (y, fails, inner, *shapes))))

    def by_shape(at: int) -> Formula:
        of_density = slope(density, at + 3)

        def partial(_out: Any, y: Any, fails: Any, inner: Any, *shapes: Any) -> Any:
            place = end(*shapes) + 0 * y
            change = of_density(place, fails, inner, *shapes)
            change = np.where(np.isfinite(change), change, 0.0)
            moves = _moves(end, at, shapes)
            still = stop_gradient(moves) == 0  # also where the density is infinite
            height = density(np.where(still, y, place), fails, inner, *shapes)
            return (y - place) * change - np.where(still, 0.0, height) * moves

        return partial

    by_shapes = [by_shape(at) for at in range(count)]
    elementwise(area, lambda _out, *args: density(*args), 0, 0, *by_shapes)
    return area


def inward(end: Formula, which: int, count: int) -> Any:
    """Points at the lower end of a support (0), or the upper one (1): they move inwards alone.

    It is a function of y, y - end as a constant, and `count` shapes that move the end. Where the
    point leaves the support, limits know nothing.
    """

    @primitive
    def point(y: Any, gap: Any, *shapes: Any) -> Any:
        return y + np.zeros(np.broadcast_shapes(*map(np.shape, (gap, *shapes))))

    def but_outside(slope: float) -> Formula:
        def partial(_out: Any, y: Any, gap: Any, *shapes: Any) -> Any:
            change = y - end(*shapes) - gap
            return np.where(change > 0 if which else change < 0, np.nan, slope)

        return partial

    still = [but_outside(0.0)] * count
    selects = False, False, *[True] * count
    elementwise(point, but_outside(1.0), 0, *still, selects=selects)
    return point


def vanishing(count: int) -> Any:
    """A function that falls to zero at a point faster than any power, of all its arguments.

    Its slopes are zeros that are no structural ones: its logarithm has none. That they are zero
    nearby too is not known, so that they are asked from numbers alone, and give no series.
    """

    @primitive
    def zero(*args: Any) -> Any:
        return np.zeros(np.broadcast_shapes(*map(np.shape, args)))

    elementwise(zero, *[lambda _out, *args: _zero_but(np.isnan, sum(args))] * count)
    return zero


def _zero_but(bad: Callable[[Any], Any], x: Any) -> Any:
    return np.where(bad(x), np.nan, 0.0)


def _at_infinity(bad: Callable[[Any], Any]) -> Any:
    """A limit at infinity: of x, with NaN for a slope where nothing is known."""

    @primitive
    def still(x: Any) -> Any:
        return np.zeros(np.shape(x))

    elementwise(still, lambda _out, x: _zero_but(bad, x))
    return still


AT_INFINITY: dict[str, Any] = {
    **dict.fromkeys(("pdf", "cdf", "sf"), _at_infinity(np.isnan)),
    "logpdf": _at_infinity(np.isinf),
    "logcdf": _at_infinity(np.isneginf),
    "logsf": _at_infinity(np.isposinf),
}


def _moves(end: Formula, at: int, shapes: tuple[Any, ...]) -> Any:
    """How an end moves with a shape."""

    def moved(value: Any) -> Any:
        return end(*shapes[:at], value, *shapes[at + 1 :]) + 0 * value

    return jvp(moved, (shapes[at],), (np.ones(np.shape(shapes[at])),))[1]


_ZERO = vanishing(1)

# --- Densities that vanish as a power -----------------------------------------------------------


def _beta(y: Any, a: Any, b: Any) -> Any:
    return y ** (a - 1) * (1 - y) ** (b - 1) * np.exp(-sp.betaln(a, b))


def _argus(y: Any, chi: Any) -> Any:
    height = 3 * np.log(chi) - np.log(ROOT_2PI) - np.log(sp.gammainc(1.5, chi * chi / 2) / 2)
    rest = (1 - y) * (1 + y)
    return y * np.sqrt(rest) * np.exp(height - chi * chi * rest / 2)


def _exponweib(y: Any, a: Any, c: Any) -> Any:
    power = y**c
    return a * c * y ** (c * a - 1) * sp.exprel(-power) ** (a - 1) * np.exp(-power)


def _f(y: Any, m: Any, n: Any) -> Any:
    rest = n / 2 * np.log(n) + m / 2 * np.log(m) - (m + n) / 2 * np.log(n + m * y)
    return y ** (m / 2 - 1) * np.exp(rest - sp.betaln(m / 2, n / 2))


def _gamma(y: Any, a: Any) -> Any:
    return y ** (a - 1) * np.exp(-y - sp.gammaln(a))


def _gausshyper(y: Any, a: Any, b: Any, c: Any, z: Any) -> Any:
    p, q, r, s = column(a, b, c, z)
    nodes = (p - 1) * LOG_X + (q - 1) * LOG_1_X - r * np.log1p(s * np.exp(LOG_X))
    norm = log_sum(nodes + np.log(UNIT_WEIGHTS))
    return y ** (a - 1) * (1 - y) ** (b - 1) * np.exp(-c * np.log1p(z * y) - norm)


def _genhalflogistic(y: Any, c: Any) -> Any:
    base = 1 - c * y
    return 2 * base ** (1 / c - 1) / (1 + base ** (1 / c)) ** 2


def _genpareto(y: Any, c: Any) -> Any:
    c = np.where(c < 0, c, -1.0)  # else the density vanishes at no finite end
    return (1 + c * y) ** (-1 / c - 1)


def _nakagami(y: Any, nu: Any) -> Any:
    height = LOG_2 + nu * np.log(nu) - sp.gammaln(nu)
    return y ** (2 * nu - 1) * np.exp(height - nu * y * y)


def _trapezoid(y: Any, c: Any, d: Any) -> Any:
    rises, falls = (y < c) | (c == 1), (y > d) | (d == 0)
    up = np.where(rises, y / np.where(rises, c, 1.0), 1.0)
    return 2 / (d - c + 1) * up * np.where(falls, (1 - y) / np.where(falls, 1 - d, 1.0), 1.0)


def _truncweibull(y: Any, c: Any, a: Any, b: Any) -> Any:
    return c * y ** (c - 1) * np.exp(-(y**c)) / (np.exp(-(a**c)) - np.exp(-(b**c)))


def _dpareto_lognorm(y: Any, u: Any, s: Any, a: Any, b: Any) -> Any:
    """The lower tail, to which the normal part adds less than any power."""
    return a * b / (a + b) * y ** (b - 1) * np.exp(-b * u + b * b * s * s / 2)


def _gengamma(y: Any, a: Any, c: Any) -> Any:
    rises = c > 0  # else it vanishes faster than any power
    power = np.where(rises, c, 1.0)
    found = power * y ** (power * a - 1) * np.exp(-(y**power) - sp.gammaln(a))
    return np.where(rises, found, _ZERO(y))


@primitive
def _tukey(y: Any, lam: Any) -> Any:
    """The value alone: slopes need the distribution function, which is SciPy's. They are NaN."""
    return np.where(lam > 1, 1.0, np.where(lam == 1, 0.5, 0.0)) + 0 * y


elementwise(_tukey, *[lambda _out, y, lam: np.nan * (y + lam)] * 2)


DENSITIES: dict[str, Formula] = {
    "arcsine": lambda y: y**-0.5 * (1 - y) ** -0.5 / np.pi,
    "argus": _argus,
    "beta": _beta,
    "betaprime": lambda y, a, b: y ** (a - 1) * np.exp(-(a + b) * np.log1p(y) - sp.betaln(a, b)),
    "burr": lambda y, c, d: c * d * y ** (c * d - 1) * np.exp(-(d + 1) * np.log1p(y**c)),
    "burr12": lambda y, c, d: c * d * y ** (c - 1) * np.exp(-(d + 1) * np.log1p(y**c)),
    "chi": lambda y, df: (
        y ** (df - 1) * np.exp((1 - df / 2) * LOG_2 - sp.gammaln(df / 2) - y * y / 2)
    ),
    "chi2": lambda y, df: _gamma(y / 2, df / 2) / 2,
    "cosine": lambda y: np.sin((np.pi - np.abs(y)) / 2) ** 2 / np.pi,
    "dpareto_lognorm": _dpareto_lognorm,
    "erlang": _gamma,
    "exponpow": lambda y, b: b * y ** (b - 1) * np.exp(1 + y**b - np.exp(y**b)),
    "exponweib": _exponweib,
    "f": _f,
    "fisk": lambda y, c: c * y ** (c - 1) * np.exp(-2 * np.log1p(y**c)),
    "gamma": _gamma,
    "gausshyper": _gausshyper,
    "gengamma": _gengamma,
    "genhalflogistic": _genhalflogistic,
    "genpareto": _genpareto,
    "loglaplace": lambda y, c: c / 2 * y ** (c - 1),
    "maxwell": lambda y: y * y * np.exp((LOG_2 - LOG_PI) / 2 - y * y / 2),
    "mielke": lambda y, k, s: k * y ** (k - 1) * np.exp(-(1 + k / s) * np.log1p(y**s)),
    "nakagami": _nakagami,
    "ncf": lambda y, m, n, nc: y ** (m / 2 - 1) * np.exp(ncf_rest(y, m, n, nc)),
    "ncx2": lambda y, df, nc: y ** (df / 2 - 1) * np.exp(ncx2_rest(y, df, nc)),
    "powerlaw": lambda y, a: a * y ** (a - 1),
    "rayleigh": lambda y: y * np.exp(-y * y / 2),
    "rdist": lambda y, c: _beta((y + 1) / 2, c / 2, c / 2) / 2,
    "rice": lambda y, b: y * np.exp(-((y - b) ** 2) / 2) * sp.i0e(y * b),
    "semicircular": lambda y: 2 / np.pi * np.sqrt(1 - y) * np.sqrt(1 + y),
    "trapezoid": _trapezoid,
    "triang": lambda y, c: _trapezoid(y, c, c),
    "truncweibull_min": _truncweibull,
    "tukeylambda": _tukey,
    "weibull_max": lambda y, c: c * (0 - y) ** (c - 1) * np.exp(-((0 - y) ** c)),
    "weibull_min": lambda y, c: c * y ** (c - 1) * np.exp(-(y**c)),
}

# Laws whose density has several powers at its ends, by the signs of shapes: refused there.
NOT_AT_ENDS = frozenset(("kappa4",))

__all__ = ["AT_INFINITY", "DENSITIES", "NOT_AT_ENDS", "area_at", "inward", "vanishing"]

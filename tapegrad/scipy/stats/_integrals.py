"""Laws whose distribution function has no closed form: its slopes are integrals.

Densities that SciPy takes from special functions without derivatives by their orders are sums, or
integrals, here. Noncentral laws: Johnson, Kotz and Balakrishnan, Continuous Univariate
Distributions 2, chapters 29 to 31.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats

from tapegrad import elementwise, primitive, stop_gradient
from tapegrad.scipy import _special as sp
from tapegrad.scipy.stats._laws import Density, plain, slope
from tapegrad.scipy.stats._quadrature import (
    ARCSINH,
    LINE,
    LOG,
    LOG_1_X,
    LOG_X,
    LOGIT,
    UNIT_WEIGHTS,
    Coordinate,
    column,
    tails,
)
from tapegrad.scipy.stats._shared import LOG_2, LOG_2PI, LOG_PI, log_i0e, log_sum


def _terms(peak: Any, spread: Any) -> Any:
    """The numbers of the terms about the largest of a series, along a last axis."""
    start = np.floor(np.maximum(peak - 9 * spread - 20, 0.0))
    wide = float(np.max(np.nan_to_num(plain(spread)), initial=0.0))
    return np.expand_dims(start, -1) + np.arange(int(min(18 * wide, _MOST)) + 80.0)


_MOST = 1500.0  # terms; only points that are far off, where no density is left, want more


def _by_terms(z: Any, log_series: Any, first: Any, ratio: Any) -> Any:
    """The log of a power series in z >= 0; at z = 0, where log(z) is infinite, by its first terms.

    first: the log of the term at 0; ratio: of j, that of the coefficients j + 1 and j.
    """
    origin = stop_gradient(z) == 0
    found = log_series(np.where(origin, 1.0, z))
    if not np.any(plain(origin)):
        return found
    near = np.where(origin, z, 0.0)
    rest: Any = 1.0
    for j in range(_FIRST, 0, -1):
        rest = 1 + near * ratio(j) * rest
    return np.where(origin, first + np.log1p(near * ratio(0) * rest), found)


_FIRST = 6  # terms, as many as derivatives at 0 are exact


def _log_hyp0f1(b: Any, z: Any) -> Any:
    """The log of 0F1(b; z) / gamma(b), of z >= 0 (DLMF 16.2.1)."""

    def log_series(z: Any) -> Any:
        at, of = stop_gradient(z), stop_gradient(b)
        peak = 2 * at / (of + np.sqrt(of * of + 4 * at))
        j = _terms(peak, np.sqrt((peak + 1) / 2))
        below, power = column(b, z)
        return log_sum(sp.xlogy(j, power) - sp.gammaln(j + 1) - sp.gammaln(below + j))

    return _by_terms(z, log_series, -sp.gammaln(b), lambda j: 1 / ((j + 1) * (b + j)))


def _log_hyp1f1(a: Any, b: Any, z: Any) -> Any:
    """The log of 1F1(a; b; z), of a, b > 0 and z >= 0 (DLMF 13.2.2)."""

    def log_series(z: Any) -> Any:
        over, of, at = map(stop_gradient, (a, b, z))
        half = (at - of - 1) / 2
        peak = np.maximum(half + np.sqrt(np.maximum(half * half + over * at - of, 0.0)), 0.0)
        j = _terms(peak, np.sqrt(peak + 1))
        above, below, power = column(a, b, z)
        terms = sp.gammaln(above + j) - sp.gammaln(below + j) - sp.gammaln(j + 1)
        return sp.gammaln(b) - sp.gammaln(a) + log_sum(terms + sp.xlogy(j, power))

    return _by_terms(z, log_series, 0.0, lambda j: (a + j) / ((j + 1) * (b + j)))


def ncx2_rest(y: Any, df: Any, nc: Any) -> Any:
    """The log density but for that of y**(df / 2 - 1)."""
    half = df / 2
    return -half * LOG_2 - (y + nc) / 2 + _log_hyp0f1(half, nc * y / 4)


def _ncx2_logpdf(y: Any, df: Any, nc: Any) -> Any:
    return sp.xlogy(df / 2 - 1, y) + ncx2_rest(y, df, nc)


def ncf_rest(y: Any, dfn: Any, dfd: Any, nc: Any) -> Any:
    """The log density but for that of y**(dfn / 2 - 1)."""
    a, b = dfn / 2, dfd / 2
    whole = dfd + dfn * y
    series = _log_hyp1f1(a + b, a, nc / 2 * (dfn * y / whole))
    density = a * np.log(dfn) + b * np.log(dfd) - (a + b) * np.log(whole)
    return density - sp.betaln(a, b) - nc / 2 + series


def _ncf_logpdf(y: Any, dfn: Any, dfd: Any, nc: Any) -> Any:
    return sp.xlogy(dfn / 2 - 1, y) + ncf_rest(y, dfn, dfd, nc)


# About a peak, in standard deviations: further to the left, where an integrand over a logarithm
# falls like a power, of an exponent as small as 1.
_STEP = 0.25
_LEFT_AND_RIGHT = np.arange(-24.0, 9.0 + _STEP, _STEP)
_STEPS = 4 * np.sinh(_LEFT_AND_RIGHT / 4)
_STEP_WEIGHTS = _STEP * np.cosh(_LEFT_AND_RIGHT / 4)


def _nct_logpdf(y: Any, df: Any, nc: Any) -> Any:
    """By an integral over w > 0, in log w, about its peak."""
    radius = df + y * y
    s = nc * y / np.sqrt(radius)
    height = (df * np.log(df) - LOG_PI - (df - 1) * LOG_2) / 2 - sp.gammaln(df / 2)
    height = height - (df + 1) / 2 * np.log(radius) - df * nc * nc / (2 * radius)
    df, s = column(df, s)
    power, pull = stop_gradient(df) + 1, stop_gradient(s)
    root = np.sqrt(pull * pull + 4 * power)
    peak = np.where(pull > 0, (pull + root) / 2, 2 * power / (root - pull))
    width = 1 / np.sqrt(2 * peak * peak - pull * peak)
    v = np.log(peak) + width * _STEPS
    w = np.exp(v)
    return height + log_sum((df + 1) * v - (w - s) ** 2 / 2 + np.log(width * _STEP_WEIGHTS))


def _norminvgauss_logpdf(y: Any, a: Any, b: Any) -> Any:
    radius = np.sqrt(1 + y * y)
    z = a * radius
    return np.log(a) - LOG_PI + np.sqrt(a * a - b * b) + b * y - np.log(radius) + _log_k1(z)


def _log_k1(z: Any) -> Any:
    return np.log(sp.k1e(z)) - z


def _log_kv(order: Any, z: Any) -> Any:
    """log K of any order, by an integral: K = 1/2 of exp(order t - z cosh t) over the line.

    DLMF 10.32.9, by the trapezoidal rule between points where the integrand is next to nothing.
    """
    p, at = abs(stop_gradient(order)), stop_gradient(z)
    peak = np.arcsinh(p / at)
    # On the right of its peak the integrand falls like exp(-curvature t**2 / 2) and faster; on
    # the left like that, then like exp(p t), and beyond minus the peak doubly exponentially.
    reach = np.arccosh(1 + _KV_FALL / np.sqrt(p * p + at * at))
    back = np.minimum(reach + _KV_FALL / np.maximum(p, 1e-3), 2 * peak + reach)
    start, end = peak - np.maximum(back, reach), peak + reach
    longest = (end - start) / np.minimum(reach, 2.0)
    longest = float(np.max(np.nan_to_num(plain(longest), posinf=0.0), initial=0.0))
    steps = np.linspace(0.0, 1.0, int(12 * longest) + 80)
    side = np.where(stop_gradient(order) < 0, -1.0, 1.0)
    order, z, start, width = column(order * side, z, start, end - start)
    t = start + width * steps
    return log_sum(order * t - z * np.cosh(t) + np.log(width * steps[1])) - LOG_2


_KV_FALL = 45.0  # of the logarithm of an integrand, from its peak


def _genhyperbolic_logpdf(y: Any, p: Any, a: Any, b: Any) -> Any:
    radius = np.sqrt(1 + y * y)
    gamma = (a - b) * (a + b)
    norm = p / 2 * np.log(gamma) - LOG_2PI / 2 - (p - 0.5) * np.log(a)
    norm = norm - _log_kv(p, np.sqrt(gamma))
    return norm + _log_kv(p - 0.5, a * radius) + b * y + (p - 0.5) * np.log(radius)


def _geninvgauss_logpdf(y: Any, p: Any, b: Any) -> Any:
    return (p - 1) * np.log(y) - b * (y + 1 / y) / 2 - LOG_2 - _log_kv(p, b)


def _geninvgauss_points(p: Any, b: Any) -> list[Any]:
    """The modes of the density times powers of y: of a small b they are far apart."""
    found = []
    for order in range(-1, 4):
        q = p + order
        root = np.sqrt(q * q + b * b)
        found.append(np.where(q > 0, q + root, b * b / (root - np.minimum(q, 0))) / b)
    return found


def _gausshyper_logpdf(y: Any, a: Any, b: Any, c: Any, z: Any) -> Any:
    def log_density(log_x: Any, log_1_x: Any, x: Any, a: Any, b: Any, c: Any, z: Any) -> Any:
        return (a - 1) * log_x + (b - 1) * log_1_x - c * np.log1p(z * x)

    nodes = log_density(LOG_X, LOG_1_X, np.exp(LOG_X), *column(a, b, c, z))
    norm = log_sum(nodes + np.log(UNIT_WEIGHTS))
    return log_density(np.log(y), np.log1p(-y), y, a, b, c, z) - norm


def _breit_wigner_logpdf(y: Any, rho: Any) -> Any:
    root = np.sqrt(1 + 1 / rho**2)
    height = np.log(2 / np.pi) + (LOG_2 + 2 * np.log(root) - np.log1p(root)) / 2
    return height - np.log1p(((y - rho) * (y + rho) / rho) ** 2)


def _rice_logpdf(y: Any, b: Any) -> Any:
    return np.log(y) - (y - b) ** 2 / 2 + log_i0e(y * b)


def _rice_by_shape(y: Any, b: Any) -> Any:
    """The slope of Marcum's Q (Nuttall, 1975)."""
    return -y * np.exp(-((y - b) ** 2) / 2) * sp.i1e(y * b)


def _vonmises_logpdf(y: Any, kappa: Any) -> Any:
    return -2 * kappa * np.sin(y / 2) ** 2 - LOG_2PI - log_i0e(kappa)


_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(80)
_FAR = 9.0  # standard deviations


def _vonmises_from_middle(y: Any, kappa: Any) -> Any:
    """Part between the middle and y, but for whole turns, by Gauss's quadrature."""
    turned = y - 2 * np.pi * np.round(stop_gradient(y) / (2 * np.pi))
    narrow = _FAR / np.sqrt(np.maximum(stop_gradient(kappa), 1e-300))
    turned = np.where(
        abs(turned) < narrow, turned, np.clip(stop_gradient(turned), -narrow, narrow)
    )
    half, kappa = column(turned / 2, kappa)
    density = np.exp(_vonmises_logpdf(half * (1 + _POINTS), kappa))
    return np.sum(half * density * _WEIGHTS, axis=-1)


def _vonmises_cdf(theirs: Any) -> Any:
    @primitive
    def cdf(y: Any, kappa: Any) -> Any:
        return theirs.cdf(y, kappa)

    by_kappa = slope(_vonmises_from_middle, 1)
    elementwise(
        cdf,
        lambda _out, y, kappa: np.exp(_vonmises_logpdf(y, kappa)),
        lambda _out, y, kappa: by_kappa(y, kappa),
    )
    return cdf


def _integrated(
    name: str,
    logpdf: Any,
    count: int,
    coordinate: Coordinate,
    known: Any = None,
    points: Any = None,
) -> dict[str, Density]:
    theirs = getattr(scipy.stats, name, None)
    if theirs is None:
        return {}
    formulas = tails(logpdf, theirs, count, coordinate, known)
    return {name: Density(logpdf, points=points, **formulas)}


def _ncx2_by_nc(y: Any, df: Any, nc: Any) -> Any:
    return -np.exp(_ncx2_logpdf(y, df + 2, nc))


LAWS: dict[str, Density] = {
    **_integrated("gausshyper", _gausshyper_logpdf, 4, LOGIT),
    **_integrated("genhyperbolic", _genhyperbolic_logpdf, 3, LINE),
    **_integrated("geninvgauss", _geninvgauss_logpdf, 2, LOG, points=_geninvgauss_points),
    **_integrated("ncf", _ncf_logpdf, 3, LOG),
    **_integrated("nct", _nct_logpdf, 2, ARCSINH),
    **_integrated("ncx2", _ncx2_logpdf, 2, LOG, {2: _ncx2_by_nc}),
    **_integrated("norminvgauss", _norminvgauss_logpdf, 2, LINE),
    **_integrated("rel_breitwigner", _breit_wigner_logpdf, 1, LOG),
    **_integrated("rice", _rice_logpdf, 1, LOG, {1: _rice_by_shape}),
    "vonmises": Density(_vonmises_logpdf, cdf=_vonmises_cdf(scipy.stats.vonmises), even=True),
    "vonmises_line": Density(
        _vonmises_logpdf, cdf=_vonmises_cdf(scipy.stats.vonmises_line), even=True
    ),
}

__all__ = ["LAWS", "ncf_rest", "ncx2_rest"]

"""Laws on an interval, and those on a circle that SciPy cuts open."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.scipy import _special as sp
from tapegrad.scipy.stats._laws import Density
from tapegrad.scipy.stats._shared import (
    LOG_2,
    LOG_2PI,
    LOG_PI,
    ROOT_2PI,
    log_beta_density,
    log_normal,
    log_normal_mass,
)


def _argus_logpdf(y: Any, chi: Any) -> Any:
    rest = (1 - y) * (1 + y)
    norm = sp.gammainc(1.5, chi * chi / 2) / 2
    height = 3 * np.log(chi) - np.log(ROOT_2PI) - np.log(norm)
    return height + np.log(y) + np.log(rest) / 2 - chi * chi * rest / 2


def _argus_sf(y: Any, chi: Any) -> Any:
    half = chi * chi / 2
    return sp.gammainc(1.5, half * (1 - y) * (1 + y)) / sp.gammainc(1.5, half)


def _arcsine_cdf(y: Any) -> Any:
    return 2 / np.pi * np.arctan2(np.sqrt(y), np.sqrt(1 - y))


def _less_its_sine(u: Any) -> Any:
    """u - sin(u), exact also near 0."""
    near = u < 1
    small = np.where(near, u, 0.0) ** 2
    series: Any = 1.0
    for k in range(7, 0, -1):
        series = 1 - small / ((2 * k + 2) * (2 * k + 3)) * series
    return np.where(near, u**3 / 6 * series, u - np.sin(u))


def _trapezoid_pieces(y: Any, c: Any, d: Any) -> tuple[Any, Any, Any, Any]:
    """Whether y is on the rise, or on the fall, and the slopes' widths, of which one may be 0."""
    rises, falls = (y < c) | (c == 1), (y > d) | (d == 0)  # also at an end that is the top
    return rises, falls, np.where(rises, c, 1.0), np.where(falls, 1 - d, 1.0)


def _trapezoid_logpdf(y: Any, c: Any, d: Any) -> Any:
    rises, falls, rise, fall = _trapezoid_pieces(y, c, d)
    up, down = np.where(rises, y / rise, 1.0), np.where(falls, (1 - y) / fall, 1.0)
    return LOG_2 - np.log(d - c + 1) + np.log(up) + np.log(down)


def _trapezoid_cdf(y: Any, c: Any, d: Any) -> Any:
    rises, falls, rise, fall = _trapezoid_pieces(y, c, d)
    flat = np.where(falls, d - c + 1 - (1 - y) ** 2 / fall, 2 * y - c)
    return np.where(rises, y * y / rise, flat) / (d - c + 1)


def _trapezoid_sf(y: Any, c: Any, d: Any) -> Any:
    rises, falls, rise, fall = _trapezoid_pieces(y, c, d)
    flat = np.where(falls, (1 - y) ** 2 / fall, d + 1 - 2 * y)
    return np.where(rises, d - c + 1 - y * y / rise, flat) / (d - c + 1)


def _trapezoid_mean(c: Any, d: Any) -> Any:
    return (1 + d + d * d - c * c) / (3 * (1 + d - c))


def _trapezoid_variance(c: Any, d: Any) -> Any:
    second = (1 + d + d**2 + d**3 - c**3) / (6 * (1 + d - c))
    return second - _trapezoid_mean(c, d) ** 2


def _triangle_logpdf(y: Any, c: Any) -> Any:
    return _trapezoid_logpdf(y, c, c)


def _wrapped_cauchy_cdf(y: Any, c: Any) -> Any:
    ratio = (1 + c) / (1 - c)
    return np.arctan2(ratio * np.sin(y / 2), np.cos(y / 2)) / np.pi


def _wrapped_cauchy_sf(y: Any, c: Any) -> Any:
    return _wrapped_cauchy_cdf(2 * np.pi - y, c)


def _johnson(y: Any, a: Any, b: Any) -> Any:
    return a + b * (np.log(y) - np.log1p(-y))


_RECIPROCAL = Density(
    lambda y, a, b: -np.log(y) - np.log(np.log(b) - np.log(a)),
    cdf=lambda y, a, b: (np.log(y) - np.log(a)) / (np.log(b) - np.log(a)),
    sf=lambda y, a, b: (np.log(b) - np.log(y)) / (np.log(b) - np.log(a)),
    support=lambda a, b: (1 * a, 1 * b),
)


def _beta_entropy(a: Any, b: Any) -> Any:
    ends = (a - 1) * sp.digamma(a) + (b - 1) * sp.digamma(b)
    return sp.betaln(a, b) - ends + (a + b - 2) * sp.digamma(a + b)


LAWS: dict[str, Density] = {
    "anglit": Density(
        lambda y: np.log(np.cos(2 * y)),
        cdf=lambda y: np.sin(y + np.pi / 4) ** 2,
        sf=lambda y: np.cos(y + np.pi / 4) ** 2,
    ),
    "arcsine": Density(
        lambda y: -LOG_PI - (np.log(y) + np.log1p(-y)) / 2,
        cdf=_arcsine_cdf,
        sf=lambda y: _arcsine_cdf(1 - y),
    ),
    "argus": Density(_argus_logpdf, sf=_argus_sf),
    "beta": Density(
        log_beta_density,
        cdf=lambda y, a, b: sp.betainc(a, b, y),
        sf=lambda y, a, b: sp.betaincc(a, b, y),
        score=(
            lambda y, a, b: (a - 1) / y - (b - 1) / (1 - y),
            lambda y, a, b: np.log(y) - sp.digamma(a) + sp.digamma(a + b),
            lambda y, a, b: np.log1p(-y) - sp.digamma(b) + sp.digamma(a + b),
        ),
        mean=lambda a, b: a / (a + b),
        entropy=_beta_entropy,
        variance=lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)),
    ),
    "bradford": Density(
        lambda y, c: np.log(c) - np.log(np.log1p(c)) - np.log1p(c * y),
        cdf=lambda y, c: np.log1p(c * y) / np.log1p(c),
        sf=lambda y, c: np.log1p(c * (1 - y) / (1 + c * y)) / np.log1p(c),
    ),
    "cosine": Density(
        lambda y: np.log1p(np.cos(y)) - LOG_2PI,
        cdf=lambda y: _less_its_sine(np.pi + y) / (2 * np.pi),
        even=True,
    ),
    "johnsonsb": Density(
        lambda y, a, b: np.log(b) - np.log(y) - np.log1p(-y) + log_normal(_johnson(y, a, b)),
        logcdf=lambda y, a, b: sp.log_ndtr(_johnson(y, a, b)),
        logsf=lambda y, a, b: sp.log_ndtr(-_johnson(y, a, b)),
    ),
    "loguniform": _RECIPROCAL,
    "powerlaw": Density(
        lambda y, a: np.log(a) + sp.xlogy(a - 1, y), logcdf=lambda y, a: sp.xlogy(a, y)
    ),
    "rdist": Density(
        lambda y, c: log_beta_density((y + 1) / 2, c / 2, c / 2) - LOG_2,
        cdf=lambda y, c: sp.betainc(c / 2, c / 2, (y + 1) / 2),
        even=True,
        mean=lambda c: 0 * c,
        variance=lambda c: 1 / (c + 1),
        entropy=lambda c: LOG_2 + _beta_entropy(c / 2, c / 2),
    ),
    "reciprocal": _RECIPROCAL,
    "semicircular": Density(
        lambda y: LOG_2 - LOG_PI + (np.log1p(-y) + np.log1p(y)) / 2,
        cdf=lambda y: _less_its_sine(4 * np.arcsin(np.sqrt((1 + y) / 2))) / (2 * np.pi),
        even=True,
    ),
    "trapezoid": Density(
        _trapezoid_logpdf,
        cdf=_trapezoid_cdf,
        sf=_trapezoid_sf,
        kinks=lambda c, d: (c, d),
        mean=_trapezoid_mean,
        variance=_trapezoid_variance,
        entropy=lambda c, d: (1 - d + c) / (2 * (1 + d - c)) + np.log((1 + d - c) / 2),
    ),
    "triang": Density(
        _triangle_logpdf,
        cdf=lambda y, c: _trapezoid_cdf(y, c, c),
        sf=lambda y, c: _trapezoid_sf(y, c, c),
        kinks=lambda c: (c,),
        mean=lambda c: (1 + c) / 3,
        variance=lambda c: (1 - c + c * c) / 18,
        entropy=lambda c: 0.5 - LOG_2 + 0 * c,
    ),
    "truncnorm": Density(
        lambda y, a, b: log_normal(y) - log_normal_mass(a, b),
        logcdf=lambda y, a, b: log_normal_mass(a, y) - log_normal_mass(a, b),
        logsf=lambda y, a, b: log_normal_mass(y, b) - log_normal_mass(a, b),
        support=lambda a, b: (1 * a, 1 * b),
    ),
    "uniform": Density(
        lambda y: 0 * y,
        cdf=lambda y: 1 * y,
        sf=lambda y: 1 - y,
        mean=lambda: 0.5,
        entropy=lambda: 0.0,
        variance=lambda: 1 / 12,
    ),
    "wrapcauchy": Density(
        lambda y, c: (
            np.log1p(-c * c) - LOG_2PI - np.log((1 - c) ** 2 + 4 * c * np.sin(y / 2) ** 2)
        ),
        cdf=_wrapped_cauchy_cdf,
        sf=_wrapped_cauchy_sf,
    ),
}

__all__ = ["LAWS"]

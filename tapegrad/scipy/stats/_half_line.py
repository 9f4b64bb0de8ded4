"""Laws on y > 0 (or y < 0), by the names of SciPy's distributions.

The densities are those that SciPy's documentation states. The distribution functions are the
textbook ones (Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.scipy import _special as sp
from tapegrad.scipy.stats._laws import Density, log1mexp
from tapegrad.scipy.stats._shared import (
    LOG_2,
    LOG_2PI,
    LOG_PI,
    ROOT_2,
    beta_mass,
    log1p_over,
    log_difference,
    log_gamma_density,
    log_normal,
    log_normal_mass,
    unknown,
)


def _softplus(x: Any) -> Any:
    return np.logaddexp(0.0, x)


def _log_mills(t: Any) -> Any:
    """The log of (1 - ndtr(t)) / density(t)."""
    return sp.log_ndtr(-t) - log_normal(t)


def _invgauss_tails(y: Any, mu: Any) -> tuple[Any, Any]:
    """log ndtr of the two terms of the inverse Gaussian distribution function."""
    root = 1 / np.sqrt(y)
    return root * (y / mu - 1), 2 / mu + sp.log_ndtr(-root * (y / mu + 1))


def _invgauss_logcdf(y: Any, mu: Any) -> Any:
    z, other = _invgauss_tails(y, mu)
    return np.logaddexp(sp.log_ndtr(z), other)


def _invgauss_logsf(y: Any, mu: Any) -> Any:
    z, other = _invgauss_tails(y, mu)
    return log_difference(sp.log_ndtr(-z), other)


def _invgauss_logpdf(y: Any, mu: Any) -> Any:
    return -LOG_2PI / 2 - 1.5 * np.log(y) - ((y - mu) / mu) ** 2 / (2 * y)


def _recipinvgauss_terms(y: Any, mu: Any) -> tuple[Any, Any]:
    root = 1 / np.sqrt(y)
    return root * (1 / mu - y), 2 / mu + sp.log_ndtr(-root * (1 / mu + y))


def _recipinvgauss_logcdf(y: Any, mu: Any) -> Any:
    z, other = _recipinvgauss_terms(y, mu)
    return log_difference(sp.log_ndtr(-z), other)


def _recipinvgauss_logsf(y: Any, mu: Any) -> Any:
    z, other = _recipinvgauss_terms(y, mu)
    return np.logaddexp(sp.log_ndtr(z), other)


def _double_pareto(y: Any, u: Any, s: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    z = (np.log(y) - u) / s
    return z, _log_mills(a * s - z), _log_mills(b * s + z)


def _dpareto_lognorm_logpdf(y: Any, u: Any, s: Any, a: Any, b: Any) -> Any:
    z, upper, lower = _double_pareto(y, u, s, a, b)
    rates = np.log(a) + np.log(b) - np.log(a + b)
    return rates - np.log(y) + log_normal(z) + np.logaddexp(upper, lower)


def _dpareto_lognorm_cdf(y: Any, u: Any, s: Any, a: Any, b: Any) -> Any:
    z, upper, lower = _double_pareto(y, u, s, a, b)
    height = log_normal(z)
    return sp.ndtr(z) - (b * np.exp(height + upper) - a * np.exp(height + lower)) / (a + b)


def _dpareto_lognorm_sf(y: Any, u: Any, s: Any, a: Any, b: Any) -> Any:
    z, upper, lower = _double_pareto(y, u, s, a, b)
    height = log_normal(z)
    return sp.ndtr(-z) + (b * np.exp(height + upper) - a * np.exp(height + lower)) / (a + b)


def _gengamma_cdf(y: Any, a: Any, c: Any) -> Any:
    return np.where(c > 0, sp.gammainc(a, y**c), sp.gammaincc(a, y**c))


def _gengamma_sf(y: Any, a: Any, c: Any) -> Any:
    return np.where(c > 0, sp.gammaincc(a, y**c), sp.gammainc(a, y**c))


def _genexpon_logsf(y: Any, a: Any, b: Any, c: Any) -> Any:
    return -(a + b) * y - b * np.expm1(-c * y) / c


def _loglaplace_cdf(y: Any, c: Any) -> Any:
    power = np.exp(-c * abs(np.log(y))) / 2
    return np.where(y < 1, power, 1 - power)


def _loglaplace_sf(y: Any, c: Any) -> Any:
    power = np.exp(-c * abs(np.log(y))) / 2
    return np.where(y < 1, 1 - power, power)


def _genpareto_end(c: Any) -> Any:
    return np.zeros_like(c), np.where(c < 0, -1 / np.where(c < 0, c, -1.0), np.inf)


def _genhalflogistic_t(y: Any, c: Any) -> Any:
    return -log1p_over(-c, y)


def _kappa3_logcdf(y: Any, a: Any) -> Any:
    uniform = np.where(y < 1, np.log(y), unknown(y))  # of an infinite a; SciPy's exceeds 1 above
    return np.where(np.isinf(a), uniform, -np.log1p(a * y**-a) / a)


def _truncexpon_logsf(y: Any, b: Any) -> Any:
    return -y + log1mexp(y - b) - log1mexp(-b)


def _log_power_loss(x: Any, b: Any) -> Any:
    """log abs(1 - x**-b), of b of either sign."""
    return np.log(abs(np.expm1(-b * np.log(x))))


_GAMMA = Density(
    log_gamma_density,
    cdf=lambda y, a: sp.gammainc(a, y),
    sf=lambda y, a: sp.gammaincc(a, y),
    score=(lambda y, a: (a - 1) / y - 1, lambda y, a: np.log(y) - sp.digamma(a)),
    mean=lambda a: 1 * a,
    entropy=lambda a: a + sp.gammaln(a) + (1 - a) * sp.digamma(a),
    variance=lambda a: 1 * a,
)

LAWS: dict[str, Density] = {
    "alpha": Density(
        lambda y, a: -2 * np.log(y) - sp.log_ndtr(a) + log_normal(a - 1 / y),
        logcdf=lambda y, a: sp.log_ndtr(a - 1 / y) - sp.log_ndtr(a),
        logsf=lambda y, a: log_normal_mass(a - 1 / y, a) - sp.log_ndtr(a),
    ),
    "betaprime": Density(
        lambda y, a, b: sp.xlogy(a - 1, y) - sp.xlog1py(a + b, y) - sp.betaln(a, b),
        cdf=lambda y, a, b: beta_mass(a, b, y / (1 + y), 1 / (1 + y)),
        sf=lambda y, a, b: beta_mass(b, a, 1 / (1 + y), y / (1 + y)),
    ),
    "burr": Density(
        lambda y, c, d: (
            np.log(c) + np.log(d) - (c + 1) * np.log(y) - (d + 1) * _softplus(-c * np.log(y))
        ),
        logcdf=lambda y, c, d: -d * _softplus(-c * np.log(y)),
    ),
    "burr12": Density(
        lambda y, c, d: np.log(c) + np.log(d) + sp.xlogy(c - 1, y) - (d + 1) * np.log1p(y**c),
        logsf=lambda y, c, d: -d * np.log1p(y**c),
    ),
    "chi": Density(
        lambda y, df: (1 - df / 2) * LOG_2 - sp.gammaln(df / 2) + sp.xlogy(df - 1, y) - y * y / 2,
        cdf=lambda y, df: sp.gammainc(df / 2, y * y / 2),
        sf=lambda y, df: sp.gammaincc(df / 2, y * y / 2),
    ),
    "chi2": Density(
        lambda y, df: log_gamma_density(y / 2, df / 2) - LOG_2,
        cdf=lambda y, df: sp.gammainc(df / 2, y / 2),
        sf=lambda y, df: sp.gammaincc(df / 2, y / 2),
        mean=lambda df: 1 * df,
        entropy=lambda df: df / 2 + LOG_2 + sp.gammaln(df / 2) + (1 - df / 2) * sp.digamma(df / 2),
        variance=lambda df: 2 * df,
    ),
    "dpareto_lognorm": Density(
        _dpareto_lognorm_logpdf, cdf=_dpareto_lognorm_cdf, sf=_dpareto_lognorm_sf
    ),
    "erlang": _GAMMA,
    "expon": Density(
        lambda y: -y,
        logsf=lambda y: -y,
        mean=lambda: 1.0,
        variance=lambda: 1.0,
        entropy=lambda: 1.0,
    ),
    "exponpow": Density(
        lambda y, b: 1 + np.log(b) + sp.xlogy(b - 1, y) + y**b - np.exp(y**b),
        logsf=lambda y, b: -np.expm1(y**b),
    ),
    "exponweib": Density(
        lambda y, a, c: (
            np.log(a) + np.log(c) + sp.xlogy(a - 1, -np.expm1(-(y**c))) - y**c + sp.xlogy(c - 1, y)
        ),
        logcdf=lambda y, a, c: a * log1mexp(-(y**c)),
    ),
    "f": Density(
        lambda y, dfn, dfd: (
            dfd / 2 * np.log(dfd)
            + dfn / 2 * np.log(dfn)
            + sp.xlogy(dfn / 2 - 1, y)
            - (dfn + dfd) / 2 * np.log(dfd + dfn * y)
            - sp.betaln(dfn / 2, dfd / 2)
        ),
        cdf=lambda y, dfn, dfd: beta_mass(
            dfn / 2, dfd / 2, dfn * y / (dfd + dfn * y), dfd / (dfd + dfn * y)
        ),
        sf=lambda y, dfn, dfd: beta_mass(
            dfd / 2, dfn / 2, dfd / (dfd + dfn * y), dfn * y / (dfd + dfn * y)
        ),
    ),
    "fatiguelife": Density(
        lambda y, c: (
            np.log1p(y)
            - (y - 1) ** 2 / (2 * y * c * c)
            - np.log(2 * c)
            - (LOG_2PI + 3 * np.log(y)) / 2
        ),
        logcdf=lambda y, c: sp.log_ndtr((np.sqrt(y) - 1 / np.sqrt(y)) / c),
        logsf=lambda y, c: sp.log_ndtr((1 / np.sqrt(y) - np.sqrt(y)) / c),
    ),
    "fisk": Density(
        lambda y, c: np.log(c) + sp.xlogy(c - 1, y) - 2 * np.log1p(y**c),
        logcdf=lambda y, c: -_softplus(-c * np.log(y)),
        logsf=lambda y, c: -np.log1p(y**c),
    ),
    "foldcauchy": Density(
        lambda y, c: np.log(1 / (1 + (y - c) ** 2) + 1 / (1 + (y + c) ** 2)) - LOG_PI,
        cdf=lambda y, c: (np.arctan(y - c) + np.arctan(y + c)) / np.pi,
        sf=lambda y, c: (np.arctan2(1.0, y - c) + np.arctan2(1.0, y + c)) / np.pi,
    ),
    "foldnorm": Density(
        lambda y, c: np.logaddexp(log_normal(y - c), log_normal(y + c)),
        cdf=lambda y, c: sp.ndtr(y - c) - sp.ndtr(-y - c),
        sf=lambda y, c: sp.ndtr(c - y) + sp.ndtr(-y - c),
    ),
    "gamma": _GAMMA,
    "genexpon": Density(
        lambda y, a, b, c: np.log(a - b * np.expm1(-c * y)) + _genexpon_logsf(y, a, b, c),
        logsf=_genexpon_logsf,
    ),
    "gengamma": Density(
        lambda y, a, c: np.log(abs(c)) + sp.xlogy(c * a - 1, y) - y**c - sp.gammaln(a),
        cdf=_gengamma_cdf,
        sf=_gengamma_sf,
    ),
    "genhalflogistic": Density(
        lambda y, c: (
            LOG_2
            + _genhalflogistic_t(y, c)
            - 2 * np.log1p(np.exp(_genhalflogistic_t(y, c)))
            - np.log1p(-c * y)
        ),
        cdf=lambda y, c: np.tanh(-_genhalflogistic_t(y, c) / 2),
        logsf=lambda y, c: (
            LOG_2 + _genhalflogistic_t(y, c) - np.log1p(np.exp(_genhalflogistic_t(y, c)))
        ),
        support=lambda c: (np.zeros_like(c), 1 / c),
    ),
    "genpareto": Density(
        lambda y, c: -(1 + c) * log1p_over(c, y),
        logsf=lambda y, c: -log1p_over(c, y),
        support=_genpareto_end,
    ),
    "gibrat": Density(
        lambda y: log_normal(np.log(y)) - np.log(y),
        logcdf=lambda y: sp.log_ndtr(np.log(y)),
        logsf=lambda y: sp.log_ndtr(-np.log(y)),
    ),
    "gompertz": Density(
        lambda y, c: np.log(c) + y - c * np.expm1(y), logsf=lambda y, c: -c * np.expm1(y)
    ),
    "halfcauchy": Density(
        lambda y: LOG_2 - LOG_PI - np.log1p(y * y),
        cdf=lambda y: 2 / np.pi * np.arctan(y),
        sf=lambda y: 2 / np.pi * np.arctan2(1.0, y),
    ),
    "halfgennorm": Density(
        lambda y, beta: np.log(beta) - sp.gammaln(1 / beta) - y**beta,
        cdf=lambda y, beta: sp.gammainc(1 / beta, y**beta),
        sf=lambda y, beta: sp.gammaincc(1 / beta, y**beta),
    ),
    "halflogistic": Density(
        lambda y: LOG_2 - y - 2 * np.log1p(np.exp(-y)),
        cdf=lambda y: np.tanh(y / 2),
        logsf=lambda y: LOG_2 - y - np.log1p(np.exp(-y)),
    ),
    "halfnorm": Density(
        lambda y: LOG_2 + log_normal(y),
        cdf=lambda y: sp.erf(y / ROOT_2),
        logsf=lambda y: LOG_2 + sp.log_ndtr(-y),
    ),
    "invgamma": Density(
        lambda y, a: -(a + 1) * np.log(y) - sp.gammaln(a) - 1 / y,
        cdf=lambda y, a: sp.gammaincc(a, 1 / y),
        sf=lambda y, a: sp.gammainc(a, 1 / y),
    ),
    "invgauss": Density(_invgauss_logpdf, logcdf=_invgauss_logcdf, logsf=_invgauss_logsf),
    "invweibull": Density(
        lambda y, c: np.log(c) - (c + 1) * np.log(y) - y**-c, logcdf=lambda y, c: -(y**-c)
    ),
    "kappa3": Density(
        lambda y, a: np.log(a) - (a + 1) / a * np.log(a + y**a), logcdf=_kappa3_logcdf
    ),
    "levy": Density(
        lambda y: -LOG_2PI / 2 - 1.5 * np.log(y) - 1 / (2 * y),
        logcdf=lambda y: LOG_2 + sp.log_ndtr(-1 / np.sqrt(y)),
        sf=lambda y: sp.erf(1 / np.sqrt(2 * y)),
    ),
    "levy_l": Density(
        lambda y: -LOG_2PI / 2 - 1.5 * np.log(0 - y) - 1 / (2 * (0 - y)),
        cdf=lambda y: sp.erf(1 / np.sqrt(-2 * y)),
        logsf=lambda y: LOG_2 + sp.log_ndtr(-1 / np.sqrt(-y)),
    ),
    "loglaplace": Density(
        lambda y, c: np.log(c / 2) - np.log(y) - c * abs(np.log(y)),
        cdf=_loglaplace_cdf,
        sf=_loglaplace_sf,
        kinks=lambda c: (1 + 0 * c,),
    ),
    "lognorm": Density(
        lambda y, s: log_normal(np.log(y) / s) - np.log(s) - np.log(y),
        logcdf=lambda y, s: sp.log_ndtr(np.log(y) / s),
        logsf=lambda y, s: sp.log_ndtr(-np.log(y) / s),
        mean=lambda s: np.exp(s * s / 2),
        entropy=lambda s: (1 + LOG_2PI) / 2 + np.log(s),
        variance=lambda s: np.exp(s * s) * np.expm1(s * s),
    ),
    "lomax": Density(
        lambda y, c: np.log(c) - (c + 1) * np.log1p(y), logsf=lambda y, c: -c * np.log1p(y)
    ),
    "maxwell": Density(
        lambda y: (LOG_2 - LOG_PI) / 2 + 2 * np.log(y) - y * y / 2,
        cdf=lambda y: sp.gammainc(1.5, y * y / 2),
        sf=lambda y: sp.gammaincc(1.5, y * y / 2),
    ),
    "mielke": Density(
        lambda y, k, s: np.log(k) + sp.xlogy(k - 1, y) - (1 + k / s) * np.log1p(y**s),
        logcdf=lambda y, k, s: np.where(
            np.isinf(s), k * np.log(y), -k / s * _softplus(-s * np.log(y))
        ),
    ),
    "nakagami": Density(
        lambda y, nu: (
            LOG_2 + nu * np.log(nu) - sp.gammaln(nu) + sp.xlogy(2 * nu - 1, y) - nu * y * y
        ),
        cdf=lambda y, nu: sp.gammainc(nu, nu * y * y),
        sf=lambda y, nu: sp.gammaincc(nu, nu * y * y),
    ),
    "pareto": Density(
        lambda y, b: np.log(b) - (b + 1) * np.log(y), logsf=lambda y, b: -b * np.log(y)
    ),
    "powerlognorm": Density(
        lambda y, c, s: (
            np.log(c)
            - np.log(s)
            - np.log(y)
            + log_normal(np.log(y) / s)
            + (c - 1) * sp.log_ndtr(-np.log(y) / s)
        ),
        logsf=lambda y, c, s: c * sp.log_ndtr(-np.log(y) / s),
    ),
    "rayleigh": Density(lambda y: np.log(y) - y * y / 2, logsf=lambda y: -y * y / 2),
    "recipinvgauss": Density(
        lambda y, mu: -(LOG_2PI + np.log(y)) / 2 - (1 - mu * y) ** 2 / (2 * y * mu * mu),
        logcdf=_recipinvgauss_logcdf,
        logsf=_recipinvgauss_logsf,
    ),
    "truncexpon": Density(
        lambda y, b: -y - log1mexp(-b),
        logcdf=lambda y, b: log1mexp(-y) - log1mexp(-b),
        logsf=_truncexpon_logsf,
        support=lambda b: (np.zeros_like(b), 1 * b),
    ),
    "truncpareto": Density(
        lambda y, b, c: np.log(abs(b)) - (b + 1) * np.log(y) - _log_power_loss(c, b),
        logcdf=lambda y, b, c: _log_power_loss(y, b) - _log_power_loss(c, b),
        logsf=lambda y, b, c: _log_power_loss(c / y, b) - b * np.log(y) - _log_power_loss(c, b),
        support=lambda b, c: (np.ones_like(c), 1 * c),
    ),
    "truncweibull_min": Density(
        lambda y, c, a, b: (
            np.log(c) + sp.xlogy(c - 1, y) - y**c - log_difference(-(a**c), -(b**c))
        ),
        logcdf=lambda y, c, a, b: (
            log_difference(-(a**c), -(y**c)) - log_difference(-(a**c), -(b**c))
        ),
        logsf=lambda y, c, a, b: (
            log_difference(-(y**c), -(b**c)) - log_difference(-(a**c), -(b**c))
        ),
        support=lambda c, a, b: (1 * a, 1 * b),
    ),
    "wald": Density(
        lambda y: _invgauss_logpdf(y, 1.0),
        logcdf=lambda y: _invgauss_logcdf(y, 1.0),
        logsf=lambda y: _invgauss_logsf(y, 1.0),
    ),
    "weibull_max": Density(
        # 0 - y, as -y is a negative zero at the end
        lambda y, c: np.log(c) + sp.xlogy(c - 1, 0 - y) - (0 - y) ** c,
        logcdf=lambda y, c: -((0 - y) ** c),
    ),
    "weibull_min": Density(
        lambda y, c: np.log(c) + sp.xlogy(c - 1, y) - y**c, logsf=lambda y, c: -(y**c)
    ),
}

__all__ = ["LAWS"]

"""Laws on the whole line, by the names of SciPy's distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats

from tapegrad import elementwise, primitive, stop_gradient
from tapegrad.scipy import _special as sp
from tapegrad.scipy._formula import by_formula
from tapegrad.scipy.stats._laws import Density
from tapegrad.scipy.stats._quadrature import LINE, tails
from tapegrad.scipy.stats._shared import (
    LOG_2,
    LOG_2PI,
    LOG_PI,
    ROOT_2,
    ROOT_2PI,
    beta_mass,
    log1p_over,
    log_difference,
    log_gamma_density,
    log_normal,
)


def _tails(upper: Any) -> dict[str, Any]:
    """The distribution function of a symmetric law, from its upper tail at y >= 0."""

    def cdf(y: Any, *shapes: Any) -> Any:
        tail = upper(abs(y), *shapes)
        return np.where(y > 0, 1 - tail, tail)

    return {"cdf": cdf, "even": True}


def _finite(df: Any) -> tuple[Any, Any]:
    """Where degrees of freedom are finite; elsewhere Student's distribution is the normal one."""
    finite = np.isfinite(df)
    return finite, np.where(finite, df, 1.0)


def _student_tail(y: Any, df: Any) -> Any:
    finite, df = _finite(df)
    return np.where(finite, sp.betainc(df / 2, 0.5, df / (df + y * y)) / 2, sp.ndtr(-y))


# log(Gamma((df + 1) / 2) / Gamma(df / 2)) - log(df / 2) / 2 in odd powers of 1 / df: DLMF 5.11.8.
_HEIGHTS = (-1 / 4, 1 / 24, -1 / 20, 17 / 112, -31 / 36, 691 / 88, -5461 / 52, 929569 / 480)
_MANY = 40.0  # degrees of freedom, from which on gamma functions of them would cancel


# The series of -(y + log(1 - y)) / y**2: the rest is below a rounding for y < 0.1.
_LOG_LESS = tuple(1 / k for k in range(2, 17))


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    total: Any = 0.0
    for coefficient in coefficients[::-1]:
        total = coefficient + total * x
    return total


def _student_height(df: Any) -> Any:
    many = df > _MANY
    over, few = 1 / np.where(many, df, _MANY), np.where(many, _MANY, df)
    direct = sp.gammaln((few + 1) / 2) - sp.gammaln(few / 2) - np.log(few / 2) / 2
    return np.where(many, over * _polynomial(over * over, _HEIGHTS), direct) - LOG_2PI / 2


def _student_logpdf(y: Any, df: Any) -> Any:
    finite, df = _finite(df)
    fall = (1 + 1 / df) / 2 * log1p_over(1 / df, y * y)
    return np.where(finite, _student_height(df) - fall, log_normal(y))


def _normal_hazard(y: Any) -> Any:
    """The density over the area below; erfcx overflows where that is zero."""
    return np.sqrt(2 / np.pi) / sp.erfcx(y * (-1 / ROOT_2))


def _student_score(y: Any, df: Any) -> Any:
    if np.all(np.isfinite(df)):
        return -(df + 1) * y / (df + y * y)
    finite, df = _finite(df)
    return np.where(finite, -(df + 1) * y / (df + y * y), -y)


def _student_by_df(y: Any, df: Any) -> Any:
    """Where its terms cancel, by series: many degrees of freedom, or a small y**2 / df."""
    finite, df = _finite(df)
    many = df > _MANY
    square, few = 1 / np.where(many, df, _MANY) ** 2, np.where(many, _MANY, df)
    falls = tuple(-(2 * k + 1) * height for k, height in enumerate(_HEIGHTS))
    direct = (sp.digamma((few + 1) / 2) - sp.digamma(few / 2) - 1 / few) / 2
    height = np.where(many, square * _polynomial(square, falls), direct)
    share = y * y / (df + y * y)
    near = share < 0.1
    small, large = np.where(near, share, 0.0), np.where(near, 0.0, share)
    series = -small * small * _polynomial(small, _LOG_LESS)
    less = np.where(near, series, large + np.log1p(-large))
    return np.where(finite, height + (less + share / df) / 2, 0.0)


def _crystal_norm(beta: Any, m: Any) -> tuple[Any, Any]:
    """The mass of the power's tail and of the normal part, before they are normalised."""
    tail = m / beta / (m - 1) * np.exp(-beta * beta / 2)
    return tail, tail + ROOT_2PI * sp.ndtr(beta)


def _crystal_power(y: Any, beta: Any, m: Any) -> tuple[Any, Any]:
    """Whether y lies in the normal part; the log of the power's base, 0 there."""
    inside = y > -beta
    base = 1 - beta * (np.where(inside, -beta, y) + beta) / m
    return inside, np.log(base)


def _crystal_logpdf(y: Any, beta: Any, m: Any) -> Any:
    inside, base = _crystal_power(y, beta, m)
    shape = np.where(inside, -y * y / 2, -beta * beta / 2 - m * base)
    return shape - np.log(_crystal_norm(beta, m)[1])


def _crystal_cdf(y: Any, beta: Any, m: Any) -> Any:
    inside, base = _crystal_power(y, beta, m)
    tail, whole = _crystal_norm(beta, m)
    part = ROOT_2PI * (sp.ndtr(y) - sp.ndtr(-beta))
    return np.where(inside, tail + part, tail * np.exp((1 - m) * base)) / whole


def _crystal_sf(y: Any, beta: Any, m: Any) -> Any:
    inside, base = _crystal_power(y, beta, m)
    tail, whole = _crystal_norm(beta, m)
    below = whole - tail * np.exp((1 - m) * base)
    return np.where(inside, ROOT_2PI * sp.ndtr(-y), below) / whole


def _exponnorm_term(y: Any, k: Any) -> Any:
    return 1 / (2 * k * k) - y / k + sp.log_ndtr(y - 1 / k)


def _extreme(y: Any, c: Any) -> Any:
    """-log(1 - c y) / c, which is y at c = 0: a Gumbel variable."""
    return log1p_over(-c, y)


def _extreme_ends(c: Any) -> tuple[Any, Any]:
    end = 1 / np.where(stop_gradient(c) == 0, 1.0, c)
    return np.where(c < 0, end, -np.inf), np.where(c > 0, end, np.inf)


def _kappa4_terms(y: Any, h: Any, k: Any) -> tuple[Any, Any]:
    s = log1p_over(-k, y)
    return s, -log1p_over(-h, np.exp(-s))


def _kappa4_logpdf(y: Any, h: Any, k: Any) -> Any:
    s, logcdf = _kappa4_terms(y, h, k)
    return -s + k * s + (1 - h) * logcdf


@primitive
def _kappa4_low(h: Any, k: Any) -> Any:
    return scipy.stats.kappa4.support(h, k)[0]


def _kappa4_low_formula(h: Any, k: Any) -> Any:
    log_h = np.log(np.where(h > 0, h, 1.0))
    end = 1 / np.where(k < 0, k, -1.0)
    return np.where(h > 0, log_h * sp.exprel(-k * log_h), np.where(k < 0, end, -np.inf))


by_formula(_kappa4_low, _kappa4_low_formula, arrays=2)


def _kappa4_ends(h: Any, k: Any) -> tuple[Any, Any]:
    return _kappa4_low(h, k), np.where(k > 0, 1 / np.where(k > 0, k, 1.0), np.inf) + 0 * h


def _laplace_asymmetric(y: Any, kappa: Any) -> tuple[Any, Any]:
    rate = np.where(y >= 0, kappa, -1 / kappa)
    return y * rate, np.where(y >= 0, 1 / kappa, kappa) / (kappa + 1 / kappa)


def _laplace_asymmetric_cdf(y: Any, kappa: Any) -> Any:
    fall, height = _laplace_asymmetric(y, kappa)
    tail = height * np.exp(-fall)
    return np.where(y >= 0, 1 - tail, tail)


def _laplace_asymmetric_sf(y: Any, kappa: Any) -> Any:
    fall, height = _laplace_asymmetric(y, kappa)
    tail = height * np.exp(-fall)
    return np.where(y >= 0, tail, 1 - tail)


def _skew_t_parts(y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """(1 + z) / 2 and (1 - z) / 2 of z = y / sqrt(a + b + y * y), both without cancellation."""
    square = a + b + y * y
    root = np.sqrt(square)
    left = stop_gradient(y) < 0
    far = 1 + np.where(left, -y, y) / root
    near = (a + b) / (square * far)
    return np.where(left, near, far) / 2, np.where(left, far, near) / 2


def _skew_t_logpdf(y: Any, a: Any, b: Any) -> Any:
    upper, lower = _skew_t_parts(y, a, b)
    height = sp.betaln(a, b) + np.log(a + b) / 2 - 2 * LOG_2
    return (a + 0.5) * np.log(upper) + (b + 0.5) * np.log(lower) - height


def _log_gamma_part(complement: bool) -> Any:
    """A tail of loggamma's; where exp(y) underflows, the first term of its series in exp(y)."""

    def tail(y: Any, c: Any) -> Any:
        tiny = stop_gradient(y) < _UNDERFLOW
        x = np.exp(np.where(tiny, 0.0, y))
        first = np.exp(c * np.where(tiny, y, 0.0) - sp.gammaln(c + 1))
        if complement:
            return np.where(tiny, 1 - first, sp.gammaincc(c, x))
        return np.where(tiny, first, sp.gammainc(c, x))

    return tail


_UNDERFLOW = -700.0  # of the logarithm of a point

# Below it SciPy takes the normal distribution.
_NO_SKEW = 1.6e-5


def _pearson_ends(skew: Any) -> tuple[Any, Any]:
    end = -2 / np.where(abs(skew) < _NO_SKEW, 1.0, skew)
    low, high = skew >= _NO_SKEW, skew <= -_NO_SKEW
    return np.where(low, end, -np.inf), np.where(high, end, np.inf)


def _pearson_logpdf(y: Any, skew: Any) -> Any:
    """That of a gamma variable of shape 4 / skew**2, by terms that are smooth at skew 0."""
    u, square = skew * y / 2, skew * skew / 4
    near = abs(u) < _SMALL_SKEW
    small, large = np.where(near, u, 0.0), np.where(near, 1.0, u)
    fall = np.where(near, -_polynomial(-small, _LOG_SERIES), (np.log1p(large) - large) / large**2)
    normal = square < _NEARLY_NORMAL
    shape = 1 / np.where(normal, 1.0, square)
    rest = sp.gammaln(shape) - (shape - 0.5) * np.log(shape) + shape - LOG_2PI / 2
    series = np.where(normal, square, 0.0)
    rest = np.where(normal, series * _polynomial(series * series, _STIRLING), rest)
    return y * y * fall - np.log1p(u) - LOG_2PI / 2 - rest


_LOG_SERIES = tuple(1 / k for k in range(2, 19))  # of (x - log(1 + x)) / x**2, by -x
_SMALL_SKEW = 0.1
# log(gamma(a)) less Stirling's formula, by odd powers of 1 / a: DLMF 5.11.1
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_NEARLY_NORMAL = 0.06


def _pearson_tail(complement: bool) -> Any:
    """A tail: of little skew, where the gamma function's slopes cancel, by an integral."""
    name = "sf" if complement else "cdf"
    integral = tails(_pearson_logpdf, scipy.stats.pearson3, 1, LINE)[name]

    def tail(y: Any, skew: Any) -> Any:
        little = abs(stop_gradient(skew)) < _LITTLE_SKEW
        beta = 2 / np.where(little, 1.0, skew)
        alpha, z = beta**2, beta * (np.where(little, 0.0, y) + beta)
        lower, upper = sp.gammainc(alpha, z), sp.gammaincc(alpha, z)
        mass = np.where((beta < 0) ^ complement, upper, lower)
        near = integral(np.where(little, y, 0.0), np.where(little, skew, 0.0))
        return np.where(little, near, mass)

    return tail


_LITTLE_SKEW = 0.5


def _skewcauchy_side(y: Any, a: Any) -> Any:
    return 1 + a * np.sign(y)


def _skewcauchy_cdf(y: Any, a: Any) -> Any:
    side = _skewcauchy_side(y, a)
    lower = (1 - a) / np.pi * np.arctan2(1.0, -y / side)
    return np.where(y < 0, lower, (1 - a) / 2 + (1 + a) / np.pi * np.arctan(y / side))


def _skewcauchy_sf(y: Any, a: Any) -> Any:
    return _skewcauchy_cdf(-y, -a)


@primitive
def _tukey_cdf(y: Any, lam: Any) -> Any:
    return scipy.stats.tukeylambda.cdf(y, lam)


def _tukey_logpdf(y: Any, lam: Any) -> Any:
    p = _tukey_cdf(y, lam)
    return -np.log(p ** (lam - 1) + (1 - p) ** (lam - 1))


def _power_over_slope(p: Any, lam: Any) -> Any:
    """The derivative of (p**lam - 1) / lam by lam."""
    log_p = np.log(p)
    u = lam * log_p
    near = abs(u) < 1e-2
    small = np.where(near, u, 0.0)
    series = 1 / 2 + small * (
        1 / 3 + small * (1 / 8 + small * (1 / 30 + small * (1 / 144 + small / 840)))
    )
    safe = np.where(near, 1.0, lam)
    power = np.exp(np.where(near, 0.0, u))
    exact = (log_p * power - (power - 1) / safe) / safe
    return np.where(near, log_p * log_p * series, exact)


def _tukey_ends(lam: Any) -> tuple[Any, Any]:
    end = np.where(lam > 0, 1 / np.where(lam > 0, lam, 1.0), np.inf)
    return -end, end


def _tukey_by_shape(out: Any, y: Any, lam: Any) -> Any:
    """By the implicit function theorem: y = (p**lam - (1 - p)**lam) / lam."""
    change = _power_over_slope(out, lam) - _power_over_slope(1 - out, lam)
    return -change * np.exp(_tukey_logpdf(y, lam))


elementwise(
    _tukey_cdf, lambda _out, y, lam: np.exp(_tukey_logpdf(y, lam)), _tukey_by_shape, strong=True
)

LAWS: dict[str, Density] = {
    "cauchy": Density(
        lambda y: -LOG_PI - np.log1p(y * y), cdf=lambda y: np.arctan2(1.0, -y) / np.pi, even=True
    ),
    "crystalball": Density(
        _crystal_logpdf, cdf=_crystal_cdf, sf=_crystal_sf, kinks=lambda beta, m: (-beta,)
    ),
    "dgamma": Density(
        lambda y, a: log_gamma_density(abs(y), a) - LOG_2,
        **_tails(lambda y, a: sp.gammaincc(a, y) / 2),
    ),
    "dweibull": Density(
        lambda y, c: np.log(c) - LOG_2 + sp.xlogy(c - 1, abs(y)) - abs(y) ** c,
        **_tails(lambda y, c: np.exp(-(y**c)) / 2),
    ),
    "exponnorm": Density(
        lambda y, k: -np.log(k) + _exponnorm_term(y, k),
        logcdf=lambda y, k: log_difference(sp.log_ndtr(y), _exponnorm_term(y, k)),
        logsf=lambda y, k: np.logaddexp(sp.log_ndtr(-y), _exponnorm_term(y, k)),
    ),
    "genextreme": Density(
        lambda y, c: -np.exp(-_extreme(y, c)) - _extreme(y, c) + c * _extreme(y, c),
        logcdf=lambda y, c: -np.exp(-_extreme(y, c)),
        support=_extreme_ends,
    ),
    "genlogistic": Density(
        lambda y, c: np.log(c) - y - (c + 1) * np.logaddexp(0.0, -y),
        logcdf=lambda y, c: -c * np.logaddexp(0.0, -y),
    ),
    "gennorm": Density(
        lambda y, beta: np.log(beta) - LOG_2 - sp.gammaln(1 / beta) - abs(y) ** beta,
        **_tails(lambda y, beta: sp.gammaincc(1 / beta, y**beta) / 2),
    ),
    "gumbel_l": Density(lambda y: y - np.exp(y), logsf=lambda y: -np.exp(y)),
    "gumbel_r": Density(lambda y: -y - np.exp(-y), logcdf=lambda y: -np.exp(-y)),
    "hypsecant": Density(
        lambda y: LOG_2 - LOG_PI - np.logaddexp(y, -y),
        cdf=lambda y: 2 / np.pi * np.arctan(np.exp(y)),
        even=True,
    ),
    "jf_skew_t": Density(
        _skew_t_logpdf,
        cdf=lambda y, a, b: beta_mass(a, b, *_skew_t_parts(y, a, b)),
        sf=lambda y, a, b: beta_mass(b, a, *_skew_t_parts(y, a, b)[::-1]),
    ),
    "johnsonsu": Density(
        lambda y, a, b: np.log(b) - np.log1p(y * y) / 2 + log_normal(a + b * np.arcsinh(y)),
        logcdf=lambda y, a, b: sp.log_ndtr(a + b * np.arcsinh(y)),
        logsf=lambda y, a, b: sp.log_ndtr(-a - b * np.arcsinh(y)),
    ),
    "kappa4": Density(
        _kappa4_logpdf, logcdf=lambda y, h, k: _kappa4_terms(y, h, k)[1], support=_kappa4_ends
    ),
    "laplace": Density(lambda y: -abs(y) - LOG_2, **_tails(lambda y: np.exp(-y) / 2)),
    "laplace_asymmetric": Density(
        lambda y, kappa: -_laplace_asymmetric(y, kappa)[0] - np.log(kappa + 1 / kappa),
        cdf=_laplace_asymmetric_cdf,
        sf=_laplace_asymmetric_sf,
        kinks=lambda kappa: (0 * kappa,),
    ),
    "loggamma": Density(
        lambda y, c: c * y - np.exp(y) - sp.gammaln(c),
        cdf=_log_gamma_part(complement=False),
        sf=_log_gamma_part(complement=True),
    ),
    "logistic": Density(
        lambda y: -abs(y) - 2 * np.log1p(np.exp(-abs(y))),
        logcdf=lambda y: -np.logaddexp(0.0, -y),
        even=True,
        mean=lambda: 0.0,
        variance=lambda: np.pi**2 / 3,
        entropy=lambda: 2.0,
    ),
    "moyal": Density(
        lambda y: log_normal(np.exp(-y / 2)) - y / 2,
        logcdf=lambda y: LOG_2 + sp.log_ndtr(-np.exp(-y / 2)),
        sf=lambda y: sp.erf(np.exp(-y / 2) / ROOT_2),
    ),
    "norm": Density(
        log_normal,
        cdf=sp.ndtr,
        logcdf=sp.log_ndtr,
        even=True,
        score=(lambda y: -y,),
        area_slopes={
            "cdf": lambda y: np.exp(log_normal(y)),
            "sf": lambda y: -np.exp(log_normal(y)),
            "logcdf": _normal_hazard,
            "logsf": lambda y: -_normal_hazard(-y),
        },
        entropy=lambda: (1 + LOG_2PI) / 2,
        mean=lambda: 0.0,
        variance=lambda: 1.0,
    ),
    "pearson3": Density(
        _pearson_logpdf,
        cdf=_pearson_tail(complement=False),
        sf=_pearson_tail(complement=True),
        support=_pearson_ends,
        mean=lambda skew: 0 * skew,
        variance=lambda skew: 1 + 0 * skew,
    ),
    "powernorm": Density(
        lambda y, c: np.log(c) + log_normal(y) + (c - 1) * sp.log_ndtr(-y),
        logsf=lambda y, c: c * sp.log_ndtr(-y),
    ),
    "skewcauchy": Density(
        lambda y, a: -LOG_PI - np.log1p((y / _skewcauchy_side(y, a)) ** 2),
        cdf=_skewcauchy_cdf,
        sf=_skewcauchy_sf,
        kinks=lambda a: (0 * a,),
    ),
    "skewnorm": Density(
        lambda y, a: LOG_2 + log_normal(y) + sp.log_ndtr(a * y),
        cdf=lambda y, a: sp.ndtr(y) - 2 * sp.owens_t(y, a),
        sf=lambda y, a: sp.ndtr(-y) + 2 * sp.owens_t(y, a),
    ),
    "t": Density(_student_logpdf, **_tails(_student_tail), score=(_student_score, _student_by_df)),
    "tukeylambda": Density(
        _tukey_logpdf, cdf=_tukey_cdf, sf=lambda y, lam: _tukey_cdf(-y, lam), support=_tukey_ends
    ),
}

__all__ = ["LAWS"]

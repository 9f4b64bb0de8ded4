"""Laws on whole numbers, by the names of SciPy's distributions.

The formulas take whole k inside the support. They are differentiated by the shapes that are real
numbers; k, the location and the shapes in `Density.fixed` are whole numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats

from tapegrad import elementwise, primitive, stop_gradient
from tapegrad.scipy import _special as sp
from tapegrad.scipy.stats._laws import Density, Formula, log1mexp, plain
from tapegrad.scipy.stats._quadrature import column


def _log_choose(n: Any, k: Any) -> Any:
    return -np.log1p(n) - sp.betaln(n - k + 1, k + 1)


def summed(logpmf: Formula, start: int) -> Formula:
    """The distribution function as a sum from the first of the support."""

    def cdf(k: Any, *shapes: Any) -> Any:
        last = int(np.max(plain(k), initial=start))
        j = np.arange(start, last + 1.0)
        reached = j <= np.expand_dims(k, -1)
        points = np.where(reached, j, start)
        return np.sum(np.where(reached, np.exp(logpmf(points, *column(*shapes))), 0.0), axis=-1)

    return cdf


_EARLY = 12
# B_2k / (2k)! of k = 1, 2, ...: the Euler-Maclaurin formula (DLMF 25.11.28)
_BERNOULLI = [1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160]
_BERNOULLI += [-691 / 1307674368000, 1 / 74724249600, -3617 / 10670622842880000]


def _zeta(a: Any, q: Any) -> Any:
    """Hurwitz's zeta function of a > 1 and q >= 1, with derivatives by a."""
    j = np.arange(_EARLY * 1.0)
    wide_a, wide_q = column(a, q)
    early = np.sum(np.exp(-wide_a * np.log(wide_q + j)), axis=-1)
    n = q + _EARLY
    power = np.exp(-a * np.log(n))
    total = early + power * n / (a - 1) + power / 2
    rising = a * power / n
    for k, factor in enumerate(_BERNOULLI):
        total = total + factor * rising
        rising = rising * (a + 2 * k + 1) * (a + 2 * k + 2) / (n * n)
    return total


def _harmonic(a: Any, n: Any) -> Any:
    """The sum of j**-a over j = 1 ... n."""
    j = np.arange(1.0, int(np.max(plain(n), initial=1)) + 1)
    wide_a, wide_n = column(a, n)
    return np.sum(np.where(j <= wide_n, np.exp(-wide_a * np.log(j)), 0.0), axis=-1)


def _zipfian_sf(k: Any, a: Any, n: Any) -> Any:
    """From its own terms: what is left of 1 has no digits in the far tail."""
    j = np.arange(1.0, int(np.max(plain(n), initial=1)) + 1)
    wide_a, wide_k, wide_n = column(a, k, n)
    terms = np.where((j > wide_k) & (j <= wide_n), np.exp(-wide_a * np.log(j)), 0.0)
    return np.sum(terms, axis=-1) / _harmonic(a, n)


def _bernoulli_logpmf(k: Any, p: Any) -> Any:
    return sp.xlogy(k, p) + sp.xlog1py(1 - k, -p)


def _binom_logpmf(k: Any, n: Any, p: Any) -> Any:
    return _log_choose(n, k) + sp.xlogy(k, p) + sp.xlog1py(n - k, -p)


_MOST = 700.0  # of the logarithm of a number of choices beside powers, at the ends of parameters


def _at_ends(logpmf: Formula, powers: Formula, *ends: float) -> Formula:
    """exp(logpmf), or a product of powers where the last shape is at an end of its domain.

    There, nearly all probabilities are 0, and have a derivative where the power is the first.
    """

    def pmf(k: Any, *shapes: Any) -> Any:
        *others, p = shapes
        at = stop_gradient(p)
        end = (at == ends[0]) | (at == ends[-1])
        inner = np.exp(logpmf(k, *others, np.where(end, 0.5, p)))
        return np.where(end, powers(k, *others, np.where(end, p, 0.5)), inner)

    return pmf


def _binom_powers(k: Any, n: Any, p: Any) -> Any:
    return np.exp(np.minimum(_log_choose(n, k), _MOST)) * p**k * (1 - p) ** (n - k)


def _poisson_logpmf(k: Any, mu: Any) -> Any:
    return sp.xlogy(k, mu) - sp.gammaln(k + 1) - mu


def _poisson_powers(k: Any, mu: Any) -> Any:
    return np.exp(-mu - sp.gammaln(k + 1)) * mu**k


def _nbinom_powers(k: Any, n: Any, p: Any) -> Any:
    choose = sp.gammaln(k + n) - sp.gammaln(k + 1) - sp.gammaln(n)
    return np.exp(np.minimum(choose, _MOST)) * p**n * (1 - p) ** k


def _geom_logcdf(k: Any, p: Any) -> Any:
    sure = stop_gradient(p) == 1
    inner = log1mexp(sp.xlog1py(k, -np.where(sure, 0.5, p)))
    return np.where(sure, np.log(1 - (1 - np.where(sure, p, 0.5)) ** k), inner)


def _betabinom_logpmf(k: Any, n: Any, a: Any, b: Any) -> Any:
    return _log_choose(n, k) + sp.betaln(k + a, n - k + b) - sp.betaln(a, b)


def _betanbinom_logpmf(k: Any, n: Any, a: Any, b: Any) -> Any:
    return -np.log(n + k) - sp.betaln(n, k + 1) + sp.betaln(a + n, b + k) - sp.betaln(a, b)


def _dlaplace_logpmf(k: Any, a: Any) -> Any:
    return np.log(np.tanh(a / 2)) - a * abs(k)


def _dlaplace_tail(k: Any, a: Any) -> Any:
    return np.exp(-a * np.where(k >= 0, k, -k - 1)) / (np.exp(a) + 1)


def _dlaplace_cdf(k: Any, a: Any) -> Any:
    tail = _dlaplace_tail(k, a)
    return np.where(k >= 0, 1 - tail, tail)


def _dlaplace_sf(k: Any, a: Any) -> Any:
    tail = _dlaplace_tail(k, a)
    return np.where(k >= 0, tail, 1 - tail)


def _logser_logpmf(k: Any, p: Any) -> Any:
    return k * np.log(p) - np.log(k) - np.log(-np.log1p(-p))


def _nbinom_logpmf(k: Any, n: Any, p: Any) -> Any:
    choose = sp.gammaln(k + n) - sp.gammaln(k + 1) - sp.gammaln(n)
    return choose + n * np.log(p) + sp.xlog1py(k, -p)


def _fisher_logpmf(k: Any, m: Any, n: Any, r: Any, odds: Any) -> Any:
    def weight(k: Any, m: Any, n: Any, r: Any) -> Any:
        return _log_choose(n, k) + _log_choose(m - n, r - k)

    low, high = np.maximum(0, r - (m - n)), np.minimum(r, n)
    j = np.arange(int(np.max(plain(high - low), initial=0)) + 1.0)
    low, high, wide_odds, *rest = column(low, high, odds, m, n, r)
    inside = low + j <= high
    j = np.where(inside, low + j, low)
    logs = np.where(inside, weight(j, *rest) + j * np.log(wide_odds), -np.inf)
    norm = np.logaddexp.reduce(logs, axis=-1)
    return weight(k, m, n, r) + k * np.log(odds) - norm


@primitive
def _log_ive(k: Any, z: Any) -> Any:
    return np.log(sp.ive(k, z))


elementwise(
    _log_ive, None, lambda out, k, z: np.exp(_log_ive(k + 1, z) - out) + k / z - 1, strong=True
)


def _skellam_logpmf(k: Any, mu1: Any, mu2: Any) -> Any:
    root = np.sqrt(mu1 * mu2)
    powers = k / 2 * (np.log(mu1) - np.log(mu2)) - (np.sqrt(mu1) - np.sqrt(mu2)) ** 2
    return powers + _log_ive(abs(k), 2 * root)


@primitive
def _skellam_cdf(k: Any, mu1: Any, mu2: Any) -> Any:
    return scipy.stats.skellam.cdf(k, mu1, mu2)


# One more count of the first process moves the difference up, one of the second moves it down.
elementwise(
    _skellam_cdf,
    None,
    lambda _out, k, mu1, mu2: -np.exp(_skellam_logpmf(k, mu1, mu2)),
    lambda _out, k, mu1, mu2: np.exp(_skellam_logpmf(k + 1, mu1, mu2)),
)


def _boltzmann_logsf(k: Any, rate: Any, n: Any) -> Any:
    return -rate * (k + 1) + log1mexp(-rate * (n - k - 1)) - log1mexp(-rate * n)


LAWS: dict[str, Density] = {
    "bernoulli": Density(
        _bernoulli_logpmf,
        pdf=lambda k, p: np.where(k == 1, p, 1 - p),
        cdf=lambda k, p: np.where(k < 1, 1 - p, 1.0),
        mean=lambda p: 1 * p,
        variance=lambda p: p * (1 - p),
    ),
    "betabinom": Density(
        _betabinom_logpmf,
        cdf=summed(_betabinom_logpmf, 0),
        fixed=("n",),
        mean=lambda n, a, b: n * a / (a + b),
        variance=lambda n, a, b: n * a * b * (a + b + n) / ((a + b) ** 2 * (a + b + 1)),
    ),
    "betanbinom": Density(
        _betanbinom_logpmf,
        cdf=summed(_betanbinom_logpmf, 0),
        fixed=("n",),
        mean=lambda n, a, b: n * b / (a - 1),
        variance=lambda n, a, b: n * b * (n + a - 1) * (a + b - 1) / ((a - 2) * (a - 1) ** 2),
    ),
    "binom": Density(
        _binom_logpmf,
        pdf=_at_ends(_binom_logpmf, _binom_powers, 0.0, 1.0),
        cdf=lambda k, n, p: sp.betaincc(k + 1, n - k, p),
        sf=lambda k, n, p: sp.betainc(k + 1, n - k, p),
        fixed=("n",),
        mean=lambda n, p: n * p,
        variance=lambda n, p: n * p * (1 - p),
    ),
    "boltzmann": Density(
        lambda k, rate, n: log1mexp(-rate) - rate * k - log1mexp(-rate * n),
        logcdf=lambda k, rate, n: log1mexp(-rate * (k + 1)) - log1mexp(-rate * n),
        logsf=_boltzmann_logsf,
        fixed=("N",),
    ),
    "dlaplace": Density(
        _dlaplace_logpmf,
        cdf=_dlaplace_cdf,
        sf=_dlaplace_sf,
        mean=lambda a: 0 * a,
        variance=lambda a: 2 * np.exp(-a) / np.expm1(-a) ** 2,
    ),
    "geom": Density(
        lambda k, p: sp.xlog1py(k - 1, -p) + np.log(p),
        pdf=lambda k, p: p * (1 - p) ** (k - 1),
        cdf=lambda k, p: 1 - (1 - p) ** k,
        sf=lambda k, p: (1 - p) ** k,
        logcdf=_geom_logcdf,
        logsf=lambda k, p: sp.xlog1py(k, -p),
        mean=lambda p: 1 / p,
        variance=lambda p: (1 - p) / p**2,
    ),
    "logser": Density(
        _logser_logpmf,
        cdf=summed(_logser_logpmf, 1),
        mean=lambda p: -p / (1 - p) / np.log1p(-p),
        variance=lambda p: -p * (np.log1p(-p) + p) / ((1 - p) * np.log1p(-p)) ** 2,
    ),
    "nbinom": Density(
        _nbinom_logpmf,
        pdf=_at_ends(_nbinom_logpmf, _nbinom_powers, 1.0),
        cdf=lambda k, n, p: sp.betainc(n, k + 1, p),
        sf=lambda k, n, p: sp.betaincc(n, k + 1, p),
        mean=lambda n, p: n * (1 - p) / p,
        variance=lambda n, p: n * (1 - p) / p**2,
    ),
    "nchypergeom_fisher": Density(_fisher_logpmf, fixed=("M", "n", "N")),
    "planck": Density(
        lambda k, rate: log1mexp(-rate) - rate * k,
        logsf=lambda k, rate: -rate * (k + 1),
        mean=lambda rate: 1 / np.expm1(rate),
        variance=lambda rate: np.exp(-rate) / np.expm1(-rate) ** 2,
    ),
    "poisson": Density(
        _poisson_logpmf,
        pdf=_at_ends(_poisson_logpmf, _poisson_powers, 0.0),
        cdf=lambda k, mu: sp.gammaincc(k + 1, mu),
        sf=lambda k, mu: sp.gammainc(k + 1, mu),
        mean=lambda mu: 1 * mu,
        variance=lambda mu: 1 * mu,
    ),
    "skellam": Density(
        _skellam_logpmf,
        cdf=_skellam_cdf,
        mean=lambda mu1, mu2: mu1 - mu2,
        variance=lambda mu1, mu2: mu1 + mu2,
    ),
    "yulesimon": Density(
        lambda k, alpha: np.log(alpha) + sp.betaln(k, alpha + 1),
        logsf=lambda k, alpha: np.log(k) + sp.betaln(k, alpha + 1),
        mean=lambda alpha: alpha / (alpha - 1),
        variance=lambda alpha: alpha**2 / ((alpha - 1) ** 2 * (alpha - 2)),
    ),
    "zipf": Density(
        lambda k, a: -a * np.log(k) - np.log(_zeta(a, 1.0 + 0 * a)),
        sf=lambda k, a: _zeta(a, k + 1) / _zeta(a, 1.0 + 0 * a),
        mean=lambda a: _zeta(a - 1, 1.0 + 0 * a) / _zeta(a, 1.0 + 0 * a),
        variance=lambda a: (
            _zeta(a - 2, 1.0 + 0 * a) / _zeta(a, 1.0 + 0 * a)
            - (_zeta(a - 1, 1.0 + 0 * a) / _zeta(a, 1.0 + 0 * a)) ** 2
        ),
    ),
    "zipfian": Density(
        lambda k, a, n: -a * np.log(k) - np.log(_harmonic(a, n)),
        cdf=lambda k, a, n: _harmonic(a, k) / _harmonic(a, n),
        sf=_zipfian_sf,
        fixed=("n",),
        mean=lambda a, n: _harmonic(a - 1, n) / _harmonic(a, n),
        variance=lambda a, n: (
            _harmonic(a - 2, n) / _harmonic(a, n) - (_harmonic(a - 1, n) / _harmonic(a, n)) ** 2
        ),
    ),
}

__all__ = ["LAWS"]

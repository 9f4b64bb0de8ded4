"""Distribution functions and their inverses: beta, gamma, and the laws that are made of them.

Counts that SciPy rounds down, or truncates, have the derivative zero there. Its inverses by a
count solve for a real number, and have the derivatives of a continuous function.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special import _incomplete_beta, _incomplete_gamma
from tapegrad.scipy.special._elementary import power_over
from tapegrad.scipy.special._incomplete_beta import beta_by_shapes
from tapegrad.scipy.special._incomplete_gamma import gamma_by_shape
from tapegrad.scipy.special._inverses import distribution, inverse, tail
from tapegrad.scipy.special._stretched_beta import beta_stretched, digamma_excess, student_peak

_beta_density, _gamma_density = _incomplete_beta.density, _incomplete_gamma.density


def _by_a(a: Value, b: Value, x: Value, y: Value) -> Value:
    return beta_by_shapes(1, 0)(a, b, x, y)


def _by_b(a: Value, b: Value, x: Value, y: Value) -> Value:
    return beta_by_shapes(0, 1)(a, b, x, y)


def _by_shape(a: Value, x: Value) -> Value:
    return gamma_by_shape(1)(a, x)


# --- the beta distribution
BETA = distribution(
    a=lambda a, b, x: _by_a(a, b, x, 1 - x),
    b=lambda a, b, x: _by_b(a, b, x, 1 - x),
    x=lambda a, b, x: _beta_density(a, b, x, 1 - x),
)
tail(sp.betainc, BETA)
tail(sp.betaincc, BETA, -1)
inverse(sp.betaincinv, BETA, "a b p -> x")
inverse(sp.betainccinv, BETA, "a b q -> x")
inverse(sp.btdtria, BETA, "p b x -> a")
inverse(sp.btdtrib, BETA, "a p x -> b")

# --- the gamma distribution; in `gdtr` a is a rate and b the shape
GAMMA = distribution(a=_by_shape, x=_gamma_density)
tail(sp.gammainc, GAMMA)
tail(sp.gammaincc, GAMMA, -1)
inverse(sp.gammaincinv, GAMMA, "a p -> x")
inverse(sp.gammainccinv, GAMMA, "a q -> x")

RATED = distribution(
    a=lambda a, b, x: b / a * _gamma_density(b + 1, a * x),  # x times the density, at 0 too
    b=lambda a, b, x: _by_shape(b, a * x),
    x=lambda a, b, x: a * _gamma_density(b, a * x),
)
tail(sp.gdtr, RATED)
tail(sp.gdtrc, RATED, -1)
inverse(sp.gdtria, RATED, "p b x -> a")
inverse(sp.gdtrib, RATED, "a p x -> b")
inverse(sp.gdtrix, RATED, "a b p -> x")

# --- chi-squared
CHI2 = distribution(
    v=lambda v, x: 0.5 * _by_shape(0.5 * v, 0.5 * x),
    x=lambda v, x: 0.5 * _gamma_density(0.5 * v, 0.5 * x),
)
tail(sp.chdtr, CHI2)
tail(sp.chdtrc, CHI2, -1)
inverse(sp.chdtri, CHI2, "v q -> x")
inverse(sp.chdtriv, CHI2, "p x -> v")


# --- F and Student's t


def _f_point(dfn: Value, dfd: Value, x: Value) -> tuple[Value, Value, Value]:
    """The point of the beta distribution, its complement, and their common denominator."""
    total = dfd + dfn * x
    share = np.where(np.isinf(untraced(x)), 1.0, dfn * x / total)
    return share, dfd / total, total


def _f_by_dfn(dfn: Value, dfd: Value, x: Value) -> Value:
    z, y, _total = _f_point(dfn, dfd, x)
    return -0.5 * beta_stretched()(0.5 * dfd, 0.5 * dfn, y, z)


def _f_by_dfd(dfn: Value, dfd: Value, x: Value) -> Value:
    z, y, _total = _f_point(dfn, dfd, x)
    return 0.5 * beta_stretched()(0.5 * dfn, 0.5 * dfd, z, y)


def _f_density(dfn: Value, dfd: Value, x: Value) -> Value:
    """At the end a power of the distance, -dfd / 2 - 1, whatever that of the beta density."""
    z, y, total = _f_point(dfn, dfd, x)
    slope = _beta_density(0.5 * dfn, 0.5 * dfd, z, y) * (dfn * dfd / (total * total))
    return np.where(np.isposinf(untraced(x)), 0.0, slope)


FISHER = distribution(dfn=_f_by_dfn, dfd=_f_by_dfd, x=_f_density)
tail(sp.fdtr, FISHER)
tail(sp.fdtrc, FISHER, -1)
inverse(sp.fdtri, FISHER, "dfn dfd p -> x")
inverse(sp.fdtridfd, FISHER, "dfn p x -> dfd")


def _t_by_df(df: Value, t: Value) -> Value:
    end, size = np.isinf(untraced(t)), np.absolute(untraced(t))
    middle = size * size <= 1e-18 * untraced(df)  # or the square is 0
    inner = np.where(end | middle, 1.0, t)
    total = df + inner * inner
    slope = beta_stretched()(0.5, 0.5 * df, inner * inner / total, df / total)
    slope = np.where(end, 0.0, 0.25 * np.sign(inner) * slope)
    at_zero = _t_density(df, 0.0) * 0.5 * digamma_excess()(0.5, 0.5 * df)
    return np.where(middle, t * at_zero, slope)


def _t_density(df: Value, t: Value) -> Value:
    power = np.exp(-0.5 * (df + 1) * np.log1p(t * t / df))
    return student_peak()(df) * power


STUDENT = distribution(df=_t_by_df, t=_t_density)
tail(sp.stdtr, STUDENT)
inverse(sp.stdtrit, STUDENT, "df p -> t")
inverse(sp.stdtridf, STUDENT, "p t -> df")

# --- counts: binomial, negative binomial, Poisson


def _binomial_slope(k: Value, n: Value, p: Value) -> Value:
    """By p; zero where all n counts are below k."""
    k, n = np.floor(untraced(k)), np.trunc(untraced(n))
    some = (k >= 0) & (k < n)
    slope = -_beta_density(np.where(some, n - k, 1.0), np.where(some, k + 1, 1.0), 1 - p, p)
    return np.where(some, slope, 0.0)


elementwise(sp.bdtr, 0, 0, lambda _out, k, n, p: _binomial_slope(k, n, p), strong=True)
elementwise(sp.bdtrc, 0, 0, lambda _out, k, n, p: -_binomial_slope(k, n, p), strong=True)
elementwise(sp.bdtri, 0, 0, lambda out, k, n, _y: 1 / _binomial_slope(k, n, out), strong=True)

BINOMIAL = distribution(
    k=lambda k, n, r: _by_b(n - k, k + 1, 1 - r, r) - _by_a(n - k, k + 1, 1 - r, r),
    n=lambda k, n, r: _by_a(n - k, k + 1, 1 - r, r),
    r=lambda k, n, r: -_beta_density(n - k, k + 1, 1 - r, r),
)
inverse(sp.bdtrik, BINOMIAL, "p n r -> k")
inverse(sp.bdtrin, BINOMIAL, "k p r -> n")


def _negative_slope(k: Value, n: Value, p: Value) -> Value:
    k, n = np.trunc(untraced(k)), np.trunc(untraced(n))
    return _beta_density(n, k + 1, p, 1 - p)


elementwise(sp.nbdtr, 0, 0, lambda _out, k, n, p: _negative_slope(k, n, p), strong=True)
elementwise(sp.nbdtrc, 0, 0, lambda _out, k, n, p: -_negative_slope(k, n, p), strong=True)
elementwise(sp.nbdtri, 0, 0, lambda out, k, n, _y: 1 / _negative_slope(k, n, out), strong=True)

NEGATIVE = distribution(
    k=lambda k, n, r: _by_b(n, k + 1, r, 1 - r),
    n=lambda k, n, r: _by_a(n, k + 1, r, 1 - r),
    r=lambda k, n, r: _beta_density(n, k + 1, r, 1 - r),
)
inverse(sp.nbdtrik, NEGATIVE, "p n r -> k")
inverse(sp.nbdtrin, NEGATIVE, "k p r -> n")


def _poisson_slope(k: Value, m: Value) -> Value:
    return -_gamma_density(np.floor(untraced(k)) + 1, m)


elementwise(sp.pdtr, 0, lambda _out, k, m: _poisson_slope(k, m), strong=True)
elementwise(sp.pdtrc, 0, lambda _out, k, m: -_poisson_slope(k, m), strong=True)
elementwise(sp.pdtri, 0, lambda out, k, _y: 1 / _poisson_slope(k, out), strong=True)

POISSON = distribution(
    k=lambda k, m: -_by_shape(k + 1, m), m=lambda k, m: -_gamma_density(k + 1, m)
)
inverse(sp.pdtrik, POISSON, "p m -> k")


# --- Tukey's lambda distribution: its inverse is (p**l - (1 - p)**l) / l


def _tukey_slope(out: Value, x: Value, lmbda: Value) -> Value:
    """The density, which for lmbda > 1 jumps to zero at the ends of the support, 1 / lmbda."""
    beyond = untraced(lmbda) * np.absolute(untraced(x)) > 1
    return np.where(beyond, 0.0, 1 / (out ** (lmbda - 1) + (1 - out) ** (lmbda - 1)))


def _tukey_by_lambda(out: Value, x: Value, lmbda: Value) -> Value:
    inner = (untraced(out) > 0) & (untraced(out) < 1)
    p = np.where(inner, out, 0.5)
    log_p, log_q = np.log(p), np.log1p(-p)
    change = power_over(p**lmbda, log_p, lmbda) - power_over((1 - p) ** lmbda, log_q, lmbda)
    return np.where(inner, -change * _tukey_slope(p, x, lmbda), 0.0)


elementwise(sp.tklmbda, _tukey_slope, _tukey_by_lambda, strong=True)

__all__ = ["BETA", "BINOMIAL", "CHI2", "FISHER", "GAMMA", "NEGATIVE", "POISSON", "STUDENT"]

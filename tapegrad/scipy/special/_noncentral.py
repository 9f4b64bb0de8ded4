"""The noncentral chi-squared, F and t distributions, by all parameters.

The first two are mixtures of central ones by Poisson's weights, DLMF 8.17 and N. L. Johnson, S.
Kotz, N. Balakrishnan, Continuous Univariate Distributions 2 (1995), chapters 29 to 31: by the
noncentrality the derivative of a mixture is the difference to that of the next shape. Noncentral t
is an integral over the scale. Each family is closed under differentiation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special import _incomplete_beta, _incomplete_gamma
from tapegrad.scipy.special._incomplete_beta import beta_by_shapes
from tapegrad.scipy.special._incomplete_gamma import gamma_by_shape
from tapegrad.scipy.special._inverses import distribution, inverse, tail
from tapegrad.scipy.special._primitives import bell, family

_AT_ONCE = 200_000  # terms of mixtures that are computed together
_MOST = 100_000  # terms of one sum; noncentralities that take more give NaN, as from 1e8 on


def _mixture(term: Function, mean: Value, middle: Value, *args: Value) -> Value:
    """The sum of term(j, *args) with Poisson's weights of mean mean, where the terms are large.

    middle: about which j the products of a weight and a density are largest
    """
    shape = mean.shape
    mean, middle, *args = (np.ravel(x) for x in (mean, middle, *args))  # type: ignore[assignment]
    low, high = np.minimum(mean, middle), np.maximum(mean, middle)
    first = np.floor(np.maximum(low - 9 * np.sqrt(low) - 25, 0))
    last = np.ceil(high + 9 * np.sqrt(high) + 40)
    result = np.empty(mean.shape)
    few = last - first < _MOST
    first, last = np.where(few, first, 0), np.where(few, last, 0)
    start = 0
    while start < mean.size:
        count = int(np.max((last - first)[start : start + 64])) + 1
        part = slice(start, start + max(1, min(64, _AT_ONCE // count)))
        j = first[part] + np.arange(count)[:, None]
        weights = _incomplete_gamma.density(j + 1, np.broadcast_to(mean[part], j.shape))
        terms = term(j, *[np.broadcast_to(x[part], j.shape) for x in args])
        products = np.where(weights == 0, 0, weights * terms)
        result[part] = np.sum(products, axis=0)
        start = part.stop
    return np.where(few, result, np.nan).reshape(shape)


def _too_high(name: str, order: int) -> None:
    if order > 3:
        raise NotDifferentiableError(
            f"scipy.special.{name}: derivatives by x are known up to the third order, a fourth "
            "was asked for."
        )


# --- chi-squared, halved: of shape a + j, at y


@family
def noncentral_gamma(r: int, m: int) -> tuple[Function, tuple[Any, ...]]:
    """The distribution function's derivative of order r by y and m by the shape a."""
    _too_high("chndtr", r)

    def values(mean: Value, a: Value, y: Value) -> Value:
        good = (mean >= 0) & (a > 0) & (y > 0) & (mean + a + y < np.inf)
        safe = [np.where(good, x, 1.0) for x in (mean, a, y)]
        mean1, a1, y1 = safe
        middle = (np.sqrt(a1 * a1 + 4 * mean1 * y1) - a1) / 2
        found = _mixture(lambda j, a, y: _gamma_term(r, m, a + j, y), mean1, middle, a1, y1)
        known = (mean >= 0) & (a > 0)
        ends = known & ((y == 0) & (a > r) | np.isinf(y))
        beside = np.where(ends, 0.0, np.nan)
        if r == 1 and m == 0:  # at 0 the density of shape a alone
            start = known & (y == 0)
            beside = np.where(start & (a < 1), np.inf, beside)
            beside = np.where(start & (a == 1), np.exp(-mean), beside)
        return np.where(good, found, beside)

    def by_mean(_out: Value, mean: Value, a: Value, y: Value) -> Value:
        if r == 0:  # P(a + 1, y) - P(a, y) is minus a density
            return -noncentral_gamma(1, m)(mean, a + 1, y)
        return noncentral_gamma(r, m)(mean, a + 1, y) - noncentral_gamma(r, m)(mean, a, y)

    return values, (
        by_mean,
        lambda _out, mean, a, y: noncentral_gamma(r, m + 1)(mean, a, y),
        lambda _out, mean, a, y: noncentral_gamma(r + 1, m)(mean, a, y),
    )


def _gamma_term(r: int, m: int, a: Value, y: Value) -> Value:
    if r == 0:
        return gamma_by_shape(m)(a, y) if m else sp.gammainc(a, y)
    density = _incomplete_gamma.density(a, y)
    cumulant = _incomplete_gamma.cumulants(np.log(y), a)
    return density * _leibniz(m, r - 1, lambda k: bell(cumulant, k), _log_powers(a - 1, y, 1))


def _log_powers(power: Value, y: Value, rate: Value) -> Function:
    """The derivatives by y of y**power exp(-rate y), over itself; and by the power of those."""

    def factor(order: int, by_power: int) -> Value:
        u = power / y - rate
        if order == 0:
            return 1.0 if by_power == 0 else 0.0
        if order == 1:
            return (u, 1 / y)[by_power] if by_power < 2 else 0.0
        return (u * u - power / (y * y), 2 * u / y - 1 / (y * y), 2 / (y * y), 0.0)[
            min(by_power, 3)
        ]

    return factor


def _leibniz(m: int, order: int, first: Function, second: Function) -> Any:
    return sum(math.comb(m, k) * first(m - k) * second(order, k) for k in range(m + 1))


def _chi_slope(r: int, m: int, scale: float) -> Function:
    return lambda x, df, nc: scale * noncentral_gamma(r, m)(0.5 * nc, 0.5 * df, 0.5 * x)


CHI2 = distribution(
    x=_chi_slope(1, 0, 0.5),
    df=_chi_slope(0, 1, 0.5),
    nc=lambda x, df, nc: -0.5 * noncentral_gamma(1, 0)(0.5 * nc, 0.5 * df + 1, 0.5 * x),
)
tail(sp.chndtr, CHI2)
inverse(sp.chndtrix, CHI2, "p df nc -> x")
inverse(sp.chndtridf, CHI2, "x p nc -> df")
inverse(sp.chndtrinc, CHI2, "x df p -> nc")


# --- F: of shapes a + j and b, at x, whose complement is y


@family
def noncentral_beta(r: int, m: int, n: int) -> tuple[Function, tuple[Any, ...]]:
    """The derivative of order r by x, m by a and n by b; r = -1 is the step from a to a + 1."""
    _too_high("ncfdtr", r + 1)

    def values(mean: Value, a: Value, b: Value, x: Value, y: Value) -> Value:
        good = (mean >= 0) & (a > 0) & (b > 0) & (x > 0) & (y > 0) & (mean + a + b < np.inf)
        safe = (
            np.where(good, v, d)
            for v, d in zip((mean, a, b, x, y), (1, 1, 1, 0.5, 0.5), strict=True)
        )
        mean1, a1, b1, x1, y1 = safe
        off = mean1 * x1 - a1
        middle = (off + np.sqrt(off * off + 4 * mean1 * x1 * (a1 + b1))) / 2
        found = _mixture(
            lambda j, a, b, x, y: _beta_term(r, m, n, a + j, b, x, y),
            mean1,
            middle,
            a1,
            b1,
            x1,
            y1,
        )
        known = (mean >= 0) & (a > 0) & (b > 0)
        ends = known & ((x == 0) & (a > r) | (y == 0) & (b > r))
        return np.where(good, found, np.where(ends, 0.0, np.nan))

    def by_mean(_out: Value, mean: Value, a: Value, b: Value, x: Value, y: Value) -> Value:
        if r == 0:
            return -noncentral_beta(-1, m, n)(mean, a, b, x, y)
        return noncentral_beta(r, m, n)(mean, a + 1, b, x, y) - noncentral_beta(r, m, n)(
            mean, a, b, x, y
        )

    def by_x(_out: Value, mean: Value, a: Value, b: Value, x: Value, y: Value) -> Value:
        if r == -1:
            return noncentral_beta(1, m, n)(mean, a, b, x, y) - noncentral_beta(1, m, n)(
                mean, a + 1, b, x, y
            )
        return noncentral_beta(r + 1, m, n)(mean, a, b, x, y)

    return values, (
        by_mean,
        lambda _out, mean, a, b, x, y: noncentral_beta(r, m + 1, n)(mean, a, b, x, y),
        lambda _out, mean, a, b, x, y: noncentral_beta(r, m, n + 1)(mean, a, b, x, y),
        by_x,
        0,
    )


def _beta_term(r: int, m: int, n: int, a: Value, b: Value, x: Value, y: Value) -> Value:
    if r == 0:
        return beta_by_shapes(m, n)(a, b, x, y) if m + n else sp.betainc(a, b, x)
    density = _incomplete_beta.density(a, b, x, y)
    log_x, log_y = _incomplete_beta.logs(x, y)
    if r == -1:
        raising = _incomplete_beta.raising(log_x, log_y, a, b)
        return density * x * y / a * bell(raising, m, n)
    cumulant = _incomplete_beta.cumulants(log_x, log_y, a, b)
    if r == 1:
        return density * bell(cumulant, m, n)
    found = bell(cumulant, m, n) * ((a - 1) / x - (b - 1) / y)
    if m:
        found = found + m * bell(cumulant, m - 1, n) / x
    if n:
        found = found - n * bell(cumulant, m, n - 1) / y
    return density * found


def _fisher_point(dfn: Value, dfd: Value, nc: Value, f: Value) -> tuple[Value, ...]:
    total = np.add(dfd, dfn * f)  # a number of NumPy, which may be divided by 0
    share = np.where(np.isinf(untraced(f)), 1.0, dfn * f / total)
    return 0.5 * nc, 0.5 * dfn, 0.5 * dfd, share, dfd / total


def _fisher_moves(point: tuple[Value, ...], by: Value) -> Value:
    """The density times x y / `by`, by which the point moves; it has no weight at the ends."""
    _mean, _a, _b, x, y = point
    end = (untraced(x) == 0) | (untraced(y) == 0)
    inner = (*point[:3], np.where(end, 0.5, x), np.where(end, 0.5, y))
    return np.where(end, 0.0, x * y / by * noncentral_beta(1, 0, 0)(*inner))


def _fisher_by_dfn(dfn: Value, dfd: Value, nc: Value, f: Value) -> Value:
    point = _fisher_point(dfn, dfd, nc, f)
    return 0.5 * noncentral_beta(0, 1, 0)(*point) + _fisher_moves(point, dfn)


def _fisher_by_dfd(dfn: Value, dfd: Value, nc: Value, f: Value) -> Value:
    point = _fisher_point(dfn, dfd, nc, f)
    return 0.5 * noncentral_beta(0, 0, 1)(*point) - _fisher_moves(point, dfd)


def _fisher_by_nc(dfn: Value, dfd: Value, nc: Value, f: Value) -> Value:
    return -0.5 * noncentral_beta(-1, 0, 0)(*_fisher_point(dfn, dfd, nc, f))


def _fisher_by_f(dfn: Value, dfd: Value, nc: Value, f: Value) -> Value:
    moved = dfn * dfd / (dfd + dfn * f) ** 2
    slope = moved * noncentral_beta(1, 0, 0)(*_fisher_point(dfn, dfd, nc, f))
    return np.where(np.isposinf(untraced(f)), 0.0, slope)


FISHER = distribution(dfn=_fisher_by_dfn, dfd=_fisher_by_dfd, nc=_fisher_by_nc, f=_fisher_by_f)
tail(sp.ncfdtr, FISHER)
inverse(sp.ncfdtri, FISHER, "dfn dfd nc p -> f")
inverse(sp.ncfdtridfd, FISHER, "dfn p nc f -> dfd")
inverse(sp.ncfdtridfn, FISHER, "p dfd nc f -> dfn")
inverse(sp.ncfdtrinc, FISHER, "dfn dfd p f -> nc")


# --- Student's t


@family
def scaled_normal(k: int, j: int, m: int) -> tuple[Function, tuple[Any, ...]]:
    """The mean of s**k times the j-th derivative of the normal distribution at t s - delta.

    s**2 = 2 w / df, where w has a gamma distribution of shape df / 2, of whose density the m-th
    derivative by the shape is taken.
    """

    def values(df: Value, delta: Value, t: Value) -> Value:
        low = _LEAST if k == 0 else 0.0  # without a power of s the integrand has a tail of 1 / df
        good = (df > low) & np.isfinite(df + delta + t)
        flat = [np.ravel(np.where(good, x, 1.0)) for x in (df, delta, t)]
        found = np.empty(flat[0].shape)
        for start in range(0, found.size, 1024):
            part = slice(start, start + 1024)
            found[part] = _scaled(k, j, m, *[x[part] for x in flat])
        found = found.reshape(df.shape)
        ends = (df > 0) & np.isinf(t) & np.isfinite(delta)
        return np.where(good, found, np.where(ends, 0.0, np.nan))

    def by_df(_out: Value, df: Value, delta: Value, t: Value) -> Value:
        found = 0.5 * scaled_normal(k, j, m + 1)(df, delta, t)
        moved = t * scaled_normal(k + 1, j + 1, m)(df, delta, t)
        if k:
            moved = moved + k * scaled_normal(k, j, m)(df, delta, t)
        return found - moved / (2 * df)

    return values, (
        by_df,
        lambda _out, df, delta, t: -scaled_normal(k, j + 1, m)(df, delta, t),
        lambda _out, df, delta, t: scaled_normal(k + 1, j + 1, m)(df, delta, t),
    )


_WIDE = np.arange(-8.0, 8.01, 0.1)[:, None]
_FINE = np.linspace(-1.0, 1.0, 41)[:, None]
_STEP = 0.07
_LEAST = 0.03  # degrees of freedom, for 1e-5 relative; fewer give NaN
_TAU = np.arange(-8.0, 8.01, _STEP)[:, None]


def _scaled(k: int, j: int, m: int, df: Value, delta: Value, t: Value) -> Value:
    """By the trapezoidal rule in log(w), spread around the integrand's largest value by sinh."""
    a = 0.5 * df
    # Phi of a large argument is 1 less its other tail, and 1 integrates to 0 where m > 0.
    flipped = (t - delta > 0) & (j == 0) & (m > 0)
    sign = np.where(flipped, -1.0, 1.0)

    def logarithm(v: Value) -> Value:
        z = t * np.exp(0.5 * (v - np.log(a))) - delta
        weight = sp.log_ndtr(sign * z) if j == 0 else -0.5 * z * z
        found = a * (v - np.log(a)) - (np.exp(v) - a) + weight + 0.5 * k * (v - np.log(a))
        return np.where(np.isnan(found), -np.inf, found)  # 0 times an overflow, where t is 0

    width = 1 / np.sqrt(a)
    v = np.log(a) + width * np.sinh(_WIDE)
    center = np.take_along_axis(v, np.argmax(logarithm(v), axis=0)[None], 0)[0]
    near = np.maximum(np.absolute(center - np.log(a)), width) * 0.15
    for _ in range(2):
        v = center + near * _FINE
        center = np.take_along_axis(v, np.argmax(logarithm(v), axis=0)[None], 0)[0]
        near = near * 0.06
    step = 0.02 * width
    top = logarithm(center)
    bend = (2 * top - logarithm(center + step) - logarithm(center - step)) / (step * step)
    spread = 1 / np.sqrt(np.maximum(bend, a))
    v = center + spread * np.sinh(_TAU)
    ratio = v - np.log(a)
    s = np.exp(0.5 * ratio)
    z = t * s - delta
    normal = sp.ndtr(sign * z) * sign if j == 0 else _hermite(j, z)
    exponent = a * (ratio - np.expm1(ratio)) - _incomplete_gamma.stirling_error(a)
    density = np.sqrt(a / (2 * math.pi)) * np.exp(exponent)
    cumulant = _incomplete_gamma.cumulants(v, a)
    products = s**k * normal * density * bell(cumulant, m) * spread * np.cosh(_TAU)
    return _STEP * np.sum(np.where(np.isfinite(products), products, 0), axis=0)


def _hermite(j: int, z: Value) -> Value:
    """The j-th derivative of the normal distribution function, for j > 0."""
    before, found = 0.0 * z, np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    for i in range(j - 1):
        before, found = found, -z * found - i * before
    return found


def _student_by_df(df: Value, nc: Value, t: Value) -> Value:
    found = 0.5 * scaled_normal(0, 0, 1)(df, nc, t)
    moved = np.where(np.isinf(untraced(t)), 0.0, t)  # the density falls faster
    return found - moved / (2 * df) * scaled_normal(1, 1, 0)(df, nc, t)


STUDENT = distribution(
    df=_student_by_df,
    nc=lambda df, nc, t: -scaled_normal(0, 1, 0)(df, nc, t),
    t=lambda df, nc, t: scaled_normal(1, 1, 0)(df, nc, t),
)
tail(sp.nctdtr, STUDENT)
inverse(sp.nctdtrit, STUDENT, "df nc p -> t")
inverse(sp.nctdtridf, STUDENT, "p nc t -> df")
inverse(sp.nctdtrinc, STUDENT, "df p t -> nc")

__all__ = ["CHI2", "FISHER", "STUDENT", "noncentral_beta", "noncentral_gamma", "scaled_normal"]

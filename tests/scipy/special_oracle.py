"""The ufuncs of `scipy.special` in mpmath's terms, and where their derivatives are compared.

`FUNCTIONS`: the value as an expression of mpmath, and a range for each argument; None for one
whose derivative is zero. `INVERSES`: the signature of an inverse, and the distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath as mp

DIGITS = 30
half = mp.mpf(1) / 2


class Case(NamedTuple):
    """A function of mpmath's numbers, with the ranges from which its arguments are drawn."""

    value: Callable[..., Any]
    ranges: tuple[tuple[float, float], ...]


def beta_lower(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def gamma_lower(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def gamma_upper(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def normal(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def student(df, t):
    tail = beta_lower(df / 2, half, df / (df + t * t)) / 2
    return 1 - tail if t > 0 else tail


def fisher(dfn, dfd, x):
    return beta_lower(dfn / 2, dfd / 2, dfn * x / (dfd + dfn * x))


def faddeeva(z):
    return mp.exp(-z * z) * mp.erfc(-1j * z)


def voigt(x, sigma, gamma):
    return mp.re(faddeeva((x + 1j * gamma) / sigma / mp.sqrt(2))) / sigma / mp.sqrt(2 * mp.pi)


def owens(h, a):
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi)


def power_of(y, lmbda):
    return mp.exp(mp.log1p(lmbda * y) / lmbda)


def kolmogorov(x):
    return 2 * mp.nsum(lambda k: (-1) ** (int(k) - 1) * mp.exp(-2 * k * k * x * x), [1, 40])


def smirnov(n, d):
    n = int(n)
    return d * sum(
        mp.binomial(n, j) * (d + mp.mpf(j) / n) ** (j - 1) * (1 - d - mp.mpf(j) / n) ** (n - j)
        for j in range(n + 1)
        if 1 - d - mp.mpf(j) / n > 0
    )


def binomial_lower(k, n, p):
    return beta_lower(n - k, k + 1, 1 - p)


def negative_lower(k, n, p):
    return beta_lower(n, k + 1, p)


def mean(a, b):
    return mp.agm(a, b)


def tukey_inverse(p, lmbda):
    return (p**lmbda - (1 - p) ** lmbda) / lmbda


DEGREE = mp.pi / 180
ANY, POSITIVE, UNIT, SHAPE = (-4, 4), (0.05, 8), (0.02, 0.98), (0.02, 60)

FUNCTIONS: dict[str, Case] = {
    name: Case(value, tuple(ranges))
    for name, value, *ranges in [
        ("agm", mean, POSITIVE, POSITIVE),
        ("beta", mp.beta, SHAPE, SHAPE),
        ("betaln", lambda a, b: mp.log(mp.beta(a, b)), SHAPE, SHAPE),
        ("betainc", beta_lower, SHAPE, SHAPE, UNIT),
        ("betaincc", lambda a, b, x: beta_lower(b, a, 1 - x), SHAPE, SHAPE, UNIT),
        ("binom", mp.binomial, (0.1, 30), (-0.9, 20)),
        ("boxcox", lambda x, y: (x**y - 1) / y, POSITIVE, (-3, 3)),
        ("boxcox1p", lambda x, y: ((1 + x) ** y - 1) / y, (-0.9, 8), (-3, 3)),
        ("inv_boxcox", power_of, (-0.3, 2), (0.001, 3)),
        ("inv_boxcox1p", lambda y, z: power_of(y, z) - 1, (-0.3, 2), (0.001, 3)),
        ("cbrt", mp.cbrt, POSITIVE),
        ("chdtr", lambda v, x: gamma_lower(v / 2, x / 2), SHAPE, SHAPE),
        ("chdtrc", lambda v, x: gamma_upper(v / 2, x / 2), SHAPE, SHAPE),
        ("cosdg", lambda x: mp.cos(x * mp.pi / 180), (-300, 300)),
        ("sindg", lambda x: mp.sin(x * mp.pi / 180), (-300, 300)),
        ("tandg", lambda x: mp.tan(x * mp.pi / 180), (-80, 80)),
        ("cotdg", lambda x: mp.cot(x * mp.pi / 180), (10, 170)),
        ("radian", lambda d, m, s: (d + m / 60 + s / 3600) * mp.pi / 180, ANY, ANY, ANY),
        ("cosm1", lambda x: mp.cos(x) - 1, ANY),
        ("dawsn", lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), (-40, 40)),
        ("entr", lambda x: -x * mp.log(x), POSITIVE),
        ("rel_entr", lambda x, y: x * mp.log(x / y), POSITIVE, POSITIVE),
        ("kl_div", lambda x, y: x * mp.log(x / y) - x + y, POSITIVE, POSITIVE),
        ("huber", lambda d, r: r * r / 2 if abs(r) < d else d * (abs(r) - d / 2), (1, 3), ANY),
        ("pseudo_huber", lambda d, r: d * d * (mp.hypot(1, r / d) - 1), (0.2, 9), (-3, 3)),
        ("erf", mp.erf, ANY),
        ("erfc", mp.erfc, (-4, 20)),
        ("erfcinv", lambda y: mp.erfinv(1 - y), (0.02, 1.98)),
        ("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), (-5, 300)),
        ("erfi", mp.erfi, ANY),
        ("erfinv", mp.erfinv, (-0.98, 0.98)),
        ("voigt_profile", voigt, (-9, 9), (0.1, 3), (0.1, 3)),
        ("exp10", lambda x: mp.mpf(10) ** x, ANY),
        ("exp2", lambda x: mp.mpf(2) ** x, ANY),
        ("expm1", mp.expm1, ANY),
        ("exprel", lambda x: mp.expm1(x) / x, (-30, 30)),
        ("expit", lambda x: 1 / (1 + mp.exp(-x)), (-40, 40)),
        ("log_expit", lambda x: -mp.log1p(mp.exp(-x)), (-40, 40)),
        ("logit", lambda p: mp.log(p / (1 - p)), UNIT),
        ("log1p", mp.log1p, (-0.9, 8)),
        ("fdtr", fisher, (0.5, 20), (0.5, 20), POSITIVE),
        ("fdtrc", lambda n, d, x: 1 - fisher(n, d, x), (0.5, 20), (0.5, 20), POSITIVE),
        ("gamma", mp.gamma, (-3.9, 20)),
        ("gammaln", mp.loggamma, (0.01, 60)),
        ("loggamma", mp.loggamma, (0.01, 60)),
        ("rgamma", mp.rgamma, (-6, 20)),
        ("psi", mp.digamma, (-6.05, 20)),
        ("poch", mp.rf, (0.1, 20), (-0.05, 9)),
        ("gammainc", gamma_lower, SHAPE, SHAPE),
        ("gammaincc", gamma_upper, SHAPE, SHAPE),
        ("gdtr", lambda a, b, x: gamma_lower(b, a * x), POSITIVE, POSITIVE, POSITIVE),
        ("gdtrc", lambda a, b, x: gamma_upper(b, a * x), POSITIVE, POSITIVE, POSITIVE),
        ("kolmogorov", kolmogorov, (0.3, 3)),
        ("smirnov", smirnov, None, (0.05, 0.95)),
        ("log_ndtr", lambda x: mp.log(normal(x)), (-30, 8)),
        ("ndtr", normal, (-8, 8)),
        ("ndtri", lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), UNIT),
        ("ndtri_exp", lambda y: mp.sqrt(2) * mp.erfinv(2 * mp.exp(y) - 1), (-3, -0.05)),
        ("nrdtrimn", lambda p, s, x: x - s * mp.sqrt(2) * mp.erfinv(2 * p - 1), UNIT, SHAPE, ANY),
        (
            "nrdtrisd",
            lambda m, p, x: (x - m) / mp.sqrt(2) / mp.erfinv(2 * p - 1),
            (-4, 0),
            (0.55, 0.98),
            (1, 4),
        ),
        ("owens_t", owens, ANY, ANY),
        ("powm1", lambda x, y: x**y - 1, POSITIVE, ANY),
        ("stdtr", student, (0.3, 40), ANY),
        ("xlogy", lambda x, y: x * mp.log(y), ANY, POSITIVE),
        ("xlog1py", lambda x, y: x * mp.log1p(y), ANY, (-0.9, 8)),
        ("zetac", lambda s: mp.zeta(s) - 1, (-9.9, 20)),
        ("spence", lambda z: mp.polylog(2, 1 - z), (0.05, 1.9)),
        ("bdtr", lambda k, n, p: binomial_lower(mp.floor(k), n, p), None, None, UNIT),
        ("bdtrc", lambda k, n, p: 1 - binomial_lower(mp.floor(k), n, p), None, None, UNIT),
        ("nbdtr", negative_lower, None, None, UNIT),
        ("nbdtrc", lambda k, n, p: 1 - negative_lower(k, n, p), None, None, UNIT),
        ("pdtr", lambda k, m: gamma_upper(mp.floor(k) + 1, m), None, POSITIVE),
        ("pdtrc", lambda k, m: gamma_lower(mp.floor(k) + 1, m), None, POSITIVE),
    ]
}

# What an inverse inverts, and the ranges of its parameters, by name.
INVERSES: dict[str, tuple[str, Callable[..., Any], dict[str, tuple[float, float]]]] = {
    name: (signature, value, ranges)
    for value, ranges, inverses in [
        (
            beta_lower,
            {"a": (0.2, 20), "b": (0.2, 20), "x": UNIT},
            {
                "betaincinv": "a b p -> x",
                "betainccinv": "a b q -> x",
                "btdtria": "p b x -> a",
                "btdtrib": "a p x -> b",
            },
        ),
        (
            gamma_lower,
            {"a": (0.2, 30), "x": (0.1, 30)},
            {"gammaincinv": "a p -> x", "gammainccinv": "a q -> x"},
        ),
        (
            lambda a, b, x: gamma_lower(b, a * x),
            {"a": (0.5, 3), "b": (0.2, 9), "x": (0.5, 4)},
            {"gdtria": "p b x -> a", "gdtrib": "a p x -> b", "gdtrix": "a b p -> x"},
        ),
        (
            lambda v, x: gamma_lower(v / 2, x / 2),
            {"v": (0.5, 20), "x": (0.5, 20)},
            {"chdtri": "v q -> x", "chdtriv": "p x -> v"},
        ),
        (
            fisher,
            {"m": (0.5, 15), "n": (0.5, 15), "x": (0.3, 3)},
            {"fdtri": "m n p -> x", "fdtridfd": "m p x -> n"},
        ),
        (
            student,
            {"v": (0.6, 15), "t": (0.2, 4)},
            {"stdtrit": "v p -> t", "stdtridf": "p t -> v"},
        ),
        (
            binomial_lower,
            {"k": (1, 5), "n": (6, 15), "r": UNIT},
            {"bdtrik": "p n r -> k", "bdtrin": "k p r -> n"},
        ),
        (
            negative_lower,
            {"k": (1, 9), "n": (1, 9), "r": UNIT},
            {"nbdtrik": "p n r -> k", "nbdtrin": "k p r -> n"},
        ),
        (
            lambda k, m: gamma_upper(k + 1, m),
            {"k": (0.5, 9), "m": POSITIVE},
            {"pdtrik": "p m -> k"},
        ),
        (lambda x: normal(x), {"x": (-6, 6)}, {"ndtri": "p -> x"}),
        (kolmogorov, {"x": (0.3, 3)}, {"kolmogi": "p -> x"}),
        (lambda x, w: x, {}, {}),
    ]
    for name, signature in inverses.items()
}

__all__ = ["DIGITS", "FUNCTIONS", "INVERSES", "Case", "smirnov", "tukey_inverse"]
